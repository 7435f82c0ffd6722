"""Parse the output for CI systems as they do."""

import re

FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff\ufffe\uffff]")


def check_visible(text: str) -> None:
    assert not FORBIDDEN.search(text)
    text.encode()


def unescape(text: str, *more: str) -> str:
    for character in ("\r", "\n", *more, "%"):
        text = text.replace(f"%{ord(character):02X}", character)
    return text


def runner_reads(line: str) -> tuple[str, dict[str, str], str]:
    """Parse a workflow command as GitHub's runner does."""
    assert line.startswith("::")
    end = line.index("::", 2)
    command, _, properties = line[2:end].partition(" ")
    pairs = (pair.split("=", 1) for pair in properties.split(","))
    unescaped = {name: unescape(value, ":", ",") for name, value in pairs}
    return command, unescaped, unescape(line[end + 2 :])
