"""Compare a model with several references, or with one in several versions of the library that loads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tokverify.case import Case
from tokverify.cases.loading import cases_or_shipped
from tokverify.commands.tasks.opening import SubjectSource, open_reference, open_subject
from tokverify.commands.tasks.run import OnProgress, verify_model
from tokverify.compare.opened import OpenedModel, OpenedReference, engine_version
from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.report.tokenizer_difference import FAIL_ON
from tokverify.report.versions import TriedVersion, VersionsReport
from tokverify.tokenizer import DocumentHolding
from tokverify.version import __version__

_ENVIRONMENT = "env"
_TRANSFORMERS = "transformers:"


def compare_library_versions(  # noqa: PLR0913 - the optional ones are keywords
    model: SubjectSource,
    environments: Sequence[str],
    reference: str | None = None,
    cases: Iterable[Case] | None = None,
    *,
    fail_on: Sequence[str] = FAIL_ON,
    options: Mapping[str, object] | None = None,
    on_progress: OnProgress | None = None,
) -> VersionsReport:
    """Compare a model with its reference, as installed and in other environments.

    Args:
        model: The tokenizer under test, as for `verify_model`.
        environments: The packages of each environment, separated by spaces, such as `tokenizers==0.21.0`. They are
            installed into an environment of their own on first use.
        reference: A tokenizer.json, a directory or hub id with one, or `transformers:LOCATION`; by default, the
            reference of the model is looked for.
        cases: The texts to encode; the shipped cases by default.
        fail_on: As for `verify_model`.
        options: The options to record in the report.
        on_progress: Called after each case of each comparison.

    Returns:
        The report. An environment that cannot be created, or cannot load the reference, has an error in it.

    Raises:
        TokverifyError: If the model or its reference cannot be read, or other libraries than `tokenizers` and
            `transformers` load the reference.
    """
    opened = open_subject(model)
    installed = open_reference(opened, reference)
    location = _location_in_environments(installed, reference)
    sources: Mapping[str, OpenedReference | str] = {
        "": installed,
        **{packages: f"env:{packages}:{location}" for packages in environments},
    }
    return _compare_each(opened, sources, cases, fail_on, options, on_progress)


def compare_references(  # noqa: PLR0913 - the optional ones are keywords
    model: SubjectSource,
    references: Sequence[str],
    cases: Iterable[Case] | None = None,
    *,
    fail_on: Sequence[str] = FAIL_ON,
    strict: bool = False,
    options: Mapping[str, object] | None = None,
    on_progress: OnProgress | None = None,
) -> VersionsReport:
    """Compare a model with each of several references, with the options of `verify_model`.

    Among these, `env:PACKAGES` without a location stands for the first other one, or else for the reference that is
    found, as these versions of its library load it. One that cannot be opened has an error in the report.

    Raises:
        TokverifyError: If the model cannot be read, or what `env:PACKAGES` stands for.
    """
    opened = open_subject(model)
    first = next((each for each in references if not _names_only_packages(each)), None)
    sources: dict[str, OpenedReference | str] = {}
    for reference in references:
        if _names_only_packages(reference):
            location = _location_in_environments(open_reference(opened, first), first)
            sources[reference] = f"{reference}:{location}"
        else:
            sources[reference] = reference
    report = _compare_each(opened, sources, cases, fail_on, options, on_progress, strict=strict)
    return replace(report, varies_reference=True)


def _names_only_packages(reference: str) -> bool:
    kind, _, rest = reference.partition(":")
    return kind == _ENVIRONMENT and ":" not in rest


def _compare_each(  # noqa: PLR0913, PLR0917 - those of the two functions above
    opened: OpenedModel | OpenedReference,
    sources: Mapping[str, OpenedReference | str],
    cases: Iterable[Case] | None,
    fail_on: Sequence[str],
    options: Mapping[str, object] | None,
    on_progress: OnProgress | None,
    *,
    strict: bool = False,
) -> VersionsReport:
    """Compare a model with references, given by what the report calls them."""
    texts = cases_or_shipped(cases)

    def try_version(name: str) -> TriedVersion:
        try:
            run = verify_model(opened, sources[name], texts, fail_on=fail_on, strict=strict, on_progress=on_progress)
        except TokverifyError as error:
            return TriedVersion(environment=name, error=str(error))
        return TriedVersion(environment=name, run=run)

    encoder = opened.encoder if isinstance(opened, OpenedModel) else None
    return VersionsReport(
        model=opened.description,
        tried=tuple(map(try_version, sources)),
        options=dict(options or {}),
        versions={"tokverify": __version__, **engine_version(encoder)},
    )


def _location_in_environments(installed: OpenedReference, reference: str | None) -> str:
    """Return what loads the same reference in other environments."""
    if reference and reference.startswith(_TRANSFORMERS):
        return reference
    if installed.path and isinstance(installed.tokenizer, DocumentHolding):
        return str(installed.path)
    raise UnsupportedError(
        f"{installed.description.source}: only a tokenizer.json and {_TRANSFORMERS}LOCATION can be loaded by"
        " other versions of their libraries; name one with -r"
    )
