"""The commands that a diagnosis offers are complete, quoted, and work when pasted."""

import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.explanation_maker import explanation
from support.pasting import HOSTILE, from_markdown, from_table
from support.paths import SAMPLE
from support.selection import thinned
from tokverify.commands.cli import main
from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions
from tokverify.repair.repair import add_repairs
from tokverify.report.codec import read
from tokverify.report.diagnosis import Diagnosis, Explanation, Repair, command_line
from tokverify.report.run import Report
from tokverify.report.side import Side
from tokverify.report.vocabulary_difference import VocabularyDifference
from tokverify.sources.gguf.cursor import ValueType
from tokverify.sources.gguf.metadata import Value
from tokverify.sources.gguf.patch import write_patched

OPTIONS = {"model": "m.gguf", "reference": "r.json", "revision": None, "cases": []}


def report(*explanations: Explanation, **options: object) -> Report:
    found = explanations or (explanation(),)
    sides = Side("m", "m"), Side("sentencepiece", "sentencepiece")
    asked = {**OPTIONS, **options}
    return Report(*sides, VocabularyDifference(1, 1), (), options=asked, diagnosis=Diagnosis(found, 1, 1))


def repairs(report: Report) -> list[Repair]:
    return [found.repair for found in add_repairs(report).diagnosis.explanations]


def commands(report: Report) -> list[str]:
    (repair,) = repairs(report)
    return [f"{command.label}: {command_line(command)}" for command in repair.commands]


@pytest.mark.parametrize(
    ("options", "command"),
    [
        ({}, "tokverify fix m.gguf -r r.json -o m-fixed.gguf"),
        ({"model": "a/b c.gguf"}, "tokverify fix 'a/b c.gguf' -r r.json -o 'b c-fixed.gguf'"),
        ({"model": "a/$(x)"}, "tokverify fix 'a/$(x)' -r r.json -o '$(x)-fixed.gguf'"),
        ({"model": "-q.gguf"}, "tokverify fix ./-q.gguf -r r.json -o ./-q-fixed.gguf"),
        ({"model": "a\x1b.gguf"}, "tokverify fix MODEL -r r.json -o FIXED.gguf"),
        ({"reference": None}, "tokverify fix m.gguf -o m-fixed.gguf"),
        ({"reference": "o/n", "revision": "v1"}, "tokverify fix m.gguf -r o/n@v1 -o m-fixed.gguf"),
        ({"reference": "a\nb"}, "tokverify fix m.gguf -r REFERENCE -o m-fixed.gguf"),
        ({"cases": ["a b", "c"]}, "tokverify fix m.gguf -r r.json -o m-fixed.gguf --cases 'a b' --cases c"),
        # From a saved report that was written by hand.
        ({"model": 5, "reference": {}, "cases": 7}, "tokverify fix MODEL -o FIXED.gguf"),
    ],
)
def test_the_command_uses_the_options_of_the_run(options, command):
    assert commands(report(**options)) == [f"repair: {command}"]


@pytest.mark.parametrize(
    "part", [{"suites": ["s"]}, {"tags": ["t"]}, {"patterns": ["a*"]}, {"max_failures": 1}, {"last_failed": True}]
)
def test_the_label_says_that_fix_checks_all_cases_if_the_run_was_filtered(part):
    assert commands(report(**part)) == [
        "repair, checked against all cases: tokverify fix m.gguf -r r.json -o m-fixed.gguf"
    ]


def test_an_empty_command_is_replaced_by_that_of_tokverify():
    # From a saved report that was written by hand.
    blank = report(explanation(), explanation(gguf_command=" "))
    assert "     repair: tokverify fix m.gguf " in FORMATS["run"]["table"](add_repairs(blank), RenderOptions())


def test_unknown_files_are_placeholders():
    of_library = replace(report(), options={})
    assert commands(of_library) == ["repair: tokverify fix MODEL -r REFERENCE -o FIXED.gguf"]
    from_file = replace(of_library, actual=Side("m", "a/m.gguf"))
    assert commands(from_file) == ["repair: tokverify fix a/m.gguf -r REFERENCE -o m-fixed.gguf"]


def test_expected_ids_of_cases_are_no_reference_for_fix():
    of_expect = replace(report(reference=None), expected=Side("expect", "cases"), vocabulary=None)
    assert commands(of_expect) == ["repair: tokverify fix m.gguf -r REFERENCE -o m-fixed.gguf"]


def test_commands_of_the_gguf_package_name_the_files():
    new = explanation(gguf_command="gguf-new-metadata --pre-tokenizer x MODEL FIXED")
    assert commands(report(new, model="FIXED"))[1:] == [
        "or: gguf-new-metadata --pre-tokenizer x FIXED FIXED-fixed.gguf"
    ]
    named = explanation(gguf_command="gguf-new-metadata --general-name 'a MODEL phi-3' MODEL FIXED")
    assert commands(report(named))[1:] == ["or: gguf-new-metadata --general-name 'a MODEL phi-3' m.gguf m-fixed.gguf"]
    in_place = explanation(gguf_command="gguf-set-metadata MODEL a.key ''")
    assert commands(report(in_place))[1:] == ["or, in place: gguf-set-metadata m.gguf a.key ''"]


def test_their_arguments_are_not_split():
    words = ("gguf-new-metadata", "--chat-template", "a  MODEL $(b)", "MODEL", "FIXED")
    (repair,) = repairs(report(explanation(gguf_command=shlex.join(words))))
    assert repair.commands[1].arguments == (*words[:2], "'a  MODEL $(b)'", "m.gguf", "m-fixed.gguf")


@pytest.mark.parametrize("letter", ["x", "日", "\ud800"])
def test_the_repaired_copy_has_a_valid_file_name(letter: str):
    (repair,) = repairs(report(model="a/" + letter * (250 // len(letter.encode(errors="surrogatepass"))) + ".gguf"))
    name = shlex.split(repair.commands[0].arguments[3])[1]
    assert 240 < len(name.encode()) <= 255 or name == "FIXED.gguf"
    assert name.isprintable()
    assert name.endswith("-fixed.gguf") or name == "FIXED.gguf"


def test_fix_is_suggested_for_the_explanation_that_it_repairs():
    first, second, third = (explanation(), explanation(), explanation(gguf_command="gguf-new-metadata MODEL FIXED"))
    found = repairs(report(explanation(expressible=False), first, second, third))
    not_possible = "GGUF cannot express it: the runtime would have to do it"
    other = "a GGUF file can express it, but fix chooses another repair"
    assert [repair.remark for repair in found] == [not_possible, "", other, ""]
    assert [[command.label for command in repair.commands] for repair in found] == [[], ["repair"], [], ["repair"]]


@pytest.mark.parametrize("model", ["tokenizer.json", "spiece.model", "a.tiktoken:gpt2"])
def test_only_gguf_files_can_be_fixed(model: str):
    (repair,) = repairs(report(model=model))
    assert repair.remark == "GGUF can express it; tokverify fix repairs only GGUF files"


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, arguments)
    return result.exit_code, result.stdout


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str, str]:
    """Make a model, a reference and a suite whose names contain shell syntax, in the current directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-a").mkdir()
    model, reference, suite = f"-a/{HOSTILE}.gguf", f"-{HOSTILE}.model", f"{HOSTILE}.yaml"
    shutil.copy(SAMPLE / "sample-broken.gguf", model)
    shutil.copy(SAMPLE / "sample.tokenizer.model", reference)
    Path(suite).write_text('suite: s\ncases:\n  - {id: a, text: "a  b"}\n  - {id: b, text: "word"}\n')
    return model, reference, suite


@pytest.mark.parametrize("format", thinned(3, ["table", "markdown", "saved"]))
def test_the_pasted_command_repairs_the_file(files: tuple[str, str, str], format: str):
    model, reference, suite = files
    options = [f"./{model}", "-r", f"./{reference}", "--cases", suite]
    code, text = run("run", *options, "-f", "markdown" if format == "markdown" else "table")
    assert code == 1
    if format == "markdown":
        command = from_markdown(text)
    elif format == "saved":
        assert run("run", *options, "-o", "saved.json")[0] == 1
        narrow = RenderOptions(width=50)
        command = from_table(FORMATS["run"]["table"](read("saved.json", Report), narrow), "repair: ")
    else:
        command = from_table(text, "repair: ")
    assert command[:2] == ["tokverify", "fix"]
    code, output = run(*command[1:])
    assert code == 0, output
    fixed = command[command.index("-o") + 1]
    assert Path(fixed).read_bytes() == (SAMPLE / "sample.gguf").read_bytes()
    assert run("run", fixed, *options[1:])[0] == 0


@pytest.mark.slow
def test_the_pasted_command_of_the_gguf_package_repairs_the_file(files: tuple[str, str, str]):
    model, reference, suite = files
    Path(model).unlink()
    prefix = {"tokenizer.ggml.add_space_prefix": Value(ValueType.BOOL, data=True)}
    write_patched(SAMPLE / "sample.gguf", Path(model), prefix)
    options = [f"./{model}", "-r", f"./{reference}", "--cases", suite]
    code, text = run("run", *options)
    assert code == 1
    command = from_table(text, "or, in place: ")
    assert command[0] == "gguf-set-metadata"
    subprocess.run(
        [sys.executable, "-m", "gguf.scripts.gguf_set_metadata", *command[1:]],
        stdin=subprocess.DEVNULL,
        check=True,
        capture_output=True,
    )
    assert run("run", *options)[0] == 0


def test_a_command_is_wrapped_only_between_arguments():
    long = "directory/" * 9 + "m.gguf"
    text = FORMATS["run"]["table"](add_repairs(report(model=long, cases=["a.yaml"])), RenderOptions(width=40))
    lines = text[text.index("repair: ") :].split("\n")[:5]
    assert lines == [
        "repair: tokverify fix \\",
        f"             {long} \\",
        "             -r r.json -o m-fixed.gguf \\",
        "             --cases a.yaml",
        "",
    ]
