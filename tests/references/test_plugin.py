"""References of other packages, registered as entry points, are treated like built-in ones."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import tokverify
from support.paths import SAMPLE
from tokverify.compare.audit import audit
from tokverify.compare.checks import RULES
from tokverify.compare.opened import Opened, OpenedReference
from tokverify.compare.subject import Subject
from tokverify.errors import TokverifyError
from tokverify.references import FoundReference, is_kind, open_reference
from tokverify.sources.gguf.declaration import read_declaration

ADAPTER = '''
from dataclasses import replace

from tokverify.references import open_reference


class Adapter:
    """Has another name than the tokenizer it wraps, and the same capabilities."""

    def __init__(self, tokenizer):
        self._tokenizer = tokenizer
        self.name = "adapter"
        for capability in ("declared_spec", "tokenizer_json", "stages", "pieces"):
            if hasattr(tokenizer, capability):
                setattr(self, capability, getattr(tokenizer, capability))

    def __getattr__(self, name):
        if name in {"declared_spec", "tokenizer_json", "stages", "pieces"}:
            raise AttributeError(name)
        return getattr(self._tokenizer, name)


def load(request):
    found = open_reference(request.location)
    return replace(found, tokenizer=Adapter(found.tokenizer))


def load_bare(request):
    return Adapter(open_reference(request.location).tokenizer)


class Incomplete:
    name = "incomplete"
    vocab_size = 1

    def encode(self, text, *, add_special, parse_special):
        return [0]


def load_incomplete(request):
    return replace(open_reference(request.location), tokenizer=Incomplete())
'''


@pytest.fixture
def install(install_reference: Callable[[str, str, str], None]) -> Callable[[str], None]:
    return partial(install_reference, "tokverify_adapter", ADAPTER)


@pytest.fixture(params=["sentencepiece", "tokenizers"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "sentencepiece":
        return SAMPLE / "sample.tokenizer.model"
    from tokverify.compare.convert.json_writer import write_json
    from tokverify.sources.load import load_gguf

    write_json(tmp_path / "sample.json", load_gguf(SAMPLE / "sample.gguf").spec)
    return tmp_path / "sample.json"


def test_a_registered_kind_is_found_by_its_name(install, location):
    assert not is_kind("adapter")
    install("adapter = tokverify_adapter:load")
    assert is_kind("adapter")
    assert open_reference(f"adapter:{location}").tokenizer.name == "adapter"


@pytest.mark.parametrize(("name", "is_found"), [("my-kind_2", True), ("adapter.json", False)])
def test_the_name_of_a_kind_cannot_be_that_of_a_file(install, name, is_found):
    install(f"{name} = tokverify_adapter:load")
    assert is_kind(name) == is_found


def test_a_kind_that_cannot_be_imported_says_so(install):
    install("adapter = tokverify_gone:load")
    with pytest.raises(TokverifyError, match=r"^adapter: tokverify_gone:load cannot be imported \("):
        open_reference("adapter:x")


@pytest.mark.parametrize(
    ("loader", "message"),
    [
        ("load_bare", "^adapter: its loader returned a Adapter, not a FoundReference$"),
        ("load_incomplete", "^adapter: its tokenizer lacks special_ids, parses_special, .* of the protocol Tokenizer$"),
    ],
)
def test_a_kind_that_is_not_a_reference_says_so(install, loader, message):
    install(f"adapter = tokverify_adapter:{loader}")
    with pytest.raises(TokverifyError, match=message):
        open_reference(f"adapter:{SAMPLE / 'sample.tokenizer.model'}")


def results(model: Path, found: FoundReference) -> tuple[object, object]:
    report = audit(Subject(read_declaration(model), OpenedReference(found)), RULES.values())
    return report.findings, [skipped.code for skipped in report.not_evaluated]


@pytest.mark.parametrize("name", ["sample.gguf", "sample-broken.gguf"])
def test_audit_and_diagnosis_get_as_much_from_a_plugin_as_from_the_adapter(install, location, name):
    install("adapter = tokverify_adapter:load")
    built_in, registered = open_reference(location), open_reference(f"adapter:{location}")
    findings, skipped = results(SAMPLE / name, registered)
    assert (findings, skipped) == results(SAMPLE / name, built_in)
    expected = Opened(built_in.tokenizer, built_in.path)
    facts = Opened(registered.tokenizer, registered.path)
    assert facts.spec == expected.spec is not None
    assert facts.added_tokens == expected.added_tokens
    assert (facts.document is None) == (expected.document is None)


HANGING = """
import time
from pathlib import Path


def load(request):
    Path(request.location).touch()
    time.sleep(60)
"""


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_kind_that_hangs_can_be_interrupted(install_reference, tmp_path, number):
    install_reference("tokverify_hanging", HANGING, "hanging = tokverify_hanging:load")
    paths = (str(tmp_path), str(Path(tokverify.__file__).parents[1]))
    started = tmp_path / "started"
    command = [sys.executable, "-m", "tokverify", "run", str(SAMPLE / "sample.gguf"), "-r", f"hanging:{started}"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) as process:
        while not started.exists():
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(number)
        _, stderr = process.communicate(timeout=30)
    expected = {signal.SIGINT: (130, b"interrupted\n"), signal.SIGTERM: (143, b"")}
    assert (process.returncode, stderr) == expected[number]
