"""Signals that end a run wait for the end of a block."""

import subprocess
import sys

import pytest

# Interrupt this process in a block, while a second thread is there to receive the signal.
PROGRAM = """
import os, signal, threading, time
from tokverify.system.quick_exit import block_signals, postpone_signals

ended = threading.Event()
threading.Thread(target=ended.wait).start()
try:
    with {block}():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)
        print("complete")
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted")
ended.set()
"""

# Print how a process that is started in a block handles SIGHUP, which is ignored before.
IGNORING = """
import signal, subprocess, sys
from tokverify.system.quick_exit import block_signals

signal.signal(signal.SIGHUP, signal.SIG_IGN)
with block_signals():
    subprocess.run([sys.executable, "-c", "import signal; print(signal.getsignal(signal.SIGHUP).name)"])
"""


def run(program: str) -> list[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )


@pytest.mark.process
@pytest.mark.parametrize("block", ["block_signals", "postpone_signals"])
def test_an_interrupt_waits_for_the_end_of_the_block(block):
    assert run(PROGRAM.format(block=block)) == ["complete", "interrupted", ""]


@pytest.mark.process
def test_an_ignored_signal_stays_ignored_in_a_new_process():
    assert run(IGNORING) == ["SIG_IGN", ""]
