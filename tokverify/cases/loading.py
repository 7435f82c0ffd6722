"""Find suites and load their cases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from tokverify.case import SHIPPED, Case, Suite, SuiteSource
from tokverify.cases.selection import select
from tokverify.cases.shipped import read_shipped, shipped_suites
from tokverify.errors import SeveralError, TokverifyError

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
    files = _find_files([SHIPPED] if sources is None else sources)
    shipped = {file: name for file, name in files.items() if name}
    known = dict(zip(shipped, read_shipped(tuple(shipped.items())), strict=True))
    suites = [known.get(file) or _read(file) for file in files]
    complaints = [*chain.from_iterable(suite.complaints for suite in suites), *_find_name_clashes(suites)]
    if complaints:
        raise SeveralError(*complaints)
    return suites


def _read(file: Path) -> Suite:
    from tokverify.cases.suite import read_suite  # imports PyYAML

    return read_suite(file)


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
    files = [file for file in sorted(directory.rglob("*")) if _is_suite(file, directory)]
    if not files:
        raise TokverifyError(f"{directory}: contains no *.yaml or *.yml file; name a directory that contains suites")
    return files


def _is_suite(file: Path, directory: Path) -> bool:
    is_hidden = any(part.startswith(".") for part in file.relative_to(directory).parts)
    return file.suffix.lower() in _SUFFIXES and not is_hidden and file.is_file()


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
    return select(load_cases(sources or None), suites=suites, tags=tags, patterns=patterns)
