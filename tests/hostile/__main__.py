"""Generate hostile files of every format, and peers of every protocol; run commands on each; compare with llama.cpp.

Run as `PYTHONPATH=tests python -m hostile --seed 1 --count 1000`, or `python tests/hostile --count 1000`. The exit code
is 1 if a command crashes, takes more than 10 s of processor time or 2 GiB, or if ids or refusals differ from
llama.cpp's in a way that docs/parity.md does not list; and if a command succeeds although a peer has given no right
ids, leaves a temporary file, or does what data may not: start a program, send a secret, write or read elsewhere.
`--only KIND` selects kinds; `--keep DIRECTORY` keeps the files that fail.

`--decode MODEL.gguf` compares how `--count` random lists of ids are decoded instead, with every flag, in the installed
llama.cpp or in the one of `--library`.
"""

import argparse
import gc
import shutil
import sys
import tempfile
from collections import Counter
from math import inf
from pathlib import Path
from time import monotonic

sys.path[:0] = [str(Path(__file__).parents[1])]

from hostile.checks import Costs, check_item, prepare  # noqa: E402
from hostile.decoding import find_differences  # noqa: E402
from hostile.grammar import MAKERS  # noqa: E402
from hostile.items import Item, generate, write_item  # noqa: E402
from hostile.parity import ENGINES  # noqa: E402
from tokverify.references.llama_cpp_library import Library, find_library  # noqa: E402


def main() -> int:
    arguments = _parse()
    if arguments.decode:
        return _decode(arguments)
    kinds = arguments.only or list(MAKERS)
    failures: Counter[str] = Counter()
    costs = Costs()
    prepare(kinds)
    # What exists now is not copied when a fork collects garbage.
    gc.freeze()
    with tempfile.TemporaryDirectory() as name:
        number = arguments.start - 1
        deadline = monotonic() + 60 * arguments.minutes
        for number in range(arguments.start, arguments.start + arguments.count):
            if monotonic() > deadline:
                break
            item = _make(Path(name), number, kinds, arguments)
            for failure in check_item(item, costs):
                failures[f"{item.kind} {failure.command[0]}"] += 1
                print(f"{failure.name}: {' '.join(failure.command)}\n    {failure.problem}\n", flush=True)
                if arguments.keep:
                    shutil.copytree(item.path.parent, arguments.keep / item.name, dirs_exist_ok=True)
            shutil.rmtree(item.path.parent)
    print(f"seed {arguments.seed}, files {arguments.start} to {number}, {costs}")
    print(f"{failures.total()} failures {dict(failures)}")
    return 1 if failures else 0


def _decode(arguments: argparse.Namespace) -> int:
    library = Library(arguments.library, "") if arguments.library else find_library()
    differing = 0
    for path in arguments.decode:
        found = list(find_differences(path, library, arguments.count, arguments.seed))
        print(
            f"{path.stem}: {arguments.count:,} lists of ids, {len(found):,} differences",
            *found[:5],
            sep="\n    ",
            flush=True,
        )
        differing += len(found)
    return 1 if differing else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the number of the first file")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=inf, help="begin no file after this time")
    parser.add_argument(
        "--mutate", type=int, default=20, metavar="PERCENT", help="the share of files damaged after all"
    )
    parser.add_argument("--only", action="append", choices=list(MAKERS))
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--decode", action="append", type=Path, metavar="MODEL")
    parser.add_argument("--library", type=Path)
    return parser.parse_args()


def _make(directory: Path, number: int, kinds: list[str], arguments: argparse.Namespace) -> Item:
    kind = kinds[number % len(kinds)]
    turn = number // len(kinds)
    mutate = number * 37 % 100 < arguments.mutate
    files = generate(kind, f"{arguments.seed}-{number}", mutate=mutate)
    return write_item(directory, f"{kind}-{number}", kind, files, ENGINES[turn % len(ENGINES)])


if __name__ == "__main__":
    sys.exit(main())
