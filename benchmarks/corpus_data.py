"""Make a corpus of any size from real texts, for benchmarks: novels, Python source code and characters of all scripts.

    python benchmarks/corpus_data.py data/ --megabytes 1000
    python benchmarks/corpus_data.py data/ --format jsonl
    python benchmarks/corpus_data.py data/ --ids model.gguf    # with a column of ids; some are wrong, see _planted.json

Each document is a part of a text in which one word is replaced by another. The same arguments make the same documents.
"""

import argparse
import json
import os
import random
import sysconfig
import unicodedata
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tokverify import open_model

SHARED = Path(os.environ.get("TOKVERIFY_SHARED", Path(__file__).resolve().parents[2] / "shared")) / "corpus"
_WEIGHTS = {"en": 50, "code": 30, "ja": 19, "unicode": 1}
_GROUP_ROWS = 1000
_PLANTED_TEXT = "Caf\u00e9 <s> na\u00efve"


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


def write_parquet(path: Path, documents: Iterator[str], encoder, number: int) -> dict[str, object] | None:
    """Write a file; with an encoder, also ids, and one document whose ids are wrong. Return where that one is."""
    fields = [("text", pa.string())] + ([("ids", pa.list_(pa.uint32()))] if encoder else [])
    row, planted = 0, None
    with pq.ParquetWriter(path, pa.schema(fields)) as file:
        while texts := list(islice(documents, _GROUP_ROWS)):
            columns: dict[str, list[object]] = {"text": list(texts)}
            if encoder:
                columns["ids"] = [list(ids) for ids in encoder.encode_batch(texts, add_special=True)]
            if encoder and planted is None:
                place = (number * 97) % len(texts)
                cause, columns["text"][place], columns["ids"][place] = plant(encoder, number)
                planted = {"cause": cause, "file": path.name, "row": row + place}
            file.write_table(pa.table(columns, schema=pa.schema(fields)))
            row += len(texts)
    return planted


def write_json_lines(path: Path, documents: Iterator[str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in documents)


def write_corpus(directory: Path, megabytes: int, files: int, format: str, encoder=None) -> list[dict[str, object]]:
    """Write the files of a corpus; return where something is wrong with the ids."""
    directory.mkdir(parents=True, exist_ok=True)
    planted = []
    for number in range(files):
        documents = take_bytes(make_documents(number), megabytes * 1_000_000 // files)
        path = directory / f"part-{number:03}.{format}"
        if format == "jsonl":
            write_json_lines(path, documents)
        else:
            planted.append(write_parquet(path, documents, encoder, number))
    return [place for place in planted if place]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--format", choices=("parquet", "jsonl"), default="parquet")
    parser.add_argument("--ids", metavar="MODEL", help="add the ids of this model, and one wrong document to each file")
    options = parser.parse_args()
    encoder = open_model(options.ids).encoder if options.ids else None
    planted = write_corpus(options.directory, options.megabytes, options.files, options.format, encoder)
    if encoder:
        (options.directory / "_planted.json").write_text(json.dumps(planted, indent=1) + "\n")


if __name__ == "__main__":
    main()
