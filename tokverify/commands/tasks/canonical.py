"""Check whether the ids of logged sequences equal the encodings of their own texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tokverify.case import Case
from tokverify.commands.tasks.opening import ModelSource, ReferenceSource, open_model, open_reference
from tokverify.compare.canonical import CanonicalCheck, FoundDeviation
from tokverify.compare.opened import python_version
from tokverify.report.canonical import CanonicalReport, Deviation, DeviationCount
from tokverify.report.run import CaseResult, Report, Status
from tokverify.report.side import Side
from tokverify.sources.sequence_log import LoggedSequence, read_log
from tokverify.text.utf8 import to_text
from tokverify.texts.alignment import compare
from tokverify.tokenizer import join_bytes
from tokverify.version import __version__

EXAMPLES = 3
"""The default number of examples for each cause."""

_SUITE = "log"


def check_canonical_ids(  # noqa: PLR0913 - the optional ones are keywords
    log: str | Path,
    model: ModelSource,
    reference: ReferenceSource = None,
    *,
    fields: Sequence[str] = (),
    examples: int = EXAMPLES,
    options: Mapping[str, object] | None = None,
    on_progress: Callable[[int], None] = lambda _: None,
) -> CanonicalReport:
    """Check a log of token ids, such as the rollouts of reinforcement learning.

    Args:
        log: A file of JSON Lines, one sequence per line.
        model: The tokenizer, as for `open_model`.
        reference: The tokenizer that encodes the texts, as for `tokverify run`; by default, the model.
        fields: The fields with the ids, in the order in which they are joined; by default, well-known ones.
        examples: How many examples to report for each cause.
        options: The options to record in the report.
        on_progress: Called after each sequence with the number of sequences so far.

    Raises:
        TokverifyError: If a file cannot be read, or a line of the log holds no ids.
    """
    opened = open_model(model)
    encoding = opened if reference is None else open_reference(opened, reference)
    check = CanonicalCheck(opened.encoder, encoding.tokenizer)
    counts: Counter[Deviation] = Counter()
    results: list[CaseResult] = []
    found_in: dict[Deviation, list[str]] = {}
    sequences = tokens = deviating_tokens = 0
    for sequence in read_log(Path(log), fields):
        sequences += 1
        tokens += len(sequence.ids)
        if found := check.find(sequence.ids, sequence.boundaries):
            counts[found.cause] += 1
            deviating_tokens += found.tokens
            shown = found_in.setdefault(found.cause, [])
            if len(shown) < examples:
                results.append(_to_result(found, sequence, Path(log)))
                shown.append(results[-1].case.id)
        on_progress(sequences)
    return CanonicalReport(
        report=Report(
            encoding.description,
            Side(name=_SUITE, source=str(log)),
            vocabulary=None,
            results=tuple(results),
            options=dict(options or {}),
            versions={"tokverify": __version__, **python_version(), **encoding.versions},
        ),
        sequences=sequences,
        tokens=tokens,
        deviating=counts.total(),
        deviating_tokens=deviating_tokens,
        causes=tuple(
            DeviationCount(cause=cause, sequences=counts[cause], cases=tuple(found_in[cause]))
            for cause in Deviation
            if counts[cause]
        ),
    )


def _to_result(found: FoundDeviation, sequence: LoggedSequence, log: Path) -> CaseResult:
    """Return a deviation as the result of a case: the text around it, encoded and logged."""
    text = to_text(join_bytes(found.logged))
    case = Case(
        id=f"line-{sequence.line}",
        suite=_SUITE,
        text=text,
        note=f"{found.cause}: {found.cause.meaning}",
        file=str(log),
        line=sequence.line,
    )
    place = f"the first deviation is at index {found.index:,} of {len(sequence.ids):,} ids"
    if not found.canonical:
        message = found.message or f"{sequence.ids[found.index]} is not in the vocabulary"
        return CaseResult(case, Status.ERROR, message=f"{message}; {place}")
    return CaseResult(
        case,
        Status.MISMATCH,
        tuple(token.id for token in found.canonical),
        tuple(token.id for token in found.logged),
        difference=compare(found.canonical, found.logged),
        notes=(place,),
    )
