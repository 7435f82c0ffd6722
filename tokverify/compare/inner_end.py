"""Tokens with the role of EOT or EOM that are proven to end no turn, since they stand before or inside an answer.

llama.cpp ends a generation at them, so no answer is complete. A chat template proves it of the tokens that it writes
around the name of a role: what follows a role, or comes right before it, belongs to the header of a message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from tokverify.compare.marker import ANY, MAX_TEMPLATE, looks_like_end, read_template
from tokverify.compare.role_name import BEGINNINGS
from tokverify.engine.family import Settings
from tokverify.engine.special_text import ALWAYS_SHOWN_TEXTS, EOG_TEXTS
from tokverify.texts.token_text import is_filler

if TYPE_CHECKING:
    from jinja2.lexer import Token

_ROLES = ("eot", "eom")
_OTHER, _ROLE, _VALUE = "\ue000", "\ue001", "\ue002"
"""What stands in a layout for another branch of the template, the role of a message, and any other value."""
_SUBSCRIPT = re.compile(r"\[\s*['\"](\w+)['\"]\s*\]")
_ROLE_VALUE = re.compile(r"[+~( ]*(?:\w+ \. )*role(?: \| \w+)*[+~) ]*")
_JOINING = frozenset("+~()-")
_TRANSPARENT = frozenset({"if", "endif", "generation", "endgeneration"})
_NAMED_MARKER = re.compile(rf"({ANY.pattern})([a-z_]*)\Z")
"""A marker at the end of a text, with a name such as that of a channel."""
_HEADER = re.compile(rf"(?:{_ROLE}|[>\]]\s*assistant)\Z")
_ASSISTANT = re.compile(r"(?i)[<\[][|｜]?assistant[|｜]?[>\]]")
"""A marker that begins an answer, even if it follows the content of the message before."""
_BEFORE_ROLE = re.compile(rf"{_ROLE}|(?:assistant|user|system)\b")
_WIDTH, _MOST = 200, 200
"""At most so many characters before a token are looked at, and at most so many of the places where it stands."""


class InnerEnd(NamedTuple):
    """A token that is proven to end no turn."""

    role: str
    id: int
    turn_end: int | None
    """The token that must end a generation instead; None if another one does already."""


def find_inner_ends(settings: Settings, template: str | None, named: frozenset[int] = frozenset()) -> list[InnerEnd]:
    """Return the tokens of EOT and EOM that are proven to end no turn.

    Args:
        settings: The effective settings of the file.
        template: Its chat template, or that of its reference.
        named: The tokens of which the reference says that they end a generation, so that nothing proves the opposite.
    """
    found: list[InnerEnd] = []
    for role in _ROLES:
        id = settings.special_ids.get(role)
        piece = settings.pieces[id] if id is not None else ""
        if id is not None and id not in named and (piece in ALWAYS_SHOWN_TEXTS or ends_no_turn(piece, template)):
            ends = read_template(template).missing_ends(settings.ids, settings.eog_ids - {id})
            found.append(InnerEnd(role, id, next(iter(ends), None)))
    return found


def ends_no_turn(piece: str, template: str | None) -> bool:
    """Whether a chat template proves that a token with this text ends no turn."""
    if not piece or not template or piece in EOG_TEXTS or looks_like_end(piece):
        return False
    if begins_answers(piece, template):
        return True
    layout = _read_layout(template)
    places = list(islice(_places(layout, piece), _MOST))
    # A token that also follows a value, such as the content of a message, may be an end.
    follows_value = any(layout[max(0, place - _WIDTH) : place].rstrip().endswith(_VALUE) for place in places)
    return not follows_value and any(_is_in_header(layout, place, piece) for place in places)


def why_no_end(piece: str, template: str | None) -> str:
    """Say why no answer ends at a token with this text, whatever a configuration lists; empty if one may."""
    if piece in BEGINNINGS:
        return "it marks a beginning, so no answer ends there"
    if begins_answers(piece, template):
        return "the chat template begins answers with it, so none ends there"
    # Llama 3.1 ends a generation at a token that Llama 3 reserves, and fine-tunes combine the files of both.
    return "a model does not write what is reserved, so no answer ends there" if is_filler(piece) else ""


def begins_answers(piece: str, template: str | None) -> bool:
    """Whether a token with this text is the marker with which a chat template begins answers."""
    return _ASSISTANT.fullmatch(piece) is not None and piece in (template or "")


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


@lru_cache(maxsize=2)
def _read_layout(template: str) -> str:
    """Return what a template writes, one branch after the other, with marks such as `_ROLE` for all else.

    What comes after an error of syntax is left out.
    """
    from jinja2 import Environment, TemplateSyntaxError

    parts: list[str] = []
    code: list[Token] = []
    lexer = Environment(trim_blocks=True, lstrip_blocks=True, autoescape=True).lexer
    with suppress(TemplateSyntaxError):
        for token in lexer.tokenize(_SUBSCRIPT.sub(r".\1", template[:MAX_TEMPLATE])):
            if token.type in {"variable_begin", "block_begin"}:
                code = []
            elif token.type == "data":
                parts.append(token.value)
            elif token.type == "variable_end":
                parts.append(_read_expression(code))
            elif token.type == "block_end":
                parts.append(_read_statement(code))
            else:
                code.append(token)
    return "".join(parts)


def _read_statement(code: Sequence[Token]) -> str:
    # What is inside of these, or after them, comes right after what is before; all else is another branch or message.
    if code and code[0].value in _TRANSPARENT:
        return ""
    is_assigned = [token.value for token in code[:3:2]] == ["set", "="]
    if is_assigned and not any(token.type == "string" for token in code):
        return ""
    return f"{_OTHER}{_read_expression(code[3:])}{_OTHER}" if is_assigned else _OTHER


def _read_expression(code: Sequence[Token]) -> str:
    parts: list[str] = []
    between: list[str] = []
    for token in code:
        if token.type == "string":
            # What a function gets, or a condition compares with, is not written beside the literal.
            parts.append(_read_value(between, _VALUE if between[-1:] in (["+"], ["~"]) else _OTHER))
            parts.append(token.value)
            between = []
        else:
            between.append(str(token.value))
    return "".join([*parts, _read_value(between, _VALUE)])


def _read_value(code: Sequence[str], other: str) -> str:
    if _JOINING.issuperset(code):
        return ""
    return _ROLE if _ROLE_VALUE.fullmatch(" ".join(code)) else other
