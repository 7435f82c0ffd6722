"""Keep GitHub Actions from obeying what a job only shows: its runner reads every line of a log for commands.

It takes `::name::` at the start of a line for one, after white space, and `##[name]` anywhere; see `ActionCommand` in
the runner's source. What is at fault here is the text of a token or a file, so it is changed as little as possible, in
a way that JSON reads back unchanged. The other way, `::stop-commands::`, would add lines to what may be piped on.
"""

from __future__ import annotations

import os
import re

_FIRST_COLON = re.compile(r"((?:^|[\r\n])[^\S\r\n]*):(?=:)")


def in_workflow() -> bool:
    """Tell whether this is a job of GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def without_commands(text: str) -> str:
    """Return lines of which the runner obeys none: of what makes one a command, a character is escaped."""
    return _FIRST_COLON.sub(r"\1\\u003a", text).replace("##[", r"#\u0023[")
