"""Files are whole or untouched, however a run ends and whoever else writes them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tokverify.cli.file import append_text, write_file, write_files
from tokverify.errors import TokverifyError

LEFT_OVER = ".report.json.0123456789abcdef.tokverify.tmp"
# Writes a large report over and over; says so once it has begun.
WRITER = """
import sys
from pathlib import Path
from tokverify.cli.file import write_files
letter, *paths = sys.argv[1:]
print("ready", flush=True)
while True:
    write_files({Path(path): letter * 3_000_000 for path in paths})
"""


def writer(letter: str, *paths: Path) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", WRITER, letter, *map(str, paths)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    return process


def stop(process: subprocess.Popen[bytes], number: int) -> None:
    process.send_signal(number)
    process.wait()
    process.stdout.close()


def test_all_files_are_written_or_none(tmp_path: Path):
    kept, absent = tmp_path / "kept.json", tmp_path / "missing" / "report.xml"
    kept.write_text("old")
    with pytest.raises(TokverifyError, match=r"report\.xml: cannot be written: No such file or directory"):
        write_files({kept: "new", absent: "new"})
    assert kept.read_text() == "old"
    assert list(tmp_path.iterdir()) == [kept]


@pytest.mark.parametrize("moment", range(3))
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_run_leaves_whole_files_and_hinders_no_later_one(tmp_path: Path, number: int, moment: int):
    paths = [tmp_path / "report.json", tmp_path / "report.xml"]
    process = writer("a", *paths)
    time.sleep(moment * 0.004)
    stop(process, number)
    for path in paths:
        assert not path.exists() or path.read_text() == "a" * 3_000_000
    left_over = [path for path in tmp_path.iterdir() if path not in paths]
    assert all(path.name.endswith(".tokverify.tmp") for path in left_over)
    if number != signal.SIGKILL:
        assert left_over == []
    write_files(dict.fromkeys(paths, "later"))
    assert [path.read_text() for path in paths] == ["later", "later"]


def test_what_a_killed_run_left_is_removed_by_a_later_one(tmp_path: Path):
    old, fresh, others = tmp_path / LEFT_OVER, tmp_path / LEFT_OVER.replace("0", "f"), tmp_path / ".other.json.tmp"
    for path in (old, fresh, others):
        path.write_text("half")
    an_hour_ago = time.time() - 3600
    os.utime(old, (an_hour_ago, an_hour_ago))
    os.utime(others, (an_hour_ago, an_hour_ago))
    write_file(tmp_path / "report.json", "whole")
    # One that is fresh may belong to a run that is writing just now.
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([fresh.name, others.name, "report.json"])


def test_two_runs_do_not_mix(tmp_path: Path):
    path = tmp_path / "report.json"
    processes = [writer(letter, path) for letter in "ab"]
    seen = set()
    deadline = time.monotonic() + 20
    while len(seen) < 2 and time.monotonic() < deadline:
        if path.exists():
            text = path.read_text()
            assert text in {"a" * 3_000_000, "b" * 3_000_000}
            seen.add(text[0])
    for process in processes:
        stop(process, signal.SIGTERM)
    assert seen == {"a", "b"}
    assert list(tmp_path.iterdir()) == [path]


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path: Path):
    path = tmp_path / ("x" * 250)
    write_file(path, "report")
    assert path.read_text() == "report"
    assert list(tmp_path.iterdir()) == [path]


def test_handlers_of_signals_are_as_before(tmp_path: Path):
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    write_file(tmp_path / "report.json", "x")
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_text_is_added_at_the_end(tmp_path: Path):
    path = tmp_path / "summary.md"
    append_text(path, "one é\n")
    append_text(path, "two\n")
    assert path.read_text(encoding="utf-8") == "one é\ntwo\n"
    with pytest.raises(TokverifyError, match="cannot be written"):
        append_text(tmp_path, "x")
