//! Decode ids to bytes, at once or one by one.
//!
//! Source: `llama_vocab::impl::detokenize` in llama.cpp's `src/llama-vocab.cpp`; the Python engine's is
//! `tokverify/engine/decoder.py`.

use crate::error::UnknownId;
use crate::spec::Spec;
use crate::token_bytes;

/// Append the bytes of a text; `clean_up` removes spaces before punctuation for tokenizers that llama.cpp does it for.
///
/// # Errors
/// If an id is outside the vocabulary; `output` then contains a part of the bytes.
pub fn decode(spec: &Spec, ids: &[u32], clean_up: bool, output: &mut Vec<u8>) -> Result<(), UnknownId> {
    let start = output.len();
    if let [first, others @ ..] = ids {
        append_first(spec, *first, output)?;
        others.iter().try_for_each(|&id| token_bytes::append(spec, id, output))?;
    }
    if clean_up && spec.clean_spaces {
        clean_up_spaces(output, start);
    }
    Ok(())
}

/// Append the bytes of the first token of a text, which can lose a space that it begins with.
fn append_first(spec: &Spec, id: u32, output: &mut Vec<u8>) -> Result<(), UnknownId> {
    let start = output.len();
    token_bytes::append(spec, id, output)?;
    if spec.add_space_prefix && output.get(start) == Some(&b' ') {
        output.remove(start);
    }
    Ok(())
}

/// Remove the spaces that word tokenizers leave before punctuation, in the three passes of `llama_detokenize`.
fn clean_up_spaces(text: &mut Vec<u8>, start: usize) {
    replace(text, start, |rest| match rest {
        [b' ', b'?' | b'!' | b'.' | b',', ..] => Some((1, b"")),
        _ => None,
    });
    replace(text, start, |rest| rest.starts_with(b" ' ").then_some((3, b"'")));
    replace(text, start, |rest| match rest {
        [b' ', b'\'', b's' | b'm', ..] | [b' ', b'\'', b'r' | b'v', b'e', ..] => Some((1, b"")),
        _ => None,
    });
}

/// Replace what `find` recognizes at each place from `start` on, given as its size and other, fewer bytes.
fn replace(text: &mut Vec<u8>, start: usize, find: impl Fn(&[u8]) -> Option<(usize, &'static [u8])>) {
    let (mut place, mut written) = (start, start);
    while place < text.len() {
        if let Some((size, replacement)) = find(&text[place..]) {
            text[written..written + replacement.len()].copy_from_slice(replacement);
            written += replacement.len();
            place += size;
        } else {
            text[written] = text[place];
            written += 1;
            place += 1;
        }
    }
    text.truncate(written);
}

/// Decodes the ids of one text as they come; holds back the bytes of a character until it is complete.
#[derive(Debug, Default)]
pub struct Stream {
    pending: Vec<u8>,
    has_begun: bool,
}

impl Stream {
    /// Return the text that is complete with the next id; bytes that cannot become a character become U+FFFD.
    ///
    /// # Errors
    /// If the id is outside the vocabulary, which leaves the stream as it was.
    pub fn push(&mut self, spec: &Spec, id: u32) -> Result<String, UnknownId> {
        let append = if self.has_begun { token_bytes::append } else { append_first };
        append(spec, id, &mut self.pending)?;
        self.has_begun = true;
        Ok(self.take_complete())
    }

    /// Return the remaining text: U+FFFD for a character that was never completed.
    pub fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.pending)).into_owned()
    }

    fn take_complete(&mut self) -> String {
        let mut text = String::new();
        let mut rest = &self.pending[..];
        for chunk in self.pending.utf8_chunks() {
            text.push_str(chunk.valid());
            rest = &rest[chunk.valid().len()..];
            let is_incomplete = std::str::from_utf8(rest).is_err_and(|error| error.error_len().is_none());
            if is_incomplete {
                break;
            }
            if !chunk.invalid().is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
            rest = &rest[chunk.invalid().len()..];
        }
        self.pending.drain(..self.pending.len() - rest.len());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_are_cleaned_up_in_three_passes() {
        let cases: [(&[u8], &[u8]); 5] = [
            (b"a ? b ! c . d , e ; f", b"a? b! c. d, e ; f"),
            (b" ' ' a", b"'' a"),
            (b"it 's I 'm we 're they 've", b"it's I'm we're they've"),
            (b"he 'll I 'r", b"he 'll I 'r"),
            (b"' a '", b"' a '"),
        ];
        for (decoded, cleaned) in cases {
            let mut text = [b" .", decoded].concat();
            clean_up_spaces(&mut text, 2);
            assert_eq!(text, [b" .", cleaned].concat());
        }
    }

    fn take(pending: &[u8]) -> (String, Vec<u8>) {
        let mut stream = Stream { pending: pending.to_vec(), has_begun: true };
        (stream.take_complete(), stream.pending)
    }

    #[test]
    fn characters_are_held_back_until_they_are_complete() {
        assert_eq!(take(b"a\xe4\xbd"), ("a".into(), b"\xe4\xbd".to_vec()));
        assert_eq!(take(b"\xe4\xbd\xa0 a"), ("你 a".into(), Vec::new()));
        assert_eq!(take(b"\xe4a\xffb\xff"), ("\u{fffd}a\u{fffd}b\u{fffd}".into(), Vec::new()));
        assert_eq!(take(b"\xf0\x9f\xf0\x9f"), ("\u{fffd}".into(), b"\xf0\x9f".to_vec()));
    }
}
