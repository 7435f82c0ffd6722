"""The command that sets types of tokens without tokverify does what the repair does."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import SAMPLE
from tokverify.render.document import CommandLine
from tokverify.render.fix import describe
from tokverify.render.options import RenderOptions
from tokverify.report.diagnosis import command_line
from tokverify.report.fix import FileRepair, FixReport, TypeRange, Verification
from tokverify.sources.gguf.declaration import read_spec


def commands(*, target: str = "it's.gguf", verbose: bool = False) -> list[str]:
    repair = FileRepair(
        "setting types", ("tokenizer.ggml.token_type",), types=(TypeRange(4, 33, 4), TypeRange(40, 40, 3))
    )
    report = FixReport(Verification(1, 1), repair=repair, source="model.gguf", target=target)
    sections = describe(report, RenderOptions(verbose=verbose)).sections
    blocks = [block for section in sections for block in section.blocks]
    return [command_line(block.command) for block in blocks if isinstance(block, CommandLine)]


def test_only_a_dry_run_shows_the_command():
    assert commands() == []
    (command,) = commands(target="")
    assert command.startswith("cp model.gguf FIXED.gguf && ")


@pytest.mark.process
def test_the_command_sets_the_types_in_a_copy(tmp_path: Path):
    shutil.copy(SAMPLE / "sample-broken.gguf", tmp_path / "model.gguf")
    (command,) = commands(verbose=True)
    shell = command.replace("python -c", f"{sys.executable} -c")
    subprocess.run(["/bin/sh", "-c", shell], cwd=tmp_path, check=True)
    types = read_spec(tmp_path / "it's.gguf").types
    assert (set(types[4:34]), types[40]) == ({4}, 3)
    assert types[41:] == read_spec(tmp_path / "model.gguf").types[41:]
