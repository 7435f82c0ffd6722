"""A program for `tokverify ... command:`, with pytorch-tokenizers: `python pytorch_engine.py tokenizer.json`."""

import json
import sys
from importlib.metadata import version

from pytorch_tokenizers import CppHFTokenizer

tokenizer = CppHFTokenizer()
tokenizer.load(sys.argv[1])
about = {
    "protocol": 1,
    "name": "pytorch-tokenizers",
    "version": version("pytorch-tokenizers"),
    "vocab_size": tokenizer.vocab_size(),
    "capabilities": ["always_parse_special"],
}
operations = {
    "hello": lambda _: about,
    "encode": lambda request: {"ids": [tokenizer.encode(text, 0, 0) for text in request["texts"]]},
}
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"id": request["id"], **operations[request["op"]](request)}), flush=True)
