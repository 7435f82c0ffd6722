//! Read the vocabulary of a tokenizer.json without building anything else of it.

use crate::vocabulary::Strings;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// Return the pieces of the model by id, without added tokens.
///
/// None if the document is no tokenizer.json whose ids are 0, 1, 2 and so on; what it means is then up to its library. A
/// piece that is listed twice counts twice, so the number of pieces tells whether a library read the same.
#[must_use]
pub fn read_pieces(document: &[u8]) -> Option<Strings> {
    let mut deserializer = serde_json::Deserializer::from_slice(document);
    let vocab = Field { name: "model", value: Field { name: "vocab", value: Vocab } };
    let pieces = vocab.deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    let mut by_id = vec![None; pieces.len()];
    for (piece, id) in pieces {
        let place = by_id.get_mut(usize::try_from(id).ok()?)?;
        if place.replace(piece).is_some() {
            return None;
        }
    }
    let by_id = by_id.into_iter().collect::<Option<Vec<_>>>()?;
    Some(Strings::collect(by_id.iter().map(|piece| piece.as_bytes())))
}

/// Reads one value of an object and skips the others; an error if the name is missing or repeated.
#[derive(Clone, Copy)]
struct Field<Value> {
    name: &'static str,
    value: Value,
}

impl<'de, Value: DeserializeSeed<'de> + Copy> DeserializeSeed<'de> for Field<Value> {
    type Value = Value::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, Value: DeserializeSeed<'de> + Copy> Visitor<'de> for Field<Value> {
    type Value = Value::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "an object with `{}`", self.name)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(Text(key)) = map.next_key()? {
            if key != self.name {
                map.next_value::<IgnoredAny>()?;
            } else if found.replace(map.next_value_seed(self.value)?).is_some() {
                return Err(serde::de::Error::duplicate_field(self.name));
            }
        }
        found.ok_or_else(|| serde::de::Error::missing_field(self.name))
    }
}

/// Reads pieces with their ids: an object, or a list of pieces with scores.
#[derive(Clone, Copy)]
struct Vocab;

impl<'de> DeserializeSeed<'de> for Vocab {
    type Value = Vec<(Cow<'de, str>, u64)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Vocab {
    type Value = Vec<(Cow<'de, str>, u64)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a vocabulary")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pieces = Vec::new();
        while let Some((Text(piece), id)) = map.next_entry()? {
            pieces.push((piece, id));
        }
        Ok(pieces)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut pieces = Vec::new();
        while let Some((Text(piece), _)) = list.next_element::<(Text<'de>, f64)>()? {
            pieces.push((piece, pieces.len() as u64));
        }
        Ok(pieces)
    }
}

/// A string that is borrowed from the document unless it contains escapes.
struct Text<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(document: &str) -> Option<Vec<String>> {
        let pieces = read_pieces(document.as_bytes())?;
        Some(pieces.iter().map(|piece| String::from_utf8_lossy(piece).into_owned()).collect())
    }

    #[test]
    fn pieces_are_ordered_by_id() {
        let document =
            r#"{"added_tokens": [], "model": {"type": "BPE", "vocab": {"b\n": 1, "a": 0}, "merges": [["a"]]}}"#;
        assert_eq!(read(document), Some(vec!["a".into(), "b\n".into()]));
    }

    #[test]
    fn pieces_of_a_list_have_their_index_as_id() {
        let document = r#"{"model": {"vocab": [["<unk>", 0], ["a", -1.5]]}}"#;
        assert_eq!(read(document), Some(vec!["<unk>".into(), "a".into()]));
    }

    #[test]
    fn a_repeated_piece_counts_twice() {
        assert_eq!(read(r#"{"model": {"vocab": {"a": 0, "a": 1}}}"#), Some(vec!["a".into(), "a".into()]));
    }

    #[test]
    fn what_is_left_to_the_library_is_none() {
        for vocab in [r#"{"a": 1}"#, r#"{"a": 0, "b": 0}"#, r#"{"a": -1}"#, r#"{"a": 1.5}"#, r#"{"\ud800": 0}"#, "3"] {
            assert_eq!(read(&format!(r#"{{"model": {{"vocab": {vocab}}}}}"#)), None);
        }
        for document in ["", "[]", "{}", r#"{"model": 1}"#, r#"{"model": {"vocab": {}}, "model": {"vocab": {}}}"#] {
            assert_eq!(read(document), None);
        }
    }
}
