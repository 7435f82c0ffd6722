import os
import signal
import threading
import time
from pathlib import Path

import pytest

from tokverify.errors import TokverifyError
from tokverify.train import TRAINERS, TrainingPlan, run


@pytest.fixture
def plan(tmp_path: Path) -> TrainingPlan:
    path = tmp_path / "corpus.txt"
    path.write_text("aa aa aa")
    return TrainingPlan(corpus=(path,), on_progress=lambda doing: None)


def test_the_child_returns_the_same_result_as_this_process(plan):
    assert run.train_in_child("bpe", plan) == TRAINERS["bpe"](plan)


def test_an_error_in_the_child_is_raised_here(plan):
    with pytest.raises(TokverifyError, match="no such preset"):
        run.train_in_child("spm", TrainingPlan(corpus=plan.corpus, preset="x"))


def test_output_printed_in_the_child_does_not_mix_with_its_result(plan, monkeypatch):
    library = "import os; from tokverify import train as training; train = training.TRAINERS['bpe']; "
    noisy = "training.TRAINERS = {'bpe': lambda plan: (os.write(1, b'noise'), print('noise'), train(plan))[-1]}; "
    monkeypatch.setattr(run, "_CODE", run._CODE.replace("; from", f"; {library}{noisy}from"))
    assert run.train_in_child("bpe", plan) == TRAINERS["bpe"](plan)


def test_a_killed_child_is_reported(plan, monkeypatch):
    monkeypatch.setattr(run, "_CODE", "import os; os.kill(os.getpid(), 9)")
    with pytest.raises(TokverifyError, match="training was ended by SIGKILL; check that there is enough memory"):
        run.train_in_child("bpe", plan)


def test_a_bug_in_the_child_shows_its_traceback(plan, monkeypatch):
    monkeypatch.setattr(run, "_CODE", "raise ValueError('unheard of')")
    with pytest.raises(RuntimeError, match="ValueError: unheard of"):
        run.train_in_child("bpe", plan)


def test_an_interrupt_ends_the_child_at_once(plan, monkeypatch, tmp_path: Path):
    started = tmp_path / "started"
    code = f"import os, pathlib, time; pathlib.Path({str(started)!r}).write_text(str(os.getpid())); time.sleep(600)"
    monkeypatch.setattr(run, "_CODE", code)

    def interrupt() -> None:
        while not (started.exists() and started.read_text()):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        run.train_in_child("bpe", plan)
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
