// A program for `tokverify ... command:`, with the npm package @huggingface/tokenizers:
// `node engine.js tokenizer.json`
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Tokenizer } from "@huggingface/tokenizers";

const tokenizer = new Tokenizer(JSON.parse(readFileSync(process.argv[2])), { clean_up_tokenization_spaces: false });
const added = tokenizer.get_added_tokens_decoder();
const about = {
  protocol: 1,
  name: "tokenizers.js",
  version: "0.2.0",
  vocab_size: [...tokenizer.get_vocab().values()].reduce((most, id) => Math.max(most, id)) + 1,
  capabilities: ["add_special", "always_parse_special", "decode", "tokens"],
};
const list = (id) => {
  const [piece, token] = [tokenizer.id_to_token(id), added.get(id)];
  return piece === undefined ? null : { piece, type: token && (token.special ? "control" : "user_defined") };
};
const operations = {
  hello: () => about,
  encode: ({ texts, add_special }) => ({ ids: texts.map((text) => tokenizer.encode(text, { add_special_tokens: add_special }).ids) }),
  decode: ({ ids }) => ({ decoded: ids.map((each) => tokenizer.decode(each)) }),
  tokens: ({ ids }) => ({ tokens: ids.map(list) }),
};
for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  console.log(JSON.stringify({ id: request.id, ...operations[request.op](request) }));
}
