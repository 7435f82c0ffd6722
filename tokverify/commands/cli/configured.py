"""Models that the configuration mentions: found by name or path, with their settings."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from tokverify.commands.cli.build_option import select_build
from tokverify.commands.cli.output import ReportOptions
from tokverify.commands.cli.parameters import narrow
from tokverify.commands.project.configuration import ACCEPTED, Configuration, ConfiguredModel
from tokverify.commands.project.configuration_file import FILE, repository_of, require_own
from tokverify.commands.project.configuration_reader import find_configuration
from tokverify.engine.build import VARIABLE
from tokverify.location import Location
from tokverify.sources.location import find_existing
from tokverify.sources.stores.location import find_models, locate
from tokverify.system.input_file import relative_path

_Options = TypeVar("_Options", bound=ReportOptions)
_SETTINGS = tuple(each.name for each in fields(ConfiguredModel) if each.name not in {"name", "model"})
"""What can be configured for a model; the options of commands have the same names."""


def find_configured(model: Path | str | Location, *, allow_outside: bool = False) -> ConfiguredModel | None:
    """Return the configured model with this path, or with this name if there is no such file; None if there is none.

    Raises:
        TokverifyError: If the configuration is not valid.
    """
    configuration = _find_configuration(allow_outside=allow_outside)
    return _select_model(configuration, locate(model)) if configuration else None


def choose_models(
    models: Sequence[Path | str], *, allow_outside: bool = False, accepts: bool = False
) -> tuple[Sequence[ConfiguredModel], Configuration | None]:
    """Return the models that a command works on, with their settings, and the configuration.

    `models` are paths, patterns, or names of configured models; if there are none, all configured models are meant. If
    the command `accepts` what fails, it is about to write the baseline, which then need not exist.

    Raises:
        UsageError: If none is named and none is configured.
        TokverifyError: If the configuration is not valid, or a file is missing.
    """
    configuration = _find_configuration(allow_outside=allow_outside)
    chosen: Sequence[ConfiguredModel]
    if models:
        chosen = [_find_model(configuration, name, model) for name, model in find_models(map(locate, models)).items()]
    elif configuration:
        chosen = configuration.models
    else:
        raise click.UsageError(f"name a MODEL, or configure models in {FILE}; `tokverify init` creates that file")
    accepted = _find_accepted(configuration, allow_outside=allow_outside, accepts=accepts)
    return [replace(model, baseline=model.baseline or accepted) for model in chosen], configuration


def choose_model(model: Path | str, *, allow_outside: bool = False) -> ConfiguredModel:
    """Return the only model that a command works on, with its settings; a directory is one tokenizer.

    Raises:
        TokverifyError: If the configuration is not valid.
    """
    configuration = _find_configuration(allow_outside=allow_outside)
    chosen = _find_model(configuration, Path(model).stem, locate(model))
    return replace(chosen, baseline=chosen.baseline or _find_accepted(configuration, allow_outside=allow_outside))


def _find_accepted(
    configuration: Configuration | None, *, allow_outside: bool = False, accepts: bool = False
) -> Path | None:
    """Return the baseline that is used if none is named; None if it need not exist and does not."""
    accepted = Path(relative_path(configuration.source.parent / ACCEPTED)) if configuration else Path(ACCEPTED)
    if not accepts and not accepted.is_file():
        return None
    if not allow_outside:
        require_own(accepted, repository_of(accepted))
    return accepted


def _find_configuration(*, allow_outside: bool) -> Configuration | None:
    """Return the configuration, and let the encoder equal the build that it names, unless the user names one."""
    configuration = find_configuration(Path.cwd(), allow_outside=allow_outside)
    if configuration and configuration.llama_cpp and not os.environ.get(VARIABLE):
        select_build(click.get_current_context(), configuration.llama_cpp)
    return configuration


def _find_model(configuration: Configuration | None, name: str, model: Location) -> ConfiguredModel:
    found = _select_model(configuration, model) if configuration else None
    return found or ConfiguredModel(name=name, model=model)


def _select_model(configuration: Configuration, model: Location) -> ConfiguredModel | None:
    if find_existing(model.text):
        return next((each for each in configuration.models if _is_same(each.model.text, model.text)), None)
    return next((each for each in configuration.models if model.text in {each.name, each.model.text}), None)


def _is_same(first: str, second: str) -> bool:
    path = find_existing(first)
    return path is not None and path.samefile(second)


def override_settings(model: ConfiguredModel, given: Mapping[str, Any]) -> ConfiguredModel:
    """Return a model with the options that were given instead of its configured settings."""
    settings = {name: given[name] for name in _SETTINGS if name in given and not _is_unset(name, given[name])}
    if "reference" in settings:
        settings["reference"] = locate(settings["reference"])
    return replace(model, **settings)


def merge_options(kind: type[_Options], given: Mapping[str, Any], model: ConfiguredModel) -> _Options:
    """Return the options of a command for one model: those that were given, and otherwise the configured ones.

    Those in `kind` that can be configured have the names of the settings.
    """
    merged = override_settings(model, given)
    settings = {each.name: getattr(merged, each.name) for each in fields(ConfiguredModel)}
    return narrow(kind, {**given, **settings})


def _is_unset(name: str, value: object) -> bool:
    # subtle: an empty `fail_on` is what `--fail-on none` asks for.
    return value is None or value is False or (value == () and name != "fail_on")
