"""Make a corpus of any size from real texts, for benchmarks: novels, Python source code and characters of all scripts.

    python benchmarks/corpus_data.py data/ --megabytes 1000
    python benchmarks/corpus_data.py data/ --format jsonl
    python benchmarks/corpus_data.py data/ --ids model.gguf    # with ids; those of a document in each file are wrong,
                                                               # see _planted.json

Each document is a part of a text in which one word is replaced by another. The same arguments make the same documents.
"""

import argparse
import json
import os
import random
import sysconfig
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from tokverify import open_model

SHARED = Path(os.environ.get("TOKVERIFY_SHARED", Path(__file__).resolve().parents[2] / "shared")) / "corpus"
_WEIGHTS = {"en": 50, "code": 30, "ja": 19, "unicode": 1}
_GROUP_ROWS = 1000
_PLANTED_TEXT = "Caf\u00e9 <s> na\u00efve"


class Row(NamedTuple):
    """A document of the corpus."""

    text: str
    ids: list[int] | None
    cause: str = ""
    """What is wrong with the ids."""


class Planted(NamedTuple):
    """A document whose ids are wrong."""

    cause: str
    file: str
    place: str
    """As in a report."""


def read_sources() -> dict[str, str]:
    """Return the texts that documents are cut out of."""
    texts = {name: (SHARED / f"{name}.txt").read_text("utf-8") for name in ("en", "ja", "unicode")}
    modules = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    return texts | {"code": "\n".join(path.read_text("utf-8") for path in modules)}


def make_documents(seed: int) -> Iterator[str]:
    """Yield documents without end."""
    chosen = random.Random(seed)  # noqa: S311 - not for cryptography
    sources = read_sources()
    names, weights = list(_WEIGHTS), list(_WEIGHTS.values())
    while True:
        (name,) = chosen.choices(names, weights)
        text = sources[name]
        length = 200 if name == "unicode" else chosen.randrange(500, 8000)
        start = chosen.randrange(len(text) - length)
        words = text[start : start + length].split(" ")
        words[chosen.randrange(len(words))] = chosen.choice(words) + str(chosen.randrange(10_000))
        yield " ".join(words)


def take_bytes(documents: Iterator[str], size: int) -> Iterator[str]:
    """Yield documents until they have a number of bytes."""
    while size > 0:
        text = next(documents)
        size -= len(text.encode())
        yield text


def plant(encoder, index: int) -> tuple[str, str, list[int]]:
    """Return a cause, a text, and ids of it that are wrong for this cause."""
    text = f"{_PLANTED_TEXT} {index}"
    ids = encoder.encode(text, add_special=True, parse_special=True)
    other_form = unicodedata.normalize("NFD", text)
    wrong = {
        "normalization": encoder.encode(other_form, add_special=True, parse_special=True),
        "added-token": encoder.encode(text, add_special=True, parse_special=False),
        "bos-doubled": [ids[0], *ids],
        "bos-missing": ids[1:],
    }
    cause = list(wrong)[index % len(wrong)]
    return cause, text, wrong[cause]


def make_rows(documents: Iterator[str], encoder, number: int) -> Iterator[Row]:
    """Yield the rows of a file; with an encoder, also ids, those of the first row planted in the file wrong."""
    place = number * 97 % _GROUP_ROWS
    for start in count(step=_GROUP_ROWS):
        texts = list(islice(documents, _GROUP_ROWS))
        if not texts:
            return
        ids = encoder.encode_batch(texts, add_special=True) if encoder else [None] * len(texts)
        for index, (text, encoded) in enumerate(zip(texts, ids, strict=True)):
            if encoder and not start and index == min(place, len(texts) - 1):
                cause, wrong, wrong_ids = plant(encoder, number)
                yield Row(wrong, wrong_ids, cause)
            else:
                yield Row(text, None if encoded is None else list(encoded))


def write_parquet(path: Path, rows: Iterator[Row], *, has_ids: bool) -> Iterator[Planted]:
    """Write a file, and yield what is wrong in it."""
    fields = [("text", pa.string())] + ([("ids", pa.list_(pa.uint32()))] if has_ids else [])
    schema = pa.schema(fields)
    with pq.ParquetWriter(path, schema) as file:
        for start in count(step=_GROUP_ROWS):
            group = list(islice(rows, _GROUP_ROWS))
            if not group:
                return
            file.write_table(pa.table({name: [getattr(row, name) for row in group] for name, _ in fields}, schema))
            yield from (
                Planted(row.cause, path.name, f"row {start + index:,}") for index, row in enumerate(group) if row.cause
            )


def write_json_lines(path: Path, rows: Iterator[Row], *, has_ids: bool) -> Iterator[Planted]:
    """Write a file, and yield what is wrong in it."""
    with path.open("wb") as file:
        for row in rows:
            if row.cause:
                yield Planted(row.cause, path.name, f"byte {file.tell():,}")
            fields = {"text": row.text, "ids": row.ids} if has_ids else {"text": row.text}
            file.write(json.dumps(fields, ensure_ascii=False).encode() + b"\n")


WRITERS = {"parquet": write_parquet, "jsonl": write_json_lines}


def write_corpus(directory: Path, megabytes: int, files: int, formats: Sequence[str], encoder=None) -> list[Planted]:
    """Write the files of a corpus, those of one format after those of the other; return what is wrong with the ids."""
    directory.mkdir(parents=True, exist_ok=True)
    planted: list[Planted] = []
    for number in range(files):
        format = formats[number * len(formats) // files]
        documents = take_bytes(make_documents(number), megabytes * 1_000_000 // files)
        rows = make_rows(documents, encoder, number)
        planted += WRITERS[format](directory / f"part-{number:03}.{format}", rows, has_ids=encoder is not None)
    return planted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--format", choices=list(WRITERS), action="append", help="may be repeated")
    parser.add_argument("--ids", metavar="MODEL", help="add the ids of this model, and one wrong document to each file")
    options = parser.parse_args()
    encoder = open_model(options.ids).encoder if options.ids else None
    formats = options.format or ["parquet"]
    planted = write_corpus(options.directory, options.megabytes, options.files, formats, encoder)
    if encoder:
        listed = [each._asdict() for each in planted]
        (options.directory / "_planted.json").write_text(json.dumps(listed, indent=1) + "\n")


if __name__ == "__main__":
    main()
