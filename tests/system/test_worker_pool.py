"""Worker processes end together with the process that started them, however it ends."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from support.selection import thinned
from tokverify.errors import TokverifyError
from tokverify.system.worker_pool import worker_pool

# Start two processes that run the code in the argument, and print their ids.
PROGRAM = """
import os, signal, sys, time
from tokverify.system.worker_pool import worker_pool

def announce(_):
    print(os.getpid(), flush=True)
    exec(sys.argv[1])

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    with worker_pool(2) as pool:
        for work in [pool.submit(announce, number) for number in range(2)]:
            work.result()
        print("done", flush=True)
        time.sleep(600)
"""
BUSY, IDLE = "time.sleep(600)", "time.sleep(0.2)"


def test_work_is_done_in_other_processes_after_initialization(tmp_path):
    # A new process can import these functions wherever it starts; functions of this module need the project's root.
    with worker_pool(2, partial(os.chdir, tmp_path)) as pool:
        assert pool.submit(os.getpid).result() != os.getpid()
        assert Path(pool.submit(os.getcwd).result()) == tmp_path.resolve()
    assert Path.cwd() != tmp_path.resolve()


def test_a_process_that_dies_is_reported():
    with pytest.raises(TokverifyError, match="a worker process died"), worker_pool(1) as pool:
        pool.submit(os._exit, 1).result()


def test_an_error_does_not_wait_for_running_work():
    def interrupted() -> None:
        with worker_pool(2) as pool:
            for _ in range(5):
                pool.submit(time.sleep, 600)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("work", [BUSY, IDLE], ids=["busy", "idle"])
@pytest.mark.parametrize("number", thinned(2, [signal.SIGTERM, signal.SIGINT, signal.SIGKILL]))
@pytest.mark.parametrize("to_all", thinned(2, [True, False]), ids=["to all of the terminal", ""])
def test_no_process_is_left_behind(tmp_path: Path, work: str, number: int, to_all: bool):
    (tmp_path / "program.py").write_text(PROGRAM)
    process = subprocess.Popen(
        [sys.executable, "program.py", work],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    lines = [process.stdout.readline() for _ in range(3 if work == IDLE else 2)]
    (os.killpg if to_all else os.kill)(process.pid, number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == (128 + number if number == signal.SIGTERM else -number)
    if number != signal.SIGKILL:
        assert stderr.count(b"Traceback") == (number == signal.SIGINT)
    # The system collects processes whose parent has ended.
    for line in lines[:2]:
        wait_for_the_end_of(int(line))


def wait_for_the_end_of(pid: int) -> None:
    deadline = time.monotonic() + 60
    while is_there(pid):
        assert time.monotonic() < deadline, "it is still there"
        time.sleep(0.02)


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")
