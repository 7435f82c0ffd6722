"""Workers for tests of executors, which can be started in other processes."""

import os
import signal
import time
from pathlib import Path

from support.fake_tokenizer import FakeTokenizer
from tokverify.corpus.check import TokenizerChecker
from tokverify.corpus.document import Columns, UnitPart
from tokverify.corpus.result import Tally
from tokverify.corpus.work import Worker
from tokverify.errors import TokverifyError
from tokverify.texts.mode import Mode

LETTERS = "abcdefghijklmnopqrstuvwxyz "


class DeadlyTokenizer(FakeTokenizer):
    """Ends its process when it encodes the text `deadly`."""

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        if text == "deadly":
            os.kill(os.getpid(), signal.SIGKILL)
        if text == "endless":
            time.sleep(600)
        if text == "offline":
            raise TokverifyError("the server is gone")
        return super().encode(text, add_special=add_special, parse_special=parse_special)


def make_checker() -> TokenizerChecker:
    """Make a checker that finds texts with `ab` to differ."""
    mode = Mode(add_special=True, parse_special=True)
    actual, expected = DeadlyTokenizer(*LETTERS, "ab"), FakeTokenizer(*LETTERS)
    return TokenizerChecker(actual, expected, mode, lambda *_: ("merge",))


def start_worker() -> Worker:
    """Make a worker."""
    return Worker(make_checker(), Columns("text"))


class ImpatientWorker(Worker):
    """Allows little time, so that tests are quick, but enough for the other documents on a busy machine."""

    def limit_time(self, seconds: float = 1.5) -> None:
        super().limit_time(seconds)


def start_impatient_worker() -> Worker:
    """Make a worker like the other one that does not wait long."""
    return ImpatientWorker(make_checker(), Columns("text"))


def start_and_announce(directory: Path) -> Worker:
    """Make a worker that leaves a file named like its process."""
    (directory / str(os.getpid())).touch()
    return start_worker()


class SlowWorker(Worker):
    """Takes half a second for each part."""

    def process(self, part: UnitPart) -> Tally:
        time.sleep(0.5)
        return super().process(part)


def start_slowly(directory: Path) -> Worker:
    """Make a slow worker that leaves a file named like its process."""
    (directory / str(os.getpid())).touch()
    return SlowWorker(make_checker(), Columns("text"))


def fail_to_start() -> Worker:
    raise TokverifyError("model.gguf: no such file")
