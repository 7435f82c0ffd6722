"""Convert WordPiece, which GGUF calls `bert`.

A tokenizer.json marks the pieces that go on with a word, by `##`; GGUF marks those that begin one, by `▁`. llama.cpp
knows one way to clean a text up before, that of BERT, and always puts two tokens around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokverify.huggingface_file.post_processor import ids_around
from tokverify.huggingface_file.vocabulary import special_ids, vocabulary
from tokverify.normalizer import ESCAPED_SPACE
from tokverify.spec import TokenizerSpec, TokenType

if TYPE_CHECKING:
    from tokverify.huggingface_file.document import Document

_CONTINUATION = "##"


def convert_wordpiece(document: Document) -> TokenizerSpec:
    """Convert a tokenizer.json whose model is WordPiece."""
    if document.model.get("continuing_subword_prefix") != _CONTINUATION:
        raise document.unsupported("model.continuing_subword_prefix", f"GGUF can only express {_CONTINUATION}")
    flags = _normalizer_flags(document)
    if [stage["type"] for stage in document.pre_tokenizer] != ["BertPreTokenizer"]:
        raise document.unsupported("pre_tokenizer", "with WordPiece, GGUF can only express BertPreTokenizer")
    before, after = ids_around(document)
    if not before or not after:
        raise document.unsupported("post_processor", "llama.cpp always puts a token before a text and one after it")
    words = vocabulary(document, document.model.get("vocab"))
    return TokenizerSpec(
        model="bert",
        tokens=list(map(_token, words.tokens, words.types)),
        types=words.types,
        special_ids=special_ids(document, words.ids, (before, []), document.unknown) | {"sep": after[0]},
        **flags,
    )


def _normalizer_flags(document: Document) -> dict[str, Any]:
    match document.normalizer:
        case [{"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True} as stage]:
            return {"lowercase": stage["lowercase"], "strip_accents": stage["strip_accents"]}
        case [{"type": "BertNormalizer"}]:
            raise document.unsupported("normalizer BertNormalizer", "clean_text and handle_chinese_chars must be on")
    raise document.unsupported("normalizer", "with WordPiece, GGUF can only express BertNormalizer")


def _token(piece: str, type: int) -> str:
    if type in {TokenType.CONTROL, TokenType.UNUSED}:
        return piece
    continued = piece.removeprefix(_CONTINUATION)
    return continued if continued != piece else ESCAPED_SPACE + piece
