import pkgutil

import pytest

import tokverify
from support.paths import SAMPLE
from tokverify.report.run import run_exit_code


def test_every_public_name_exists():
    assert all(getattr(tokverify, name) for name in tokverify.__all__)
    assert set(tokverify.__all__) == set(dir(tokverify))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        tokverify.nonsense  # noqa: B018


def test_no_module_hides_a_public_name():
    modules = {module.name for module in pkgutil.iter_modules(tokverify.__path__)}
    assert modules.isdisjoint(tokverify.__all__)


def test_a_program_can_verify():
    encoder = tokverify.load_gguf(SAMPLE / "sample-broken.gguf")
    reference = tokverify.load_reference(SAMPLE / "sample.tokenizer.model")
    cases = [case for case in tokverify.load_cases() if case.suite == "seed"]
    report = tokverify.verify_tokenizers(encoder, reference, cases)
    assert isinstance(report, tokverify.Report)
    assert run_exit_code(report) == 1
    assert report.actual.name == "sample-broken"
    assert report.actual.fingerprint == encoder.fingerprint
    assert report.actual.settings["algorithm"] == "spm"
