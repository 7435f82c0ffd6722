"""The option and the setting that select the build of llama.cpp that the encoder equals."""

from __future__ import annotations

import os
from functools import partial

import click

from tokverify.commands.cli.parameters import option
from tokverify.engine.build import VARIABLE, parse_build


def _set_build(ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    if value is not None:
        select_build(ctx, value)
    return value


def select_build(ctx: click.Context, build: str) -> None:
    """Let the encoder equal this build of llama.cpp during a command, also in processes that the command starts.

    Raises:
        TokverifyError: If it is not written like a build.
    """
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = f"b{parse_build(build)}"
    ctx.call_on_close(partial(_restore, before))


def _restore(before: str | None) -> None:
    if before is None:
        del os.environ[VARIABLE]
    else:
        os.environ[VARIABLE] = before


llama_cpp_option = partial(
    option,
    "--llama-cpp",
    metavar="BUILD",
    callback=_set_build,
    is_eager=True,
    recorded=False,
    help="Encode MODEL as this build does, such as b9190 or ollama-0.32.8 (default: the newest known one, or the "
    f"variable {VARIABLE}).",
)
