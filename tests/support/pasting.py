"""Taking commands out of what tokverify prints, as somebody does who pastes them into a shell."""

import re
import shlex

HOSTILE = 'it\'s $(a); `b` ~"c" [red] 日本'


def from_table(text: str, label: str) -> list[str]:
    """Take a command out of a table, as a shell would read it."""
    command = re.search(rf"{label}(.*(?<!\\))$", text.replace("\\\n", "\\"), re.MULTILINE)
    assert command, text
    return shlex.split(re.sub(r"\\ +", "", command[1]))


def from_markdown(text: str) -> list[str]:
    """Take a command out of a code span, which begins and ends with more backticks than are in it."""
    return shlex.split(re.search(r"repair: (`+) ?(.*?) ?\1(;|$)", text, re.MULTILINE)[2])
