"""Fixtures for real data, which lives outside the repository (see CONTRIBUTING.md), and for llama.cpp itself."""

import signal
from collections.abc import Callable
from functools import cache
from pathlib import Path

import hypothesis
import pytest

from support.real_data import SHARED
from support.spec_file import write_spec
from tokverify.engine.encoder import Encoder
from tokverify.errors import MissingLibraryError
from tokverify.files.gguf.declaration import read_spec
from tokverify.references.llama_cpp import LlamaCppTokenizer
from tokverify.references.llama_cpp_library import Library, find_library
from tokverify.spec import TokenizerSpec

# A shell starts jobs in the background with SIGINT ignored, and whatever the tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

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


@pytest.fixture(scope="session")
def library() -> Library:
    """The shared object of llama.cpp."""
    try:
        return find_library()
    except MissingLibraryError as error:
        pytest.skip(str(error))


@pytest.fixture
def llama_cpp(tmp_path: Path, library: Library) -> Callable[..., tuple[Encoder, LlamaCppTokenizer]]:
    """Write a specification to a file, and read it on both sides."""

    def open_both(spec: TokenizerSpec, seconds: float = 60) -> tuple[Encoder, LlamaCppTokenizer]:
        path = tmp_path / "model.gguf"
        write_spec(spec, path)
        return Encoder(read_spec(path)), LlamaCppTokenizer(path, library, seconds=seconds)

    return open_both
