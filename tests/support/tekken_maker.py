"""Make the content of a tekken.json."""

import base64
from collections.abc import Sequence


def make_tekken(words: Sequence[bytes], names: Sequence[str], **config: object) -> dict:
    """Make ten special tokens, the first of them named, then single bytes and words; `config` overrides the keys."""
    tokens = [*(bytes([byte]) for byte in range(256)), *words]
    usual = {
        "pattern": r" ?\p{L}+|\s+|.",
        "num_vocab_tokens": len(tokens),
        "default_vocab_size": len(tokens) + 10,
        "default_num_special_tokens": 10,
        "version": "v7",
    }
    vocab = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for rank, token in enumerate(tokens)
    ]
    special = [{"rank": rank, "token_str": name, "is_control": True} for rank, name in enumerate(names)]
    return {"config": usual | config, "vocab": vocab, "special_tokens": special}
