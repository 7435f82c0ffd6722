"""Find characters that a person cannot tell apart, or cannot see, in the markers and roles of a template."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from tokverify.compare.marker import TemplateMarkers
from tokverify.engine.encoder import Encoder
from tokverify.report.finding import ERROR, WARNING, Severity
from tokverify.spec import AddedToken
from tokverify.text.sequence import common_length
from tokverify.text.visible import BLANK, code_points
from tokverify.text.wording import quote
from tokverify.texts.token_text import STRONG, is_filler

ROLES = frozenset(["assistant", "developer", "function", "model", "system", "tool", "user"])
_WORD = re.compile(r"[^\W\d_]{3,20}")
_LETTERS = str.maketrans("асԁеһіјӏорԛѕуѵԝхαονρτυχıսօհ│ǀ∣¦ǁ▁", "acdehijlopqsyvwxaovptuxiuoh||||‖_")
"""Letters of other scripts and signs -> what they look like, as far as compatibility forms do not say so."""
_MARKS = ("Mn", "Me")
_ENDS_LINES = "\t\n\v\f\r\x85"
_SHAPING = re.compile(
    r"(?<=[^\x00-~])[\u034f\u180b-\u180d\u180f\u200c\u200d]"
    # A second selector selects nothing, and can hide a text.
    r"|(?<=[^\x00-~\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f\U000e0100-\U000e01ef]"
    r"|(?<=[0-9#*])\ufe0f(?=\u20e3)|(?<=\U0001f3f4)[\U000e0030-\U000e007a]{2,6}\U000e007f"
)
"""What shapes the characters around it: in emoji, among them keycaps and the flags of regions, and in words."""
_SHORTEST = 3
_LONG = 9
"""In letters; a shorter text between fewer signs than `_MANY_SIGNS` may be a word of its own."""
_MANY_SIGNS = 4
_MOST_LOST = 2
_MOST_SIGNS = 8
_AROUND = 3
"""So many signs around a marker may belong to it, too."""
_MOST_PLACES = 100
"""For each token; a template that long repeats itself."""
_MOST_TAGS = 50
_BRACKET = r"[\[\]{}<>〈〉«»‹›【】]"
_SIGN = r"""[^\w\s"'`/\\()]"""
_NAME = r"\w(?:[\w -]{0,40}\w)?"
_BETWEEN_SIGNS = re.compile(
    "|".join(f"{_BRACKET}{_SIGN}{{{count}}}{_NAME}{_SIGN}{{{count}}}{_BRACKET}" for count in (1, 2, 3))
    + f"|{_BRACKET}(?:{_SIGN}{{1,3}}{_NAME}|{_NAME}{_SIGN}{{1,3}}){_BRACKET}"
)
"""Names between brackets and other signs, which may be markers of any form, such as `]~!b[` and `{|x|}`."""
_PLAIN = re.compile(r"</?[\w-]+/?>|\[/?[\w-]+\]")
"""Tags, and words in brackets."""
_MOST_ODD = 200
"""So many tokens between brackets and signs are looked for."""
_CONCATENATED = re.compile(r"""(['"])\s*[+~]\s*\1""")
_ARGUMENT = re.compile(r"""['"]\s*\)""")
_WITHOUT_JOINTS = str.maketrans("", "", "_-")
_TURN = re.compile("start|end|turn")
_JOINING = frozenset("_-/")
"""What makes a longer word, or another tag, of letters."""


@lru_cache(maxsize=8192)
def fold(text: str) -> str:
    """Replace characters by what they look like, and drop case, spaces and what is invisible."""
    return "".join(map(_fold, text))


def _fold(character: str) -> str:
    if is_invisible(character) or unicodedata.category(character) in _MARKS:
        return ""
    return "".join(unicodedata.normalize("NFKC", character).casefold().translate(_LETTERS).split())


def is_invisible(character: str) -> bool:
    """Check whether a character shows nothing, or changes the direction of the text around it."""
    if character in BLANK or character in _ENDS_LINES:
        return character in BLANK
    return unicodedata.category(character) in {"Cc", "Cf"}


def find_meant(text: str, added: Sequence[AddedToken]) -> str:
    """Name the added token that is probably meant by a text that is none, and why; empty if there is none."""
    near = _find_almost(text, added)
    if len(near) != 1:
        return ""
    odd = name_characters(text, near[0].text)
    return f"{near[0].id} {quote(near[0].text)} is probably meant{f', without {odd}' if odd else ''}"


def _find_almost(text: str, added: Sequence[AddedToken]) -> list[AddedToken]:
    """Return the tokens that look like a text, or else those that differ from it in one character, or in the order."""
    folded = fold(text)
    near = [token for token in added if fold(token.text) == folded]
    near = near or [token for token in added if _differ_in_one_character(fold(token.text), folded)]
    return near or [token for token in added if _differ_in_order(fold(token.text), folded)]


def _differ_in_one_character(one: str, other: str) -> bool:
    """Check whether one insertion, deletion or replacement, not of a digit, makes a text of the other."""
    if abs(len(one) - len(other)) > 1 or min(len(one), len(other)) < _SHORTEST or one == other:
        return False
    at = common_length(one, other)
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


def list_odd_tokens(added: Sequence[AddedToken]) -> tuple[str, ...]:
    """Return the tokens between brackets and other signs that are no markers of a usual form, such as `[e~[`."""
    texts = (token.text for token in added if not is_filler(token.text) and not STRONG.fullmatch(token.text))
    return tuple(islice((text for text in texts if _BETWEEN_SIGNS.fullmatch(text)), _MOST_ODD))


def find_between_signs(text: str, odd: tuple[str, ...]) -> list[str]:
    """Return what may be a marker of any form, because it is a name between brackets and other signs.

    Such tokens of the file, which `list_odd_tokens` returns, and markers of a usual form are left out.
    """
    others = STRONG.sub("\n", _compile_odd(odd)[0].sub("\n", text) if odd else text)
    return [each for each in _BETWEEN_SIGNS.findall(others) if not _PLAIN.fullmatch(each)]


def find_like_odd_tokens(text: str, odd: tuple[str, ...]) -> list[str]:
    """Return what is none of these tokens, but has the signs of one around another name, or one other character."""
    if not odd:
        return []
    exact, alike = _compile_odd(odd)
    return alike.findall(exact.sub("\n", text))


@lru_cache(maxsize=8)
def _compile_odd(odd: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of tokens, and of what is like one of them."""
    longest_first = sorted(odd, key=len, reverse=True)
    signs = dict.fromkeys(map(_signs_around, longest_first))
    forms = [re.escape(before) + _NAME + re.escape(after) for before, after in signs if before and after]
    near = [each for text in longest_first if len(_letters_of(text)) < _SHORTEST for each in _one_edit_away(text)]
    return re.compile("|".join(map(re.escape, longest_first))), re.compile("|".join([*forms, *near]))


def _one_edit_away(text: str) -> Iterator[str]:
    """Yield patterns of what becomes a text if one character is inserted, deleted or replaced, or two are exchanged."""
    for at in range(len(text)):
        before, here, after = text[:at], text[at], text[at + 1 :]
        yield rf"{re.escape(before)}\S?{re.escape(after)}"
        if at:
            yield rf"{re.escape(before)}\S{re.escape(here + after)}"
            yield re.escape(before[:-1] + here + before[-1] + after)


def name_characters(text: str, expected: str = "") -> str:
    """Name the characters beyond ASCII that are not expected, such as `U+0435 CYRILLIC SMALL LETTER IE`."""
    odd = [each for each in dict.fromkeys(text) if not each.isascii() and each not in expected]
    return ", ".join(code_points("".join(odd)))


def find_look_alikes(encoder: Encoder, template: TemplateMarkers) -> Iterator[tuple[Severity, str]]:
    """Find what looks like an added token or a role in a template, or is one but for a few signs."""
    source = template.template
    letters = _Letters(source)
    for token in encoder.settings.added_tokens:
        found = None if is_filler(token.text) else _find_near(letters, token.text, template.strong)
        if found is None or letters.source[found] in encoder.settings.ids:
            continue
        if _is_within_token(letters.source, found, encoder):
            continue
        near = letters.source[found]
        odd = name_characters(near, token.text) or name_characters(token.text, near)
        because = f" because of {odd}" if odd else ""
        line = letters.source.count("\n", 0, found.start) + 1
        yield ERROR, f"{quote(near)} in line {line} looks like {token.id} {quote(token.text)}, but is none{because}"
    yield from _find_misspelled(encoder, template)
    for word in dict.fromkeys(_WORD.findall(source)):
        if not word.isascii() and fold(word) in ROLES:
            yield ERROR, f"the role {quote(word)} looks like {quote(fold(word))}, but has {name_characters(word)}"


def _find_misspelled(encoder: Encoder, template: TemplateMarkers) -> Iterator[tuple[Severity, str]]:
    """Find tags that are no tokens and have no counterpart, one character from a token whose counterpart is there."""
    source, ids = template.template, encoder.settings.ids
    tags = {text: _letters_of(text) for text in islice((each for each in template.weak if each not in ids), _MOST_TAGS)}
    added = encoder.settings.added_tokens if tags else ()
    used = {token.text: _letters_of(token.text) for token in added if token.text in source}
    for text in tags:
        almost = _find_almost(text, [token for token in added if abs(len(token.text) - len(text)) <= 1])
        meant = [token for token in almost if token.text not in source] or almost
        if len(meant) == 1 and not _has_counterpart(text, tags) and _has_counterpart(meant[0].text, used):
            line = source.count("\n", 0, source.find(text)) + 1
            yield ERROR, f"{quote(text)} in line {line} looks like {meant[0].id} {quote(meant[0].text)}, but is none"


def _has_counterpart(text: str, others: Mapping[str, str]) -> bool:
    """Check whether there is a tag with the same letters, such as `</think>` for `<think>`; `others` have theirs."""
    letters = _letters_of(text)
    return any(other != text and theirs == letters for other, theirs in others.items())


def _is_within_token(source: str, found: slice, encoder: Encoder) -> bool:
    """Check whether a part of a template belongs to a longer text that is a token itself, such as `[|endofturn|]`."""
    start, end = max(0, found.start - _AROUND), found.stop + _AROUND
    wider = (source[left:right] for left in range(start, found.start + 1) for right in range(found.stop, end + 1))
    return any(text in encoder.settings.ids for text in wider)


class _Letters:
    """The letters and digits of a template, folded, with their places; literals that are put together are one."""

    def __init__(self, template: str) -> None:
        self.source = _CONCATENATED.sub("", template)
        self._folded = list(map(_fold, self.source))
        self._places: list[int] = []
        letters: list[str] = []
        for place, looks in enumerate(self._folded):
            kept = _keep_letters(looks)
            letters.append(kept)
            self._places += [place] * len(kept)
        self._text = "".join(letters)

    def find_all(self, letters: str) -> Iterator[tuple[int, int]]:
        """Yield where a stretch with these letters, joined as in one name, starts and ends."""
        start = self._text.find(letters)
        while start >= 0:
            place, end = self._places[start], self._places[start + len(letters) - 1] + 1
            if self.fold(place, end).translate(_WITHOUT_JOINTS) == letters:
                yield place, end
            start = self._text.find(letters, start + 1)

    def fold(self, start: int, end: int) -> str:
        """Return what a part of the template looks like."""
        return "".join(self._folded[start:end])


def _find_near(template: _Letters, text: str, strong: Sequence[str]) -> slice | None:
    """Return the first place with the letters of a token between almost the same signs; None if there is none."""
    letters, (before, after) = _letters_of(text), map(fold, _signs_around(text))
    if not before or not after or len(letters) < _SHORTEST or letters.isdigit():
        return None
    for start, end in islice(template.find_all(letters), _MOST_PLACES):
        found = _compare_signs(template, start, end, before, after)
        if found is None or template.source[found[0]] == text:
            continue
        place, lost = found
        near, count = template.source[place], len(before + after)
        is_long = count >= _MANY_SIGNS or len(letters) >= _LONG
        if not lost and fold(near) == fold(text) and "".join(near.split()) == near:
            is_near = not near.isascii() or near in strong
        elif lost <= 1:
            is_near = is_long
        else:
            # Without two signs, it may be a tag of its own, such as `<think>` beside `<|think|>`.
            is_rare = text not in template.source and _TURN.search(letters) is not None
            is_near = lost == _MOST_LOST <= count // 2 and is_rare
        if is_near:
            return place
    return None


def _signs_around(text: str) -> tuple[str, str]:
    """Return the signs with which a token begins and ends; empty if there are none, or too many for a marker."""
    inside = [at for at, character in enumerate(text) if character.isalnum()]
    before, after = (text[: inside[0]], text[inside[-1] + 1 :]) if inside else ("", "")
    return ("", "") if max(len(before), len(after)) > _MOST_SIGNS else (before, after)


def _compare_signs(template: _Letters, start: int, end: int, before: str, after: str) -> tuple[slice, int] | None:
    """Return what surrounds letters and is most like these signs, and how many of them it lacks or has in addition.

    None if the letters are a part of a longer word or of another tag, or the template puts the rest together later.
    """
    source = template.source
    for beside, own in ((template.fold(start - 1, start), before[-1]), (template.fold(end, end + 1), after[0])):
        # What a format fills in can complete the marker.
        if beside in {"{", "}"} or _keep_letters(beside) or ({beside, own} & _JOINING and beside != own):
            return None
    starts = range(max(0, start - len(before) - 1), start + 1)
    lost_before, length = min((_distance(before, template.fold(at, start)), start - at) for at in starts)
    ends = range(end, end + len(after) + 2)
    lost_after, stop = min((_distance(after, template.fold(end, at)), at) for at in ends)
    # `text.startswith('<|im_start')` looks for a part.
    if lost_after and _ARGUMENT.match(source, stop):
        return None
    return slice(start - length, stop), lost_before + lost_after


def _letters_of(text: str) -> str:
    """Return the letters and digits of a text, folded."""
    return _keep_letters(fold(text))


def _keep_letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


@lru_cache(maxsize=4096)
def _distance(one: str, other: str) -> int:
    """Count the characters to insert, delete or replace to make a text of the other (Levenshtein)."""
    row = list(range(len(other) + 1))
    for at, left in enumerate(one, 1):
        previous, row = row, [at]
        for to, right in enumerate(other, 1):
            row.append(min(previous[to] + 1, row[-1] + 1, previous[to - 1] + (left != right)))
    return row[-1]


def find_invisible(encoder: Encoder, source: str) -> Iterator[tuple[Severity, str]]:
    """Find characters in a template and in added tokens that show nothing or change the direction of a text."""
    if odd := _name_invisible(source):
        yield WARNING, f"the template contains {odd}, which is invisible"
    for token in encoder.settings.added_tokens:
        if any(each.isalnum() for each in token.text) and (odd := _name_invisible(token.text)):
            yield WARNING, f"token {token.id} {quote(token.text)} contains {odd}, which is invisible"


def _name_invisible(text: str) -> str:
    """Name what is invisible and does not shape the characters around it, as in emoji and in Persian or Indic words."""
    return ", ".join(code_points("".join(dict.fromkeys(filter(is_invisible, _SHAPING.sub("", text))))))
