"""Convert the vocabulary of a tokenizer.json to GGUF's tokens and types, by id, and find the special tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokverify.engine.normalizer import ESCAPED_SPACE, unescape_spaces
from tokverify.engine.piece_index import PieceIndex, index_pieces
from tokverify.engine.special_text import BYTE_SPELLINGS
from tokverify.sources.config import GGUF_ROLES
from tokverify.spec import MAX_GAP, MAX_TOKENS, TokenType
from tokverify.text.utf8 import has_surrogate
from tokverify.text.wording import short_repr

if TYPE_CHECKING:
    from tokverify.sources.huggingface.document import Document
    from tokverify.sources.huggingface.stage import Stage

Around = tuple[list[int], list[int]]
"""The ids before and after a text."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Texts and types by id; `ids` maps the texts of the tokenizer.json."""

    tokens: Sequence[str]
    types: list[int]
    ids: Mapping[str, int]


def vocabulary(
    document: Document,
    ids: object,
    *,
    unknown: str | None = None,
    escapes_spaces: bool = False,
    has_bytes: bool = False,
) -> Vocabulary:
    """Combine the model's vocabulary and the added tokens; ids without a token become unused tokens.

    Args:
        document: The tokenizer.json.
        ids: The model's pieces and their ids, not checked yet.
        unknown: The unknown piece, if GGUF should declare it.
        escapes_spaces: Whether pieces contain `▁` for a space.
        has_bytes: Whether pieces such as `<0x0A>` represent bytes.

    Raises:
        BrokenFileError: If two tokens have the same id, or an id is implausible.
    """
    ids = _pieces(document, ids)
    all_ids = _all_ids(document, ids)
    tokens, types = _tokens_and_types(all_ids)
    if has_bytes:
        for piece in BYTE_SPELLINGS:
            if (id := all_ids.get(piece)) is not None:
                types[id] = TokenType.BYTE.value
    texts: dict[int, str] = {}
    for added in document.added_tokens:
        id = all_ids[added["content"]]
        has_space = escapes_spaces and ESCAPED_SPACE in added["content"]
        texts[id], types[id] = _convert_added(added, has_space=has_space, is_piece=added["content"] in ids)
    changed = {id: text for id, text in texts.items() if tokens[id] != text}
    if changed:
        tokens = list(tokens)
        for id, text in changed.items():
            tokens[id] = text
    if unknown is not None:
        types[_id_of(document, unknown, all_ids)] = TokenType.UNKNOWN.value
    return Vocabulary(tokens, types, all_ids)


def _tokens_and_types(ids: Mapping[str, int]) -> tuple[Sequence[str], list[int]]:
    """Return the texts by id, with names for ids without a token, and types that tell only these apart."""
    if isinstance(ids, PieceIndex):
        return ids.pieces, [TokenType.NORMAL.value] * len(ids.pieces)
    size = max(ids.values(), default=-1) + 1
    tokens = [f"[PAD{id}]" for id in range(size)]
    types = [TokenType.UNUSED.value] * size
    for piece, id in ids.items():
        tokens[id], types[id] = piece, TokenType.NORMAL.value
    return tokens, types


def _convert_added(added: Mapping[str, Any], *, has_space: bool, is_piece: bool) -> tuple[str, int]:
    """Return the text and type of an added token, which llama.cpp matches before spaces are escaped."""
    text = added["content"]
    if added["special"]:
        return text, TokenType.CONTROL.value
    if has_space and added["normalized"]:
        return unescape_spaces(text), TokenType.USER_DEFINED.value
    # subtle: in the unnormalized text, `▁▁` never matches two spaces; these become the model's piece of that name.
    return text, (TokenType.NORMAL if has_space and is_piece else TokenType.USER_DEFINED).value


def _pieces(document: Document, ids: object) -> Mapping[str, int]:
    if isinstance(ids, PieceIndex):
        return ids
    if not isinstance(ids, dict) or not all(type(id) is int and id >= 0 for id in ids.values()):
        raise document.broken("model.vocab", "must map pieces to ids")
    return ids


def _all_ids(document: Document, ids: Mapping[str, int]) -> Mapping[str, int]:
    # subtle: the library gives an added token the id of the piece with the same text, regardless of the file.
    added = {token["content"]: token["id"] for token in document.added_tokens if token["content"] not in ids}
    if isinstance(ids, PieceIndex) and (extended := _extend(ids, added)):
        return extended
    all_ids = {**ids, **added}
    if len(set(all_ids.values())) != len(all_ids):
        raise document.broken("model.vocab and added_tokens", "two tokens have the same id")
    highest = max(all_ids.values(), default=-1)
    if highest >= len(all_ids) + MAX_GAP or highest >= MAX_TOKENS:
        raise document.broken(
            "model.vocab and added_tokens", f"the highest id is {highest}, but there are only {len(all_ids)} tokens"
        )
    try:
        "".join(all_ids).encode()
    except UnicodeEncodeError:
        raise document.broken(
            "model.vocab", "a piece contains a lone surrogate, which UTF-8 cannot represent"
        ) from None
    return all_ids


def _extend(ids: PieceIndex, added: Mapping[str, int]) -> Mapping[str, int] | None:
    """Add tokens that follow the pieces without a gap; None if they do not, or one cannot be joined with others."""
    texts = sorted(added, key=added.__getitem__)
    is_joinable = not any("\0" in text or has_surrogate(text) for text in texts)
    following = list(range(len(ids), len(ids) + len(texts)))
    if not is_joinable or [added[text] for text in texts] != following or len(ids) + len(texts) > MAX_TOKENS:
        return None
    return index_pieces(ids.pieces.extended(texts))


def _id_of(document: Document, piece: str, ids: Mapping[str, int]) -> int:
    if piece not in ids:
        raise document.broken("model.unk_token", f"{short_repr(piece)} is not in the vocabulary")
    return ids[piece]


def special_ids(document: Document, ids: Mapping[str, int], around: Around, unknown: str | None) -> dict[str, int]:
    """Return the ids of the special tokens by role.

    Args:
        document: The tokenizer.json; files next to it can declare more tokens.
        ids: The ids of all tokens.
        around: The ids before and after a text, which are BOS and EOS regardless of those files.
        unknown: The unknown piece.

    Raises:
        BrokenFileError: If an id in `around` has no token.
    """
    texts = {role: document.special_texts[role] for role in GGUF_ROLES if role in document.special_texts}
    if unknown is not None:
        texts["unk"] = unknown
    roles = {role: ids[text] for role, text in texts.items() if text in ids}
    added = {role: ids_there[0] for role, ids_there in zip(("bos", "eos"), around, strict=True) if ids_there}
    # Mostly none is left, and then not all tokens have to be looked at.
    unnamed = set(added.values()).difference(roles.values())
    for id in unnamed.difference(ids.values()) if unnamed else ():
        raise document.broken("post_processor", f"adds the id {id}, which has no token")
    return roles | added


def ids_around(document: Document) -> Around:
    """Return the ids added before and after a text, at most one each.

    Raises:
        UnsupportedError: If the post-processor does anything else.
    """
    around: Around = ([], [])
    for stage in document.post_processor:
        before, after = _read_stage(stage, document)
        # Each stage processes the result of the previous one.
        around = (before + around[0], around[1] + after)
    for ids, place in zip(around, ("before", "after"), strict=True):
        if len(ids) > 1:
            raise document.unsupported(
                "post_processor", f"adds {len(ids)} tokens {place} a text, but GGUF supports only one"
            )
    return around


def _read_stage(stage: Stage, document: Document) -> Around:
    if stage["type"] == "ByteLevel":
        return [], []
    if stage["type"] in {"BertProcessing", "RobertaProcessing"}:
        return [stage["cls"][1]], [stage["sep"][1]]
    if stage["type"] == "TemplateProcessing":
        return _read_template(stage, document)
    raise document.unsupported(f"post_processor {stage['type']}")


def _read_template(stage: Stage, document: Document) -> Around:
    items = [next(iter(item.items())) for item in stage["single"]]
    texts = [index for index, (kind, _) in enumerate(items) if kind == "Sequence"]
    if len(texts) != 1:
        raise document.unsupported("post_processor TemplateProcessing", f"contains the text {len(texts)} times")
    around: Around = ([], [])
    for index, (kind, item) in enumerate(items):
        if kind == "SpecialToken":
            # subtle: the library allows a template to name an undefined token, and adds nothing for it.
            token = stage["special_tokens"].get(item["id"], {"ids": []})
            around[index > texts[0]].extend(token["ids"])
    return around
