"""The file formats that a corpus may consist of; a new one takes one file and one entry in `SOURCES`."""

from __future__ import annotations

from collections.abc import Mapping

from tokverify.corpus.document import Source
from tokverify.corpus.source.arrow import ARROW
from tokverify.corpus.source.flat import DATATROVE, DOLMA, MEGATRON
from tokverify.corpus.source.lines import JSON_LINES, TEXT
from tokverify.corpus.source.parquet import PARQUET

SOURCES: Mapping[str, Source] = {
    "parquet": PARQUET,
    "json_lines": JSON_LINES,
    "arrow": ARROW,
    "text": TEXT,
    "megatron": MEGATRON,
    "datatrove": DATATROVE,
    "dolma": DOLMA,
}


def format_of(path: str) -> str | None:
    """Return the format of a file by its suffix; None if it is of no known format."""
    name = path.lower().removesuffix(".gz").removesuffix(".zst")
    return next((format for format, source in SOURCES.items() if name.endswith(source.suffixes)), None)
