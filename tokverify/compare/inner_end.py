"""Tokens with the role of EOT or EOM that are proven to end no turn, since they stand before or inside an answer.

llama.cpp ends a generation at them, so no answer is complete. A chat template proves it of the tokens that it writes
around the name of a role: what follows a role, or comes right before it, belongs to the header of a message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from tokverify.compare.marker import ANY, looks_like_end, read_template
from tokverify.engine.family import Settings
from tokverify.engine.special_text import ALWAYS_SHOWN_TEXTS, EOG_TEXTS

_ROLES = ("eot", "eom")
_OTHER, _ROLE, _VALUE = "\ue000", "\ue001", "\ue002"
"""What stands in a layout for another branch of the template, the role of a message, and any other value."""
# subtle: one that does not end goes to the end of the text, or each quote in it would begin another search.
_LITERAL = re.compile(r"""'((?:[^'\\]|\\.|\\\Z)*+)(?:'|\Z)|"((?:[^"\\]|\\.|\\\Z)*+)(?:"|\Z)""", re.DOTALL)
_SUBSCRIPT = re.compile(r"\[\s*['\"](\w+)['\"]\s*\]")
_ROLE_VALUE = re.compile(r"[\s+~(]*[\w.]*\brole(?:\s*\|\s*\w+)*[\s+~)]*")
_JOINED = re.compile(r"[\s+~()-]*")
_SET = re.compile(r"set\s+\w+\s*=")
_NAMED_MARKER = re.compile(rf"({ANY.pattern})([a-z_]*)\Z")
"""A marker at the end of a text, with a name such as that of a channel."""
_HEADER = re.compile(rf"(?:{_ROLE}|[>\]]\s*assistant)\Z")
_BEFORE_ROLE = re.compile(rf"{_ROLE}|(?:assistant|user|system)\b")
_WIDTH, _MOST = 200, 200
"""At most so many characters before a token are looked at, and at most so many of the places where it stands."""


def find_inner_ends(settings: Settings, template: str | None) -> dict[str, int]:
    """Return the roles EOT and EOM, with their tokens, if these are proven to end no turn.

    Args:
        settings: The effective settings of the file.
        template: Its chat template, or that of its reference.
    """
    layout = None
    found: dict[str, int] = {}
    for role in _ROLES:
        id = settings.special_ids.get(role)
        piece = settings.pieces[id] if id is not None else ""
        if id is None or not piece or piece in EOG_TEXTS or looks_like_end(piece):
            continue
        if layout is None:
            layout = _read_layout(template or "")
        places = list(islice(_places(layout, piece), _MOST))
        # A token that also follows a value, such as the content of a message, may be an end.
        follows_value = any(layout[max(0, place - _WIDTH) : place].rstrip().endswith(_VALUE) for place in places)
        is_proven = not follows_value and any(_is_in_header(layout, place, piece) for place in places)
        if piece in ALWAYS_SHOWN_TEXTS or is_proven:
            found[role] = id
    return found


def find_turn_end(settings: Settings, template: str | None, wrong: int) -> int | None:
    """Return the token that must end a generation instead of a wrong one; None if another one does already."""
    markers = read_template(template or "")
    ends = [settings.ids[text] for text in markers.turn_ends if text in settings.ids]
    others = settings.eog_ids - {wrong}
    return None if "eos_token" in markers.template or not others.isdisjoint(ends) else next(iter(ends), None)


def _places(layout: str, piece: str) -> Iterator[int]:
    place = layout.find(piece)
    while place >= 0:
        yield place
        place = layout.find(piece, place + 1)


def _is_in_header(layout: str, place: int, piece: str) -> bool:
    """Whether nothing but markers and their names is between a role and a token, or nothing between it and a role."""
    if _BEFORE_ROLE.match(layout, place + len(piece)):
        return True
    before = layout[max(0, place - _WIDTH) : place].rstrip()
    while not _HEADER.search(before):
        marker = _NAMED_MARKER.search(before)
        if marker is None or marker[1] in EOG_TEXTS or looks_like_end(marker[1]):
            return False
        if "assistant" in marker[1].lower():
            return True
        before = before[: marker.start()].rstrip()
    return True


def _read_layout(template: str) -> str:
    """Return what a template writes, one branch after the other, with `_ROLE` and `_OTHER` for what it does not say."""
    template = read_template(template).template
    parts: list[str] = []
    start = 0
    while (begin := template.find("{", start)) >= 0:
        kind = template[begin + 1 : begin + 2]
        end = template.find("%}" if kind == "%" else "}}", begin + 2) if kind in {"%", "{"} else -1
        if kind in {"%", "{"} and end < 0:
            break
        parts.append(template[start:begin])
        if end < 0:
            parts.append("{")
            start = begin + 1
            continue
        code = template[begin + 2 : end].strip("-+ \n")
        parts.append(_read_expression(code) if kind == "{" else _read_statement(code))
        start = end + 2
    return "".join([*parts, template[start:]])


def _read_statement(code: str) -> str:
    # What is inside of a condition comes right after what is before it; all else is another branch or another message.
    if code.startswith("if"):
        return ""
    assigned = _SET.match(code)
    return f"{_OTHER}{_read_expression(code[assigned.end() :])}{_OTHER}" if assigned else _OTHER


def _read_expression(code: str) -> str:
    code = _SUBSCRIPT.sub(r".\1", code)
    parts: list[str] = []
    start = 0
    for literal in _LITERAL.finditer(code):
        before = code[start : literal.start()]
        # What a function gets, or a condition compares with, is not written beside the literal.
        parts.append(_read_value(before, _VALUE if before.rstrip().endswith(("+", "~")) else _OTHER))
        parts.append((literal[1] or literal[2] or "").replace("\\n", "\n"))
        start = literal.end()
    return "".join([*parts, _read_value(code[start:], _VALUE)])


def _read_value(code: str, other: str) -> str:
    if _JOINED.fullmatch(code):
        return ""
    return _ROLE if _ROLE_VALUE.fullmatch(code) else other
