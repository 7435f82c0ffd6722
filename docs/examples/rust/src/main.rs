// A program for `tokverify ... command:`, with the crate `tokenizers`: `tokverify-example tokenizer.json`
use serde_json::{from_str, from_value, json, Value};
use tokenizers::{Result, Tokenizer};

fn each<T: serde::de::DeserializeOwned>(items: &Value, work: impl Fn(T) -> Result<Value>) -> Value {
    let items: Vec<T> = from_value(items.clone()).unwrap();
    let fail = |error: Box<dyn std::error::Error + Send + Sync>| json!({"error": error.to_string()});
    items.into_iter().map(|item| work(item).unwrap_or_else(fail)).collect()
}

fn answer(tokenizer: &mut Tokenizer, request: &Value) -> Value {
    match request["op"].as_str().unwrap() {
        "hello" => json!({
            "protocol": 1, "name": "tokenizers-rs", "version": "0.23",
            "vocab_size": tokenizer.get_vocab(true).values().max().unwrap() + 1,
            "capabilities": ["add_special", "parse_special", "decode", "tokens"],
        }),
        "encode" => {
            tokenizer.set_encode_special_tokens(request["parse_special"] == false);
            let encode = |text: String| tokenizer.encode(text, request["add_special"] == true);
            json!({"ids": each(&request["texts"], |text| Ok(json!(encode(text)?.get_ids())))})
        }
        "decode" => json!({"decoded": each(&request["ids"], |ids: Vec<u32>| Ok(tokenizer.decode(&ids, false)?.into()))}),
        _ => {
            let added = tokenizer.get_added_tokens_decoder();
            let kind = |id| added.get(&id).map(|token| if token.special { "control" } else { "user_defined" });
            let token = |id, piece| json!({"piece": piece, "type": kind(id).unwrap_or("undefined")});
            json!({"tokens": each(&request["ids"], |id| Ok(tokenizer.id_to_token(id).map(|piece| token(id, piece)).into()))})
        }
    }
}

fn main() {
    let mut tokenizer = Tokenizer::from_file(std::env::args().nth(1).expect("name a tokenizer.json")).unwrap();
    for line in std::io::stdin().lines() {
        let request: Value = from_str(&line.unwrap()).unwrap();
        let mut response = answer(&mut tokenizer, &request);
        response["id"] = request["id"].clone();
        println!("{response}");
    }
}
