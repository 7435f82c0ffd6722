"""Read what a tokenizer file declares, without loading it as llama.cpp does.

This module imports little, because `tokverify inspect` should be quick.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from tokverify.location import Location
from tokverify.sources.gguf.declaration import Declaration, read_declaration
from tokverify.sources.stores.location import find_model, locate
from tokverify.sources.stores.model_file import ModelFile
from tokverify.sources.tokenizer_file import kind_of_model, read_spec_of_kind
from tokverify.spec import TokenizerSpec

ModelLocation: TypeAlias = "str | Path | Location | ModelFile"
"""A path, a name such as `hf:org/name`, or the file that it leads to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedDeclaration:
    """A tokenizer file that has been read, but that llama.cpp may refuse to load."""

    file: ModelFile
    """The file and where it came from."""

    kind: str
    """The format of the file, as in `OpenedModel`."""

    declaration: Declaration
    """What the file declares, with the reason if llama.cpp refuses it."""

    @property
    def path(self) -> Path:
        """The file on this machine."""
        return self.file.path

    @property
    def spec(self) -> TokenizerSpec:
        """The tokenizer as the file declares it, which may contradict itself."""
        return self.declaration.spec


def open_declaration(model: ModelLocation, kind: str | None = None) -> OpenedDeclaration:
    """Read a tokenizer file, as much of it as possible if it is a GGUF file that llama.cpp refuses.

    Args:
        model: The file, as for `open_model`.
        kind: The format to read it as; recognized by default.

    Raises:
        TokverifyError: If there is no such file, or nothing in it can be read.
    """
    file = model if isinstance(model, ModelFile) else find_model(locate(model))
    path = file.path
    with file.named_in_errors():
        kind = kind or kind_of_model(path)
        declaration = read_declaration(path) if kind == "gguf" else Declaration(spec=read_spec_of_kind(path, kind))
    if declaration.refusal:
        declaration = replace(declaration, refusal=file.rename(declaration.refusal))
    return OpenedDeclaration(file=file, kind=kind, declaration=declaration)
