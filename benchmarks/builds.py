"""Make or check tokverify/engine/builds.json: which build of llama.cpp knows which names, keys and texts since when.

`python benchmarks/builds.py --write 11739=path/to/libllama.so 8560=...` asks every build that is given, with one probe
file for each name (see `build_probe.py`), and writes the table. Names are those of the table and all that the newest
build contains as strings and knows. `--add` adds builds to the table, about the names in it. Without either, the exit
code says whether each build agrees with the table.
`--python` names another Python to load the libraries with, such as one for a newer C library.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from textwrap import wrap
from typing import Any

from tokverify.engine.family import DROPS_MARKS_SINCE, STRICT_UTF8_SINCE, TILDE_IS_SYMBOL_SINCE

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "tokverify" / "engine" / "builds.json"
WHEELS = ROOT / "tokverify" / "references" / "llama_cpp_wheels.json"
RELEASES = ROOT / "tokverify" / "engine" / "releases.json"
PROBE = ROOT / "benchmarks" / "build_probe.py"
NAMED = ("models", "pre_tokenizers", "architectures")
"""What a build knows by name."""
LISTED = (*NAMED, "keys")
"""What a build knows or does not."""
VALUED = ("texts", "flags")
"""What has another value in some builds."""

KINDS = {"models": "model", "pre_tokenizers": "pre-tokenizer", "architectures": "architecture", "keys": "key"}
"""What the names of a section are, in words."""
BEHAVIOR = {
    DROPS_MARKS_SINCE: "combining marks are dropped with the accents of words (`bert`)",
    TILDE_IS_SYMBOL_SINCE: r"`~` is a symbol, `\p{S}`, in patterns (`deepseek-v3`, `afmoe` and others)",
    STRICT_UTF8_SINCE: "overlong UTF-8 and numbers above U+10FFFF are no characters, and no error in a token",
}
"""What is known to have changed besides the tables."""
CONTROL, MATCHED = 8, 8 | 16
"""The attributes of control tokens, and of all that are matched in texts."""
PAGE = """\
# Builds of llama.cpp

Generated from `tokverify/engine/builds.json` by `python benchmarks/builds.py --page > docs/builds.md`.

llama.cpp changes: a build knows only some of the names that a GGUF file can contain, and reads only some of its keys.
The encoder equals b{newest}, the newest build in the tables. `tokverify inspect MODEL` says which build a file needs,
and `tokverify run MODEL -r llama.cpp@b9014 -r llama.cpp@b11549` what several builds make of it.
`--llama-cpp b9190` lets `run`, `check`, `encode`, `explain` and `fuzz` encode as that build does; for a repository,
`llama_cpp` in the [configuration](configuration.md) does.

`tokverify run` and `inspect` say if earlier builds that load the file give other ids, and why. Compared with another
build, as in `tokverify run MODEL --llama-cpp b9014 -r llama.cpp@b11549`, `run` names the reason for which the two
differ. `tokverify explain MODEL TEXT --llama-cpp b9014` shows the stages of the older one.

## What changed when

A row names the first build that was asked and that knows something; the build before it in the list below does not.

| build | new |
|---|---|
{rows}

`tokverify/engine/builds.json` was made by asking {count} builds, from b{oldest} to b{newest}, with one tiny file for
each name:

{asked}

## Releases of other programs

A release can be written wherever a build can, as in `--llama-cpp ollama-0.32.8`, and `tokverify inspect MODEL` names
the first ones that are new enough. Listed is what the sources say: llama.cpp's release notes name the build of a
version, a file in Ollama's repository and the release notes of node-llama-cpp (and its packages) the build that they
contain. llama-cpp-python's repository names the commit; the build is what others report that llama-server prints with
it. The numbers of llama.cpp 0.3.0 to 0.6.0, and of the engine of LM Studio, are from such reports, too. LlamaSharp
names commits only, and the release notes of KoboldCpp that were read no build. Ollama before 0.30.0 has a tokenizer of
its own for many models, and later releases add patches to llama.cpp.

{releases}

## What was tried

On 2026-11-29, after all corrections below, fresh texts (2,042: words and markers at random, English, Japanese and rare
characters), the 10 laboratory vocabularies, 7 files that llama.cpp's converter made and 12 that tokverify made of real
tokenizers were tried in 17 builds that made no table: those of the next paragraph, b10361 and b11146, and of 2025 b6451
and b7376. Whether a build loads a file, and all 1,997,076 lists of ids, were as predicted, except for the file of
DeepSeek V3 that b8672 aborts on, and for `gemma4` in b8672, of which tokverify says that it is not imitated.

The first time, `python benchmarks/build_acceptance.py texts.jsonl --builds ... MODEL...` asked builds that made no
table: b8672, b8929, b9093, b9294, b9538, b9713, b9873, b10068, b10229, b10566, b10809, b11063 and b11549, for 10
laboratory vocabularies and 7 files that llama.cpp's converter made, with 2,000 texts, with and without special
tokens. Whether a build loads a file, and all ids, were as predicted, with two exceptions. In builds before b10566, 12
of 4,000 encodings with `deepseek-v3` differed, because `~` was no symbol; that is imitated now. And b8672 aborts on a
file of DeepSeek V3 that contains nothing but the tokenizer, before it reads that. What b8672 makes of `gemma4` is not
imitated, which `tokverify` says. Thirty pre-tokenizers on the vocabulary of GPT-2 were tried in b8672, b9713, b10229
and b11063, with the same result: only `deepseek-v3` and `afmoe` differed, for the same reason.

Then 118 files with odd keys, types, names, architectures and special tokens and 66 real vocabularies were tried in
builds of node-llama-cpp and xllamacpp, with 421 texts, with and without special tokens. At first, predictions were
wrong for 13 of 184 files in b7347, 39 in b8390, 8 in b9842 and 8 in b10361. The causes: an empty name of a
pre-tokenizer, types of keys that a build does not read, accents where a build ignores the key for lowercase, Kimi K2
without merges, and texts of special tokens that got their meaning between b7827 and b8560, which the table did not know
closely enough. After that, wrong were 1 of 65 files (300 texts) in b6451 and b7376, none in b11146 (llama.cpp 0.5.0), 2
in b9842, 5 in b7964, and 3 of 136 files in b8390; b8121, with 12, has been added to the table since. What remains:

- Builds up to b8390 load a vocabulary of the architecture `gptj`, which later ones do not know.
- b9842 and b10361 load `tokenizer.ggml.suppress_tokens` of some wrong types, which tokverify refuses as b11549 does.
- tokverify refuses files without a tokenizer (`none`, `no_vocab`), which llama.cpp loads.

Four of the five in b7964 contained `[EOS]` or `<|prefix|>`, which are control tokens since b8095 or earlier. For a
build between two of the list, tokverify now says that it does not know what such a text means.

## Builds that `-r llama.cpp@BUILD` can install

From the packages `xllamacpp` and `llama-cpp-py-sync`, for Linux on x86-64, with pinned digests. Those of
`llama-cpp-py-sync` need glibc 2.38. A library of your own is named by its path:
`-r llama.cpp@/path/to/libllama.so`, or llama-tokenize.

{wheels}
"""

_NAME = re.compile(rb"[a-z0-9._-]{2,30}\Z")
_TEXT = re.compile("(?:▁|_)?[<\\[].{1,38}[>\\]\\[]\\Z".encode(), re.DOTALL)
_BEGINNINGS = frozenset("<[_▁")
"""The characters with which texts of special tokens begin."""

Table = dict[str, Any]


def ask(python: str, library: str, names: Mapping[str, Sequence[str]]) -> Table:
    """Return what a build knows of `names`."""
    command = [python, str(PROBE), library]
    done = subprocess.run(
        command, input=json.dumps(names), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True
    )
    found: Table = json.loads(done.stdout)
    return found


def names_of(table: Table) -> dict[str, list[str]]:
    """Return the names of the table."""
    return {section: list(table[section]) for section in (*NAMED, "texts")}


def find_names(table: Table, library: str, python: str) -> dict[str, list[str]]:
    """Return the names of the table and those that a build contains as strings and knows."""
    strings = set(Path(library).read_bytes().split(b"\0"))
    # subtle: a linker keeps a string that ends another one only as that end.
    ends = [match[0].decode() for match in map(_NAME.search, strings) if match]
    words = sorted({end[start:] for end in ends for start in range(len(end) - 1)})
    ends = [match[0].decode(errors="replace") for match in map(_TEXT.search, strings) if match]
    texts = sorted({end[start:] for end in ends for start, first in enumerate(end[:-2]) if first in _BEGINNINGS})
    found = ask(python, library, {**dict.fromkeys(NAMED, words), "texts": texts})
    nothing: dict[str, list[str]] = {section: [] for section in NAMED}
    [ordinary] = ask(python, library, {**nothing, "texts": ["an ordinary text"]})["texts"].values()
    special = [text for text, value in found["texts"].items() if value != ordinary]
    new = {section: found[section] for section in NAMED} | {"texts": special}
    return {section: sorted({*known, *new[section]}) for section, known in names_of(table).items()}


def make_table(builds: Mapping[int, Table]) -> Table:
    """Return since which build each name is known, 0 for all; and for each value, the builds with which it changes."""
    numbers = sorted(builds)
    table: Table = {"builds": numbers}
    for section in LISTED:
        names = sorted({name for build in builds.values() for name in build[section]})
        table[section] = {name: _since(name, section, builds, numbers) for name in names}
    for section in VALUED:
        names = sorted(builds[numbers[-1]][section])
        table[section] = {name: list(_changes(name, section, builds, numbers)) for name in names}
    return table


def builds_of(table: Table) -> dict[int, Table]:
    """Return what the table says of each of its builds."""
    builds: dict[int, Table] = {number: {} for number in table["builds"]}
    for number, build in builds.items():
        for section in LISTED:
            build[section] = [name for name, since in table[section].items() if since <= number]
        for section in VALUED:
            changes = table[section].items()
            build[section] = {name: [value for since, value in each if since <= number][-1] for name, each in changes}
    return builds


def _since(name: str, section: str, builds: Mapping[int, Table], numbers: Sequence[int]) -> int:
    known = [name in builds[number][section] for number in numbers]
    if known != sorted(known):
        raise ValueError(f"{section}: {name} is known in some builds, and no longer in later ones")
    return 0 if known[0] else numbers[known.index(True)]


def _changes(name: str, section: str, builds: Mapping[int, Table], numbers: Sequence[int]) -> Iterator[list[Any]]:
    for value, run in groupby(numbers, lambda number: builds[number][section].get(name)):
        first = next(run)
        yield [0 if first == numbers[0] else first, value]


def write_table(table: Table) -> None:
    """Write the table with one line for each section."""
    lines = (f'"{section}": {json.dumps(content, ensure_ascii=False)}' for section, content in table.items())
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def find_contradictions(table: Table, number: int, build: Table) -> list[str]:
    """Return what a build says otherwise than the table, as far as the table says something about this build."""
    found = []
    before = max((each for each in table["builds"] if each <= number), default=0)
    after = min((each for each in table["builds"] if each >= number), default=before)
    for section in LISTED:
        for name, since in table[section].items():
            sure = {since <= each for each in (before, after)}
            if (name in build[section]) not in sure:
                found.append(f"{section}: {name}")
    for section in VALUED:
        for name, changes in table[section].items():
            expected = [[value for since, value in changes if since <= each][-1] for each in (before, after)]
            if build[section][name] not in expected:
                found.append(f"{section}: {name} is {build[section][name]}, not {expected[0]}")
    return found


def render_page(table: Table, wheels: Mapping[str, Sequence[str]], releases: Table) -> str:
    """Return docs/builds.md."""
    news: dict[int, list[str]] = {}
    for section, kind in KINDS.items():
        for name, since in table[section].items():
            news.setdefault(since, []).append(f"{kind} `{name}`")
    for text, changes in table["texts"].items():
        for (_, before), (since, after) in pairwise(changes):
            news.setdefault(since, []).extend(_describe_text(text, before, after))
    for since, change in BEHAVIOR.items():
        news.setdefault(since, []).append(change)
    rows = [f"| b{since} | {'; '.join(news[since])} |" for since in sorted(news, reverse=True) if since]
    listed = ", ".join(f"b{build}" for build in sorted(map(int, wheels)))
    return PAGE.format(
        newest=table["builds"][-1],
        oldest=table["builds"][0],
        count=len(table["builds"]),
        rows="\n".join(rows),
        wheels="\n".join(wrap(listed, 120)),
        releases="\n".join(_list_releases(releases)),
        asked="\n".join(wrap(", ".join(f"b{build}" for build in table["builds"]), 120)),
    )


def _list_releases(releases: Table) -> Iterator[str]:
    yield from ("| release | build |", "|---|---|")
    for program, each in releases.items():
        for version, build in reversed(each["builds"].items()):
            yield f"| [{program}-{version}]({each['source'].format(version=version)}) | b{build} |"


def _describe_text(text: str, before: Sequence[int], after: Sequence[int]) -> Iterator[str]:
    shown = f"`{text}`".replace("|", "\\|")
    if before[1] != after[1]:
        yield f"{shown} {'ends' if after[1] else 'no longer ends'} a generation"
    elif before[0] & MATCHED != after[0] & MATCHED:
        yield f"{shown} is always {'a control' if after[0] & CONTROL else 'a user-defined'} token"


def main() -> int:
    """Write the table, or check it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the table")
    parser.add_argument("--add", action="store_true", help="add builds to the table")
    parser.add_argument("--python", default=sys.executable, help="the Python with which libraries are loaded")
    parser.add_argument("--page", action="store_true", help="print docs/builds.md")
    parser.add_argument("libraries", nargs="*", metavar="BUILD=LIBRARY")
    arguments = parser.parse_args()
    if arguments.page:
        print(
            render_page(*(json.loads(path.read_text(encoding="utf-8")) for path in (TABLE, WHEELS, RELEASES))), end=""
        )
        return 0
    libraries = {int(build): path for build, _, path in (each.partition("=") for each in arguments.libraries)}
    table = (
        json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {name: {} for name in (*LISTED, *VALUED)}
    )
    names = names_of(table)
    if arguments.write:
        names = find_names(table, libraries[max(libraries)], arguments.python)
    builds = {number: ask(arguments.python, path, names) for number, path in libraries.items()}
    if arguments.write or arguments.add:
        write_table(make_table(builds if arguments.write else {**builds_of(table), **builds}))
        return 0
    contradictions = {number: find_contradictions(table, number, build) for number, build in builds.items()}
    for number, found in contradictions.items():
        print(f"b{number}: {'; '.join(found) or 'agrees'}")
    return 1 if any(contradictions.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
