"""Recognize pipelines of stages that one family reproduces as a whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokverify.engine.models.cpp.vocabulary import CONTINUATION, ROLES, SPECIAL, UNKNOWN, reserved_piece
from tokverify.sources.huggingface.bpe import read_merges
from tokverify.sources.huggingface.post_processor import ids_around
from tokverify.sources.huggingface.stage import stages_of
from tokverify.sources.huggingface.vocabulary import special_ids, vocabulary
from tokverify.spec import TokenizerSpec, TokenType

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from tokverify.sources.huggingface.document import Document


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A normalizer and a pre-tokenizer that belong together and that one of tokverify's models includes."""

    model: str
    """The `tokenizer.ggml.model` that includes them."""
    convert: Callable[[Document], TokenizerSpec]
    piece_bytes: Callable[[str], bytes]
    """Returns the bytes that a piece represents."""


def find_pipeline(tokenizer: Tokenizer) -> Pipeline | None:
    """Return the known pipeline of a tokenizer; None if its stages match no known one."""
    types = tuple(stage["type"] for stage in stages_of(tokenizer.pre_tokenizer))
    find = _PIPELINES.get(types)
    return find(tokenizer) if find else None


def _find_cpp_hybrid(tokenizer: Tokenizer) -> Pipeline | None:
    from tokverify.engine.models.cpp.spacing import piece_bytes
    from tokverify.sources.huggingface.cpp_stages import is_cpp_hybrid

    return Pipeline(MODEL, convert_cpp_hybrid, piece_bytes) if is_cpp_hybrid(tokenizer) else None


_PIPELINES: Mapping[tuple[str, ...], Callable[[Tokenizer], Pipeline | None]] = {
    ("Split", "WhitespaceSplit", "ByteLevel"): _find_cpp_hybrid,
}
"""Types of the pre-tokenizer's stages -> a function that compares the rest, so that it is imported only then."""


MODEL = "cpp-hybrid"
"""The `tokenizer.ggml.model` of the family."""

_OPTIONS = {"ignore_merges": True, "continuing_subword_prefix": CONTINUATION, "unk_token": UNKNOWN}
_OFF = ("dropout", "end_of_word_suffix", "fuse_unk", "byte_fallback")


# llama.cpp has no such model. It is recognized by its normalizer and pre-tokenizer, which no other tokenizer has.
def convert_cpp_hybrid(document: Document) -> TokenizerSpec:
    """Convert a tokenizer.json with the pipeline of this family."""
    for option, value in {**_OPTIONS, **dict.fromkeys(_OFF)}.items():
        if (document.model.get(option) or None) != value:
            raise document.unsupported(f"model.{option}", f"must be {value or 'off'} for {MODEL}")
    around = ids_around(document)
    words = vocabulary(document, document.model.get("vocab"), unknown=UNKNOWN)
    roles = {role: words.ids[text] for role, text in ROLES.items() if text in words.ids}
    placeholders = {id for id, token in enumerate(words.tokens) if token == reserved_piece(id) and token not in SPECIAL}
    return TokenizerSpec(
        model=MODEL,
        tokens=words.tokens,
        types=[TokenType.UNUSED.value if id in placeholders else type for id, type in enumerate(words.types)],
        merges=list(map(" ".join, read_merges(document))),
        special_ids=roles | special_ids(document, words.ids, around, document.unknown),
        add_bos=bool(around[0]),
        add_eos=bool(around[1]),
    )
