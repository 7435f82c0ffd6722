//! Encode and decode texts exactly as llama.cpp does, from what a GGUF file declares.
//!
//! The structure mirrors the Python engine in `tokverify/engine/`, which is the specification: an [`encoder::Encoder`]
//! splits a text at added tokens, normalizes the stretches between them, and runs the model of the family. This crate
//! knows nothing about Python; the binding is in `native/python`.

pub mod added_token;
pub mod ascii;
pub mod batch;
pub mod boundary;
pub mod branch;
pub mod byte_level;
pub mod character;
mod character_table;
pub mod charsmap;
pub mod chunk_cache;
pub mod decoder;
pub mod encoder;
pub mod error;
pub mod hash;
pub mod id_buffer;
pub mod late;
pub mod level_queue;
pub mod long_cache;
pub mod mark;
pub mod model;
pub mod models;
pub mod nfc;
pub mod pair_queue;
pub mod piece_table;
pub mod pre_tokenizer;
pub mod prefix_tree;
pub mod scanners;
pub mod scratch;
pub mod space;
pub mod spec;
pub mod token_bytes;
pub mod tokenizer_json;
pub mod trie;
pub mod trie_starts;
pub mod utf8;
pub mod vocabulary;
