"""A program for `tokverify ... command:`, with onnxruntime-extensions: `python onnxruntime_engine.py DIRECTORY`.

The directory contains tokenizer.json and tokenizer_config.json.
"""

import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from onnxruntime_extensions.pp_api import Tokenizer

tokenizer = Tokenizer(sys.argv[1])
document = json.loads((Path(sys.argv[1]) / "tokenizer.json").read_text(encoding="utf-8"))
vocab = document["model"]["vocab"]
ids = list(vocab.values() if isinstance(vocab, dict) else range(len(vocab)))
ids += [token["id"] for token in document["added_tokens"]]


def encode(request: dict) -> dict:
    """Encode texts, with BOS and EOS if that is requested."""
    tokenizer.update_options({"add_special_tokens": request["add_special"]})
    return {"ids": [attempt(tokenizer.tokenize, text) for text in request["texts"]]}


def decode(request: dict) -> dict:
    """Decode lists of ids."""
    return {"decoded": [attempt(lambda ids: tokenizer.detokenize(ids)[0], ids) for ids in request["ids"]]}


def attempt(function: Callable, argument: object) -> object:
    """Return a result, or the error of this text."""
    try:
        return function(argument)
    except (IndexError, RuntimeError, ValueError) as error:
        return {"error": str(error)}


about = {
    "protocol": 1,
    "name": "onnxruntime-extensions",
    "version": version("onnxruntime-extensions"),
    "vocab_size": max(ids) + 1,
    "capabilities": ["add_special", "always_parse_special", "decode"],
}
operations = {
    "hello": lambda _: about,
    "encode": encode,
    "decode": decode,
}
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"id": request["id"], **operations[request["op"]](request)}), flush=True)
