"""Choose one of the files of a repository or a directory.

Their names say what distinguishes the files of one model: quantization, parts and repairs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from tokverify.errors import BrokenFileError, TokverifyError
from tokverify.sources.location import FILE_NAMES, VOCABULARIES, files_in
from tokverify.text.command_line import REPAIRED

_QUANTIZATION = re.compile(
    r"[-._](?:UD-|i1-|imat-)?(?:I?Q[1-8](?:_[A-Z0-9]+)*(?:-XL)?|TQ[12]_0|BF16|FP?16|FP?32|FP8|INT8|MXFP4(?:_MOE)?|NVFP4)"
    r"(?:[-.]imat(?:rix)?)?$",
    re.IGNORECASE,
)
_PART = re.compile(r"-(\d{5})-of-\d{5}$")
_PREFERRED = ("Q4_K_M", "Q8_0")
_MAX_LISTED = 10


def tokenizer_files(names: Iterable[str]) -> list[str]:
    """Return the GGUF files that can contain a tokenizer: no projectors, and of a split model only the first file."""
    paths = map(PurePosixPath, sorted(names))
    models = (path for path in paths if path.name.lower().endswith(".gguf") and not is_later_part(path.stem))
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


def file_in(directory: Path) -> Path:
    """Return the preferred tokenizer file in a directory: its GGUF file only if there is no other.

    Raises:
        BrokenFileError: If there is none.
        TokverifyError: If there is a choice between several GGUF files.
    """
    found = files_in(directory)
    return found[0] if found else model_in(directory)


def model_in(directory: Path) -> Path:
    """Return the model in a directory: its GGUF file, or else the tokenizer file that a GGUF file is made of.

    Raises:
        BrokenFileError: If there is none.
        TokverifyError: If there is a choice between several GGUF files.
    """
    try:
        names = sorted(path.name for path in directory.iterdir())
    except OSError as error:
        raise BrokenFileError(f"{directory}: cannot be read ({error.strerror})") from error
    models = tokenizer_files(names)
    if len(models) > 1:
        raise TokverifyError(f"{directory}: contains {len(models)} GGUF files; name one of {_enumerate(models)}")
    vocabularies = [directory / name for name in VOCABULARIES if name in names]
    if found := [directory / name for name in models] or files_in(directory) or vocabularies:
        return found[0]
    content = f"only {_enumerate(names)}" if names else "because it is empty"
    raise BrokenFileError(f"{directory}: contains no {', '.join((*FILE_NAMES, *VOCABULARIES))} or *.gguf, {content}")


def _enumerate(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    return ", ".join(names[:_MAX_LISTED]) + more


def model_name(stem: str) -> str:
    """Return the name of a model by that of its file, without suffix: `gpt2` for `gpt2-Q4_K_M-fixed`."""
    return _QUANTIZATION.sub("", without_part(stem.removesuffix(REPAIRED)))


def without_part(stem: str) -> str:
    """Remove the part from a file's name without its suffix: `gpt2-00001-of-00002` becomes `gpt2`."""
    return _PART.sub("", stem)


def is_later_part(stem: str) -> bool:
    """Whether a file's name without its suffix is that of a split model's second or later file."""
    match = _PART.search(stem)
    return match is not None and int(match[1]) != 1


def has_quantization(name: str, quantization: str) -> bool:
    """Whether a file's name contains a quantization, such as `Q4_K_M`, as a whole word; in any case."""
    return bool(re.search(rf"(?:^|[-._/]){re.escape(quantization)}(?=[-./]|$)", name, re.IGNORECASE))
