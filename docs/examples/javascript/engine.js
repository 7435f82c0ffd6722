// A program for `tokverify ... command:`, with the npm package @huggingface/tokenizers:
// `node engine.js tokenizer.json`
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Tokenizer } from "@huggingface/tokenizers";

const manifest = new URL("node_modules/@huggingface/tokenizers/package.json", import.meta.url);
const tokenizer = new Tokenizer(JSON.parse(readFileSync(process.argv[2])), { clean_up_tokenization_spaces: false });
const added = tokenizer.get_added_tokens_decoder();

const attempt = (work) => {
  try {
    return work();
  } catch (error) {
    return { error: error.message };
  }
};
const tokenOf = (id) => {
  const piece = tokenizer.id_to_token(id);
  if (piece === undefined) return null;
  return added.has(id) ? { piece, type: added.get(id).special ? "control" : "user_defined" } : { piece };
};
const operations = {
  hello: () => ({
    protocol: 1,
    name: "tokenizers.js",
    version: JSON.parse(readFileSync(manifest)).version,
    vocab_size: Math.max(...tokenizer.get_vocab().values()) + 1,
    capabilities: ["add_special", "always_parse_special", "decode", "tokens"],
  }),
  encode: ({ texts, add_special }) => ({
    ids: texts.map((text) => attempt(() => tokenizer.encode(text, { add_special_tokens: add_special }).ids)),
  }),
  decode: ({ ids }) => ({ decoded: ids.map((each) => attempt(() => tokenizer.decode(each))) }),
  tokens: ({ ids }) => ({ tokens: ids.map(tokenOf) }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  console.log(JSON.stringify({ id: request.id, ...operations[request.op](request) }));
}
