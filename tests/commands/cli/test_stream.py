"""`tokverify stream`, in all formats."""

import json
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from support.paths import SAMPLE
from support.server_stand_ins import OvmsStandIn, VllmStandIn
from tokverify import load_gguf
from tokverify.commands.cli import main
from tokverify.report.codec import encode, read_any

MODEL = str(SAMPLE / "sample.gguf")
LLAMA = "a\N{LLAMA}"


@pytest.fixture
def suite(tmp_path):
    path = tmp_path / "own.yaml"
    cases = [{"id": "plain", "text": "Hello world"}, {"id": "llama", "text": LLAMA}]
    path.write_text(json.dumps({"cases": cases}, ensure_ascii=False))
    return str(path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["stream", *arguments], catch_exceptions=False)


def test_a_model_streams_correctly(suite):
    result = run(MODEL, "--cases", suite)
    assert result.exit_code == 0
    assert "2 texts with" in result.stdout
    assert result.stdout.endswith("sample: 2 texts streamed, 0 fail\n")


def test_a_reference_that_repeats_text_fails_in_all_formats(suite, tmp_path):
    arguments = [MODEL, "-r", "rebuilt", "--cases", suite]
    assert run(*arguments).exit_code == 1
    sentence = "own/llama: text is duplicated when resumed after"
    for name in ("table", "markdown", "html", "junit", "github", "gitlab", "sarif"):
        place = tmp_path / f"report.{name}.txt"
        result = run(*arguments, "--report", f"{name}={place}", "-f", "json")
        assert (result.exit_code, sentence in place.read_text().replace("\\", "")) == (1, True), name
    report = json.loads(run(*arguments, "-f", "json").stdout)
    assert report["summary"] == {"exit_code": 1, "texts": [2, 2], "failures": [0, 1]}
    failure = report["sides"][1]["failures"][0]
    assert (failure["fault"], failure["streamed"], failure["expected"]) == ("duplicated", LLAMA, LLAMA)
    assert run(*arguments, "--no-resume").exit_code == 0


def test_the_tests_in_junit_are_counted(suite):
    shown = run(MODEL, "-r", "rebuilt", "--cases", suite, "-f", "junit").stdout
    root = ET.fromstring(shown)  # noqa: S314 - our own output
    assert [root.get(name) for name in ("tests", "failures")] == ["2", "2"]


def test_a_server_is_asked_for_every_prefix(suite):
    with VllmStandIn(load_gguf(MODEL)) as running:
        report = json.loads(run(running.address, "-r", MODEL, "--cases", suite, "-f", "json").stdout)
    methods = [side["method"] for side in report["sides"]]
    assert methods == ["decoding all ids so far, for each id", "its own incremental decoder"]
    assert report["summary"] == {"exit_code": 0, "texts": [2, 2], "failures": [0, 0]}


def test_a_side_that_streams_nothing_does_not_pass(suite):
    with OvmsStandIn(load_gguf(MODEL)) as running:
        result = run(MODEL, "-r", running.address, "--cases", suite)
        page = run(MODEL, "-r", running.address, "--cases", suite, "-f", "html")
    assert (result.exit_code, page.exit_code) == (2, 2)
    assert "OpenVINO Model Server: nothing was streamed" in result.stdout
    assert "2 texts: OpenVINO Model Server does not decode" in result.stdout
    assert "Nothing streamed" in page.stdout


def test_many_failures_are_listed_with_v(tmp_path):
    suite = tmp_path / "own.yaml"
    suite.write_text(
        json.dumps({"cases": [{"id": f"c{number}", "text": LLAMA} for number in range(12)]}, ensure_ascii=False)
    )
    arguments = [MODEL, "-r", "rebuilt", "--cases", str(suite)]
    assert "2 more failures, shown with -v" in run(*arguments).stdout
    assert "own/c11" in run(*arguments, "-v").stdout


def test_a_saved_report_can_be_shown_again(suite, tmp_path):
    path = tmp_path / "report.json"
    run(MODEL, "-r", "rebuilt", "--cases", suite, "-o", str(path))
    kind, report = read_any(path)
    assert kind == "stream"
    assert encode(report) == path.read_text()
    shown = CliRunner().invoke(main, ["report", "show", str(path)])
    assert (shown.exit_code, "own/llama" in shown.stdout) == (1, True)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda side: side["failures"][0].update(resumed_at=999), "resumed_at: expected less than the number of ids"),
        (lambda side: side.update(texts=0), "texts: expected at least the number of texts with a failure"),
    ],
)
def test_an_inconsistent_report_is_rejected(suite, tmp_path, change, problem):
    document = json.loads(run(MODEL, "-r", "rebuilt", "--cases", suite, "-f", "json").stdout)
    change(document["sides"][1])
    path = tmp_path / "report.json"
    path.write_text(json.dumps(document))
    result = CliRunner().invoke(main, ["report", "show", str(path)])
    assert result.exit_code == 2
    assert problem in result.stderr
