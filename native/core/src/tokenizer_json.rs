//! Read the large tables of a tokenizer.json without building anything else of it.

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::io::Write;

/// The large tables of a tokenizer.json, and the rest of it.
#[derive(Debug)]
pub struct Tables {
    /// The pieces of the model by id, without added tokens. One that is listed twice counts twice.
    ///
    /// None if the ids are not 0, 1, 2 and so on, or if a piece contains NUL.
    pub pieces: Option<Joined>,
    /// The merges in their order, each with a space between its two pieces; None if one is written in another way.
    pub merges: Option<Joined>,
    /// The document with an empty `vocab` and empty `merges`, as far as those could be read.
    pub rest: Vec<u8>,
    /// The same document, which the library reads in less than half of the time: with merges as strings, as in old files,
    /// and with sorted pieces, as it copies them to a sorted map. None if neither table can be written so.
    pub prepared: Option<Vec<u8>>,
}

/// Strings that are joined with NUL; none of them contains one.
#[derive(Debug, Default)]
pub struct Joined {
    /// The strings.
    pub bytes: Vec<u8>,
    /// Their number.
    pub count: usize,
}

impl Joined {
    /// Append a string of several parts; None if it contains NUL.
    fn push(&mut self, parts: &[&str]) -> Option<()> {
        if self.count > 0 {
            self.bytes.push(0);
        }
        self.count += 1;
        for part in parts {
            if part.as_bytes().contains(&0) {
                return None;
            }
            self.bytes.extend_from_slice(part.as_bytes());
        }
        Some(())
    }
}

/// Read the tables of the model.
///
/// None if neither the pieces nor the merges could be read, or the document is no tokenizer.json with a vocabulary; what
/// it means is then up to its library.
#[must_use]
pub fn read_tables(document: &[u8]) -> Option<Tables> {
    let mut deserializer = serde_json::Deserializer::from_slice(document);
    let model = Field { name: "model", value: ModelTables }.deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    let vocab = model.vocab?.get();
    let Vocab(listed) = Vocab::deserialize(&mut json(vocab)).ok()?;
    let mut tables = Tables { pieces: order_by_id(&listed), merges: None, rest: Vec::new(), prepared: None };
    let (mut emptied, mut changed) = (Vec::new(), Vec::new());
    if tables.pieces.is_some() {
        emptied.push((vocab, Vec::new()));
        if vocab.starts_with('{')
            && let Some(content) = write_sorted(listed)
        {
            changed.push((vocab, content));
        }
    }
    if let Some(written) = model.merges.map(RawValue::get)
        && let Some(merges) = read_merges(written)
    {
        emptied.push((written, Vec::new()));
        if merges.pairs > 0
            && merges.pairs == merges.joined.count
            && let Some(strings) = write_strings(&merges.joined)
        {
            changed.push((written, strings));
        }
        tables.merges = Some(merges.joined);
    }
    if emptied.is_empty() {
        return None;
    }
    tables.rest = with_content(document, emptied);
    tables.prepared = (!changed.is_empty()).then(|| with_content(document, changed));
    Some(tables)
}

/// The beginning of lines that the library skips in the notation of old files.
const VERSION_LINE: &[u8] = b"#version";

/// About how many bytes a piece takes with its id.
const PIECE_LENGTH: usize = 24;

/// Return pieces with their ids as the content of an object, sorted by their first 16 bytes, which is order enough.
///
/// Of a piece that is repeated, the last id stays the last one, which counts.
fn write_sorted(mut pieces: Vec<(Cow<'_, str>, u64)>) -> Option<Vec<u8>> {
    pieces.sort_by_cached_key(|(piece, _)| beginning_of(piece));
    let mut content = Vec::with_capacity(pieces.len() * PIECE_LENGTH);
    for (piece, id) in &pieces {
        push_string(&mut content, piece.as_bytes())?;
        write!(content, ":{id},").ok()?;
    }
    content.pop();
    Some(content)
}

/// Return the first bytes of a piece as a number, so that sorting takes a quarter of the time.
fn beginning_of(piece: &str) -> u128 {
    let mut beginning = [0; size_of::<u128>()];
    let length = piece.len().min(beginning.len());
    beginning[..length].copy_from_slice(&piece.as_bytes()[..length]);
    u128::from_be_bytes(beginning)
}

/// Return merges as the content of a list of strings, as in old files; None if the library would skip one of them.
fn write_strings(merges: &Joined) -> Option<Vec<u8>> {
    let mut strings = merges.bytes.split(|&byte| byte == 0);
    if strings.clone().any(|merge| merge.starts_with(VERSION_LINE)) {
        return None;
    }
    let mut content = Vec::with_capacity(merges.bytes.len());
    strings.try_for_each(|merge| {
        push_string(&mut content, merge)?;
        content.push(b',');
        Some(())
    })?;
    content.pop();
    Some(content)
}

/// Append a string, which rarely contains anything to escape.
fn push_string(content: &mut Vec<u8>, string: &[u8]) -> Option<()> {
    if string.iter().any(|&byte| byte < b' ' || matches!(byte, b'"' | b'\\')) {
        return serde_json::to_writer(content, std::str::from_utf8(string).ok()?).ok();
    }
    content.push(b'"');
    content.extend_from_slice(string);
    content.push(b'"');
    Some(())
}

fn json(value: &str) -> serde_json::Deserializer<serde_json::de::StrRead<'_>> {
    serde_json::Deserializer::from_str(value)
}

fn order_by_id(pieces: &[(Cow<'_, str>, u64)]) -> Option<Joined> {
    let mut by_id = vec![None; pieces.len()];
    for (piece, id) in pieces {
        if by_id.get_mut(usize::try_from(*id).ok()?)?.replace(piece.as_ref()).is_some() {
            return None;
        }
    }
    let mut joined = Joined::default();
    by_id.into_iter().try_for_each(|piece| joined.push(&[piece?]))?;
    Some(joined)
}

/// Return the merges, which are pairs of pieces, or in old files strings; None if a piece is empty or has a space.
fn read_merges(merges: &str) -> Option<Merges> {
    Merges::deserialize(&mut json(merges)).ok()
}

/// Return a document with another content between the brackets of some of its values.
fn with_content(document: &[u8], mut values: Vec<(&str, Vec<u8>)>) -> Vec<u8> {
    values.sort_unstable_by_key(|(value, _)| value.as_ptr());
    let added: usize = values.iter().map(|(_, content)| content.len()).sum();
    let mut changed = Vec::with_capacity(document.len() + added);
    let mut from = 0;
    for (value, content) in values {
        let start = value.as_ptr() as usize - document.as_ptr() as usize;
        changed.extend_from_slice(&document[from..=start]);
        changed.extend_from_slice(&content);
        from = start + value.len() - 1;
    }
    changed.extend_from_slice(&document[from..]);
    changed
}

/// Reads one value of an object and skips the others; an error if the name is missing or repeated.
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
                return Err(Error::duplicate_field(self.name));
            }
        }
        found.ok_or_else(|| Error::missing_field(self.name))
    }
}

/// Reads where the tables of a model are written; an error if one is repeated.
#[derive(Clone, Copy)]
struct ModelTables;

/// The tables of a model as they are written.
#[derive(Default)]
struct Written<'de> {
    vocab: Option<&'de RawValue>,
    merges: Option<&'de RawValue>,
}

impl<'de> DeserializeSeed<'de> for ModelTables {
    type Value = Written<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ModelTables {
    type Value = Written<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a model")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut written = Written::default();
        while let Some(Text(key)) = map.next_key()? {
            let place = match key.as_ref() {
                "vocab" => &mut written.vocab,
                "merges" => &mut written.merges,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            if place.replace(map.next_value()?).is_some() {
                return Err(Error::custom("a table is repeated"));
            }
        }
        Ok(written)
    }
}

/// Pieces with their ids: an object, or a list of pieces with scores.
struct Vocab<'de>(Vec<(Cow<'de, str>, u64)>);

impl<'de> Deserialize<'de> for Vocab<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(VocabVisitor).map(Self)
    }
}

struct VocabVisitor;

impl<'de> Visitor<'de> for VocabVisitor {
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

/// Merges, read one by one.
#[derive(Default)]
struct Merges {
    joined: Joined,
    /// How many are written as pairs.
    pairs: usize,
}

impl<'de> Deserialize<'de> for Merges {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(MergesVisitor)
    }
}

struct MergesVisitor;

impl<'de> Visitor<'de> for MergesVisitor {
    type Value = Merges;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("merges")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut merges = Merges::default();
        while list.next_element_seed(MergeReader(&mut merges))?.is_some() {}
        Ok(merges)
    }
}

/// Appends a merge to others.
struct MergeReader<'merges>(&'merges mut Merges);

impl MergeReader<'_> {
    fn push<E: Error>(self, left: &str, right: &str) -> Result<(), E> {
        let is_piece = |text: &str| !text.is_empty() && !text.as_bytes().contains(&b' ');
        let pushed = (is_piece(left) && is_piece(right)).then(|| self.0.joined.push(&[left, " ", right])).flatten();
        pushed.ok_or_else(|| E::custom("a piece of a merge is empty, or contains a space or NUL"))
    }
}

impl<'de> DeserializeSeed<'de> for MergeReader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for MergeReader<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("two pieces")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        match (list.next_element()?, list.next_element()?, list.next_element::<IgnoredAny>()?) {
            (Some(Text(left)), Some(Text(right)), None) => {
                self.0.pairs += 1;
                self.push(&left, &right)
            }
            _ => Err(Error::custom("a merge has another number of pieces")),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        let (left, right) = text.split_once(' ').ok_or_else(|| E::custom("a merge has no space"))?;
        self.push(left, right)
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

    type Read = (Option<Vec<String>>, Option<Vec<String>>, String);

    fn read(document: &str) -> Option<Read> {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it was a part of a string");
        let list = |joined: Joined| {
            let strings: Vec<_> = text(joined.bytes).split('\0').map(str::to_owned).collect();
            assert_eq!(strings.len(), joined.count);
            strings
        };
        let tables = read_tables(document.as_bytes())?;
        Some((tables.pieces.map(list), tables.merges.map(list), text(tables.rest)))
    }

    fn prepared(vocab: &str, merges: &str) -> Option<String> {
        let document = format!(r#"{{"model": {{"vocab": {vocab}, "merges": {merges}, "x": 1}}}}"#);
        let prepared = read_tables(document.as_bytes())?.prepared;
        prepared.map(|bytes| String::from_utf8(bytes).expect("it was a string"))
    }

    fn pieces(document: &str) -> Option<Vec<String>> {
        read(document).and_then(|(pieces, ..)| pieces)
    }

    #[test]
    fn pieces_are_ordered_by_id_and_merges_are_joined() {
        let document =
            r#"{"a": [], "model": {"type": "BPE", "vocab": {"b\n": 1, "a": 0}, "merges": [["a", "é"], "b c"]}}"#;
        let rest = r#"{"a": [], "model": {"type": "BPE", "vocab": {}, "merges": []}}"#;
        let merges = vec!["a é".into(), "b c".into()];
        assert_eq!(read(document), Some((Some(vec!["a".into(), "b\n".into()]), Some(merges), rest.into())));
    }

    #[test]
    fn the_tables_may_be_in_any_order() {
        let document = r#"{"model": {"merges": ["a b"], "x": 1, "vocab": {"a": 0}}, "b": {"vocab": 3}}"#;
        let rest = r#"{"model": {"merges": [], "x": 1, "vocab": {}}, "b": {"vocab": 3}}"#;
        assert_eq!(read(document), Some((Some(vec!["a".into()]), Some(vec!["a b".into()]), rest.into())));
    }

    #[test]
    fn pieces_of_a_list_have_their_index_as_id() {
        let document = r#"{"model": {"vocab": [["<unk>", 0], ["a", -1.5]]}}"#;
        let rest = r#"{"model": {"vocab": []}}"#;
        assert_eq!(read(document), Some((Some(vec!["<unk>".into(), "a".into()]), None, rest.into())));
    }

    #[test]
    fn a_repeated_piece_counts_twice() {
        assert_eq!(pieces(r#"{"model": {"vocab": {"a": 0, "a": 1}}}"#), Some(vec!["a".into(), "a".into()]));
    }

    #[test]
    fn merges_that_are_written_in_another_way_stay() {
        for merges in [
            "null",
            r#"["a"]"#,
            r#"[["a b", "c"]]"#,
            r#"["a b c"]"#,
            r#"[["", "a"]]"#,
            r#"[["a"]]"#,
            "[1]",
            r#"["a\u0000 b"]"#,
        ] {
            let document = format!(r#"{{"model": {{"vocab": {{"a": 0}}, "merges": {merges}}}}}"#);
            let rest = format!(r#"{{"model": {{"vocab": {{}}, "merges": {merges}}}}}"#);
            assert_eq!(read(&document), Some((Some(vec!["a".into()]), None, rest)));
        }
    }

    #[test]
    fn pairs_become_strings() {
        let expected = r#"{"model": {"vocab": {"a":0}, "merges": ["a é","\" \n"], "x": 1}}"#;
        assert_eq!(prepared(r#"{"a": 0}"#, r#"[["a", "\u00e9"], [ "\"" , "\n" ]]"#), Some(expected.into()));
    }

    #[test]
    fn merges_that_the_library_reads_otherwise_as_strings_stay_pairs() {
        for merges in [r#"["a b"]"#, r#"[["a", "b"], "b c"]"#, r##"[["a", "b"], ["#version", "1"]]"##, "[]", "null"] {
            let expected = format!(r#"{{"model": {{"vocab": {{"a":0}}, "merges": {merges}, "x": 1}}}}"#);
            assert_eq!(prepared(r#"{"a": 0}"#, merges), Some(expected));
            assert_eq!(prepared(r#"[["a", 0]]"#, merges), None);
        }
    }

    #[test]
    fn pieces_are_sorted_and_the_last_of_equal_ones_stays_the_last() {
        for (vocab, sorted) in [
            (r#"{"é": 0, "b": 1, "\n": 2, "": 3, "ab": 4}"#, r#"{"":3,"\n":2,"ab":4,"b":1,"é":0}"#),
            (r#"{"b": 2, "a": 1, "b": 0}"#, r#"{"a":1,"b":2,"b":0}"#),
        ] {
            let expected = format!(r#"{{"model": {{"vocab": {sorted}, "merges": [], "x": 1}}}}"#);
            assert_eq!(prepared(vocab, "[]"), Some(expected));
        }
    }

    #[test]
    fn pieces_that_are_not_numbered_in_order_stay() {
        for vocab in [r#"{"a": 0, "b": 2}"#, r#"{"a": 0, "b": 0}"#, r#"{"a": 0, "\u0000": 1}"#] {
            let document = format!(r#"{{"model": {{"vocab": {vocab}, "merges": ["a b"]}}}}"#);
            let rest = format!(r#"{{"model": {{"vocab": {vocab}, "merges": []}}}}"#);
            assert_eq!(read(&document), Some((None, Some(vec!["a b".into()]), rest)));
        }
    }

    #[test]
    fn what_is_left_to_the_library_is_none() {
        for vocab in [r#"{"a": 1}"#, r#"{"a": 0, "b": 0}"#, r#"{"a": -1}"#, r#"{"a": 1.5}"#, r#"{"\ud800": 0}"#, "3"] {
            assert_eq!(pieces(&format!(r#"{{"model": {{"vocab": {vocab}}}}}"#)), None);
        }
        assert_eq!(pieces(r#"{"model": {"vocab": {"a\u0000": 0}}}"#), None);
        for document in ["", "[]", "{}", r#"{"model": 1}"#, r#"{"model": {"vocab": {}}, "model": {"vocab": {}}}"#] {
            assert_eq!(pieces(document), None);
        }
    }
}
