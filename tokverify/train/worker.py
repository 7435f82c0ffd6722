"""The child process that trains: algorithm and plan come pickled on stdin, and so goes the answer on stdout."""

from __future__ import annotations

import os
import pickle
import signal
import sys

from tokverify.errors import TokverifyError
from tokverify.system.worker_pool import exit_with
from tokverify.train import TRAINERS, Trained


def main() -> None:
    """Train, and answer with what came out, or with the error that says why nothing did."""
    # An interrupt must not wait until native code comes back.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    exit_with(os.getppid())
    algorithm, plan = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our own parent
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answer:
        # Whatever a library prints is not part of the answer.
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        try:
            result: Trained | TokverifyError = TRAINERS[algorithm](plan)
        except TokverifyError as error:
            result = error
        pickle.dump(result, answer)
