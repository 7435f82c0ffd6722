"""Differences planted in a corpus are all found; benchmarks/planted.py does the same with 1 GB."""

import subprocess
import sys
from pathlib import Path

from support.paths import ROOT


def test_planted_differences_are_found_with_their_causes(tmp_path: Path, shared: Path):
    command = [
        sys.executable,
        "benchmarks/planted.py",
        str(shared / "vocabs" / "llama-spm.gguf"),
        str(tmp_path / "data"),
    ]
    done = subprocess.run([*command, "--megabytes", "2"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    *found, summary = done.stdout.splitlines()
    assert [line.split()[:2] for line in found] == [
        ["found", cause] for cause in ("added-token", "bos-doubled", "bos-missing", "normalization") for _ in range(2)
    ]
    assert [Path(line.split()[2].rstrip(":")).suffix for line in found] == [".parquet", ".jsonl"] * 4
    assert summary.endswith(": 8 differ, 8 planted")
