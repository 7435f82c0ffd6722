import json
from dataclasses import replace

import lxml.html
import pytest
from lxml import etree

from support.hostile_canonical import hostile_canonical
from tokverify.render.canonical import to_ci_report, verdict
from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions
from tokverify.report.canonical import CanonicalReport, Deviation, canonical_exit_code


def clean(**changes: object) -> CanonicalReport:
    """Return a report without a deviation."""
    report = hostile_canonical()
    return replace(
        report,
        report=replace(report.report, results=()),
        **{"deviating": 0, "deviating_tokens": 0, "causes": (), **changes},
    )


@pytest.mark.parametrize(
    ("report", "code", "sentence"),
    [
        (clean(), 0, "1,000 sequences, 50,000 tokens: all are the encoding of their own text"),
        (clean(deviating=1, deviating_tokens=5), 1, "1,000 sequences: 1 deviates (0.10%), with 0.01% of 50,000 tokens"),
        (hostile_canonical(), 1, "1,000 sequences: 8 deviate (0.80%), with 0.15% of 50,000 tokens"),
        (clean(sequences=2, tokens=0), 2, "2 sequences: no ids were compared"),
    ],
)
def test_exit_codes_and_verdicts(report, code, sentence):
    assert canonical_exit_code(report) == code
    assert verdict(report) == sentence


def test_the_table_counts_each_cause():
    shown = FORMATS["canonical"]["table"](hostile_canonical(), RenderOptions(width=200))
    assert "\x1b" not in shown
    lines = [line.split()[:3] for line in shown.splitlines()]
    assert [[cause, "1", "0.10%"] in lines for cause in Deviation] == [True] * len(Deviation)
    assert shown.endswith(f"{verdict(hostile_canonical())}\n")


def test_the_page_plots_the_causes():
    root = lxml.html.fromstring(FORMATS["canonical"]["html"](hostile_canonical(), RenderOptions()))
    rows = root.xpath("//table[@class='rows'][.//th='cause']/tbody/tr")
    assert [row.xpath("string(td)") for row in rows] == list(Deviation)
    assert {bar.get("width") for bar in root.xpath("//rect[@class='is-actual']")} == {"12.5%"}
    assert "expected are the logged ids" in root.text_content()


def test_junit_has_a_test_for_each_cause():
    def outcomes(report: CanonicalReport) -> dict[str, list[str]]:
        root = etree.fromstring(FORMATS["canonical"]["junit"](report, RenderOptions()).encode())
        return {test.get("name"): [child.tag for child in test] for test in root.iter("testcase")}

    causes = {f"deviation: {cause}": ["failure"] for cause in Deviation}
    assert outcomes(hostile_canonical()) == {**causes, "verdict": ["failure"]}
    assert outcomes(clean()) == {"verdict": ["system-out"]}
    assert outcomes(clean(tokens=0)) == {"verdict": ["error"]}


def test_ci_systems_get_an_issue_for_each_cause():
    issues = list(to_ci_report(hostile_canonical()).issues)
    assert [issue.title for issue in issues] == [f"deviation: {cause}" for cause in Deviation]
    assert len({issue.fingerprint for issue in issues}) == len(Deviation)


def test_the_json_sums_up_the_causes():
    summary = json.loads(FORMATS["canonical"]["json"](hostile_canonical(), RenderOptions()))["summary"]
    assert summary["causes"] == dict.fromkeys(Deviation, 1)
    assert (summary["exit_code"], summary["deviating"]) == (1, 8)
