"""A program for the reference `command` that answers so many requests, and can then never be started again.

Its arguments are a GGUF file, a file that says that it has been started, and the number of requests.
"""

import json
import sys
from pathlib import Path

from tokverify import load_gguf


def main(model: str, note: str, requests: str) -> None:
    if Path(note).exists():
        sys.exit("the end")
    Path(note).touch()
    encoder = load_gguf(model)
    for number, line in enumerate(sys.stdin):
        request = json.loads(line)
        if number >= int(requests):
            sys.exit("the end")
        response = {}
        if request["op"] == "hello":
            response = {"protocol": 1, "name": "mortal", "version": "1", "vocab_size": encoder.vocab_size}
            response["capabilities"] = ["add_special", "parse_special", "decode"]
        elif request["op"] == "encode":
            modes = {name: request[name] for name in ("add_special", "parse_special")}
            response = {"ids": [encoder.encode(text, **modes) for text in request["texts"]]}
        elif request["op"] == "decode":
            response = {"decoded": [encoder.decode(ids).decode(errors="replace") for ids in request["ids"]]}
        print(json.dumps({"id": request["id"], **response}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
