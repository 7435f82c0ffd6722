"""Open the file to convert: as a TokenizerSpec and with its own library, and list what is lost between the two."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tokverify.compare.convert.huggingface_loss import fit
from tokverify.compare.convert.loss import Loss, Sides
from tokverify.compare.convert.rank_loss import Ranks, made_control_losses, pattern_losses
from tokverify.compare.convert.sentencepiece_loss import sentencepiece_losses
from tokverify.engine.deviation import DeviatingEncoder
from tokverify.engine.encoder import Encoder
from tokverify.errors import UnsupportedError
from tokverify.references.file import FILE_REFERENCES
from tokverify.references.huggingface import HuggingFaceTokenizer
from tokverify.references.reference import FoundReference
from tokverify.sources.config import special_texts, template_fields
from tokverify.sources.huggingface.bpe import split_probes as split_document_probes
from tokverify.sources.huggingface.document import load_around
from tokverify.sources.huggingface.document import parse as parse_json
from tokverify.sources.huggingface.vocabulary_files import build_document
from tokverify.sources.location import file_and_rest, read_file
from tokverify.sources.rwkv import END, read_vocabulary
from tokverify.sources.tiktoken.reader import split_probes
from tokverify.sources.tokenizer_file import READERS, kind_of_model
from tokverify.spec import TokenizerSpec
from tokverify.system.library_error import raised_as
from tokverify.tokenizer import Tokenizer, pieces_of

if TYPE_CHECKING:
    from tokverify.references.tekken import TekkenTokenizer


@dataclass(frozen=True, slots=True)
class Source:
    """A file to convert."""

    path: Path
    kind: str
    """The kind of file, as a key of `OPENERS`."""
    spec: TokenizerSpec
    """The tokenizer as far as GGUF can express it."""
    found: FoundReference
    """The tokenizer as its own library reads it; of a GGUF file, our encoder."""
    losses: tuple[Loss, ...] = ()
    pre_tokens: Sequence[Sequence[str]] | None = None
    """What the pattern splits `PROBES` into, if the name of the pre-tokenizer was not chosen by that."""
    content: Callable[[], Any] = lambda: None
    """Returns a copy of the file's content that losses can change."""
    reopen: Callable[[Any], Tokenizer] | None = None
    """Makes a tokenizer from changed content."""

    def without(self, written: Encoder, losses: Sequence[Loss]) -> tuple[Tokenizer, Tokenizer]:
        """Return both sides of the comparison without these losses; `written` is the encoder of the written file."""
        sides = Sides(written.spec, self.content())
        for loss in losses:
            if loss.undo:
                loss.undo(sides)
        expected = self.reopen(sides.content) if self.reopen else self.found.tokenizer
        return _deviate(written, sides), expected


def _deviate(written: Encoder, sides: Sides) -> Encoder:
    """Return the encoder of the changed side, reusing the model if possible, which takes the most time to set up."""
    if sides.spec is not written.spec:
        return DeviatingEncoder(sides.spec, sides.deviation)
    return DeviatingEncoder(written.spec, sides.deviation, written.model) if sides.deviation else written


def open_source(path: Path) -> Source:
    """Open a file to convert.

    Raises:
        BrokenFileError: If it is damaged or not a tokenizer.
        UnsupportedError: If GGUF cannot express anything like it, or its kind cannot be read.
        TokverifyError: If there is no such file, or its library is missing.
    """
    kind = kind_of_model(path)
    if kind not in READERS:
        raise UnsupportedError(f"{path}: a {kind} file cannot be converted; supported kinds: {', '.join(READERS)}")
    return OPENERS[kind](path)


def _open_gguf(path: Path) -> Source:
    spec = READERS["gguf"](path)
    return Source(path, "gguf", spec, FoundReference(Encoder(spec, path.stem), source=str(path)))


def _open_tokenizer_json(path: Path) -> Source:
    return _open_document(path, "tokenizers", read_file(path))


def _open_vocabulary_files(path: Path) -> Source:
    return _open_document(path, "vocab", build_document(path))


def _open_document(path: Path, kind: str, content: bytes) -> Source:
    found = FILE_REFERENCES[kind](path)
    ids = {piece: id for id, piece in enumerate(pieces_of(found.tokenizer)) if piece}
    document = parse_json(content, str(path), special_texts(path))
    spec, losses = fit(document, ids)
    # subtle: the closures must not keep the whole document alive, which is many times the size of its file.
    outline, model = document.outline, cast("HuggingFaceTokenizer", found.tokenizer).library.model

    def reopen(changed: Mapping[str, Any]) -> Tokenizer:
        return HuggingFaceTokenizer(load_around(model, changed, "IN without what is lost"))

    spec = replace(spec, **template_fields(path))
    probes = split_document_probes(document) if document.is_byte_level else None
    return Source(path, kind, spec, found, losses, probes, lambda: deepcopy(outline), reopen)


def _open_sentencepiece(path: Path) -> Source:
    from tokverify.sources.sentencepiece.message import parse

    spec = READERS["sentencepiece"](path)
    found = FILE_REFERENCES["sentencepiece"](path)
    data = read_file(path)
    losses = tuple(sentencepiece_losses(parse(data), spec))
    return Source(path, "sentencepiece", spec, found, losses, None, lambda: parse(data), _reopen_sentencepiece)


def _reopen_sentencepiece(message: Any) -> Tokenizer:  # noqa: ANN401 - a class that is made while running
    from sentencepiece import SentencePieceProcessor

    from tokverify.references.sentencepiece import SentencePieceTokenizer

    with raised_as(UnsupportedError, "sentencepiece refuses the model without what is lost"):
        return SentencePieceTokenizer(SentencePieceProcessor(model_proto=message.SerializeToString()))


def _open_tiktoken(path: Path) -> Source:
    from tokverify.references.tiktoken import TiktokenTokenizer, open_ranks

    found = FILE_REFERENCES["tiktoken"](path)
    spec = READERS["tiktoken"](path)
    file, name = file_and_rest(str(path)) or (path, "")
    data = read_file(file)

    def reopen(changed: Ranks) -> Tokenizer:
        return open_ranks(file, data, name, more_special=changed.more_special, split=changed.pattern)

    pattern = cast(TiktokenTokenizer, found.tokenizer).split_pattern
    losses = (*made_control_losses(spec), *pattern_losses(file, spec, pattern))
    probes = split_probes(file, pattern)
    return Source(path, "tiktoken", spec, found, losses, probes, lambda: Ranks(pattern), reopen)


def _open_tekken(path: Path) -> Source:
    found = FILE_REFERENCES["tekken"](path)
    spec = READERS["tekken"](path)
    tekken = cast("TekkenTokenizer", found.tokenizer)

    def reopen(changed: Ranks) -> Tokenizer:
        return tekken.with_pattern(changed.pattern)

    pattern = tekken.split_pattern
    losses = tuple(pattern_losses(path, spec, pattern))
    probes = split_probes(path, pattern)
    return Source(path, "tekken", spec, found, losses, probes, lambda: Ranks(pattern), reopen)


def _open_rwkv(path: Path) -> Source:
    found = FILE_REFERENCES["rwkv"](path)
    spec = READERS["rwkv"](path)
    tokens = read_vocabulary(path, read_file(path))

    def reopen(changed: dict[int, bytes]) -> Tokenizer:
        from tokverify.references.rwkv import RwkvTokenizer

        return RwkvTokenizer(changed)

    loss = Loss(
        f"`{END}`: llama.cpp recognizes it in every text, as the id 0, which is not in IN",
        lambda sides: sides.content.update({0: END.encode()}),
    )
    return Source(path, "rwkv", spec, found, (loss,), None, lambda: dict(tokens), reopen)


OPENERS: Mapping[str, Callable[[Path], Source]] = {
    "gguf": _open_gguf,
    "tokenizers": _open_tokenizer_json,
    "sentencepiece": _open_sentencepiece,
    "tiktoken": _open_tiktoken,
    "tekken": _open_tekken,
    "rwkv": _open_rwkv,
    "vocab": _open_vocabulary_files,
}
"""The openers by kind of file, as in `READERS`. A new kind is one opener and one row."""
