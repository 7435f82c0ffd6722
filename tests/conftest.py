"""Fixtures for real data, which lives outside the repository (see CONTRIBUTING.md)."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import hypothesis
import pytest
from real_data import SHARED

from tokverify.encoder import Encoder
from tokverify.gguf_file import read_spec
from tokverify.spec import TokenizerSpec

# How long one example takes depends on who else uses the machine.
hypothesis.settings.register_profile("tokverify", deadline=None)
hypothesis.settings.load_profile("tokverify")


@pytest.fixture(scope="session")
def shared() -> Path:
    if not (SHARED / "vocabs").is_dir():
        pytest.skip(f"no real vocabularies: {SHARED} is absent; set TOKVERIFY_SHARED")
    return SHARED


@pytest.fixture(scope="session")
def vocabs(shared: Path) -> Path:
    return shared / "vocabs"


@pytest.fixture(scope="session")
def spec_of(vocabs: Path) -> Callable[[str], TokenizerSpec]:
    """What a real vocabulary declares, by its name, read once for all tests."""
    return cache(lambda name: read_spec(vocabs / f"{name}.gguf"))


@pytest.fixture(scope="session")
def encoder_of(spec_of: Callable[[str], TokenizerSpec]) -> Callable[[str], Encoder]:
    """The encoder of a real vocabulary, by its name, built once for all tests."""
    return cache(lambda name: Encoder(spec_of(name), name))
