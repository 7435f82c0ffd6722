"""Train in a child process, which an interrupt can end at once, and which may crash without taking the run along."""

from __future__ import annotations

import json
import pickle
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING

from tokverify.errors import TokverifyError
from tokverify.train.trainer import Trained

if TYPE_CHECKING:
    from tokverify.train.trainer import TrainingPlan

# The modules are to be those of this process, wherever it found them.
_CODE = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from tokverify.train.worker import main; main()"


def train_in_child(algorithm: str, plan: TrainingPlan) -> Trained:
    """Train as `TRAINERS[algorithm](plan)` does.

    Raises:
        TokverifyError: As that does, and if the child is killed, as for want of memory.
    """
    command = [sys.executable, "-P", "-c", _CODE, json.dumps(sys.path)]
    request = pickle.dumps((algorithm, replace(plan, on_progress=None)))
    with (
        # subtle: a pipe for stderr could run full, and then block the child.
        tempfile.TemporaryFile() as stderr,
        subprocess.Popen(  # noqa: S603 - our own module
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
        ) as process,
    ):
        try:
            answer, _ = process.communicate(request)
        except BaseException:
            process.kill()
            # subtle: leaving the block on an interrupt does not wait for the child.
            process.wait()
            raise
        if process.returncode == 0:
            return _result(answer)
        if process.returncode < 0:
            name = signal.Signals(-process.returncode).name
            raise TokverifyError(
                f"training was ended by {name}; is there memory enough for this corpus and vocabulary size?"
            )
        stderr.seek(0)
        raise RuntimeError(f"training failed:\n{stderr.read().decode(errors='replace')}")


def _result(answer: bytes) -> Trained:
    result = pickle.loads(answer)  # noqa: S301 - from our own child
    if isinstance(result, TokverifyError):
        raise result
    if not isinstance(result, Trained):
        raise TypeError(f"a trainer returned {result!r}")
    return result
