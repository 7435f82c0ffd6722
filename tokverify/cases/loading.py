"""Find, read and select cases.

The cache keeps a copy of the suites that come with tokverify: PyYAML takes ten times as long.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from itertools import chain
from pathlib import Path

import msgspec

from tokverify.case import SHIPPED, Case, Suite, SuiteSource
from tokverify.errors import SeveralError, TokverifyError
from tokverify.system.cache import CacheFile, cache_directory
from tokverify.system.input_file import list_files
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
        *(_suggest_pattern(each, cases) for each in patterns if not any(_matches_any(case, [each]) for case in cases)),
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


_VERSION = 1


def shipped_suites() -> Path:
    """Find the suites that come with tokverify: inside the installed package, or in a checkout."""
    package = Path(__file__).parent
    installed = package / "suites"
    return installed if installed.is_dir() else package.parents[1] / "cases"


@cache
def read_shipped(files: tuple[tuple[Path, str], ...]) -> list[Suite]:
    """Read suites of ours, given as files with their display names, once for all operations of a process."""
    if not files:
        return []
    kept = CacheFile(cache_directory() / "suites.json")
    digest = _digest(files)
    content = kept.read(_VERSION)
    suites = _restore(content) if digest and content.get("digest") == digest else None
    if suites is None:
        suites = [_read(file, name) for file, name in files]
        if digest and not any(suite.complaints for suite in suites):
            kept.write(_VERSION, {"digest": digest, "suites": msgspec.to_builtins(suites)})
    return suites


def _read(file: Path, shipped_as: str | None = None) -> Suite:
    """Read a file; `shipped_as` is the display name of one of ours."""
    from tokverify.cases.suite import read_suite  # imports PyYAML

    suite = read_suite(file, shipped_as)
    if shipped_as:
        suite.cases = [replace(case, shipped=True) for case in suite.cases]
    return suite


def _restore(content: Mapping[str, object]) -> list[Suite] | None:
    try:
        return msgspec.convert(content.get("suites"), list[Suite])
    except msgspec.ValidationError:
        return None


def _digest(files: tuple[tuple[Path, str], ...]) -> str:
    """Return a hash that changes with the files and with the code that reads them; "" if a file cannot be read."""
    digest = hashlib.sha256()
    try:
        for module in sorted(Path(__file__).parent.glob("*.py")):
            stat = module.stat()
            digest.update(f"{module.name} {stat.st_size} {stat.st_mtime_ns}\n".encode())
        for file, name in files:
            content = file.read_bytes()
            digest.update(f"{name} {len(content)}\n".encode() + content)
    except OSError:
        return ""
    return digest.hexdigest()


_SUFFIXES = frozenset({".yaml", ".yml"})


def load_cases(sources: Iterable[SuiteSource] | None = None) -> list[Case]:
    """Read and check suites in the given order; None means the shipped ones, as does the string `shipped`.

    Directories are searched for `*.yaml` and `*.yml` files, skipping hidden ones. A file found twice is read once.

    Raises:
        TokverifyError: If anything is wrong; lists the complaints about all files.
    """
    return list(chain.from_iterable(suite.cases for suite in load_suites(sources)))


def load_suites(sources: Iterable[SuiteSource] | None = None) -> list[Suite]:
    """Read and check suites, including their hints.

    Raises:
        TokverifyError: As for `load_cases`.
    """
    files = _find_files([SHIPPED] if sources is None else [sources] if isinstance(sources, str | Path) else sources)
    shipped = {file: name for file, name in files.items() if name}
    known = dict(zip(shipped, read_shipped(tuple(shipped.items())), strict=True))
    suites = [known.get(file) or _read(file) for file in files]
    complaints = [*chain.from_iterable(suite.complaints for suite in suites), *_find_name_clashes(suites)]
    if complaints:
        raise SeveralError(*complaints)
    return suites


def _find_files(sources: Iterable[SuiteSource]) -> dict[Path, str | None]:
    """Map each file to its display name, which only shipped files have; the first mention of a file counts."""
    files: dict[Path, tuple[Path, str | None]] = {}
    for source in sources:
        path = shipped_suites() if source == SHIPPED else Path(source)
        for file in _suites_in(path) if path.is_dir() else [path]:
            # Shipped files get the same name on every machine, so that reports can be compared.
            display_name = f"cases/{file.name}" if source == SHIPPED else None
            files.setdefault(_resolve(file), (file, display_name))
    return dict(files.values())


def _resolve(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):  # such as a loop of links; reading it gives a clearer error
        return path


def _suites_in(directory: Path) -> list[Path]:
    files = [file for file in list_files(directory) if file.suffix.lower() in _SUFFIXES]
    if not files:
        raise TokverifyError(f"{directory}: contains no *.yaml or *.yml file; name a directory that contains suites")
    return files


def _find_name_clashes(suites: Iterable[Suite]) -> list[str]:
    first: dict[str, Suite] = {}
    clashes = []
    for suite in suites:
        other = first.setdefault(suite.name, suite)
        if other is not suite:
            clashes.append(
                f"{suite.file}:{suite.line}: the suite {suite.name!r} is already defined in {other.file}; rename one"
            )
    return clashes


def select_cases(
    sources: Sequence[SuiteSource] = (),
    suites: Sequence[str] = (),
    tags: Sequence[str] = (),
    patterns: Sequence[str] = (),
) -> list[Case]:
    """Load the suites at `sources`, by default the shipped ones, and select cases.

    Args:
        sources: Suites or directories of suites; the shipped ones by default.
        suites: Names of suites.
        tags: Tags.
        patterns: Patterns of case ids, such as `tab*`.

    Returns:
        The cases that match one of each of the given filters.

    Raises:
        TokverifyError: If a suite is wrong, or no case is selected.
    """
    return select(load_cases(sources or None), suites=_listed(suites), tags=_listed(tags), patterns=_listed(patterns))


def _listed(names: Sequence[str]) -> Sequence[str]:
    """Return names as a list; a string is one of them, and not its letters."""
    return [names] if isinstance(names, str) else names


def cases_or_shipped(cases: Iterable[Case] | None) -> list[Case]:
    """Return cases as a list; None means the shipped ones.

    Raises:
        TokverifyError: If they are no cases, such as the path of a suite.
    """
    if cases is None:
        return load_cases()
    listed = [cases] if isinstance(cases, str | Path) else list(cases)
    if wrong := next((case for case in listed if not isinstance(case, Case)), None):
        raise TokverifyError(f"{wrong!s}: not a Case; load_cases([...]) reads suites of cases")
    return [case for case in listed if isinstance(case, Case)]
