"""Open the file to convert: as a TokenizerSpec and with its own library, and list what GGUF cannot express of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tokverify.engine.encoder import Encoder
from tokverify.errors import UnsupportedError
from tokverify.references.file import FILE_REFERENCES
from tokverify.references.reference import FoundReference
from tokverify.sources.config import template_fields
from tokverify.sources.huggingface.bpe import split_probes as split_document_probes
from tokverify.sources.huggingface.conversion import convert_leniently
from tokverify.sources.huggingface.document import Document, parse_beside
from tokverify.sources.huggingface.tables import tables_of
from tokverify.sources.huggingface.vocabulary_files import build_document
from tokverify.sources.location import file_and_rest, read_file
from tokverify.sources.tiktoken.reader import split_probes
from tokverify.sources.tokenizer_file import READERS, kind_of_model
from tokverify.spec import TokenizerSpec
from tokverify.tokenizer import PatternHolding


@dataclass(frozen=True, slots=True)
class Source:
    """A file to convert."""

    path: Path
    kind: str
    """The kind of file, as a key of `READERS`."""
    spec: TokenizerSpec
    """The tokenizer as far as GGUF can express it."""
    found: FoundReference
    """The tokenizer as its own library reads it; of a GGUF file, our encoder."""
    lost: tuple[str, ...] = ()
    """What GGUF cannot express of it."""
    pre_tokens: Sequence[Sequence[str]] | None = None
    """What the pattern splits `PROBES` into, if the name of the pre-tokenizer was not chosen by that."""


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
    if kind == "gguf":
        spec = READERS[kind](path)
        return Source(path, kind, spec, FoundReference(Encoder(spec, path.stem), source=str(path)))
    found = FILE_REFERENCES[kind](path)
    if kind in _DOCUMENTS:
        return _open_document(path, kind, found)
    return Source(path, kind, READERS[kind](path), found, pre_tokens=_split_probes(path, found))


_DOCUMENTS: Mapping[str, Callable[[Path], bytes]] = {"tokenizers": read_file, "vocab": build_document}
"""The kinds that are a tokenizer.json or become one -> its content."""


def _open_document(path: Path, kind: str, found: FoundReference) -> Source:
    document = parse_beside(path, _DOCUMENTS[kind](path), tables_of(found.tokenizer))
    fitted = convert_leniently(document)
    spec = replace(fitted.spec, **template_fields(path))
    lost = (*fitted.spec.left_out, *_unused_parts(fitted.document))
    probes = split_document_probes(document) if document.is_byte_level else None
    return Source(path, kind, spec, found, lost, probes)


def _split_probes(path: Path, found: FoundReference) -> Sequence[Sequence[str]] | None:
    """Split the probes with the pattern of a file of ranks; None for any other file."""
    if not isinstance(found.tokenizer, PatternHolding):
        return None
    file, _ = file_and_rest(str(path)) or (path, "")
    return split_probes(file, found.tokenizer.split_pattern)


def _unused_parts(document: Document) -> Iterator[str]:
    """Yield what does not affect the ids of a single text unless a program asks for it."""
    for part, action in (("truncation", "truncate"), ("padding", "pad")):
        if document.outline.get(part):
            yield f"{part}: llama.cpp does not {action} texts"
    if document.model.get("dropout"):
        yield "model.dropout: llama.cpp does not skip merges at random, which is for training"
    if any(stage["type"] == "TemplateProcessing" for stage in document.post_processor):
        yield "post_processor: the template for pairs of texts; llama.cpp encodes one text at a time"
