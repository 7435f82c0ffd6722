//! What a native encoder is built from: the declared tables and llama.cpp's effective settings, resolved by Python.

use crate::vocabulary::{Strings, Vocabulary};
use std::sync::Arc;

/// The value of `tokenizer.ggml.model`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// `llama`: sentencepiece's byte-pair encoding by score.
    Llama,
    /// `gpt2` and `gemma4`: byte-pair encoding by merge rank.
    Bpe,
    /// `hybriddna`.
    HybridDna,
    /// `whitespace`.
    Whitespace,
    /// `bert`: WordPiece.
    Bert,
    /// `t5`: sentencepiece's unigram model.
    T5,
    /// `rwkv`.
    Rwkv,
    /// `plamo2`.
    Plamo2,
    /// `plamo3`.
    Plamo3,
}

impl Family {
    /// Find a family by the value of `tokenizer.ggml.model`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "llama" => Self::Llama,
            "gpt2" | "gemma4" => Self::Bpe,
            "hybriddna" => Self::HybridDna,
            "whitespace" => Self::Whitespace,
            "bert" => Self::Bert,
            "t5" => Self::T5,
            "rwkv" => Self::Rwkv,
            "plamo2" => Self::Plamo2,
            "plamo3" => Self::Plamo3,
            _ => return None,
        })
    }
}

/// The bits of a token's attributes, as llama.cpp stores them; the same values as in `tokverify/engine/attribute.py`.
pub mod attribute {
    /// The unknown token.
    pub const UNKNOWN: u8 = 1;
    /// Never produced by a model.
    pub const UNUSED: u8 = 2;
    /// An ordinary piece.
    pub const NORMAL: u8 = 4;
    /// A control token, matched in texts if special tokens are parsed.
    pub const CONTROL: u8 = 8;
    /// A token that is always matched in texts.
    pub const USER_DEFINED: u8 = 16;
    /// A piece that represents a byte.
    pub const BYTE: u8 = 32;
}

/// The values of `tokenizer.ggml.token_type` that models depend on.
pub mod token_type {
    /// An ordinary piece.
    pub const NORMAL: u8 = 1;
    /// A token that is always matched in texts.
    pub const USER_DEFINED: u8 = 4;
    /// Never produced by most models.
    pub const UNUSED: u8 = 5;
    /// A piece that represents a byte.
    pub const BYTE: u8 = 6;
}

/// A token matched in the text before the model runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedToken {
    /// Its id; its text is the piece of this id in [`Spec::displayed`].
    pub id: u32,
    /// Whether it is matched only if special tokens are parsed.
    pub special: bool,
    /// Whether a match includes the whitespace before it.
    pub lstrip: bool,
    /// Whether a match includes the whitespace after it.
    pub rstrip: bool,
}

/// How byte-pair encoding splits a text, and treats what it gets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PreTokenization {
    /// The names of the rules, see `pre_tokenizer`.
    pub rules: Vec<String>,
    /// Whether each byte of a pre-token is mapped to a character of the GPT-2 alphabet.
    pub byte_level: bool,
    /// Whether a pre-token that is a piece becomes one token without merging.
    pub ignore_merges: bool,
    /// Whether a run of newlines that is a piece becomes one token without merging.
    pub newline_pieces: bool,
}

/// A tokenizer with llama.cpp's effective settings. Large tables are shared between encoders that differ in a setting.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Which model encodes.
    pub family: Family,
    /// The strings that texts are matched with, by id. Bytes need not be UTF-8.
    pub vocabulary: Arc<Vocabulary>,
    /// The pieces by id as they are displayed, decoded and matched as added tokens; `vocabulary` in most families.
    pub displayed: Arc<Vocabulary>,
    /// The declared scores by id; empty if there are none.
    pub scores: Arc<[f64]>,
    /// The declared types by id (`token_type`); empty if there are none.
    pub types: Arc<[u8]>,
    /// The effective attributes by id (`attribute`).
    pub attributes: Arc<[u8]>,
    /// In order of rank; each is two pieces joined by a space.
    pub merges: Arc<Strings>,
    /// sentencepiece's precompiled normalizer; empty if there is none.
    pub charsmap: Arc<[u8]>,
    /// The rules of the pre-tokenizer, and what its name implies; without effect in families that use none.
    pub pre_tokenizer: PreTokenization,
    /// The unknown token.
    pub unknown_id: Option<u32>,
    /// In the order in which llama.cpp splits texts at them: longest first, in bytes.
    pub added_tokens: Vec<AddedToken>,
    /// The ids that `add_special` adds before a text; None if a required one is missing.
    pub prefix: Option<Vec<u32>>,
    /// The ids that `add_special` adds after a text; None if a required one is missing.
    pub suffix: Option<Vec<u32>>,
    /// Whether decoding removes, and some models add, a space at the start of a text.
    pub add_space_prefix: bool,
    /// Whether the encoder itself adds a space before each stretch of text.
    pub prefixes_space: bool,
    /// Whether spaces are written as `▁`.
    pub escape_whitespaces: bool,
    /// Whether the encoder writes spaces as `▁` before the text reaches the model.
    pub escapes_in_encoder: bool,
    /// Whether runs of spaces are reduced to one.
    pub remove_extra_whitespaces: bool,
    /// Whether decoding removes spaces before punctuation.
    pub clean_spaces: bool,
    /// Whether texts are converted to lowercase.
    pub lowercase: bool,
    /// Whether accents are removed.
    pub strip_accents: bool,
    /// Whether texts are normalized to form C.
    pub nfc: bool,
    /// Whether another thread builds large tables.
    pub in_background: bool,
}
