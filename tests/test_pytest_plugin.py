"""Test the pytest plugin, which pytest runs in a new directory."""

import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import yaml  # noqa: F401 - pytester unloads modules imported by a test, and its C part must not be loaded twice

from support.paths import SAMPLE
from support.selection import thinned

pytest_plugins = ["pytester"]

CASES = """\
cases:
  - {id: plain, text: "a word", note: n}
  - {id: spaces, text: "a   word", note: n}
"""
MARKED = """\
import pytest

@pytest.mark.tokverify({arguments})
def test_tokenizer(tokverify_case):
    tokverify_case.verify()
"""
BROKEN = '"sample-broken.gguf", reference="sample.tokenizer.model", cases=["own.yaml"]'


@pytest.fixture(autouse=True)
def files(pytester):
    if not any(point.name == "tokverify" for point in entry_points(group="pytest11")):
        pytest.skip("the plugin is not installed: install the project again")
    for name in ("sample.gguf", "sample-broken.gguf", "sample.tokenizer.model"):
        shutil.copy(SAMPLE / name, pytester.path / name)
    (pytester.path / "own.yaml").write_text(CASES)


def test_each_case_is_a_test_and_fails_with_the_difference(pytester):
    pytester.makepyfile(MARKED.format(arguments=BROKEN))
    result = pytester.runpytest_inprocess("-v")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*test_tokenizer?own/plain? PASSED*",
            "*test_tokenizer?tokenizers? FAILED*",
            "*MISMATCH own/spaces  *own.yaml:3*",
            "*actual: 4 tokens*",
        ]
    )
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


def test_tokenizers_that_differ_apart_from_the_cases_fail(pytester):
    arguments = BROKEN.replace("]", "], patterns=['own/plain']")
    pytester.makepyfile(MARKED.format(arguments=arguments))
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*fails*ERROR types: *"])


def test_known_failures_pass(pytester):
    from click.testing import CliRunner

    from tokverify.commands.cli import main

    arguments = ["run", "sample-broken.gguf", "-r", "sample.tokenizer.model", "--cases", "own.yaml"]
    update = ["--baseline", "known.yaml", "--accept", "--reason", "we know"]
    assert CliRunner().invoke(main, [*arguments, *update]).exit_code == 0
    pytester.makepyfile(MARKED.format(arguments=f'{BROKEN}, baseline="known.yaml"'))
    pytester.runpytest_inprocess().assert_outcomes(passed=3)


def test_the_configuration_is_collected_on_request(pytester):
    configured = '[[models]]\nmodel = "{}"\nreference = "sample.tokenizer.model"\ncases = ["own.yaml"]\n'
    path = pytester.path / "tokverify.toml"
    path.write_text(configured.format("sample.gguf") + configured.format("sample-broken.gguf"))
    pytester.runpytest_inprocess().assert_outcomes()
    pytester.runpytest_inprocess("--tokverify").assert_outcomes(passed=4, failed=2)
    result = pytester.runpytest_inprocess("tokverify.toml", "-v")
    result.assert_outcomes(passed=4, failed=2)
    result.stdout.fnmatch_lines(["tokverify.toml::sample-broken::own/spaces FAILED*"])
    result.stdout.fnmatch_lines(["tokverify.toml::sample-broken::tokenizers FAILED*", "*fails*ERROR types: *"])


TABLES = {"tokverify.toml": "", "pyproject.toml": "tool.tokverify."}
OTHER_PROJECT = '[project]\nname = "other"\n'


def configure(directory: Path, file: str, *models: str) -> None:
    """Configure models in a directory."""
    text = "".join(
        f'[[{TABLES[file]}models]]\nmodel = "{model}"\nreference = "sample.tokenizer.model"\ncases = ["own.yaml"]\n'
        for model in models
    )
    (directory / file).write_text(text)


@pytest.mark.parametrize("place", [".", "tests", "below"])
@pytest.mark.parametrize("file", TABLES)
def test_every_case_of_every_model_is_collected_from_anywhere(pytester, monkeypatch, file, place):
    lay_out(pytester, file)
    if place == "below":
        monkeypatch.chdir(pytester.path / "below")
    result = pytester.runpytest_inprocess("--tokverify", "-v", *(["tests"] if place == "tests" else []))
    result.assert_outcomes(passed=4 + (place != "below"), failed=2)
    above = "../" if place == "below" else ""
    result.stdout.fnmatch_lines([f"{above}{file}::sample-broken::own/spaces FAILED*"])


@pytest.mark.parametrize("file", thinned(2, TABLES))
@pytest.mark.slow
def test_workers_of_xdist_collect_the_same(pytester, monkeypatch, file):
    pytest.importorskip("xdist")
    lay_out(pytester, file)
    monkeypatch.chdir(pytester.path / "below")
    result = pytester.runpytest_subprocess("--tokverify", "-n", "2")
    result.assert_outcomes(passed=4, failed=2)


def lay_out(pytester: pytest.Pytester, file: str) -> None:
    """Configure two models, and create a directory with a test and one without."""
    configure(pytester.path, file, "sample.gguf", "sample-broken.gguf")
    for directory in ("tests", "below"):
        (pytester.path / directory).mkdir()
    (pytester.path / "tests" / "test_other.py").write_text("def test_other(): pass\n")


@pytest.mark.parametrize("file", TABLES)
def test_a_configuration_is_collected_once(pytester, file):
    configure(pytester.path, file, "sample.gguf")
    for arguments in ([file], ["."], [f"{file}::sample::own/plain"]):
        expected = 1 if "::" in arguments[0] else 3
        pytester.runpytest_inprocess("--tokverify", *arguments).assert_outcomes(passed=expected)


def test_tokverify_toml_takes_precedence_over_pyproject(pytester):
    configure(pytester.path, "pyproject.toml", "sample-broken.gguf")
    configure(pytester.path, "tokverify.toml", "sample.gguf")
    pytester.runpytest_inprocess("--tokverify").assert_outcomes(passed=3)


def test_configurations_below_are_collected_too(pytester):
    (pytester.path / "pyproject.toml").write_text(OTHER_PROJECT)
    for name in ("one", "two"):
        (pytester.path / name).mkdir()
        for file in pytester.path.glob("*.*"):
            shutil.copy(file, pytester.path / name / file.name)
    configure(pytester.path / "one", "pyproject.toml", "sample.gguf")
    pytester.runpytest_inprocess("--tokverify").assert_outcomes(passed=3)
    pytester.runpytest_inprocess("--tokverify", "one").assert_outcomes(passed=3)
    assert pytester.runpytest_inprocess("--tokverify", "two").ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.parametrize(("project", "workers"), thinned(2, [("", []), (OTHER_PROJECT, []), ("", ["-n", "2"])]))
def test_a_missing_configuration_is_a_usage_error(pytester, project, workers):
    if workers:
        pytest.importorskip("xdist")
    if project:
        (pytester.path / "pyproject.toml").write_text(project)
    pytester.makepyfile("def test_other(): pass")
    result = pytester.runpytest_subprocess("--tokverify", *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.stderr.lines if line]
    assert line.startswith("ERROR: --tokverify: no tokverify.toml, and no pyproject.toml with a table [tool.tokverify]")


def test_a_broken_configuration_is_an_error(pytester):
    (pytester.path / "pyproject.toml").write_text("[tool.tokverify]\njobs = 0\n")
    result = pytester.runpytest_inprocess("--tokverify")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*pyproject.toml: tool.tokverify.jobs must be*"])
    result = pytester.runpytest_inprocess("pyproject.toml")
    result.stdout.fnmatch_lines(["*tool.tokverify.jobs must be*"])
    (pytester.path / "below").mkdir()
    (pytester.path / "pyproject.toml").unlink()
    (pytester.path / "below" / "pyproject.toml").write_text("[")
    result = pytester.runpytest_inprocess("--tokverify")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*below*pyproject.toml: not valid TOML*"])


def test_the_shipped_suites_can_be_tested_too(pytester):
    cases = 'cases=["shipped", "own.yaml"], patterns=["own/*", "seed/extra-spaces"]'
    pytester.makepyfile(MARKED.format(arguments=f'"sample.gguf", reference="sample.tokenizer.model", {cases}'))
    result = pytester.runpytest_inprocess("-v")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["*?seed/extra-spaces? PASSED*", "*?own/spaces? PASSED*"])
    (pytester.path / "shipped").mkdir()
    result = pytester.runpytest_inprocess()
    assert "write ./shipped to use that path" in result.stdout.str()


@pytest.mark.parametrize(
    ("arguments", "message"),
    thinned(
        2,
        [
            ('"absent.gguf"', "*absent.gguf: no such file*"),
            ('"sample.gguf", cases=["absent.yaml"]', "*absent.yaml*"),
            ('"sample.gguf", cases="own.yaml"', "*cases must be a list*"),
            ('"sample.gguf", refrence="x"', "*refrence*"),
            ('"sample.gguf", suites=["none"]', "*no case*"),
        ],
    ),
)
def test_mistakes_in_the_marker_are_one_line_errors(pytester, arguments, message):
    pytester.makepyfile(MARKED.format(arguments=arguments))
    result = pytester.runpytest_inprocess("-x")
    assert result.ret != 0
    assert any(word in result.stdout.str() + result.stderr.str() for word in [message.strip("*")])
    assert "Traceback" not in result.stdout.str()


FAILING = """\
import tokverify.commands.tasks.check
from tokverify.errors import TokverifyError

def run(*arguments, **options):
    with open("tried", "a") as file:
        file.write("once")
    raise TokverifyError("it is gone")

tokverify.commands.tasks.check.run_model = run
"""


def test_a_failed_verification_is_not_repeated(pytester):
    pytester.makeconftest(FAILING)
    pytester.makepyfile(MARKED.format(arguments='"gone.gguf", cases=["own.yaml"]'))
    # In this process, the function that the conftest replaces would stay replaced.
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(["*it is gone*"])
    assert (pytester.path / "tried").read_text() == "once"


@pytest.mark.parametrize(
    "arguments",
    [
        '"##[error]x.gguf", cases=["own.yaml"]',
        '"sample.gguf", cases=["##[error]x"]',
        '"sample.gguf", suites=["##[error]x"]',
    ],
)
def test_error_messages_contain_no_workflow_commands(pytester, monkeypatch, arguments):
    # pytest also shows the line of the test itself, which is not escaped.
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    pytester.makepyfile(MARKED.format(arguments=arguments))
    result = pytester.runpytest_inprocess("--tb=line")
    assert result.ret != 0
    message = result.stdout.str() + result.stderr.str()
    assert r"#\u0023[error]x" in message
    assert "##[" not in message


def test_the_fixture_requires_the_marker(pytester):
    pytester.makepyfile("def test_it(tokverify_case): pass")
    result = pytester.runpytest_inprocess()
    assert "tokverify_case needs @pytest.mark.tokverify" in result.stdout.str() + result.stderr.str()


def test_importing_the_plugin_imports_nothing_slow():
    code = (
        "import sys, tokverify.pytest_plugin;"
        "print({'yaml', 'rich', 'tokenizers', 'click', 'regex', 'sentencepiece', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout in {"set()\n", "{'rich'}\n"}
