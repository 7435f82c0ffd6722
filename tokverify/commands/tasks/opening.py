"""Open models and references, each exactly once per run."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from tokverify import references
from tokverify.commands.tasks.declaration import ModelLocation, OpenedDeclaration, open_declaration
from tokverify.compare.side import reference_side, side_of
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import available_engine, require_requested
from tokverify.errors import TokverifyError
from tokverify.location import Location
from tokverify.references import FoundReference
from tokverify.report.run import Side
from tokverify.sources.gguf.declaration import Declaration
from tokverify.sources.location import find_existing, suggest_file
from tokverify.sources.stores.location import is_stored, locate
from tokverify.sources.stores.model_file import ModelFile
from tokverify.sources.stores.suggestion import name_of_page
from tokverify.sources.tokenizer_file import file_of, kind_of_model
from tokverify.spec import TokenizerSpec
from tokverify.system.quick_exit import keep_until_exit
from tokverify.tokenizer import Tokenizer

# Metadata is far smaller. Hashing tens of gigabytes of tensors would take longer than everything else.
_MAX_HASHED_BYTES = 256 * 2**20
_FILE_SUFFIXES = (".gguf", ".json", ".model", ".tiktoken", ".txt")


@dataclass(frozen=True, kw_only=True)
class OpenedModel:
    """A tokenizer file that has been read, ready to encode."""

    file: ModelFile
    """The file and where it came from; for a tiktoken file, the path ends in `:PATTERN`."""

    kind: str
    """The format of the file, such as `gguf` or `sentencepiece`."""

    declaration: Declaration
    """What the file declares."""

    encoder: Encoder
    """The same tokenizer as llama.cpp uses it."""

    def __post_init__(self) -> None:
        keep_until_exit(self.encoder)

    @property
    def spec(self) -> TokenizerSpec:
        """The tokenizer as the file declares it."""
        return self.declaration.spec

    @property
    def tokenizer(self) -> Encoder:
        """The tokenizer to compare."""
        return self.encoder

    @property
    def path(self) -> Path:
        """The file on this machine."""
        return self.file.path

    @cached_property
    def description(self) -> Side:
        """The description of the model in reports. The file is hashed on first use, unless its hash is known."""
        caveat = "; ".join(self.spec.left_out)
        return replace(side_of(self.encoder), source=self.file.location, caveat=caveat, sha256=_sha256_of(self.file))

    @property
    def versions(self) -> Mapping[str, str]:
        """The engine that encodes."""
        return engine_version(self.encoder)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedReference:
    """A tokenizer that has been loaded by its own library, server or program, with its provenance.

    It is usually the reference, but can be on either side of a comparison.
    """

    found: FoundReference
    """The reference as its adapter loaded it."""

    def __post_init__(self) -> None:
        keep_until_exit(self.found)

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer to compare."""
        return self.found.tokenizer

    @property
    def description(self) -> Side:
        """The description of the reference in reports."""
        return reference_side(self.found)

    @property
    def path(self) -> Path | None:
        """The file it was read from, if any."""
        return self.found.path

    @property
    def versions(self) -> Mapping[str, str]:
        """The versions of Python and of the libraries that load it."""
        return {**python_version(), **self.found.versions}


ModelSource: TypeAlias = "ModelLocation | OpenedModel"
"""Where a model is, or a model that is already open."""

SubjectSource: TypeAlias = "ModelSource | OpenedReference"
"""A model, the location of any other tokenizer, such as the address of a server, or one that is already open."""

ReferenceSource: TypeAlias = "str | Path | Location | OpenedReference | None"
"""A location as for `tokverify run -r`, a reference that is already open, or None to look for one."""


def open_model(model: ModelSource) -> OpenedModel:
    """Read a GGUF file, a tokenizer.json, a sentencepiece .model or FILE.tiktoken:PATTERN.

    Args:
        model: The path, or a name as for `find_model`; a model that is already open is returned unchanged.

    Raises:
        TokverifyError: If there is no such file. A subclass reports that it is broken, or unsupported, also if only by
            the requested engine.
    """
    if isinstance(model, OpenedModel):
        return model
    if other := _other_tokenizer(model):
        raise TokverifyError(f"{other.text}: not a file; this command needs a GGUF file or another tokenizer file")
    opened = open_declaration(model)
    if opened.declaration.refusal:
        raise opened.declaration.refusal
    file = opened.file
    with file.prefixed_to_errors():
        encoder = Encoder(opened.spec, file.name, in_background=True)
    require_requested(encoder.engine)
    return OpenedModel(file=file, kind=opened.kind, declaration=opened.declaration, encoder=encoder)


def open_subject(model: SubjectSource) -> OpenedModel | OpenedReference:
    """Open the tokenizer under test: a file, which tokverify encodes as llama.cpp does, or any other tokenizer.

    Args:
        model: A file as for `open_model`, or a location that `is_location` recognizes, which is opened by its own
            library, server or program; a tokenizer that is already open is returned unchanged.

    Raises:
        TokverifyError: If there is no tokenizer at the location.
    """
    if isinstance(model, OpenedReference):
        return model
    if other := _other_tokenizer(model):
        return OpenedReference(found=references.open_location(other))
    return open_model(model)


def _other_tokenizer(model: ModelSource) -> Location | None:
    """Return the location of what is opened by something else than tokverify, if it is one.

    Raises:
        TokverifyError: If it is the page of a repository on the hub, whose model is then suggested.
    """
    if not isinstance(model, str | Location):
        return None
    location = locate(model)
    if is_stored(location.text) or not references.is_location(location.text):
        return None
    if name := name_of_page(location.text):
        raise TokverifyError(f"{location.text}: not a file; did you mean `{name}`, a GGUF file in this repository?")
    return location


def open_reference(
    model: OpenedModel | OpenedDeclaration | OpenedReference, reference: ReferenceSource = None
) -> OpenedReference:
    """Load the reference of a model, looking for one if none is given.

    Args:
        model: The opened tokenizer under test.
        reference: A location as for `tokverify run -r`; a reference that is already open is returned unchanged.

    Raises:
        TokverifyError: If there is no reference at the location, none was found, or it is the model itself.
    """
    if isinstance(reference, OpenedReference):
        return reference
    if reference is not None:
        reference = locate(reference)
        _require_existing(reference.text)
    if isinstance(model, OpenedReference):
        if reference is None:
            raise TokverifyError(
                f"{model.found.source}: a reference is looked for only if MODEL is a file; name one with -r"
            )
        found = references.open_location(reference, model=model.path)
    else:
        settings = model.encoder.settings if isinstance(model, OpenedModel) else None
        if reference is None:
            from tokverify.references.discovery import find_reference

            return OpenedReference(found=find_reference(model.file, model.spec, settings))
        found = references.open_location(reference, spec=model.spec, settings=settings, model=model.path)
    _require_another(model, found)
    return OpenedReference(found=found)


def _require_existing(location: str) -> None:
    """Suggest another file if a location can only be a file, and does not exist."""
    if location.endswith(_FILE_SUFFIXES) and ":" not in location and find_existing(location) is None:
        raise TokverifyError(f"{location}: no such file; {suggest_file(Path(location))}")


def _require_another(model: OpenedModel | OpenedDeclaration | OpenedReference, found: FoundReference) -> None:
    """Reject a comparison of a tokenizer with itself, in which nothing could differ."""
    if isinstance(model, OpenedReference):
        is_same = (model.tokenizer.name, model.found.source) == (found.tokenizer.name, found.source)
    else:
        is_same = isinstance(found.tokenizer, Encoder) and found.path is not None and found.path.samefile(model.path)
    if is_same:
        raise TokverifyError(f"{found.source}: this is the tokenizer under test; name another one with -r")


def open_tokenizer(written: str | Location) -> OpenedModel | OpenedReference:
    """Open a GGUF file, which tokverify encodes as llama.cpp does, or any other tokenizer with its own library.

    A GGUF file may be named as for `open_model`.

    Raises:
        TokverifyError: If there is no tokenizer at the location.
    """
    location = locate(written)
    if is_stored(location.text):
        return open_model(location)
    path = find_existing(location.text)
    if path is None and location.text.endswith(".gguf") and ":" not in location.text:
        # The reader of GGUF reports that there is no such file.
        path = Path(location)
    if path and not path.is_dir() and kind_of_model(path) == "gguf":
        return open_model(location.at(str(path)))
    return OpenedReference(found=references.open_location(location))


def open_tokenizers(
    model: str | Path | Location, reference: str | Path | Location | None
) -> tuple[Tokenizer, Tokenizer]:
    """Open a model and its reference in another process, which cannot receive them from this one."""
    opened = open_subject(model)
    return opened.tokenizer, open_reference(opened, reference).tokenizer


def python_version() -> dict[str, str]:
    """Name the running Python in the form used by the `versions` of a report."""
    return {"python": platform.python_version()}


def engine_version(encoder: Encoder | None = None) -> dict[str, str]:
    """Name the engine that encodes in the form used by the `versions` of a report, and why it is not the native one.

    Without an encoder, it is the engine for any tokenizer that does not prevent it.
    """
    choice = encoder.engine if encoder else available_engine()
    return {"engine": f"{choice.name} ({choice.reason})" if choice.reason else choice.name}


def _sha256_of(file: ModelFile) -> str | None:
    """Return the SHA-256 digest of a model's complete file; None if it is not known and would take long to compute."""
    if file.sha256 or file.is_partial:
        return file.sha256
    path = file_of(file.path)
    if path.stat().st_size > _MAX_HASHED_BYTES:
        return None
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
