import subprocess
import sys
from pathlib import Path

import pytest

_SCRIPT = """
import atexit, sys
from tokverify.system.quick_exit import keep_until_exit, prepare_quick_exit, set_exit_code

class Large:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        sys.stderr.write(f"freed {self.name} ")

prepare_quick_exit()
atexit.register(sys.stderr.write, "cleaned up ")
for name in sys.argv[2:]:
    keep_until_exit(Large(name))
sys.stdout.write("printed")
set_exit_code(eval(sys.argv[1]))
sys.exit(eval(sys.argv[1]))
"""


def run(code: str, *names: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _SCRIPT, code, *names], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("code", [0, 1, 2, 130])
def test_exit_code_and_output_are_complete(code: int) -> None:
    ended = run(str(code))
    assert (ended.returncode, ended.stdout) == (code, "printed")


def test_exit_functions_run_but_kept_values_are_not_freed() -> None:
    assert run("0", "model", "reference").stderr == "cleaned up "


def test_exit_functions_that_were_registered_earlier_also_run() -> None:
    script = f"import atexit\natexit.register(print, ' and saved', end='')\n{_SCRIPT}"
    ended = subprocess.run([sys.executable, "-c", script, "2"], capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout) == (2, "printed and saved")


def test_only_the_last_two_values_are_kept() -> None:
    assert run("0", "first", "second", "third").stderr == "freed first cleaned up "


def test_other_exit_codes_are_left_to_python() -> None:
    ended = run("'message'", "model")
    assert ended.returncode == 1
    assert "message" in ended.stderr
    assert "freed model" in ended.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_output_that_cannot_be_written_is_reported() -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-E", "-c", _SCRIPT, "0"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    assert ended.returncode == 120
    assert "No space left on device" in ended.stderr
