"""Run every test of this package that uses an encoder on both engines."""

from collections.abc import Iterator

import pytest

from tokverify.engine.engine_choice import NATIVE, PYTHON, VARIABLE, available_engine

ENCODER_FIXTURES = {"encoder_of", "llama_cpp"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if hasattr(metafunc.module, "Encoder") or not ENCODER_FIXTURES.isdisjoint(metafunc.fixturenames):
        metafunc.parametrize("engine", [PYTHON, NATIVE], indirect=True, scope="module")


@pytest.fixture(scope="module", autouse=True)
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """Select the engine of all encoders; skip the test if it is not installed."""
    if not hasattr(request, "param"):
        yield ""
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(VARIABLE, raising=False)
        if request.param == NATIVE and available_engine().name != NATIVE:
            pytest.skip(f"no native engine: {available_engine().reason}")
        # Families without a native model must still work, so the native engine is not required.
        patch.setenv(VARIABLE, "auto" if request.param == NATIVE else PYTHON)
        yield request.param
