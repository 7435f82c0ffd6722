"""The audit itself: order, waivers, rules that are not evaluated, exit codes."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta

import pytest

from support.spec_maker import bpe_spec
from tokverify.compare.audit import audit
from tokverify.compare.baseline import Baseline
from tokverify.compare.checks import RULES
from tokverify.compare.rule import Rule, rule
from tokverify.compare.subject import NotEvaluatedError, Subject
from tokverify.errors import EncodeError
from tokverify.report.audit import audit_exit_code
from tokverify.report.finding import ERROR, INFO, WARNING, Finding
from tokverify.report.known_difference import KnownDifference
from tokverify.sources.gguf.declaration import Declaration

SPEC = bpe_spec([], general={"name": "Small"})
SUBJECT = Subject(Declaration(spec=SPEC), name="small-q4")


@rule(code="TV901", name="first", severity=WARNING)
def first(subject: Subject) -> Iterator[Finding]:
    """Find two things.

    What it does:
        Nothing much.
    """
    yield Finding(INFO, "a hint", ids=(1, 2))
    yield Finding(WARNING, f"{len(subject.spec.tokens)} tokens")


@rule(code="TV902", name="second", severity=ERROR)
def second(subject: Subject) -> Iterator[Finding]:
    """Find one thing, and then miss another."""
    yield Finding(ERROR, "an error", ids=(5, 6))
    raise NotEvaluatedError("the moon is not full")


@rule(code="TV903", name="third", severity=ERROR)
def third(subject: Subject) -> Iterator[Finding]:
    """Stumble."""
    raise EncodeError("cannot encode")
    yield


ALL = (first, second, third)
TODAY = date(2026, 6, 1)


def entry(**fields: object) -> KnownDifference:
    return KnownDifference(**{"code": "TV901", "reason": "known"} | fields)


def test_findings_are_ordered_by_severity_and_carry_their_rule():
    report = audit(SUBJECT, ALL)
    assert [(finding.code, finding.name, finding.severity) for finding in report.findings] == [
        ("TV902", "second", ERROR),
        ("TV901", "first", WARNING),
        ("TV901", "first", INFO),
    ]
    assert [rule.code for rule in report.rules] == ["TV901", "TV902", "TV903"]


def test_a_rule_that_cannot_finish_keeps_its_findings_and_is_reported():
    skipped = audit(SUBJECT, ALL).not_evaluated
    assert [(rule.code, rule.reason) for rule in skipped] == [
        ("TV902", "evaluated only in part: the moon is not full"),
        ("TV903", "cannot encode"),
    ]


@pytest.mark.parametrize(
    ("fail_on", "rules", "code"),
    [(ERROR, [first], 0), (WARNING, [first], 1), (ERROR, [second], 1), (INFO, [third], 0)],
)
def test_the_exit_code_depends_on_fail_on(fail_on, rules, code):
    assert audit_exit_code(replace(audit(SUBJECT, rules), fail_on=fail_on)) == code


@pytest.mark.parametrize(
    ("accepting", "left"),
    [
        (entry(), []),
        (entry(message="a h*"), ["256 tokens"]),
        (entry(message="A h*"), ["256 tokens", "a hint"]),
        (entry(ids=((1, 1), (2, 3))), ["256 tokens"]),
        (entry(ids=((2, 9),)), ["256 tokens", "a hint"]),
        (entry(model="small*"), []),
        (entry(model="Small"), []),
        (entry(model="other"), ["256 tokens", "a hint"]),
        (entry(fingerprint=SUBJECT.fingerprint[:8]), []),
        (entry(fingerprint="00000000"), ["256 tokens", "a hint"]),
        (entry(code="TV902"), ["256 tokens", "a hint"]),
        (entry(expires=TODAY), []),
        (entry(expires=TODAY - timedelta(1)), ["256 tokens", "a hint"]),
        (entry(difference="0" * 16), ["256 tokens", "a hint"]),
    ],
)
def test_entries_accept_the_findings_they_describe(accepting, left):
    report = audit(SUBJECT, [first], Baseline("k.yaml", (accepting,), TODAY))
    assert [finding.message for finding in report.findings] == left
    assert len(report.waived) == 2 - len(left)
    assert audit_exit_code(replace(report, fail_on=INFO)) == bool(left)


def test_an_entry_with_a_digest_accepts_one_finding_and_no_other():
    _, hint = audit(SUBJECT, [first]).findings
    report = audit(SUBJECT, [first], Baseline("k.yaml", (entry(difference=hint.digest),), TODAY))
    assert [finding.message for finding in report.findings] == ["256 tokens"]


def test_unused_entries_are_reported_if_they_could_have_been_used():
    unused = entry(message="never")
    other_model = entry(model="other")
    other_rule = entry(code="TV903")
    not_evaluated = entry(code="TV902", message="never")
    report = audit(
        SUBJECT, [first, second], Baseline("k.yaml", (unused, other_model, other_rule, not_evaluated), TODAY)
    )
    assert report.unused_waivers == (unused,)


def test_an_expired_entry_is_named_by_its_finding_and_is_not_unused():
    expired = entry(code="TV902", expires=TODAY - timedelta(1), place="k.yaml:3")
    report = audit(SUBJECT, [second], Baseline("k.yaml", (expired,), TODAY))
    [finding] = report.findings
    assert finding.refusals == ("accepted until 2026-05-31 by k.yaml:3, which has expired (reason: known)",)
    assert (audit_exit_code(report), report.unused_waivers) == (1, ())


def test_a_refused_file_is_still_audited():
    spec = replace(SPEC, tokens=["a", *SPEC.tokens[1:]])
    report = audit(Subject(Declaration(spec=spec)), RULES.values())
    assert {"TV100", "TV104"} <= {finding.code for finding in report.findings}
    reasons = {rule.code: rule.reason for rule in report.not_evaluated}
    assert "twice" in reasons["TV111"]


def test_codes_are_unique_and_in_order():
    codes = [rule.code for rule in RULES.values()]
    assert codes == sorted(set(codes))
    assert len({rule.name for rule in RULES.values()}) == len(RULES)
    assert all(isinstance(rule, Rule) for rule in RULES.values())
