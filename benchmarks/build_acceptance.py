"""Check that tokverify predicts what builds of llama.cpp do: whether they load a file, and the ids of texts.

    python benchmarks/build_acceptance.py texts.jsonl --builds 8672,9093 vocabs/*.gguf

Each line of the texts is a JSON string, or an object with a `text`. Each build runs in an environment of its own, as
with `-r llama.cpp@BUILD`, or is the library in `8121=path/to/libllama.so`. It is asked in a process in which it is the
selected build. The exit code is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tokverify.engine.build import VARIABLE
from tokverify.engine.encoder import Encoder
from tokverify.errors import BrokenFileError, EncodeError, TokverifyError
from tokverify.references.llama_cpp import LlamaCppTokenizer
from tokverify.references.llama_cpp_library import find_build
from tokverify.sources.gguf.declaration import read_spec

OPTIONS = ((True, True), (False, False))
"""`add_special` and `parse_special`."""


def read_texts(path: Path) -> list[str]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [row if isinstance(row, str) else row["text"] for row in rows]


def compare(model: Path, library: str, texts: Sequence[str]) -> str:
    """Compare one file in the selected build, and describe the result in a few words; what is wrong begins `WRONG`."""
    try:
        encoder, refusal = Encoder(read_spec(model)), ""
    except TokverifyError as error:
        encoder, refusal = None, str(error)
    try:
        real = LlamaCppTokenizer(model, find_build(library))
    except BrokenFileError:
        real = None
    if "not imitated" in refusal or "it is not known" in refusal:
        return "not known"
    if encoder is None:
        return f"WRONG: it loads, but {refusal}" if real else "refused"
    if real is None:
        return "WRONG: it does not load"
    differing = sum(
        ids_of(ours) != ids_of(theirs)
        for add_special, parse_special in OPTIONS
        for ours, theirs in zip(
            encoder.encode_many(texts, add_special=add_special, parse_special=parse_special),
            real.encode_many(texts, add_special=add_special, parse_special=parse_special),
            strict=True,
        )
    )
    return f"WRONG: {differing} of {len(OPTIONS) * len(texts)} texts differ" if differing else "equal"


def ids_of(encoded: Sequence[int] | EncodeError) -> list[int] | None:
    return None if isinstance(encoded, EncodeError) else list(encoded)


def rows_of(models: Sequence[Path], build: str, library: str, texts: Sequence[str]) -> Iterator[str]:
    for model in models:
        yield f"{build} {model.stem} {compare(model, library, texts)}"


def selection_of(build: str) -> str:
    return "b" + build.partition("=")[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=Path)
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--builds", required=True, help="numbers, or NUMBER=LIBRARY, with commas")
    options = parser.parse_args()
    builds = options.builds.split(",")
    if len(builds) == 1 and os.environ.get(VARIABLE) == selection_of(builds[0]):
        build, _, library = builds[0].partition("=")
        for row in rows_of(options.models, f"b{build}", library or build, read_texts(options.texts)):
            print(row, flush=True)
        return
    wrong = 0
    for build in builds:
        command = [sys.executable, __file__, str(options.texts), *map(str, options.models), "--builds", build]
        environment = {**os.environ, VARIABLE: selection_of(build)}
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
            for row in child.stdout or ():
                print(row, end="", flush=True)
                wrong += "WRONG" in row
        wrong += child.returncode != 0
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
