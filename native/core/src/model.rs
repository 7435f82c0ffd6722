//! The models, one for each family, behind one type with static dispatch.

use crate::error::{BuildError, EncodeError};
use crate::models::{bpe::Bpe, hybriddna::HybridDna, plamo2::Plamo2, plamo3::Plamo3, rwkv::Rwkv, spm::Spm};
use crate::models::{unigram::Unigram, whitespace::Whitespace, wordpiece::WordPiece};
use crate::scratch::Scratch;
use crate::spec::{Family, Spec};

/// Encodes a normalized stretch of text that contains no added tokens.
#[derive(Debug)]
#[allow(missing_docs, reason = "named like the modules, which are documented")]
pub enum Model {
    Bpe(Bpe),
    Spm(Spm),
    Unigram(Unigram),
    WordPiece(WordPiece),
    Rwkv(Rwkv),
    Plamo2(Plamo2),
    Plamo3(Plamo3),
    HybridDna(HybridDna),
    Whitespace(Whitespace),
}

impl Model {
    /// Build the model of `spec`. It may share tables with `previous`, which was built from a similar `Spec`.
    ///
    /// # Errors
    /// If the native engine does not support the tokenizer, or llama.cpp refuses it.
    pub fn new(spec: &Spec, previous: Option<&Self>) -> Result<Self, BuildError> {
        // The model inside `previous`, if it is of the same family.
        macro_rules! previous {
            ($family:ident) => {
                previous.and_then(|model| if let Self::$family(model) = model { Some(model) } else { None })
            };
        }
        Ok(match spec.family {
            Family::Bpe => Self::Bpe(Bpe::new(spec, previous!(Bpe))?),
            Family::Llama => Self::Spm(Spm::new(spec, previous!(Spm))?),
            Family::T5 => Self::Unigram(Unigram::new(spec, previous!(Unigram))?),
            Family::Bert => Self::WordPiece(WordPiece::new(spec, previous!(WordPiece))?),
            Family::Rwkv => Self::Rwkv(Rwkv::new(spec, previous!(Rwkv))?),
            Family::Plamo2 => Self::Plamo2(Plamo2::new(spec, previous!(Plamo2))?),
            Family::Plamo3 => Self::Plamo3(Plamo3::new(spec, previous!(Plamo3))?),
            Family::HybridDna => Self::HybridDna(HybridDna::new(spec, previous!(HybridDna))?),
            Family::Whitespace => Self::Whitespace(Whitespace::new(spec, previous!(Whitespace))?),
        })
    }

    /// Return whether the model takes texts with spaces that the Python engine's takes with `▁` in their place.
    #[must_use]
    pub fn takes_spaces(&self) -> bool {
        matches!(self, Self::Spm(_))
    }

    /// Append the ids of `text`, which is UTF-8.
    ///
    /// # Errors
    /// If llama.cpp aborts on this text.
    pub fn encode(&self, text: &[u8], scratch: &mut Scratch, ids: &mut Vec<u32>) -> Result<(), EncodeError> {
        match self {
            Self::Bpe(model) => model.encode(text, scratch, ids),
            Self::Spm(model) => model.encode(text, scratch, ids),
            Self::Unigram(model) => model.encode(text, scratch, ids),
            Self::WordPiece(model) => model.encode(text, scratch, ids),
            Self::Rwkv(model) => model.encode(text, scratch, ids),
            Self::Plamo2(model) => model.encode(text, scratch, ids),
            Self::Plamo3(model) => model.encode(text, scratch, ids),
            Self::HybridDna(model) => model.encode(text, scratch, ids),
            Self::Whitespace(model) => model.encode(text, scratch, ids),
        }
    }

    /// Append the ids of `text`, which has bytes of cut characters at its ends (`CuttableModel` in the Python engine).
    ///
    /// Returns None, with `ids` unchanged, if the model does not know such bytes; then it gets U+FFFD for each.
    pub fn encode_cut(
        &self,
        text: &[u8],
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
    ) -> Option<Result<(), EncodeError>> {
        match self {
            Self::Spm(model) => Some(model.encode_cut(text, scratch, ids)),
            Self::Unigram(model) => Some(model.encode_cut(text, scratch, ids)),
            Self::Rwkv(model) => Some(model.encode_cut(text, scratch, ids)),
            Self::HybridDna(model) => Some(model.encode_cut(text, scratch, ids)),
            _ => None,
        }
    }
}
