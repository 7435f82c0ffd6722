"""Check the incremental decoding of a model and its reference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tokverify.case import Case
from tokverify.cases.loading import cases_or_shipped
from tokverify.commands.tasks.opening import ReferenceSource, SubjectSource, open_reference, open_subject
from tokverify.compare.streaming import check_streams
from tokverify.report.stream import StreamReport
from tokverify.version import __version__


def check_streaming(  # noqa: PLR0913 - the optional ones are keywords
    model: SubjectSource,
    reference: ReferenceSource = None,
    cases: Iterable[Case] | None = None,
    *,
    resume: bool = True,
    options: Mapping[str, object] | None = None,
    on_progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> StreamReport:
    """Check that texts decoded id by id equal the same texts decoded at once.

    Args:
        model: A tokenizer file, or the location of any other tokenizer.
        reference: Another tokenizer to check in the same way; none is looked for.
        cases: The texts, of which each side decodes its own ids; the shipped cases by default.
        resume: Also resume decoding after each id, on sides that support it.
        options: The options to record in the report.
        on_progress: Called with the number of sides done and the number of all sides.

    Returns:
        The report, with the failures of each side.

    Raises:
        TokverifyError: If a file cannot be read, or a server does not respond.
    """
    opened = open_subject(model)
    sides = [opened] if reference is None else [opened, open_reference(opened, reference)]
    texts = cases_or_shipped(cases)
    streamed = []
    for number, side in enumerate(sides):
        on_progress(number, len(sides))
        streamed.append(check_streams(side.tokenizer, side.description, texts, resume=resume))
    versions = {name: version for side in sides for name, version in side.versions.items()}
    return StreamReport(
        sides=tuple(streamed), options=dict(options or {}), versions={"tokverify": __version__, **versions}
    )
