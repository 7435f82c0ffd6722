"""Compare two recordings, and list differences that are not expected."""

import difflib
import fnmatch
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

LONG = 400
"""The characters above which a line is divided for the comparison, as in pages of HTML and JSON."""
SHOWN_LINES, SHOWN_WIDTH, SHOWN_NAMES = 14, 180, 4


@dataclass(frozen=True)
class Expectation:
    """A listed difference."""

    pattern: str
    """The names of entries, as for a shell: `run/*`."""
    reason: str = ""
    lines: str = ""
    """A regular expression, found in each line that may differ; empty if all may."""


@dataclass(frozen=True)
class Difference:
    """What differs in an entry."""

    name: str
    changed: Sequence[str]
    """The lines only in the first recording, after `-`, and only in the second one, after `+`."""
    excerpt: Sequence[str]
    """A unified diff."""


@dataclass(frozen=True)
class Comparison:
    """The differences between two recordings."""

    entries: int
    unexpected: Sequence[Difference]
    expected: Sequence[Difference]
    absent: Sequence[Expectation]
    """What is listed, but did not occur."""


def read_expectations(path: Path) -> list[Expectation]:
    """Read the list of expected differences; raises ValueError with the file and the mistake."""
    items = yaml.safe_load(path.read_text(encoding="utf-8")) or []
    try:
        expectations = [Expectation(**item) for item in items]
        for expectation in expectations:
            re.compile(expectation.lines)
    except (TypeError, re.error) as problem:
        raise ValueError(f"{path}: each item has a `pattern`, and may have a `reason` and `lines`: {problem}") from None
    return expectations


def compare(first: Path, second: Path, expectations: Sequence[Expectation]) -> Comparison:
    """Compare two directories with recordings."""
    names = sorted(_names(first) | _names(second))
    if not names:
        raise ValueError(f"{first} and {second} contain no recordings")
    found = [difference for name in names if (difference := _compare_entry(name, first, second))]
    allowed = [_allowed_by(difference, expectations) for difference in found]
    occurred = {expectation for used, _ in allowed for expectation in used}
    return Comparison(
        len(names),
        unexpected=[one for one, (_, is_expected) in zip(found, allowed, strict=True) if not is_expected],
        expected=[one for one, (_, is_expected) in zip(found, allowed, strict=True) if is_expected],
        absent=[expectation for expectation in expectations if expectation not in occurred],
    )


def render(comparison: Comparison, *, whole: bool = False) -> str:
    """Return the differences that are not expected, each once with the names of all entries that have it."""
    parts = [_render_group(group, whole=whole) for group in _group(comparison.unexpected)]
    parts += [f"expected, but does not occur: {one.pattern} {one.lines}".rstrip() for one in comparison.absent]
    counts = f"{len(comparison.unexpected)} differ unexpectedly, {len(comparison.expected)} as expected"
    return "\n".join([*parts, f"{comparison.entries} entries: {counts}"])


def divide(text: str) -> list[str]:
    """Return the lines of a text, with their ends; long ones are divided after each `>`, `,` and `}`."""
    # Only newlines: other separators of lines occur inside recorded texts.
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    return [
        part for line in lines for part in (re.findall(r"[^>,}]*[>,}]+|[^>,}]+", line) if len(line) > LONG else [line])
    ]


def _names(directory: Path) -> set[str]:
    return {path.relative_to(directory).with_suffix("").as_posix() for path in directory.rglob("*.txt")}


def _compare_entry(name: str, first: Path, second: Path) -> Difference | None:
    texts = [_read(directory / f"{name}.txt") for directory in (first, second)]
    if texts[0] == texts[1]:
        return None
    diff = list(difflib.unified_diff(*map(divide, texts), n=2))[2:]
    changed = [line.rstrip("\n") for line in diff if line[0] in "+-"]
    return Difference(name, changed, [line.rstrip("\n") for line in diff])


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8") if path.exists() else "not recorded\n"


def _allowed_by(difference: Difference, expectations: Sequence[Expectation]) -> tuple[set[Expectation], bool]:
    """Return the expectations that apply to a difference, and whether they allow all of it."""
    candidates = [one for one in expectations if fnmatch.fnmatchcase(difference.name, one.pattern)]
    allowing = [{one for one in candidates if re.search(one.lines, line[1:])} for line in difference.changed]
    return set().union(*allowing), all(allowing)


def _group(differences: Sequence[Difference]) -> Iterator[list[Difference]]:
    """Join the entries whose changed lines are the same, which have the same cause."""
    groups: dict[frozenset[str], list[Difference]] = {}
    for difference in differences:
        groups.setdefault(frozenset(difference.changed), []).append(difference)
    return iter(groups.values())


def _render_group(group: Sequence[Difference], *, whole: bool) -> str:
    names = [difference.name for difference in group]
    excerpt = group[0].excerpt
    if whole:
        return "\n".join([*names, *excerpt, ""])
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    left = [f"... {len(excerpt) - SHOWN_LINES} more lines"] if len(excerpt) > SHOWN_LINES else []
    lines = [line[:SHOWN_WIDTH] for line in excerpt[:SHOWN_LINES]]
    return "\n".join([", ".join(names[:SHOWN_NAMES]) + more, *lines, *left, ""])
