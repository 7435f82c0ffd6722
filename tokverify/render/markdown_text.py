"""Write any text in Markdown so that it is shown as it is, in the dialects of GitHub and GitLab."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain
from string import punctuation

from tokverify.render.options import RenderOptions
from tokverify.text.visible import visible_message

_SPECIAL = re.compile(r"[\\`*_\[\]<>|~&#$@]|(?<=www)\.|:(?=/)")
_BACKTICKS = re.compile("`+")
_MIN_FENCE = 3
_MARKS = {0: "✅", 1: "❌"}
_LEFT_OUT = "And {:,} more parts that do not fit here; write the report to a file to read them.\n"


def mark(exit_code: int) -> str:
    """Return the mark at the beginning of a title, by exit code."""
    return _MARKS.get(exit_code, "⚠️")


def document(heading: str, verdict: str, sections: Iterable[str], options: RenderOptions) -> str:
    """Write a report below its heading and verdict, or only these; as much of it as fits the limit.

    The heading is Markdown, the verdict is plain text.
    """
    top = [f"## {heading}\n", f"{strong(visible_message(verdict))}\n"]
    return _join(top if options.quiet else chain(top, sections), options.limit)


def _join(sections: Iterable[str], limit: int | None = None) -> str:
    """Join sections; if they exceed `limit` bytes, join the first ones and note how many are left out.

    The result is empty if there is no room even for this note.
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
    """Write a message or a name; everything that Markdown or its dialects would interpret is escaped."""
    return escaped(visible_message(text))


def escaped(shown: str) -> str:
    """Write a text that has passed `visible`."""
    return _SPECIAL.sub(r"\\\g<0>", shown)


def strong(shown: str, before: str = "", after: str = "") -> str:
    """Write a text that has passed `visible` in bold, between two characters of the text around it.

    subtle: asterisks beside a space, or between punctuation and a letter, delimit nothing and would be shown; such a
    text stays plain.
    """
    bare = shown.strip(" ")
    start, end = shown[: len(shown) - len(shown.lstrip(" "))], shown[len(shown.rstrip(" ")) :]
    opens = start or bare[:1].isalnum() or _is_edge(before)
    closes = end or bare[-1:].isalnum() or _is_edge(after)
    if not (bare and bare == bare.strip() and opens and closes):
        return escaped(shown)
    return f"{start}**{escaped(bare)}**{end}"


def _is_edge(character: str) -> bool:
    """Check whether asterisks beside a character delimit emphasis, whatever is on their other side."""
    return character in {"", " ", *punctuation}


def code(shown: str) -> str:
    """Write a text that has passed `visible` as code within a line."""
    if not shown:
        return "(nothing)"
    ticks = "`" * (_longest_run(shown) + 1)
    # Markdown removes one space at both ends; without them, backticks of the text would join the delimiters.
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"


def cell_code(shown: str) -> str:
    """Write a text that has passed `visible` as code within a table."""
    return code(shown).replace("|", "\\|")


def block(lines: Iterable[str], language: str = "text") -> str:
    """Write lines that have passed `visible` as a block of code."""
    body = "".join(f"{line}\n" for line in lines)
    fence = "`" * max(_MIN_FENCE, _longest_run(body) + 1)
    return f"{fence}{language}\n{body}{fence}\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """Write a table of cells that are Markdown already; columns in `right` are right-justified."""
    right = set(right)
    rule = ["--:" if column in right else "---" for column in range(len(head))]
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *rows))


def details(summary: str, body: str) -> str:
    """Write a body that opens on a click; `summary` has passed `visible`."""
    return f"<details><summary>{_html(summary)}</summary>\n\n{body}\n</details>\n"


def _html(shown: str) -> str:
    from html import escape

    return escape(shown)


def _longest_run(text: str) -> int:
    return max((len(found) for found in _BACKTICKS.findall(text)), default=0)
