"""Apply all static rules to a model whose reference is rebuilt from the same data, and else those that it leaves open.

A file can be wrong in these although it encodes texts as it should: roles, sizes, and what is not the reference's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tokverify.compare.charsmap_difference import find_replaced_differently
from tokverify.compare.digest import make_difference
from tokverify.compare.opened import OpenedModel, OpenedReference
from tokverify.compare.tokenizer_comparison import sort_by_severity
from tokverify.engine.attribute import ORDINARY
from tokverify.engine.special_text import EOG_TEXTS
from tokverify.report.finding import ERROR, WARNING, Finding
from tokverify.report.run import Report, failing_differences
from tokverify.report.tokenizer_difference import Aspect, TokenizerDifference
from tokverify.tokenizer import why_hidden

_ROLES_AND_SIZES = frozenset(["TV105", "TV106"])
_CHARSMAP = frozenset(["TV205"])
_TEMPLATES = frozenset(["TV124"])


def add_rule_findings(report: Report, model: OpenedModel, reference: OpenedReference | None) -> Report:
    """Add what static rules find in a model to a report, as differences; return the same report if that is nothing."""
    if reference is not None and reference.is_rebuilt:
        return _add_all(report, model)
    return _add_errors(report, model, reference)


def _add_all(report: Report, model: OpenedModel) -> Report:
    """Add the errors and warnings of all static rules."""
    codes = _static_codes()
    found = [finding for finding in _apply(model, None, codes) if finding.severity >= WARNING]
    return replace(_with_findings(report, found), rules=len(codes))


def _static_codes() -> frozenset[str]:
    """Return the codes of the rules that need no reference."""
    from tokverify.compare.checks import RULES

    # Rules from TV200 on compare with one.
    return frozenset(code for code in RULES if code < "TV200")


def _add_errors(report: Report, model: OpenedModel, reference: OpenedReference | None) -> Report:
    """Add errors of a GGUF file that the comparison could not show, except those that the report contains.

    They are about roles and sizes, about a charsmap or a chat template other than the reference's, and, if the
    reference shows only ids, about all else that the file declares. There are none if it reads the same file.
    """
    if model.kind != "gguf" or (reference is not None and reference.found.reads_model):
        return report
    has_other_charsmap = reference is not None and find_replaced_differently(model.encoder, reference.tokenizer)
    has_other_template = any(each.aspect is Aspect.TEMPLATE for each in report.differences)
    shows_ids_only = reference is not None and bool(why_hidden(reference.tokenizer))
    codes = _static_codes() if shows_ids_only else frozenset[str]()
    codes |= _ROLES_AND_SIZES if _is_suspicious(model) else frozenset()
    codes |= _CHARSMAP if has_other_charsmap else frozenset()
    codes |= _TEMPLATES if has_other_template else frozenset()
    if not codes:
        return report
    shown = [*failing_differences(report), *(each for each in report.differences if each.known)]
    known = {each for difference in shown for each in (*difference.ids, *difference.keys)}
    found = [
        finding
        for finding in _apply(model, reference, codes)
        if finding.severity is ERROR and known.isdisjoint([*finding.ids, *finding.keys])
    ]
    return _with_findings(report, found) if found else report


def _is_suspicious(model: OpenedModel) -> bool:
    """Whether the rules may find an error, as they take longer to import than most files to compare."""
    settings, roles = model.encoder.settings, model.encoder.special_ids
    # llama.cpp knows all other ends by their texts.
    ends = [settings.pieces[id] in EOG_TEXTS for role, id in roles.items() if role in {"eot", "eom"}]
    is_ordinary = any(settings.attributes[id] & ORDINARY for id in roles.values())
    is_valid = len(model.spec.valid_special_ids) == len(model.spec.special_ids)
    has_all_rows = model.spec.embedding_rows in {None, len(settings.pieces)}
    return is_ordinary or not (is_valid and has_all_rows and all(ends))


def _apply(model: OpenedModel, reference: OpenedReference | None, codes: Iterable[str]) -> tuple[Finding, ...]:
    from tokverify.compare.audit import audit
    from tokverify.compare.checks import RULES
    from tokverify.compare.subject import Subject

    subject = Subject(model.declaration, reference, model.encoder.name, model.encoder)
    return audit(subject, [RULES[code] for code in codes]).findings


def _with_findings(report: Report, findings: Iterable[Finding]) -> Report:
    differences = sort_by_severity([*report.differences, *map(_to_difference, findings)])
    return replace(report, differences=tuple(differences))


def _to_difference(finding: Finding) -> TokenizerDifference:
    return make_difference(
        Aspect.RULES,
        finding.severity,
        f"{finding.code} {finding.name}: {finding.message}",
        finding.ids,
        facts=[finding.code, finding.message],
        keys=finding.keys,
        code=finding.code,
    )
