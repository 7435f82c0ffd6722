"""The executor of local processes, with real ones."""

import os
import signal
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from support.corpus_maker import corpus_file, write_json_lines
from support.corpus_worker import start_and_announce, start_impatient_worker, start_worker
from tokverify.corpus.document import UnitPart
from tokverify.corpus.executor import TIMED_OUT, Job, Processes
from tokverify.corpus.plan import divide
from tokverify.corpus.result import Tally, add
from tokverify.corpus.schedule import run_units

pytestmark = pytest.mark.process
TEXTS = [f"{'ab' * (number % 3)} {'x' * (number % 50)}" for number in range(300)]


def run(path, start=start_worker, *, jobs=2, unit_bytes=2_000) -> Tally:
    results = []
    with Processes(jobs, start) as executor:
        run_units(executor, list(divide([corpus_file(path)], unit_bytes)), "plan", results.append)
    return add(*(result.tally for result in results))


def test_the_number_of_processes_and_units_does_not_matter(tmp_path):
    write_json_lines(tmp_path / "a.jsonl", TEXTS)
    whole = run(tmp_path / "a.jsonl", jobs=1, unit_bytes=1 << 20)
    assert whole.documents == 300
    assert whole.differing == 200
    assert run(tmp_path / "a.jsonl", jobs=3) == whole


def test_processes_that_are_killed_lose_nothing_and_count_nothing_twice(tmp_path):
    write_json_lines(tmp_path / "a.jsonl", TEXTS)
    whole = run(tmp_path / "a.jsonl", jobs=1)
    announced = tmp_path / "pids"
    announced.mkdir()
    killer = threading.Thread(target=kill_the_first, args=(announced, 3))
    killer.start()
    tally = run(tmp_path / "a.jsonl", partial(start_and_announce, announced), unit_bytes=500)
    killer.join()
    assert tally == whole
    assert len(list(announced.iterdir())) > 3


def test_a_process_that_takes_too_long_says_so(tmp_path):
    write_json_lines(tmp_path / "a.jsonl", ["a", "endless"])
    tally = run(tmp_path / "a.jsonl", start_impatient_worker)
    assert tally.documents == 1
    assert {reason: found.count for reason, found in tally.reasons.items()} == {TIMED_OUT: 1}


def kill_the_first(announced: Path, count: int) -> None:
    """Kill processes as soon as they have announced themselves."""
    killed: set[str] = set()
    while len(killed) < count:
        for name in {path.name for path in announced.iterdir()} - killed:
            with suppress(ProcessLookupError):
                os.kill(int(name), signal.SIGKILL)
            killed.add(name)
        time.sleep(0.001)


def test_all_processes_have_ended_after_an_error(tmp_path):
    write_json_lines(tmp_path / "a.jsonl", TEXTS)
    (unit,) = divide([corpus_file(tmp_path / "a.jsonl")], 1 << 20)
    announced = tmp_path / "pids"
    announced.mkdir()

    def interrupted() -> None:
        with Processes(2, partial(start_and_announce, announced)) as executor:
            executor.submit(Job(UnitPart(unit)))
            executor.wait()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    (name,) = [path.name for path in announced.iterdir()]
    with pytest.raises(ProcessLookupError):
        os.kill(int(name), 0)
