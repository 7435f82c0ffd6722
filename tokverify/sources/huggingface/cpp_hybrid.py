"""Convert the C++ hybrid tokenizer, which tokverify itself trains, to `tokenizer.ggml.model` `cpp-hybrid`.

llama.cpp has no such model. It is recognized by its normalizer and pre-tokenizer, which no other tokenizer has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.engine.models.cpp.vocabulary import CONTINUATION, ROLES, SPECIAL, UNKNOWN, reserved_piece
from tokverify.sources.huggingface.bpe import join_merges
from tokverify.sources.huggingface.post_processor import ids_around
from tokverify.sources.huggingface.vocabulary import special_ids, vocabulary
from tokverify.spec import TokenizerSpec, TokenType

if TYPE_CHECKING:
    from tokverify.sources.huggingface.document import Document

MODEL = "cpp-hybrid"
"""The `tokenizer.ggml.model` of the family."""

_OPTIONS = {"ignore_merges": True, "continuing_subword_prefix": CONTINUATION, "unk_token": UNKNOWN}
_OFF = ("dropout", "end_of_word_suffix", "fuse_unk", "byte_fallback")


def convert_cpp_hybrid(document: Document) -> TokenizerSpec:
    """Convert a tokenizer.json with the pipeline of this family."""
    for option, value in {**_OPTIONS, **dict.fromkeys(_OFF)}.items():
        if (document.model.get(option) or None) != value:
            raise document.unsupported(f"model.{option}", f"must be {value or 'off'} for {MODEL}")
    around = ids_around(document)
    words = vocabulary(document, document.tables.vocab, unknown=UNKNOWN)
    roles = {role: words.ids[text] for role, text in ROLES.items() if text in words.ids}
    placeholders = {id for id, token in enumerate(words.tokens) if token == reserved_piece(id) and token not in SPECIAL}
    return TokenizerSpec(
        model=MODEL,
        tokens=words.tokens,
        types=[TokenType.UNUSED.value if id in placeholders else type for id, type in enumerate(words.types)],
        merges=join_merges(document),
        special_ids=roles | special_ids(document, words.ids, around, document.unknown),
        add_bos=bool(around[0]),
        add_eos=bool(around[1]),
    )
