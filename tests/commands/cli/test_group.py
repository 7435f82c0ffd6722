import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from support.paths import ROOT, SAMPLE
from tokverify.commands.cli import main
from tokverify.commands.cli.group import TokverifyGroup
from tokverify.errors import SeveralError, TokverifyError, UnsupportedError

REPORT = ROOT / "reports" / "sample.json"


def invoke(action):
    @click.group(cls=TokverifyGroup)
    def group():
        pass

    @group.command()
    def act():
        return action()

    return CliRunner().invoke(group, ["act"])


def failing_with(error):
    def fail():
        raise error

    return fail


@pytest.mark.parametrize(("returned", "code"), [(None, 0), (0, 0), (1, 1), (2, 2)])
def test_a_command_returns_its_exit_code(returned, code):
    assert invoke(lambda: returned).exit_code == code


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (TokverifyError("no such file"), 2, "error: no such file\n"),
        (UnsupportedError("a\nb"), 2, "error: a↵b\n"),
        (SeveralError("a", "b"), 2, "error: a\nerror: b\n"),
        (TokverifyError("token '\x1b[31m'"), 2, "error: token '\\x1b[31m'\n"),
        (TokverifyError("write \\t for \x1b"), 2, "error: write \\t for \\x1b\n"),
        (click.UsageError("wrong"), 2, "Error: wrong"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (click.Abort(), 130, "interrupted\n"),
        (KeyError("oops"), 3, "KeyError: 'oops'"),
        (ValueError("token\x1b[31m"), 3, "ValueError: token\\x1b[31m\n"),
        (click.UsageError("no such option --\x1b]0;"), 2, "no such option --\\x1b]0;\n"),
        (RecursionError(), 3, "this is a bug in tokverify"),
    ],
)
def test_every_error_becomes_an_exit_code(error, code, message):
    result = invoke(failing_with(error))
    assert result.exit_code == code
    assert message in result.stderr
    assert ("Traceback" in result.stderr) == (code == 3)
    assert result.stdout == ""


@pytest.mark.parametrize("command", ["run", "check", "fix", "explain", "chat", "fuzz", "diff", "convert"])
def test_an_argument_has_no_empty_row_among_the_options(command: str):
    lines = CliRunner().invoke(main, [command, "--help"]).output.splitlines()
    assert not [line for line in lines if line.strip("[]. ").isupper()]


def test_a_command_is_listed_without_being_imported():
    group = TokverifyGroup("group", modules={"json": "tests_no_such_module"})
    context = click.Context(group)
    assert group.list_commands(context) == ["json"]
    assert group.get_command(context, "yaml") is None
    with pytest.raises(ModuleNotFoundError, match="tests_no_such_module"):
        group.get_command(context, "json")


def test_only_the_command_that_runs_is_imported():
    script = (
        "import sys; from tokverify.commands import cli; cli.main(['encode', '--help'], standalone_mode=False);"
        "print([name for name in ('run', 'encode') if f'tokverify.commands.cli.{name}' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("['encode']\n")


def test_a_run_in_which_nothing_differs_imports_neither_rules_nor_limits_nor_other_libraries():
    arguments = ["run", str(SAMPLE / "sample.gguf"), "-r", str(SAMPLE / "sample.tokenizer.model"), "-q"]
    script = (
        f"import sys; from tokverify.commands import cli; code = cli.main({arguments}, standalone_mode=False);"
        "print(code, [name for name in ('jinja2', 'tokenizers', 'tokverify.compare.checks', 'tokverify.compare.limits',"
        " 'tokverify.chat', 'tokverify.repair') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["report", "show", str(REPORT), "-f", "github"], 1, ""),
        (["run"], 2, "error: the current directory no longer exists; change to another one\n"),
        (["report", "show", str(REPORT), "-o", "a.json"], 2, "error: the current directory no longer exists"),
    ],
)
def test_a_missing_current_directory_is_an_error_and_not_a_bug(tmp_path, monkeypatch, arguments, code, message):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == code, result.output
    assert message in result.stderr


@pytest.mark.parametrize("arguments", [["run", "\x1b" * 200, "-r", "\x1b" * 1500], ["run"]])
def test_a_message_is_short_after_escaping_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tokverify.toml").write_text(f'[[models]]\nmodel = "a.gguf"\nbaseline = "{"é" * 5000}"\n')
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert max(map(len, result.stderr.splitlines())) < 2100
