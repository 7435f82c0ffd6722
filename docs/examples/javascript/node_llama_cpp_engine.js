// A program for `tokverify ... command:`, with the npm package node-llama-cpp: `node node_llama_cpp_engine.js model.gguf`
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { getLlama, LlamaLogLevel } from "node-llama-cpp";

const llama = await getLlama({ gpu: false, build: "never", logLevel: LlamaLogLevel.disabled });
const model = await llama.loadModel({ modelPath: process.argv[2], vocabOnly: true });
const about = {
  protocol: 1,
  name: "node-llama-cpp",
  version: JSON.parse(readFileSync("node_modules/node-llama-cpp/package.json")).version,
  vocab_size: model.fileInfo.metadata.tokenizer.ggml.tokens.length,
  capabilities: ["parse_special", "decode"],
};
const operations = {
  hello: () => about,
  encode: ({ texts, parse_special }) => ({ ids: texts.map((text) => model.tokenize(text, parse_special)) }),
  decode: ({ ids }) => ({ decoded: ids.map((each) => model.detokenize(each, true)) }),
};
for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  console.log(JSON.stringify({ id: request.id, ...operations[request.op](request) }));
}
