"""Compute how the explanations of a report can be repaired, as commands to paste into a shell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tokverify.references.location import EXPECT
from tokverify.report.diagnosis import Command, Explanation, Repair
from tokverify.report.run import Report
from tokverify.sources.stores.location import is_stored
from tokverify.text.command_line import fill_in, fixed_name, quote_argument

_PARTS = "tokverify fix leaves out a part that makes anything else worse, such as types of tokens, and says so"
_IN_PLACE = "gguf-set-metadata"
# `run` reads these like the equivalent GGUF file, but `fix` cannot write them.
_NO_GGUF = re.compile(r"\.(json|model|tiktoken|txt)(:|\Z)")


def add_repairs(report: Report) -> Report:
    """Store in a report how each explanation of its diagnosis can be repaired.

    The commands name the files in the report's options. MODEL and REFERENCE stand for files that the report does not
    name, as in a report of a Python program, or whose names contain characters that cannot be pasted.
    """
    diagnosis = report.diagnosis
    if diagnosis is None:
        return report
    # This is the one that `tokverify fix` writes.
    by_part = sorted(diagnosis.explanations, key=lambda each: not each.expressible)
    fixed = next((each for each in by_part if each.expressible or each.expressible_part), None)
    explanations = tuple(
        replace(each, repair=_repair(each, report, is_fixed=each is fixed)) for each in diagnosis.explanations
    )
    return replace(report, diagnosis=replace(diagnosis, explanations=explanations))


def _repair(explanation: Explanation, report: Report, *, is_fixed: bool) -> Repair:
    part = explanation.expressible_part
    if not explanation.expressible and not part:
        return Repair(remark="GGUF cannot express it: the runtime would have to do it")
    model = _model(report)
    left = f"; the runtime would have to do the rest: {explanation.inexpressible_part}" if part else ""
    if model and _NO_GGUF.search(model):
        return Repair(remark=f"GGUF can express {part or 'it'}{left}; tokverify fix repairs only GGUF files")
    commands = tuple(_commands(explanation, report, model, is_fixed=is_fixed))
    if part:
        return Repair(commands, f"GGUF can express only a part: {part}{left}")
    if is_fixed and "+" in explanation.kind:
        return Repair(commands, _PARTS)
    return Repair(commands, "" if commands else "GGUF can express it, too")


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
        yield f"-r {quote_argument(f'{location}@{revision}' if revision else location, 'REFERENCE')}"


def _cases(report: Report) -> Iterator[str]:
    cases = report.options.get("cases")
    for path in cases if isinstance(cases, list | tuple) else ():
        yield f"--cases {quote_argument(path, 'CASES')}"


def _is_filtered(report: Report) -> bool:
    return any(report.options.get(option) for option in ("suites", "tags", "patterns", "max_failures", "last_failed"))
