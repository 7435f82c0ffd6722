"""`tokverify demo`: the main job on a bundled sample, without files or network."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokverify.cli.options import no_color_option
from tokverify.cli.output import render_options, write_text
from tokverify.diagnosis.repair import with_repairs
from tokverify.render import FORMATS, RenderOptions
from tokverify.report.run import Status
from tokverify.tasks.comparison import verify_model
from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from tokverify.cases.case import Case
    from tokverify.report.run import Report

_SAMPLE = Path(__file__).parents[1] / "sample"
_REFERENCE = "sample.tokenizer.model"
_SHOWN = ("seed/extra-spaces", "tabs/before-word-3")
# The runs that tokens of the sample stand for, and that the twin never finds.
_BROKEN_RUN = re.compile(r" {2}|\t{3}")

_INTACT_TEXT = """\
A small tokenizer, made like Gemma 3's, against the sentencepiece model it was
converted from:

$ cd {directory}
"""
_BROKEN_TEXT = """
Its broken twin: the tokens for runs of spaces and tabs are typed NORMAL instead
of USER_DEFINED, so they are not split off before merging, and the merges never
reach them. A model fed like this answers, only worse:

"""
_SHOWN_TEXT = """
Two of the cases that differ, and why:

"""
_AS_DESIGNED = """
As it should be: the intact sample matches everywhere, the twin differs in
exactly the {count} cases with two spaces or three tabs in a row.

Now try it on a model of your own: tokverify run model.gguf
"""
_NOT_AS_DESIGNED = """
This is not what the sample is made to show in {names}. Please report it.
"""


@click.command()
@no_color_option
def demo(*, no_color: bool) -> int:
    """Show a sample that matches its reference, and a broken one.

    The exit code is 0 if the sample comes out as it is made to.
    """
    from tokverify.cases.loading import load_cases

    cases = load_cases()
    shown = render_options(no_color=no_color)
    verdict_only = RenderOptions(shown.width, shown.color, quiet=True)
    few = [case for case in cases if _name(case) in _SHOWN]
    with chdir(_SAMPLE):
        intact_text = _INTACT_TEXT.format(directory=visible_message(str(_SAMPLE)))
        intact = _run("sample.gguf", cases, intact_text, "-q", verdict_only)
        broken = _run("sample-broken.gguf", cases, _BROKEN_TEXT, "-q", verdict_only)
        _run("sample-broken.gguf", few, _SHOWN_TEXT, " ".join(f"-k {name}" for name in _SHOWN), shown)
    planned = {_name(case) for case in cases if _BROKEN_RUN.search(case.text)}
    unplanned = _failed(intact) | (_failed(broken) ^ planned)
    if unplanned:
        write_text(_NOT_AS_DESIGNED.format(names=", ".join(sorted(unplanned))))
        return 1
    write_text(_AS_DESIGNED.format(count=len(planned)))
    return 0


def _run(name: str, cases: Sequence[Case], text: str, arguments: str, options: RenderOptions) -> Report:
    """Do what the command shown would do, on these cases."""
    report = verify_model(Path(name), _REFERENCE, cases, diagnose=not options.quiet)
    command = f"$ tokverify run {name} -r {_REFERENCE} {arguments}\n"
    report = with_repairs(replace(report, options={"model": name, "reference": _REFERENCE}))
    write_text(text + command + FORMATS["table"](report, options))
    return report


def _failed(report: Report) -> set[str]:
    return {_name(result.case) for result in report.results if result.status is not Status.MATCH}


def _name(case: Case) -> str:
    return f"{case.suite}/{case.id}"
