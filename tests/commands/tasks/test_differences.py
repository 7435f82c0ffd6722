"""The table in docs/differences.md: each row is made in a small file, and the commands return its exit codes."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.paths import ROOT
from support.rule_maker import CHATML, MERGES, bpe_json, good_bpe
from support.selection import thinned
from tokverify.commands.cli import main
from tokverify.render.run.verdict import name_aspect
from tokverify.report.tokenizer_difference import Aspect
from tokverify.sources.gguf.writer import write_gguf
from tokverify.spec import TokenizerSpec, TokenType

BPE = good_bpe()
NORMAL, CONTROL, USER_DEFINED, UNUSED = (
    type.value for type in (TokenType.NORMAL, TokenType.CONTROL, TokenType.USER_DEFINED, TokenType.UNUSED)
)
BOS_TEMPLATE = "{{ bos_token }}" + CHATML.replace("<|im_start|>", "")
SUITE = "suite: own\ncases:\n- {id: words, text: 'ab a 12'}\n- {id: whole, text: 'ab', add_special: true}\n"


@dataclass
class Pair:
    """A model and its reference."""

    spec: TokenizerSpec = BPE
    document: dict = field(default_factory=lambda: bpe_json(BPE))
    config: dict = field(default_factory=lambda: {"eos_token": "<|im_end|>", "bos_token": "<|im_start|>"})
    template: str = CHATML
    ends: tuple[int, ...] = (261,)
    location: str = "tokenizer.json"

    def write(self, directory: Path) -> None:
        write_gguf(directory / "model.gguf", self.spec)
        (directory / "tokenizer.json").write_text(json.dumps(self.document))
        (directory / "tokenizer_config.json").write_text(json.dumps(self.config | {"chat_template": self.template}))
        (directory / "generation_config.json").write_text(json.dumps({"eos_token_id": list(self.ends)}))
        (directory / "own.yaml").write_text(SUITE)


def changed(**fields: object) -> Callable[[], Pair]:
    """Make a pair whose model differs in these fields of its specification."""
    return lambda: Pair(spec=replace(BPE, **fields))


def typed(id: int, type: int, **fields: object) -> Callable[[], Pair]:
    types = list(BPE.types)
    types[id] = type
    return changed(types=types, **fields)


def swapped() -> Pair:
    tokens = list(BPE.tokens)
    tokens[65], tokens[66] = tokens[66], tokens[65]
    return Pair(spec=replace(BPE, tokens=tokens))


def more(token: str, type: int) -> Callable[[], Pair]:
    return changed(tokens=[*BPE.tokens, token], types=[*BPE.types, type])


def with_bos_template(template: str = BOS_TEMPLATE) -> Pair:
    spec = replace(BPE, add_bos=True, chat_template=template)
    bos = {"SpecialToken": {"id": "<|im_start|>", "type_id": 0}}
    processor = {
        "type": "TemplateProcessing",
        "single": [bos, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [bos, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<|im_start|>": {"id": "<|im_start|>", "ids": [260], "tokens": ["<|im_start|>"]}},
    }
    return Pair(spec=spec, document=bpe_json(spec) | {"post_processor": processor}, template=template)


ROWS: dict[str, Callable[[], Pair]] = {
    "none": Pair,
    "a text is encoded to other ids, because a merge is lost": changed(merges=MERGES[1:]),
    "a merge is lost that no case needs": changed(merges=[merge for merge in MERGES if merge != "Ġ ab"]),
    "merges in another order that no text shows": changed(merges=[*MERGES[:2], MERGES[3], MERGES[2]]),
    "a merge that makes no token, which no text shows": changed(merges=[*MERGES, "x y"]),
    "a merge that makes no token, in a text that no case has": changed(merges=["x a", *MERGES]),
    "an id represents different bytes": swapped,
    "a token that only the reference has": changed(tokens=BPE.tokens[:-1], types=BPE.types[:-1]),
    "a token that only the model has": more("extra", USER_DEFINED),
    "padding that only the model has": more("[PAD263]", UNUSED),
    "a marker of the reference that is an ordinary token": typed(262, NORMAL),
    "an ordinary token of the reference that is matched in texts": typed(256, USER_DEFINED),
    "an ordinary token of the reference whose type is 0": typed(256, 0),
    "another EOS": changed(special_ids={"bos": 260, "eos": 262, "eot": 261}),
    "another BOS, which is added to no text": changed(special_ids={"bos": 261, "eos": 261, "eot": 261}),
    "another padding token": lambda: Pair(
        spec=replace(BPE, special_ids={**BPE.special_ids, "pad": 262}),
        config={"eos_token": "<|im_end|>", "bos_token": "<|im_start|>", "pad_token": "<|im_end|>"},
    ),
    "a token that ends a generation in the reference only": lambda: Pair(ends=(261, 262)),
    "BOS is added to texts by the model only": changed(add_bos=True),
    "another chat template": lambda: Pair(template=CHATML.replace("message.role", "'the ' + message.role")),
    "a chat template that begins with BOS, which is added as well": with_bos_template,
    "a chat template that itself writes BOS twice": lambda: with_bos_template("{{ bos_token }}" + BOS_TEMPLATE),
    "a chat template that is no Jinja": changed(chat_template=CHATML + "{% if"),
    "the same ids are decoded differently": lambda: Pair(document=bpe_json(BPE) | {"decoder": None}),
    "a setting without effect": changed(remove_extra_whitespaces=True),
    "a marker of the chat template typed NORMAL, with a rebuilt reference": lambda: replace(
        typed(260, NORMAL)(), location="rebuilt"
    ),
    "a file that llama.cpp refuses": changed(tokens=[*BPE.tokens[:-1], BPE.tokens[0]]),
}


def documented_rows() -> list[list[str]]:
    lines = (ROOT / "docs" / "differences.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return rows[1:]


def test_every_row_is_made():
    assert [row[0] for row in documented_rows()] == list(ROWS)


@pytest.mark.parametrize("row", thinned(4, documented_rows()), ids=lambda row: row[0])
def test_a_difference_has_the_documented_exit_codes(row: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    name, aspects, *codes = row
    pair = ROWS[name]()
    pair.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    reference = [] if pair.location == "rebuilt" else ["-r", pair.location]
    commands = (
        ["run", "model.gguf", "-r", pair.location, "--cases", "own.yaml", "--no-diagnose"],
        ["audit", "model.gguf", *reference],
        ["check", "model.gguf", "-r", pair.location, "--cases", "own.yaml"],
    )
    results = [CliRunner().invoke(main, command) for command in commands]
    assert [str(result.exit_code) for result in results] == codes, "\n".join(result.output for result in results)
    for aspect in aspects.replace(": shown", "").replace("`", "").split(", "):
        assert not aspect or f" {name_aspect(Aspect(aspect))}: " in " ".join(results[0].output.split())


@pytest.mark.parametrize(
    ("name", "options", "code"),
    [
        ("none", [], 0),
        ("another EOS", [], 1),
        ("another EOS", ["--fail-on", "none"], 0),
        ("a token that ends a generation in the reference only", [], 1),
        ("padding that only the model has", [], 0),
        ("padding that only the model has", ["--fail-on", "padding"], 1),
        ("a marker of the chat template typed NORMAL, with a rebuilt reference", [], 1),
    ],
)
def test_fuzz_fails_on_the_same_differences(tmp_path: Path, name: str, options: list[str], code: int):
    pair = ROWS[name]()
    pair.write(tmp_path)
    reference = pair.location if pair.location == "rebuilt" else str(tmp_path / pair.location)
    few = ["--generator", "digits", "--texts", "9", "--no-replay"]
    result = CliRunner().invoke(main, ["fuzz", str(tmp_path / "model.gguf"), "-r", reference, *few, *options])
    assert result.exit_code == code, result.output
    assert "9 texts: nothing found" in result.stdout
