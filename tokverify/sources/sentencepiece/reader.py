"""Convert a sentencepiece .model to a TokenizerSpec: what the equivalent GGUF file would declare.

Types of pieces have the same numbers in both formats, and GGUF has keys for most of the normalizer. The tokens around a
text, if any, are declared by a tokenizer_config.json next to the file. Features without a GGUF key are refused by name.
Features that have a key, but that llama.cpp implements differently, are found as differences by verification.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tokverify.engine.normalizer import ESCAPED_SPACE, unescape_spaces
from tokverify.engine.special_text import is_converted_control
from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.sources.config import (
    GGUF_ROLES,
    added_tokens,
    configured_tokens,
    read_config,
    special_texts,
    template_fields,
    token_text,
)
from tokverify.sources.location import read_file
from tokverify.sources.sentencepiece.message import Message, TrainerSpec, parse
from tokverify.sources.sentencepiece.numbering import is_xlm_roberta, renumber
from tokverify.sources.sentencepiece.plain_piece import with_plain_pieces
from tokverify.spec import MAX_TOKENS, TokenizerSpec, TokenType, ids_of_type
from tokverify.system.library_error import raised_as
from tokverify.text.utf8 import to_text

GGUF_MODELS = {1: "t5", 2: "llama"}
"""`trainer_spec.model_type` -> `tokenizer.ggml.model`."""

_OTHER_MODELS = {3: "word", 4: "char"}
_MARKS_PER_PIECE = 4
_ADDED_SCORE, _UNUSED_SCORE = -1000.0, -10000.0
_PLAIN = frozenset([TokenType.NORMAL, TokenType.USER_DEFINED])
"""The types of pieces that may be added tokens, too."""
_SPARE = frozenset([TokenType.USER_DEFINED, TokenType.UNUSED])
"""The types of pieces that a fine-tune may rename."""
_SENTINEL = re.compile("<extra_id_[0-9]+>")
"""What T5's class adds, which is special without any flag."""
_TYPES = frozenset(TokenType) - {TokenType.UNDEFINED}


def read_spec(path: Path | str, content: bytes | None = None) -> TokenizerSpec:
    """Read the tokenizer of a sentencepiece .model file.

    Args:
        path: The file; the configuration next to it is read too.
        content: The content of the file, if it has been read already.

    Raises:
        BrokenFileError: If the file cannot be read or is not a sentencepiece model.
        UnsupportedError: If it uses a feature that GGUF has no key for.
    """
    path = Path(path)
    message = _parse(path, read_file(path) if content is None else content)
    _require_expressible(path, message)
    types = [piece.type for piece in message.pieces]
    scores = array("f", [piece.score for piece in message.pieces])
    _require_valid(path, types, scores)
    tokens = [to_text(piece.piece) for piece in message.pieces]
    for id in ids_of_type(types, TokenType.USER_DEFINED):
        if _is_found(tokens[id]):
            # llama.cpp matches user-defined pieces in the text before spaces are escaped.
            tokens[id] = unescape_spaces(tokens[id])
        else:
            types[id] = TokenType.NORMAL
    config = dict.fromkeys(("add_bos_token", "add_eos_token"), True) if is_xlm_roberta(path) else read_config(path)
    return TokenizerSpec(
        model=GGUF_MODELS[message.trainer_spec.model_type],
        tokens=tokens,
        pre="default",
        scores=scores,
        types=types,
        special_ids=_special_ids(message.trainer_spec, special_texts(path), tokens, types),
        add_bos=_flag(config, "add_bos_token"),
        add_eos=_flag(config, "add_eos_token"),
        add_space_prefix=message.normalizer_spec.add_dummy_prefix,
        remove_extra_whitespaces=_merges_spaces(message),
        charsmap=message.normalizer_spec.precompiled_charsmap or None,
        **template_fields(path),
    )


def read_with_added_tokens(path: Path | str) -> TokenizerSpec:
    """Read a sentencepiece .model file with the added tokens of the files next to it, as llama.cpp's converter does.

    They can be pieces of the model, or follow them; an id between them that none has is unused. Source:
    `_create_vocab_sentencepiece` in llama.cpp's conversion/base.py. Unlike there, the user-defined pieces of a unigram
    model itself are NORMAL where that is right.

    Raises:
        BrokenFileError: As for `read_spec`.
        UnsupportedError: As for `read_spec`.
    """
    path = Path(path)
    pieces = with_plain_pieces(read_spec(path))
    declared = tokens_beside(path, len(pieces.tokens))
    spec = append_tokens(pieces, declared)
    types = list(spec.types or ())
    for id, type in enumerate(types):
        if type in _PLAIN and id in declared and declared[id][0] == spec.tokens[id]:
            types[id] = declared[id][1]
    ids = {text: id for id, (text, _) in declared.items() if spec.tokens[id] == text}
    roles = {role: ids[text] for role, text in special_texts(path).items() if role in GGUF_ROLES and text in ids}
    return replace(spec, types=types, special_ids={**spec.special_ids, **roles})


def append_tokens(spec: TokenizerSpec, declared: Mapping[int, tuple[str, TokenType]]) -> TokenizerSpec:
    """Append the tokens after the last piece of a model; an id between them that none has is unused."""
    tokens, scores, types = list(spec.tokens), array("f", spec.scores or ()), list(spec.types or ())
    for id in range(len(tokens), max(declared, default=-1) + 1):
        text, type = declared.get(id, (f"[PAD{id}]", TokenType.UNUSED))
        tokens.append(text)
        scores.append(_ADDED_SCORE if id in declared else _UNUSED_SCORE)
        types.append(type)
    return replace(spec, tokens=tokens, scores=None if spec.scores is None else scores, types=types)


def tokens_beside(path: Path, size: int) -> dict[int, tuple[str, TokenType]]:
    """Map the ids of the added tokens that the files next to a .model of `size` pieces declare to texts and types.

    Raises:
        BrokenFileError: If one of the files is not a JSON object.
        TokverifyError: If one cannot be read.
    """
    return with_types(path, {id: text for text, id in configured_tokens(path, size).items()})


def with_types(path: Path, listed: Mapping[int, str]) -> dict[int, tuple[str, TokenType]]:
    """Map ids to texts of added tokens, and the types that the files next to a tokenizer give them; errors as above.

    transformers may have given a token another id than these files do.
    """
    flags = {token_text(entry): entry for entry in added_tokens(path).values()}

    def type_of(text: str) -> TokenType:
        flag = flags.get(text)
        is_special = flag.get("special") or is_converted_control(text) if flag else _SENTINEL.fullmatch(text)
        return TokenType.CONTROL if is_special else TokenType.USER_DEFINED

    return {id: (text, type_of(text)) for id, text in listed.items()}


def numbered_model(path: Path, data: bytes) -> bytes:
    """Return a .model whose pieces have the ids and texts that the tokenizer gives them; errors as for `read_spec`."""
    has_others = is_xlm_roberta(path) or configured_tokens(path, size=0)
    return _parse(path, data).SerializeToString() if has_others else data


def require_few_pieces(path: Path, data: bytes) -> None:
    """Refuse a model before it is parsed if it may contain so many pieces that they would fill the memory.

    Raises:
        UnsupportedError: If it does.
    """
    # Each piece, and each text in it, begins with the same byte.
    if data.count(b"\n") > _MARKS_PER_PIECE * MAX_TOKENS:
        raise UnsupportedError(f"{path}: too many pieces; the limit is {MAX_TOKENS:,}")


def _parse(path: Path, data: bytes) -> Message:
    require_few_pieces(path, data)
    with raised_as(BrokenFileError, f"{path}: not a sentencepiece model, or a damaged one; download it again"):
        message = parse(data)
    if not message.pieces:
        raise BrokenFileError(f"{path}: not a sentencepiece model: it contains no pieces")
    if len(message.pieces) > MAX_TOKENS:
        raise UnsupportedError(f"{path}: {len(message.pieces):,} pieces; the limit is {MAX_TOKENS:,}")
    # subtle: the library uses defaults for these. But it writes them after the pieces in every file, and nothing else
    # shows that a file was truncated between two pieces.
    for part in ("trainer_spec", "normalizer_spec"):
        if not message.HasField(part):
            raise BrokenFileError(f"{path}: a sentencepiece model without {part}: truncated; download it again")
    if is_xlm_roberta(path):
        renumber(path, message)
    _rename(path, message)
    return message


def _rename(path: Path, message: Message) -> None:
    """Give spare pieces the texts and types of the added tokens that the files beside a model declare at their ids.

    So do the Python classes of transformers, and `_create_vocab_sentencepiece` in llama.cpp's conversion/base.py:
    InternLM2's `[UNUSED_TOKEN_146]` is `<|im_start|>`. Other pieces keep their texts, though the converter replaces
    them, too: classes such as NLLB's give them other ids than the model.
    """
    pieces = message.pieces
    beside = tokens_beside(path, len(pieces)).items()
    spare = {id: token for id, token in beside if id < len(pieces) and pieces[id].type in _SPARE}
    known = {piece.piece for piece in pieces} if spare else ()
    for id, (text, type) in spare.items():
        if text.encode() not in known:
            pieces[id].piece, pieces[id].type = text.encode(), type


def _require_expressible(path: Path, message: Message) -> None:
    trainer, normalizer = message.trainer_spec, message.normalizer_spec
    if trainer.model_type not in GGUF_MODELS:
        name = _OTHER_MODELS.get(trainer.model_type, trainer.model_type)
        raise UnsupportedError(f"{path}: trainer_spec.model_type is {name}; GGUF has only unigram and bpe")
    if trainer.treat_whitespace_as_suffix:
        raise UnsupportedError(f"{path}: trainer_spec.treat_whitespace_as_suffix is on; GGUF cannot express it")
    if not normalizer.escape_whitespaces:
        raise UnsupportedError(f"{path}: normalizer_spec.escape_whitespaces is off; GGUF cannot express it")


def _require_valid(path: Path, types: Sequence[int], scores: Sequence[float]) -> None:
    if not _TYPES.issuperset(types):
        id = next(id for id, type in enumerate(types) if type not in _TYPES)
        raise BrokenFileError(f"{path}: the type of piece {id} is {types[id]}, not 1 to 6; download it again")
    if not all(map(math.isfinite, scores)):
        id = next(id for id, score in enumerate(scores) if not math.isfinite(score))
        raise BrokenFileError(f"{path}: the score of piece {id} is {scores[id]}; it must be finite; download it again")


def _is_found(piece: str) -> bool:
    """Whether sentencepiece can find a user-defined piece in a text."""
    # subtle: in the text in which sentencepiece looks for user-defined pieces, each space is a `▁`. So it never finds
    # one that contains a space (Grok 1 has runs of them), and treats `▁` itself like a piece. llama.cpp would split
    # texts at them.
    return " " not in piece and piece != ESCAPED_SPACE


def _special_ids(
    trainer: TrainerSpec, config: Mapping[str, str], tokens: Sequence[str], types: Sequence[int]
) -> dict[str, int]:
    """Find each role's token by its text, as sentencepiece does; a config next to the file takes precedence."""
    own = {
        "unk": trainer.unk_piece,
        "bos": trainer.bos_piece,
        "eos": trainer.eos_piece,
        "pad": trainer.pad_piece,
    }
    special = {tokens[id]: id for id in ids_of_type(types, TokenType.CONTROL, TokenType.UNKNOWN)}
    texts = [(role, to_text(piece)) for role, piece in own.items()]
    roles = {role: special[text] for role, text in [*texts, *config.items()] if role in GGUF_ROLES and text in special}
    # The library finds the unknown token by its type only.
    unknown = ids_of_type(types, TokenType.UNKNOWN)
    return {**roles, "unk": unknown[0]} if unknown else roles


def _merges_spaces(message: Message) -> bool:
    # subtle: llama.cpp's unigram model adds a space before each text if it merges spaces, whatever a file says. Without
    # it, only texts with several spaces, or with some around them, are wrong.
    is_unigram = GGUF_MODELS[message.trainer_spec.model_type] == "t5"
    normalizer = message.normalizer_spec
    return normalizer.remove_extra_whitespaces and (normalizer.add_dummy_prefix or not is_unigram)


def _flag(config: Mapping[str, Any], name: str) -> bool | None:
    value = config.get(name)
    return value if isinstance(value, bool) else None
