"""A diagnosis in the formats for people: all of them say the same."""

import pytest

from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions
from tokverify.repair.repair import add_repairs
from tokverify.report.diagnosis import Diagnosis, Explanation
from tokverify.report.run import Report, Side, VocabularyDifference


def explanation(*, expressible: bool) -> Explanation:
    return Explanation(
        kind="k",
        sentence="x",
        explained=1,
        failing=1,
        unexplained=(),
        expressible=expressible,
        gguf_command=None,
    )


@pytest.mark.parametrize("format", ["table", "markdown", "html"])
def test_possible_repairs_are_listed(format: str):
    found = tuple(explanation(expressible=expressible) for expressible in (False, True, True))
    options = {"model": "m.gguf", "reference": "r.json"}
    report = Report(
        Side("m", "m"),
        Side("r", "r"),
        VocabularyDifference(1, 1),
        (),
        options=options,
        diagnosis=Diagnosis(found, 1, 3),
    )
    text = FORMATS["run"][format](add_repairs(report), RenderOptions())
    assert "GGUF cannot express it: the runtime would have to do it" in text
    assert "tokverify fix m.gguf -r r.json -o m-fixed.gguf" in text
    assert "GGUF can express it, too" in text
