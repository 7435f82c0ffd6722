"""Commands and options under the names they had in the previous version."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from support.paths import SAMPLE
from support.program import list_commands
from support.selection import slow_if
from tokverify.commands.cli import main
from tokverify.commands.cli.group import RENAMED, replace_old_names

MODEL = str(SAMPLE / "sample.gguf")
REFERENCE = str(SAMPLE / "sample.tokenizer.model")


@pytest.mark.parametrize("written", [["--count", "7"], ["--count=7"]])
def test_an_old_name_works_and_is_noted(written):
    result = CliRunner().invoke(main, ["fuzz", MODEL, "-r", REFERENCE, "--no-replay", *written])
    assert result.exit_code == 0, result.output
    assert "7 texts" in result.stdout
    assert result.stderr.splitlines()[0] == "note: --count is now called --texts"


@pytest.mark.parametrize("command", ["merge", "retry"])
def test_an_option_that_a_subcommand_never_had_is_not_noted(command):
    result = CliRunner().invoke(main, ["corpus", command, "state", "--text", "body"])
    assert result.exit_code == 2
    assert "No such option" in result.stderr
    assert "is now called" not in result.stderr


@pytest.mark.parametrize("command", [["corpus"], ["corpus", "verify"]])
def test_old_names_work_with_and_without_the_default_command(command):
    result = CliRunner().invoke(main, [*command, MODEL, "missing.txt", "-r", REFERENCE, "--text", "body"])
    assert result.stderr.splitlines()[0] == "note: --text is now called --text-column"
    assert "missing.txt" in result.stderr


@pytest.mark.slow
def test_explain_shows_everything_with_the_old_name_as_with_the_new_one():
    text = "word " * 200
    full, verbose, short = (
        CliRunner().invoke(main, ["explain", MODEL, text, *option]) for option in (["--full"], ["-v"], [])
    )
    assert full.stderr == "note: --full is now called --verbose\n"
    assert full.stdout == verbose.stdout != short.stdout


OLD_AND_NEW = [
    ("audit MODEL", "run MODEL --no-reference"),
    ("audit BROKEN -r REFERENCE --select TV --ignore TV120", "run BROKEN -r REFERENCE --select TV --ignore TV120"),
    ("audit MODEL BROKEN", "run MODEL BROKEN --no-reference"),
    (
        "stream MODEL -r REFERENCE --suite seed --no-resume",
        "run MODEL -r REFERENCE --suite seed --streaming --no-resume",
    ),
    ("conformance BROKEN -r REFERENCE --texts 9", "run BROKEN -r REFERENCE --texts 9 --judge model"),
    ("canonical LOG MODEL", "corpus verify MODEL LOG --ids auto"),
    ("canonical LOG MODEL --field a --field b --examples 1", "corpus verify MODEL LOG --ids a --ids b --examples 1"),
    ("stats MODEL", "inspect MODEL --texts shipped"),
    ("stats MODEL LOG -m REFERENCE", "inspect MODEL --texts LOG -r REFERENCE"),
    ("learn -r REFERENCE -o OUT --force", "convert -r REFERENCE -o OUT --force"),
]


@pytest.mark.process  # takes seconds
@pytest.mark.parametrize(("old", "new"), slow_if(lambda old, _: "conformance" in old, OLD_AND_NEW))
def test_an_old_command_has_the_output_and_the_exit_code_of_its_new_form(tmp_path: Path, old: str, new: str):
    log = tmp_path / "log.jsonl"
    log.write_text('{"ids": [1716, 1723, 1715], "a": [1142], "b": [982, 1716]}\n')
    names = {
        "MODEL": MODEL,
        "BROKEN": MODEL.replace("sample.gguf", "sample-broken.gguf"),
        "REFERENCE": REFERENCE,
        "LOG": str(log),
        "OUT": str(tmp_path / "out.gguf"),
    }
    for options in ([], ["-q"], ["-f", "json"]):
        results = [
            CliRunner().invoke(main, [*(names.get(word, word) for word in form.split()), *options])
            for form in (old, new)
        ]
        first, second = results
        assert (first.exit_code, first.stdout) == (second.exit_code, second.stdout)
        assert first.exit_code in {0, 1}, first.output
        assert "is now called" not in first.stderr
        note = f"note: `tokverify {old.split(maxsplit=1)[0]}` is now `tokverify "
        assert first.stderr.startswith(note) == (not options)
        assert second.stderr == ""


def test_an_argument_after_two_dashes_is_no_option():
    assert replace_old_names("fuzz", ["--", "--count"]) == ["--", "--count"]


def written(parameter: click.Parameter) -> list[str]:
    return [*parameter.opts, *parameter.secondary_opts]


def test_new_names_exist_and_old_ones_do_not():
    commands = dict(list_commands())
    for command, names in RENAMED.items():
        options = {option for parameter in commands[command].params for option in written(parameter)}
        assert set(names.values()) <= options
        assert set(names).isdisjoint(options)
