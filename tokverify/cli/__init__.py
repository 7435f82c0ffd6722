"""Parse command lines, call tasks, and present the results: one module per command, no logic."""

from __future__ import annotations

import click

from tokverify.cli.group import TokverifyGroup
from tokverify.version import __version__

_COMMANDS = (
    "run",
    "check",
    "init",
    "demo",
    "fuzz",
    "diff",
    "view",
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
"""The commands in the order a new user needs them. Each is a function of this name in a module of this name."""

_EPILOG = """\
\b
Exit codes:
  0    everything matches or is a known failure
  1    a case fails, or there is a finding
  2    the command could not run as requested
  3    a bug in tokverify
  130  interrupted

\b
Shell completion:
  bash, zsh  eval "$(_TOKVERIFY_COMPLETE=bash_source tokverify)", or zsh_source
  fish       _TOKVERIFY_COMPLETE=fish_source tokverify | source
"""


@click.group(
    cls=TokverifyGroup,
    modules={name: f"{__name__}.{name}" for name in _COMMANDS},
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="tokverify")
def main() -> None:
    """Prove that a GGUF file's tokenizer agrees with the tokenizer its model was trained with."""
