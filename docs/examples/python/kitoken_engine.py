"""A program for `tokverify ... command:`, with the package kitoken: `python kitoken_engine.py tokenizer.json`."""

import base64
import json
import sys
from importlib.metadata import version

from kitoken import Kitoken

tokenizer = Kitoken.from_file(sys.argv[1])
definition = tokenizer.definition()
[model] = definition["model"].values()
unused = 2**32 - 1
ids = [token["id"] for part in (model["vocab"], definition["specials"]) for token in part if token["id"] != unused]


def write_bytes(data: bytes) -> dict[str, str]:
    """Write bytes, which need not be UTF-8."""
    return {"base64": base64.b64encode(data).decode()}


about = {
    "protocol": 1,
    "name": "kitoken",
    "version": version("kitoken"),
    "vocab_size": max(ids) + 1,
    "capabilities": ["parse_special", "decode"],
}
operations = {
    "hello": lambda _: about,
    "encode": lambda request: {"ids": [tokenizer.encode(text, request["parse_special"]) for text in request["texts"]]},
    "decode": lambda request: {"decoded": [write_bytes(tokenizer.decode(each, True)) for each in request["ids"]]},
}
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"id": request["id"], **operations[request["op"]](request)}), flush=True)
