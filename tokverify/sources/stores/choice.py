"""Choose one of the GGUF files of a repository."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from tokverify.errors import TokverifyError
from tokverify.sources.stores.quantization import has_quantization, is_later_part

_PREFERRED = ("Q4_K_M", "Q8_0")
_MAX_LISTED = 10


def tokenizer_files(names: Iterable[str]) -> list[str]:
    """Return the GGUF files that can contain a tokenizer: no projectors, and of a split model only the first file."""
    paths = map(PurePosixPath, sorted(names))
    models = (path for path in paths if path.suffix.lower() == ".gguf" and not is_later_part(path.stem))
    return [str(path) for path in models if "mmproj" not in path.name.lower()]


def choose_file(names: Sequence[str], wanted: str | None, location: str) -> str:
    """Choose the file with a name or a quantization; without one, Q4_K_M as llama.cpp does, or Q8_0, or the first.

    Args:
        names: The paths of all files.
        wanted: A path, or a quantization such as `Q4_K_M`.
        location: The name of the repository, for messages.

    Raises:
        TokverifyError: If no file or several files match.
    """
    if wanted and wanted in names:
        return wanted
    files = tokenizer_files(names)
    if not files:
        raise TokverifyError(f"{location}: contains no GGUF file with a tokenizer; name another")
    if wanted is None:
        preferred = (file for each in _PREFERRED for file in files if has_quantization(file, each))
        return next(preferred, files[0])
    matching = [file for file in files if has_quantization(file, wanted)]
    if len(matching) == 1:
        return matching[0]
    problem = f"several files match {wanted}" if matching else f"no file matches {wanted}"
    raise TokverifyError(f"{location}: {problem}; name one of {_enumerate(matching or files)}")


def _enumerate(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    return ", ".join(names[:_MAX_LISTED]) + more
