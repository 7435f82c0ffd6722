"""Repair: what can be done about each explanation of a report, as commands that can be pasted into a shell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from tokverify.references.location import EXPECT
from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from tokverify.report.diagnosis import Explanation
    from tokverify.report.run import Report

_FIXED = "-fixed.gguf"
# On most systems.
_MAX_NAME_BYTES = 255
_IN_PLACE = "gguf-set-metadata"
# What `run` encodes as a GGUF file would, and `fix` cannot write.
_NO_GGUF = re.compile(r"\.(json|model)\Z|\.tiktoken(:|\Z)")
# A word of a command as `shlex.join` writes it: spaces within quotes part no words.
_WORD = re.compile(r"(?:[^\s']|'[^']*'|')+")


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, and the words that lead to it; `arguments` are quoted, options in one with their values."""

    label: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(self.arguments)


@dataclass(frozen=True, slots=True)
class Repair:
    """What can be done about an explanation: commands, of which each alone will do, or why there is none."""

    commands: tuple[Command, ...] = ()
    remark: str = ""


def repairs(report: Report) -> list[Repair]:
    """Return how each explanation of a report can be repaired.

    MODEL or REFERENCE stands for what the report of a library caller does not know, and for what cannot be shown as
    it is, so that nobody could paste it.
    """
    explanations = report.diagnosis.explanations if report.diagnosis else ()
    # What `fix` writes is the first that a file can say.
    fixed = next((found for found in explanations if found.expressible), None)
    return [_repair(found, report, is_fixed=found is fixed) for found in explanations]


def _repair(found: Explanation, report: Report, *, is_fixed: bool) -> Repair:
    if not found.expressible:
        return Repair(remark="GGUF cannot express it: the runtime would have to do it")
    model = _model(report)
    if model and _NO_GGUF.search(model):
        return Repair(remark="GGUF can express it; tokverify fix repairs GGUF files only")
    commands = tuple(_commands(found, report, model, is_fixed=is_fixed))
    return Repair(commands, "" if commands else "GGUF can express it, too")


def _model(report: Report) -> str | None:
    """Return the file that was verified, as far as it is known."""
    told = report.options.get("model")
    if isinstance(told, str):
        return told
    return report.actual.source if report.actual.source != report.actual.name else None


def _commands(found: Explanation, report: Report, model: str | None, *, is_fixed: bool) -> Iterator[Command]:
    fixed = fixed_name(model)
    if is_fixed:
        files = _word(model, "MODEL"), *_reference(report), f"-o {_word(fixed, 'FIXED.gguf')}"
        # By all, as a repair is worth what proves it; a filter mostly is for reading.
        label = "repair, by all cases" if _is_of_some_cases(report) else "repair"
        yield Command(label, ("tokverify fix", *files, *_cases(report)))
    if found.repair:
        in_place = ", in the file itself" if found.repair.startswith(_IN_PLACE) else ""
        yield Command(f"{'or' if is_fixed else 'repair'}{in_place}", filled_in(found.repair, model, fixed))


def fixed_name(model: str | None) -> str | None:
    """Name the repaired copy of a model, to stand in the current directory."""
    if not model:
        return None
    room = _MAX_NAME_BYTES - len(_FIXED)
    stem = PurePath(model).stem[:room]
    while len(stem.encode(errors="surrogatepass")) > room:
        stem = stem[:-1]
    return stem + _FIXED


def filled_in(command: str, model: str | None, fixed: str | None, reference: object = None) -> tuple[str, ...]:
    """Name the files in a command, as far as they are known."""
    # subtle: word by word, as a file may be called FIXED.
    words = {
        "MODEL": _word(model, "MODEL"),
        "FIXED": _word(fixed, "FIXED.gguf"),
        "REFERENCE": _word(reference, "REFERENCE"),
    }
    return tuple(words.get(word, word) for word in _WORD.findall(command))


def _reference(report: Report) -> Iterator[str]:
    """Yield the reference as an option; none where `fix` finds the same one by itself."""
    location, revision = report.options.get("reference"), report.options.get("revision")
    if report.expected.name == EXPECT or "reference" not in report.options:
        yield "-r REFERENCE"
    elif isinstance(location, str):
        yield f"-r {_word(f'{location}@{revision}' if revision else location, 'REFERENCE')}"


def _cases(report: Report) -> Iterator[str]:
    cases = report.options.get("cases")
    for path in cases if isinstance(cases, list | tuple) else ():
        yield f"--cases {_word(path, 'CASES')}"


def _is_of_some_cases(report: Report) -> bool:
    return any(report.options.get(option) for option in ("suites", "tags", "patterns", "fail_fast"))


def _word(value: object, placeholder: str) -> str:
    """Quote an argument for the shell, if it can be shown as it is."""
    if not isinstance(value, str) or visible_message(value) != value:
        return placeholder
    # An argument that begins with a dash would be taken for an option.
    return shlex.quote(f"./{value}" if value.startswith("-") else value)
