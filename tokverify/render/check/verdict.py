"""The line that sums up a check, and those of its parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokverify.render.audit.verdict import WITHOUT_REFERENCE
from tokverify.render.audit.verdict import verdict as audit_verdict
from tokverify.render.chat.verdict import verdict as chat_verdict
from tokverify.render.run.verdict import reservations
from tokverify.render.run.verdict import verdict as run_verdict
from tokverify.report.check import CheckReport, ModelCheck, Part, model_exit_code, part_exit_code
from tokverify.text.wording import list_items, plural

_WORDS = {0: "passes", 1: "fails", 2: "could not be checked"}
_NAMED = 3
NOTHING = "nothing to check"


def verdict(report: CheckReport) -> str:
    """Sum up a check, such as `2 models: 1 fails (small: audit)`, and what was not compared."""
    return "; ".join([_outcome(report), *_reservations(report)])


def _outcome(report: CheckReport) -> str:
    failing = [model for model in report.models if model_exit_code(model)]
    if not failing:
        return f"{plural(len(report.models), 'model')}: everything that was checked agrees or is accepted"
    outcomes = [_failing_models(failing, code) for code in (1, 2)]
    return f"{plural(len(report.models), 'model')}: {', '.join(filter(None, outcomes))}"


def _failing_models(failing: Sequence[ModelCheck], code: int) -> str:
    """Count and name the models with an exit code; empty if there are none."""
    concerned = [model for model in failing if model_exit_code(model) == code]
    names = "; ".join(f"{model.name}: {', '.join(_failing_parts(model)) or NOTHING}" for model in concerned)
    return f"{len(concerned):,} {_WORDS[code]} ({names})" if concerned else ""


def _reservations(report: CheckReport) -> Iterator[str]:
    """Yield what people must know who read nothing but the verdict, with the models concerned unless these are all."""
    models: dict[str, list[str]] = {}
    for model in report.models:
        for reservation in reservations(model.run) if model.run else _reservations_without_run(model):
            models.setdefault(reservation, []).append(model.name)
    for reservation, names in models.items():
        concerned = list_items(names, _NAMED)
        yield reservation if len(names) == len(report.models) else f"{reservation} ({concerned})"


def _reservations_without_run(model: ModelCheck) -> Iterator[str]:
    if model.audit and model.audit.reference is None:
        yield WITHOUT_REFERENCE


def _failing_parts(model: ModelCheck) -> list[str]:
    return [str(part) for part in model.parts if part_exit_code(model, part)]


def part_word(model: ModelCheck, part: Part) -> str:
    """Return the outcome of a part in a word or two."""
    code = part_exit_code(model, part)
    return NOTHING if code is None else _WORDS[code]


def part_verdict(model: ModelCheck, part: Part) -> str:
    """Return the verdict of a part, or why it has none; it has not passed `visible_message` yet."""
    if part is Part.RUN and model.run:
        return run_verdict(model.run)
    if part is Part.AUDIT and model.audit:
        return audit_verdict(model.audit)
    if part is Part.CHAT and model.chat:
        return chat_verdict(model.chat)
    return "; ".join(note.message for note in model.notes if note.part is part)
