"""The examples in JavaScript and Rust agree with a GGUF file, and a planted difference is found and explained.

What they need is downloaded and built once, and kept with the other builds.
"""

import hashlib
import shlex
import shutil
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from support.installation import install
from support.paths import ROOT, SAMPLE
from tokverify.commands.tasks.run import verify_model
from tokverify.compare.convert.json_writer import write_json
from tokverify.references import open_reference
from tokverify.report.run import Status, count_status, run_exit_code, vocabularies_differ
from tokverify.sources.load import load_gguf

pytestmark = pytest.mark.process

EXAMPLES = ROOT / "docs" / "examples"
BUILDS = ROOT / "native" / "target"


@pytest.fixture(scope="module")
def tokenizer_json(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sample") / "tokenizer.json"
    write_json(path, load_gguf(SAMPLE / "sample.gguf").spec)
    return path


@pytest.fixture(scope="module")
def javascript(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    packages = (EXAMPLES / "javascript" / "package.json").read_bytes()
    folder = BUILDS / f"javascript-{hashlib.sha256(packages).hexdigest()[:8]}"
    if not folder.exists():
        new = tmp_path_factory.mktemp("javascript")
        (new / "package.json").write_bytes(packages)
        install(["npm", "install", "--prefix", str(new), "--no-audit", "--no-fund", "--ignore-scripts"], 120)
        BUILDS.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):  # another process may have been faster
            shutil.copytree(new, folder.with_suffix(".new")).rename(folder)
    shutil.copy(EXAMPLES / "javascript" / "engine.js", folder)
    return ["node", str(folder / "engine.js")]


@pytest.fixture(scope="module")
def rust() -> list[str]:
    target = BUILDS / "example"
    manifest = str(EXAMPLES / "rust" / "Cargo.toml")
    quick = {"CARGO_PROFILE_DEV_DEBUG": "false", "CARGO_INCREMENTAL": "0"}
    install(["cargo", "build", "--quiet", "--manifest-path", manifest], 1200, CARGO_TARGET_DIR=str(target), **quick)
    return [str(target / "debug" / "tokverify-example")]


@pytest.fixture(params=["javascript", pytest.param("rust", marks=pytest.mark.slow)])
def location(request: pytest.FixtureRequest, tokenizer_json: Path) -> str:
    program = request.getfixturevalue(request.param)
    return f"command:{shlex.join([*program, str(tokenizer_json)])}"


@pytest.mark.parametrize("language", ["javascript", pytest.param("rust", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_an_example_loads_a_large_vocabulary(request: pytest.FixtureRequest, vocabs: Path, language: str):
    program = [*request.getfixturevalue(language), str(vocabs / "gemma-3.tokenizer.json")]
    tokenizer = open_reference(f"command:{shlex.join(program)}").tokenizer
    assert tokenizer.vocab_size == 262_144
    assert tokenizer.encode("Hello", add_special=True, parse_special=True)[0] == 2


def test_the_python_example_loads_a_model_without_bos(vocabs: Path):
    program = [sys.executable, str(EXAMPLES / "python" / "engine.py"), str(vocabs / "t5.tokenizer.model")]
    tokenizer = open_reference(f"command:{shlex.join(program)}").tokenizer
    assert tokenizer.special_ids == {"eos": 1, "unk": 2}
    ids = tokenizer.encode("Hello", add_special=True, parse_special=False)
    assert ids == tokenizer.encode("Hello", add_special=False, parse_special=False)


def test_an_example_agrees_with_a_correct_file(location):
    report = verify_model(SAMPLE / "sample.gguf", location)
    assert run_exit_code(report) == 0
    assert count_status(report, Status.MATCH) > 600
    assert not vocabularies_differ(report.vocabulary)


def test_a_planted_difference_is_found_and_explained(location):
    report = verify_model(SAMPLE / "sample-broken.gguf", location, diagnose=True)
    assert run_exit_code(report) == 1
    assert count_status(report, Status.MISMATCH) > 0
    types = [difference.message for difference in report.differences if difference.aspect == "types"]
    assert any("user-defined tokens in the reference" in message for message in types)
    best = report.diagnosis.explanations[0]
    assert (best.kind, best.unexplained) == ("types", ())
    assert "USER_DEFINED" in best.sentence
