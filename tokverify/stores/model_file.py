"""ModelFile: the file that the name of a model leads to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tokverify.errors import UnsupportedError


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
    """The repository on the hub that it came from, as `org/name@commit`, if that contains a tokenizer's files."""

    is_partial: bool = False
    """Whether the local file contains only the metadata, followed by zeros instead of tensors."""

    def require_complete(self) -> None:
        """Reject a file without tensors.

        Raises:
            UnsupportedError: If only the metadata was downloaded.
        """
        if self.is_partial:
            raise UnsupportedError(f"{self.location}: only its metadata was downloaded; download the file and name it")
