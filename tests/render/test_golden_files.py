import json

import pytest

from support.make_golden import GOLDEN, OUTPUTS, hostile_report, render
from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions
from tokverify.report.codec import SCHEMA_VERSION


@pytest.mark.parametrize("name", OUTPUTS)
def test_output_is_as_it_was(name):
    assert render(name) == (GOLDEN / name).read_bytes(), "if this is wanted, run tests/support/make_golden.py"


def test_no_golden_file_is_left_over():
    assert {path.name for path in GOLDEN.iterdir()} == set(OUTPUTS)


@pytest.mark.parametrize("options", [RenderOptions(), RenderOptions(verbose=True), RenderOptions(width=40)])
def test_nothing_hostile_reaches_the_terminal(options):
    text = FORMATS["run"]["table"](hostile_report(), options)
    assert all(line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize("width", [40, 100, 300])
def test_no_line_is_wider_than_asked(width):
    from rich.cells import cell_len

    text = FORMATS["run"]["table"](hostile_report(), RenderOptions(width=width))
    assert max(cell_len(line) for line in text.split("\n")) <= width


def test_json_contains_what_the_report_contains():
    report = hostile_report()
    document = json.loads(FORMATS["run"]["json"](report, RenderOptions()))
    assert [result["case"]["text"] for result in document["results"]] == [r.case.text for r in report.results]
    assert document["results"][3]["case"]["text"] == "a\ud800"
    assert [result["actual"] for result in document["results"]] == [list(r.actual) for r in report.results]
    assert document["summary"]["exit_code"] == 1
    assert document["schema_version"] == SCHEMA_VERSION


def test_json_is_ascii_and_stable():
    first, second = (FORMATS["run"]["json"](hostile_report(), RenderOptions()) for _ in range(2))
    assert first == second
    assert first.isascii()
