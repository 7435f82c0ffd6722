"""Find the shared object of the wheel `xllamacpp`, which exports llama.cpp's C functions."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tokverify.errors import MissingLibraryError, UnsupportedError

VOCAB_ONLY_AT: Mapping[str, int] = {"2026.10.11549": 72, "2026.9.11063": 72}
"""Supported versions of xllamacpp: the byte offset of `vocab_only` in `llama_model_params`."""

_SUFFIXES = (".so", ".dylib", ".pyd")
_INSTALL = "install it with `pip install 'tokverify[llama-cpp]'`"


@dataclass(frozen=True, slots=True)
class Library:
    """The shared object of an installed xllamacpp."""

    path: Path
    version: str

    @property
    def vocab_only_at(self) -> int:
        """The byte offset of `vocab_only` in this build.

        Raises:
            UnsupportedError: If this version is not known.
        """
        if self.version not in VOCAB_ONLY_AT:
            raise self.unsupported("its structs may differ")
        return VOCAB_ONLY_AT[self.version]

    def unsupported(self, reason: str) -> UnsupportedError:
        """Build the error for a library that cannot be used."""
        return UnsupportedError(
            f"xllamacpp {self.version} cannot be used: {reason}; supported are {', '.join(VOCAB_ONLY_AT)}; {_INSTALL}"
        )


def find_library() -> Library:
    """Find the installed xllamacpp, without importing it.

    Raises:
        MissingLibraryError: If there is none.
        UnsupportedError: If it has no shared object.
    """
    from importlib import metadata

    spec = importlib.util.find_spec("xllamacpp")
    if spec is None or not spec.submodule_search_locations:
        raise MissingLibraryError(f"-r llama.cpp needs xllamacpp, which is not installed; {_INSTALL}")
    # A build for a specific GPU has the same version with a suffix.
    version = metadata.version("xllamacpp").partition("+")[0]
    folder = Path(spec.submodule_search_locations[0])
    paths = sorted(path for path in folder.glob("xllamacpp*") if path.suffix in _SUFFIXES)
    if not paths:
        raise Library(folder, version).unsupported("it has no shared object")
    return Library(paths[0], version)
