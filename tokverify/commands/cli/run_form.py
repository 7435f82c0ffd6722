"""Other questions that `tokverify run` answers, each with a report of its own kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import click

from tokverify.commands.cli.configured import merge_options
from tokverify.commands.cli.options import is_default, name_parameter, reject_unused
from tokverify.commands.project.configuration import ConfiguredModel

_CASES = frozenset({"cases", "suites", "tags", "patterns"})
_ALWAYS = frozenset({"models", "jobs", "allow_outside", "reference"})
"""The parameters that have an effect in every form, besides those of reports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A form of the command."""

    options: tuple[str, ...]
    """The options that ask for it; one is enough."""
    is_asked: Callable[[Mapping[str, Any]], bool]
    """Whether the options of a command line ask for it."""
    takes: frozenset[str]
    """The parameters that have an effect in it besides those of every form."""
    perform: Callable[[Sequence[ConfiguredModel], Mapping[str, Any], int], int]
    """Answers the question about models, given the options and the number of jobs; returns the exit code."""

    def __str__(self) -> str:
        return " or ".join(self.options)


def find_form(given: Mapping[str, Any]) -> Form | None:
    """Return the form that the command line asks for; None for the usual one, which compares with one reference.

    Raises:
        UsageError: If it asks for two, or an option has no effect in the form.
    """
    asked = [form for form in _FORMS if form.is_asked(given)]
    if len(asked) > 1:
        raise click.UsageError(f"use either {asked[0]}, or {asked[1]}")
    if asked:
        reject_unused(str(asked[0]), _ALWAYS | asked[0].takes)
        return asked[0]
    for parameter in click.get_current_context().command.params:
        name = parameter.name or ""
        if name in _FORMS_ONLY and not is_default(name):
            needed = " or ".join(str(form) for form in _FORMS if name in form.takes)
            raise click.UsageError(f"{name_parameter(parameter)} needs {needed}")
    return None


def _apply_rules(models: Sequence[ConfiguredModel], given: Mapping[str, Any], jobs: int) -> int:
    from tokverify.commands.cli.audit import audit_models

    references = given["reference"]
    if given["no_reference"] and references:
        raise click.UsageError("use either -r or --no-reference")
    if given["no_reference"]:
        models = [replace(model, reference=None) for model in models]
    return audit_models(models, {**given, "reference": next(iter(references), None)}, jobs)


def _stream(models: Sequence[ConfiguredModel], given: Mapping[str, Any], _jobs: int) -> int:
    from tokverify.commands.cli.streaming import StreamOptions, stream_model

    model = _only(models, "--streaming")
    reference = _only_reference(given, "--streaming")
    return stream_model(merge_options(StreamOptions, {**given, "reference": reference}, replace(model, reference=None)))


def _judge_engine(models: Sequence[ConfiguredModel], given: Mapping[str, Any], _jobs: int) -> int:
    from tokverify.commands.cli.conformance import TEXTS, ConformanceOptions, check_engine

    model = _only(models, "--judge model")
    reference = _only_reference(given, "--judge model")
    if reference is None:
        raise click.UsageError("--judge model tests an engine; name it with -r")
    count = TEXTS if given["count"] is None else given["count"]
    # What is configured for the model says when it fails, and not when an engine does.
    model = replace(model, fail_on=None)
    return check_engine(merge_options(ConformanceOptions, {**given, "reference": reference, "count": count}, model))


def _compare_references(models: Sequence[ConfiguredModel], given: Mapping[str, Any], _jobs: int) -> int:
    from tokverify.commands.cli.versions import MatrixOptions, compare_references

    model = _only(models, "several references")
    return compare_references(merge_options(MatrixOptions, {**given, "references": given["reference"]}, model))


def _only(models: Sequence[ConfiguredModel], what: str) -> ConfiguredModel:
    if len(models) != 1:
        raise click.UsageError(f"{what} works with one MODEL; run each model by itself")
    return models[0]


def _only_reference(given: Mapping[str, Any], what: str) -> str | None:
    if len(given["reference"]) > 1:
        raise click.UsageError(f"{what} works with one reference; run each by itself")
    return next(iter(given["reference"]), None)


_FORMS = (
    Form(
        options=("--no-reference", "--select"),
        is_asked=lambda given: given["no_reference"] or bool(given["select"]),
        takes=frozenset({"no_reference", "select", "ignore", "baseline", "waivers", "fail_on"}),
        perform=_apply_rules,
    ),
    Form(
        options=("--streaming",),
        is_asked=lambda given: given["streaming"],
        takes=_CASES | {"streaming", "resume"},
        perform=_stream,
    ),
    Form(
        options=("--judge model",),
        is_asked=lambda given: given["judge"] is not None,
        takes=frozenset({"judge", "count", "seed", "fail_on"}),
        perform=_judge_engine,
    ),
    Form(
        options=("several references",),
        is_asked=lambda given: len(given["reference"]) > 1,
        takes=_CASES | {"fail_on", "strict"},
        perform=_compare_references,
    ),
)
_FORMS_ONLY = frozenset({"ignore", "waivers", "resume", "count", "seed"})
"""The parameters without an effect in the usual form."""
