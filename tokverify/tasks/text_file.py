"""Read the texts that a task works on, exactly as they are."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from tokverify.errors import TokverifyError
from tokverify.system.input_file import require_fetched

# The tokens of a longer text would fill the memory, and a file such as /dev/zero has no end.
_MAX_BYTES = 1 << 30


def read_text_file(path: Path) -> str:
    """Read a text file without changing or stripping newlines.

    Raises:
        TokverifyError: If it cannot be read, is too large, or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            data = read_bounded(file, str(path))
    except OSError as error:
        raise TokverifyError(f"{path}: cannot read the text: {error.strerror}; check the path") from error
    require_fetched(path, data)
    return decode_utf8(data, str(path))


def read_bounded(file: BinaryIO, source: str) -> bytes:
    """Read to the end, even from something that cannot be read twice, such as `<(command)`.

    Raises:
        TokverifyError: If there is too much of it; `source` names it.
    """
    data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise TokverifyError(f"{source}: more than {_MAX_BYTES >> 30} GiB of text; use a part of it")
    return data


def decode_utf8(data: bytes, source: str) -> str:
    """Decode a text.

    Raises:
        TokverifyError: If it is not UTF-8; `source` names it.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise TokverifyError(
            f"{source}: byte 0x{data[error.start]:02X} at offset {error.start:,} is not UTF-8; convert it to UTF-8"
        ) from None
