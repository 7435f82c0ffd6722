"""Check what the dataclasses of a run's report cannot express, and what its renderers rely on."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import zip_longest

from tokverify.report.diagnosis import Diagnosis, Repair, command_line
from tokverify.report.difference import Difference
from tokverify.report.finding import ERROR
from tokverify.report.run import CaseResult, Report, Status
from tokverify.report.tokenizer_difference import Origin
from tokverify.text.command_line import only_reads
from tokverify.text.wording import list_alternatives

_GGUF_COMMANDS = ("gguf-new-metadata ", "gguf-set-metadata ")
_LIMIT_ORIGINS = frozenset({Origin.RUNTIME, Origin.CONVENTION})
_COMMANDS = ("tokverify fix ", *_GGUF_COMMANDS)
_OPTIONS = ("-r", "-o", "--cases")
"""The options of `tokverify fix` that a repair may have."""


def check_run(report: Report, path: str) -> Iterator[str]:
    """Yield every inconsistency as `path: problem`; `path` is where the report stands in its document."""
    for index, result in enumerate(report.results):
        yield from _check_result(result, f"{path}.results[{index}]")
    yield from _check_limits(report, path)
    if report.diagnosis:
        yield from check_diagnosis(report.diagnosis, f"{path}.diagnosis")


def _check_limits(report: Report, path: str) -> Iterator[str]:
    """Yield what would let a report pass without a proven reason."""
    codes = {limit.code for limit in report.limits}
    for index, limit in enumerate(report.limits):
        if limit.origin not in _LIMIT_ORIGINS or limit.severity is ERROR:
            yield f"{path}.limits[{index}]: a limit is of the origin runtime or convention, and no error"
    for index, result in enumerate(report.results):
        if result.explained_by and result.status is not Status.MISMATCH:
            yield f"{path}.results[{index}].explained_by: only a mismatch can be explained"
        elif unknown := sorted({*result.explained_by} - codes):
            yield f"{path}.results[{index}].explained_by: `limits` has no {list_alternatives(unknown)}"


def check_difference(difference: Difference, path: str) -> Iterator[str]:
    """Yield every inconsistency of a difference between two tokenizations."""
    for index, block in enumerate(difference.blocks):
        if block.equal and len(block.actual) != len(block.expected):
            yield f"{path}.blocks[{index}]: an equal block needs as many tokens on both sides"
    actual = sum(len(block.actual) for block in difference.blocks)
    expected = sum(len(block.expected) for block in difference.blocks)
    if difference.first.token_index >= max(actual, expected):
        yield f"{path}.first.token_index: there is no such token"


def _check_result(result: CaseResult, path: str) -> Iterator[str]:
    if result.status is Status.MISMATCH and result.difference is None and result.message is None:
        yield f"{path}: a mismatch needs a `difference` or a `message`"
    if (result.status is Status.KNOWN) != (result.known is not None):
        yield f"{path}: `known` is required if the status is known, and must be null otherwise"
    if result.difference:
        yield from check_difference(result.difference, f"{path}.difference")
    expectations = {"expect": result.expect, **{f"case.expect.{name}": ids for name, ids in result.case.expect.items()}}
    for name, expect in expectations.items():
        if expect is not None and len({type(item) for item in expect}) > 1:
            yield f"{path}.{name}: expected either ids or pieces, not both"


def check_diagnosis(diagnosis: Diagnosis, path: str) -> Iterator[str]:
    """Yield every command in a diagnosis that people must not be invited to paste into a shell."""
    for index, explanation in enumerate(diagnosis.explanations):
        place = f"{path}.explanations[{index}]"
        yield from check_gguf_command(explanation.gguf_command, place)
        yield from check_repair(explanation.repair, f"{place}.repair")


def check_gguf_command(command: str | None, path: str) -> Iterator[str]:
    """Yield a problem if a `gguf_command` calls anything but a program of the `gguf` package."""
    if command is not None and not _is_pasteable(command, _GGUF_COMMANDS):
        yield f"{path}.gguf_command: expected a command line of {_list(_GGUF_COMMANDS)}, quoted for a shell"


def check_repair(repair: Repair, path: str) -> Iterator[str]:
    """Yield every command that people must not be invited to paste into a shell."""
    for index, command in enumerate(repair.commands):
        whole = all(_is_quoted(argument) for argument in command.arguments)
        if not whole or not _is_pasteable(command_line(command), _COMMANDS):
            yield f"{path}.commands[{index}]: expected a command line of {_list(_COMMANDS)}, quoted for a shell"
        elif problem := _find_danger(shlex.split(command_line(command))):
            yield f"{path}.commands[{index}]: {problem}"


def _find_danger(words: Sequence[str]) -> str | None:
    """Return what a `tokverify fix` must not be pasted with, if anything."""
    if words[:2] != ["tokverify", "fix"]:
        return None
    for word, value in zip_longest(words[2:], words[3:]):
        if word.startswith("-") and word not in _OPTIONS:
            return f"the option {word} is not one of {list_alternatives(_OPTIONS)}"
        if word == "-r" and not only_reads(value or ""):
            return f"-r {value} would run a program, or code of another package"
    return None


def _is_pasteable(command: str, programs: tuple[str, ...]) -> bool:
    """Check that a command calls one of these programs and nothing else."""
    return command.startswith(programs) and _is_quoted(command)


def _is_quoted(text: str) -> bool:
    """Check that a shell takes a text for words and nothing else."""
    with suppress(ValueError):
        return shlex.join(shlex.split(text)) == text
    return False


def _list(programs: tuple[str, ...]) -> str:
    return list_alternatives(program.strip() for program in programs)
