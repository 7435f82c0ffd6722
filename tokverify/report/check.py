"""CheckReport: the result of `tokverify check`, as data: everything that is configured, with one verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from tokverify.report.audit import AuditReport, audit_exit_code, check_audit, summarize_audit
from tokverify.report.chat import ChatReport, chat_exit_code, check_chat, summarize_chat
from tokverify.report.run import Report, run_exit_code, summarize_run
from tokverify.report.run_check import check_run

_CANNOT_RUN = 2


class Part(StrEnum):
    """What a check performs; the names are those of the commands."""

    RUN = "run"
    AUDIT = "audit"
    CHAT = "chat"


@dataclass(frozen=True, slots=True)
class Note:
    """Why there is no result of a part."""

    part: Part
    """What has no result."""
    message: str
    """Why not."""
    is_failure: bool
    """Whether the part could not be performed; if not, there was nothing to check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCheck:
    """Everything that was checked of one model."""

    name: str
    """The configured name, or the name of the file."""
    source: str
    """The file."""
    parts: tuple[Part, ...]
    """What was requested."""
    run: Report | None = None
    """The result of the cases; None if they were not asked for, or could not be run."""
    audit: AuditReport | None = None
    """The result of the static rules; None likewise."""
    chat: ChatReport | None = None
    """The result of the chat templates; None likewise."""
    notes: tuple[Note, ...] = ()
    """Why a requested part has no result."""

    @property
    def results(self) -> Mapping[Part, Report | AuditReport | ChatReport]:
        """The reports of the parts that have a result."""
        found = {Part.RUN: self.run, Part.AUDIT: self.audit, Part.CHAT: self.chat}
        return {part: report for part, report in found.items() if report}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """Everything that was checked."""

    models: tuple[ModelCheck, ...]
    """In the order of the configuration."""
    options: Mapping[str, object] = field(default_factory=dict)
    """What the user asked for."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """The versions of tokverify and the libraries involved."""


class _OfPart(NamedTuple):
    """What is known of the reports of a part."""

    exit_code: Callable[[Any], int]
    summarize: Callable[[Any], Mapping[str, object]]
    check: Callable[[Any, str], Iterator[str]]


_PARTS: Mapping[Part, _OfPart] = {
    Part.RUN: _OfPart(run_exit_code, summarize_run, check_run),
    Part.AUDIT: _OfPart(audit_exit_code, summarize_audit, check_audit),
    Part.CHAT: _OfPart(chat_exit_code, summarize_chat, check_chat),
}


def part_exit_code(model: ModelCheck, part: Part) -> int | None:
    """Return the exit code of a part; None if it has no result because there was nothing to check."""
    if found := model.results.get(part):
        return _PARTS[part].exit_code(found)
    return _CANNOT_RUN if any(note.part is part and note.is_failure for note in model.notes) else None


def model_exit_code(model: ModelCheck) -> int:
    """Return the highest exit code of the parts; 2 if no part has a result."""
    codes = [part_exit_code(model, part) for part in model.parts]
    return max((code for code in codes if code is not None), default=_CANNOT_RUN)


def check_exit_code(report: CheckReport) -> int:
    """Return the highest exit code of the models."""
    return max(map(model_exit_code, report.models), default=_CANNOT_RUN)


def summarize_check(report: CheckReport) -> Mapping[str, object]:
    """Return the `summary` of the JSON report."""
    return {
        "exit_code": check_exit_code(report),
        "models": {
            model.name: {
                "exit_code": model_exit_code(model),
                **{str(part): _PARTS[part].summarize(found) for part, found in model.results.items()},
            }
            for model in report.models
        },
    }


def check_check(report: CheckReport, path: str) -> Iterator[str]:
    """Yield every inconsistency as `path: problem`; `path` is where the report stands in its document."""
    for index, model in enumerate(report.models):
        for part, found in model.results.items():
            yield from _PARTS[part].check(found, f"{path}.models[{index}].{part}")
