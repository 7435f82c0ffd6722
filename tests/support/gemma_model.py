"""Build the sentencepiece model of Gemma 3, which is not in the shared folder, from the pieces of its GGUF file.

Google's own file types more pieces USER_DEFINED than the GGUF file: the unused ones and the markers of a chat. Its four
other special pieces are the only ones that are CONTROL or UNKNOWN.
"""

from pathlib import Path

from support.sentencepiece_maker import BPE, CONTROL, UNKNOWN, USER_DEFINED, make_model
from tokverify.engine.normalizer import escape_spaces
from tokverify.spec import TokenizerSpec

_SPECIAL = {"<pad>": CONTROL, "<eos>": CONTROL, "<bos>": CONTROL, "<unk>": UNKNOWN}


def gemma_model(spec: TokenizerSpec) -> bytes:
    """Return the content of the .model file."""
    types = [_type(text, type) for text, type in zip(spec.tokens, spec.types, strict=True)]
    texts = [
        escape_spaces(text) if type == USER_DEFINED else text for text, type in zip(spec.tokens, types, strict=True)
    ]
    trainer = {3: BPE, 4: len(texts), 35: 1, 40: 3, 41: 2, 42: 1, 43: 0}
    trainer |= {45: b"<unk>", 46: b"<bos>", 47: b"<eos>", 48: b"<pad>"}
    return make_model(zip(texts, spec.scores, types, strict=True), trainer, {3: 0, 4: 0, 5: 1})


def _type(text: str, type: int) -> int:
    if text in _SPECIAL:
        return _SPECIAL[text]
    return USER_DEFINED if type in {CONTROL, USER_DEFINED} or text.startswith("<unused") else type


def write_gemma_model(spec: TokenizerSpec, path: Path) -> Path:
    """Write the .model file, and return its path."""
    path.write_bytes(gemma_model(spec))
    return path
