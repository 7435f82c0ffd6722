"""Train a tokenizer, convert it to GGUF, and compare the two."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from tokverify.compare.convert import convert
from tokverify.compare.opened import OpenedReference
from tokverify.engine.byte_level import byte_pieces, from_byte_level
from tokverify.errors import TokverifyError
from tokverify.references.file import open_file
from tokverify.repair.repair import add_repairs
from tokverify.repair.search import diagnose
from tokverify.report.run import Report, count_decode_differences, run_exit_code
from tokverify.report.train import PairCount, Training, TrainingStep
from tokverify.sources.load import load_gguf
from tokverify.system.worker_pool import exit_with
from tokverify.tokenizer import Token
from tokverify.train import TRAINERS
from tokverify.train.merge_learner import Step
from tokverify.train.trainer import Trained, TrainingPlan

GGUF_NAME = "tokenizer.gguf"
CONFIG_NAME = "tokenizer_config.json"


def train_into(directory: Path, algorithm: str, plan: TrainingPlan) -> Training:
    """Train, convert and verify a tokenizer, and write its files to an empty directory.

    The same plan yields the same bytes. A GGUF file that differs from the tokenizer is written, too; see the report.

    Raises:
        TokverifyError: If the corpus or the vocabulary size is unsuitable, or a file cannot be written.
    """
    plan.report_progress(f"training {algorithm}")
    trained = train_in_child(algorithm, plan)
    _write(trained, directory)
    conversion = convert(
        directory / trained.name,
        directory / GGUF_NAME,
        force=True,
        on_progress=lambda done, total: plan.report_progress(f"verifying {done:,} of {total:,} texts"),
        seed=plan.seed,
    )
    report = _diagnose(conversion.report, directory / trained.name, directory / GGUF_NAME)
    check_points = TRAINERS[algorithm].check_points
    names = tuple(sorted(path.name for path in directory.iterdir()))
    # What the GGUF file lacks matters only if it changes a result.
    losses = conversion.untransportable if conversion.differing else ()
    return Training(
        add_repairs(_describe(report, algorithm, trained.name, plan)),
        names,
        conversion.size,
        conversion.strings,
        (*trained.notes, *losses),
        _record_trace(trained.trace),
        tuple(check_points(load_gguf(directory / GGUF_NAME))) if check_points else (),
    )


def _record_trace(steps: Iterable[Step]) -> tuple[TrainingStep, ...]:
    """Record the first merges; the pieces of tokens are written in the byte-level alphabet."""
    pieces = dict(enumerate(byte_pieces()))
    recorded: list[TrainingStep] = []
    for step in steps:
        pieces[step.new_id] = pieces[step.pair[0]] + pieces[step.pair[1]]
        counts = tuple(PairCount(*pair, count) for pair, count in step.counts)
        ids = (*step.pair, step.new_id)
        left, right, merged = (Token(id, pieces[id], from_byte_level(pieces[id])) for id in ids)
        recorded.append(TrainingStep(counts, step.pairs, left, right, merged, step.tokens, step.total))
    return tuple(recorded)


def _write(trained: Trained, directory: Path) -> None:
    (directory / trained.name).write_bytes(trained.data)
    if trained.config:
        config = json.dumps(dict(trained.config), indent=2, ensure_ascii=False)
        (directory / CONFIG_NAME).write_text(config + "\n", encoding="utf-8")


def _diagnose(report: Report, trained: Path, converted: Path) -> Report:
    """Add a diagnosis if the two sides differ."""
    if not run_exit_code(report) and not count_decode_differences(report):
        return report
    encoder, found = load_gguf(converted), open_file(trained)
    result = diagnose(encoder.spec, OpenedReference(found), report.results, encoder=encoder)
    return replace(report, diagnosis=result.diagnosis) if result else report


def _describe(report: Report, algorithm: str, name: str, plan: TrainingPlan) -> Report:
    """Name the two sides relative to the directory, and record the options."""
    return replace(
        report,
        actual=replace(report.actual, source=GGUF_NAME),
        expected=replace(report.expected, source=name),
        options={
            "algorithm": algorithm,
            "corpus": list(plan.sources or map(str, plan.corpus)),
            "files": len(plan.corpus),
            "prepare": list(plan.preparations),
            "vocab_size": plan.vocab_size,
            "seed": plan.seed,
            "min_frequency": plan.min_frequency if TRAINERS[algorithm].uses_min_frequency else None,
            "preset": plan.preset,
            "ties": str(plan.ties) if TRAINERS[algorithm].traces_merges else None,
        },
    )


# The child must import the same modules as this process, wherever this process found them.
_CODE = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from tokverify.train.run import answer; answer()"


def train_in_child(algorithm: str, plan: TrainingPlan) -> Trained:
    """Return `TRAINERS[algorithm](plan)`, computed by a child process.

    Raises:
        TokverifyError: If training raises one, or the child is killed, for example because memory ran out.
        RuntimeError: If the child fails in any other way, with its stderr.
    """
    command = [sys.executable, "-P", "-c", _CODE, json.dumps(sys.path)]
    request = pickle.dumps((algorithm, replace(plan, on_progress=None)))
    with (
        # subtle: a pipe for stderr could fill up and block the child.
        tempfile.TemporaryFile() as stderr,
        subprocess.Popen(  # noqa: S603 - our own module
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
        ) as process,
    ):
        try:
            result, _ = process.communicate(request)
        except BaseException:
            process.kill()
            # subtle: leaving the block on an interrupt does not wait for the child.
            process.wait()
            raise
        if process.returncode == 0:
            return _unpickle(result)
        if process.returncode < 0:
            name = signal.Signals(-process.returncode).name
            raise TokverifyError(
                f"training was ended by {name}; check that there is enough memory for this corpus and vocabulary size"
            )
        stderr.seek(0)
        raise RuntimeError(f"training failed:\n{stderr.read().decode(errors='replace')}")


def _unpickle(data: bytes) -> Trained:
    result = pickle.loads(data)  # noqa: S301 - from our own child
    if isinstance(result, TokverifyError):
        raise result
    if not isinstance(result, Trained):
        raise TypeError(f"a trainer returned {result!r}")
    return result


def answer() -> None:
    """Run as the child: read an algorithm and a plan from stdin, write the trained tokenizer or the error to stdout."""
    # An interrupt must not wait until native code returns.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    exit_with(os.getppid())
    algorithm, plan = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our own parent
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as output:
        # What a library prints must not mix with the result.
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        try:
            result: Trained | TokverifyError = TRAINERS[algorithm](plan)
        except TokverifyError as error:
            result = error
        pickle.dump(result, output)
