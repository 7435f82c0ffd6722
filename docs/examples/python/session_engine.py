"""A session that encodes the last tokens of a growing text again: `python session_engine.py tokenizer.json TOKENS`."""

import json
import sys

from tokenizers import Tokenizer, __version__

tokenizer = Tokenizer.from_file(sys.argv[1])
again = int(sys.argv[2])


def extend(pieces: list[str]) -> list[list[int]]:
    """Return all ids after each piece."""
    text, ids, offsets, every = "", [], [], []
    for piece in pieces:
        text += piece
        kept = max(len(ids) - again, 0)
        while kept and offsets[kept][0] < offsets[kept - 1][1]:
            kept -= 1  # A character may have several tokens.
        begin = offsets[kept][0] if kept else 0
        encoded = tokenizer.encode(text[begin:], add_special_tokens=False)
        ids = ids[:kept] + encoded.ids
        offsets = offsets[:kept] + [(begin + start, begin + end) for start, end in encoded.offsets]
        every.append(ids)
    return every


about = {
    "protocol": 1,
    "name": "session",
    "version": __version__,
    "vocab_size": tokenizer.get_vocab_size(),
    "capabilities": ["always_parse_special", "decode", "extend"],
}
operations = {
    "hello": lambda _: about,
    "encode": lambda request: {
        "ids": [tokenizer.encode(text, add_special_tokens=False).ids for text in request["texts"]]
    },
    "decode": lambda request: {"decoded": [tokenizer.decode(ids, skip_special_tokens=False) for ids in request["ids"]]},
    "extend": lambda request: {"ids": [extend(pieces) for pieces in request["texts"]]},
}
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"id": request["id"], **operations[request["op"]](request)}), flush=True)
