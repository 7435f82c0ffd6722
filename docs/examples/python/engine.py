"""A program for `tokverify ... command:`, with the package sentencepiece: `python engine.py tokenizer.model`."""

import base64
import json
import sys

import sentencepiece

model = sentencepiece.SentencePieceProcessor(model_file=sys.argv[1])


def hello(request):
    ids = {"bos": model.bos_id(), "eos": model.eos_id(), "unk": model.unk_id()}
    return {
        "protocol": 1,
        "name": "sentencepiece-example",
        "version": sentencepiece.__version__,
        "vocab_size": model.get_piece_size(),
        "capabilities": ["add_special", "decode", "tokens"],
        "special_ids": {role: id for role, id in ids.items() if id >= 0},
        "control_texts": [model.id_to_piece(id) for id in range(model.get_piece_size()) if is_special(id)],
    }


def encode(request):
    return {"ids": [model.encode(text, add_bos=request["add_special"]) for text in request["texts"]]}


def decode(request):
    return {"decoded": [model.decode(ids) for ids in request["ids"]]}


def tokens(request):
    return {"tokens": [{"piece": model.id_to_piece(id), "bytes": represent(id)} for id in request["ids"]]}


def is_special(id):
    return model.is_control(id) or model.is_unknown(id)


def represent(id):
    piece = model.id_to_piece(id)
    data = bytes([int(piece[1:-1], 16)]) if model.is_byte(id) else piece.replace("▁", " ").encode()
    return {"base64": base64.b64encode(data).decode()}


operations = {"hello": hello, "encode": encode, "decode": decode, "tokens": tokens}
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"id": request["id"], **operations[request["op"]](request)}), flush=True)
