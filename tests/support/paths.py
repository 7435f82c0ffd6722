"""The directories of the checkout that tests read."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "tokverify" / "sample"
DATA = ROOT / "tests" / "data"
