"""Sources: the file to convert, as what GGUF can say of it, as its own library reads it, and what is lost between.

A new kind is one opener and one line in `OPENERS`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokverify.conversion.huggingface_loss import convert_leniently
from tokverify.conversion.loss import Loss, Sides
from tokverify.conversion.sentencepiece_loss import sentencepiece_losses
from tokverify.conversion.tiktoken_loss import tiktoken_losses
from tokverify.diagnosis.deviation import DeviatingEncoder
from tokverify.encoder import Encoder
from tokverify.errors import UnsupportedError
from tokverify.references import open_reference
from tokverify.references.location import file_and_rest, read_file
from tokverify.references.reference import FoundReference
from tokverify.tokenizer import pieces_of
from tokverify.tokenizer_file import READERS, kind_of_model

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tokverify.spec import TokenizerSpec
    from tokverify.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Source:
    """A file to convert.

    `found` is the tokenizer as its own library has it, or our encoder where it is a GGUF file. `content` reads the file
    as data that losses can change, and `reopen` makes a tokenizer of that.
    """

    path: Path
    kind: str
    spec: TokenizerSpec
    found: FoundReference
    losses: tuple[Loss, ...] = ()
    content: Callable[[], Any] = lambda: None
    reopen: Callable[[Any], Tokenizer] | None = None

    def without(self, losses: Sequence[Loss]) -> tuple[Tokenizer, Tokenizer, Callable[[str], str]]:
        """Return both sides of the comparison without these losses, and what to do to a text first."""
        sides = Sides(self.spec, self.content())
        for loss in losses:
            if loss.undo:
                loss.undo(sides)
        expected = self.reopen(sides.content) if self.reopen else self.found.tokenizer
        return DeviatingEncoder(sides.spec, sides.deviation), expected, sides.respell


def open_source(path: Path) -> Source:
    """Open a file to convert.

    Raises:
        BrokenFileError: If it is damaged, or no tokenizer.
        UnsupportedError: If nothing like it can be said in GGUF, or its kind cannot be read.
        TokverifyError: If there is no such file, or its library is missing.
    """
    kind = kind_of_model(path)
    if kind not in READERS:
        raise UnsupportedError(f"{path}: a {kind} file cannot be converted; those of kind {', '.join(READERS)} can")
    return OPENERS[kind](path)


def _open_gguf(path: Path) -> Source:
    spec = READERS["gguf"](path)
    return Source(path, "gguf", spec, FoundReference(Encoder(spec, path.stem), source=str(path)))


def _open_tokenizer_json(path: Path) -> Source:
    data = read_file(path)
    found = open_reference(path)
    ids = {piece: id for id, piece in enumerate(pieces_of(found.tokenizer)) if piece}
    spec, losses = convert_leniently(path, data, ids)
    return Source(path, "tokenizers", spec, found, losses, lambda: json.loads(data), _reopen_tokenizer_json)


def _reopen_tokenizer_json(content: Mapping[str, Any]) -> Tokenizer:
    from tokverify.references.huggingface import from_json

    return from_json(json.dumps(content).encode(), source="IN without what is lost").tokenizer


def _open_sentencepiece(path: Path) -> Source:
    from tokverify.sentencepiece_message import parse

    spec = READERS["sentencepiece"](path)
    found = open_reference(path)
    data = read_file(path)
    losses = tuple(sentencepiece_losses(parse(data), spec))
    return Source(path, "sentencepiece", spec, found, losses, lambda: parse(data), _reopen_sentencepiece)


def _reopen_sentencepiece(message: Any) -> Tokenizer:  # noqa: ANN401 - a class that is made while running
    from sentencepiece import SentencePieceProcessor

    from tokverify.references.sentencepiece import SentencePieceTokenizer

    return SentencePieceTokenizer(SentencePieceProcessor(model_proto=message.SerializeToString()))


def _open_tiktoken(path: Path) -> Source:
    found = open_reference(path)
    spec = READERS["tiktoken"](path)
    file, pattern = file_and_rest(str(path)) or (path, "")

    def reopen(more_special: dict[str, int]) -> Tokenizer:
        from tokverify.references.tiktoken import open_ranks

        return open_ranks(file, read_file(file), pattern, more_special=more_special)

    return Source(path, "tiktoken", spec, found, tuple(tiktoken_losses(spec)), dict, reopen)


OPENERS: Mapping[str, Callable[[Path], Source]] = {
    "gguf": _open_gguf,
    "tokenizers": _open_tokenizer_json,
    "sentencepiece": _open_sentencepiece,
    "tiktoken": _open_tiktoken,
}
"""What opens a file of each kind that `READERS` reads."""
