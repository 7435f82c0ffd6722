"""The reports that are read back here are those on which the formats are tried."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "formats"))
pytest.register_assert_rewrite("saved_file")
