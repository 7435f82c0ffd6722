"""Encode a text, and decode ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tokverify.commands.tasks.opening import ModelSource, open_model
from tokverify.engine.encoder import Encoder
from tokverify.errors import TokverifyError
from tokverify.text.utf8 import describe_bad_byte
from tokverify.tokenizer import Token, tokens_of


class Encoding(NamedTuple):
    """The tokens of a text."""

    tokens: list[Token]
    """The tokens, in order."""
    warnings: list[str]
    """What llama.cpp would warn about, such as a duplicate BOS, and what of MODEL it cannot do."""


class Decoding(NamedTuple):
    """The text of token ids."""

    pieces: list[str]
    """The piece of each id."""
    text: bytes
    """The text, which need not be valid UTF-8."""


def encode_text(  # noqa: PLR0913 - the optional ones are keywords
    model: ModelSource,
    text: str | bytes,
    *,
    add_special: bool = False,
    parse_special: bool = True,
    bos: bool = False,
    eos: bool = False,
) -> Encoding:
    """Encode a text as llama.cpp does.

    Args:
        model: The model: a path, or the result of `open_model`.
        text: The text; bytes need not be valid UTF-8.
        add_special: Add BOS and EOS as the model declares.
        parse_special: Recognize control tokens in the text.
        bos: Add BOS even if the model does not declare that it is added.
        eos: Add EOS even if the model does not declare that it is added.

    Returns:
        The tokens, what llama.cpp would warn about, and what of MODEL it cannot do.

    Raises:
        TokverifyError: If the model cannot be read, the text cannot be encoded, or there is no token to add.
    """
    encoder = open_model(model).encoder
    ids = encoder.encode(text, add_special=add_special, parse_special=parse_special)
    before, after = encoder.settings.family.affix_roles(encoder.settings) if add_special else ([], [])
    warnings = [*encoder.spec.left_out, *_list_warnings(encoder, text, ids[: len(ids) - len(after)])]
    warnings += encoder.warnings(ids) if add_special else ()
    if bos and "bos" not in before:
        ids.insert(0, _require_id(encoder, "bos"))
    if eos and "eos" not in after:
        ids.append(_require_id(encoder, "eos"))
    return Encoding(tokens_of(encoder, ids), warnings)


def _require_id(encoder: Encoder, role: str) -> int:
    id = encoder.settings.special_ids.get(role)
    if id is None:
        raise TokverifyError(f"{encoder.name}: the tokenizer has no {role.upper()} token to add; omit --{role}")
    return id


def _list_warnings(encoder: Encoder, text: str | bytes, ids: Sequence[int]) -> Iterator[str]:
    if isinstance(text, bytes) and (byte := describe_bad_byte(text)):
        yield f"the text is not valid UTF-8 ({byte}); its ids are those that llama.cpp gives for these bytes"
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if data.endswith(b" ") and data.strip() and ids and not encoder.token_bytes(ids[-1]).strip():
        yield "the text ends in a space, which is a token of its own; models begin the next word with it, so strip it"


def decode_ids(model: ModelSource, ids: Sequence[int], *, stop_at_eos: bool = False) -> Decoding:
    """Decode ids as llama.cpp does.

    Args:
        model: The model: a path, or the result of `open_model`.
        ids: The ids.
        stop_at_eos: Stop before the first token that ends a generation: EOS, EOT and the like.

    Returns:
        The text, and the piece of each id that was decoded.

    Raises:
        TokverifyError: If the model cannot be read, or an id is not in its vocabulary.
    """
    encoder = open_model(model).encoder
    if stop_at_eos:
        ids = ids[: find_end(encoder, ids)]
    text = encoder.decode(ids)
    return Decoding(list(map(encoder.piece, ids)), text)


def find_end(encoder: Encoder, ids: Sequence[int]) -> int | None:
    """Return the index of the first token that ends a generation; None if there is none."""
    ends = encoder.settings.eog_ids
    return next((index for index, id in enumerate(ids) if id in ends), None)
