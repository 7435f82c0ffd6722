"""The one-line summary of `tokverify fix`."""

from __future__ import annotations

from tokverify.report.fix import UNCONFIRMED, FixCheck, FixReport, fix_exit_code, remaining
from tokverify.text.wording import plural


def verdict(report: FixReport) -> str:
    """Sum up a report."""
    unknown = f"; not declared by the reference: {', '.join(report.not_compared)}" if report.not_compared else ""
    unknown += "".join(f"; {other.source} disagrees" for other in report.others)
    if not fix_exit_code(report):
        return f"{'repaired' if report.after else 'nothing to repair'}: {_describe_agreement(report)}{unknown}"
    failing = (report.after or report.before).fail
    left = [f"{plural(failing, 'case')} {'fails' if failing == 1 else 'fail'}"] if failing else []
    left += [describe_check(check, is_written=report.after is not None) for check in remaining(report)]
    if report.repair and report.repair.inferred_tokens and report.after:
        left.append(f"{plural(report.repair.inferred_tokens, 'token')} not verified")
    return f"{'repaired in part' if report.after else 'not repaired'}: {', '.join(left)}{unknown}"


def _describe_agreement(report: FixReport) -> str:
    explained = (report.after or report.before).explained
    if not explained:
        return "every comparison agrees"
    reasons = "; ".join(f"{limit.message} ({limit.code})" for limit in report.limits)
    differ = "differs" if explained == 1 else "differ"
    return f"every comparison agrees, except that {plural(explained, 'case')} {differ} because {reasons}"


def describe_check(check: FixCheck, *, is_written: bool) -> str:
    """Say how many differences a check still finds; the name has not passed `visible` yet."""
    if check.name == UNCONFIRMED:
        return f"{check.name} remain"
    return f"{plural(check.after if is_written else check.before, 'difference')} in {check.name}"
