"""The `table` format of `tokverify convert`: what was made, what is lost, and a minimal text for each difference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from tokverify.render.convert import verdict
from tokverify.render.layout import DIM, bulleted, draw, exact, labeled, table, words
from tokverify.render.run.case_section import case_sections
from tokverify.render.run.heading import vocabulary_section
from tokverify.report.run import Status
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tokverify.convert import Conversion
    from tokverify.engine.pre_search import PreTokenizerMatch
    from tokverify.render import RenderOptions

_KINDS = {
    "gguf": "GGUF",
    "tokenizers": "HuggingFace tokenizer.json",
    "sentencepiece": "sentencepiece",
    "tiktoken": "tiktoken",
}
_LOST = {
    "gguf": "what GGUF cannot carry, or llama.cpp does otherwise",
    "tokenizers": "what a tokenizer.json cannot carry",
}
_SHOWN = 5
_FAILING = frozenset([Status.MISMATCH, Status.ERROR])


def render(conversion: Conversion, options: RenderOptions) -> str:
    """Write a conversion as tables; the last line is the verdict."""
    sections = [] if options.quiet else list(_sections(conversion, verbose=options.verbose))
    style = "bold red" if not conversion.written else "bold yellow" if conversion.differing else "bold green"
    return draw([*sections, words(verdict(conversion), style)], options)


def _sections(conversion: Conversion, *, verbose: bool) -> Iterator[RenderableType]:
    yield labeled([*_heading(conversion), *_pre_tokenizer(conversion.pre_tokenizer, verbose=verbose)])
    if overrides := conversion.report.actual.overrides:
        yield Group(
            Text("llama.cpp takes otherwise than the file declares:"), bulleted(words(line) for line in overrides)
        )
    if conversion.untransportable:
        yield _lost(conversion)
    if conversion.report.vocabulary:
        yield vocabulary_section(conversion.report.vocabulary, verbose=verbose)
    if conversion.differing:
        yield from _differences(conversion, verbose=verbose)


def _heading(conversion: Conversion) -> Iterator[tuple[str, Text]]:
    for role, path, kind in zip(("from", "to"), (conversion.source, conversion.target), conversion.kinds, strict=True):
        yield role, words(f"{path} ({_KINDS[kind]})", "bold")
    yield "tokenizer", words(f"GGUF's model {conversion.model}, {plural(conversion.size, 'token')}")


def _pre_tokenizer(match: PreTokenizerMatch | None, *, verbose: bool) -> Iterator[tuple[str, Text]]:
    if match is None:
        return
    yield "pre-tokenizer", words(match.name, "bold")
    yield (
        "",
        words(f"it cuts {plural(len(match.texts), 'probe')} as the source does, into {match.pre_tokens:,} pre-tokens"),
    )
    if match.alike:
        yield "", words(f"{plural(len(match.alike), 'other name')} would give the same ids: {', '.join(match.alike)}")
    if match.unlike_in_merges:
        names = ", ".join(match.unlike_in_merges)
        yield "", words(f"cut so too, but imply the opposite of ignore_merges: {names}")
    if verbose:
        yield from (("probes" if not at else "", exact(text, DIM)) for at, text in enumerate(match.texts))


def _lost(conversion: Conversion) -> RenderableType:
    shown = table(("explains", "right"), (_LOST[conversion.kinds[1]], "left"))
    for part, count in zip(conversion.untransportable, conversion.explained, strict=True):
        shown.add_row(Text(plural(count, "text") if count else "-", "yellow" if count else DIM), words(part))
    return shown


def _differences(conversion: Conversion, *, verbose: bool) -> Iterator[RenderableType]:
    results = conversion.report.results
    found = [result for result in results if result.case.suite == "found"]
    shown = found if verbose else found[:_SHOWN]
    if not conversion.unexplained and len(conversion.untransportable) == 1:
        # The same reason for each, and told above.
        shown = [replace(result, notes=()) for result in shown]
    if shown:
        yield Text("What differs, each cause with a minimal text:", "yellow")
    yield from case_sections(replace(conversion.report, results=tuple(shown)), verbose=False)
    names = [result.name for result in results if result.status in _FAILING and result not in found]
    lines = [("cases", words(", ".join(names)))] if names else []
    if len(shown) < len(found):
        left = plural(len(found) - len(shown), "more cause")
        lines.append(("causes", Text(f"... {left}, shown with -v ...", DIM)))
    if lines:
        yield labeled(lines)
