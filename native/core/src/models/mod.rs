//! The models, one file each, as in `tokverify/engine/models/`, and their parts.

pub mod bpe;
pub mod bpe_alphabet;
pub mod bpe_words;
pub mod byte_joins;
pub mod hybriddna;
pub mod merge;
pub mod merge_few;
pub mod merge_table;
pub mod plamo2;
pub mod plamo2_reach;
pub mod plamo3;
pub mod rwkv;
pub mod rwkv_lanes;
pub mod score_sum;
pub mod spm;
pub mod spm_merge;
pub mod unigram;
pub mod unigram_normalizer;
pub mod whitespace;
pub mod whole_pieces;
pub mod whole_words;
pub mod word_normalizer;
pub mod wordpiece;
