"""The command line: one thin module per command, and no logic."""

from __future__ import annotations

import click

from tokverify import __version__
from tokverify.cli.group import TokverifyGroup

_COMMANDS = (
    "run",
    "init",
    "demo",
    "fuzz",
    "diff",
    "explain",
    "audit",
    "inspect",
    "stats",
    "fix",
    "chat",
    "convert",
    "train",
    "encode",
    "decode",
    "cases",
    "report",
)
"""The commands in the order a user meets them in; each is the function of this name in the module of this name."""

_EPILOG = """\
Exit codes: 0 all cases match and nothing is found, 1 a case does not match or there is a finding, 2 the command
could not run as asked, 3 a bug in tokverify, 130 interrupted.

Shell completion: eval "$(_TOKVERIFY_COMPLETE=bash_source tokverify)", also with zsh_source, or for fish:
_TOKVERIFY_COMPLETE=fish_source tokverify | source
"""


@click.group(
    cls=TokverifyGroup,
    modules={name: f"{__name__}.{name}" for name in _COMMANDS},
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="tokverify")
def main() -> None:
    """Prove that a GGUF file's tokenizer agrees with the tokenizer its model was trained with."""
