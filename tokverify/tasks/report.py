"""Write reports as JSON, and read them back."""

from __future__ import annotations

from pathlib import Path

from tokverify.report import codec


def to_json(report: object) -> str:
    """Write a report of any kind as JSON. Equal reports give equal text.

    The document begins with `schema_version`, `kind`, and a `summary` with the exit code.
    """
    return codec.encode(report)


def read_report(path: str | Path) -> object:
    """Read a report of any kind from a JSON file.

    Raises:
        TokverifyError: If the file cannot be read or is not a report. The message names the place in the document.
        UnsupportedError: If another version of tokverify wrote it.
    """
    return codec.read_any(path).report
