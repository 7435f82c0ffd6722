"""Prevent GitHub Actions from executing commands in the output of a job.

Its runner searches every line of a log for commands: `::name::` at the start of a line or after leading whitespace, and
`##[name]` anywhere (see `ActionCommand` in the runner's source). Tokens and files can contain such text. It is changed
as little as possible, in a way that JSON decodes to the original. The alternative, `::stop-commands::`, would add lines
to output that may be piped to another program.
"""

from __future__ import annotations

import os
import re

_FIRST_COLON = re.compile(r"((?:^|[\r\n])[^\S\r\n]*):(?=:)")


def in_workflow() -> bool:
    """Check whether this process runs in a GitHub Actions job."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def without_commands(text: str) -> str:
    """Escape one character of everything that the runner would execute as a command."""
    return _FIRST_COLON.sub(r"\1\\u003a", text).replace("##[", r"#\u0023[")
