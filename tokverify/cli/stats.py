"""`tokverify stats`: how many tokens a tokenizer makes of texts of many kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tokverify.cli.options import PATH, json_option, no_color_option
from tokverify.cli.output import render_options, write_text
from tokverify.cli.progress import ProgressBar

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@click.command()
@click.argument("model")
@click.argument("files", nargs=-1, type=PATH, metavar="[FILE]...")
@click.option("-m", "--model", "others", multiple=True, metavar="OTHER", help="Another tokenizer to put beside MODEL.")
@json_option
@no_color_option
def stats(*, model: str, files: Sequence[Path], others: Sequence[str], as_json: bool, no_color: bool) -> int:
    """Measure how many tokens MODEL makes of the texts in FILEs.

    MODEL and OTHER are GGUF files, or anything that `tokverify run -r` takes.

    Without a FILE, the texts are samples that come with tokverify: one text in ten languages, one program in six,
    numbers, and white space. Of a FILE the suffix tells the programming language, and the letters in its lines the
    script. How numbers, indentation and the end of a prompt are encoded is told in any case.

    The exit code is 0, or 1 if a tokenizer cannot encode one of the texts.
    """
    from tokverify.stats.measure import measure
    from tokverify.stats.subject import open_subjects

    subjects = open_subjects([model, *others])
    with ProgressBar(wanted=bool(files), what="bytes") as progress:
        measured = measure(subjects, files, on_progress=progress.update)
    if as_json:
        from tokverify.formats.stats import render_json

        write_text(render_json(measured))
        return measured.exit_code
    from tokverify.formats.stats_table import render

    write_text(render(measured, render_options(no_color=no_color)))
    return measured.exit_code
