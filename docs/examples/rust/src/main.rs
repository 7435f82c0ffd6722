// A program for `tokverify ... command:`, with the crate `tokenizers`: `tokverify-example tokenizer.json`
use serde_json::{from_str, from_value, json, Value};
use tokenizers::{Result, Tokenizer};

fn answer(tokenizer: &mut Tokenizer, request: &Value) -> Result<Value> {
    Ok(match request["op"].as_str().unwrap() {
        "hello" => json!({
            "protocol": 1, "name": "tokenizers-rs", "version": "0.23",
            "vocab_size": tokenizer.get_vocab(true).values().max().unwrap() + 1,
            "capabilities": ["add_special", "parse_special", "decode", "tokens"],
        }),
        "encode" => {
            tokenizer.set_encode_special_tokens(request["parse_special"] == false);
            let texts: Vec<String> = from_value(request["texts"].clone())?;
            let encode = |text| Ok(tokenizer.encode::<String>(text, request["add_special"] == true)?.get_ids().to_vec());
            json!({"ids": texts.into_iter().map(encode).collect::<Result<Vec<_>>>()?})
        }
        "decode" => {
            let lists: Vec<Vec<u32>> = from_value(request["ids"].clone())?;
            json!({"decoded": lists.iter().map(|ids| tokenizer.decode(ids, false)).collect::<Result<Vec<_>>>()?})
        }
        _ => {
            let ids: Vec<u32> = from_value(request["ids"].clone())?;
            let added = tokenizer.get_added_tokens_decoder();
            let kind = |id| added.get(&id).map(|token| if token.special { "control" } else { "user_defined" });
            let show = |id, piece| json!({"piece": piece, "type": kind(id).unwrap_or("undefined")});
            json!({"tokens": ids.iter().map(|id| Some(show(*id, tokenizer.id_to_token(*id)?))).collect::<Vec<_>>()})
        }
    })
}

fn main() {
    let mut tokenizer = Tokenizer::from_file(std::env::args().nth(1).expect("name a tokenizer.json")).unwrap();
    for line in std::io::stdin().lines() {
        let request: Value = from_str(&line.unwrap()).unwrap();
        let mut response = answer(&mut tokenizer, &request).unwrap_or_else(|error| json!({"error": error.to_string()}));
        response["id"] = request["id"].clone();
        println!("{response}");
    }
}
