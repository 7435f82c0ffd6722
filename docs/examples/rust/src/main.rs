// A program for `tokverify ... command:`, with the crate `tokenizers`: `tokverify-example tokenizer.json`
use serde_json::{from_str, from_value, json, Value};
use tokenizers::{Result, Tokenizer};

fn main() -> Result<()> {
    let mut tokenizer = Tokenizer::from_file(std::env::args().nth(1).expect("name a tokenizer.json"))?;
    let added = tokenizer.get_added_tokens_decoder();
    let kind = |id: &u32| added.get(id).map_or("undefined", |it| if it.special { "control" } else { "user_defined" });
    for line in std::io::stdin().lines() {
        let mut request: Value = from_str(&line?)?;
        let (texts, ids) = (request["texts"].take(), request["ids"].take());
        let mut response = match request["op"].as_str() {
            Some("hello") => json!({
                "protocol": 1, "name": "tokenizers-rs", "version": "0.23",
                "vocab_size": tokenizer.get_vocab(true).values().max().unwrap() + 1,
                "capabilities": ["add_special", "parse_special", "decode", "tokens"],
            }),
            Some("encode") => {
                tokenizer.set_encode_special_tokens(request["parse_special"] == false);
                let encoded = tokenizer.encode_batch::<String>(from_value(texts)?, request["add_special"] == true)?;
                json!({ "ids": encoded.iter().map(|each| each.get_ids()).collect::<Vec<_>>() })
            }
            Some("decode") => {
                let decode = |ids: Vec<u32>| tokenizer.decode(&ids, false);
                json!({ "decoded": from_value::<Vec<_>>(ids)?.into_iter().map(decode).collect::<Result<Vec<_>>>()? })
            }
            _ => {
                let list = |id| Some(json!({ "piece": tokenizer.id_to_token(id)?, "type": kind(&id) }));
                json!({ "tokens": from_value::<Vec<_>>(ids)?.into_iter().map(list).collect::<Vec<_>>() })
            }
        };
        response["id"] = request["id"].take();
        println!("{response}");
    }
    Ok(())
}
