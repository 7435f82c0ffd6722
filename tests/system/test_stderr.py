"""Output to stderr is captured by one thread or process at a time."""

import subprocess
import sys

import pytest

IN_A_CHILD = """
import os
from tokverify.system.library_error import capture_stderr

def count_mixed(text, times=1000):
    mixed = 0
    for _ in range(times):
        with capture_stderr() as kept:
            os.write(2, text)
            mixed += kept.take() != text
    return mixed

count_mixed(b"parent", 1)
children = []
for text in (b"one", b"another"):
    child = os.fork()
    if not child:
        os._exit(bool(count_mixed(text)))
    children.append(child)
print([os.waitpid(child, 0)[1] for child in children])
"""

WHILE_HELD = """
import os, signal, threading, time
from tokverify.system.library_error import capture_stderr

began = threading.Event()
def hold():
    with capture_stderr() as kept:
        began.set()
        time.sleep(0.2)
        kept.drop()

thread = threading.Thread(target=hold)
thread.start()
began.wait()
child = os.fork()
if not child:
    signal.alarm(10)
    with capture_stderr() as kept:
        os.write(2, b"held")
        kept.drop()
    os.write(2, b"shown")
    os._exit(0)
print(os.waitpid(child, 0)[1])
thread.join()
"""


def run(program: str) -> tuple[str, str]:
    if sys.platform == "win32":
        pytest.skip("needs fork")
    # Python itself warns where a process with threads forks.
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def test_forked_processes_do_not_capture_each_others_output():
    assert run(IN_A_CHILD) == ("[0, 0]\n", "")


def test_a_fork_while_a_thread_captures_stderr_does_not_deadlock():
    assert run(WHILE_HELD) == ("0\n", "shown")
