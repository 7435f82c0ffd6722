"""`tokverify versions`: which versions of a library produce which ids."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from support.paths import SAMPLE
from tokverify.commands.cli import main
from tokverify.commands.tasks.versions import compare_references
from tokverify.compare.convert.json_writer import write_json
from tokverify.errors import TokverifyError
from tokverify.references import environment
from tokverify.render.versions import verdict
from tokverify.report.versions import versions_exit_code
from tokverify.sources.load import load_gguf

MODEL, BROKEN = (str(SAMPLE / name) for name in ("sample.gguf", "sample-broken.gguf"))
ABSENT = "tokenizers==0.0.1"


@pytest.fixture(autouse=True)
def _no_installation(monkeypatch):
    """Let every environment be this one, except for one version that does not exist."""

    def prepare(packages):
        if packages == [ABSENT]:
            raise TokverifyError(f"{ABSENT}: cannot be installed (no such version)")
        return Path(sys.executable)

    monkeypatch.setattr(environment, "prepare", prepare)


@pytest.fixture
def reference(tmp_path: Path) -> str:
    path = tmp_path / "tokenizer.json"
    write_json(path, load_gguf(MODEL).spec)
    return str(path)


def versions(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["versions", *arguments, "--suite", "seed"], catch_exceptions=False)


def test_equal_versions_pass(reference):
    result = versions(MODEL, "-r", reference, "--env", "tokenizers==1", "--env", "tokenizers==2")
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith("sample: the same ids with 3 of 3 versions\n")
    assert "DIFFERENT IDS" not in result.stdout


def test_a_model_that_differs_is_shown_with_all_ids(reference):
    result = versions(BROKEN, "-r", reference, "--env", "tokenizers==1", "-f", "json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert [tried["environment"] for tried in report["tried"]] == ["", "tokenizers==1"]
    assert [summary["mismatch"] for summary in report["summary"]["versions"]] == [4, 4]
    table = versions(BROKEN, "-r", reference, "--env", "tokenizers==1").stdout
    assert "seed/extra-spaces" in table
    assert "1, 2" in table


def test_a_version_that_cannot_be_tried_is_exit_code_2(reference):
    result = versions(MODEL, "-r", reference, "--env", ABSENT, "--env", "tokenizers==1")
    assert result.exit_code == 2
    assert result.stdout.endswith("sample: the same ids with 2 of 3 versions; tokenizers==0.0.1 could not be tried\n")
    assert "no such version" in result.stdout


def test_a_long_reason_is_shortened_unless_everything_is_shown(monkeypatch, reference):
    reason = f"{' '.join(['because'] * 50)} of this"

    def prepare(_packages):
        raise TokverifyError(reason)

    monkeypatch.setattr(environment, "prepare", prepare)
    arguments = (MODEL, "-r", reference, "--env", ABSENT, "-f", "markdown")
    short, verbose = versions(*arguments).stdout, versions(*arguments, "-v").stdout
    assert reason[:160] + "…" in short
    assert reason not in short
    assert reason in verbose


def test_a_transformers_reference_is_loaded_with_transformers(monkeypatch, reference):
    asked = []
    monkeypatch.setattr(environment, "prepare", lambda packages: asked.append(packages) or Path(sys.executable))
    Path(reference).with_name("tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    location = f"transformers:{Path(reference).parent}"
    result = versions(MODEL, "-r", location, "--env", "transformers==4.57.0 tiktoken", "-f", "json")
    report = json.loads(result.stdout)
    assert asked == [["transformers==4.57.0", "tiktoken"]]
    assert report["tried"][1]["run"]["expected"]["source"] == f"{location}, with transformers==4.57.0 tiktoken"


def test_a_reference_that_no_environment_can_load_is_rejected():
    result = versions(MODEL, "-r", str(SAMPLE / "sample.tokenizer.model"), "--env", "sentencepiece==0.2.0")
    assert result.exit_code == 2
    assert "only a tokenizer.json and transformers:LOCATION can be loaded by other versions" in result.stderr


def test_at_least_one_environment_is_required(reference):
    result = versions(MODEL, "-r", reference)
    assert result.exit_code == 2
    assert "Missing option '--env'" in result.stderr


def test_several_references_are_compared_with_the_model(reference):
    references = ["-r", reference, "-r", "env:tokenizers==1", "-r", MODEL, "-r", f"env:{ABSENT}"]
    result = CliRunner().invoke(main, ["run", BROKEN, *references, "--suite", "seed", "-f", "json"])
    assert result.exit_code == 2
    report = json.loads(result.stdout)
    assert [tried["environment"] for tried in report["tried"]] == references[1::2]
    assert report["varies_reference"] is True
    assert report["options"]["references"] == references[1::2]
    assert [summary.get("mismatch") for summary in report["summary"]["versions"]] == [4, 4, 4, None]
    assert report["tried"][1]["run"]["expected"]["source"] == f"{reference}, with tokenizers==1"


def test_packages_alone_stand_for_the_reference_that_is_found(tmp_path, reference):
    model = tmp_path / "own.gguf"
    model.write_bytes(Path(MODEL).read_bytes())
    arguments = ["run", str(model), "-r", "env:tokenizers==1", "-r", "env:tokenizers==2", "--suite", "seed"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith("own: the same ids with 2 of 2 references\n")


@pytest.mark.parametrize(("strict", "code"), [(False, 0), (True, 1)])
def test_what_limits_explain_fails_with_strict_only(vocabs: Path, strict: bool, code: int):
    references = [str(vocabs / "mpt.tokenizer.json"), "rebuilt"]
    report = compare_references(str(vocabs / "mpt.gguf"), references, strict=strict)
    assert versions_exit_code(report) == code
    assert verdict(report).endswith("mpt.tokenizer.json differs only by limits of llama.cpp")
