"""Sentences that sum up a report and its diagnosis; and how the tokenizers differ, as a section or in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tokverify.render.case_text import known_text
from tokverify.render.document import SEVERITY_STYLES, Fields, Line, Section, Span, Style, message
from tokverify.report.diagnosis import Diagnosis, Explanation, command_line
from tokverify.report.finding import Severity
from tokverify.report.run import (
    AppliedLimit,
    CaseResult,
    Report,
    Status,
    count_decode_differences,
    count_explained,
    count_status,
    failing_differences,
    run_exit_code,
    vocabularies_differ,
)
from tokverify.report.tokenizer_difference import Aspect, Origin, TokenizerDifference, Verdict, difference_fails
from tokverify.report.vocabulary_difference import VocabularyDifference
from tokverify.text.visible import visible_message
from tokverify.text.wording import list_items, plural, truncate_words, verb

_MAX_CAUSES = 4
_MAX_CAUSE = 220
_SEVERAL = 3

_NAMES: Mapping[Aspect, str] = {
    Aspect.AFFIXES: "tokens around a text",
    Aspect.RANKING: "order of merges or scores",
    Aspect.ENDS: "ends of a generation",
}

FAILS, KNOWN, SHOWN = "fails", "known", "shown"
"""What a difference does to the verdict."""


def effect_of(difference: TokenizerDifference, report: Report) -> str:
    """Return what a difference does to the verdict of its report."""
    if difference.known:
        return KNOWN
    return FAILS if difference_fails(difference, report.fail_on) else SHOWN


def difference_sections(report: Report, *, verbose: bool) -> Iterator[Section]:
    """Describe how the tokenizers differ, and what about them could not be compared.

    If the report fails, what is only worth knowing is counted; `verbose` shows it.
    """
    shown = list(report.differences)
    if not verbose and report.exit_code:
        shown = [each for each in shown if each.severity > Severity.INFO or effect_of(each, report) != SHOWN]
    lines = [line for difference in shown for line in _difference_lines(difference, report)]
    if left_out := len(report.differences) - len(shown):
        lines.append(("", message(f"... {left_out:,} more of no effect on the verdict, shown with -v ...", Style.DIM)))
    lines += [("not compared", message(reason, Style.DIM)) for reason in report.not_compared]
    if lines:
        yield Section([Fields(lines)], "Tokenizers")


def _difference_lines(difference: TokenizerDifference, report: Report) -> Iterator[Line]:
    effect = effect_of(difference, report)
    severity = Span(f"{difference.severity.name} ", SEVERITY_STYLES[difference.severity])
    aspect = message(f"{name_aspect(difference.aspect)}: ", Style.STRONG)
    style = Style.DIM if effect == SHOWN else Style.PLAIN
    yield effect, [severity, aspect, message(difference.message, style)]
    if difference.known:
        yield "", message(f"accepted: {known_text(difference.known)}", Style.NOTICE)
    # Whether what does not fail would be accepted matters to nobody.
    if effect == FAILS:
        yield from (("", message(refusal, Style.NOTICE)) for refusal in difference.refusals)


def count_effects(report: Report) -> str:
    """Sum up how the tokenizers differ, for a verdict; empty if there is nothing to say."""
    failing = len(failing_differences(report))
    # A verdict counts the cases that are decoded differently by itself.
    others = [each for each in report.differences if each.aspect is not Aspect.DECODING or each.known]
    known = sum(difference.known is not None for difference in others)
    shown = sum(effect_of(difference, report) == SHOWN for difference in others)
    rest = [f"{count:,} {word}" for count, word in ((known, "known"), (shown, "not failing")) if count]
    if failing:
        return ", ".join([f"{plural(failing, 'failing difference')} between the tokenizers", *rest])
    return f"differences between the tokenizers: {', '.join(rest)}" if rest else ""


def difference_line(difference: TokenizerDifference) -> str:
    """Return a difference as a line that has not passed `visible_message` yet."""
    return f"{difference.severity.name} {name_aspect(difference.aspect)}: {difference.message}"


def name_aspect(aspect: Aspect) -> str:
    """Return what people call an aspect; options and JSON use its value."""
    return _NAMES.get(aspect, aspect)


_REMARKS = {
    Origin.RUNTIME: "which no GGUF file can change",
    Origin.CONVENTION: "which llama.cpp's converter does on purpose",
}
_PLURALS = {False: "a limit", True: "limits"}


def verdict(report: Report) -> str:
    """Sum up a report, such as `280 cases: 268 match, 12 mismatch`."""
    parts = [_count_cases(report)]
    if decoded := count_decode_differences(report):
        parts.append(f"{decoded:,} decoded differently")
    if differences := count_effects(report):
        parts.append(differences)
    elif vocabularies := vocabulary_difference(report.vocabulary):
        parts.append(vocabularies)
    if report.fails_uncompared:
        parts.append("failing because not everything was compared")
    if report.gone:
        return "; ".join([*parts, f"incomplete: {report.gone}"])
    if report.stopped_early:
        parts.append("stopped early, the rest was not run")
    if report.baseline and report.baseline.fixed:
        parts.append(f"{plural(len(report.baseline.fixed), 'entry', 'entries')} of the baseline fixed")
    if run_exit_code(report) not in {0, 1}:
        return "; ".join([*parts, "nothing was compared"])
    if report.strict and report.is_unpredictable:
        parts.append("--strict fails on keys that no known build of llama.cpp reads")
    return "; ".join([*parts, *reservations(report)])


def _count_cases(report: Report) -> str:
    """Count the cases by status; name the limits that explain those that differ, alone or among others."""
    counts = {status: count_status(report, status) for status in Status}
    explained = count_explained(report)
    if explained and report.verdict in {Verdict.FAITHFUL, Verdict.ACCEPTED}:
        matching = f"{counts[Status.MATCH]:,} of {plural(len(report.results), 'case')} match"
        others = [f"{counts[status]:,} {status}" for status in (Status.KNOWN, Status.SKIPPED) if counts[status]]
        failing = "; --strict fails on that" if report.strict else ""
        return f"{report.verdict}: {', '.join([matching, *others])}; {_limits_line(report)}{failing}"
    listed = ", ".join(f"{count:,} {status}" for status, count in counts.items() if count)
    line = f"{plural(len(report.results), 'case')}: {listed or 'none run'}"
    if not explained:
        return line
    codes = ", ".join(limit.code for limit in report.limits)
    part = "all" if explained == counts[Status.MISMATCH] + counts[Status.ERROR] else f"{explained:,}"
    return f"{line}, {part} of them only because of {_PLURALS[len(report.limits) > 1]} of llama.cpp ({codes})"


def _limits_line(report: Report) -> str:
    """Say which limits explain the cases that differ, and that no change to the file would help."""
    explained = count_explained(report)
    differ = verb(explained, "differ")
    if len(report.limits) == 1:
        limit = report.limits[0]
        return f"{explained:,} {differ} because {limit.message} ({limit.code}), {_REMARKS[limit.origin]}"
    origins = {limit.origin for limit in report.limits}
    common = f", {_REMARKS[origins.pop()]}" if len(origins) == 1 else ""
    reasons = [
        f"{limit.cases:,} because {limit.message} ({limit.code}){'' if common else f', {_REMARKS[limit.origin]}'}"
        for limit in report.limits
    ]
    return f"{explained:,} {differ}: {list_items(reasons, len(reasons))}{common}"


def count_limit(limit: AppliedLimit, what: str = "case") -> str:
    """Say how many cases, or texts, differ because of a limit."""
    return f"{plural(limit.cases, what)} {verb(limit.cases, 'differ')} because {limit.message}"


def vocabulary_difference(vocabulary: VocabularyDifference | None) -> str:
    """Say that the tokens differ, or else which roles belong to other tokens; empty if neither, or not compared."""
    if vocabulary is None:
        return ""
    if vocabulary.pieces or vocabulary.actual_size != vocabulary.expected_size:
        return "the vocabularies differ"
    roles = list_items(vocabulary.special_ids)
    return f"other special ids: {roles}" if roles else ""


def reservations(report: Report) -> Iterator[str]:
    """Yield what people must know who read nothing but the verdict."""
    if omitted := list(_omitted_tokens(report)):
        yield f"{' and '.join(omitted)} were not compared"
    if any(each.aspect is Aspect.TEMPLATE and effect_of(each, report) == SHOWN for each in report.differences):
        remedy = ", and `tokverify fix` replaces it" if replaces_template(report) else ""
        yield f"the chat template is not the reference's: `tokverify chat` shows how it differs{remedy}"
    if report.expected.caveat:
        yield caveat(report)
    if report.rules:
        yield f"{plural(report.rules, 'static rule')} checked that data instead"


def replaces_template(report: Report) -> bool:
    """Whether `tokverify fix` writes the reference's chat template: not if that, or the reference, is doubted."""
    differing = [each for each in report.differences if each.aspect is Aspect.TEMPLATE]
    is_meant = any(each.severity > Severity.INFO and each.origin is not Origin.REFERENCE for each in differing)
    return is_meant and not report.undiagnosed


def _omitted_tokens(report: Report) -> Iterator[str]:
    if any(result.case.parse_special and not result.parse_special for result in report.results):
        yield "control tokens inside texts"
    if any(result.case.add_special and not result.add_special for result in report.results):
        yield "tokens around texts"


def caveat(report: Report) -> str:
    """Return in short what agreement with the reference cannot prove, starting with `but`; or an empty string."""
    return f"but {re.split('[:;]', report.expected.caveat)[0]}" if report.expected.caveat else ""


def effect(explanation: Explanation, diagnosis: Diagnosis) -> str:
    """Describe what the change of an explanation does."""
    what = "differing decoding" if diagnosis.decoding else "failing case"
    effects: list[str] = []
    limited = explanation.failing - explanation.explained - len(explanation.unexplained)
    if limited and not explanation.explained:
        effects.append(f"leaves only limits of llama.cpp in {_share(limited, explanation.failing, what)}")
    elif explanation.is_repair and not explanation.explained and explanation.differences <= 0:
        effects.append("removes differences that only tokverify fix looks for")
    elif explanation.failing:
        effects.append(f"makes {_share(explanation.explained, explanation.failing, what)} match")
        if limited:
            effects.append(f"leaves {limited:,} that {verb(limited, 'differ')} only because of limits of llama.cpp")
    if explanation.differences > 0:
        share = _share(explanation.differences, diagnosis.differences, "failing difference")
        effects.append(f"removes {share} between the tokenizers")
    joined = " and ".join(effects) if len(effects) < _SEVERAL else f"{', '.join(effects[:-1])}, and {effects[-1]}"
    found = f"{explanation.sentence} {joined}"
    return f"{found}, but breaks {plural(explanation.broken, 'other')}" if explanation.broken else found


def _share(part: int, whole: int, what: str) -> str:
    return f"the only {what}" if part == whole == 1 else f"{part:,} of {plural(whole, what)}"


def likely_explanations(diagnosis: Diagnosis) -> Sequence[Explanation]:
    """Return the explanations up to one that a file can express and that explains all cases, and the repaired one."""
    for count, each in enumerate(diagnosis.explanations, 1):
        is_complete = each.explained == diagnosis.failing or (each.is_repair and not each.unexplained)
        if is_complete and not each.broken and (each.expressible or each.is_repair):
            shown, others = diagnosis.explanations[:count], diagnosis.explanations[count:]
            if any(explanation.repair.commands for explanation in shown):
                return shown
            return (*shown, *(explanation for explanation in others if explanation.repair.commands))
    return diagnosis.explanations


def blame(report: Report) -> str:
    """Say that the reference is at fault if that explains everything that fails; empty otherwise."""
    failing = failing_differences(report)
    at_fault = failing and all(difference.origin is Origin.REFERENCE for difference in failing)
    if not at_fault or report.diagnosis:
        return ""
    is_damaged = any(difference.aspect in {Aspect.SPLITTING, Aspect.DECODING} for difference in failing)
    fault = "is damaged" if is_damaged else "contradicts its own configuration"
    return f"the reference is at fault, not the model: {report.expected.source} {fault}"


def causes(report: Report, what: str = "case", *, brief: bool = True) -> list[str]:
    """Say in a few lines what makes a report fail; if it passes, what a user should know of the file all the same."""
    if not run_exit_code(report):
        serious = [each for each in report.differences if each.severity > Severity.INFO and each.origin not in _REMARKS]
        lines = [each.message for each in serious if effect_of(each, report) == SHOWN]
    else:
        lines = [*_count_errors(report, what), *(each.message for each in failing_differences(report))]
        lines = lines or list(_count_mismatches(report, what))
    if not brief:
        return lines
    left_out = len(lines) - _MAX_CAUSES
    more = [f"{plural(left_out, 'other')}, shown with -v"] if left_out > 0 else []
    return [*(truncate_words(line, _MAX_CAUSE) for line in lines[:_MAX_CAUSES]), *more]


def answer(report: Report) -> list[str]:
    """Say in a few lines what makes a report fail, and which change would repair it."""
    if report.diagnosis is None:
        return causes(report) or list(filter(None, [report.undiagnosed]))
    likely = [effect(each, report.diagnosis) for each in report.diagnosis.explanations[:1]]
    return [*causes(report), *likely]


def _count_errors(report: Report, what: str) -> Iterator[str]:
    """Say how many texts a side could not encode, and why not the first of them."""
    errors = [result for result in report.results if result.status is Status.ERROR and result.fails]
    if errors:
        first = errors[0]
        yield f"{plural(len(errors), what)} could not be encoded{_example(errors)}: {first.message}"


def _count_mismatches(report: Report, what: str) -> Iterator[str]:
    """Say how many texts differ where nothing else does."""
    failing = [result for result in report.results if result.fails]
    if failing:
        is_same = report.vocabulary is not None and not vocabularies_differ(report.vocabulary)
        same = "; the tokens themselves are the same" if is_same else ""
        yield f"{plural(len(failing), what)} {verb(len(failing), 'differ')}{_example(failing)}{same}"


def _example(results: Sequence[CaseResult]) -> str:
    return f"{': ' if len(results) == 1 else ', such as '}{results[0].case.name}"


def limit_note(diagnosis: Diagnosis) -> str:
    """Say that a diagnosis reached its limit, and what it did not try."""
    tried = f"the limit was reached after {plural(diagnosis.tried, 'change')}"
    return f"{tried}; not tried: {list_items(diagnosis.not_tried)}" if diagnosis.not_tried else tried


def explanation_lines(report: Report) -> list[str]:
    """Return the explanations of a report, each followed by its repair, in lines that have passed `visible`."""
    if report.diagnosis is None:
        return []
    lines: list[str] = []
    for explanation in likely_explanations(report.diagnosis):
        repair = explanation.repair
        lines.append(effect(explanation, report.diagnosis))
        lines += [f"{command.label}: {command_line(command)}" for command in repair.commands] or [repair.remark]
    return list(map(visible_message, lines))
