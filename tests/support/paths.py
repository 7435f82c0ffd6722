"""Where the checkout keeps what tests read."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "tokverify" / "sample"
DATA = ROOT / "tests" / "data"
