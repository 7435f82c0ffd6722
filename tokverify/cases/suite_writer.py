"""Write cases as a YAML suite that reads back unchanged (docs/cases.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tokverify.case import Case, Expect
from tokverify.text.visible import visible

_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\", " ": " "}


def render_suite(cases: Iterable[Case], *, note: str) -> str:
    """Write a suite that takes its name from its file; every text is quoted, with invisible characters escaped."""
    lines = [f"note: {quote_yaml(note)}", "cases:"]
    for case in cases:
        lines += _case_lines(case)
    return "".join(f"{line}\n" for line in lines)


def _case_lines(case: Case) -> Iterator[str]:
    yield f"  - id: {case.id}"
    yield f"    text: {quote_yaml(case.text)}"
    yield f"    note: {quote_yaml(case.note)}"
    if case.add_special:
        yield "    add_special: true"
    if not case.parse_special:
        yield "    parse_special: false"
    if case.tags:
        yield f"    tags: [{', '.join(case.tags)}]"
    if case.expect:
        yield "    expect:"
        yield from (f"      {quote_yaml(key)}: {token_list(expect)}" for key, expect in case.expect.items())


def token_list(expect: Expect) -> str:
    """Write the tokens that a case expects."""
    return f"[{', '.join(quote_yaml(item) if isinstance(item, str) else str(item) for item in expect)}]"


def quote_yaml(text: str) -> str:
    """Write a text in double quotes, as YAML reads them."""
    return f'"{"".join(map(_escape, text))}"'


def _escape(character: str) -> str:
    # Except for its marks for whitespace, `visible` writes the same escapes as YAML.
    return _ESCAPES.get(character) or visible(character)
