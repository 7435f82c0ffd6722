//! Measure byte-pair encoding without Python: `cargo run --release --example speed PIECES MERGES RULE TEXT`.
//!
//! PIECES and MERGES are separated by NUL. Prints MB/s for the first half of the text, the second, and the whole again.

use std::sync::Arc;
use std::time::Instant;
use tokverify_core::encoder::{Encoder, Options};
use tokverify_core::spec::{Family, PreTokenization, Spec};
use tokverify_core::vocabulary::{Strings, Vocabulary};

fn strings(path: &str) -> Strings {
    let joined = std::fs::read(path).expect("the file is readable");
    Strings::from_joined(&joined, joined.split(|&byte| byte == 0).count()).expect("strings")
}

fn spec(pieces: &str, merges: &str, rule: &str) -> Spec {
    let vocabulary = Arc::new(Vocabulary::new(strings(pieces)));
    Spec {
        family: Family::Bpe,
        displayed: vocabulary.clone(),
        vocabulary,
        scores: Arc::from([]),
        types: Arc::from([]),
        attributes: Arc::from([]),
        merges: Arc::new(strings(merges)),
        charsmap: Arc::from([]),
        pre_tokenizer: PreTokenization { rules: vec![rule.into()], byte_level: true, ..PreTokenization::default() },
        unknown_id: None,
        added_tokens: Vec::new(),
        prefix: None,
        suffix: None,
        add_space_prefix: false,
        prefixes_space: false,
        escape_whitespaces: false,
        escapes_in_encoder: false,
        remove_extra_whitespaces: false,
        clean_spaces: false,
        lowercase: false,
        strip_accents: false,
        nfc: false,
        in_background: false,
    }
}

/// Split a text into documents of about 8 kB.
fn documents(text: &str) -> Vec<&str> {
    let mut documents = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = (8000..=rest.len()).find(|&place| rest.is_char_boundary(place)).unwrap_or(rest.len());
        documents.push(&rest[..end]);
        rest = &rest[end..];
    }
    documents
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [pieces, merges, rule, text] = &arguments[..] else { panic!("name PIECES, MERGES, RULE and TEXT") };
    let encoder = Encoder::new(spec(pieces, merges, rule), None).expect("the tokenizer is supported");
    let text = std::fs::read_to_string(text).expect("the text is UTF-8");
    let documents = documents(&text);
    let half = documents.len() / 2;
    let options = Options { add_special: false, parse_special: true };
    for part in [&documents[..half], &documents[half..], &documents[..]] {
        let start = Instant::now();
        let size: usize = part.iter().map(|document| document.len()).sum();
        encoder.with_scratch(|scratch| {
            let mut ids = Vec::new();
            for document in part {
                encoder.encode_with(document, options, scratch, &mut ids).expect("the text can be encoded");
            }
        });
        println!("{:.0} MB/s", size as f64 / 1e6 / start.elapsed().as_secs_f64());
    }
}
