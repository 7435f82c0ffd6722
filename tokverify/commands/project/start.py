"""Write the configuration and the workflow that fit the contents of a repository."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tokverify.case import SHIPPED, SuiteSource, name_of_source

_WORKFLOW = """\
# Checks the tokenizers that tokverify.toml names. A model that is not in the repository must be fetched in a step
# before the last one; only the head of a GGUF file is read, so its first part is enough.
name: tokverify

on:
  push:
  pull_request:

permissions:
  contents: read

jobs:
  tokverify:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        with:
          persist-credentials: false{checkout}
      - uses: actions/setup-python@5fda3b95a4ea91299a34e894583c3862153e4b97 # v7.0.0
        with:
          python-version: "3.12"
      - run: {install}
      - run: tokverify check --report github=-{place}
"""


@dataclass(frozen=True, slots=True)
class Start:
    """The contents of a directory that matter to tokverify, as paths relative to it."""

    models: Sequence[tuple[Path, Path | None]]
    """Each model with its reference, or None if `tokverify run` has to look for one."""
    suites: Sequence[Path]
    """Suites, and directories that contain nothing else."""
    left_out: str = ""
    """Why the shipped suites are not verified in addition; empty if they are."""
    root: Path = Path()
    """The root of the repository, where workflows belong."""
    below: Path = Path()
    """The path of the directory from that root."""
    uses_lfs: bool = False
    """Whether a checkout has to fetch files from Git LFS."""
    uses_submodules: bool = False
    """Whether a checkout has to include submodules."""


def render_configuration(start: Start) -> str:
    """Write a tokverify.toml."""
    lines = [
        "# What `tokverify check` checks in this repository. All keys: tokverify's docs/configuration.md.",
        "",
    ]
    for (model, reference), name in zip(start.models, _names([model for model, _ in start.models]), strict=True):
        lines += ["[[models]]", f"name = {_quoted(name)}", f"model = {_quoted(model.as_posix())}"]
        if reference:
            lines.append(f"reference = {_quoted(reference.as_posix())}")
        else:
            lines.append('# reference = "org/name"  # without one it is looked for; name it, to be sure of it')
        if start.suites:
            sources: list[SuiteSource] = [*([] if start.left_out else [SHIPPED]), *start.suites]
            lines.append(f"cases = [{', '.join(_quoted(name_of_source(source)) for source in sources)}]")
        lines.append("")
    return "\n".join(lines)


def render_workflow(start: Start, install: str) -> str:
    """Write a GitHub workflow that installs tokverify with a command, and checks the tokenizers on every change."""
    fetched = {"lfs": start.uses_lfs, "submodules": start.uses_submodules}
    options = "".join(f"\n          {name}: true" for name, used in fetched.items() if used)
    below = start.below.as_posix()
    return _WORKFLOW.format(
        checkout=options,
        install=_to_yaml(install),
        place="" if below == "." else f"\n        working-directory: {_quoted(below)}",
    )


def _to_yaml(command: str) -> str:
    """Write a command as a YAML scalar; a JSON string is one."""
    is_plain = re.fullmatch(r"[\w ./@+*='-]+", command) is not None
    return command if is_plain else json.dumps(command, ensure_ascii=False)


def _names(models: Sequence[Path]) -> list[str]:
    """Name models after their files, or after their paths if two files have the same name."""
    stems = [re.sub(r"[^\w.+-]+", "-", model.stem) for model in models]
    if len(set(stems)) == len(stems):
        return stems
    return [re.sub(r"[^\w.+-]+", "-", model.with_suffix("").as_posix()) for model in models]


def _quoted(text: str) -> str:
    """Write a TOML string; JSON strings are valid in TOML, except for U+007F."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
