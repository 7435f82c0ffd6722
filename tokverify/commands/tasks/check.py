"""Perform what is configured for models: `run`, or also `audit` and `chat` with one verdict.

What only some of these need is imported where it is used: `run` should be quick.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.case import Case
from tokverify.cases.loading import select_cases
from tokverify.commands.tasks.declaration import open_declaration
from tokverify.commands.tasks.opening import open_subject, other_tokenizer
from tokverify.commands.tasks.run import (
    OnProgress,
    RunResult,
    find_other_side,
    names_expected,
    update_baseline,
    verify_model,
)
from tokverify.compare.baseline import Baseline, load_known
from tokverify.compare.opened import OpenedModel, OpenedReference, engine_version
from tokverify.errors import BrokenFileError, GoneError, TokverifyError, UnsupportedError
from tokverify.location import Location
from tokverify.report.audit import AuditReport
from tokverify.report.chat import ChatReport
from tokverify.report.check import CheckReport, ModelCheck, Note, Part
from tokverify.report.run import Report
from tokverify.report.side import Side
from tokverify.report.tokenizer_difference import FAIL_ON, NOT_COMPARED, lowest_severity
from tokverify.sources.stores.location import find_model
from tokverify.sources.stores.model_file import ModelFile
from tokverify.sources.tokenizer_file import kind_of_model
from tokverify.system.cache import CacheFile
from tokverify.text.command_line import name_files
from tokverify.version import __version__

if TYPE_CHECKING:
    from tokverify.commands.project.configuration import ConfiguredModel

_VERSION = 1


@dataclass(frozen=True, slots=True)
class LastFailures:
    """The cached names of the failing cases of one model and one reference."""

    file: CacheFile

    @classmethod
    def of(cls, model: Location, reference: Location | None) -> LastFailures:
        """Return those of a model and a reference, by location; None stands for the one that is found."""
        return cls(CacheFile.of("failures", model.text, reference.text if reference else ""))

    def select(self, cases: Sequence[Case]) -> list[Case]:
        """Return the cases that failed when they were last run; all cases if none of them did."""
        names = self._read()
        return [case for case in cases if case.name in names] or list(cases)

    def update(self, report: Report) -> None:
        """Remember which cases of a report fail; those that were not run keep their last outcome."""
        failing = {result.case.name for result in report.results if result.fails}
        not_run = self._read().difference(result.case.name for result in report.results)
        names = sorted(failing | not_run)
        self.file.write(_VERSION, {"cases": names} if names else {})

    def _read(self) -> frozenset[str]:
        names = self.file.read(_VERSION).get("cases")
        return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest:
    """What to check of one model."""

    model: ConfiguredModel
    """The model with its settings."""
    parts: Sequence[Part] = tuple(Part)
    """What to perform."""
    max_failures: int | None = None
    """After how many failing cases `run` stops; None to run all."""
    diagnose: bool = True
    """Whether `run` searches for the cause of failures."""
    thorough: bool = False
    """Whether that search may take much longer."""
    looks_for_reference: bool = True
    """Whether a reference is looked for if none is named; `audit` and `chat` can do without."""
    last_failed: bool = False
    """Whether `run` takes only the cases that failed in the last run, if there are any."""
    update_baseline: bool = False
    """Whether the baseline is not applied, because `update_baselines` rewrites it."""
    options: Mapping[str, object] = field(default_factory=dict)
    """The options to record in the reports."""


def run_model(
    request: CheckRequest,
    on_progress: OnProgress | None = None,
    *,
    reason: str | None = None,
    certificate: Path | None = None,
) -> RunResult:
    """Perform only `run` for one model, and prepare writing its baseline and its certificate if that is asked for.

    Raises:
        TokverifyError: As `verify_model` does, and if there are new failures without a reason.
    """
    opened = _Opened(request)
    report = opened.verify(on_progress)
    files: Mapping[Path, Callable[[], str]] = {}
    if request.update_baseline and request.model.baseline:
        if report.gone:
            raise GoneError(f"{report.gone}; the baseline was not changed")
        report, files = update_baseline(report, request.model.baseline, reason)
    if certificate:
        from tokverify.commands.tasks.report import render_certificate

        text = render_certificate(report, opened.subject, opened.reference)
        files = files if text is None else {**files, certificate: lambda: text}
    return RunResult(report, files)


def check_models(
    requests: Sequence[CheckRequest], on_progress: OnProgress | None = None, *, jobs: int = 1
) -> CheckReport:
    """Check models, one after the other or `jobs` at a time; `on_progress` is called only in the first case.

    The report has a result or a reason for each part. A part that cannot be performed is a failure in it, not an
    exception.
    """
    checks = tuple(_check_each(requests, on_progress, jobs))
    versions = {"tokverify": __version__, **engine_version()}
    for check in checks:
        for part in (check.run, check.audit, check.chat):
            versions |= part.versions if part else {}
    return CheckReport(models=checks, versions=versions)


def _check_each(requests: Sequence[CheckRequest], on_progress: OnProgress | None, jobs: int) -> Iterator[ModelCheck]:
    """Yield the results in the order of the requests."""
    if jobs == 1 or len(requests) == 1:
        yield from (check_model(request, on_progress) for request in requests)
        return
    from tokverify.system.worker_pool import worker_pool

    with worker_pool(min(jobs, len(requests))) as pool:
        futures = [pool.submit(check_model, request, None) for request in requests]
        yield from (future.result() for future in futures)


def update_baselines(
    requests: Sequence[CheckRequest], report: CheckReport, reason: str | None
) -> tuple[CheckReport, Mapping[Path, Callable[[], str]]]:
    """Apply the baselines that accept all failures of a report, and prepare writing them.

    The requests are in the order of the report; several models may have the same baseline. Return the report, and a
    function for the content of each file.

    Raises:
        TokverifyError: If a baseline is not valid, or there are new failures and no reason.
    """
    from tokverify.compare.audit import accept_findings
    from tokverify.compare.baseline_writer import render_baseline

    updated: dict[Path, Baseline] = {}
    models: list[ModelCheck] = []
    for request, model in zip(requests, report.models, strict=True):
        path = request.model.baseline
        if model.run is None or path is None:
            models.append(model)
            continue
        known = updated.get(path) or load_known(path, request.model.waivers, missing_ok=True) or Baseline.load(path)
        known = updated[path] = known.update(model.run, reason, model.audit, model.chat)
        entries = known.entries_for(model.run.actual)
        audit = model.audit and replace(accept_findings(model.audit, entries, known.today), unused_waivers=())
        chat = model.chat and known.apply_to_chat(model.chat)
        models.append(replace(model, run=known.apply(model.run), audit=audit, chat=chat))
    files = {
        path: partial(render_baseline, baseline, path.suffix)
        for path, baseline in updated.items()
        if baseline.entries or path.exists()
    }
    return replace(report, models=tuple(models)), files


def check_model(request: CheckRequest, on_progress: OnProgress | None = None) -> ModelCheck:
    """Check one model."""
    check = ModelCheck(name=request.model.name, source=request.model.model.text, parts=tuple(request.parts))
    opened = _Opened(request)
    steps: Mapping[Part, Callable[[], ModelCheck]] = {
        Part.RUN: lambda: replace(check, run=opened.verify(on_progress)),
        Part.AUDIT: lambda: replace(check, audit=opened.audit()),
        Part.CHAT: lambda: replace(check, chat=opened.chat()),
    }
    for part in request.parts:
        try:
            check = steps[part]()
        except _NothingToCheckError as error:
            check = replace(check, notes=(*check.notes, Note(part, str(error), is_failure=False)))
        except TokverifyError as error:
            check = replace(check, notes=(*check.notes, Note(part, str(error), is_failure=True)))
        except OSError as error:
            # Such as a name that is too long, which already fails when looking for the file.
            reason = f"{error.filename or request.model.model.text}: {error.strerror}; check the path"
            check = replace(check, notes=(*check.notes, Note(part, reason, is_failure=True)))
    return _spare_needed_entries(check)


def _spare_needed_entries(check: ModelCheck) -> ModelCheck:
    """Do not report an entry of the baseline as superfluous in one part if another part needs it."""
    if not (check.run and check.run.baseline and check.audit):
        return check
    in_run = {each.known for each in check.run.differences}
    in_audit = {each.waiver for each in check.audit.waived}
    fixed = tuple(each for each in check.run.baseline.fixed if each not in in_audit)
    # What `run` calls superfluous is said once.
    unused = tuple(each for each in check.audit.unused_waivers if each not in {*in_run, *fixed})
    run = replace(check.run, baseline=replace(check.run.baseline, fixed=fixed))
    return replace(check, run=run, audit=replace(check.audit, unused_waivers=unused))


class _NothingToCheckError(Exception):
    """A part does not apply to a model; the message says why."""


class _Opened:
    """A model and its reference, each opened at most once, and what is performed with them."""

    def __init__(self, request: CheckRequest) -> None:
        self._request = request
        self._configured = request.model
        self._fail_on = FAIL_ON if request.model.fail_on is None else request.model.fail_on

    @cached_property
    def _file(self) -> ModelFile:
        return find_model(self._configured.model)

    @cached_property
    def _model(self) -> OpenedModel:
        opened = open_declaration(self._file)
        try:
            opened.encoder  # noqa: B018 - raises if llama.cpp refuses the file
        except (BrokenFileError, UnsupportedError) as error:
            reference = self._configured.reference
            if reference is None or opened.kind != "gguf" or not Path(reference.text).exists():
                raise
            command = name_files("tokverify fix MODEL -r REFERENCE", self._configured.model.text, None, reference.text)
            raise type(error)(f"{error} (`{command}` may repair it)") from error
        return opened

    @cached_property
    def _is_file(self) -> bool:
        return other_tokenizer(self._configured.model) is None

    @cached_property
    def subject(self) -> OpenedModel | OpenedReference:
        """The tokenizer under test."""
        return self._model if self._is_file else open_subject(self._configured.model)

    @cached_property
    def _cases(self) -> list[Case]:
        configured = self._configured
        cases = select_cases(configured.cases, configured.suites, configured.tags, configured.patterns)
        return self._failures.select(cases) if self._request.last_failed else cases

    @cached_property
    def _known(self) -> Baseline | None:
        configured = self._configured
        return load_known(configured.baseline, configured.waivers, missing_ok=self._request.update_baseline)

    @property
    def _failures(self) -> LastFailures:
        return LastFailures.of(self._configured.model, self._configured.reference)

    @cached_property
    def reference(self) -> OpenedReference | None:
        """The reference; None if cases are compared with what they expect."""
        other = find_other_side(self.subject, self._configured.reference, self._cases)
        return None if isinstance(other, Side) else other

    @property
    def _independent_reference(self) -> OpenedReference | None:
        """The reference, unless it was made from the model itself and so cannot contradict it."""
        if self._configured.reference is None and not self._request.looks_for_reference:
            return None
        return None if self.reference is None or self.reference.is_rebuilt else self.reference

    def verify(self, on_progress: OnProgress | None) -> Report:
        # What a user wrote is read, and mistakes in it reported, before any work is done.
        known, cases = self._known, self._cases
        report = verify_model(
            self.subject,
            self.reference or self._configured.reference,
            cases,
            baseline=None if self._request.update_baseline else known,
            max_failures=self._request.max_failures,
            fail_on=self._fail_on,
            strict=self._configured.strict,
            diagnose=self._request.diagnose,
            thorough=self._request.thorough,
            options=self._request.options,
            on_progress=on_progress,
        )
        self._failures.update(report)
        return report

    def audit(self) -> AuditReport:
        from tokverify.commands.tasks.audit import audit_model

        if not self._is_file or kind_of_model(self._file.path) != "gguf":
            raise _NothingToCheckError("the rules apply to GGUF files only")
        try:
            reference: OpenedReference | Location | None = self._independent_reference
        except (BrokenFileError, UnsupportedError):
            # A file that llama.cpp refuses can still be audited.
            reference = None if names_expected(self._configured.reference) else self._configured.reference
        return audit_model(
            self._file,
            reference,
            select=self._configured.select,
            ignore=self._configured.ignore,
            fail_on=lowest_severity(self._fail_on),
            baseline=self._known,
            options=self._request.options,
        )

    def chat(self) -> ChatReport:
        from tokverify.commands.tasks.chat import chat_severity, check_chat, has_templates

        if not self._is_file:
            raise _NothingToCheckError("only a file has chat templates to check")
        reference = self._independent_reference
        if not has_templates(self._model, reference):
            raise _NothingToCheckError("neither the model nor its reference has a chat template")
        return check_chat(
            self._model,
            reference,
            conversations=self._configured.conversations,
            baseline=self._known,
            fail_on=chat_severity(self._configured.fail_on),
            requires_all=NOT_COMPARED in self._fail_on,
            options=self._request.options,
        )
