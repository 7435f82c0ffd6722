"""Record what every command says on pairs of files, and compare the recordings of two revisions.

    python tests/oracles revisions main HEAD            # both, and the comparison
    python tests/oracles record --out before            # this checkout
    python tests/oracles compare before after

The exit code of a comparison is 1 if an entry differs that expected_differences.yaml does not list. Each entry is a
file with the exit code, stdout, stderr and all written files of a few commands, run as `python -m tokverify` on inputs
that are made once. Paths, versions, times and durations are replaced, so two recordings of a revision are identical.
Recordings are comparable only if they have the same inputs: `revisions` shares them, and `record` makes them with the
command line of this checkout, or uses those of `--inputs`.

`record --faults` instead stores a JSON line for each injected fault of docs/mutations.md: found, named, repaired,
claimed. It needs the modules in `tests/support/` of the recorded checkout; compare its files with `diff`. All faults
take an hour or more; `--only '^mutation: sample'` selects those of the bundled sample, a few seconds each.
"""

import argparse
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

from oracles.comparison import compare, read_expectations, render  # noqa: E402
from oracles.execution import environment  # noqa: E402
from oracles.inputs import make_inputs  # noqa: E402
from oracles.recording import add_worktree, copy_native_engine, record, remove_worktree  # noqa: E402
from support.paths import ROOT  # noqa: E402
from support.real_data import SHARED  # noqa: E402

EXPECTED = Path(__file__).with_name("expected_differences.yaml")
FAULTS = Path(__file__).with_name("faults.py")


def main() -> int:
    arguments = _parse()
    return {"record": _record, "compare": _compare, "revisions": _compare_revisions}[arguments.command](arguments)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="record one checkout")
    recording.add_argument("--out", type=Path, required=True, help="the new directory, or the file of --faults")
    recording.add_argument("--checkout", type=Path, default=ROOT, help="the checkout to record (default: this one)")
    recording.add_argument("--inputs", type=Path, help="where the inputs are, or are made if the directory is missing")
    recording.add_argument("--faults", action="store_true", help="record what becomes of injected faults instead")
    comparing = commands.add_parser("compare", help="compare two recordings")
    comparing.add_argument("first", type=Path)
    comparing.add_argument("second", type=Path)
    both = commands.add_parser("revisions", help="record two revisions, and compare them")
    both.add_argument("first")
    both.add_argument("second")
    both.add_argument("--keep", type=Path, help="keep the recordings in this new directory")
    for one in (recording, both):
        one.add_argument("--only", default="", metavar="REGEX", help="only the entries whose name contains this")
    for one in (comparing, both):
        one.add_argument("--expected", type=Path, default=EXPECTED, help="the list of expected differences")
        one.add_argument("--whole", action="store_true", help="show differences in full")
    return parser.parse_args()


def _record(arguments: argparse.Namespace) -> int:
    if arguments.faults:
        return _record_faults(arguments)
    with tempfile.TemporaryDirectory() as name:
        inputs = arguments.inputs or Path(name, "inputs")
        if not inputs.exists():
            make_inputs(inputs)
        print(f"{record(arguments.checkout, inputs, arguments.out, arguments.only)} entries recorded")
    return 0


def _record_faults(arguments: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory() as name, arguments.out.open("x", encoding="utf-8") as out:
        variables = environment(arguments.checkout.resolve(), Path(name)) | {"TOKVERIFY_SHARED": str(SHARED.resolve())}
        command = [sys.executable, str(FAULTS), str(arguments.checkout.resolve() / "tests"), arguments.only]
        return subprocess.run(command, env=variables, stdout=out, check=False).returncode


def _compare(arguments: argparse.Namespace) -> int:
    try:
        comparison = compare(arguments.first, arguments.second, read_expectations(arguments.expected))
    except (OSError, ValueError) as problem:
        sys.exit(f"error: {problem}")
    print(render(comparison, whole=arguments.whole))
    return 1 if comparison.unexpected else 0


def _compare_revisions(arguments: argparse.Namespace) -> int:
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kept = arguments.keep or directory / "recordings"
        make_inputs(directory / "inputs")
        for side, revision in (("first", arguments.first), ("second", arguments.second)):
            checkout = directory / side / "checkout"
            stack.callback(remove_worktree, ROOT, checkout)
            add_worktree(ROOT, revision, checkout)
            copy_native_engine(ROOT, checkout)
            record(checkout, directory / "inputs", kept / side, arguments.only)
        arguments.first, arguments.second = kept / "first", kept / "second"
        return _compare(arguments)


if __name__ == "__main__":
    sys.exit(main())
