"""Extract commands from tokverify's output, like a person who pastes them into a shell."""

import re
import shlex

HOSTILE = 'it\'s $(a); `b` ~"c" [red] 日本'


def from_table(text: str, label: str) -> list[str]:
    """Extract a command from a table, and split it as a shell would."""
    command = re.search(rf"{label}(.*(?<!\\))$", text.replace("\\\n", "\\"), re.MULTILINE)
    assert command, text
    return shlex.split(re.sub(r"\\ +", "", command[1]))


def from_markdown(text: str) -> list[str]:
    """Extract a command from a code span, which is delimited by more backticks than it contains."""
    return shlex.split(re.search(r"repair: (`+) ?(.*?) ?\1(;|$)", text, re.MULTILINE)[2])
