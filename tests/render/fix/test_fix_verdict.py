"""The verdict of `tokverify fix`."""

from tokverify.render.fix import verdict
from tokverify.report.fix import MINOR_ROLES, UNCONFIRMED, FixCheck, FixReport, Verification


def test_the_verdict_counts_the_differences_that_are_left():
    checks = (FixCheck("decoding", 3, 1), FixCheck("generated texts", 9, 2), FixCheck(UNCONFIRMED, 1, 1))
    errors = ("eot_token_id, 5, is an ordinary token (TV106)",)
    report = FixReport(Verification(1, 1), after=Verification(1, 1), checks=checks, errors=errors)
    left = (
        f"1 case fails, 1 difference in decoding, 2 differences in generated texts, {UNCONFIRMED} remain: {errors[0]}"
    )
    assert verdict(report) == f"repaired in part: {left}"


def test_the_verdict_names_roles_of_no_consequence_that_still_differ():
    checks = (FixCheck(MINOR_ROLES, 2, 1, is_required=False), FixCheck("generated texts", 9, 0))
    report = FixReport(Verification(1, 1), after=Verification(2, 0), checks=checks)
    left = "1 difference in special tokens that are not used in texts remains"
    assert verdict(report) == f"repaired: every comparison agrees, except that {left}"
