"""Generate hostile files of every format, run five commands on each, and compare both engines' ids with llama.cpp.

Run as `PYTHONPATH=tests python -m hostile --seed 1 --count 1000`, or `python tests/hostile --count 1000`. The exit code
is 1 if a command crashes, takes more than 10 s of processor time or 2 GiB, or if ids or refusals differ from
llama.cpp's in a way that docs/parity.md does not list. `--only KIND` selects formats; `--keep DIRECTORY` keeps the
files that fail.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

from hostile.execution import Failure, Item, generate, run_items, write_item  # noqa: E402
from hostile.grammar import MAKERS  # noqa: E402
from hostile.parity import ENGINES, compare_with_llama_cpp  # noqa: E402


def main() -> int:
    # Numbers of thousands of digits are among the hostile values; the commands run in processes with the usual limit.
    sys.set_int_max_str_digits(0)
    arguments = _parse()
    kinds = arguments.only or list(MAKERS)
    failures: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        for failure in _find_failures(Path(name), arguments, kinds):
            failures[f"{failure.name.split('-')[0]} {failure.command[0]}"] += 1
            print(f"{failure.name}: {' '.join(failure.command)}\n    {failure.problem}\n", flush=True)
            if arguments.keep:
                _keep(arguments.keep, failure, arguments.seed)
    print(f"{arguments.count} files, {arguments.mutate} of 100 mutated, {failures.total()} failures {dict(failures)}")
    return 1 if failures else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the number of the first file")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument(
        "--mutate", type=int, default=20, metavar="PERCENT", help="the share of files damaged after all"
    )
    parser.add_argument("--only", action="append", choices=list(MAKERS))
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--no-commands", action="store_true", help="only compare with llama.cpp")
    return parser.parse_args()


def _find_failures(directory: Path, arguments: argparse.Namespace, kinds: list[str]) -> Iterator[Failure]:
    compared: list[Failure] = []

    def items() -> Iterator[Item]:
        for number in range(arguments.start, arguments.start + arguments.count):
            kind = kinds[number % len(kinds)]
            mutate = number * 37 % 100 < arguments.mutate
            files = generate(kind, f"{arguments.seed}-{number}", mutate=mutate)
            engine = ENGINES[number // len(kinds) % len(ENGINES)]
            item = write_item(directory, f"{kind}-{number}", kind, files, engine)
            if kind == "gguf":
                compared.extend(compare_with_llama_cpp(item))
            if not arguments.no_commands:
                yield item

    for failure in run_items(items()):
        yield from compared
        compared.clear()
        yield failure
    yield from compared


def _keep(directory: Path, failure: Failure, seed: int) -> None:
    kind, number = failure.name.rsplit("-", 1)
    for mutate in (False, True):
        files = generate(kind, f"{seed}-{number}", mutate=mutate)
        place = directory / f"{failure.name}{'-mutated' if mutate else ''}"
        place.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (place / name).write_bytes(content)


if __name__ == "__main__":
    sys.exit(main())
