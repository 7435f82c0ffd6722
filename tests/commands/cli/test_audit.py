"""Test `tokverify audit`: arguments, exit codes, output, hostile files, and no false alarms on real ones."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from support.hostile import FORBIDDEN, write_hostile
from support.paths import SAMPLE
from support.selection import thinned
from tokverify.commands.cli import main
from tokverify.compare.checks import RULES

MODEL, BROKEN, REFERENCE = (
    str(SAMPLE / name) for name in ("sample.gguf", "sample-broken.gguf", "sample.tokenizer.model")
)

TV1_BUT_NOT_TV12 = sum(code.startswith("TV1") and not code.startswith("TV12") for code in RULES)

# Arguments, exit code, fragments of stdout, fragments of stderr; {tmp} is a directory with the files created below.
TABLE = [
    ([MODEL], 0, ["NOT EVALUATED", "no reference was given", "no findings"], []),
    ([MODEL, "-r", REFERENCE], 0, [REFERENCE], []),
    ([MODEL, "-r", "rebuilt"], 0, ["caveat: the reference is rebuilt from", "cannot differ from it"], []),
    ([BROKEN], 1, ["ERROR TV120 escaped-space", "ids    4-18", "1 error"], []),
    ([BROKEN, "-r", REFERENCE], 1, ["ERROR TV202 added-token-mismatch"], []),
    ([BROKEN, "-q"], 1, [f"{len(RULES)} rules: 1 error"], []),
    ([BROKEN, "--ignore", "TV120"], 0, [f"{len(RULES) - 1} rules: no findings"], []),
    ([BROKEN, "--select", "tv120,TV101"], 1, ["2 rules: 1 error"], []),
    ([BROKEN, "--select", "TV1", "--ignore", "TV12"], 0, [f"{TV1_BUT_NOT_TV12} rules"], []),
    ([BROKEN, "--select", "TV120", "--ignore", "TV1"], 2, [], ["no rule selected"]),
    ([BROKEN, "--select", "TV9"], 2, [], ["no rule has a code that starts with 'TV9'"]),
    ([BROKEN, "--fail-on", "nonsense"], 2, [], ["'nonsense' is neither a severity nor an aspect"]),
    (
        [BROKEN, "--baseline", "{tmp}/good.yaml"],
        0,
        ["ACCEPTED ERROR TV120 escaped-space", "accepted: known", "good.yaml:1", "1 accepted"],
        [],
    ),
    (
        [MODEL, "--waivers", "{tmp}/good.yaml"],
        0,
        ["ENTRIES OF THE BASELINE THAT ACCEPT NOTHING", "good.yaml:1 known", "1 unused entry"],
        [],
    ),
    ([BROKEN, "--baseline", "{tmp}/bad.yaml"], 2, [], ["bad.yaml:1: a known failure has no reason"]),
    ([BROKEN, "--waivers", "{tmp}/absent.yaml"], 2, [], ["cannot read the known failures"]),
    ([BROKEN, "-f", "json"], 1, ['"code": "TV120"', '"severity": "ERROR"', '"exit_code": 1'], []),
    (
        [BROKEN, "-o", "{tmp}/out.json"],
        1,
        [],
        ["1 error; ", "with a reference; the report is in"],
    ),
    ([BROKEN, "-o", "{tmp}/missing/out.json"], 2, [], ["create it first"]),
    (["{tmp}/absent.gguf"], 2, [], ["no such file"]),
    (["{tmp}/good.yaml"], 2, [], ["not a GGUF file"]),
    ([MODEL, "-r", "{tmp}/nothing"], 2, [], ["no such file or directory"]),
    (["--explain", "TV101"], 0, ["## TV101 missing-pre-tokenizer (ERROR)", "**How to repair.**"], []),
    (["--explain", "all"], 0, [f"## {code} " for code in RULES], []),
    (["--explain", "TV999"], 2, [], ["there is no rule 'TV999'"]),
    ([], 2, [], ["Missing argument 'MODEL...'"]),
]


@pytest.fixture(scope="module")
def tmp(tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp("audit")
    (directory / "good.yaml").write_text("- code: TV120\n  reason: known\n")
    (directory / "bad.yaml").write_text("- code: TV120\n")
    write_hostile(directory / "hostile.gguf")
    write_hostile(directory / "refused.gguf", refused=True)
    return directory


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["audit", *arguments])


@pytest.mark.parametrize(("arguments", "code", "stdout", "stderr"), TABLE)
def test_command(tmp, arguments, code, stdout, stderr):
    result = run(*(argument.replace("{tmp}", str(tmp)) for argument in arguments))
    assert result.exit_code == code, result.output
    flat = " ".join(result.stdout.split())
    for fragment in stdout:
        assert " ".join(fragment.split()) in flat
    for fragment in stderr:
        assert fragment in result.stderr


def test_json_is_complete_and_stable(tmp):
    first, second = (run(BROKEN, "-r", REFERENCE, "-f", "json").stdout for _ in range(2))
    assert first == second
    document = json.loads(first)
    assert document["summary"]["error"] == len([f for f in document["findings"] if f["severity"] == "ERROR"])
    assert document["findings"][0]["ids"] == list(range(4, 19))
    assert document["reference"] == REFERENCE
    assert {"code", "name", "reason"} == document["not_evaluated"][0].keys()


@pytest.mark.parametrize("options", [[], ["-v"], ["-f", "json"]])
@pytest.mark.parametrize(("name", "code"), [("hostile.gguf", "TV120"), ("refused.gguf", "TV100")])
def test_hostile_file(tmp, name, code, options):
    result = run(str(tmp / name), "--fail-on", "INFO", *options)
    assert result.exit_code == 1, result.output
    assert code in result.stdout
    assert not any(character in result.stdout for character in FORBIDDEN)
    assert len(result.stdout) < 100_000


_LARGE = ("gemma-3", "gemma-4")
NAMES = ("bert-bge", "gpt-2", "llama-spm", "mpt", "nomic-bert-moe", "qwen2", "t5", "xlnet", *_LARGE)
PAIRS = [
    ("bert-bge", "json"), ("gpt-2", "json"), ("llama-spm", "model"), ("mpt", "json"),
    ("t5", "model"), ("xlnet", "model"),
    # slow: loading such a tokenizer.json takes seconds
    *(pytest.param(name, "json", marks=pytest.mark.slow) for name in ("llama-spm", *_LARGE)),
]  # fmt: skip


@pytest.mark.parametrize("name", thinned(2, NAMES))
def test_real_files_have_no_findings_without_a_reference(vocabs, name):
    assert errors(run(str(vocabs / f"{name}.gguf"), "-f", "json")) == set()


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_real_files_have_no_findings_against_their_reference(vocabs, name, kind):
    reference = str(vocabs / f"{name}.tokenizer.{kind}")
    found = errors(run(str(vocabs / f"{name}.gguf"), "-r", reference, "-f", "json"))
    assert found == set()


def errors(result: Result) -> set[str]:
    return {f["code"] for f in json.loads(result.stdout)["findings"] if f["severity"] == "ERROR"}
