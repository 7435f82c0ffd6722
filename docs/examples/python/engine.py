"""A program for `tokverify ... command:`, with the package sentencepiece: `python engine.py tokenizer.model`."""

import json
import sys

import sentencepiece

model = sentencepiece.SentencePieceProcessor(model_file=sys.argv[1])
special = [id for id in range(len(model)) if model.is_control(id) or model.is_unknown(id)]
roles = {"bos": model.bos_id(), "eos": model.eos_id(), "unk": model.unk_id()}
about = {
    "protocol": 1,
    "name": "sentencepiece-example",
    "version": sentencepiece.__version__,
    "vocab_size": len(model),
    "capabilities": ["add_special", "decode", "tokens"],
    "special_ids": {role: id for role, id in roles.items() if id >= 0},
    "control_texts": model.id_to_piece(special),
}
operations = {
    "hello": lambda request: about,
    "encode": lambda request: {
        "ids": model.encode(request["texts"], add_bos=request["add_special"] and "bos" in about["special_ids"])
    },
    "decode": lambda request: {"decoded": model.decode(request["ids"])},
    "tokens": lambda request: {"tokens": [{"piece": piece} for piece in model.id_to_piece(request["ids"])]},
}
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"id": request["id"], **operations[request["op"]](request)}), flush=True)
