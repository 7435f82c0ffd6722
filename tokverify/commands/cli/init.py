"""`tokverify init`: write a first configuration and a workflow."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokverify.commands.cli.locations import PATH
from tokverify.commands.cli.options import force_option
from tokverify.commands.cli.parameters import argument, named
from tokverify.commands.cli.stream import write_message
from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from tokverify.commands.project.installation import Installation
    from tokverify.commands.project.start import Start


@click.command()
@named(directory=argument(type=PATH, default="."), force=force_option())
def init(*, directory: Path, force: bool) -> None:
    """Set up a repository: tokverify.toml and a GitHub workflow.

    After that, `tokverify check` checks all tokenizers in DIRECTORY, both locally and on every change. Existing files
    are not overwritten.
    """
    from tokverify.commands.tasks.init import init_project

    start, files, installation = init_project(directory, force=force)
    written = " and ".join(str(_normalize(path)) for path in files)
    where = "" if directory == Path() else f" in {directory}"
    lines = [*_describe(start), *_describe_preparation(installation)]
    lines.append(f"wrote {written}; next, run `tokverify check`{where}")
    write_message("".join(f"{visible_message(line)}\n" for line in lines))


def _describe_preparation(installation: Installation) -> list[str]:
    """Say what to do before the workflow can install tokverify."""
    notes = [f"note: {note}" for note in installation.notes]
    if not installation.preparation:
        return notes
    return [
        "others cannot reach the place that tokverify was installed from, so the workflow installs it from a wheel in"
        " this repository; make the wheel and commit it:",
        f"$ {installation.preparation}",
        *notes,
    ]


def _normalize(path: Path) -> Path:
    """Remove `..` from the path of a file, unless that leads elsewhere, as after a link."""
    normal = Path(os.path.normpath(path))
    return normal if normal.exists() and normal.samefile(path) else path


def _describe(start: Start) -> list[str]:
    """List the models with their references, and the cases."""
    models = [
        f"{model} against {reference or 'a reference to be detected; naming one is better'}"
        for model, reference in start.models
    ]
    shipped = "those that come with tokverify"
    own = f"those in {', '.join(map(str, start.suites))}"
    if start.left_out:
        cases = f"{own}; {shipped} are left out: {start.left_out}"
    else:
        cases = f"{shipped}, and {own}" if start.suites else shipped
    return [*models, f"cases: {cases}"]
