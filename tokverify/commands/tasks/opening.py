"""Open models and references, each exactly once per run."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from tokverify import references
from tokverify.commands.tasks.declaration import ModelLocation, open_declaration
from tokverify.compare.opened import OpenedModel, OpenedReference
from tokverify.engine.encoder import Encoder
from tokverify.errors import TokverifyError
from tokverify.location import Location
from tokverify.references import FoundReference
from tokverify.sources.location import find_existing, suggest_file
from tokverify.sources.stores.location import is_stored, locate, name_of_page
from tokverify.sources.tokenizer_file import kind_of_model
from tokverify.tokenizer import Tokenizer

_FILE_SUFFIXES = (".gguf", ".json", ".model", ".tiktoken", ".txt")

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
    if other := other_tokenizer(model):
        raise TokverifyError(f"{other.text}: not a file; this command needs a GGUF file or another tokenizer file")
    opened = open_declaration(model)
    opened.encoder  # noqa: B018 - raises if llama.cpp refuses the file
    return opened


def open_subject(model: SubjectSource) -> OpenedModel | OpenedReference:
    """Open the tokenizer under test: a file, which tokverify encodes as llama.cpp does, or any other tokenizer.

    A location that `is_location` recognizes is opened by its own library, server or program; a tokenizer that is
    already open is returned unchanged.

    Raises:
        TokverifyError: If there is no tokenizer at the location.
    """
    if isinstance(model, OpenedReference):
        return model
    if other := other_tokenizer(model):
        return OpenedReference(references.open_location(other))
    return open_model(model)


def other_tokenizer(model: ModelSource) -> Location | None:
    """Return the location of what is opened by its own library, server or program; None for a file.

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


def open_reference(model: OpenedModel | OpenedReference, reference: ReferenceSource = None) -> OpenedReference:
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
            raise TokverifyError(f"{model.source}: a reference is looked for only if MODEL is a file; name one with -r")
        found = references.open_location(reference, model=model.path)
    else:
        settings = model.encoder.settings if model.is_loaded else None
        if reference is None:
            from tokverify.references.discovery import find_reference

            return OpenedReference(find_reference(model.file, model.spec, settings))
        found = references.open_location(reference, spec=model.spec, settings=settings, model=model.path)
    _require_another(model, found)
    return OpenedReference(found)


def open_reference_beside(model: OpenedModel | OpenedReference) -> OpenedReference | None:
    """Load the reference beside a file; None if there is none."""
    from tokverify.references.discovery import find_reference_beside

    found = find_reference_beside(model.file, model.spec) if isinstance(model, OpenedModel) else None
    return OpenedReference(found) if found else None


def _require_existing(location: str) -> None:
    """Suggest another file if a location can only be a file, and does not exist."""
    if location.endswith(_FILE_SUFFIXES) and ":" not in location and find_existing(location) is None:
        raise TokverifyError(f"{location}: no such file; {suggest_file(Path(location))}")


def _require_another(model: OpenedModel | OpenedReference, found: FoundReference) -> None:
    """Reject a comparison of a tokenizer with itself, in which nothing could differ."""
    if isinstance(model, OpenedReference):
        is_same = (model.tokenizer.name, model.source) == (found.tokenizer.name, found.source)
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
    return OpenedReference(references.open_location(location))


def open_tokenizers(
    model: str | Path | Location, reference: str | Path | Location | None
) -> tuple[Tokenizer, Tokenizer]:
    """Open a model and its reference in another process, which cannot receive them from this one."""
    opened = open_subject(model)
    return opened.tokenizer, open_reference(opened, reference).tokenizer
