"""Certificates: what a run has proven, and whether that still holds for a file."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from support.made_vocabulary import bpe, spm
from support.paths import SAMPLE
from tokverify.commands.cli import main
from tokverify.sources.gguf.metadata import hash_header
from tokverify.sources.gguf.writer import write_gguf

MODEL, BROKEN, REFERENCE = (
    str(SAMPLE / name) for name in ("sample.gguf", "sample-broken.gguf", "sample.tokenizer.model")
)


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def certify(path: Path, model: str | Path = MODEL, *options: str, reference: str | Path = REFERENCE) -> dict:
    assert invoke("run", model, "-q", "-r", reference, *options, "--certificate", path).exit_code in {0, 1}
    return json.loads(path.read_text())


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    path = tmp_path / "certificate.json"
    certify(path)
    return path


def test_a_certificate_is_a_statement_about_the_file(certificate: Path):
    content = json.loads(certificate.read_text())
    assert content["_type"] == "https://in-toto.io/Statement/v1"
    assert content["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    (subject,) = content["subject"]
    assert (subject["name"], subject["digest"]["gguf_header_sha256"]) == ("sample.gguf", hash_header(Path(MODEL)))
    predicate = content["predicate"]
    assert predicate["result"] == "PASSED"
    assert predicate["configuration"][0]["name"] == "sample.tokenizer.model"
    assert predicate["tokverify"]["cases"] == predicate["tokverify"]["match"] > 600
    assert "seed" in predicate["passedTests"]
    assert str(SAMPLE) not in certificate.read_text()


def test_equal_runs_write_equal_certificates(certificate: Path, tmp_path: Path):
    certify(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == certificate.read_bytes()


def test_a_certificate_holds_for_its_file(certificate: Path):
    result = invoke("report", "verify", certificate, MODEL, "-r", REFERENCE)
    assert result.exit_code == 0, result.output
    assert "certificate.json: holds" in result.stdout
    assert "Tokenizer: equal, compared with sample.tokenizer.model (sentencepiece)" in result.stdout


def test_a_certificate_does_not_hold_for_another_file_or_reference(certificate: Path):
    result = invoke("report", "verify", certificate, BROKEN)
    assert result.exit_code == 1
    assert "problem: sample-broken.gguf is another file" in result.stdout
    result = invoke("report", "verify", certificate, MODEL, "-r", SAMPLE / "sample.tokenizer.json")
    assert result.exit_code == 1
    assert "is another file than the reference of the run" in result.stdout


def test_a_file_with_the_same_tokenizer_is_still_another_file(certificate: Path, tmp_path: Path):
    renamed = Path(MODEL).read_bytes().replace(b"general.name", b"general.nami", 1)
    assert renamed != Path(MODEL).read_bytes()
    (tmp_path / "renamed.gguf").write_bytes(renamed)
    result = invoke("report", "verify", certificate, tmp_path / "renamed.gguf")
    assert result.exit_code == 1
    assert "what determines ids is the same" in " ".join(result.stdout.split())


def test_a_file_with_the_same_header_is_still_another_file(certificate: Path, tmp_path: Path):
    (tmp_path / "longer.gguf").write_bytes(Path(MODEL).read_bytes() + b"\0" * 32)
    result = invoke("report", "verify", certificate, tmp_path / "longer.gguf")
    assert result.exit_code == 1
    assert "(sha256 differs; what determines ids is the same" in " ".join(result.stdout.split())


def test_a_failing_run_is_certified_as_failed(tmp_path: Path):
    content = certify(tmp_path / "failed.json", BROKEN)
    assert content["predicate"]["result"] == "FAILED"
    assert "seed" in content["predicate"]["failedTests"]
    result = invoke("report", "verify", tmp_path / "failed.json", BROKEN)
    assert result.exit_code == 1
    assert "problem: the run failed: its verdict is different" in result.stdout


def test_other_versions_are_noted(certificate: Path):
    content = json.loads(certificate.read_text())
    proof = content["predicate"]["tokverify"]
    proof["versions"] |= {"tokverify": "0.0.1", "llama.cpp": "b1"}
    proof["suites"]["seed"] = "0" * 16
    certificate.write_text(json.dumps(content))
    result = invoke("report", "verify", certificate, MODEL)
    assert result.exit_code == 0
    assert "note: made with tokverify 0.0.1" in result.stdout
    assert "note: made with llama.cpp b1" in result.stdout
    assert "note: other cases are shipped now in seed" in result.stdout


def edit(certificate: Path, change) -> None:
    content = json.loads(certificate.read_text())
    change(content["predicate"], content["predicate"]["tokverify"])
    certificate.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda predicate, _: predicate.update(result="FAILED"), "its result is FAILED, but its verdict equal"),
        (lambda predicate, _: predicate["failedTests"].append("code"), "its verdict is equal, but 1 suite failed"),
        (lambda predicate, _: predicate["warnedTests"].append("code"), "limits or a baseline explain cases"),
        (
            lambda predicate, _: predicate.update(passedTests=[]),
            "its passed, warned and failed tests are not its suites",
        ),
        (lambda _, proof: proof.update(match=700), "the results of 700 cases are counted, but there are"),
        (lambda _, proof: proof.update(match=600), "the results of 600 cases are counted, but there are"),
        (lambda _, proof: proof.update(match=0, cases=0), "no case was compared"),
        (lambda _, proof: proof.update(texts=9999), "cannot have 9,999 texts"),
        (lambda _, proof: proof.update(fingerprint="0" * 64), "its fingerprint is not that of the file"),
    ],
)
def test_a_certificate_that_contradicts_itself_does_not_hold(certificate: Path, change, reason: str):
    edit(certificate, change)
    result = invoke("report", "verify", certificate, MODEL)
    assert result.exit_code == 1, result.output
    assert result.stdout.count("problem: it contradicts itself: ") == 1
    assert reason in result.stdout


def test_a_certificate_with_a_key_twice_does_not_hold(certificate: Path):
    text = certificate.read_text()
    certificate.write_text(text.replace('"result":"PASSED"', '"result":"FAILED","result":"PASSED"'))
    result = invoke("report", "verify", certificate, MODEL)
    assert result.exit_code == 1
    assert 'problem: it contradicts itself: it has the key "result" twice' in result.stdout


def test_a_number_of_any_length_beside_the_known_keys_is_no_problem(certificate: Path):
    certificate.write_text(certificate.read_text().replace('{"_type"', f'{{"a":{"9" * 5000},"_type"', 1))
    assert invoke("report", "verify", certificate, MODEL).exit_code == 0


def test_digests_are_compared_in_either_case(certificate: Path):
    content = json.loads(certificate.read_text())
    digests = content["subject"][0]["digest"]
    digests |= {name: value.upper() for name, value in digests.items()}
    content["predicate"]["tokverify"]["fingerprint"] = content["predicate"]["tokverify"]["fingerprint"].upper()
    certificate.write_text(json.dumps(content))
    result = invoke("report", "verify", certificate, MODEL)
    assert result.exit_code == 0, result.output


def test_a_selection_of_cases_is_certified_as_one(tmp_path: Path):
    content = certify(tmp_path / "some.json", MODEL, "-k", "emoji")
    assert content["predicate"]["tokverify"]["selection"] == {"patterns": ["emoji"]}
    result = invoke("report", "verify", tmp_path / "some.json", MODEL)
    assert result.exit_code == 0
    assert "note" not in result.stdout
    assert "selected cases match" in result.stdout


def test_a_gguf_file_is_recognized_as_the_reference(tmp_path: Path):
    copy = tmp_path / "copy.gguf"
    copy.write_bytes(Path(MODEL).read_bytes())
    content = certify(tmp_path / "copied.json", reference=copy)
    assert content["predicate"]["configuration"][0]["digest"] == {"gguf_header_sha256": hash_header(copy)}
    result = invoke("report", "verify", tmp_path / "copied.json", MODEL, "-r", copy)
    assert result.exit_code == 0, result.output
    assert "compared with copy.gguf (tokverify)" in result.stdout
    assert "but tokverify encodes both sides; " in result.stdout
    result = invoke("report", "verify", tmp_path / "copied.json", MODEL, "-r", BROKEN)
    assert result.exit_code == 1
    assert "is another file than the reference of the run" in result.stdout


def test_nothing_is_certified_if_nothing_was_compared(tmp_path: Path):
    write_gguf(tmp_path / "model.gguf", bpe())
    path = tmp_path / "certificate.json"
    result = invoke("run", tmp_path / "model.gguf", "-r", "expect", "--certificate", path)
    assert result.exit_code == 2
    assert not path.exists()
    assert "certificate.json is not written" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--lf"], "remove --lf"),
        (["--streaming"], "--certificate has no effect with --streaming"),
        ([BROKEN], "works with one MODEL"),
    ],
)
def test_what_certifies_something_else_is_refused(tmp_path: Path, options: list[str], message: str):
    result = invoke("run", MODEL, *options, "--certificate", tmp_path / "certificate.json")
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    "change",
    [
        lambda content: [],
        lambda content: {**content, "_type": "https://in-toto.io/Statement/v2"},
        lambda content: {**content, "subject": []},
        lambda content: {**content, "predicate": {"result": "PASSED"}},
    ],
)
def test_anything_else_is_no_certificate(certificate: Path, change):
    certificate.write_text(json.dumps(change(json.loads(certificate.read_text()))))
    result = invoke("report", "verify", certificate, MODEL)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {certificate}: ")
    assert len(result.stderr.splitlines()) == 1


def test_a_certificate_without_digests_proves_nothing(certificate: Path):
    content = json.loads(certificate.read_text())
    content["subject"][0]["digest"] = {}
    certificate.write_text(json.dumps(content))
    assert invoke("report", "verify", certificate, MODEL).exit_code == 1


def test_an_input_is_not_overwritten(tmp_path: Path):
    path = tmp_path / "model.gguf"
    write_gguf(path, spm())
    before = path.read_bytes()
    assert invoke("run", path, "--certificate", path).exit_code == 2
    assert path.read_bytes() == before
