"""A family takes one class and one table entry: all commands work on an invented one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.paths import SAMPLE
from support.selection import thinned
from tokverify.commands.cli import main
from tokverify.engine.encoder import Encoder
from tokverify.engine.families import FAMILIES
from tokverify.engine.family import NO_TOKEN, Family, Ranking, Settings
from tokverify.engine.rewriting import unchanged
from tokverify.engine.trace import ModelTrace, Taken, Whole, Word
from tokverify.sources.gguf.writer import write_gguf
from tokverify.spec import TokenizerSpec, TokenType

TOKENS = ["<unk>", "<s>", "▁", *"abcdefgh"]
SPEC = TokenizerSpec(
    model="characters",
    tokens=TOKENS,
    types=[TokenType.UNKNOWN, TokenType.CONTROL, *[TokenType.NORMAL] * 9],
    special_ids={"unk": 0, "bos": 1},
    add_bos=True,
)


class CharacterModel:
    """One id per character."""

    def __init__(self, settings: Settings) -> None:
        self._ids = settings.ids
        self._unknown = settings.special_ids.get("unk", NO_TOKEN)

    def encode(self, text: str) -> list[int]:
        return [self._ids.get(character, self._unknown) for character in text.replace(" ", "▁")]

    def trace(self, text: str) -> ModelTrace:
        words = []
        start = 0
        for id, character in zip(self.encode(text), text, strict=True):
            end = start + len(character.encode())
            words.append(Word(start, end, (Taken(id, start, end),), Whole("every character is a piece")))
            start = end
        return ModelTrace(unchanged(text), tuple(words))


class CharacterFamily(Family):
    def make_model(self, spec: TokenizerSpec, settings: Settings) -> CharacterModel:
        del spec
        return CharacterModel(settings)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    family = CharacterFamily(
        model="characters",
        algorithm="characters",
        summary="takes each character as a token",
        ranking=Ranking.LENGTH,
        replaces_unknown=True,
    )
    monkeypatch.setitem(FAMILIES, "characters", lambda: family)
    write_gguf(tmp_path / "model.gguf", SPEC)
    return tmp_path / "model.gguf"


def run(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return result.stdout


def test_the_new_family_encodes_and_decodes(model):
    encoder = Encoder(SPEC)
    assert encoder.encode("ab xa", add_special=True) == [1, 3, 4, 2, 0, 3]
    assert encoder.decode([3, 4, 2, 3]) == b"ab a"
    assert json.loads(run("encode", model, "abba", "--json"))["ids"] == [3, 4, 4, 3]
    assert run("decode", model, "3 2 4") == "a·b\n"


def test_explain_traces_the_new_family(model):
    explained = run("explain", model, "ab x")
    assert "takes each character as a token" in explained
    assert "every character is a piece" in explained
    assert json.loads(run("explain", model, "ab x", "--json"))["algorithm"] == "characters"


def test_inspect_describes_the_new_family(model):
    assert json.loads(run("inspect", model, "--json"))["algorithm"] == "characters"


def test_audit_checks_the_new_family(model):
    report = json.loads(run("audit", model, "-f", "json"))
    assert [skipped["code"] for skipped in report["not_evaluated"] if skipped["code"] < "TV200"] == [
        "TV112",
        "TV113",
        "TV114",
    ]


def test_run_and_fuzz_verify_the_new_family(model, tmp_path, monkeypatch):
    cases = tmp_path / "cases.yaml"
    cases.write_text("suite: s\ncases:\n- {id: a, text: ab ab, expect: {model: [3, 4, 2, 3, 4]}}\n", encoding="utf-8")
    assert run("run", model, "-r", "expect", "--cases", cases)
    from tokverify import references
    from tokverify.references import FoundReference

    kinds = {**references.REFERENCES, "same": lambda request: FoundReference(Encoder(request.spec), "same")}
    monkeypatch.setattr(references, "REFERENCES", kinds)
    assert run("run", model, "-r", "same:", "--cases", cases)
    assert run("fuzz", model, "-r", "same:", "--texts", 200)
    assert run("stats", model)


_USED = """
import sys
from click.testing import CliRunner
from tokverify.commands.cli import main

result = CliRunner().invoke(main, sys.argv[1:])
assert result.exit_code in (0, 1), result.output
print(*[name for name in sys.modules if name.startswith("tokverify.")])
"""


@pytest.mark.parametrize("arguments", thinned(4, [["run", "-r", "rebuilt"], ["audit"], ["explain", "a b"], ["run"]]))
def test_a_run_on_a_llama_file_imports_no_other_family(arguments):
    command = [arguments[0], str(SAMPLE / "sample.gguf"), *arguments[1:]]
    done = subprocess.run([sys.executable, "-c", _USED, *command], capture_output=True, text=True, check=True)
    imported = done.stdout.split()
    assert "tokverify.engine.families.spm" in imported
    assert not [name for name in imported if "cpp" in name and "llama" not in name]
    assert not [name for name in imported if "sheepop" in name]
    others = {"bpe", "cpp_hybrid", "hybriddna", "plamo", "rwkv", "unigram", "whitespace", "wordpiece"}
    assert not [name for name in imported if name.removeprefix("tokverify.engine.families.") in others]
