"""The verdict of `tokverify fix`."""

from tokverify.render.fix import verdict
from tokverify.report.fix import UNCONFIRMED, FixCheck, FixReport, Verification


def test_the_verdict_counts_the_differences_that_are_left():
    checks = (FixCheck("decoding", 3, 1), FixCheck("generated texts", 9, 2), FixCheck(UNCONFIRMED, 1, 1))
    errors = ("eot_token_id, 5, is an ordinary token (TV106)",)
    report = FixReport(Verification(1, 1), after=Verification(1, 1), checks=checks, errors=errors)
    left = (
        f"1 case fails, 1 difference in decoding, 2 differences in generated texts, {UNCONFIRMED} remain: {errors[0]}"
    )
    assert verdict(report) == f"repaired in part: {left}"
