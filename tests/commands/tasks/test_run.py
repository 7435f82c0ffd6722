"""Test where the expected ids of a run come from: the cases or a reference."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from support.mutation_trial import intact
from support.paths import SAMPLE
from tokverify import load_gguf
from tokverify.commands.cli import main

MODEL, BROKEN = (str(SAMPLE / name) for name in ("sample.gguf", "sample-broken.gguf"))
TEXT = "word   with"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["run", *arguments])


def report_of(*arguments: str) -> dict:
    return json.loads(run(*arguments, "-f", "json").stdout)


@pytest.fixture(scope="module")
def pieces() -> list[str]:
    encoder = load_gguf(MODEL)
    return [encoder.piece(id) for id in encoder.encode(TEXT)]


@pytest.fixture
def suite(tmp_path, pieces) -> str:
    """Two cases that expect something of the sample, by name and by family, and one that does not."""
    ids = load_gguf(MODEL).encode("a b")
    path = tmp_path / "own.yaml"
    path.write_text(
        "cases:\n"
        f"- {{id: pieces, text: '{TEXT}', expect: {{llama: {json.dumps(pieces)}}}}}\n"
        f"- {{id: ids, text: a b, expect: {{sample: {ids}, sample-broken: {ids}}}}}\n"
        "- {id: other, text: c, expect: {gemma: [1]}}\n"
    )
    return str(path)


def test_a_reference_is_searched_for_only_beside_a_model_of_which_every_case_expects_something(suite, tmp_path):
    chosen = "--cases", suite, "-k", "pieces", "-k", "ids"
    assert report_of(MODEL, *chosen)["expected"]["name"] == "tokenizers"
    alone = tmp_path / "sample.gguf"
    alone.write_bytes(Path(MODEL).read_bytes())
    report = report_of(str(alone), *chosen)
    assert report["summary"]["match"] == 2
    assert report["expected"]["name"] == "expect"
    assert report["expected"]["source"] == f"as in {suite}"
    assert "looked for only beside it" in report["expected"]["reason"]
    assert report["vocabulary"] is None
    assert "sentencepiece" not in report["versions"]


def test_a_reference_is_searched_for_if_a_case_expects_nothing(suite):
    report = report_of(MODEL, "--cases", suite)
    assert report["expected"]["name"] == "tokenizers"
    assert report["summary"]["match"] == 3


def test_cases_without_expectations_are_skipped_with_reference_expect(suite):
    report = report_of(MODEL, "--cases", suite, "-r", "expect")
    assert [result["status"] for result in report["results"]] == ["match", "match", "skipped"]
    advice = "add it with `tokverify cases record`"
    assert report["results"][2]["message"] == f"the case has no `expect` for sample, only for gemma; {advice}"
    assert report["expected"]["reason"] == "as requested"


def test_a_run_that_compares_nothing_does_not_succeed(suite):
    result = run(MODEL, "--cases", suite, "-k", "other", "-r", "expect")
    assert result.exit_code == 2
    assert "1 case: 1 skipped; nothing was compared" in result.stdout


def test_the_verdict_mentions_the_weak_reference(suite):
    result = run(MODEL, "--cases", suite, "-k", "ids", "-q", "-r", "expect")
    assert result.stdout == "1 case: 1 match; but compared with the cases' own `expect` only\n"


def test_a_difference_is_shown_and_explained_without_a_reference(suite, pieces):
    report = report_of(BROKEN, "--cases", suite, "-r", "expect", "-k", "pieces", "-k", "ids")
    assert report["summary"]["exit_code"] == 1
    result = report["results"][0]
    assert result["expect"] == pieces
    assert [token["piece"] for block in result["difference"]["blocks"] for token in block["expected"]] == pieces
    assert "USER_DEFINED" in report["diagnosis"]["explanations"][0]["sentence"]
    shown = run(BROKEN, "--cases", suite, "-r", "expect", "-k", "pieces").stdout
    assert '["w", "ord", "···", "w", "ith"]' in shown


def test_an_expected_piece_without_a_token_is_shown_without_an_id(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text('cases: [{id: a, text: a, expect: {llama: ["no such piece"]}}]\n')
    result = run(MODEL, "--cases", str(path))
    assert result.exit_code == 1
    assert "none  no·such·piece" in result.stdout
    assert "no token has the expected piece 'no such piece'" in result.stdout


@pytest.mark.parametrize("command", [["fuzz", MODEL, "--texts", "1"], ["explain", MODEL, "a"]])
def test_only_run_has_cases_that_expect_something(command):
    result = CliRunner().invoke(main, [*command, "-r", "expect"])
    assert result.exit_code == 2
    assert "works only with `tokverify run`" in result.stderr


def test_no_repair_is_offered_that_fix_refuses():
    arguments = (str(intact("made-wordpiece")), "-r", MODEL.replace("sample.gguf", "sample.tokenizer.model"))
    result = run(*arguments)
    assert result.exit_code == 1
    assert "the reference (sentencepiece) belongs to another model" in result.stdout
    assert "tokverify fix" not in result.stdout
    assert CliRunner().invoke(main, ["fix", *arguments, "--dry-run"]).exit_code == 2
