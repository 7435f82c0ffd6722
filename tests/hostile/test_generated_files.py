"""A generated hostile file of every format and peer of every kind, as a smoke test of what runs for minutes."""

import subprocess
import sys

import pytest

from hostile.grammar import MAKERS
from support.paths import ROOT
from support.selection import thinned

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no limits for processes on Windows")


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("start", thinned(4, range(4)))
def test_no_generated_file_crashes_or_differs_from_llama_cpp(start: int):
    kinds = list(MAKERS)[start::4]
    chosen = [option for kind in kinds for option in ("--only", kind)]
    command = [sys.executable, "tests/hostile", "--seed", "7", "--count", str(len(kinds)), *chosen]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-1000:]


@pytest.mark.slow
@pytest.mark.usefixtures("library")
def test_no_generated_file_of_many_crashes_or_differs_from_llama_cpp():
    command = [sys.executable, "tests/hostile", "--seed", "11", "--count", "1000"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-1000:]
