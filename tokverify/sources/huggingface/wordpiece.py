"""Convert WordPiece, which GGUF calls `bert`.

A tokenizer.json marks pieces that continue a word with `##`; GGUF marks pieces that begin a word with `▁`. llama.cpp
supports only BERT's cleanup, and always adds two tokens around a text. Where its cleanup differs from BERT's, a
tokenizer.json can add normalizers and pre-tokenizers to match it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tokverify.engine.normalizer import ESCAPED_SPACE
from tokverify.engine.word_splitting import first_difference
from tokverify.sources.huggingface.vocabulary import ids_around, special_ids, vocabulary
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.text.visible import visible

if TYPE_CHECKING:
    from tokverify.sources.huggingface.document import Document
    from tokverify.sources.huggingface.stage import Stage

CONTINUATION = "##"
_CHARACTER_CLASS = re.compile(r"\[[^\[\]\\^]+\]")


def convert_wordpiece(document: Document) -> TokenizerSpec:
    """Convert a tokenizer.json whose model is WordPiece."""
    if document.model.get("continuing_subword_prefix") != CONTINUATION:
        raise document.unsupported("model.continuing_subword_prefix", f"GGUF can only express {CONTINUATION}")
    flags = _normalizer_flags(document)
    _require_bert_splitting(document, flags)
    before, after = ids_around(document)
    if not before or not after:
        raise document.unsupported("post_processor", "llama.cpp always adds one token before a text and one after it")
    words = vocabulary(document, document.tables.vocab)
    return TokenizerSpec(
        model="bert",
        tokens=list(map(_convert_piece, words.tokens, words.types)),
        types=words.types,
        special_ids=special_ids(document, words.ids, (before, []), document.unknown) | {"sep": after[0]},
        **flags,
    )


def _normalizer_flags(document: Document) -> dict[str, Any]:
    match [stage for stage in document.normalizer if not _is_per_character(stage)]:
        case [{"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True} as stage]:
            return {"lowercase": stage["lowercase"], "strip_accents": stage["strip_accents"]}
        case [{"type": "BertNormalizer"}]:
            raise document.unsupported("normalizer BertNormalizer", "clean_text and handle_chinese_chars must be on")
    raise document.unsupported("normalizer", "with WordPiece, GGUF can only express BertNormalizer")


def _require_bert_splitting(document: Document, flags: dict[str, Any]) -> None:
    """Refuse additions to BERT's stages, unless the result is the same as llama.cpp's."""
    splitters = [stage["type"] for stage in document.pre_tokenizer if not _is_per_character(stage)]
    if splitters != ["BertPreTokenizer"]:
        raise document.unsupported("pre_tokenizer", "with WordPiece, GGUF can only express BertPreTokenizer")
    additions = list(filter(_is_per_character, [*document.normalizer, *document.pre_tokenizer]))
    character = additions and first_difference(
        _splitter(document),
        lowercase=flags["lowercase"],
        strip_accents=flags["lowercase"] if flags["strip_accents"] is None else flags["strip_accents"],
        ignored=[token["content"] for token in document.added_tokens],
    )
    if character:
        reason = f"with this stage, {visible(character)} inside a word is treated differently from llama.cpp"
        raise document.unsupported(additions[0]["type"], reason)


def _is_per_character(stage: Stage) -> bool:
    """Check whether a stage processes single characters, so that trying each character tests it completely."""
    isolates = stage.get("behavior") == "Isolated" and not stage.get("invert")
    if stage["type"] != "Replace" and not (stage["type"] == "Split" and isolates):
        return False
    return bool(_CHARACTER_CLASS.fullmatch(stage["pattern"].get("Regex", "")))


def _splitter(document: Document) -> Callable[[str], list[str]]:
    normalizer, pre_tokenizer = document.library.normalizer, document.library.pre_tokenizer
    return lambda text: [word for word, _ in pre_tokenizer.pre_tokenize_str(normalizer.normalize_str(text))]


def _convert_piece(piece: str, type: int) -> str:
    # subtle: an empty piece begins no word; as `▁`, llama.cpp would find it before what only continues a word.
    if type in {TokenType.CONTROL, TokenType.UNUSED, TokenType.USER_DEFINED} or not piece:
        return piece
    continued = piece.removeprefix(CONTINUATION)
    return continued if continued != piece else ESCAPED_SPACE + piece
