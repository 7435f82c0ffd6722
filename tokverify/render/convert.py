"""Describe a conversion: for people, as issues for CI systems, and in one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tokverify.render.document import (
    Bullets,
    Document,
    Fields,
    Line,
    Paragraph,
    Section,
    Style,
    code,
    exact,
    label_lines,
    message,
)
from tokverify.render.issue import Check, CiReport, Issue, Level, issue_of
from tokverify.render.options import RenderOptions
from tokverify.render.run.cases import case_sections
from tokverify.render.run.describe import limit_sections, vocabulary_sections
from tokverify.render.run.issue import case_issue
from tokverify.report.convert import Conversion, PreTokenizerChoice, conversion_exit_code
from tokverify.report.run import FAILING, CaseResult, Status, vocabularies_differ
from tokverify.text.visible import visible_message
from tokverify.text.wording import overrides_title, plural, verb

_KINDS = {
    "gguf": "GGUF",
    "tokenizers": "HuggingFace tokenizer.json",
    "sentencepiece": "sentencepiece",
    "tiktoken": "tiktoken",
    "tekken": "tekken.json",
    "rwkv": "RWKV's text vocabulary",
    "vocab": "vocabulary files",
}
_OUTCOMES = {
    0: ("Converted", "the file was written"),
    1: ("Not written", "texts would differ in a way that is not accepted"),
}
_SHOWN = 5
_NAMED = 10
"""How many cases are named without `-v`."""
_CASE_CHECKS = (
    Check("convert-mismatch", "mismatch", "The target encodes a text differently than its source.", Level.ERROR),
    Check("convert-error", "error", "Only one of the two can encode a text.", Level.ERROR),
    Check("convert-decoding", "decoding", "The target decodes ids differently than its source.", Level.ERROR),
)
_LOSS = Check("convert-lost", "not expressible", "The target cannot express a part of its source.", Level.WARNING)
_WARNING = Check("convert-warning", "special tokens", "The source does not declare something.", Level.WARNING)
_TARGETS = {"gguf": "GGUF", "tokenizers": "a tokenizer.json"}


def describe(conversion: Conversion, options: RenderOptions) -> Document:
    """Describe a conversion; with `verbose`, all causes and the texts that show which pre-tokenizer it is."""
    style = Style.WARNING if conversion.differing or conversion.warnings else Style.GOOD
    return Document(
        title=["tokverify convert: ", message(conversion.target)],
        verdict=verdict(conversion),
        exit_code=conversion_exit_code(conversion),
        sections=_describe_sections(conversion, verbose=options.verbose),
        outcome=_OUTCOMES[conversion_exit_code(conversion)],
        options=conversion.report.options,
        versions=conversion.report.versions,
        verdict_style=style if conversion.written else Style.BAD,
    )


def _describe_sections(conversion: Conversion, *, verbose: bool) -> Iterator[Section]:
    lines = list(_describe_files(conversion))
    if conversion.pre_tokenizer:
        lines += _describe_pre_tokenizer(conversion.pre_tokenizer, verbose=verbose)
    yield Section([Fields(lines)])
    if conversion.kinds[1] == "gguf" and (overrides := conversion.report.actual.overrides):
        title = f"{overrides_title(len(overrides))}:"
        yield Section([Paragraph(title), Bullets([message(line) for line in overrides])])
    if conversion.conventions:
        yield Section([Paragraph("conventions:"), Bullets([message(line) for line in conversion.conventions])])
    if conversion.untransportable:
        lost = [message(part) for part in conversion.untransportable]
        yield Section([Paragraph(f"not expressible in {_TARGETS[conversion.kinds[1]]}:"), Bullets(lost)])
    # They explain generated texts, too.
    yield from limit_sections(conversion.report, "text")
    if vocabularies_differ(conversion.report.vocabulary):
        yield from vocabulary_sections(conversion.report.vocabulary, verbose=verbose)
    if conversion.differing:
        yield from _describe_differences(conversion, verbose=verbose)
    # Last, so that nobody misses them in a long report.
    if conversion.warnings:
        warnings = [message(warning) for warning in conversion.warnings]
        yield Section([Paragraph(message("WARNING: check the special tokens", Style.CAVEAT)), Bullets(warnings)])


def _describe_files(conversion: Conversion) -> Iterator[Line]:
    for role, path, kind in zip(("from", "to"), (conversion.source, conversion.target), conversion.kinds, strict=True):
        yield role, code(f"{path} ({_KINDS[kind]})", Style.STRONG)
    yield "tokenizer", message(f"GGUF model {conversion.model}, {plural(conversion.size, 'token')}")


def _describe_pre_tokenizer(choice: PreTokenizerChoice, *, verbose: bool) -> Iterator[Line]:
    yield "pre-tokenizer", message(choice.name, Style.STRONG)
    probes = plural(len(choice.texts), "probe")
    yield "", message(f"it splits {probes} like the source, into {choice.pre_tokens:,} pre-tokens")
    if choice.since:
        yield "", message(f"llama.cpp knows this name since b{choice.since}")
    if choice.by_converter:
        command = f"gguf-new-metadata --pre-tokenizer {choice.by_converter}"
        other = f"llama.cpp's converter writes {choice.by_converter}, which splits some texts in another way"
        yield "", message(f"{other}; for older builds: {command} FILE OTHER-FILE")
    if choice.alike:
        count = plural(len(choice.alike), "other name")
        yield "", message(f"{count} would give the same ids: {', '.join(choice.alike)}")
    if choice.unlike_in_merges:
        names = ", ".join(choice.unlike_in_merges)
        yield "", message(f"the same splits, but the opposite of ignore_merges: {names}")
    if verbose:
        yield from label_lines("probes", (exact(text, Style.DIM) for text in choice.texts))


def _describe_differences(conversion: Conversion, *, verbose: bool) -> Iterator[Section]:
    results = conversion.report.results
    found = [result for result in results if result.case.suite == "found"]
    shown = found if verbose else found[:_SHOWN]
    if shown:
        yield Section([Paragraph(message("What differs, with a minimal text for each cause:", Style.CAVEAT))])
    yield from case_sections(replace(conversion.report, results=tuple(shown)), verbose=False, heading="cause")
    names = [result.case.name for result in results if result.status in FAILING and result not in found]
    lines = list(_list_left_out(names, len(found) - len(shown), verbose=verbose))
    if lines:
        yield Section([Fields(lines)])


def _list_left_out(names: Sequence[str], causes: int, *, verbose: bool) -> Iterator[Line]:
    """Name what is not drawn: failing cases, and the number of causes."""
    if names:
        listed = names if verbose or len(names) <= _NAMED + 1 else names[:_NAMED]
        more = len(names) - len(listed)
        yield "cases", message(", ".join(listed) + (f" and {more:,} more, shown with -v" if more else ""))
    if causes:
        yield "causes", message(f"... {plural(causes, 'more cause')}, shown with -v ...", Style.DIM)


def to_ci_report(conversion: Conversion) -> CiReport:
    """Return what CI systems show of a conversion."""
    return CiReport(
        issues=_issues(conversion),
        checks=(*_CASE_CHECKS, _LOSS, _WARNING),
        properties={"source": conversion.source, "target": conversion.target},
    )


def _issues(conversion: Conversion) -> Iterator[Issue]:
    for part in conversion.untransportable:
        yield issue_of(_LOSS, [visible_message(part)], path=conversion.source)
    for warning in conversion.warnings:
        yield issue_of(_WARNING, [visible_message(warning)], path=conversion.source)
    failing = [result for result in conversion.report.results if result.status in FAILING]
    for result in failing:
        issue = case_issue(result, conversion.report, "convert", path=conversion.source)
        # Where the file is written nevertheless, that is what the user asked for.
        yield issue if not conversion.written else replace(issue, level=Level.WARNING)


def verdict(conversion: Conversion) -> str:
    """Summarize whether the file was written, and what differs."""
    warnings = f"; {plural(len(conversion.warnings), 'warning')}" if conversion.warnings else ""
    return f"{conversion.target}: {_describe_outcome(conversion)}{warnings}"


def _describe_outcome(conversion: Conversion) -> str:
    if not conversion.differing:
        texts = f"{plural(len(_cases(conversion)), 'case')} and {plural(conversion.strings, 'generated text')}"
        return f"written; it gives the same ids as {conversion.source} for all {texts}"
    found = f"{_count_differing(conversion)} {verb(conversion.differing, 'differ')}, {_describe_explained(conversion)}"
    if conversion.written:
        return f"written because of --unexplained: {found}" if conversion.unexplained else f"written, but {found}"
    if conversion.unexplained:
        return f"not written: {found}; use --unexplained to write it anyway"
    return f"not written: {found}; without --strict it is written"


def _count_differing(conversion: Conversion) -> str:
    cases = _cases(conversion)
    failing = sum(result.status in FAILING for result in cases)
    counts = (
        (failing, plural(len(cases), "case")),
        (conversion.differing - failing, plural(conversion.strings, "generated text")),
    )
    return " and ".join(f"{count:,} of {total}" for count, total in counts if count)


def _cases(conversion: Conversion) -> list[CaseResult]:
    return [result for result in conversion.report.results if result.case.suite != "found"]


def _describe_explained(conversion: Conversion) -> str:
    unexplained, total = conversion.unexplained, conversion.differing
    if not unexplained:
        whose = "llama.cpp" if "gguf" in conversion.kinds else "llama.cpp or tokenizers"
        return f"{'all' if total > 1 else 'only'} because of limits of {whose}"
    # A text for each cause in generated texts is among these.
    is_refused = {result.status for result in conversion.report.results if result.fails} == {Status.ERROR}
    reason = "as one side cannot encode them" if is_refused else "for no known reason"
    return reason if unexplained == total else f"{unexplained:,} of them {reason}"
