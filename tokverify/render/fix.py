"""The output of `tokverify fix`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.render.run.verdict import effect
from tokverify.report.fix import UNCONFIRMED, fix_exit_code, remaining
from tokverify.text.command_line import fill_in, quote_argument
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.report.fix import FileRepair, FixReport, OtherReference, Verification

_SET_TYPES = (
    "import gguf; t = gguf.GGUFReader({file}, 'r+').fields['tokenizer.ggml.token_type']; "
    "[t.parts[t.data[i]].fill(v) for a, b, v in {ranges} for i in range(a, b + 1)]"
)
"""A Python program that sets types in place; `{ranges}` contains only numbers."""


def render_plan(
    report: FixReport, model: Path, output: Path | None, *, with_commands: bool = False, verbose: bool = False
) -> str:
    """Render what fails in the file `model`, and what would be written to `output`, if that is known.

    With `with_commands`, also render commands that set the types of tokens without tokverify; with `verbose`, also
    checks that find nothing.
    """
    lines = [f"before: {_format_counts(report.before)}"]
    if report.before.refusal:
        lines.append(f"        llama.cpp cannot load it: {report.before.refusal}")
    else:
        counts = {check.name: check.before for check in report.checks}
        lines += _format_checks(counts, verbose=verbose)
    best = report.diagnosis.explanations[0] if report.diagnosis and report.diagnosis.explanations else None
    if report.diagnosis and best:
        lines.append(f"cause:  {effect(best, report.diagnosis)}")
    if report.repair is None:
        lines.append(_explain_no_repair(report))
    else:
        is_cause = best is not None and best.sentence == report.repair.sentence
        lines += [] if is_cause else [f"repair: {report.repair.sentence}"]
        lines.append(f"{'repair:' if is_cause else '':7} writes {', '.join(report.repair.keys)}")
        lines += _describe_tokens(report.repair)
        if report.repair.gguf_command:
            command = " ".join(fill_in(report.repair.gguf_command, str(model), str(output) if output else None))
            lines += ["        the same with the gguf package:", f"$ {command}"]
        if with_commands and report.repair.types:
            lines += [
                "        the same types with the gguf package:",
                f"$ {_type_command(report.repair, model, output)}",
            ]
    if report.stopped_early:
        lines.append("limit:  reached before everything was tried; --thorough raises it")
    lines += [f"warning: {_describe_other(other)}" for other in report.others]
    return _join_lines(lines)


def _describe_other(other: OtherReference) -> str:
    disputed = (
        f"{other.source} and the reference encode {other.disputed:,} of {plural(other.cases, 'case')} differently"
    )
    return f"{disputed}; it and the file that is left, {other.differing:,}"


def _describe_tokens(repair: FileRepair) -> Iterator[str]:
    if repair.changed_tokens:
        yield f"        changes the text, type or score of {plural(repair.changed_tokens, 'token')}"
    if repair.inferred_tokens:
        yield f"        of which {repair.inferred_tokens:,} are inferred from similar tokens and not verified"


def _type_command(repair: FileRepair, model: Path, output: Path | None) -> str:
    """Return a command line that copies the file and sets the types in the copy."""
    source = quote_argument(str(model), "MODEL")
    target = quote_argument(str(output), "FIXED.gguf") if output else "FIXED.gguf"
    ranges = [(found.first, found.last, found.type) for found in repair.types]
    program = _SET_TYPES.format(file=repr(shlex.split(target)[0]), ranges=ranges)
    return f"cp {source} {target} && python -c {shlex.quote(program)}"


def _explain_no_repair(report: FixReport) -> str:
    left = [check.name for check in remaining(report)]
    explanations = report.diagnosis.explanations if report.diagnosis else ()
    if explanations and not explanations[0].expressible:
        return "repair: none that GGUF can express"
    if not report.before.fail and left:
        return f"repair: none found for the {', '.join(left)}"
    if not report.before.fail:
        return "repair: none needed, as every case matches; name cases that show a fault with --cases"
    return "repair: none found"


def render_result(report: FixReport, output: Path, *, verbose: bool = False) -> str:
    """Render what was written, and the result of its verification; with `verbose`, also checks that find nothing."""
    lines = [f"after:  {_format_counts(report.after)}"] if report.after else []
    lines += _format_checks({check.name: check.after for check in report.checks}, verbose=verbose)
    return _join_lines([*lines, f"written to {output}"])


def _format_checks(counts: Mapping[str, int], *, verbose: bool) -> Iterator[str]:
    for name, count in counts.items():
        if count or verbose:
            yield f"        {name}: {plural(count, 'difference')}"


def render_verdict(report: FixReport) -> str:
    """Render one line that sums up the report."""
    return _join_lines([_verdict(report)])


def _verdict(report: FixReport) -> str:
    unknown = f"; not known of the reference: {', '.join(report.not_compared)}" if report.not_compared else ""
    unknown += "".join(f"; {other.source} disagrees" for other in report.others)
    if not fix_exit_code(report):
        return f"{'repaired' if report.after else 'nothing to repair'}: every comparison agrees{unknown}"
    failing = (report.after or report.before).fail
    left = [f"{plural(failing, 'case')} {'fails' if failing == 1 else 'fail'}"] if failing else []
    left += [f"{check.name} {'remain' if check.name == UNCONFIRMED else 'differ'}" for check in remaining(report)]
    if report.repair and report.repair.inferred_tokens and report.after:
        left.append(f"{plural(report.repair.inferred_tokens, 'token')} not verified")
    return f"{'repaired in part' if report.after else 'not repaired'}: {', '.join(left)}{unknown}"


def _format_counts(found: Verification) -> str:
    match = f"{plural(found.match, 'case')} {'matches' if found.match == 1 else 'match'}"
    counts = f"{match}, {found.fail:,} {'does' if found.fail == 1 else 'do'} not"
    differing = found.decoded_differently
    return f"{counts}; {differing:,} {'decodes' if differing == 1 else 'decode'} differently" if differing else counts


def _join_lines(lines: list[str]) -> str:
    return "".join(f"{visible_message(line)}\n" for line in lines)
