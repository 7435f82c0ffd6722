"""One suite that every kind of reference passes. What is special about a kind is tested in its own module."""

import importlib.util
import json
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from support.every_kind import KINDS, SERVER_KINDS, STORE_KINDS, Opened, Place, files_of, open_kind
from support.hostile_ids import HOSTILE_IDS
from support.paths import ROOT
from support.selection import thinned
from tokverify.case import Case
from tokverify.compare.consistency import check_consistency
from tokverify.errors import EncodeError, TokverifyError, UnsupportedError
from tokverify.references import REFERENCES
from tokverify.references.servers import SERVERS
from tokverify.report.run import Status
from tokverify.sources.stores.location import STORES
from tokverify.texts.mode import Mode, Modes
from tokverify.tokenizer import AlwaysParsing, Tokenizer, pieces_of, why_hidden

TEXTS = ("", "fox", "Hello  world", "a\n\n\tb", "1234 5", "\N{LLAMA}", "<bos>x<eos>", "\0", "fox" * 500)
OTHERS = {"a package", "a hostile package", "https"}
"""The kinds that are in no table of tokverify."""
UNTESTED = {"server", "transformers-gguf"}
"""A kind that is in the table by the name of each server, and one that needs PyTorch."""
RESPONDING = [name for name, kind in KINDS.items() if kind.returns_hostile_ids]
READING = [name for name, kind in KINDS.items() if kind.files]
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut in half": lambda data: data[: len(data) // 2],
    "first byte lost": lambda data: data[1:],
    "zeros": lambda data: bytes(len(data)),
    "a pointer of Git LFS": lambda _: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    "a web page": lambda _: b"<!DOCTYPE html>\n<html><body>Sign in</body></html>\n",
    "deep JSON": lambda _: b"[" * 100_000,
    "JSON of other things": lambda _: json.dumps({"model": [], "layers": {"a": None}, "vocab": 5}).encode(),
}


def test_every_kind_is_in_this_suite():
    assert set(KINDS) == {*REFERENCES, *STORES, *SERVERS, *OTHERS} - UNTESTED
    assert (set(SERVER_KINDS), set(STORE_KINDS)) == (set(SERVERS), set(STORES))


def test_every_kind_can_be_hostile():
    # The package is installed by the user, and trusted.
    assert {name for name in KINDS if name not in READING and name not in RESPONDING} == {"a package"}


def test_the_manual_says_what_each_kind_can_prove():
    page = (ROOT / "docs" / "references.md").read_text("utf-8")
    section = page.partition("\n## What each can prove\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    kinds = [re.match(r"\| `([^`]+)`", row) for row in rows]
    assert {kind and kind[1] for kind in kinds} == {*REFERENCES, "expect"}
    stores = re.findall(r"`(\w+):`", next(row for row in rows if row.startswith("| `gguf`")))
    assert set(stores) == {*STORES, "https"}


def _parameter(name: str):
    kind = KINDS[name]
    is_process = kind.has_process or name == "a package"
    return pytest.param(name, marks=[pytest.mark.process] * is_process + [pytest.mark.slow] * kind.is_slow)


@contextmanager
def _place_of(name: str, factory: pytest.TempPathFactory) -> Iterator[Place]:
    library = KINDS[name].library
    if library and importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        folder = factory.mktemp("kind")
        patch.setenv("TOKVERIFY_CACHE", str(folder / "cache"))
        yield Place(folder, stack, patch)


@pytest.fixture(scope="module", params=[_parameter(name) for name in KINDS])
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    with _place_of(request.param, tmp_path_factory) as place:
        yield open_kind(request.param, KINDS[request.param].locate(place), place)


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Place]]:
    """The name of a kind, and a place for a tokenizer that is used once."""
    with _place_of(request.param, tmp_path_factory) as place:
        yield request.param, place


@pytest.fixture
def tokenizer(opened: Opened) -> Tokenizer:
    return opened.found.tokenizer


def encode(tokenizer: Tokenizer, text: str, *, parse_special: bool = True) -> list[int]:
    return tokenizer.encode(text, add_special=False, parse_special=parse_special)


def test_it_returns_the_same_ids_whenever_it_is_asked(tokenizer):
    modes = [Mode(add, parse) for add in (False, True) for parse in (False, True)]
    chosen = Modes(tokenizer)
    cases = [
        Case(id=f"{at}-{number}", suite="s", text=text, **chosen.choose(text, mode)._asdict())
        for at, text in enumerate(TEXTS)
        for number, mode in enumerate(modes)
    ]
    results = list(check_consistency(tokenizer, cases))
    assert {result.status for result in results} <= {Status.MATCH, Status.SKIPPED}
    assert sum(result.status is Status.MATCH for result in results) > len(results) / 2


def test_a_text_that_cannot_be_encoded_is_an_error_of_that_text(tokenizer):
    with pytest.raises((EncodeError, UnsupportedError)):
        encode(tokenizer, "\ud800")
    assert encode(tokenizer, "fox")


def test_an_option_that_it_cannot_honor_is_declared(tokenizer):
    if isinstance(tokenizer, AlwaysParsing) and tokenizer.always_parses_special:
        assert tokenizer.parses_special
        with pytest.raises(UnsupportedError):
            encode(tokenizer, "<bos>", parse_special=False)
    elif not tokenizer.parses_special:
        assert encode(tokenizer, "<bos>", parse_special=True) == encode(tokenizer, "<bos>", parse_special=False)


def test_its_vocabulary_is_complete_or_hidden(tokenizer):
    if why_hidden(tokenizer):
        assert tokenizer.vocab_size == 0
        return
    pieces = pieces_of(tokenizer)
    assert len(pieces) == tokenizer.vocab_size > 0
    assert set(encode(tokenizer, "fox \N{LLAMA}")) <= set(range(tokenizer.vocab_size))
    assert all(0 <= id < tokenizer.vocab_size for id in tokenizer.special_ids.values())
    assert [tokenizer.piece(id) for id in (-1, tokenizer.vocab_size)] == ["", ""]
    assert b"".join(map(tokenizer.token_bytes, encode(tokenizer, "fox"))).strip() == b"fox"


def test_it_decodes_what_it_encodes_and_rejects_unknown_ids(tokenizer):
    ids = encode(tokenizer, "fox \N{LLAMA}")
    try:
        decoded = tokenizer.decode(ids)
    except UnsupportedError as error:
        assert str(error)  # noqa: PT017 - decoding is optional
        return
    assert decoded.strip() == "fox \N{LLAMA}".encode()
    if not why_hidden(tokenizer):
        for id in (-1, tokenizer.vocab_size, 2**40):
            with pytest.raises(TokverifyError):
                tokenizer.decode([id])
    assert tokenizer.decode(ids) == decoded


def test_what_it_is_can_be_reported_on_one_line(opened):
    found = opened.found
    for text in (found.source, found.reason, found.caveat, found.tokenizer.name, *found.versions.values()):
        assert "\n" not in text
    assert found.source


def test_a_crash_midway_concerns_one_text(opened):
    tokenizer, kind = opened.found.tokenizer, KINDS[opened.name]
    ids = encode(tokenizer, "fox")
    assert bool(opened.processes) >= kind.has_process
    for pid in opened.processes:
        os.kill(pid, signal.SIGKILL)
    for server in opened.place.servers:
        server.drop_connections()
    with suppress(EncodeError):
        assert encode(tokenizer, "fox") == ids
    assert encode(tokenizer, "fox") == ids


@pytest.mark.parametrize("place", [_parameter(name) for name in READING], indirect=True)
def test_files_and_networks_that_vanish_midway_change_no_ids(place):
    name, where = place
    opened = open_kind(name, KINDS[name].locate(where), where)
    tokenizer = opened.found.tokenizer
    ids = encode(tokenizer, "fox")
    for path in files_of(where, KINDS[name]):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert encode(tokenizer, "fox") == ids
    shutil.rmtree(where.folder)
    where.stack.pop_all().close()
    assert encode(tokenizer, "fox") == ids
    if opened.processes:
        for pid in opened.processes:
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(TokverifyError) as caught:
            encode(tokenizer, "fox")
        assert_is_one_line(caught.value)


def assert_is_one_line(error: TokverifyError) -> None:
    assert "\n" not in str(error)
    assert 0 < len(str(error)) < 600


@pytest.mark.parametrize("opened", [_parameter(name) for name in RESPONDING], indirect=True)
@pytest.mark.parametrize("text", HOSTILE_IDS)
def test_a_hostile_response_is_an_error_of_one_text_in_one_line(opened, text):
    if (opened.name, text) == ("a hostile package", "hostile: negative"):
        pytest.skip("an id of -1 means a token that the vocabulary lacks there")
    with pytest.raises(EncodeError) as caught:
        encode(opened.found.tokenizer, text)
    assert_is_one_line(caught.value)
    assert encode(opened.found.tokenizer, "fox")


@pytest.mark.parametrize("place", [_parameter(name) for name in READING], indirect=True)
@pytest.mark.parametrize("damage", thinned(3, DAMAGES))
def test_a_hostile_file_is_an_error_in_one_line_or_still_a_tokenizer(place, damage):
    name, where = place
    location = KINDS[name].locate(where)
    contents = {path: path.read_bytes() for path in files_of(where, KINDS[name])}
    assert contents
    for path, data in contents.items():
        path.write_bytes(DAMAGES[damage](data))
        try:
            ids = encode(open_kind(name, location, where).found.tokenizer, "fox")
        except TokverifyError as error:
            assert_is_one_line(error)
        else:
            # Such as a list of merges that ends too early.
            assert all(type(id) is int and id >= 0 for id in ids)
        path.write_bytes(data)
        # What was downloaded would be taken from there.
        shutil.rmtree(where.folder / "cache", ignore_errors=True)
    assert encode(open_kind(name, location, where).found.tokenizer, "fox")
