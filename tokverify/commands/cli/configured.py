"""Models that the configuration mentions: found by name or path, with their settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokverify.commands.project.configuration import Configuration, ConfiguredModel
from tokverify.commands.project.configuration_reader import find_configuration


def find_configured(model: Path | str, *, allow_outside: bool = False) -> ConfiguredModel | None:
    """Return the configured model with this path, or with this name if there is no such file; None if there is none.

    Raises:
        TokverifyError: If the configuration is not valid.
    """
    configuration = find_configuration(Path.cwd(), allow_outside=allow_outside)
    return select_model(configuration, model) if configuration else None


def select_model(configuration: Configuration, model: Path | str) -> ConfiguredModel | None:
    """Return the model of a configuration with this path or location, or with this name if there is no such file."""
    if isinstance(model, Path) and model.exists():
        return next((each for each in configuration.models if _is_same(Path(each.model), model)), None)
    return next((each for each in configuration.models if str(model) in {each.name, str(each.model)}), None)


def _is_same(first: Path, second: Path) -> bool:
    return first.exists() and first.samefile(second)


def fill_in_settings(given: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return options in which `model` is a path, and what was not given is as configured for that model.

    Args:
        given: The options; `model` is a path or the name of a configured model.
        names: The options that a configuration can set, by their names there.
    """
    configured = find_configured(given["model"], allow_outside=bool(given.get("allow_outside")))
    if configured is None:
        return dict(given)
    settings = {name: getattr(configured, name) for name in names if _is_unset(name, given.get(name))}
    return {**given, **settings, "model": configured.model}


def _is_unset(name: str, value: object) -> bool:
    # subtle: an empty `fail_on` is what `--fail-on none` asks for.
    return value is None or value is False or (value == () and name != "fail_on")
