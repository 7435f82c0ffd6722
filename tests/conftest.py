"""Set the markers `real` and `process` and a time limit; provide fixtures for real data, llama.cpp and chat templates.

CONTRIBUTING.md says where real data comes from.
"""

import gc
import os
import signal
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path

import hypothesis
import pytest

from support.real_data import SHARED
from support.spec_file import write_spec
from tokverify.chat.rendering import Renderer
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import requested_engine
from tokverify.engine.settings import resolve
from tokverify.errors import BrokenFileError, MissingLibraryError
from tokverify.references.llama_cpp import LlamaCppTokenizer
from tokverify.references.llama_cpp_library import Library, find_library
from tokverify.sources.gguf.declaration import read_spec
from tokverify.spec import TokenizerSpec
from tokverify.system.cache import VARIABLE

# A shell starts background jobs with SIGINT ignored, and every process that the tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long one example takes depends on what else runs on the machine.
hypothesis.settings.register_profile("tokverify", deadline=None)
hypothesis.settings.load_profile("tokverify")

REAL_FIXTURE = "shared"
"""All fixtures that read real data depend on this one."""

COMMANDS = Path(__file__).parent / "commands"
"""The tests in this directory run whole commands."""

PROCESS_FIXTURES = {"browser", "library", "lfs_versions", "own_git", "pytester", "site", "versions"}
"""Fixtures that start a process, or whose tests do."""


_CACHES = count()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return the number of workers for `-n auto`: many tests wait for programs and servers that they start."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if REAL_FIXTURE in item.fixturenames:
            item.add_marker("real")
        if needs_process(item):
            item.add_marker("process")
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.timeout(0))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Exempt what now exists from garbage collection: modules and tests are many objects, and stay to the end."""
    gc.freeze()


def needs_process(item: pytest.Item) -> bool:
    """Return whether a test belongs to the kind `process`.

    It does by its fixtures, because its module uses `subprocess`, or because it runs whole commands.

    Slow tests belong to it too, so that `-m "not real and not process"`, which replaces the default `-m "not slow"`,
    excludes them.
    """
    uses_subprocess = hasattr(item.module, "subprocess")
    runs_commands = COMMANDS in item.path.parents
    return (
        uses_subprocess
        or runs_commands
        or "slow" in item.keywords
        or not PROCESS_FIXTURES.isdisjoint(item.fixturenames)
    )


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test a cache of its own, which is created on first use."""
    monkeypatch.setenv(VARIABLE, str(tmp_path_factory.getbasetemp() / f"cache-{next(_CACHES)}"))


class SharedRenderer(Renderer):
    """A renderer of chat templates whose child process goes on after a test."""

    def __exit__(self, *_: object) -> None:
        pass

    def end(self) -> None:
        super().__exit__()


@pytest.fixture(scope="session")
def shared_renderer() -> Iterator[Renderer]:
    shared = SharedRenderer()
    yield shared
    shared.end()


@pytest.fixture
def renders_in_one_child(shared_renderer: Renderer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Render chat templates in the child of the tests before: to start one takes longer than all that most render."""
    monkeypatch.setattr("tokverify.chat.trial.Renderer", lambda: shared_renderer)


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
    """Return a function that reads the specification of a real vocabulary, once for all tests."""
    return cache(lambda name: read_spec(vocabs / f"{name}.gguf"))


@pytest.fixture(scope="session")
def encoder_of(spec_of: Callable[[str], TokenizerSpec]) -> Callable[[str], Encoder]:
    """Return a function that builds the encoder of a real vocabulary, once for each engine."""
    make = cache(lambda name, engine: Encoder(spec_of(name), name))
    return lambda name: make(name, requested_engine())


@pytest.fixture(scope="session")
def library() -> Library:
    """Return the shared library of llama.cpp."""
    try:
        return find_library()
    except MissingLibraryError as error:
        pytest.skip(str(error))


@pytest.fixture
def llama_cpp(tmp_path: Path, library: Library) -> Callable[..., tuple[Encoder, LlamaCppTokenizer]]:
    """Return a function that writes a specification to a file and opens it with our encoder and with llama.cpp."""

    def open_both(spec: TokenizerSpec, seconds: float = 60) -> tuple[Encoder, LlamaCppTokenizer]:
        path = tmp_path / "model.gguf"
        write_spec(spec, path)
        try:
            real = LlamaCppTokenizer(path, library, seconds=seconds)
        except BrokenFileError as error:
            if "unknown tokenizer" in str(error.__cause__):
                pytest.skip(f"xllamacpp {library.version} does not know {spec.model}")
            raise
        read = read_spec(path)
        return Encoder(read, settings=resolve(read, library.build)), real

    return open_both
