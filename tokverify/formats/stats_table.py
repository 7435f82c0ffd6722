"""Show statistics as tables, one tokenizer or several side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from tokverify.formats.layout import DIM, draw, exact, labeled, table, words
from tokverify.formats.verdict import plural
from tokverify.stats.probe import SHORT_NUMBERS
from tokverify.stats.text import PIECE_BYTES, parallel_samples
from tokverify.stats.vocabulary import LONG
from tokverify.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from tokverify.formats import RenderOptions
    from tokverify.stats.probe import Probe
    from tokverify.stats.report import Measured, Row, Stats
    from tokverify.tokenizer import Token

_NOTHING = "-"
_MOST_FILES = 10


def render(stats: Stats, options: RenderOptions) -> str:
    """Show what was measured, of each text and then of each tokenizer."""
    sections = [_heading(stats), _texts(stats), _probes(stats.tokenizers), _longest(stats.tokenizers)]
    return draw([*sections, *_notes(stats)], options)


def _heading(stats: Stats) -> RenderableType:
    lines = []
    for measured in stats.tokenizers:
        lines.append((_name(measured), words(measured.source, "bold")))
        lines.append(("", Text(plural(measured.vocab_size, "token"))))
    left_out = len(stats.files) - _MOST_FILES
    files = ", ".join(stats.files[:_MOST_FILES]) + (f" and {left_out:,} more" if left_out > 0 else "")
    lines.append(("texts", words(files or "our own samples; those in natural languages say the same")))
    return labeled(lines)


def _name(measured: Measured) -> str:
    """Return a name that can stand as a heading."""
    return visible(measured.name, mark_spaces=False)


def _texts(stats: Stats) -> RenderableType:
    shown = table(
        *(("kind", "left"), ("text", "left"), ("bytes", "right"), ("characters", "right"), ("words", "right")),
        *((("tokenizer", "left"),) if len(stats.tokenizers) > 1 else ()),
        *(("tokens", "right"), ("/byte", "right"), ("/character", "right"), ("/word", "right")),
    )
    for row in stats.rows:
        for index, measured in enumerate(stats.tokenizers):
            about = _about(row) if index == 0 else [Text()] * 5
            name = [words(measured.name)] if len(stats.tokenizers) > 1 else []
            shown.add_row(*about, *name, *_counts(row, index))
    return shown


def _about(row: Row) -> list[Text]:
    return [
        Text(row.kind),
        words(row.name),
        Text(f"{row.bytes:,}"),
        Text(f"{row.characters:,}"),
        Text(_NOTHING if row.words is None else f"{row.words:,}"),
    ]


def _counts(row: Row, index: int) -> list[Text]:
    count, unknown = row.tokens[index], row.unknown[index]
    rates = [_NOTHING if rate is None else f"{rate:.3f}" for rate in row.rates(index).values()]
    # A text that is unknown as a whole is one token, which looks like a good result.
    style = "yellow" if unknown else ""
    shown = _NOTHING if count is None else f"{count:,}"
    return [
        Text(f"{shown}{f' ({unknown:,} unknown)' if unknown else ''}", style),
        *(Text(rate, style) for rate in rates),
    ]


def _probes(tokenizers: Sequence[Measured]) -> RenderableType:
    shown = table(("", "left"), *((_name(measured), "right") for measured in tokenizers))
    lines = [_findings(measured) for measured in tokenizers]
    for what in lines[0]:
        shown.add_row(Text(what), *(Text(finding[what]) for finding in lines))
    return shown


def _findings(measured: Measured) -> dict[str, str]:
    probe, count = measured.probe, len(measured.vocabulary.ids)
    found = {
        f"numbers below {len(SHORT_NUMBERS):,} that are one token": _share(probe.single_numbers, len(SHORT_NUMBERS)),
        "tokens of a number from 1,000 to 999,999": _mean(probe.tokens_per_number),
        "spaces of an indentation in one token": _mean(probe.spaces_per_token),
        "a space that ends a prompt stands alone": {True: "yes", False: "no", None: _NOTHING}[probe.trailing_space],
        "times the tokens of the same text in English": _mean(probe.mean_against_english) + _of_how_many(probe),
        "  the most": _most(probe),
        f"tokens of more than {LONG} characters": _share(measured.long_tokens, count),
    }
    return found | ({} if measured.unused is None else {"tokens never used": _share(measured.unused, count)})


def _share(part: int | None, whole: int) -> str:
    return _NOTHING if part is None else f"{part:,} ({part / max(whole, 1):.1%})"


def _mean(value: float | None) -> str:
    return _NOTHING if value is None else f"{value:.2f}"


def _of_how_many(probe: Probe) -> str:
    known, all_others = len(probe.others_against_english), len(parallel_samples()) - 1
    return f" ({known} of {all_others} languages)" if 0 < known < all_others else ""


def _most(probe: Probe) -> str:
    others = probe.others_against_english
    most = max(others, key=others.__getitem__, default=None)
    return _NOTHING if most is None else f"{most} {others[most]:.2f}"


def _longest(tokenizers: Sequence[Measured]) -> RenderableType:
    shown = table(
        ("tokenizer", "left"), ("longest", "left"), ("id", "right"), ("characters", "right"), ("token", "left")
    )
    for measured in tokenizers:
        lists = {"all": measured.longest, "used": measured.longest_used, "unused": measured.unused_examples}
        name = measured.name
        for what, tokens in lists.items():
            for index, token in enumerate(tokens):
                shown.add_row(words(name), Text("" if index else what), *_token(token))
                name = ""
    return shown


def _token(token: Token) -> list[Text]:
    length = len(token.token_bytes.decode("utf-8", "replace"))
    return [Text(str(token.id)), Text(f"{length:,}"), exact(token.token_bytes)]


def _notes(stats: Stats) -> Iterator[RenderableType]:
    for measured in stats.tokenizers:
        for failure in measured.failures:
            yield words(f"{measured.name} cannot encode {failure}", "red")
    yield Group(*(words(f"- {note}", DIM) for note in _remarks(stats)))


def _remarks(stats: Stats) -> Iterator[str]:
    yield "words stand between white space; there are none where a script puts no spaces between them"
    for measured in stats.tokenizers:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in measured.vocabulary.excluded.items())
        if kinds:
            yield f"{measured.name}: not counted as long or never used: {kinds}"
    yield "runs of one character are not listed among the longest tokens"
    if any(any(row.unknown) for row in stats.rows):
        yield "an unknown token stands for any amount of text: few tokens are no merit where some are unknown"
    if any(measured.probe.trailing_space for measured in stats.tokenizers):
        yield (
            "a space that ends a prompt and stands alone is a token that is not there when the text goes on:"
            " do not end a prompt with one"
        )
    if not stats.files:
        yield "which tokens are never used is told for files only: the samples are too short for that"
    pieces = sum(row.pieces for row in stats.rows)
    if pieces > max(len(stats.files), len(stats.rows)):
        yield (
            f"encoded in {pieces:,} pieces: files over {PIECE_BYTES >> 20} MiB are cut at line ends, and all prose"
            " where the script changes; at each cut a count may be off by a token or two"
        )
    trailing = sum(row.trailing for row in stats.rows) if stats.files else 0
    if trailing:
        yield f"{plural(trailing, 'line')} of these texts {'ends' if trailing == 1 else 'end'} in spaces or tabs"
