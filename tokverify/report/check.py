"""CheckReport: the result of `tokverify check`, as data: everything that is configured, with one verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

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
    message: str
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
    audit: AuditReport | None = None
    chat: ChatReport | None = None
    notes: tuple[Note, ...] = ()
    """Why a requested part has no result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """Everything that was checked."""

    models: tuple[ModelCheck, ...]
    """In the order of the configuration."""
    options: Mapping[str, object] = field(default_factory=dict)
    """What the user asked for."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """The versions of tokverify and the libraries involved."""


def part_exit_code(model: ModelCheck, part: Part) -> int | None:
    """Return the exit code of a part; None if it has no result because there was nothing to check."""
    if part is Part.RUN and model.run:
        return run_exit_code(model.run)
    if part is Part.AUDIT and model.audit:
        return audit_exit_code(model.audit)
    if part is Part.CHAT and model.chat:
        return chat_exit_code(model.chat)
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
        "models": {model.name: _summarize_model(model) for model in report.models},
    }


def _summarize_model(model: ModelCheck) -> Mapping[str, object]:
    parts: dict[str, object] = {}
    if model.run:
        parts["run"] = summarize_run(model.run)
    if model.audit:
        parts["audit"] = summarize_audit(model.audit)
    if model.chat:
        parts["chat"] = summarize_chat(model.chat)
    return {"exit_code": model_exit_code(model), **parts}


def check_check(report: CheckReport, path: str) -> Iterator[str]:
    """Yield every inconsistency as `path: problem`; `path` is where the report stands in its document."""
    for index, model in enumerate(report.models):
        place = f"{path}.models[{index}]"
        if model.run:
            yield from check_run(model.run, f"{place}.run")
        if model.audit:
            yield from check_audit(model.audit, f"{place}.audit")
        if model.chat:
            yield from check_chat(model.chat, f"{place}.chat")
