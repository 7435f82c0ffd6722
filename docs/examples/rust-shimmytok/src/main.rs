// A program for `tokverify ... command:`, with the crate `shimmytok`: `tokverify-shimmytok model.gguf`
use serde_json::{from_str, from_value, json, Value};
use shimmytok::{EncodeOptions, Error, Tokenizer};

fn or_error<T: serde::Serialize>(result: Result<T, Error>) -> Value {
    result.map_or_else(|error| json!({ "error": error.to_string() }), |value| json!(value))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tokenizer = Tokenizer::from_gguf_file(std::env::args().nth(1).expect("name a GGUF file"))?;
    for line in std::io::stdin().lines() {
        let mut request: Value = from_str(&line?)?;
        let mut response = match request["op"].as_str() {
            Some("hello") => json!({
                "protocol": 1, "name": "shimmytok", "version": "0.8.4", "vocab_size": tokenizer.vocab_size(),
                "capabilities": ["add_special", "parse_special", "decode"],
            }),
            Some("encode") => {
                let options =
                    EncodeOptions::with_parse_special(request["add_special"] == true, request["parse_special"] == true);
                let encode = |text: String| or_error(tokenizer.encode_with_options(&text, &options));
                json!({ "ids": from_value::<Vec<_>>(request["texts"].take())?.into_iter().map(encode).collect::<Vec<_>>() })
            }
            _ => {
                let decode = |ids: Vec<u32>| or_error(tokenizer.decode(&ids, false));
                json!({ "decoded": from_value::<Vec<_>>(request["ids"].take())?.into_iter().map(decode).collect::<Vec<_>>() })
            }
        };
        response["id"] = request["id"].take();
        println!("{response}");
    }
    Ok(())
}
