"""A program for the reference `command` around our own encoder: `encoder_program.py MODEL.gguf [FAULT]`.

A fault is also what the program lacks: `LACKING` maps it to the capabilities that it does not have.
"""

import base64
import json
import sys

from hostile_ids import HostileEncoder

from tokverify import load_gguf
from tokverify.spec import TokenType

encoder = load_gguf(sys.argv[1])
fault = sys.argv[2] if len(sys.argv) > 2 else ""
types = encoder.token_types()
if fault == "hostile":
    encoder = HostileEncoder(encoder)

LACKING = {
    "only-ids": {"decode", "tokens"},
    "bare": {"add_special", "parse_special", "decode", "tokens"},
    "no-decode": {"decode"},
    "no-tokens": {"tokens"},
}


def hello(request):
    return {
        "protocol": 1,
        "name": "own",
        "version": "1",
        "vocab_size": encoder.vocab_size,
        "capabilities": sorted({"add_special", "parse_special", "decode", "tokens"} - LACKING.get(fault, set())),
        "special_ids": dict(encoder.special_ids),
    }


def encode(request):
    options = {name: request[name] for name in ("add_special", "parse_special")}
    texts = [text.lower() if fault == "lowercase" else text for text in request["texts"]]
    encoded = [encode_text(text, options) for text in texts]
    if fault == "batch" and len(encoded) > 1:
        encoded[-1] = encoded[0]
    return {"ids": encoded}


def encode_text(text, options):
    if fault == "selective" and "!" in text:
        return {"unsupported": "an exclamation"}
    ids = encoder.encode(text, **options)
    return {"silent": [], "short": ids[:-1]}.get(fault, ids)


def decode(request):
    return {"decoded": [to_json(encoder.decode(ids)) for ids in request["ids"]]}


def tokens(request):
    listed = [(encoder.piece(id), encoder.token_bytes(id), TokenType(types[id]).name.lower()) for id in request["ids"]]
    if fault == "only-pieces":
        return {"tokens": [{"piece": piece} for piece, _, _ in listed]}
    return {"tokens": [{"piece": piece, "bytes": to_json(data), "type": type} for piece, data, type in listed]}


def to_json(data):
    return {"base64": base64.b64encode(data).decode()}


for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"id": request["id"], **globals()[request["op"]](request)}), flush=True)
