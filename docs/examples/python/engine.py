"""A program for `tokverify ... command:`, with the package sentencepiece: `python engine.py tokenizer.model`."""

import json
import sys

import sentencepiece

model = sentencepiece.SentencePieceProcessor(model_file=sys.argv[1])
special = [id for id in range(len(model)) if model.is_control(id) or model.is_unknown(id)]
about = {
    "protocol": 1,
    "name": "sentencepiece-example",
    "version": sentencepiece.__version__,
    "vocab_size": len(model),
    "capabilities": ["add_special", "decode", "tokens"],
    "special_ids": {"bos": model.bos_id(), "eos": model.eos_id(), "unk": model.unk_id()},
    "control_texts": model.id_to_piece(special),
}
operations = {
    "hello": lambda request: about,
    "encode": lambda request: {"ids": model.encode(request["texts"], add_bos=request["add_special"])},
    "decode": lambda request: {"decoded": model.decode(request["ids"])},
    "tokens": lambda request: {"tokens": [{"piece": piece} for piece in model.id_to_piece(request["ids"])]},
}
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"id": request["id"], **operations[request["op"]](request)}), flush=True)
