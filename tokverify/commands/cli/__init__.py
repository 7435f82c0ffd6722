"""Parse command lines, call tasks, and present the results: one module per command, no logic."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import chain

import click

from tokverify.commands.cli.group import TokverifyGroup
from tokverify.engine.engine_choice import ENGINES, VARIABLE, available_engine
from tokverify.version import __version__

_TASKS: Mapping[str, Mapping[str, str]] = {
    "Verify": {
        "run": "Verify the tokenizer in the file MODEL against its reference.",
        "check": "Check cases, static rules and chat templates: one verdict.",
        "diff": "Compare two tokenizers, such as an old one A and a new one B.",
        "fuzz": "Search for texts that two tokenizers encode differently.",
        "corpus": "Compare a model and its reference on a training corpus.",
        "chat": "Check the chat templates of MODEL on a set of conversations.",
    },
    "Look": {
        "explain": "Explain how a text becomes tokens, stage by stage.",
        "inspect": "Show MODEL's sizes, token types, special tokens and settings.",
        "view": "Compare two tokenizers in the browser while you type.",
    },
    "Repair and make": {
        "fix": "Write a copy of MODEL that agrees with its reference.",
        "convert": "Convert a tokenizer file into another format, and verify it.",
        "train": "Train a tokenizer, and verify its GGUF file.",
    },
    "Set up": {
        "init": "Set up a repository: tokverify.toml and a GitHub workflow.",
        "cases": "List cases, check suites, or record what they expect.",
        "report": "Show a saved report in any format, or compare two.",
        "demo": "Verify a sample that matches its reference, and a broken one.",
    },
}
"""Task -> its commands with their summaries, so that `--help` need not import them.

Each command is a function of this name, in a module of this name or the one in `_MODULES`.
"""

_SCRIPTS = ("encode", "decode")
"""Commands for scripts, which `--help` leaves out: for people, `explain` shows the same and more."""

_OLD = ("audit", "stream", "versions", "conformance", "canonical", "stats", "learn")
"""Commands of the previous version, which are options of others now. `renamed.old_command` marks them."""

_COMMANDS = (*chain.from_iterable(_TASKS.values()), *_SCRIPTS, *_OLD)

_MODULES = {
    **dict.fromkeys(("audit", "stream", "versions", "conformance"), "forms"),
    "canonical": "corpus",
    "decode": "encode",
    "learn": "convert",
    "stats": "inspect",
}
"""Commands that are in the module of another one, or in one for several."""

_EPILOG = """\
\b
Exit codes:
  0    everything compared agrees, is accepted, or is a proven limit
  1    a case or another difference fails, or there is a finding
  2    the command could not run as requested
  3    a bug in tokverify
  130  interrupted

\b
Shell completion:
  bash  eval "$(_TOKVERIFY_COMPLETE=bash_source tokverify)"
  zsh   eval "$(_TOKVERIFY_COMPLETE=zsh_source tokverify)"
  fish  _TOKVERIFY_COMPLETE=fish_source tokverify | source
"""


def _set_engine(_ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    """Select the engine for this process and those it starts."""
    if value is not None:
        os.environ[VARIABLE] = value


def _show_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    """Show the version and the engine, and why it is not the native one."""
    if not value or ctx.resilient_parsing:
        return
    engine = available_engine()
    reason = f": {engine.reason}" if engine.reason else ""
    click.echo(f"tokverify, version {__version__} ({engine.name} engine{reason})")
    ctx.exit()


@click.group(
    cls=TokverifyGroup,
    modules={name: f"{__name__}.{_MODULES.get(name, name)}" for name in _COMMANDS},
    tasks=_TASKS,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    callback=_set_engine,
    expose_value=False,
    is_eager=True,
    help=f"Encode with this engine; all give the same ids (default: auto, or the variable {VARIABLE}).",
)
@click.option(
    "--version",
    is_flag=True,
    callback=_show_version,
    expose_value=False,
    is_eager=True,
    help="Show the version and the engine, and exit.",
)
def main() -> None:
    """Prove that a GGUF file's tokenizer agrees with the tokenizer its model was trained with."""
