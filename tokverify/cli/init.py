"""`tokverify init`: write a configuration and a workflow to start from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokverify.cli.options import PATH
from tokverify.cli.output import write_text
from tokverify.errors import TokverifyError
from tokverify.system.output_file import write_files
from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from tokverify.project.starting import Start


@click.command()
@click.argument("directory", type=PATH, default=".")
@click.option("--force", is_flag=True, help="Write over files that are there.")
def init(*, directory: Path, force: bool) -> None:
    """Write a configuration and a workflow for what DIRECTORY holds.

    These are tokverify.toml and a GitHub workflow. After that, `tokverify run` verifies all tokenizers there, here and
    on every change. Nothing that is there is overwritten.
    """
    from tokverify import __version__
    from tokverify.project.starting import CONFIGURATION, WORKFLOW, look_around
    from tokverify.render.start import render_configuration, render_workflow

    if not directory.is_dir():
        raise TokverifyError(f"{directory}: no such directory")
    start = look_around(directory)
    texts = {
        directory / CONFIGURATION: render_configuration(start),
        start.root / WORKFLOW: render_workflow(start, __version__),
    }
    taken = [str(path) for path in texts if path.exists()]
    if taken and not force:
        raise TokverifyError(f"{', '.join(taken)}: already there; move it away, or overwrite it with --force")
    (start.root / WORKFLOW).parent.mkdir(parents=True, exist_ok=True)
    write_files(texts)
    written = " and ".join(str(_plain(path)) for path in texts)
    where = "" if directory == Path() else f", in {directory}"
    told = [*_told(start), f"wrote {written}; now run{where}: tokverify run"]
    write_text("".join(f"{visible_message(line)}\n" for line in told))


def _plain(path: Path) -> Path:
    """Leave `..` out of the path of a file, unless that leads elsewhere, as behind a link."""
    plain = Path(os.path.normpath(path))
    return plain if plain.exists() and plain.samefile(path) else path


def _told(start: Start) -> list[str]:
    models = [
        f"{model} against {reference or 'a reference that will be looked for; better name one'}"
        for model, reference in start.models
    ]
    shipped = "those that come with tokverify"
    own = f"those in {', '.join(map(str, start.suites))}"
    if start.left_out:
        cases = f"{own}, and not {shipped}: {start.left_out}"
    else:
        cases = f"{shipped}, and {own}" if start.suites else shipped
    return [*models, f"cases: {cases}"]
