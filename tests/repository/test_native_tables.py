"""The character tables of the native engine are those of the Python engine."""

import os
import subprocess
import sys

import pytest

from support.paths import ROOT


@pytest.mark.slow
def test_the_character_tables_are_up_to_date():
    command = [sys.executable, "native/make_tables.py", "--check"]
    checked = subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
    assert checked.returncode == 0, "run native/make_tables.py"
