"""The report of `tokverify versions`: the ids that one reference gives in several versions of its library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tokverify.report.run import FAILING, CaseResult, Report, Status, run_exit_code, summarize_run
from tokverify.report.run_check import check_run
from tokverify.report.side import Side

_CANNOT_RUN = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedVersion:
    """The reference in one environment."""

    environment: str
    """The packages that were requested, separated by spaces; empty for those that are installed with tokverify. If the
    report varies the reference, its location instead."""
    run: Report | None = None
    """The comparison of the model with the reference in this environment."""
    error: str = ""
    """Why there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionsReport:
    """A model, compared with its reference in several environments."""

    model: Side
    """The tokenizer under test."""
    tried: tuple[TriedVersion, ...]
    """What is installed first, then the environments in the order in which they were requested."""
    varies_reference: bool = False
    """Whether each of `tried` is another reference, and not the same one in another environment."""
    options: Mapping[str, object] = field(default_factory=dict)
    """What the user asked for."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """The versions of tokverify and its engine."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What some of the tokenizers make of a text."""

    ids: tuple[int, ...]
    message: str
    """Why there are no ids; empty if there are."""
    is_of_model: bool
    """Whether the model is one of these tokenizers."""
    versions: tuple[int, ...]
    """The indexes of the other ones in `tried`."""


@dataclass(frozen=True, slots=True)
class Dispute:
    """A case that not all tokenizers encode alike."""

    name: str
    """The case, as suite/id."""
    text: str
    outcomes: tuple[Outcome, ...]
    """All different outcomes, that of the model first."""


def find_disputes(report: VersionsReport) -> Iterator[Dispute]:
    """Yield the cases in which some version differs from the model, in their order."""
    runs = {index: tried.run for index, tried in enumerate(report.tried) if tried.run}
    for results in zip(*(run.results for run in runs.values()), strict=True):
        if any(result.status in FAILING for result in results):
            case = results[0].case
            yield Dispute(case.name, case.text, _group(dict(zip(runs, results, strict=True))))


def _group(results: Mapping[int, CaseResult]) -> tuple[Outcome, ...]:
    """Group the outcomes of one case by what they are; `results` is by the index of the version."""
    first = next(iter(results.values()))
    versions: dict[tuple[tuple[int, ...], str], list[int]] = {(first.actual, ""): []}
    for index, result in results.items():
        message = result.message or "" if result.status in {Status.ERROR, Status.SKIPPED} else ""
        versions.setdefault((result.expected, message), []).append(index)
    return tuple(
        Outcome(ids, message, number == 0, tuple(members))
        for number, ((ids, message), members) in enumerate(versions.items())
    )


def versions_exit_code(report: VersionsReport) -> int:
    """Return 2 if a version could not be compared, else 1 if one differs, else 0."""
    return max((run_exit_code(tried.run) if tried.run else _CANNOT_RUN for tried in report.tried), default=_CANNOT_RUN)


def summarize_versions(report: VersionsReport) -> Mapping[str, object]:
    """Return the `summary` of the JSON report."""
    return {
        "exit_code": versions_exit_code(report),
        "versions": [{"environment": tried.environment, **_summarize(tried)} for tried in report.tried],
    }


def _summarize(tried: TriedVersion) -> Mapping[str, object]:
    return summarize_run(tried.run) if tried.run else {"exit_code": _CANNOT_RUN}


def check_versions(report: VersionsReport, path: str) -> Iterator[str]:
    """Yield every inconsistency as `path: problem`; `path` is where the report stands in its document."""
    names: list[list[str]] = []
    for index, tried in enumerate(report.tried):
        place = f"{path}.tried[{index}]"
        if bool(tried.run) == bool(tried.error):
            yield f"{place}: expected either a run or an error"
        if tried.run:
            yield from check_run(tried.run, f"{place}.run")
            names.append([result.case.name for result in tried.run.results])
    if any(other != names[0] for other in names):
        yield f"{path}.tried: expected runs of the same cases"
