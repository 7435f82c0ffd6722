"""Read what a tokenizer file declares, without loading it as llama.cpp does.

This module imports little, because `tokverify inspect` should be quick.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from tokverify.compare.opened import OpenedModel
from tokverify.location import Location
from tokverify.sources.gguf.declaration import Declaration, read_declaration
from tokverify.sources.stores.location import find_model, locate
from tokverify.sources.stores.model_file import ModelFile
from tokverify.sources.tokenizer_file import kind_of_model, read_spec_of_kind

ModelLocation: TypeAlias = "str | Path | Location | ModelFile"
"""A path, a name such as `hf:org/name`, or the file that it leads to."""


def open_declaration(model: ModelLocation, kind: str | None = None) -> OpenedModel:
    """Read a tokenizer file, as much of it as possible if it is a GGUF file that llama.cpp refuses.

    Its `kind` is recognized by default, and its encoder is made on first use.

    Raises:
        TokverifyError: If there is no such file, or nothing in it can be read.
    """
    file = model if isinstance(model, ModelFile) else find_model(locate(model))
    path = file.path
    with file.named_in_errors():
        kind = kind or kind_of_model(path)
        declaration = read_declaration(path) if kind == "gguf" else _declare(path, kind)
    if declaration.refusal:
        declaration = replace(declaration, refusal=file.rename(declaration.refusal))
    return OpenedModel(file=file, kind=kind, declaration=declaration)


def _declare(path: Path, kind: str) -> Declaration:
    """Return what the GGUF file would declare that `convert` makes of another file."""
    from tokverify.compare.role_name import declare_end

    return Declaration(spec=declare_end(read_spec_of_kind(path, kind)))
