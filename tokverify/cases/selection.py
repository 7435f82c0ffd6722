"""Select cases by tag, suite and name, and suggest alternatives if nothing matches."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from itertools import chain

from tokverify.case import Case
from tokverify.errors import TokverifyError
from tokverify.text.wording import find_similar_names, list_alternatives, list_items

# Comparing a name with a hundred thousand others would take seconds.
_MAX_CANDIDATES = 2000
_MAX_LISTED = 30
_EXPRESSION = re.compile(r"(?:^|\s)(?:and|or|not)\s|[()]")
_WILDCARDS = frozenset("*?[")


def select(
    cases: Iterable[Case],
    *,
    tags: Collection[str] = (),
    patterns: Collection[str] = (),
    suites: Collection[str] = (),
) -> list[Case]:
    """Keep the cases that pass every given filter, in order.

    Args:
        cases: The cases to choose from.
        tags: Keep cases that have at least one of these tags.
        patterns: Keep cases whose `suite/id` contains at least one of these, or whose id or `suite/id` as a whole
            matches one with a wildcard (`*`, `?` or `[...]`, as in a shell). Case is ignored.
        suites: Keep cases from these suites.

    Raises:
        TokverifyError: If no case passes.
    """
    all_cases = list(cases)
    selected = all_cases
    if tags:
        selected = [case for case in selected if not set(tags).isdisjoint(case.tags)]
    if suites:
        selected = [case for case in selected if case.suite in suites]
    if patterns:
        selected = [case for case in selected if _matches_any(case, patterns)]
    if not selected:
        raise TokverifyError(_explain_empty_selection(all_cases, tags, patterns, suites))
    return selected


def _matches_any(case: Case, patterns: Iterable[str]) -> bool:
    return any(_matches(case, pattern.lower()) for pattern in patterns)


def _matches(case: Case, pattern: str) -> bool:
    name = case.name.lower()
    if _WILDCARDS.isdisjoint(pattern):
        return pattern in name
    return fnmatchcase(name, pattern) or fnmatchcase(case.id.lower(), pattern)


def _explain_empty_selection(
    cases: Sequence[Case], tags: Collection[str], patterns: Collection[str], suites: Collection[str]
) -> str:
    if not cases:
        return "no case selected: the suites contain no cases; name a suite that has some"
    hints = [
        *_suggest_names("tag", tags, set(chain.from_iterable(case.tags for case in cases))),
        *_suggest_names("suite", suites, {case.suite for case in cases}),
        *_suggest_patterns(patterns, cases),
    ]
    if not hints:
        hints = ["each filter alone matches cases, but no case passes all of them; drop one"]
    filters = {"tags": tags, "patterns": patterns, "suites": suites}
    given = ", ".join(f"{name} {', '.join(map(repr, values))}" for name, values in filters.items() if values)
    return f"no case selected by {given}: {'; '.join(hints)}"


def _suggest_names(kind: str, names: Collection[str], known: Collection[str]) -> list[str]:
    """Write a hint for each name that is not known."""
    return [f"no {kind} {name!r}, {_suggest_name(kind, name, known)}" for name in names if name not in known]


def _suggest_name(kind: str, name: str, known: Collection[str]) -> str:
    candidates = sorted(known)[:_MAX_CANDIDATES]
    similar = find_similar_names(name, candidates) or [other for other in candidates if name in other][:3]
    if similar:
        return f"did you mean {_join(similar)}?"
    return f"known {kind}s: {list_items(sorted(known), _MAX_LISTED) or 'none'}"


def _suggest_patterns(patterns: Iterable[str], cases: Sequence[Case]) -> list[str]:
    """Write a hint for each pattern that matches nothing."""
    unmatched = [pattern for pattern in patterns if not any(_matches_any(case, [pattern]) for case in cases)]
    return [_suggest_pattern(pattern, cases) for pattern in unmatched]


def _suggest_pattern(pattern: str, cases: Sequence[Case]) -> str:
    wider = f"*{pattern.strip('*')}*"
    if any(_matches_any(case, [wider]) for case in cases):
        return f"{pattern!r} matches no complete id, did you mean {wider!r}?"
    if _EXPRESSION.search(pattern):
        return (
            f"no id matches {pattern!r}; expressions with and, or and not are not supported, repeat -k instead of `or`"
        )
    ids = [case.name if "/" in pattern else case.id for case in cases[:_MAX_CANDIDATES]]
    similar = get_close_matches(pattern.replace("*", ""), dict.fromkeys(ids), n=3)
    if similar:
        return f"no id matches {pattern!r}, did you mean {_join(similar)}?"
    return f"no id matches {pattern!r}, see `tokverify cases list`"


def _join(names: Iterable[str]) -> str:
    return list_alternatives(map(repr, names))
