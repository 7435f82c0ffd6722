"""Describe a report of `tokverify run` for people: what was compared, a summary by suite, and every difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tokverify.render.document import (
    Bullets,
    Column,
    CommandLine,
    Document,
    Fields,
    Inline,
    Item,
    Items,
    Line,
    Paragraph,
    Section,
    Span,
    Style,
    Table,
    exact,
    label_lines,
    message,
    only,
    tally,
)
from tokverify.render.options import RenderOptions
from tokverify.render.run.cases import case_sections
from tokverify.render.run.verdict import (
    FAILS,
    SHOWN,
    answer,
    blame,
    causes,
    count_limit,
    difference_sections,
    effect,
    effect_of,
    likely_explanations,
    limit_note,
    replaces_template,
    verdict,
)
from tokverify.report.diagnosis import Command, Diagnosis, Explanation
from tokverify.report.finding import Severity
from tokverify.report.run import Report, Status, run_exit_code, vocabularies_differ
from tokverify.report.side import Side
from tokverify.report.tokenizer_difference import Aspect, TokenizerDifference
from tokverify.report.vocabulary_difference import NEARLY_ALL, PieceDifference, VocabularyDifference
from tokverify.text.command_line import quote_argument, quote_reference
from tokverify.text.wording import overrides_title, plural, verb

_MAX_LINES = 10
_MAX_CASES = 5
_DIFFERENT = "different tokens"
_REQUESTED = "as requested"
# Two quite different vocabularies differ in every piece, and drawing those would take minutes.
_MAX_VERBOSE_PIECES = 1000
_STATUS_STYLES = {
    Status.MATCH: Style.EXPECTED,
    Status.MISMATCH: Style.ACTUAL,
    Status.ERROR: Style.ACTUAL,
    Status.KNOWN: Style.NOTICE,
    Status.SKIPPED: Style.NOTICE,
}


def sides_section(report: Report, *, verbose: bool) -> Section:
    """Describe the two sides: what they are, why they were chosen, and what that cannot prove; and the engine."""
    sides = {"actual": report.actual, "expected": report.expected}
    lines = [line for role, side in sides.items() for line in side_lines(role, side, verbose=verbose)]
    engine = report.versions.get("engine", "")
    # Without `-v`, only if it is not the fast one, for which there is a reason.
    if engine and (verbose or "(" in engine):
        lines.append(("engine", message(engine, Style.DIM)))
    return Section([Fields(lines)])


def side_lines(role: str, side: Side, *, verbose: bool) -> Iterator[Line]:
    """Yield the labeled lines that describe a side."""
    yield role, message(side.name if side.source == side.name else f"{side.name}, {side.source}", Style.STRONG)
    if side.reason and (verbose or side.reason != _REQUESTED):
        yield "", message(f"why this one: {side.reason}")
    if side.caveat:
        yield "", message(f"caveat: {side.caveat}", Style.CAVEAT)
    if side.fingerprint and verbose:
        yield "", message(f"fingerprint {side.fingerprint}", Style.DIM)
    if side.sha256 and verbose:
        yield "", message(f"sha256 {side.sha256}", Style.DIM)
    if verbose:
        yield from (("", message(f"{name} = {value}", Style.DIM)) for name, value in side.settings.items())
    if side.overrides:
        title = overrides_title(len(side.overrides))
        yield "", message(f"{title}:" if verbose else f"{title} (shown with -v)", Style.DIM)
        if verbose:
            yield from (("", message(f"- {line}")) for line in side.overrides)


def vocabulary_sections(
    vocabulary: VocabularyDifference | None, *, verbose: bool, differences: Sequence[TokenizerDifference] = ()
) -> Iterator[Section]:
    """Describe how the vocabularies differ, without what a section on these `differences` says."""
    if vocabulary is None:
        yield Section([Fields([("vocabulary", message("not compared", Style.DIM))])])
        return
    lines = list(vocabulary_lines(vocabulary, brief=bool(differences)))
    if lines:
        yield Section([Fields(list(label_lines("vocabulary", lines)))])
    notes = (each for each in differences if each.severity == Severity.INFO)
    noted = {id for each in notes if each.aspect in {Aspect.PADDING, Aspect.BYTES} for id in each.ids}
    pieces = [piece for piece in vocabulary.pieces if verbose or piece.id not in noted]
    if pieces:
        yield Section([_pieces_table(pieces, verbose)])


def vocabulary_lines(vocabulary: VocabularyDifference, *, brief: bool = False) -> Iterator[Span]:
    """Yield how two vocabularies compare; the first line is the most general."""
    if not vocabularies_differ(vocabulary):
        yield message(f"{plural(vocabulary.actual_size, 'token')} on both sides, all with the same bytes")
    if vocabulary.actual_size != vocabulary.expected_size:
        sizes = f"{vocabulary.actual_size:,} tokens in actual, {vocabulary.expected_size:,} in expected"
        yield message(sizes, Style.ACTUAL)
    elif brief and vocabularies_differ(vocabulary):
        yield message(f"{plural(vocabulary.actual_size, 'token')} on both sides")
    counts = Counter(map(_kind, vocabulary.pieces))
    for role, (actual, expected) in {} if brief else vocabulary.special_ids.items():
        yield message(f"{role} is {actual} in actual, {expected} in expected", Style.ACTUAL)
    for difference, count in {} if brief else counts.items():
        yield message(f"{plural(count, 'id')} {verb(count, 'stand')} for {difference}", Style.ACTUAL)
    if counts[_DIFFERENT] > NEARLY_ALL * min(vocabulary.actual_size, vocabulary.expected_size):
        own = {piece.actual for piece in vocabulary.pieces}
        moved = sum(piece.expected in own for piece in vocabulary.pieces) > NEARLY_ALL * len(vocabulary.pieces)
        question = (
            "are tokens missing, inserted or moved?"
            if moved
            else "is this the reference of this model? Name the right one with -r"
        )
        yield message(
            f"nearly all ids differ{', although the tokens are the same' if moved else ''}: {question}", Style.NOTICE
        )
    if vocabulary.respelled:
        count = vocabulary.respelled
        stored = f"{'is' if count == 1 else 'are'} stored differently but {verb(count, 'represent')} the same bytes"
        yield message(f"{plural(count, 'token')} {stored}", Style.DIM)


def _kind(piece: PieceDifference) -> str:
    if piece.expected is None:
        return "a token in actual only"
    return _DIFFERENT if piece.actual is not None else "a token in expected only"


def _pieces_table(pieces: Sequence[PieceDifference], verbose: bool) -> Table:
    most = _MAX_VERBOSE_PIECES if verbose else _MAX_LINES
    count = len(pieces) if len(pieces) <= most + 1 else most
    rows = [(str(piece.id), _piece(piece.actual), _piece(piece.expected)) for piece in pieces[:count]]
    left_out = "" if count == len(pieces) else f"{len(pieces) - count:,} more, all of them in -f json"
    return Table([Column("id", is_number=True), Column("actual"), Column("expected")], rows, left_out)


def _piece(piece: str | None) -> Inline:
    return message("(no such token)", Style.DIM) if piece is None else exact(piece)


def suites_section(report: Report, *, verbose: bool) -> Section:
    """Count the results by suite; `verbose` also lists suites that simply match, and adds the version of each."""
    counted: dict[str, Counter[Status]] = {}
    for result in report.results:
        counted.setdefault(result.case.suite, Counter())[result.status] += 1
    statuses = [status for status in Status if status is not Status.KNOWN or report.baseline]
    columns = [Column("suite"), *(Column(name, is_number=True) for name in ("cases", *map(str, statuses)))]
    suites = counted if verbose else _fold_matching(counted)
    rows: list[list[Inline]] = [
        [
            message(suite),
            f"{counts.total():,}",
            *(tally(counts[status], _STATUS_STYLES[status]) for status in statuses),
        ]
        for suite, counts in suites.items()
    ]
    if verbose and report.suites:
        columns.append(Column("version"))
        rows = [
            [*row, message(report.suites.get(suite, ""), Style.DIM)] for suite, row in zip(suites, rows, strict=True)
        ]
    return Section([Table(columns, rows)])


def _fold_matching(suites: Mapping[str, Counter[Status]]) -> Mapping[str, Counter[Status]]:
    """Sum up the suites in which every case matches."""
    matching = {suite: counts for suite, counts in suites.items() if set(counts) == {Status.MATCH}}
    if len(matching) <= 1:
        return suites
    others = {suite: counts for suite, counts in suites.items() if suite not in matching}
    name = f"{len(matching):,} other suites" if others else f"all {len(matching):,} suites"
    return {**others, name: sum(matching.values(), Counter())}


def limit_sections(report: Report, what: str = "case") -> Iterator[Section]:
    """Describe the limits that explain cases, or texts, and how to live with them."""
    items = [
        Item(
            [
                [message(f"{limit.code} {limit.name}: ", Style.STRONG), message(count_limit(limit, what))],
                message(limit.advice, Style.DIM),
            ]
        )
        for limit in report.limits
    ]
    if items:
        yield Section([Items(items, numbered=False)], "Limits")


def answer_sections(report: Report, *, verbose: bool, what: str = "case") -> Iterator[Section]:
    """Describe in short what differs and why, and what to do about it."""
    yield from limit_sections(report, what)
    # If all cases simply match, and there is nothing to note, the section on the tokenizers is still in sight.
    if any(each.status is not Status.MATCH or each.notes or each.decode_difference for each in report.results):
        lines = causes(report, what, brief=not verbose)
        if lines:
            yield Section([Bullets(list(map(message, lines))), *_template_commands(report)], "What differs")
    yield from diagnosis_sections(report, verbose=verbose)


def _template_commands(report: Report) -> Iterator[CommandLine]:
    """Name the commands that compare and replace a chat template, if it is named; the diagnosis has none for it."""
    effects = {effect_of(each, report) for each in report.differences if each.aspect is Aspect.TEMPLATE}
    if not effects & ({FAILS} if run_exit_code(report) else {SHOWN}):
        return
    model, location = quote_argument(report.options.get("model"), "MODEL"), report.options.get("reference")
    # The commands find the same reference by themselves if the report says that none was named.
    is_found = "reference" in report.options and location is None
    reference = () if is_found else (f"-r {quote_reference(location)}",)
    yield CommandLine(Command("compare what they write", ("tokverify chat", model, *reference)))
    if not report.diagnosis and replaces_template(report):
        yield CommandLine(Command("use the reference's", ("tokverify fix", model, *reference)))


def diagnosis_sections(report: Report, *, verbose: bool) -> Iterator[Section]:
    """Describe what may cause the failures, or why that is unknown; nothing if nobody asked."""
    if report.diagnosis:
        yield _diagnosis_section(report.diagnosis, verbose=verbose)
    elif report.undiagnosed:
        yield Section([Items([], message(report.undiagnosed))], "Diagnosis")


def _diagnosis_section(diagnosis: Diagnosis, *, verbose: bool) -> Section:
    """Describe what may cause the failures, the best explanation first, and how to repair it."""
    shown = diagnosis.explanations if verbose else likely_explanations(diagnosis)
    items = [_explanation(found, diagnosis, is_first=index == 0, verbose=verbose) for index, found in enumerate(shown)]
    blocks: list[Items] = []
    if not items:
        tried = f"none of the {plural(diagnosis.tried, 'change')} that were tried explains"
        if diagnosis.tried == 1:
            tried = "the only change that was tried does not explain"
        blocks.append(Items([], message(f"the cause is unknown: {tried} the failing cases")))
    note = message(limit_note(diagnosis), Style.DIM) if diagnosis.stopped_early else ()
    if items or note:
        blocks.append(Items(items, note))
    return Section(blocks, "Diagnosis")


def _explanation(explanation: Explanation, diagnosis: Diagnosis, *, is_first: bool, verbose: bool) -> Item:
    lines: list[Inline] = [message(effect(explanation, diagnosis), Style.STRONG if is_first else Style.PLAIN)]
    if explanation.unexplained:
        names = explanation.unexplained
        shown = names if verbose or len(names) <= _MAX_CASES + 1 else names[:_MAX_CASES]
        more = f" and {len(names) - len(shown):,} more" if len(shown) < len(names) else ""
        lines.append(message(f"unexplained: {', '.join(shown)}{more}", Style.DIM))
    if explanation.repair.remark:
        lines.append(message(explanation.repair.remark, Style.NOTICE))
    return Item(lines, explanation.repair.commands)


def describe(report: Report, options: RenderOptions) -> Document:
    """Describe a report."""
    exit_code = run_exit_code(report)
    is_reserved = exit_code == 0 and (vocabularies_differ(report.vocabulary) or _has_doubts(report))
    return Document(
        title=["tokverify: ", message(report.actual.name)],
        verdict=verdict(report),
        exit_code=exit_code,
        sections=_sections(report, verbose=options.verbose),
        verdict_style=Style.WARNING if is_reserved else None,
        causes=answer(report),
    )


def _has_doubts(report: Report) -> bool:
    """Check whether a verdict that passes must not look like a normal one."""
    serious = (each for each in report.differences if each.severity > Severity.INFO)
    return report.rules > 0 or any(each.aspect is not Aspect.DECODING for each in serious)


def _sections(report: Report, *, verbose: bool) -> Iterator[Section]:
    if sentence := blame(report):
        yield Section([Paragraph(message(sentence, Style.CAVEAT))])
    answers = list(answer_sections(report, verbose=verbose))
    yield from only("markdown", answers)
    yield sides_section(report, verbose=verbose)
    yield from vocabulary_sections(report.vocabulary, verbose=verbose, differences=report.differences)
    yield from difference_sections(report, verbose=verbose)
    yield suites_section(report, verbose=verbose)
    yield from case_sections(report, verbose=verbose)
    # Last, since people read the end of a terminal's output first.
    yield from only("table", answers)
