"""Find the change that repairs what fails in a report, and the commands that make it, to paste into a shell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tokverify.compare.blame import blamed_settings, drop_blamed, explain_blame
from tokverify.compare.comparison import compare_cases
from tokverify.compare.limits.explaining import explainer_of
from tokverify.compare.opened import Opened
from tokverify.engine.encoder import Encoder
from tokverify.errors import GoneError, TokverifyError
from tokverify.references.location import EXPECT
from tokverify.repair.budget import ENCODINGS, Budget
from tokverify.repair.change import TokenizerChange
from tokverify.repair.corrected_reference import correct_around
from tokverify.repair.fix.fixing import Plan, make_plan
from tokverify.repair.fix.measure import CHARSMAP, Measure
from tokverify.repair.other_model import doubt_reference
from tokverify.repair.search import DiagnosisResult, diagnose
from tokverify.report.diagnosis import Command, Diagnosis, Explanation, Repair
from tokverify.report.fix import FINDINGS
from tokverify.report.run import CaseResult, Report, Status, failing_differences, has_failing_case
from tokverify.report.tokenizer_difference import Aspect, Origin, TokenizerDifference
from tokverify.sources.gguf.declaration import Declaration
from tokverify.sources.gguf.keys import ROLES_BY_KEY
from tokverify.sources.stores.location import is_stored
from tokverify.text.command_line import fill_in, fixed_name, quote_argument, quote_reference
from tokverify.texts.target_text import is_generated
from tokverify.tokenizer import why_hidden

_PARTS = "tokverify fix leaves out a part that makes anything else worse, such as types of tokens, and says so"
_NOT_WRITTEN = Repair(remark="tokverify fix does not write it, because it would make something else worse")
_BREAKS_IDS = Repair(remark="not a repair: it would change ids that are right now")
_NO_CHANGE = "tokverify fix finds no change that it would write"
_IN_PLACE = "gguf-set-metadata"
# `run` reads these like the equivalent GGUF file, but `fix` cannot write them.
_NO_GGUF = re.compile(r"\.(json|model|tiktoken|txt)(:|\Z)")


def find_repair(
    report: Report, declaration: Declaration, encoder: Encoder, facts: Opened, *, encodings: int = ENCODINGS
) -> Report:
    """Record in a report why it fails, and the change that `tokverify fix` would write.

    The search is that of `fix`. It is left out if nothing hints at a fault of the file, so that only the runtime could
    do something about the failing cases.

    A diagnosis encodes about as many texts as `encodings` at most.
    """
    if doubt := doubt_reference(declaration, facts):
        return replace(report, undiagnosed=doubt)
    other, results = encoder, drop_blamed(report)
    corrected = correct_around(facts, encoder) if any(result.fails for result in results) else None
    if corrected:
        facts, results = corrected, _compare_again(encoder, corrected, report)
    if names := blamed_settings(report.differences):
        other = _with_other_settings(encoder, names)
        results = _find_failing(other, facts, report)
    found = diagnose(other.spec, facts, results, encoder=other, budget=Budget(encodings))
    failing = failing_differences(report)
    is_reference_at_fault = all(each.origin is Origin.REFERENCE for each in failing)
    is_corrected = len(results) < len(report.results) or corrected is not None
    is_blamed = is_corrected or (failing and not has_failing_case(report))
    if (found is None or found.diagnosis.decoding) and is_blamed and is_reference_at_fault:
        return replace(report, undiagnosed=explain_blame(report.differences))
    is_failing = has_failing_case(report) or failing
    if facts.tokenizer is None or not is_failing or not _is_file_suspected(report, found):
        return add_repairs(replace(report, diagnosis=found.diagnosis)) if found else report
    cases = [result.case for result in results]
    # Several pre-tokenizers may explain all cases; what the reference does not declare, only further texts tell. So it
    # is with tokens that it does not list, and that no case contains.
    is_guess = facts.spec is None and found is not None and any(_sets_pre(change) for change in found.changes[:1])
    is_hidden = bool(why_hidden(facts.tokenizer)) and not has_failing_case(report)
    try:
        plan = make_plan(
            Path(report.actual.name),
            declaration,
            facts,
            cases,
            encoder=encoder,
            encodings=encodings,
            diagnosed=found,
            is_quick=not (is_guess or is_hidden),
        )
    except GoneError:
        raise
    except TokverifyError as error:
        # How another library decodes would hide why nothing is repaired.
        explained = found.diagnosis if found and not found.diagnosis.decoding else None
        return replace(report, diagnosis=explained, undiagnosed=str(error))
    if found is None and plan.change is None:
        return replace(report, undiagnosed=_explain_doubt(failing, facts) or _NO_CHANGE)
    diagnosis = _add_plan(found.diagnosis if found else Diagnosis((), 0, 0), plan, report)
    return _add_commands(replace(report, diagnosis=diagnosis), is_planned=True)


def _sets_pre(change: TokenizerChange) -> bool:
    return any(step.kind == "pre" for step in change.steps)


def _explain_doubt(failing: Iterable[TokenizerDifference], facts: Opened) -> str:
    """Say that the files of the reference contradict each other about a role that differs, so that none is repaired."""
    subjects = {f"{ROLES_BY_KEY[key]} token" for each in failing for key in each.keys if key in ROLES_BY_KEY}
    doubts = [each.sentence for each in facts.contradictions if each.subject in subjects]
    return f"the files of the reference contradict each other: {doubts[0]}; correct the wrong one" if doubts else ""


def _with_other_settings(encoder: Encoder, names: Iterable[str]) -> Encoder:
    """Return an encoder with the opposite of some flags, given as fields of `TokenizerSpec`."""
    opposite: dict[str, Any] = {name: not getattr(encoder.settings, name) for name in names}
    return Encoder(replace(encoder.spec, **opposite), encoder.name, base=encoder)


def _find_failing(encoder: Encoder, facts: Opened, report: Report) -> tuple[CaseResult, ...]:
    """Return which cases of a report fail with another encoder, too; how it decodes is not compared."""
    results = _compare_again(encoder, facts, report)
    return tuple(result for result in drop_blamed(replace(report, results=results)) if result.fails)


def _compare_again(encoder: Encoder, facts: Opened, report: Report) -> tuple[CaseResult, ...]:
    again = compare_cases(encoder, facts.tokenizer, [result.case for result in report.results])
    return tuple(map(explainer_of(encoder, facts).explain, again))


def _is_file_suspected(report: Report, found: DiagnosisResult | None) -> bool:
    """Whether anything hints at a fault that another file would not have; the diagnosis tries all that are declared."""
    steps = [step for change in found.changes for step in change.steps] if found else []
    return bool(failing_differences(report)) or any(step.expressible for step in steps)


def _add_plan(diagnosis: Diagnosis, plan: Plan, report: Report) -> Diagnosis:
    """Return a diagnosis in which one explanation is the change that `fix` writes, if it writes one."""
    failing = failing_differences(report)
    diagnosis = replace(diagnosis, differences=len(failing))
    if plan.change is None:
        return diagnosis
    count_errors = report.rules > 0 or any(each.aspect is Aspect.RULES for each in failing)
    planned = _explain_plan(plan.change, plan, count_errors=count_errors)
    # Rules find more than a report with a reference lists.
    planned = replace(planned, differences=min(planned.differences, len(failing)))
    others = list(diagnosis.explanations)
    for index, each in enumerate(others):
        if planned.sentence not in {each.sentence, each.expressible_part}:
            continue
        if planned.sentence == each.expressible_part and not planned.unexplained and not diagnosis.decoding:
            # The rest, which only the runtime could do, is a limit then, and no cause.
            return replace(diagnosis, explanations=(planned, *others[:index], *others[index + 1 :]))
        left = tuple(name for name in each.unexplained if name in planned.unexplained)
        others[index] = replace(each, is_repair=True, differences=planned.differences, unexplained=left)
        return replace(diagnosis, explanations=tuple(others))
    return replace(diagnosis, explanations=(planned, *others))


def _explain_plan(change: TokenizerChange, plan: Plan, *, count_errors: bool) -> Explanation:
    """Say what a plan achieves; `count_errors` if `run` also reports the errors that rules find in the file."""
    after = {result.case.name: result for result in plan.after.results}
    before = [result for result in plan.before.results if not is_generated(result.case)]
    failing = [result.case.name for result in before if result.fails]
    left = tuple(name for name in failing if after[name].fails)
    matching = [name for name in failing if not after[name].fails and not after[name].explained_by]
    broken = [result for result in before if result.status is Status.MATCH and after[result.case.name].fails]
    return Explanation(
        kind=change.kind,
        sentence=change.sentence,
        explained=len(matching),
        failing=len(failing),
        unexplained=left,
        broken=len(broken),
        expressible=True,
        gguf_command=change.gguf_command,
        differences=_count_differences(plan.before, count_errors) - _count_differences(plan.after, count_errors),
        is_repair=True,
    )


def _count_differences(measure: Measure, count_errors: bool) -> int:
    found = measure.counts[FINDINGS] + (measure.counts[CHARSMAP] > 0)
    return len(measure.differences) + (found if count_errors else 0)


def add_repairs(report: Report) -> Report:
    """Store in a report how each explanation of its diagnosis can be repaired, without a search for the best change.

    The commands name the files in the report's options. MODEL and REFERENCE stand for files that the report does not
    name, as in a report of a Python program, or whose names contain characters that cannot be pasted.
    """
    return _add_commands(report, is_planned=False)


def _add_commands(report: Report, *, is_planned: bool) -> Report:
    diagnosis = report.diagnosis
    if diagnosis is None:
        return report
    # This is the one that `tokverify fix` most likely writes.
    by_part = sorted(diagnosis.explanations, key=lambda each: not each.expressible)
    likely = next((each for each in by_part if _is_file_change(each) and not _breaks_ids(each, diagnosis)), None)
    planned = next((each for each in diagnosis.explanations if each.is_repair), None)
    fixed = planned if is_planned else likely
    explanations = tuple(
        replace(each, repair=_NOT_WRITTEN if is_planned and fixed is None and _is_file_change(each) else repair)
        for each in diagnosis.explanations
        for repair in [_repair(each, report, is_fixed=each is fixed)]
    )
    return replace(report, diagnosis=replace(diagnosis, explanations=explanations))


def _breaks_ids(explanation: Explanation, diagnosis: Diagnosis) -> bool:
    """Whether a change that concerns decoding makes other cases differ in their ids, which matter more."""
    return diagnosis.decoding and explanation.broken > 0


def _is_file_change(explanation: Explanation) -> bool:
    return explanation.expressible or bool(explanation.expressible_part)


def _repair(explanation: Explanation, report: Report, *, is_fixed: bool) -> Repair:
    part = explanation.expressible_part
    if not explanation.expressible and not part:
        return Repair(remark="GGUF cannot express it: the runtime would have to do it")
    if report.diagnosis and _breaks_ids(explanation, report.diagnosis):
        return _BREAKS_IDS
    model = _model(report)
    left = f"; the runtime would have to do the rest: {explanation.inexpressible_part}" if part else ""
    if model and _NO_GGUF.search(model):
        return Repair(remark=f"GGUF can express {part or 'it'}{left}; tokverify fix repairs only GGUF files")
    commands = tuple(_commands(explanation, report, model, is_fixed=is_fixed))
    if part:
        return Repair(commands, f"GGUF can express only a part: {part}{left}")
    if is_fixed and "+" in explanation.kind and not explanation.is_repair:
        return Repair(commands, _PARTS)
    return Repair(commands, "" if commands else "a GGUF file can express it, but fix chooses another repair")


def _model(report: Report) -> str | None:
    """Return the file that was verified, if the report names it."""
    model = report.options.get("model")
    if isinstance(model, str):
        return model
    return report.actual.source if report.actual.source != report.actual.name else None


def _commands(explanation: Explanation, report: Report, model: str | None, *, is_fixed: bool) -> Iterator[Command]:
    fixed = fixed_name(model)
    if is_fixed:
        files = quote_argument(model, "MODEL"), *_reference(report), f"-o {quote_argument(fixed, 'FIXED.gguf')}"
        # A repair is checked against all cases; filters mostly serve to read fewer results.
        label = "repair, checked against all cases" if _is_filtered(report) else "repair"
        yield Command(label, ("tokverify fix", *files, *_cases(report)))
    if explanation.gguf_command:
        in_place = ", in place" if explanation.gguf_command.startswith(_IN_PLACE) else ""
        # The programs of the gguf package know only files.
        file = None if model and is_stored(model) else model
        yield Command(f"{'or' if is_fixed else 'repair'}{in_place}", fill_in(explanation.gguf_command, file, fixed))


def _reference(report: Report) -> Iterator[str]:
    """Yield the reference as an option; nothing if `fix` finds the same reference by itself."""
    location, revision = report.options.get("reference"), report.options.get("revision")
    if report.expected.name == EXPECT or "reference" not in report.options:
        yield "-r REFERENCE"
    elif isinstance(location, str):
        yield f"-r {quote_reference(f'{location}@{revision}' if revision else location)}"


def _cases(report: Report) -> Iterator[str]:
    cases = report.options.get("cases")
    for path in cases if isinstance(cases, list | tuple) else ():
        yield f"--cases {quote_argument(path, 'CASES')}"


def _is_filtered(report: Report) -> bool:
    return any(report.options.get(option) for option in ("suites", "tags", "patterns", "max_failures", "last_failed"))
