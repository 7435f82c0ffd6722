"""Write cases as a YAML suite that reads back as it was written (docs/cases.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tokverify.text.visible import visible

if TYPE_CHECKING:
    from tokverify.cases.case import Case, Expect

_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\", " ": " "}


def render_suite(cases: Iterable[Case], *, note: str) -> str:
    """Write a suite named by its file; every text is quoted, and what a reader could not see is escaped."""
    lines = [f"note: {quoted(note)}", "cases:"]
    for case in cases:
        lines += _case_lines(case)
    return "".join(f"{line}\n" for line in lines)


def _case_lines(case: Case) -> Iterator[str]:
    yield f"  - id: {case.id}"
    yield f"    text: {quoted(case.text)}"
    yield f"    note: {quoted(case.note)}"
    if case.add_special:
        yield "    add_special: true"
    if not case.parse_special:
        yield "    parse_special: false"
    if case.tags:
        yield f"    tags: [{', '.join(case.tags)}]"
    if case.expect:
        yield "    expect:"
        yield from (f"      {quoted(key)}: {token_list(expect)}" for key, expect in case.expect.items())


def token_list(expect: Expect) -> str:
    """Write the tokens that a case expects."""
    return f"[{', '.join(quoted(item) if isinstance(item, str) else str(item) for item in expect)}]"


def quoted(text: str) -> str:
    """Write a text in double quotes, as YAML reads them."""
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    # The escapes of `visible` are those of YAML, where they are not marks for the eye.
    return _ESCAPES.get(character) or visible(character)
