"""Put any text into Markdown so that it stays what it is; for GitHub's and GitLab's dialects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from tokverify.render import RenderOptions

_SPECIAL = re.compile(r"[\\`*_\[\]<>|~&#$@]|(?<=www)\.|:(?=/)")
_BACKTICKS = re.compile("`+")
_MIN_FENCE = 3
_MARKS = {0: "✅", 1: "❌"}
_LEFT_OUT = "And {:,} more parts, for which there is no room here: write the report to a file to read them.\n"


def mark(exit_code: int) -> str:
    """Return what a heading begins with, by the exit code that a report stands for."""
    return _MARKS.get(exit_code, "⚠️")


def document(heading: str, verdict: str, sections: Iterable[str], options: RenderOptions) -> str:
    """Write a report under its heading and its verdict, or these alone; as much of it as fits the limit.

    The heading is Markdown, the verdict is not yet.
    """
    top = [f"## {heading}\n", f"**{prose(verdict)}**\n"]
    return _joined(top if options.quiet else chain(top, sections), options.limit)


def _joined(sections: Iterable[str], limit: int | None = None) -> str:
    """Join sections; of more than fits `limit` bytes, the first ones, and how many are left out.

    Nothing at all is written where there is no room even to say so.
    """
    sections = list(sections)
    text = "\n".join(sections)
    if limit is None or len(text.encode()) <= limit:
        return text
    room = limit - len(_LEFT_OUT.format(len(sections)))
    if room < 0:
        return ""
    kept = 0
    for section in sections:
        room -= len(section.encode()) + 1
        if room < 0:
            break
        kept += 1
    return "\n".join([*sections[:kept], _LEFT_OUT.format(len(sections) - kept)])


def prose(text: str) -> str:
    """Write a message or a name, with everything escaped that Markdown or its dialects would act on."""
    return escaped(visible_message(text))


def escaped(shown: str) -> str:
    """Write what has passed `visible` as text."""
    return _SPECIAL.sub(r"\\\g<0>", shown)


def code(shown: str) -> str:
    """Write what has passed `visible` as code within a line."""
    if not shown:
        return "(nothing)"
    ticks = "`" * (_longest_run(shown) + 1)
    # A space at both ends is not part of the code; without, backticks of the text would run into the others.
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"


def cell_code(shown: str) -> str:
    """Write what has passed `visible` as code within a table."""
    return code(shown).replace("|", "\\|")


def block(lines: Iterable[str], language: str = "text") -> str:
    """Write lines that have passed `visible` as a block of code."""
    body = "".join(f"{line}\n" for line in lines)
    fence = "`" * max(_MIN_FENCE, _longest_run(body) + 1)
    return f"{fence}{language}\n{body}{fence}\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """Write a table of cells that are Markdown already; columns in `right` are justified there."""
    right = set(right)
    rule = ["--:" if column in right else "---" for column in range(len(head))]
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *rows))


def details(summary: str, body: str) -> str:
    """Write something that opens on a click; `summary` has passed `visible`."""
    return f"<details><summary>{_html(summary)}</summary>\n\n{body}\n</details>\n"


def _html(shown: str) -> str:
    from html import escape

    return escape(shown)


def _longest_run(text: str) -> int:
    return max((len(found) for found in _BACKTICKS.findall(text)), default=0)
