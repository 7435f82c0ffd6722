"""A file that contains everything that could break a terminal or a table."""

from pathlib import Path

from support.gguf_maker import make_gguf, numbers, string, strings, uint32
from support.spec_maker import BYTE_PIECES
from tokverify.sources.gguf.cursor import ValueType

TEXTS = [
    "[/INST]",
    "[red]x",
    "\x1b[31m<|a|>",
    "<|\u202e|>",
    "a\0b",
    "<|" + "x" * 10_000 + "|>",
    "\n",
    "",
    b"<|\xff|>",
    "  ",
]
FORBIDDEN = ("\x1b", "\u202e", "\0", "\x9b", "\r")


def write_hostile(path: Path, *, refused: bool = False) -> Path:
    """Write the file; the name of a rejected one makes llama.cpp look for tokens that do not exist."""
    tokens = ["<unk>", "<s>", "</s>", *BYTE_PIECES, *TEXTS]
    types = [2, 3, 3, *[6] * 256, *[4, 1] * (len(TEXTS) // 2)]
    fields = {
        "general.architecture": string("llama"),
        "general.name": string("\x1b]0;" + ("phi-3" if refused else "x") + "\x07\u202e[/INST]"),
        "tokenizer.ggml.model": string("llama"),
        "tokenizer.ggml.pre": string("[/red]\x1b[2J" + "y" * 10_000),
        "tokenizer.ggml.tokens": strings(tokens),
        "tokenizer.ggml.token_type": numbers(ValueType.INT32, types),
        "tokenizer.ggml.scores": numbers(ValueType.FLOAT32, [-float(id) for id in range(len(tokens))]),
        "tokenizer.ggml.bos_token_id": uint32(262),
        "tokenizer.ggml.eos_token_id": uint32(264),
        "tokenizer.chat_template": string("<|\u202e|>\x1b[31m<|a|>[/INST]{{ x }}<|b|>" + "<|" + "x" * 10_000 + "|>"),
    }
    path.write_bytes(make_gguf(fields))
    return path
