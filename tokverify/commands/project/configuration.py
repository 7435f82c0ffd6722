"""What a repository configures: the tokenizers it verifies, and with which options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tokverify.case import SHIPPED, SuiteSource, is_shipped
from tokverify.location import Location, Typed
from tokverify.report.tokenizer_difference import parse_fail_on
from tokverify.sources.stores.location import is_stored
from tokverify.system.input_file import relative_path

ACCEPTED = "tokverify-accepted.yaml"
"""The baseline beside a configuration, or in the working directory, that is used if none is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredModel:
    """One tokenizer to verify, with the options of `tokverify run`. Paths are relative to the working directory."""

    name: str
    """The name for reports; unique within a configuration."""
    model: Location
    """The tokenizer file, or a name such as `hf:org/name`."""
    reference: Location | None = None
    """The location of the reference; None to look for one."""
    cases: tuple[SuiteSource, ...] = ()
    """Suites; if empty, the shipped ones."""
    suites: tuple[str, ...] = ()
    """Names of suites to select."""
    tags: tuple[str, ...] = ()
    """Tags to select."""
    patterns: tuple[str, ...] = ()
    """Patterns of case ids to select."""
    baseline: Path | None = None
    """The file of known differences."""
    fail_on: tuple[str, ...] | None = None
    """What fails besides failing cases; None for the default."""
    strict: bool = False
    """Whether cases fail even if limits of llama.cpp explain them."""
    select: tuple[str, ...] = ()
    """Beginnings of the codes of the rules to apply; all by default."""
    ignore: tuple[str, ...] = ()
    """Beginnings of the codes of rules to leave out."""
    waivers: Path | None = None
    """Another such file; the old name for entries that accept findings of rules."""
    conversations: Path | None = None
    """The conversations to render; those that come with tokverify by default."""


def configure_model(  # noqa: PLR0913 - the keys of a configured model
    root: Path,
    model: str,
    *,
    reference: str | None = None,
    cases: Sequence[str] = (),
    suites: Sequence[str] = (),
    tags: Sequence[str] = (),
    patterns: Sequence[str] = (),
    baseline: str | None = None,
    fail_on: Sequence[str] | None = None,
) -> ConfiguredModel:
    """Configure a model with paths relative to `root`.

    Raises:
        TokverifyError: If a name in `cases` could mean the shipped suites or a path, or one in `fail_on` is unknown.
    """

    def relative(path: str) -> Path:
        return Path(relative_path(root / path))

    return ConfiguredModel(
        name=Path(model).stem,
        model=Typed(model if is_stored(model) else str(relative(model))),
        reference=None
        if reference is None
        else Typed(relative_path(root / reference) if (root / reference).exists() else reference),
        cases=tuple(SHIPPED if is_shipped(name, root) else relative(name) for name in cases),
        suites=tuple(suites),
        tags=tuple(tags),
        patterns=tuple(patterns),
        baseline=None if baseline is None else relative(baseline),
        fail_on=None if fail_on is None else parse_fail_on(fail_on),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The configuration of a repository."""

    source: Path
    """The file it was read from."""
    models: tuple[ConfiguredModel, ...]
    """The tokenizers to verify."""
    reports: tuple[str, ...] = ()
    """Reports to write, as `FORMAT=FILE`; `{name}` is replaced with the name of a model."""
    jobs: int = 1
    """The number of models to verify at a time."""
    llama_cpp: str = ""
    """The build of llama.cpp that encodes, such as `b9190`; empty for the newest known one."""
