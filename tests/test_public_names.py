import subprocess
import sys
from pathlib import Path

import pytest

import tokverify

SAMPLE = Path(__file__).parents[1] / "tokverify" / "sample"


def test_every_public_name_is_there():
    assert all(getattr(tokverify, name) for name in tokverify.__all__)
    assert set(tokverify.__all__) == set(dir(tokverify))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        tokverify.nonsense  # noqa: B018


@pytest.mark.parametrize(
    "first", ["import tokverify.verify", "from tokverify.verify import verify", "import tokverify.cli"]
)
def test_verify_stays_the_function_whatever_is_imported_first(first):
    code = f"{first}\nimport tokverify, tokverify.verify\nassert type(tokverify.verify).__name__ == 'function'"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_program_can_verify():
    encoder = tokverify.load_gguf(SAMPLE / "sample-broken.gguf")
    reference = tokverify.load_reference(SAMPLE / "sample.tokenizer.model")
    cases = [case for case in tokverify.load_cases() if case.suite == "seed"]
    report = tokverify.verify(encoder, reference, cases)
    assert isinstance(report, tokverify.Report)
    assert report.exit_code == 1
    assert report.actual.name == "sample-broken"
    assert report.actual.fingerprint == encoder.fingerprint
    assert report.actual.settings["algorithm"] == "spm"
