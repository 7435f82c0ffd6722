"""Check one file: run its commands, compare it with llama.cpp, and note what that cost."""

import importlib.metadata
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path

from hostile.commands import commands
from hostile.execution import make_baseline, make_reports, make_state, run_command
from hostile.forks import Outcome, run_forked
from hostile.items import Failure, Item, generate, write_item
from hostile.llama_cpp import ask_llama_cpp, load_library
from hostile.parity import compare_with_llama_cpp
from hostile.peer_files import SURROUNDINGS
from tokverify.engine.engine_choice import AUTO

COMPARE = ("compare",)


@dataclass(slots=True)
class Costs:
    """The totals, and the most expensive commands."""

    commands: int = 0
    seconds: float = 0.0
    slowest: tuple[float, str] = (0.0, "none")
    largest: tuple[int, str] = (0, "none")
    codes: Counter[tuple[str, int | None]] = field(default_factory=Counter)
    """How often commands on files of a kind ended with an exit code."""

    def add(self, outcome: Outcome, what: str) -> None:
        """Count a command."""
        self.commands += 1
        self.seconds += outcome.seconds
        self.slowest = max(self.slowest, (outcome.seconds, what))
        self.largest = max(self.largest, (outcome.memory, what))

    def __str__(self) -> str:
        """Summarize the costs."""
        (seconds, slow), (memory, large) = self.slowest, self.largest
        codes = [f"{kind}: {count:,} with exit code {code}" for (kind, code), count in self.codes.items()]
        return (
            f"{self.commands:,} commands in {self.seconds:.0f} s of processor time, at most {seconds:.1f} s ({slow}) "
            f"and {memory / (1 << 20):.0f} MiB ({large})\n{', '.join(sorted(codes))}"
        )


def prepare(kinds: Iterable[str]) -> None:
    """Import and cache what commands on these kinds of files need, so that forks start fast.

    No thread is started, which forks would lack.
    """
    os.environ |= {"TOKENIZERS_PARALLELISM": "false", "GGML_NO_BACKTRACE": "1", "RUST_BACKTRACE": "0"}
    load_library()
    make_reports()
    make_baseline()
    make_state()
    # Reading the metadata of all installed packages would take longer than most commands.
    importlib.metadata.entry_points = importlib.metadata.entry_points().select
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        for kind, seed in product(set(kinds) - SURROUNDINGS.keys(), ("a", "b")):
            item = write_item(Path(name), f"{kind}-{seed}-0", kind, generate(kind, seed, mutate=False), AUTO)
            for command in commands(kind, item.path, 1):
                run_command(command, item.path.parent, AUTO)
        os.chdir(here)


def check_item(item: Item, costs: Costs) -> Iterator[Failure]:
    """Check one file; yield what is wrong."""
    if item.kind == "gguf":
        answer = ask_llama_cpp(item.path)
        compared = run_forked([partial(compare_with_llama_cpp, item, answer)], item.path.parent)[0]
        yield from compared.result or ()
        if compared.death:
            yield Failure(item.name, ("compare",), compared.death)
    todo = commands(item.kind, item.path, item.turn)
    functions = [partial(run_command, command, item.path.parent, item.engine) for command in todo]
    for command, outcome in zip(todo, run_forked(functions, item.path.parent), strict=True):
        code, problem = outcome.result or (None, outcome.death)
        costs.add(outcome, f"{command[0]}, {item.name}")
        costs.codes[item.kind, code] += 1
        if problem:
            yield Failure(item.name, command, problem)
