"""`tokverify corpus` as a process that is interrupted and killed."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from support.corpus_maker import write_json_lines, write_parquet
from support.paths import SAMPLE

pytestmark = pytest.mark.process
MODEL, REFERENCE = str(SAMPLE / "sample-broken.gguf"), str(SAMPLE / "sample.tokenizer.model")


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "tokverify", "corpus", *map(str, arguments)]


def verify(data: Path, *arguments: object) -> list[str]:
    return command(MODEL, "-r", REFERENCE, data, "-j", 2, "-f", "json", *arguments)


def write_corpus(folder: Path, count: int) -> Path:
    folder.mkdir()
    for number in range(4):
        texts = [f"{'  ' * (index % 7 == 0)}text {number} {index}\n" * 9 for index in range(count)]
        write_parquet(folder / f"{number}.parquet", texts)
        write_json_lines(folder / f"{number}.jsonl", texts)
    return folder


def output(arguments: list[str]) -> str:
    return subprocess.run(arguments, check=False, stdout=subprocess.PIPE, text=True).stdout


def test_an_interrupted_run_can_be_resumed(tmp_path):
    data, state = write_corpus(tmp_path / "data", 20), tmp_path / "out"
    with subprocess.Popen(verify(data, "--state", state), stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not (state / "plan.json").exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate()
    assert (process.returncode, stderr) == (130, "interrupted\n")
    resumed = output(verify(data, "--state", state))
    assert '"differing": 24' in resumed
    assert resumed == output(command("merge", state, "-f", "json"))


@pytest.mark.slow
def test_fifty_kills_at_random_moments(tmp_path):
    """Kill the command, or one of its workers, and resume other parts with others; then compare with a quiet run.

    benchmarks/kills.py does the same with a large corpus.
    """
    data, state = write_corpus(tmp_path / "data", 20_000), tmp_path / "out"
    chance = random.Random(5)  # noqa: S311 - not for cryptography
    for number in range(50):
        parts = chance.randint(1, 3)
        part = ["-j", chance.randint(1, 3), "--shard", f"{chance.randint(1, parts)}/{parts}"]
        with subprocess.Popen(
            verify(data, "--state", state, *part), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as process:
            time.sleep(chance.uniform(0.1, 4))
            workers = _children(process.pid)
            for victim in [process.pid] if number % 2 or not workers else [chance.choice(workers)]:
                with suppress(ProcessLookupError):
                    time.sleep(chance.uniform(0, 0.3))
                    _kill(victim)
            time.sleep(chance.uniform(0, 1))
            process.kill()
            process.stderr.read()
    assert output(verify(data, "--state", state)) == output(verify(data, "-j", 1))


def _children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in listed.read_text().split()] if listed.exists() else []


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
