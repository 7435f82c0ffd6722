"""What reports of rules and of chat templates say about the entries of a baseline."""

from __future__ import annotations

from collections.abc import Sequence

from tokverify.render.document import Column, Section, Style, Table, code, message
from tokverify.report.known_difference import KnownDifference


def acceptance(entry: KnownDifference) -> str:
    """Return why something is accepted, and where."""
    return f"{entry.reason} ({entry.place})"


def unused_entries(entries: Sequence[KnownDifference], what: str) -> Section:
    """List the entries that accept nothing; `what` is the heading of their codes."""
    rows = [(message(each.code), code(each.place), message(each.reason)) for each in entries]
    table = Table([Column(what), Column("entry"), Column("reason")], rows)
    return Section([table], "Entries of the baseline that accept nothing", Style.WARNING)
