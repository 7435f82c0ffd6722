"""Train in a child process, so that an interrupt ends it at once and a crash does not take the caller with it."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace

from tokverify.errors import TokverifyError
from tokverify.system.worker_pool import exit_with
from tokverify.train.trainer import Trained, TrainingPlan

# The child must import the same modules as this process, wherever this process found them.
_CODE = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from tokverify.train.child import answer; answer()"


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
    from tokverify.train import TRAINERS

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
