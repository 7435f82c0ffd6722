"""Generate sentencepiece, tiktoken, tekken and RWKV files."""

import base64
import random

from hostile.gguf_files import BYTES, charsmap
from hostile.json_files import companions
from hostile.values import distinct, number, score, short_text, text, to_json, usually
from support.sentencepiece_maker import BPE, BYTE, CHAR, CONTROL, UNIGRAM, UNKNOWN, WORD, make_model
from tokverify.text.utf8 import from_utf8, to_bytes

_PATTERN = r"\p{L}+|\p{N}|\s+|[^\s\p{L}\p{N}]+"


def sentencepiece(source: random.Random) -> dict[str, bytes]:
    """Make a sentencepiece model."""
    words = [usually(source, short_text(source), text(source)) for _ in range(source.choice((1, 5, 40)))]
    usual = [word for word in words if "\0" not in word and word] if source.random() < 0.98 else words
    tokens = distinct(["<unk>", "<s>", "</s>", *BYTES, "▁", *usual])
    pieces = [(to_bytes(token), _score(source, at), _type(source, token)) for at, token in enumerate(tokens)]
    kind = usually(source, source.choice((UNIGRAM, BPE)), WORD, CHAR, number(source) % 100)
    trainer = {3: kind, 24: source.randrange(2), 35: usually(source, 1, 0)}
    rules = {2: charsmap(source)} if source.random() < 0.3 else {}
    normalizer = {**rules, **{field: source.randrange(2) for field in (3, 4, 5)}}
    return {"tokenizer.model": make_model(pieces, trainer, normalizer), **companions(source)}


def _score(source: random.Random, at: int) -> float:
    return score(source) if at > 2 + len(BYTES) else 0.0


def _type(source: random.Random, token: str) -> int:
    usual = {"<unk>": UNKNOWN, "<s>": CONTROL, "</s>": CONTROL, **dict.fromkeys(BYTES, BYTE)}.get(token)
    if usual:
        return usual if source.random() < 0.9999 else 1
    return source.choice((1, 1, 1, 1, 3, 4, 5)) if source.random() < 0.5 else usually(source, 1, 2, 6, 7, share=0.002)


def _tokens(source: random.Random) -> list[bytes]:
    """Return the bytes, words, and tokens that merges of others produce."""
    tokens = [bytes([byte]) for byte in range(256)]
    for _ in range(source.choice((0, 5, 60))):
        tokens.append(source.choice(tokens[-100:]) + source.choice(tokens[32:]))
    if source.random() < 0.3:
        tokens += [to_bytes(short_text(source, lone_bytes=True)) for _ in range(source.choice((1, 10)))]
    return list(dict.fromkeys(token[:1100] for token in tokens))


def tiktoken(source: random.Random) -> dict[str, bytes]:
    """Make a tiktoken vocabulary."""
    tokens = _tokens(source)
    ids: list[object] = list(range(len(tokens)))
    if source.random() < 0.1:
        ids[source.randrange(len(ids))] = source.choice((number(source), len(ids), len(ids) + 1000))
    lines = [base64.b64encode(token) + f" {id}".encode() for token, id in zip(tokens, ids, strict=True)]
    return {"qwen.tiktoken": b"\n".join(lines) + b"\n", **companions(source)}


def tekken(source: random.Random) -> dict[str, bytes]:
    """Make a tekken.json."""
    vocab = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for rank, token in enumerate(_tokens(source))
    ]
    names = distinct(["<unk>", "<s>", "</s>", *(short_text(source) for _ in range(source.randrange(6)))])
    special = [{"rank": rank, "token_str": name, "is_control": True} for rank, name in enumerate(names)]
    config = {
        "pattern": usually(source, _PATTERN, "(a+)+$", "", "[", r"(\s|x)*y|.", ".", text(source), share=0.2),
        "num_vocab_tokens": len(vocab),
        "default_vocab_size": len(vocab) + usually(source, 10, 3, 0, number(source)),
        "default_num_special_tokens": usually(source, 10, 3, number(source)),
        "version": usually(source, source.choice(("v3", "v7", "v11")), "v99", text(source)),
    }
    return {"tekken.json": to_json(source, {"config": config, "vocab": vocab, "special_tokens": special})}


def rwkv(source: random.Random) -> dict[str, bytes]:
    """Make RWKV's text vocabulary."""
    lines = []
    for id, token in enumerate(_tokens(source), 1):
        spelled = from_utf8(token)
        literal = repr(token if spelled is None else spelled)
        lines.append(to_bytes(f"{id} {literal} {len(token)}"))
    if source.random() < 0.3:
        hostile = (number(source), usually(source, repr(text(source)), text(source)), number(source))
        lines[source.randrange(len(lines))] = to_bytes(" ".join(map(str, hostile)))
    return {"rwkv_vocab_v20230424.txt": b"\n".join(lines) + b"\n"}
