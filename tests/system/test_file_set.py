"""Files are whole or untouched, however a run ends and whoever else writes them."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tokverify.errors import TokverifyError
from tokverify.system.file_set import append_text, write_file, write_files

# Writes a large report over and over; says so once it has begun.
WRITER = """
import signal, sys
from pathlib import Path
from tokverify.system.file_set import write_files
# As the command line has it.
signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
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


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_device_that_fails_keeps_the_files_from_being_replaced(tmp_path: Path):
    kept, new = tmp_path / "kept.json", tmp_path / "new.html"
    kept.write_text("old")
    with pytest.raises(TokverifyError, match="/dev/full: cannot be written: No space left on device"):
        write_files({kept: "new", Path("/dev/full"): "x" * 10, new: "new"})
    assert kept.read_text() == "old"
    assert list(tmp_path.iterdir()) == [kept]


@pytest.mark.skipif(not Path("/dev/fd/1").exists(), reason="no /dev/fd on this system")
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
@pytest.mark.parametrize("mode", ["wb", "ab"])
def test_what_goes_to_stdout_by_name_stands_between_what_else_does(tmp_path: Path, name: str, mode: str):
    log = tmp_path / "log"
    log.write_text("before\n")
    code = (
        "from pathlib import Path; from tokverify.system.file_set import check_writable, write_file\n"
        f"print('first'); check_writable(Path({name!r})); write_file(Path({name!r}), 'report\\n'); print('last')"
    )
    with log.open(mode) as stdout:
        subprocess.run([sys.executable, "-c", code], stdout=stdout, check=True)
    assert log.read_text() == ("before\n" if mode == "ab" else "") + "first\nreport\nlast\n"
    assert list(tmp_path.iterdir()) == [log]


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
