"""`tokverify demo`: verify a bundled sample, without files or network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tokverify.commands.cli.options import no_color_option, quiet_option
from tokverify.commands.cli.parameters import named
from tokverify.commands.cli.progress import StatusLine
from tokverify.commands.cli.stream import render_options, write_message, write_text
from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions
from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from tokverify.report.run import Report

_INTACT_TEXT = """\
A small tokenizer, built like Gemma 3's, compared with the tokenizer.json of
HuggingFace that belongs to it:

$ cd {directory}
"""
_BROKEN_TEXT = """
Its broken twin: the tokens for runs of spaces and tabs have type NORMAL instead
of USER_DEFINED, so they are not matched before merging, and the merges never
produce them. A model with this tokenizer still answers, only worse:

"""
_DETAIL_TEXT = """
Two of the cases that fail, and why:

"""
_AS_PLANNED = """
This is correct: the intact sample matches in every case, and its twin fails in
exactly the {count} cases with two spaces or three tabs in a row.

Now try it with your own model: tokverify run model.gguf
"""
_NOT_AS_PLANNED = """
These cases did not turn out as planned: {names}. Please report this.
"""


@click.command()
@named(quiet=quiet_option(), no_color=no_color_option())
def demo(*, quiet: bool, no_color: bool) -> int:
    """Verify a sample that matches its reference, and a broken one.

    The exit code is 0 if both give the intended result, otherwise 1.
    """
    from tokverify.commands.tasks.demo import SAMPLE_DIRECTORY, SHOWN_CASES, run_demo

    with StatusLine(enabled=not quiet) as line:
        line.show("verifying both samples")
        result = run_demo()
    options = render_options(no_color=no_color)
    verdict_only = RenderOptions(options.width, options.color, quiet=True)
    if quiet:
        for report in (result.intact, result.broken):
            write_text(FORMATS["run"]["table"](report, verdict_only))
    else:
        write_text(_INTACT_TEXT.format(directory=visible_message(str(SAMPLE_DIRECTORY))))
        _write(result.intact, ["-q"], verdict_only)
        write_text(_BROKEN_TEXT)
        _write(result.broken, ["-q"], verdict_only)
        write_text(_DETAIL_TEXT)
        _write(result.detail, [f"-k {name}" for name in SHOWN_CASES], options)
    if result.unplanned:
        write_message(_NOT_AS_PLANNED.format(names=", ".join(sorted(result.unplanned))))
        return 1
    if not quiet:
        write_text(_AS_PLANNED.format(count=len(result.planned)))
    return 0


def _write(report: Report, selection: Sequence[str], options: RenderOptions) -> None:
    """Write the equivalent command, and the report."""
    from tokverify.render.layout import draw_command

    command = ["tokverify", "run", str(report.options["model"]), f"-r {report.options['reference']}", *selection]
    write_text(draw_command(command, options))
    write_text(FORMATS["run"]["table"](report, options))
