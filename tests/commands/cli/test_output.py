import os
import stat
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from support.paths import SAMPLE
from support.program import list_commands
from support.selection import thinned
from tokverify.commands.cli import main
from tokverify.commands.cli.output import ReportFile, ReportOptions
from tokverify.commands.cli.stream import render_options
from tokverify.errors import TokverifyError
from tokverify.render.kinds import SUFFIXES
from tokverify.system.output_file import check_writable, write_file

SAMPLES = SAMPLE


def test_a_file_is_replaced_in_one_step(tmp_path):
    path = tmp_path / "report.json"
    write_file(path, "one\n")
    write_file(path, "two é\n")
    assert path.read_bytes() == "two é\n".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_are_kept_and_links_followed(tmp_path):
    path, link = tmp_path / "report.json", tmp_path / "link.json"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_file(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "report.json"
    path.write_text("old")

    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(TokverifyError, match="cannot be written: No space left on device"):
        write_file(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_device_is_written_in_place(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_file(pipe, "report")
        assert os.read(reader, 100) == b"report"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_an_unwritable_output_is_an_error_before_any_work(tmp_path):
    check_writable(tmp_path / "report.json")
    for path in (tmp_path, tmp_path / "missing" / "report.json"):
        with pytest.raises(TokverifyError, match="cannot be written"):
            check_writable(path)


class Terminal:
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("variables", "no_color", "color"),
    [
        ({}, False, True),
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, False, True),
        ({"TERM": "dumb"}, False, False),
    ],
)
def test_color_on_a_terminal(variables, no_color, color, monkeypatch):
    for name, value in ({"TERM": "xterm", "NO_COLOR": "", "COLUMNS": "77"} | variables).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout", Terminal())
    options = render_options(no_color=no_color)
    assert options.color is color
    assert options.width == 77


@pytest.mark.parametrize(
    ("variables", "no_color", "color"),
    [
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": ""}, False, False),
        ({"FORCE_COLOR": "1"}, True, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
    ],
)
def test_color_in_a_pipe(variables, no_color, color, monkeypatch, capsys):
    for name, value in ({"NO_COLOR": "", "COLUMNS": "77"} | variables).items():
        monkeypatch.setenv(name, value)
    options = render_options(no_color=no_color)
    assert (options.color, options.width) == (color, 100)


def test_no_color_and_a_fixed_width_off_a_terminal(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "77")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    options = render_options(no_color=False)
    assert (options.color, options.width) == (False, 100)


@pytest.mark.parametrize(
    ("name", "output", "chosen"),
    [
        (None, None, "table"),
        (None, "report.json", "json"),
        (None, "report.txt", "table"),
        (None, "report.XML", "junit"),
        (None, "-", "table"),
        ("json", None, "json"),
    ],
)
def test_the_format_is_requested_or_implied_by_the_file_name(name, output, chosen):
    path = Path(output) if output else None
    options = ReportOptions(format_name=name, output=path, quiet=False, verbose=False, no_color=False)
    assert options.report_files() == [ReportFile(chosen, None if output == "-" else path)]


@pytest.mark.parametrize("command", ["run", "audit", "fuzz"])
@pytest.mark.parametrize("which", ["model", "reference"])
def test_an_input_is_never_overwritten(tmp_path: Path, command: str, which: str):
    files = {"model": tmp_path / "own.gguf", "reference": tmp_path / "own.model"}
    for name, path in (("model", "sample.gguf"), ("reference", "sample.tokenizer.model")):
        files[name].write_bytes((SAMPLES / path).read_bytes())
    before = files[which].read_bytes()
    arguments = [command, str(files["model"]), "-r", str(files["reference"]), "-o", str(files[which])]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "it is an input" in result.stderr
    assert files[which].read_bytes() == before


@pytest.mark.parametrize(
    "arguments",
    [["run", "a" * 300], ["run", str(SAMPLES / "sample.gguf"), "-r", "rebuilt", "-k", "tab-1", "-o", "a" * 300]],
)
def test_a_file_name_that_is_too_long_is_an_error(arguments: list[str]):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "File name too long" in result.stderr


def report_commands() -> dict[str, list[str]]:
    """Return the formats of every command that has --report, by its name."""
    found = {}
    for name, command in list_commands():
        options = {option.name: option for option in command.params}
        if "reports" in options:
            (format,) = (option for option in command.params if "--format" in option.opts)
            found[name] = list(format.type.choices)
    return found


MAKING = {"convert", "fix", "learn"}
"""The commands whose `-o` is the file that they make. Their reports are written with `--report`."""

ALSO_REQUIRED = {"convert": ["absent-source"], "fix": ["--dry-run"], "inspect": ["--texts", "absent-texts"]}
"""Arguments without which a command writes no report, although each of them is optional."""


def required_arguments(name: str) -> list[str]:
    """Return the fewest arguments that a command accepts, none of which names a file that exists."""
    required = [parameter for parameter in dict(list_commands())[name].params if parameter.required]
    options = [[parameter.opts[0], "absent"] for parameter in required if isinstance(parameter, click.Option)]
    missing = [each for pair in options for each in pair]
    missing += [f"absent-{each.name}" for each in required if isinstance(each, click.Argument)]
    return missing or ["absent"]


@pytest.mark.parametrize("name", thinned(4, report_commands()))
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_report_is_written_to_a_file_named_like_another_format(tmp_path: Path, name: str, suffix: str):
    formats = report_commands()[name]
    path = tmp_path / f"x{suffix.upper()}"
    required = [*required_arguments(name), *ALSO_REQUIRED.get(name, [])]
    for format in formats:
        if format not in SUFFIXES[suffix]:
            places = [["--report", f"{format}={path}"], ["-f", format, "-o", path]]
            for options in places[:1] if name in MAKING else places:
                result = CliRunner().invoke(main, [*name.split(), *required, *map(str, options)])
                assert (result.exit_code, "the name of the file implies" in result.stderr) == (2, True), result.output
    assert not path.exists()
