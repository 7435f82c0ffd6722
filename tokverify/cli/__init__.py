"""The command line: one thin module per command, and no logic."""

from __future__ import annotations

import click

from tokverify import __version__
from tokverify.cli.audit import audit
from tokverify.cli.cases import cases
from tokverify.cli.chat import chat
from tokverify.cli.convert import convert
from tokverify.cli.decode import decode
from tokverify.cli.demo import demo
from tokverify.cli.diff import diff
from tokverify.cli.encode import encode
from tokverify.cli.explain import explain
from tokverify.cli.fix import fix
from tokverify.cli.fuzz import fuzz
from tokverify.cli.group import TokverifyGroup
from tokverify.cli.init import init
from tokverify.cli.inspect import inspect
from tokverify.cli.report import report
from tokverify.cli.run import run
from tokverify.cli.stats import stats
from tokverify.cli.train import train

_EPILOG = """\
Exit codes: 0 all cases match and nothing is found, 1 a case does not match or there is a finding, 2 the command
could not run as asked, 3 a bug in tokverify, 130 interrupted.

Shell completion: eval "$(_TOKVERIFY_COMPLETE=bash_source tokverify)", also with zsh_source, or for fish:
_TOKVERIFY_COMPLETE=fish_source tokverify | source
"""


@click.group(cls=TokverifyGroup, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tokverify")
def main() -> None:
    """Prove that a GGUF file's tokenizer agrees with the tokenizer its model was trained with."""


for command in (
    run,
    init,
    demo,
    fuzz,
    diff,
    explain,
    audit,
    inspect,
    stats,
    fix,
    chat,
    convert,
    train,
    encode,
    decode,
    cases,
    report,
):
    main.add_command(command)
