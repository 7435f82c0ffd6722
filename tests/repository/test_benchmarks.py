"""The benchmarks start from the root of the checkout."""

import subprocess
import sys

import pytest

from support.paths import ROOT


@pytest.mark.parametrize(
    "name",
    [
        "corpus",
        "corpus_data",
        "distilled_faults",
        "encoders",
        "formats",
        "html_page",
        "kills",
        "kinds",
        "mutations",
        "new_faults",
        "planted",
    ],
)
def test_a_benchmark_prints_its_help(name: str):
    if name == "html_page":
        pytest.importorskip("playwright.sync_api", reason="needs the extra `browser`")
    command = [sys.executable, f"benchmarks/{name}.py", "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: ")


def test_the_process_that_measures_an_encoder_can_be_started():
    command = [sys.executable, "-c", "import worker"]
    done = subprocess.run(command, cwd=ROOT / "benchmarks", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
