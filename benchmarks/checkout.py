"""Make `tests/support` importable from a benchmark: import this module before `support`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
