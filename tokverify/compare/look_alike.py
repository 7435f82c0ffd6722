"""Find characters that a person cannot tell apart, or cannot see, in the markers and roles of a template."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from tokverify.compare.marker import TemplateMarkers
from tokverify.engine.encoder import Encoder
from tokverify.report.finding import ERROR, WARNING, Severity
from tokverify.spec import AddedToken
from tokverify.text.wording import quote

_ROLES = frozenset(["assistant", "developer", "function", "model", "system", "tool", "user"])
_STRING = re.compile(r"""(['"])([^'"<>|\s]{3,20})\1""")
_LETTERS = str.maketrans("асԁеһіјӏорԛѕуѵԝхαονρτυχı│ǀ∣¦▁", "acdehijlopqsyvwxaovptuxi||||_")
"""Letters of other scripts and signs -> what they look like, as far as compatibility forms do not say so."""
_MARKS = ("Mn", "Me")
_SHORTEST = 3


def fold(text: str) -> str:
    """Replace characters by what they look like, and drop case, spaces and what is invisible."""
    return "".join(map(_fold, text))


def _fold(character: str) -> str:
    if is_invisible(character) or unicodedata.category(character) in _MARKS:
        return ""
    return "".join(unicodedata.normalize("NFKC", character).casefold().translate(_LETTERS).split())


def is_invisible(character: str) -> bool:
    """Check whether a character shows nothing, or changes the direction of the text around it."""
    return unicodedata.category(character) == "Cf" or "\ufe00" <= character <= "\ufe0f"


def find_meant(text: str, added: Sequence[AddedToken]) -> str:
    """Name the added token that is probably meant by a text that is none, and why; empty if there is none."""
    folded = fold(text)
    near = [token for token in added if fold(token.text) == folded]
    near = near or [token for token in added if _differ_in_one_character(fold(token.text), folded)]
    near = near or [token for token in added if _differ_in_order(fold(token.text), folded)]
    if len(near) != 1:
        return ""
    odd = name_characters(text, near[0].text)
    return f"{near[0].id} {quote(near[0].text)} is probably meant{f', without {odd}' if odd else ''}"


def _differ_in_one_character(one: str, other: str) -> bool:
    """Check whether one insertion, deletion or replacement, not of a digit, makes a text of the other."""
    if abs(len(one) - len(other)) > 1 or min(len(one), len(other)) < _SHORTEST or one == other:
        return False
    at = next((at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right), None)
    at = min(len(one), len(other)) if at is None else at
    if (one[at : at + 1] + other[at : at + 1]).isdigit():
        return False
    return one[at + (len(one) >= len(other)) :] == other[at + (len(other) >= len(one)) :]


def _differ_in_order(one: str, other: str) -> bool:
    """Check whether two adjacent characters, not both digits, are exchanged."""
    differing = [at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right]
    if len(one) != len(other) or len(differing) != 2 or differing[1] != differing[0] + 1:  # noqa: PLR2004 - a pair
        return False
    pair = one[differing[0] : differing[1] + 1]
    return pair == other[differing[0] : differing[1] + 1][::-1] and not pair.isdigit()


def name_characters(text: str, expected: str = "") -> str:
    """Name the characters beyond ASCII that are not expected, such as `U+0435 CYRILLIC SMALL LETTER IE`."""
    odd = [each for each in dict.fromkeys(text) if not each.isascii() and each not in expected]
    return ", ".join(f"U+{ord(each):04X} {unicodedata.name(each, '')}".strip() for each in odd)


def find_look_alikes(encoder: Encoder, template: TemplateMarkers) -> Iterator[tuple[Severity, str]]:
    """Find what looks like an added token or a role in a template, but is none."""
    source = template.template
    folded, places = [], []
    for place, character in enumerate(source):
        looks = _fold(character)
        folded.append(looks)
        places += [place] * len(looks)
    text, known = "".join(folded), encoder.settings.ids
    for token in encoder.settings.added_tokens:
        wanted = fold(token.text)
        start = text.find(wanted) if len(wanted) >= _SHORTEST and not wanted.isalnum() else -1
        while start >= 0:
            place = places[start]
            found = source[place : places[start + len(wanted) - 1] + 1]
            start = text.find(wanted, start + 1)
            if found not in known and (not found.isascii() or found in template.strong):
                line = source.count("\n", 0, place) + 1
                odd = name_characters(found, token.text)
                because = f" because of {odd}" if odd else ""
                message = (
                    f"{quote(found)} in line {line} looks like {token.id} {quote(token.text)}, but is none{because}"
                )
                yield ERROR, message
                break
    for found in dict.fromkeys(each[2] for each in _STRING.finditer(source)):
        if not found.isascii() and fold(found) in _ROLES:
            yield ERROR, f"the role {quote(found)} looks like {quote(fold(found))}, but has {name_characters(found)}"


def find_invisible(encoder: Encoder, source: str) -> Iterator[tuple[Severity, str]]:
    """Find characters in a template and in added tokens that show nothing or change the direction of a text."""
    if odd := _name_invisible(source):
        yield WARNING, f"the template contains {odd}, which is invisible"
    for token in encoder.settings.added_tokens:
        if any(each.isalnum() for each in token.text) and (odd := _name_invisible(token.text)):
            yield WARNING, f"token {token.id} {quote(token.text)} contains {odd}, which is invisible"


def _name_invisible(text: str) -> str:
    """Name what is invisible and does not shape the characters around it, as in emoji and in Persian or Indic words."""
    found = [
        each
        for at, each in enumerate(text)
        if not each.isascii()
        and is_invisible(each)
        and not (each in "\u200c\u200d\ufe0e\ufe0f" and text[at - 1 : at] > "~")
    ]
    return name_characters("".join(found))
