"""The `junit` format of `tokverify canonical`: a test for each cause, which passes if no sequence deviates for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.render.canonical.issue import describe_count, example_lines
from tokverify.render.canonical.verdict import verdict
from tokverify.render.ci.junit import document, not_passed, passed, suite
from tokverify.render.run.junit import properties_of
from tokverify.report.canonical import CanonicalReport, Deviation
from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_SUITE = "canonical"


def render(checked: CanonicalReport) -> str:
    """Write a checked log as JUnit XML."""
    properties = properties_of(checked.report, verdict(checked))
    return document([suite(_SUITE, properties, _tests(checked), checked.report.expected.source)])


def _tests(checked: CanonicalReport) -> Iterator[Element]:
    found = {count.cause: count for count in checked.causes}
    for cause in Deviation:
        test = passed(cause, _SUITE)
        if not checked.tokens:
            yield not_passed(test, "error", "nothing compared", visible_message(verdict(checked)), [])
        elif cause in found:
            lines = example_lines(found[cause], checked)
            yield not_passed(test, "failure", cause, visible_message(describe_count(found[cause], checked)), lines)
        else:
            yield test
