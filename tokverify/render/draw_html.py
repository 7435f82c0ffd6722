"""Draw a document as a page: the `html` format.

A page is one file that holds its styles, scripts and data, and can neither load nor send anything. It is complete
without scripts, except that the page of `run` then only names failing cases. Only a page that tokverify itself serves
may send requests, and only to where it came from. Every text has passed `visible`.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from markupsafe import Markup

from tokverify.render.case_text import alignment_lines
from tokverify.render.document import (
    Alignment,
    Block,
    Code,
    Column,
    Details,
    Document,
    Fields,
    Heading,
    Inline,
    Section,
    Span,
    Style,
    Table,
    for_format,
    plain,
    spans,
    verdict_style,
)
from tokverify.report.diagnosis import command_line
from tokverify.report.difference import NO_TOKEN
from tokverify.text.visible import visible, visible_message
from tokverify.text.wording import plural
from tokverify.tokenizer import Token, join_bytes

if TYPE_CHECKING:
    from jinja2 import Environment

_TONES = {Style.GOOD: 0, Style.BAD: 1, Style.WARNING: 2}
"""Style of a verdict -> the exit code whose color and mark it gets."""

_MAX_ROWS = 1000
_MAX_OPEN_ROWS = 60
_MAX_SHORT_ROWS = 12
_MAX_OPEN = 5
_MAX_DRAWN = 200
_MAX_DIM = 4
_CONTEXT = 4
_MIN_FOLDED = 12
_MAX_COLUMNS = 300
_MAX_LANE = 100


def draw_html(document: Document) -> str:
    """Draw a document; everything in it is on the page."""
    subject = plain(document.title)
    cards = _list_cards(document.sections)
    folded = [block for card in cards for block in card.blocks if isinstance(block, _Entry)]
    context = {
        **page_top(subject, document.verdict, document.exit_code, document.outcome),
        "subject": subject,
        "tone": _TONES.get(verdict_style(document), document.exit_code),
        "sides": [],
        "cards": cards,
        "has_tokens": any(isinstance(block, Alignment) for entry in folded for block in entry.blocks),
        "options": entries(document.options),
        "versions": version_list(document.versions),
        "spans": spans,
        "blocks_of": lambda details: for_format(details.blocks, "html"),
        "kind_of": lambda block: type(block).__name__,
        "group_lines": _group_lines,
        "cut_rows": _cut_rows,
        "lay_out": _lay_out,
        "line_of": lambda command: visible_message(command_line(command)),
        "count_cases": lambda names: plural(len(names), "case"),
        "visible_message": visible_message,
        "max_open_rows": _MAX_OPEN_ROWS,
    }
    return page("html/document.html.jinja", ["html/page.js", "html/filter.js"], context)


@dataclass(frozen=True, slots=True)
class _Title:
    """A title, whose first word may be a label such as `ERROR`, by which readers filter."""

    label: str
    style: Style
    text: Sequence[Span]


@dataclass(frozen=True, slots=True)
class _Entry:
    """What is folded below a title."""

    title: _Title
    hint: Inline
    blocks: Sequence[Block]
    is_open: bool


@dataclass(slots=True)
class _Card:
    """A part of the page with a frame of its own."""

    title: _Title | None
    blocks: list[Block | _Entry]
    takes_more: bool
    """Whether sections without a heading that follow belong to it."""


def _list_cards(sections: Iterable[Section]) -> list[_Card]:
    """Group sections: those without a heading share a card, up to one that begins with a heading."""
    cards: list[_Card] = []
    for section in sections:
        blocks = for_format(section.blocks, "html")
        if not blocks:
            continue
        first = blocks[0]
        if not section.heading and isinstance(first, Heading):
            blocks = blocks[1:]
            cards.append(_Card(_read_title(first.text), [], takes_more=not blocks))
        elif section.heading or not (cards and cards[-1].takes_more):
            title = _read_title(section.heading) if section.heading else None
            cards.append(_Card(title, [], takes_more=title is None))
        _fill(cards[-1], blocks)
    return cards


def _fill(card: _Card, blocks: Iterable[Block]) -> None:
    """Add blocks to a card; what is folded is an entry, unless the card itself is one."""
    is_entry = card.title is not None and bool(card.title.label)
    for block in blocks:
        card.blocks.append(_to_entry(block, len(card.blocks)) if isinstance(block, Details) and not is_entry else block)


def _to_entry(details: Details, index: int) -> _Entry:
    """Open the first entries with a label, and short tables; after very many, tokens are lines of text."""
    title = _read_title(details.title)
    blocks = for_format(details.blocks, "html")
    if index >= _MAX_DRAWN:
        blocks = [_to_lines(block) if isinstance(block, Alignment) else block for block in blocks]
    is_short = all(isinstance(block, Table) and len(block.rows) <= _MAX_SHORT_ROWS for block in blocks)
    return _Entry(title, details.hint, blocks, is_open=is_short or (bool(title.label) and index < _MAX_OPEN))


def _to_lines(alignment: Alignment) -> Code:
    """Write an alignment as text, which takes a tenth of the room."""
    return Code(list(alignment_lines(alignment.difference, alignment.other)), "diff")


def _read_title(inline: Inline) -> _Title:
    first, *others = spans(inline)
    label = first.text.strip()
    if others and label.isupper() and first.style not in {Style.PLAIN, Style.DIM}:
        return _Title(label, first.style, others)
    return _Title("", Style.PLAIN, [first, *others])


@dataclass(slots=True)
class _Group:
    """A label with its lines."""

    label: str
    lines: list[Inline]
    folded: list[Inline]
    """Many lines of little interest, such as the settings of a tokenizer."""


def _group_lines(fields: Fields) -> list[_Group]:
    groups: list[_Group] = []
    for label, line in fields.lines:
        if label or not groups:
            groups.append(_Group(label, [], []))
        groups[-1].lines.append(line)
    for group in groups:
        dim = [line for line in group.lines if all(span.style is Style.DIM for span in spans(line))]
        if len(dim) > _MAX_DIM:
            group.lines, group.folded = [line for line in group.lines if line not in dim], dim
    return groups


def _cut_rows(table: Table) -> tuple[Sequence[Sequence[tuple[Column, Inline]]], str]:
    """Return the cells of each row with their columns, and what is left out."""
    left_out = len(table.rows) - _MAX_ROWS
    note = f"{left_out:,} more, all of them in -f json" if left_out > 0 else table.left_out
    rows = [list(zip(table.columns, row, strict=True)) for row in table.rows[:_MAX_ROWS]]
    return rows, note


@dataclass(frozen=True, slots=True)
class _Shown:
    """A token as it is shown."""

    id: str
    piece: str
    bytes: str


@dataclass(frozen=True, slots=True)
class _Lanes:
    """Tokens of both sides, one above the other, that represent the same part of a text."""

    differs: bool
    text: str
    actual: Sequence[_Shown]
    expected: Sequence[_Shown]
    left_out: tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Folded:
    """Equal tokens that are shown on a click."""

    count: int
    columns: Sequence[_Lanes]


def _lay_out(alignment: Alignment) -> list[_Lanes | _Folded]:
    """Return the columns of an alignment, of which the middle of a long run of equal ones is folded."""
    columns: list[_Lanes | _Folded] = []
    for block in alignment.difference.blocks:
        if not block.equal:
            columns.append(_to_lanes(block.actual, block.expected, differs=True))
            continue
        pairs = list(zip(block.actual, block.expected, strict=True))
        equal = [_to_lanes([actual], [expected], differs=False) for actual, expected in pairs[:_MAX_COLUMNS]]
        if len(pairs) <= _MIN_FOLDED:
            columns += equal
            continue
        columns += equal[:_CONTEXT]
        columns.append(_Folded(len(pairs) - 2 * _CONTEXT, equal[_CONTEXT : len(pairs) - _CONTEXT]))
        columns += [_to_lanes([actual], [expected], differs=False) for actual, expected in pairs[-_CONTEXT:]]
    return columns


def _to_lanes(actual: Sequence[Token], expected: Sequence[Token], *, differs: bool) -> _Lanes:
    data = join_bytes(actual)
    return _Lanes(
        differs,
        visible(data) if data == join_bytes(expected) else "",
        list(map(_show, actual[:_MAX_LANE])),
        list(map(_show, expected[:_MAX_LANE])),
        (max(0, len(actual) - _MAX_LANE), max(0, len(expected) - _MAX_LANE)),
    )


def _show(token: Token) -> _Shown:
    id = "none" if token.id == NO_TOKEN else str(token.id)
    return _Shown(id, visible(token.piece) or "(no piece)", token.token_bytes.hex(" ") or "none")


_IN_SCRIPT = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})


def page(template: str, scripts: Iterable[str], context: Mapping[str, object], *, is_served: bool = False) -> str:
    """Fill in a template; it escapes the texts in `context`, which must have passed `visible`.

    The template and the scripts are named relative to `tokverify/render/`. A page that is served may send requests.
    """
    style, script = _resource("html/page.css"), Markup("\n").join(map(_resource, scripts))
    policy = _policy(style, script, is_served=is_served)
    return _environment().get_template(template).render(context, style=style, script=script, policy=policy)


@cache
def _environment() -> Environment:
    """Make the environment, which keeps the compiled templates."""
    # Here, as a report in another format needs no templates.
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(
        autoescape=True,
        loader=FunctionLoader(lambda name: str(_resource(name))),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page_top(name: str, verdict: str, exit_code: int, outcome: tuple[str, str]) -> dict[str, object]:
    """Return the top of a page about `name`, which has passed `visible`; `outcome` is a word, and what it means."""
    first, _, others = verdict.partition("; ")
    return {
        "title": f"{name}: {outcome[0].lower()}",
        "outcome": outcome[0],
        "exit_code": exit_code,
        "exit_meaning": outcome[1],
        "verdict": visible_message(first),
        "reservations": visible_message(others),
    }


def entries(values: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return names and values as texts that have passed `visible`."""
    shown = {
        name: ", ".join(map(str, each)) if isinstance(each, list | tuple) else each for name, each in values.items()
    }
    return [(visible_message(name), visible_message(str(value))) for name, value in shown.items()]


def version_list(versions: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the names and versions of libraries as texts that have passed `visible`."""
    return sorted((visible_message(name), visible_message(version)) for name, version in versions.items())


def script_json(data: object) -> Markup:
    """Write data as JSON that can neither end nor change the script element around it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.translate(_IN_SCRIPT))  # noqa: S704 - nothing is left in it that HTML would act on


def _resource(name: str) -> Markup:
    """Read a file of ours, which needs no escaping; `name` is relative to `tokverify/render/`."""
    return Markup(files("tokverify.render").joinpath(name).read_text(encoding="utf-8"))  # noqa: S704 - it is our own


def _policy(style: str, script: str, *, is_served: bool) -> str:
    """Return a policy that allows the browser this style and this script only."""
    allowed = [f"script-src {_source(script)}", f"style-src {_source(style)}", "img-src data:"]
    if is_served:
        allowed.append("connect-src 'self'")
    return "; ".join(["default-src 'none'", *allowed, "base-uri 'none'", "form-action 'none'"])


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
