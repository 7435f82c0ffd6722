"""The parts of a comparison other than its differences: the file and the options."""

import json
import shutil
from base64 import b64encode
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.paths import SAMPLE
from support.repository import git
from tokverify.commands.cli import main
from tokverify.commands.tasks.diff import diff_tokenizers, open_version
from tokverify.compare.diff.compare import compare_versions
from tokverify.errors import TokverifyError
from tokverify.report.diff import ChangeReport, Effect, behaves_alike, diff_exit_code, new_side, old_side
from tokverify.report.run import Report
from tokverify.report.side import Side

GOOD, BROKEN = (str(SAMPLE / name) for name in ("sample.gguf", "sample-broken.gguf"))


def test_the_file_is_that_of_the_location(tmp_path: Path):
    reference = str(SAMPLE / "sample.tokenizer.model")
    assert open_version(GOOD, tmp_path).file == GOOD
    assert open_version(reference, tmp_path).file == reference
    directory = tmp_path / "model"
    directory.mkdir()
    shutil.copy(reference, directory / "tokenizer.model")
    assert open_version(str(directory), tmp_path).file == str(directory / "tokenizer.model")


def test_a_tiktoken_file_with_its_pattern_is_read_and_named(tmp_path: Path):
    pytest.importorskip("tiktoken")
    file = tmp_path / "x.tiktoken"
    file.write_bytes(b"".join(b64encode(bytes([byte])) + b" %d\n" % byte for byte in range(256)))
    version = open_version(f"{file}:gpt2", tmp_path)
    assert version.file == str(file)
    assert version.spec is not None, version.unread


@pytest.mark.usefixtures("own_git")
@pytest.mark.parametrize("path", ["models/model.gguf", "./models/model.gguf"])
def test_the_file_of_a_revision_is_named_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str):
    (tmp_path / "models").mkdir()
    shutil.copy(GOOD, tmp_path / "models" / "model.gguf")
    for command in (("init", "-q"), ("add", "."), ("commit", "-qm", "a model")):
        git(*command, directory=tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old").mkdir()
    version = open_version(f"HEAD:{path}", tmp_path / "old")
    assert version.file == "models/model.gguf"
    new = open_version(GOOD, tmp_path)
    assert compare_versions(version, replace(new, file=""), []).file == "models/model.gguf"
    assert compare_versions(version, new, []).file == GOOD


@pytest.mark.parametrize("name", ["model.gguf", "./model.gguf", "{directory}/model.gguf"])
def test_a_tokenizer_is_not_compared_with_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    shutil.copy(GOOD, tmp_path / "model.gguf")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TokverifyError, match="A and B are the same tokenizer, so nothing can differ"):
        diff_tokenizers("model.gguf", name.format(directory=tmp_path))


def test_two_links_to_one_file_are_compared(tmp_path: Path):
    for name in ("old.gguf", "new.gguf"):
        (tmp_path / name).symlink_to(GOOD)
    assert diff_tokenizers(tmp_path / "old.gguf", tmp_path / "new.gguf", []).parts == ()


def test_the_report_records_the_options():
    arguments = ["diff", GOOD, BROKEN, "-k", "seed/*", "--behavior-only", "-f", "json"]
    document = json.loads(CliRunner().invoke(main, arguments).stdout)
    assert document["options"] == {
        "old": GOOD,
        "new": BROKEN,
        "cases": [],
        "suites": [],
        "tags": [],
        "patterns": ["seed/*"],
        "fuzz": None,
        "seed": 0,
        "corpus": [],
        "behavior_only": True,
        "breaking": [],
        "uses": [],
    }
    assert (document["summary"]["old"], document["summary"]["new"], document["file"]) == (GOOD, BROKEN, BROKEN)


def test_the_sides_are_those_of_the_cases():
    report = ChangeReport((), Report(Side("new", "n"), Side("old", "o"), None, ()))
    assert (new_side(report).name, old_side(report).name) == ("new", "old")


def test_a_corpus_that_changes_is_a_difference_in_behavior():
    report = ChangeReport((), Report(Side("new", "n"), Side("old", "o"), None, ()), behavior_only=True)
    assert (behaves_alike(report), diff_exit_code(report)) == (True, 2)
    changed = replace(report, effect=Effect(9, 1, 9, 1, 5, 5))
    assert (behaves_alike(changed), diff_exit_code(changed)) == (False, 1)
