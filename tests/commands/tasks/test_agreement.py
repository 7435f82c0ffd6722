"""One table of differences: every command judges each with the same severity, and `run` names what `fix` writes.

Each row is made in a small vocabulary and compared with the intact file. The severities follow from what a difference
does to a prompt or to the end of a generation, not from what the commands return.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.made_vocabulary import bpe, spm, unigram, wordpiece
from support.selection import thinned
from tokverify.commands.cli import main
from tokverify.sources.gguf.writer import write_gguf
from tokverify.spec import TokenizerSpec, TokenType

pytestmark = pytest.mark.process  # takes seconds
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = (type.value for type in list(TokenType)[1:])
Make = Callable[[TokenizerSpec], TokenizerSpec]


@cache
def base(family: Callable[[], TokenizerSpec]) -> TokenizerSpec:
    """Return a vocabulary in which every role has a token of its own, at the end."""
    spec = family()
    more = ("<|eom_id|>", "<|fill|>", "<|spare_a|>", "<|spare_b|>")
    size = len(spec.tokens)
    return replace(
        spec,
        tokens=[*spec.tokens, *more],
        types=[*spec.types, *[CONTROL] * len(more)],
        scores=None if spec.scores is None else [*spec.scores, *[0.0] * len(more)],
        special_ids={**spec.special_ids, "eom": size, "mask": size + 1},
    )


def role(name: str, text: str | None) -> Make:
    """Give a role to another token, or to none."""

    def make(spec: TokenizerSpec) -> TokenizerSpec:
        others = {key: id for key, id in spec.special_ids.items() if key != name}
        return replace(spec, special_ids=others if text is None else {**others, name: spec.tokens.index(text)})

    return make


def typed(type: int, *texts: str) -> Make:
    return lambda spec: replace(
        spec, types=[type if token in texts else old for token, old in zip(spec.tokens, spec.types, strict=True)]
    )


def exchanged(field: str, first: str, second: str) -> Make:
    """Exchange what two tokens have."""

    def make(spec: TokenizerSpec) -> TokenizerSpec:
        values = list(getattr(spec, field))
        one, two = spec.tokens.index(first), spec.tokens.index(second)
        values[one], values[two] = values[two], values[one]
        return replace(spec, **{field: values})

    return make


def appended(token: str, type: int) -> Make:
    return lambda spec: replace(
        spec,
        tokens=[*spec.tokens, token],
        types=[*spec.types, type],
        scores=None if spec.scores is None else [*spec.scores, -1e6],
    )


def cut(spec: TokenizerSpec) -> TokenizerSpec:
    """Lose the last token."""
    return replace(
        spec, tokens=spec.tokens[:-1], types=spec.types[:-1], scores=None if spec.scores is None else spec.scores[:-1]
    )


def with_merges(change: Callable[[list[str]], Sequence[str]]) -> Make:
    return lambda spec: replace(spec, merges=list(change(list(spec.merges or ()))))


@cache
def spm_with_eos() -> TokenizerSpec:
    """Return a vocabulary whose chat template writes EOS."""
    spec = spm()
    return replace(spec, chat_template=f"{spec.chat_template}{{{{ eos_token }}}}")


def setting(**fields: object) -> Make:
    return lambda spec: replace(spec, **fields)


def unchanged(spec: TokenizerSpec) -> TokenizerSpec:
    return spec


ROWS: dict[str, tuple[Callable[[], TokenizerSpec], Make, str | None]] = {
    # Vocabulary, how the model differs, severity; None for no difference at all.
    "nothing; the template begins with BOS, which is added as well": (spm, unchanged, None),
    "nothing, in BPE": (bpe, unchanged, None),
    "another EOS, beside which llama.cpp ends a generation, too": (spm, role("eos", "<|end|>"), "WARNING"),
    "another EOS, which the template writes": (spm_with_eos, role("eos", "<|end|>"), "ERROR"),
    "an ordinary word as EOS": (bpe, role("eos", "the"), "ERROR"),
    "EOS lost": (bpe, role("eos", None), "ERROR"),
    "another BOS": (spm, role("bos", "<|spare_a|>"), "ERROR"),
    "another BOS, which is added to no text": (bpe, role("bos", "<|spare_a|>"), "ERROR"),
    "another EOT": (spm, role("eot", "<|spare_a|>"), "ERROR"),
    "another EOM": (spm, role("eom", "<|spare_a|>"), "ERROR"),
    "a token that ends a generation in the model only": (spm, role("fim_pad", "<|spare_a|>"), "ERROR"),
    "another unknown token": (spm, role("unk", "<|spare_a|>"), "ERROR"),
    "another separator": (wordpiece, role("sep", "<|spare_a|>"), "ERROR"),
    "another padding token": (spm, role("pad", "<|spare_a|>"), "INFO"),
    "padding token lost": (spm, role("pad", None), "INFO"),
    "another mask": (spm, role("mask", "<|spare_a|>"), "WARNING"),
    "two markers typed NORMAL": (spm, typed(NORMAL, "<|turn|>", "<|image|>"), "ERROR"),
    "a marker that users can forge": (spm, typed(USER_DEFINED, "<|turn|>"), "ERROR"),
    "an added word typed NORMAL": (spm, typed(NORMAL, "harbor bridge"), "ERROR"),
    "an added word typed CONTROL": (spm, typed(CONTROL, "harbor bridge"), "ERROR"),
    "an ordinary word typed USER_DEFINED": (spm, typed(USER_DEFINED, "▁the"), "ERROR"),
    "a word typed UNUSED": (bpe, typed(UNUSED, "the"), "ERROR"),
    "a byte token typed NORMAL": (spm, typed(NORMAL, "<0x0A>"), "ERROR"),
    "two words exchanged": (spm, exchanged("tokens", "▁the", "▁and"), "ERROR"),
    "two scores exchanged": (spm, exchanged("scores", "▁th", "▁the"), "ERROR"),
    "two scores exchanged, which few texts show": (spm, exchanged("scores", "▁t", "▁and"), "ERROR"),
    "two scores exchanged, which no text shows": (spm, exchanged("scores", "▁t", "he"), "INFO"),
    "two scores of a unigram model exchanged": (unigram, exchanged("scores", "▁the", "▁and"), "ERROR"),
    "a merge lost": (bpe, with_merges(lambda merges: [merge for merge in merges if merge != "Ġ n"]), "ERROR"),
    "a merge lost that no text needs": (bpe, with_merges(lambda merges: [m for m in merges if m != "Ġ Ġ"]), "INFO"),
    "merges in reverse": (bpe, with_merges(lambda merges: merges[::-1]), "ERROR"),
    "a token that only the reference has": (spm, cut, "ERROR"),
    "a token that only the model has": (spm, appended("zebra crossing", USER_DEFINED), "ERROR"),
    "padding that only the model has": (spm, appended("[PAD9999]", UNUSED), "INFO"),
    "BOS off": (spm, setting(add_bos=False), "ERROR"),
    "EOS on": (spm, setting(add_eos=True), "ERROR"),
    "the space before a text off": (spm, setting(add_space_prefix=False), "ERROR"),
    "another pre-tokenizer": (bpe, setting(pre="llama-bpe"), "ERROR"),
    "lower case": (wordpiece, setting(lowercase=True), "ERROR"),
}
FILES = ("model.gguf", "-r", "reference.gguf")


def invoke(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, list(arguments))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout


def invoke_json(*arguments: str) -> tuple[int, dict]:
    code, output = invoke(*arguments, "-f", "json")
    return code, json.loads(output)


@pytest.mark.parametrize("row", thinned(20, ROWS))
def test_every_command_says_the_same(row: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    family, make, severity = ROWS[row]
    right = base(family)
    write_gguf(tmp_path / "reference.gguf", right)
    write_gguf(tmp_path / "model.gguf", make(right))
    monkeypatch.chdir(tmp_path)
    code, run = invoke_json("run", *FILES)
    audit_code, audit = invoke_json("audit", *FILES)
    codes = {
        "run": code,
        "run without a diagnosis": invoke("run", *FILES, "--no-diagnose")[0],
        "audit": audit_code,
        "check": invoke("check", *FILES, "--only", "run", "--only", "audit")[0],
    }
    assert codes == dict.fromkeys(codes, int(severity == "ERROR"))
    fix_code, fix = invoke_json("fix", *FILES, "-o", "fixed.gguf")
    assert fix_code == 0
    check_findings(run, audit, severity)
    check_repair(run, fix)
    if severity == "ERROR":
        assert invoke("run", "fixed.gguf", "-r", "reference.gguf")[0] == 0


def check_findings(run: dict, audit: dict, severity: str | None) -> None:
    """Check that `audit` reports every difference of `run` as it is, and that none is more severe than the row says."""
    reported, found = (
        {(each["code"], each["severity"], each["message"]) for each in listed}
        for listed in (run["differences"], audit["findings"])
    )
    coded = {each for each in reported if each[0] is not None}
    assert coded <= found
    severities = {each for _, each, _ in reported}
    if severity is None:
        assert severities == set()
    elif run["summary"]["mismatch"] == 0:
        assert max(severities, key=["INFO", "WARNING", "ERROR"].index) == severity


def check_repair(run: dict, fix: dict) -> None:
    """Check that `run` names exactly what `fix` would write, and both nothing only if nothing fails."""
    named = [each for each in (run["diagnosis"] or {"explanations": []})["explanations"] if each["is_repair"]]
    if run["summary"]["exit_code"] == 0:
        assert named == []
    else:
        assert [each["expressible_part"] or each["sentence"] for each in named] == [fix["repair"]["sentence"]]
