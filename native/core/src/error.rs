//! Why a tokenizer cannot be built, or a text cannot be encoded.
//!
//! The messages that users read are those of the Python engine, which repeats the failed step; both engines therefore
//! report the same errors.

use std::fmt;

/// Why there is no native encoder for a tokenizer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildError {
    /// The native engine does not support the tokenizer; the Python engine may. Completes "the native engine ...".
    Unsupported(String),
    /// llama.cpp refuses the tokenizer.
    Broken(String),
}

impl fmt::Display for BuildError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(reason) | Self::Broken(reason) => formatter.write_str(reason),
        }
    }
}

impl std::error::Error for BuildError {}

/// Why a text cannot be encoded: llama.cpp aborts on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncodeError {
    /// No token represents this byte.
    MissingByte(u8),
    /// The needed part of the charsmap is damaged.
    DamagedCharsmap,
    /// Tokens begin with the byte, but none matches: llama.cpp never finishes.
    Endless(u8),
    /// A pair to be merged contains a space.
    SpaceInPreToken,
    /// A token to be added around the text is missing.
    MissingAffix,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingByte(byte) => write!(formatter, "the vocabulary has no token for the byte 0x{byte:02X}"),
            Self::DamagedCharsmap => formatter.write_str("the needed part of the charsmap is damaged"),
            Self::Endless(byte) => write!(formatter, "tokens begin with the byte 0x{byte:02X}, but none matches"),
            Self::SpaceInPreToken => formatter.write_str("a pre-token contains a space"),
            Self::MissingAffix => formatter.write_str("a token to be added around the text is missing"),
        }
    }
}

impl std::error::Error for EncodeError {}

/// An id outside the vocabulary, which cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownId(pub u32);

impl fmt::Display for UnknownId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "id {} is outside the vocabulary", self.0)
    }
}

impl std::error::Error for UnknownId {}
