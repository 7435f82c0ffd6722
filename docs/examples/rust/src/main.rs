// A program for `tokverify ... command:`, with the crate `tokenizers`: `tokverify-example tokenizer.json`
use serde_json::{json, Value};
use std::io::stdin;
use tokenizers::Tokenizer;

fn answer(tokenizer: &mut Tokenizer, request: &Value) -> Value {
    match request["op"].as_str().unwrap() {
        "hello" => json!({
            "protocol": 1, "name": "tokenizers-rs", "version": "0.23",
            "vocab_size": tokenizer.get_vocab(true).values().max().unwrap() + 1,
            "capabilities": ["add_special", "parse_special", "decode", "tokens"],
        }),
        "encode" => {
            tokenizer.set_encode_special_tokens(!request["parse_special"].as_bool().unwrap());
            let add = request["add_special"].as_bool().unwrap();
            let encode = |text: &Value| match tokenizer.encode(text.as_str().unwrap(), add) {
                Ok(encoding) => json!(encoding.get_ids()),
                Err(error) => json!({"error": error.to_string()}),
            };
            json!({"ids": request["texts"].as_array().unwrap().iter().map(encode).collect::<Vec<_>>()})
        }
        "decode" => {
            let decode = |ids: &Vec<u32>| match tokenizer.decode(ids, false) {
                Ok(text) => json!(text),
                Err(error) => json!({"error": error.to_string()}),
            };
            let all: Vec<Vec<u32>> = serde_json::from_value(request["ids"].clone()).unwrap();
            json!({"decoded": all.iter().map(decode).collect::<Vec<_>>()})
        }
        _ => {
            let added = tokenizer.get_added_tokens_decoder();
            let kind = |id: &u32| match added.get(id) {
                Some(token) if token.special => "control",
                Some(_) => "user_defined",
                None => "undefined",
            };
            let token = |id: &u32| tokenizer.id_to_token(*id).map(|piece| json!({"piece": piece, "type": kind(id)}));
            let ids: Vec<u32> = serde_json::from_value(request["ids"].clone()).unwrap();
            json!({"tokens": ids.iter().map(token).collect::<Vec<_>>()})
        }
    }
}

fn main() {
    let path = std::env::args().nth(1).expect("name a tokenizer.json");
    let mut tokenizer = Tokenizer::from_file(path).expect("not a tokenizer.json");
    for line in stdin().lines() {
        let request: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let mut response = answer(&mut tokenizer, &request);
        response["id"] = request["id"].clone();
        println!("{response}");
    }
}
