"""Whatever a reference of another package raises or returns ends as one line that names the package."""

import sys
from collections.abc import Callable
from typing import Protocol

import pytest
from click.testing import CliRunner

from support.paths import SAMPLE
from support.selection import thinned
from tokverify import tokenizer as protocols
from tokverify.commands.cli import main
from tokverify.errors import EncodeError, TokverifyError
from tokverify.references import open_reference
from tokverify.references.reference import FoundReference
from tokverify.references.registered import guard

MODEL, REFERENCE = SAMPLE / "sample.gguf", SAMPLE / "sample.tokenizer.model"
MEMBERS = {
    name: member
    for protocol in vars(protocols).values()
    if isinstance(protocol, type) and Protocol in protocol.__bases__
    for name, member in vars(protocol).items()
    if not name.startswith("_")
}
"""The members of `Tokenizer` and of all its capabilities."""
CORE = [name for name in vars(protocols.Tokenizer) if name in MEMBERS]
CAPABILITIES = sorted(MEMBERS)
PROPERTIES = {name for name, member in MEMBERS.items() if isinstance(member, property)}


class Delegate:
    """Another package's tokenizer, with one member that does something else."""

    def __init__(self, name: str, behavior) -> None:
        self._inner = open_reference(REFERENCE).tokenizer
        self._name = name
        self._behavior = behavior

    def __getattr__(self, name: str) -> object:
        if name != self._name:
            return getattr(self._inner, name)
        if name in PROPERTIES:
            return self._behavior()
        return lambda *arguments, **options: self._behavior()


def fail():
    raise KeyError("weights\nand more")


def leave():
    sys.exit(0)


def use(guarded: object, name: str) -> object:
    member = getattr(guarded, name)
    return member if name in PROPERTIES else member(["a"], text="a")


def guarded(name: str, behavior) -> object:
    return guard("mine", FoundReference(Delegate(name, behavior), "here")).tokenizer


@pytest.mark.parametrize("name", CAPABILITIES)
@pytest.mark.parametrize(
    ("behavior", "message"),
    [
        (fail, r"failed \('weights\\nand more'\)"),
        (leave, r"failed \(it tried to end the program with 0\)"),
        (object, "returned a object, not "),
        (lambda: {1.5: object()}, "returned a dict of 1, not "),
    ],
)
def test_a_member_that_fails_or_returns_nonsense(name, behavior, message):
    with pytest.raises(TokverifyError, match=f"^mine: `{name}` of its tokenizer {message}"):
        use(guarded(name, behavior), name)


@pytest.mark.parametrize("name", [name for name in CAPABILITIES if name != "path"])
def test_a_member_that_returns_nothing(name):
    with pytest.raises(TokverifyError, match=f"^mine: `{name}` of its tokenizer returned a NoneType, not "):
        use(guarded(name, lambda: None), name)


def test_a_tokenizer_that_was_read_from_no_file():
    assert use(guarded("path", lambda: None), "path") is None


@pytest.mark.parametrize("ids", [[-2], [1 << 31], [True], [1.0], (1,), "1"])
def test_ids_that_are_none(ids):
    with pytest.raises(
        EncodeError,
        match=r"^mine: `encode` of its tokenizer returned a .*, not a list of ids from -1 to 2,147,483,647$",
    ):
        guarded("encode", lambda: ids).encode("a", add_special=False, parse_special=True)


def test_a_batch_of_another_size():
    with pytest.raises(TokverifyError, match=r"returned a list of 2, not a list of ids or error for each text$"):
        guarded("encode_many", lambda: [[1], [1]]).encode_many(["a"], add_special=False, parse_special=True)


def test_a_value_that_cannot_be_examined():
    class Broken(list):
        def __iter__(self):
            raise RuntimeError("no items")

    with pytest.raises(EncodeError, match=r"^mine: `encode` of its tokenizer failed \(no items\)$"):
        guarded("encode", lambda: Broken([1])).encode("a", add_special=False, parse_special=True)


def test_a_property_that_changes_is_checked_again():
    value: list[object] = ["fine"]
    tokenizer = guarded("name", lambda: value[0])
    assert tokenizer.name == "fine"
    value[0] = None
    with pytest.raises(TokverifyError, match=r"^mine: `name` of its tokenizer returned a NoneType, not a string$"):
        use(tokenizer, "name")


def test_our_own_errors_are_kept():
    def refuse():
        raise EncodeError("no such text")

    with pytest.raises(EncodeError, match=r"^no such text$"):
        guarded("encode", refuse).encode("a", add_special=False, parse_special=True)


def test_running_out_of_memory_is_not_the_package_s_error():
    def exhaust():
        raise MemoryError

    with pytest.raises(MemoryError):
        guarded("decode", exhaust).decode([1])


@pytest.mark.parametrize(
    ("field", "value"), [("source", None), ("versions", {"a": 1}), ("path", "here"), ("is_rebuilt", 1), ("sha256", 1)]
)
def test_fields_of_another_type(field, value):
    found = FoundReference(**{"tokenizer": Delegate("", fail), "source": "here", field: value})
    with pytest.raises(TokverifyError, match=f"^mine: its loader returned a FoundReference whose `{field}` is not "):
        guard("mine", found)


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_the_guard_has_the_same_capabilities(capability):
    inner = open_reference(REFERENCE).tokenizer
    assert hasattr(guarded("", fail), capability) == hasattr(inner, capability)


PACKAGE = """
from tokverify.references import FoundReference, open_reference

class Broken:
    def __init__(self, location):
        path, self.broken, self.how = location.split("|")
        self.inner = open_reference(path).tokenizer

    def __getattr__(self, name):
        if name != self.broken:
            return getattr(self.inner, name)
        if self.how == "raises":
            raise RuntimeError("out of order")
        return None if self.how == "none" else (lambda *arguments, **options: [10**30])

def load(request):
    if request.location == "exit":
        raise SystemExit(0)
    if request.location == "raise":
        raise OSError("gone")
    return FoundReference(Broken(request.location), request.location)
"""


@pytest.fixture
def package(install_reference: Callable[[str, str, str], None]) -> None:
    install_reference("broken_package", PACKAGE, "broken = broken_package:load")


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize("how", thinned(3, ["raises", "none", "huge"]))
@pytest.mark.parametrize("name", [*CORE, "encode_many", "decode_many", "pieces", "token_types", "declared_spec"])
def test_commands_with_a_broken_package(name, how):
    location = f"broken:{REFERENCE}|{name}|{how}"
    for command in (["run", str(MODEL), "-r", location, "-k", "tab"], ["run", location, "-r", str(MODEL), "-k", "tab"]):
        result = CliRunner().invoke(main, command)
        assert result.exit_code in {0, 1, 2}, result.stderr
        assert "bug in tokverify" not in result.stderr
        if name in {"encode_many", "vocab_size", "name"}:
            assert result.exit_code == (1 if name == "encode_many" else 2), result.output
            assert "broken: " in result.output + result.stderr


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(("what", "message"), [("exit", "it tried to end the program with 0"), ("raise", "gone")])
def test_a_loader_that_fails(what, message):
    with pytest.raises(TokverifyError, match=rf"^broken: broken_package:load failed \({message}\)$"):
        open_reference(f"broken:{what}")
