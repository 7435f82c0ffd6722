"""Check that an engine encodes and decodes as llama.cpp does with the tokenizer of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from tokverify.case import Case
from tokverify.cases.loading import load_cases
from tokverify.commands.tasks.opening import ModelSource, open_model, open_reference
from tokverify.commands.tasks.run import verify_model
from tokverify.compare.consistency import check_consistency
from tokverify.errors import GoneError
from tokverify.report.diagnosis import Repair
from tokverify.report.run import Report
from tokverify.report.tokenizer_difference import Aspect
from tokverify.texts.generator import make_samples
from tokverify.texts.mode import Modes, mode_of
from tokverify.tokenizer import Tokenizer

TEXTS = 2000
"""The default number of generated texts."""
FAIL_ON = ("error", str(Aspect.DECODING))
"""What fails by default besides texts with different ids."""

_GENERATED = "generated"
_REPEATED = 200


def check_conformance(  # noqa: PLR0913 - the optional ones are keywords
    engine: str,
    model: ModelSource,
    cases: Iterable[Case] | None = None,
    *,
    count: int = TEXTS,
    seed: int = 0,
    fail_on: Sequence[str] = FAIL_ON,
    options: Mapping[str, object] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Check an engine on cases, on `count` generated texts, and for the same ids whenever it is asked.

    The engine, at a location such as `command:./my-engine`, should have read the model. In the report, which is like
    that of `verify_model`, the model is the actual side, and the engine the expected one.

    Raises:
        TokverifyError: If the file cannot be read, or the engine cannot be started.
    """
    opened = open_model(model)
    found = open_reference(opened, engine)
    cases = [*(load_cases() if cases is None else cases), *_generate(opened.encoder, count, seed)]
    report = verify_model(
        opened, found, cases, fail_on=fail_on, explain=False, diagnose=True, options=options, on_progress=on_progress
    )
    if report.gone:
        return report
    # About as many cases as are repeated, from everywhere.
    spread = cases[:: max(1, len(cases) // _REPEATED)]
    repeated = [_adapt(case, Modes(opened.encoder, found.tokenizer)) for case in spread]
    try:
        results = (*report.results, *check_consistency(found.tokenizer, repeated))
    except GoneError as error:
        return replace(report, gone=str(error))
    return _without_repairs(replace(report, results=results))


def _without_repairs(report: Report) -> Report:
    """Offer no repair of the file: it is the standard here, and the engine is wrong."""
    if report.diagnosis is None:
        return report
    repair = Repair(remark="the file is the standard here, so the engine has to be changed")
    explanations = tuple(replace(each, repair=repair) for each in report.diagnosis.explanations)
    return replace(report, diagnosis=replace(report.diagnosis, explanations=explanations))


def _generate(tokenizer: Tokenizer, count: int, seed: int) -> list[Case]:
    samples = make_samples(tokenizer, count, seed)
    return [Case(id=f"text-{at}", suite=_GENERATED, **sample._asdict()) for at, sample in enumerate(samples, 1)]


def _adapt(case: Case, modes: Modes) -> Case:
    mode = modes.choose(case.text, mode_of(case))
    return replace(case, **mode._asdict())
