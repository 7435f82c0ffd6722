//! Hybrid DNA: byte-pair encoding, and between `<dna>` and `</dna>` one token for every six bases.
//!
//! The last bases are padded with `A`. A k-mer such as `CCCCCC` can also be an ordinary piece, so a GGUF file stores it
//! followed by a marker. Other k-mers become `<oov>`. The Python engine's is `tokverify/engine/models/hybriddna.py`.
//!
//! Source: `llm_tokenizer_hybriddna_session` in llama.cpp's `src/llama-vocab.cpp`.

use crate::error::{BuildError, EncodeError};
use crate::models::bpe::Bpe;
use crate::scratch::Scratch;
use crate::spec::Spec;
use crate::utf8::replace_lone_bytes;
use crate::vocabulary::Vocabulary;
use memchr::memmem;
use std::sync::Arc;

const OPEN: &[u8] = b"<dna>";
const CLOSE: &[u8] = b"</dna>";
const OUT_OF_VOCABULARY: &[u8] = b"<oov>";
const BASES: usize = 6;
/// The end of the stored text of k-mers.
const MARKER: &[u8] = "\u{e000}".as_bytes();

/// Encodes texts.
///
/// subtle: if a file declares `<dna>` as an added token, the text has already been split there, and nothing is treated
/// as DNA.
#[derive(Debug)]
pub struct HybridDna {
    bpe: Bpe,
    vocabulary: Arc<Vocabulary>,
    /// None if one of the tokens is missing; then there is no DNA.
    markers: Option<Markers>,
}

/// The ids of the tokens around DNA.
#[derive(Debug, Clone, Copy)]
struct Markers {
    open: u32,
    close: u32,
    out_of_vocabulary: u32,
}

impl HybridDna {
    /// Build the model. It shares the tables of `previous` if they are the same.
    ///
    /// # Errors
    /// As for byte-pair encoding.
    pub fn new(spec: &Spec, previous: Option<&Self>) -> Result<Self, BuildError> {
        let vocabulary = spec.vocabulary.clone();
        let markers = || {
            Some(Markers {
                open: vocabulary.id(OPEN)?,
                close: vocabulary.id(CLOSE)?,
                out_of_vocabulary: vocabulary.id(OUT_OF_VOCABULARY)?,
            })
        };
        let bpe = Bpe::new(spec, previous.map(|previous| &previous.bpe))?;
        Ok(Self { bpe, markers: markers(), vocabulary })
    }

    /// Append the ids of `text`; bytes outside DNA that no token represents are dropped, as in llama.cpp.
    ///
    /// # Errors
    /// As for byte-pair encoding.
    pub fn encode(&self, text: &[u8], scratch: &mut Scratch, ids: &mut Vec<u32>) -> Result<(), EncodeError> {
        self.encode_around_dna(text, ids, |plain, ids| self.bpe.encode(plain, scratch, ids))
    }

    /// Append the ids of `text`, which has bytes of cut characters at its ends; these are kept inside DNA.
    ///
    /// # Errors
    /// As for byte-pair encoding.
    pub fn encode_cut(&self, text: &[u8], scratch: &mut Scratch, ids: &mut Vec<u32>) -> Result<(), EncodeError> {
        self.encode_around_dna(text, ids, |plain, ids| {
            let mut replaced = Vec::new();
            replace_lone_bytes(plain, &mut replaced);
            self.bpe.encode(&replaced, scratch, ids)
        })
    }

    fn encode_around_dna(
        &self,
        text: &[u8],
        ids: &mut Vec<u32>,
        mut encode_plain: impl FnMut(&[u8], &mut Vec<u32>) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let Some(markers) = self.markers else { return encode_plain(text, ids) };
        let mut rest = text;
        while let Some(open) = memmem::find(rest, OPEN) {
            encode_plain(&rest[..open], ids)?;
            rest = &rest[open + OPEN.len()..];
            ids.push(markers.open);
            let close = memmem::find(rest, CLOSE);
            self.encode_dna(&rest[..close.unwrap_or(rest.len())], markers, ids);
            ids.extend(close.map(|_| markers.close));
            rest = close.map_or(&[], |close| &rest[close + CLOSE.len()..]);
        }
        if rest.is_empty() { Ok(()) } else { encode_plain(rest, ids) }
    }

    fn encode_dna(&self, dna: &[u8], markers: Markers, ids: &mut Vec<u32>) {
        // Six bytes can be fewer characters; and only ASCII is converted to uppercase.
        for bases in dna.chunks(BASES) {
            let mut stored = [b'A'; BASES + MARKER.len()];
            stored[..bases.len()].copy_from_slice(&bases.to_ascii_uppercase());
            stored[BASES..].copy_from_slice(MARKER);
            ids.push(self.vocabulary.id(&stored).unwrap_or(markers.out_of_vocabulary));
        }
    }
}
