"""The native engine is used where it is possible; a variable selects the engine."""

from dataclasses import replace

import pytest

from support.spec_maker import bpe_spec
from tokverify.engine import engine_choice
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import NATIVE, PYTHON, VARIABLE, EngineChoice, available_engine, require_requested
from tokverify.engine.models.bpe import Bpe
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.errors import MissingLibraryError, TokverifyError, UnsupportedError

SPEC = bpe_spec(["a b"])
UNSUPPORTED = replace(SPEC, model="cpp-hybrid", pre=None)
MISSING = "it was not compiled when tokverify was installed"


@pytest.fixture
def without_native(monkeypatch):
    monkeypatch.setattr(engine_choice, "_load_problem", lambda: MISSING)


def test_the_python_engine_can_be_requested(monkeypatch):
    monkeypatch.setenv(VARIABLE, PYTHON)
    assert Encoder(SPEC).engine == EngineChoice(PYTHON, "TOKVERIFY_ENGINE requests it")


def test_an_unknown_engine_is_an_error(monkeypatch):
    monkeypatch.setenv(VARIABLE, "fast")
    with pytest.raises(TokverifyError, match="TOKVERIFY_ENGINE is 'fast'; set it to auto, native or python"):
        available_engine()


def test_without_the_native_engine_the_python_engine_says_why(monkeypatch, without_native):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert Encoder(SPEC).engine == EngineChoice(PYTHON, MISSING)


def test_requesting_an_engine_that_is_missing_is_an_error(monkeypatch, without_native):
    monkeypatch.setenv(VARIABLE, NATIVE)
    with pytest.raises(MissingLibraryError, match="the native engine is not available: it was not compiled"):
        Encoder(SPEC)


@pytest.mark.parametrize("requested", ["auto", PYTHON])
def test_a_tokenizer_that_is_not_native_is_encoded_in_python(monkeypatch, requested):
    monkeypatch.setenv(VARIABLE, requested)
    require_requested(Encoder(UNSUPPORTED).engine)


def test_requesting_the_native_engine_for_a_tokenizer_that_is_not_native_is_an_error(monkeypatch):
    if available_engine().name != NATIVE:
        pytest.skip("no native engine")
    monkeypatch.setenv(VARIABLE, NATIVE)
    require_requested(Encoder(SPEC).engine)
    message = "the native engine does not support this tokenizer family; set TOKVERIFY_ENGINE=auto"
    with pytest.raises(UnsupportedError, match=message):
        require_requested(Encoder(UNSUPPORTED).engine)


def test_a_given_model_is_run_by_the_python_engine(engine):
    encoder = Encoder(SPEC)
    model = Bpe(encoder.settings.ids, ["a b"], PRE_TOKENIZERS[encoder.settings.pre])
    assert Encoder(SPEC, model=model).engine.name == PYTHON
    assert Encoder(SPEC, model=model).encode("ab") == encoder.encode("ab")
