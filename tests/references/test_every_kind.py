"""One suite that every kind of reference passes. What is special about a kind is tested in its own module.

Crashes midway concern kinds with a process or a server behind them, and hostile responses those that others write.
"""

import base64
import importlib.util
import json
import os
import re
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from tokenizers.pre_tokenizers import ByteLevel

from support.byte_level_maker import train_byte_level
from support.child_processes import list_children
from support.hostile_ids import HOSTILE_IDS, HostileEncoder
from support.installation import install
from support.paths import ROOT, SAMPLE
from support.server_stand_ins import STAND_INS
from support.stand_in import StandIn
from tokverify.cases.case import Case
from tokverify.convert.json_writer import write_json
from tokverify.errors import EncodeError, TokverifyError, UnsupportedError
from tokverify.files.load import load_gguf
from tokverify.references import REFERENCES, environment, open_reference
from tokverify.report.run import Status
from tokverify.tokenizer import AlwaysParsing, Tokenizer, pieces_of, why_hidden
from tokverify.verify.consistency import check_consistency
from tokverify.verify.mode import Mode, Modes

GGUF = SAMPLE / "sample.gguf"
TEXTS = ("", "fox", "Hello  world", "a\n\n\tb", "1234 5", "\N{LLAMA}", "<bos>x<eos>", "\0", "fox" * 500)


def _tokenizers(folder: Path) -> str:
    write_json(folder / "tokenizer.json", load_gguf(GGUF).spec)
    return str(folder / "tokenizer.json")


def _tiktoken(folder: Path) -> str:
    tokens = [bytes([byte]) for byte in range(256)]
    lines = [base64.b64encode(token) + b" %d\n" % id for id, token in enumerate(tokens)]
    (folder / "small.tiktoken").write_bytes(b"".join(lines))
    return f"{folder / 'small.tiktoken'}:cl100k_base"


def _tekken(folder: Path) -> str:
    tokens = [bytes([byte]) for byte in range(256)]
    content = {
        "config": {
            "pattern": r" ?\p{L}+|\s+|.",
            "num_vocab_tokens": 256,
            "default_vocab_size": 266,
            "default_num_special_tokens": 10,
            "version": "v7",
        },
        "vocab": [
            {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
            for rank, token in enumerate(tokens)
        ],
        "special_tokens": [
            {"rank": rank, "token_str": text, "is_control": True} for rank, text in enumerate(["<unk>", "<s>", "</s>"])
        ],
    }
    (folder / "tekken.json").write_text(json.dumps(content))
    return str(folder / "tekken.json")


def _vocab(folder: Path) -> str:
    train_byte_level(ByteLevel(add_prefix_space=False)).save(str(folder / "whole.json"))
    model = json.loads((folder / "whole.json").read_text())["model"]
    (folder / "vocab.json").write_text(json.dumps(model["vocab"]))
    (folder / "merges.txt").write_text("\n".join(map(" ".join, model["merges"])))
    return str(folder / "vocab.json")


def _transformers(folder: Path) -> str:
    _tokenizers(folder)
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    return f"transformers:{folder}"


def _env(folder: Path) -> str:
    return f"env:tokenizers:{_tokenizers(folder)}"


def _command(folder: Path) -> str:
    program = ROOT / "tests" / "support" / "encoder_program.py"
    return f"command:{shlex.join([sys.executable, str(program), str(GGUF), 'hostile'])}"


def _package(folder: Path) -> str:
    package = shutil.copytree(ROOT / "docs" / "examples" / "package", folder / "package")
    options = ["--quiet", "--no-deps", "--disable-pip-version-check", "--target", str(folder / "installed")]
    install([sys.executable, "-m", "pip", "install", *options, str(package)], 120)
    return "bytes:<pad>,</s>,<unk>"


LOCATIONS: dict[str, Callable[[Path], str]] = {
    "tokenizers": _tokenizers,
    "sentencepiece": lambda _: str(SAMPLE / "sample.tokenizer.model"),
    "tiktoken": _tiktoken,
    "tekken": _tekken,
    "rebuilt": lambda _: "rebuilt",
    "llama.cpp": lambda _: "llama.cpp",
    "gguf": lambda _: f"gguf:{GGUF}",
    "command": _command,
    "transformers": _transformers,
    "env": _env,
    "vocab": _vocab,
    "a package": _package,
}
SERVERS = {"llama-server": StandIn, **STAND_INS}
LIBRARIES = {
    "tiktoken": "tiktoken",
    "tekken": "mistral_common",
    "llama.cpp": "xllamacpp",
    "transformers": "transformers",
}
SLOW = {"transformers"}
PROCESSES = {"command", "llama.cpp", "transformers", "env"}
HOSTILE = {"command", *SERVERS}


def test_every_kind_is_in_this_suite():
    # `hub` only downloads files of other kinds.
    assert {*LOCATIONS, "server", "hub"} - {"a package"} == set(REFERENCES)


def test_the_manual_says_what_each_kind_can_prove():
    page = (ROOT / "docs" / "references.md").read_text("utf-8")
    section = page.partition("\n## What each can prove\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    kinds = [re.match(r"\| `([^`]+)`", row) for row in rows]
    assert {kind and kind[1] for kind in kinds} == {*REFERENCES, "expect"}


@dataclass
class Opened:
    """A reference, and what is behind it."""

    kind: str
    tokenizer: Tokenizer
    server: StandIn | None
    others: set[int]
    """The processes that ran before."""

    def crash(self) -> None:
        """Kill its processes, or close the connections of its server."""
        started = list_children() - self.others
        assert bool(started) >= (self.kind in PROCESSES)
        for pid in started:
            os.kill(pid, signal.SIGKILL)
        if self.server:
            self.server.drop_connections()


def _parameter(kind: str):
    is_process = kind in {*PROCESSES, "a package"}
    return pytest.param(kind, marks=[pytest.mark.process] * is_process + [pytest.mark.slow] * (kind in SLOW))


@pytest.fixture(scope="module", params=[_parameter(kind) for kind in (*LOCATIONS, *SERVERS)])
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    kind = request.param
    if kind in LIBRARIES and importlib.util.find_spec(LIBRARIES[kind]) is None:
        pytest.skip(f"{LIBRARIES[kind]} is not installed")
    others = list_children()
    encoder = load_gguf(GGUF)
    folder = tmp_path_factory.mktemp("kind")
    with ExitStack() as stack:
        server = stack.enter_context(SERVERS[kind](HostileEncoder(encoder))) if kind in SERVERS else None
        location = server.address if server else LOCATIONS[kind](folder)
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.syspath_prepend(folder / "installed")
        # Installing packages takes too long, so the environment is this one.
        patch.setattr(environment, "prepare", lambda _: Path(sys.executable))
        yield Opened(kind, open_reference(location, spec=encoder.spec, model=GGUF).tokenizer, server, others)


@pytest.fixture
def tokenizer(opened: Opened) -> Tokenizer:
    return opened.tokenizer


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


def test_a_crash_midway_concerns_one_text(opened):
    ids = encode(opened.tokenizer, "fox")
    opened.crash()
    with suppress(EncodeError):
        assert encode(opened.tokenizer, "fox") == ids
    assert encode(opened.tokenizer, "fox") == ids


@pytest.mark.parametrize("opened", [_parameter(kind) for kind in sorted(HOSTILE)], indirect=True)
@pytest.mark.parametrize("text", HOSTILE_IDS)
def test_a_hostile_response_is_an_error_of_one_text_in_one_line(opened, text):
    with pytest.raises(EncodeError) as caught:
        encode(opened.tokenizer, text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
    assert encode(opened.tokenizer, "fox")
