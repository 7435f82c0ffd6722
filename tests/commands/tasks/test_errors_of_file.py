"""A file that encodes every text as its reference does can still be wrong about roles and sizes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.bare_tokenizer import IdsOnly
from support.rule_maker import CHATML, bpe_json, good_bpe
from support.selection import thinned
from support.sentencepiece_maker import train_model
from support.spec_maker import bpe_spec, spm_spec
from tokverify.case import Case
from tokverify.commands.cli import main
from tokverify.commands.tasks.fix import fix_model
from tokverify.commands.tasks.opening import open_model, open_reference
from tokverify.commands.tasks.own_rules import add_rule_findings
from tokverify.commands.tasks.run import verify_model
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.opened import OpenedReference
from tokverify.engine.encoder import Encoder
from tokverify.references.reference import FoundReference
from tokverify.report.fix import fix_exit_code
from tokverify.report.run import failing_differences
from tokverify.sources.gguf.declaration import read_spec
from tokverify.sources.gguf.writer import write_gguf
from tokverify.sources.sentencepiece.reader import read_spec as read_sentencepiece
from tokverify.spec import TokenizerSpec, TokenType

CASES = [Case(id="1", suite="made", text="ab 12", add_special=False)]


def write(folder: Path, **roles: int) -> tuple[Path, Path]:
    """Write a file in which other tokens have some roles, and the tokenizer.json that it was made from."""
    spec = good_bpe()
    model, reference = folder / "model.gguf", folder / "tokenizer.json"
    write_gguf(model, replace(spec, special_ids={**spec.special_ids, **roles}))
    reference.write_text(json.dumps(bpe_json(spec)))
    return model, reference


@pytest.mark.parametrize("role", thinned(3, ["eot", "fim_pad", "fim_pre"]))
def test_a_role_that_the_reference_does_not_know_must_not_have_an_ordinary_token(tmp_path: Path, role: str):
    model, reference = write(tmp_path, **{role: 257})
    report = verify_model(model, reference, CASES)
    (found,) = failing_differences(report)
    assert (found.code, found.ids, report.exit_code) == ("TV106", (257,), 1)
    checked = CliRunner().invoke(main, ["check", str(model), "-r", str(reference)])
    assert (checked.exit_code, "TV106" in checked.stdout) == (1, True)
    fixed = fix_model(model, None, reference, CASES)
    assert fix_exit_code(fixed) == 1
    assert [f"tokenizer.ggml.{role}_token_id, 257" in error for error in fixed.errors] == [True]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [(CHATML, ["TV124"]), ("{{ .Prompt }}", []), (None, [])],
    ids=["another", "the same", "none"],
)
def test_a_template_that_cannot_be_read_is_an_error_if_the_reference_has_another_one(tmp_path: Path, wanted, expected):
    """As the list of all templates in JSON, which a script wrote for the default one."""
    template = "{{ .Prompt }}" if wanted != CHATML else json.dumps([{"name": "default", "template": CHATML}])
    write_gguf(tmp_path / "model.gguf", good_bpe(chat_template=template))
    reference = tmp_path / "tokenizer.json"
    reference.write_text(json.dumps(bpe_json(good_bpe())))
    if wanted:
        (tmp_path / "chat_template.jinja").write_text(wanted)
    report = verify_model(tmp_path / "model.gguf", reference, CASES)
    assert [each.code for each in failing_differences(report)] == expected
    assert report.exit_code == bool(expected)


@pytest.mark.parametrize("is_beside", [False, True], ids=["in the file", "beside the reference"])
@pytest.mark.parametrize("role", thinned(2, ["eot", "eom"]))
def test_a_token_that_begins_a_turn_must_not_end_one(tmp_path: Path, role: str, is_beside: bool):
    model, reference = write(tmp_path, **{role: 260})
    if is_beside:
        spec = good_bpe(chat_template=None)
        write_gguf(model, replace(spec, special_ids={**spec.special_ids, role: 260}))
        (tmp_path / "chat_template.jinja").write_text(CHATML)
    report = verify_model(model, reference, CASES, diagnose=True)
    (found,) = failing_differences(report)
    assert (found.code, found.ids, report.exit_code) == ("TV106", (260,), 1)
    assert report.diagnosis.explanations[0].is_repair
    checked = CliRunner().invoke(main, ["check", str(model), "-r", str(reference)])
    assert (checked.exit_code, "TV121" in checked.stdout) == (1, False)
    fixed = fix_model(model, tmp_path / "fixed.gguf", reference, CASES)
    assert (fix_exit_code(fixed), fixed.errors) == (0, ())
    assert 260 not in open_model(tmp_path / "fixed.gguf").encoder.settings.eog_ids


def test_what_ends_a_generation_in_the_reference_is_no_error(tmp_path: Path):
    model, reference = write(tmp_path, eom=260)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|im_end|>"}))
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": [260, 261]}))
    report = verify_model(model, reference, CASES)
    assert [each.code for each in failing_differences(report)] == []
    fixed = fix_model(model, None, reference, CASES)
    assert (fixed.repair, fixed.errors) == (None, ())


def test_an_intact_file_has_no_such_errors(tmp_path: Path):
    model, reference = write(tmp_path)
    assert verify_model(model, reference, CASES).exit_code == 0
    fixed = fix_model(model, None, reference, CASES)
    assert (fix_exit_code(fixed), fixed.errors) == (0, ())


def test_what_a_comparison_shows_is_not_said_twice(tmp_path: Path):
    model, _ = write(tmp_path, eos=257)
    other = tmp_path / "other.gguf"
    write_gguf(other, good_bpe())
    report = verify_model(model, other, CASES)
    assert {difference.code for difference in failing_differences(report)}.isdisjoint({"TV106"})


def test_what_a_baseline_accepts_is_not_said_in_another_way(tmp_path: Path):
    model, _ = write(tmp_path, eos=257)
    other, baseline = tmp_path / "other.gguf", tmp_path / "known.json"
    write_gguf(other, good_bpe())
    command = ["run", str(model), "-r", str(other), "--baseline", str(baseline)]
    updated = CliRunner().invoke(main, [*command, "--update-baseline", "--reason", "ours"])
    assert baseline.exists(), updated.output
    assert CliRunner().invoke(main, command).exit_code == 0


def test_a_special_id_out_of_range_fails_and_is_repaired(tmp_path: Path):
    model, reference = write(tmp_path, pad=0xFFFFFFFF)
    report = verify_model(model, reference, CASES, diagnose=True)
    (difference,) = failing_differences(report)
    assert "padding_token_id is 4294967295, but there are only" in difference.message
    (explanation,) = report.diagnosis.explanations
    assert (explanation.kind, explanation.is_repair, explanation.differences) == ("pad_id", True, 1)
    assert CliRunner().invoke(main, ["check", str(model), "-r", str(reference)]).exit_code == 1


def test_fuzz_finds_them_too_and_a_role_that_the_reference_shares_is_right(tmp_path: Path):
    model, reference = write(tmp_path, eot=257)
    command = ["fuzz", str(model), "-r", str(reference), "--texts", "50"]
    assert CliRunner().invoke(main, command).exit_code == 1
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": "Ġa"}))
    shared, _ = write(tmp_path, eos=257)
    report = verify_model(shared, reference, CASES)
    assert [each.code for each in failing_differences(report) if each.code == "TV106"] == []


def test_tokens_without_embeddings_fail_a_run(tmp_path: Path):
    model, reference = write(tmp_path)
    opened = open_model(model)
    report = verify_model(opened, reference, CASES)
    opened.declaration = replace(opened.declaration, spec=replace(opened.spec, embedding_rows=10))
    found = open_reference(opened, reference)
    failing = add_rule_findings(report, opened, found)
    assert [difference.code for difference in failing_differences(failing)] == ["TV105"]
    # Compared with a program that reads the same file, the file is not on trial.
    itself = OpenedReference(replace(found.found, reads_model=True))
    assert add_rule_findings(report, opened, itself) is report


def test_what_a_reference_that_shows_only_ids_cannot_contradict_fails_a_run(tmp_path: Path):
    spec = spm_spec({"▁": -5, "a": -1, "b": -2, "ab": -3}, special_ids={"bos": 1, "eos": 2, "unk": 0})
    types = [TokenType.NORMAL.value if type == TokenType.BYTE else type for type in spec.types]
    write_gguf(tmp_path / "model.gguf", replace(spec, types=types))
    opened, found = open_model(tmp_path / "model.gguf"), Encoder(spec)
    report = verify_tokenizers(opened.encoder, IdsOnly(found), CASES)
    assert report.exit_code == 0
    shown = OpenedReference(FoundReference(IdsOnly(found), source="a program"))
    assert [each.code for each in failing_differences(add_rule_findings(report, opened, shown))] == ["TV109"]


@pytest.mark.parametrize(
    ("spec", "texts"),
    [
        pytest.param(good_bpe(pre="default"), ["ab a", "it's 12345"], id="no pre-tokenizer"),
        pytest.param(bpe_spec(["< s", "<s >"], chat_template="<s>"), ["<s>", "a<s>a"], id="a marker that is a word"),
    ],
)
def test_a_right_file_passes_beside_a_reference_that_shows_only_ids(tmp_path: Path, spec: TokenizerSpec, texts):
    write_gguf(tmp_path / "model.gguf", spec)
    opened, found = open_model(tmp_path / "model.gguf"), Encoder(spec)
    cases = [Case(id=text, suite="made", text=text) for text in texts]
    report = verify_tokenizers(opened.encoder, IdsOnly(found), cases)
    shown = OpenedReference(FoundReference(IdsOnly(found), source="a program"))
    assert not failing_differences(add_rule_findings(report, opened, shown))


def test_a_charsmap_that_replaces_characters_differently_fails_a_run_and_is_repaired(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(train_model(vocab_size=90, model_type="unigram", normalization_rule_name="nmt_nfkc"))
    right = read_sentencepiece(path)
    write_gguf(tmp_path / "model.gguf", replace(right, charsmap=right.charsmap[:-40]))
    # No case contains one of the last characters of the map.
    report = verify_model(tmp_path / "model.gguf", path, CASES, diagnose=True)
    (difference,) = failing_differences(report)
    assert difference.code == "TV205"
    assert "8 characters are replaced differently: " in difference.message
    repair = next(each for each in report.diagnosis.explanations if each.is_repair)
    assert (repair.kind, repair.differences) == ("charsmap", 1)
    fixed = fix_model(tmp_path / "model.gguf", tmp_path / "fixed.gguf", path, CASES)
    assert fix_exit_code(fixed) == 0
    assert read_spec(tmp_path / "fixed.gguf").charsmap == right.charsmap


def test_a_role_about_which_the_reference_contradicts_itself_is_not_repaired_and_it_says_so(tmp_path: Path):
    model, reference = write(tmp_path, eos=261)
    for name, text in (("tokenizer_config.json", "<|im_start|>"), ("special_tokens_map.json", "<|endoftext|>")):
        (tmp_path / name).write_text(json.dumps({"eos_token": text}))
    report = verify_model(model, reference, CASES, diagnose=True)
    assert any("eos is 261" in difference.message for difference in failing_differences(report))
    assert report.undiagnosed == (
        'the files of the reference contradict each other: tokenizer_config.json has eos_token "<|im_start|>", but '
        'special_tokens_map.json "<|endoftext|>"; correct the wrong one'
    )
