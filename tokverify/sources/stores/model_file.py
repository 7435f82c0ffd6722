"""ModelFile: the file that the name of a model leads to."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.location import Location

_Error = TypeVar("_Error", bound=TokverifyError)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """A model's file on this machine, and where it came from."""

    path: Path
    """The file. It exists, unless the user named a file that does not."""

    name: str
    """The name of the model in reports."""

    location: str
    """How to name the model, such as a path or `hf:org/name:file.gguf@commit`."""

    sha256: str | None = None
    """The hash of the complete file, if the store knows it."""

    repository: str | None = None
    """The repository on the hub that may contain its tokenizer's files, as `org/name@commit`.

    Without a commit, that is only the repository with the name under which another program keeps the file.
    """

    address: str | None = None
    """The address that it came from, next to which its tokenizer's files may be."""

    named: Location | None = None
    """What named it; None for a file that the program has found."""

    is_partial: bool = False
    """Whether the local file contains only the metadata, followed by zeros instead of tensors."""

    @contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Let errors that are raised in the block name the location instead of a path that the user does not know."""
        try:
            yield
        except TokverifyError as error:
            if self.location == str(self.path):
                raise
            raise self.rename(error) from error

    @contextmanager
    def prefixed_to_errors(self) -> Iterator[None]:
        """Prefix the location to errors that are raised in the block by code that knows no files."""
        try:
            yield
        except TokverifyError as error:
            raise type(error)(f"{self.location}: {error}") from error

    def rename(self, error: _Error) -> _Error:
        """Return an error that names the location instead of the local path."""
        return type(error)(str(error).replace(str(self.path), self.location))

    def require_complete(self) -> None:
        """Reject a file without tensors.

        Raises:
            UnsupportedError: If only the metadata was downloaded.
        """
        if self.is_partial:
            raise UnsupportedError(f"{self.location}: only its metadata was downloaded; {self._how_to_complete()}")

    def _how_to_complete(self) -> str:
        store, _, rest = self.location.partition(":")
        if store != "hf":
            return f"download it (curl -fLO {shlex.quote(self.location)}), and name the file"
        name, _, commit = rest.rpartition("@")
        repository, _, file = name.partition(":")
        command = shlex.join(["hf", "download", repository, file, "--revision", commit])
        return f"run `{command}`, and repeat the command"
