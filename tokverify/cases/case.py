"""Read YAML suites into cases, strictly: every complaint names the file and the line."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tokverify.errors import TokverifyError
from tokverify.text.wording import listed

if TYPE_CHECKING:
    from tokverify.cases.suite import Suite

Expect: TypeAlias = tuple[int | str, ...]
"""The tokens a text should have: their ids, or their pieces; never a mixture."""

SuiteSource: TypeAlias = "Path | str"
"""Where suites are: a file or directory; or the name `SHIPPED`, as a string, which a Path of that name is not."""

SHIPPED = "shipped"
"""The name of the suites that come with tokverify."""

_SUFFIXES = frozenset({".yaml", ".yml"})
# Comparing one name with a hundred thousand others would take seconds, for a hint.
_MAX_CANDIDATES = 2000
_MAX_NAMED = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One test string with its options.

    `expect` maps a tokenizer's name, fingerprint or family to the ids or pieces it should give. `file` and `line`
    (1-based) say where the case was written. `shipped` is whether it came with tokverify, as far as this is known: a
    saved report does not tell.
    """

    id: str
    suite: str
    text: str
    tags: tuple[str, ...] = ()
    note: str = ""
    add_special: bool = False
    parse_special: bool = True
    expect: Mapping[str, Expect] = field(default_factory=dict)
    file: str = ""
    line: int = 0
    shipped: bool = field(default=False, compare=False)


def shipped_suites() -> Path:
    """Find the suites that come with tokverify: inside the installed package, or in a checkout."""
    package = Path(__file__).parent
    installed = package / "suites"
    return installed if installed.is_dir() else package.parents[1] / "cases"


def is_shipped(name: str, directory: Path = Path()) -> bool:
    """Tell whether suites that a user names are the shipped ones, or else a path, which begins at `directory`.

    Raises:
        TokverifyError: If they could be either.
    """
    if name == SHIPPED and (directory / name).exists():
        raise TokverifyError(
            f"{name!r} means the suites that come with tokverify, and {directory / name} is there as well;"
            f" write ./{name} for that"
        )
    return name == SHIPPED


def name_of_source(source: SuiteSource) -> str:
    """Return what a user writes for suites; `is_shipped` tells it from a path again."""
    if isinstance(source, str):
        return source
    return f"./{SHIPPED}" if source == Path(SHIPPED) else source.as_posix()


def load_cases(sources: Iterable[SuiteSource] | None = None) -> list[Case]:
    """Read and check suites, in the order given; None means the shipped ones, and so does the string `shipped`.

    Directories are searched for `*.yaml` and `*.yml`, hidden ones left out; a file met twice is read once.

    Raises:
        TokverifyError: If anything is wrong, with all complaints about all files, one a line.
    """
    return [case for suite in load_suites(sources) for case in suite.cases]


def load_suites(sources: Iterable[SuiteSource] | None = None) -> list[Suite]:
    """Read and check suites, with their cases and hints.

    Raises:
        TokverifyError: As `load_cases` does.
    """
    from tokverify.cases.suite import read_suite

    files = _find_files([SHIPPED] if sources is None else sources)
    suites = [_marked(read_suite(file, shown_as)) if shown_as else read_suite(file) for file, shown_as in files.items()]
    complaints = [complaint for suite in suites for complaint in suite.complaints]
    complaints += _name_clashes(suites)
    if complaints:
        raise TokverifyError("\n".join(complaints))
    return suites


def select(
    cases: Iterable[Case],
    *,
    tags: Collection[str] = (),
    patterns: Collection[str] = (),
    suites: Collection[str] = (),
) -> list[Case]:
    """Keep the cases that pass every kind of filter given, in order.

    A case passes with any one of `tags`, in any one of `suites`, if its id or `suite/id` matches any one of
    `patterns` (shell-style, case-sensitive).

    Raises:
        TokverifyError: If that leaves no case.
    """
    every = list(cases)
    chosen = [
        case
        for case in every
        if (not tags or not set(tags).isdisjoint(case.tags))
        and (not suites or case.suite in suites)
        and (not patterns or any(_matches(case, pattern) for pattern in patterns))
    ]
    if not chosen:
        raise TokverifyError(_nothing_selected(every, tags, patterns, suites))
    return chosen


def _matches(case: Case, pattern: str) -> bool:
    return fnmatchcase(case.id, pattern) or fnmatchcase(f"{case.suite}/{case.id}", pattern)


def _nothing_selected(
    cases: Sequence[Case], tags: Collection[str], patterns: Collection[str], suites: Collection[str]
) -> str:
    if not cases:
        return "no case selected: there are no cases at all; name a suite that has some"
    all_tags = {tag for case in cases for tag in case.tags}
    advice = [_near(f"tag {tag!r}", tag, all_tags) for tag in tags if tag not in all_tags]
    all_suites = {case.suite for case in cases}
    advice += [_near(f"suite {suite!r}", suite, all_suites) for suite in suites if suite not in all_suites]
    advice += [_near_pattern(pattern, cases) for pattern in patterns]
    advice = [sentence for sentence in advice if sentence]
    if not advice:
        advice = ["each filter alone matches cases, but no case passes all of them; drop one"]
    filters = {"tags": tags, "patterns": patterns, "suites": suites}
    given = ", ".join(f"{name} {', '.join(map(repr, values))}" for name, values in filters.items() if values)
    return f"no case selected by {given}: {'; '.join(advice)}"


def _near(what: str, name: str, known: Collection[str]) -> str:
    candidates = sorted(known)[:_MAX_CANDIDATES]
    near = get_close_matches(name, candidates, n=3) or [other for other in candidates if name in other][:3]
    if near:
        return f"no {what}, did you mean {' or '.join(map(repr, near))}?"
    return f"no {what}, known are {listed(sorted(known), _MAX_NAMED) or 'none'}"


def _near_pattern(pattern: str, cases: Sequence[Case]) -> str:
    if any(_matches(case, pattern) for case in cases):
        return ""
    wider = f"*{pattern.strip('*')}*"
    if any(_matches(case, wider) for case in cases):
        return f"no id matches {pattern!r} as a whole, did you mean {wider!r}?"
    ids = [f"{case.suite}/{case.id}" if "/" in pattern else case.id for case in cases[:_MAX_CANDIDATES]]
    near = get_close_matches(pattern.replace("*", ""), ids, n=3)
    if near:
        return f"no id matches {pattern!r}, did you mean {' or '.join(map(repr, near))}?"
    return f"no id matches {pattern!r}, see `tokverify cases list`"


def _marked(suite: Suite) -> Suite:
    suite.cases = [replace(case, shipped=True) for case in suite.cases]
    return suite


def _find_files(sources: Iterable[SuiteSource]) -> dict[Path, str | None]:
    """Return the files, shipped ones with how they are shown; one met twice is as it was met first."""
    files: dict[Path, tuple[Path, str | None]] = {}
    for source in sources:
        path = shipped_suites() if source == SHIPPED else Path(source)
        for file in _suites_in(path) if path.is_dir() else [path]:
            # The shipped ones have the same name on every machine, so that reports can be compared.
            shown_as = f"cases/{file.name}" if source == SHIPPED else None
            files.setdefault(_identity(file), (file, shown_as))
    return dict(files.values())


def _identity(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):  # such as a loop of links; reading it gives the clearer error
        return path


def _suites_in(directory: Path) -> list[Path]:
    files = [
        file
        for file in sorted(directory.rglob("*"))
        if file.suffix.lower() in _SUFFIXES
        and file.is_file()
        and not any(part.startswith(".") for part in file.relative_to(directory).parts)
    ]
    if not files:
        raise TokverifyError(f"{directory}: no *.yaml or *.yml file inside; name a directory that has suites")
    return files


def _name_clashes(suites: Iterable[Suite]) -> list[str]:
    first: dict[str, Suite] = {}
    clashes = []
    for suite in suites:
        other = first.setdefault(suite.name, suite)
        if other is not suite:
            clashes.append(
                f"{suite.file}:{suite.line}: the suite {suite.name!r} is already in {other.file}; rename one"
            )
    return clashes
