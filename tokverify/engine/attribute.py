"""Attributes: the kind of each token, from the declared types and from the texts by which llama.cpp overrides them.

Source: `llama_vocab::impl::load` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import IntFlag

from tokverify.engine.build import newest_build, values_of
from tokverify.engine.joined_strings import JoinedStrings, longest_and_total, placeholders_of
from tokverify.engine.override import Override
from tokverify.engine.special_text import (
    ALWAYS_SHOWN_TEXTS,
    ENDING_FIM_ROLES,
    EOG_TEXTS,
    EOM_TEXTS,
    EOT_TEXTS,
    FIM_TEXTS,
)
from tokverify.errors import BrokenFileError
from tokverify.spec import TokenType, TokenTypes, find_bytes
from tokverify.text.utf8 import find_not_utf8
from tokverify.text.wording import short_repr


class Attribute(IntFlag):
    """The attributes of a token as llama.cpp stores them; overrides can leave a token with several.

    Those of all tokens are stored as bytes: `&` on a quarter of a million of these objects takes a third of a second.
    """

    UNDEFINED = 0
    UNKNOWN = 1
    UNUSED = 2
    NORMAL = 4
    CONTROL = 8
    USER_DEFINED = 16
    BYTE = 32


ORDINARY = (Attribute.NORMAL | Attribute.BYTE).value
"""The attributes of the tokens that ordinary texts consist of."""
SPECIAL = (Attribute.UNKNOWN | Attribute.CONTROL).value
"""The attributes of tokens that llama.cpp parses, and shows, only on request."""
VERBATIM = (Attribute.UNKNOWN | Attribute.CONTROL | Attribute.USER_DEFINED).value
"""The attributes of tokens that represent their own text."""

_ORDINARY = [Attribute.NORMAL.value, 0]
"""What a build makes of a token whose text means nothing to it."""

LOOKS_LIKE_CONTROL = "llama.cpp always treats a token with this text as a control token"

MAX_PLACEHOLDER_CHARACTERS = 256 * 2**20

_FIRST_BYTES_BEYOND = (b"\xf5", b"\xf6", b"\xf7")
_BYTES_BEYOND = re.compile(rb"\xf4[\x90-\xbf]")
# In UTF-8, with each byte as a lone surrogate.
_BEYOND_UNICODE = re.compile("\udcf4[\udc90-\udcbf][\udc80-\udcbf]{2}|[\udcf5-\udcf7][\udc80-\udcbf]{3}")

_MATCHING = tuple(
    (Attribute[type.name].value, type)
    for type in (
        TokenType.CONTROL,
        TokenType.UNKNOWN,
        TokenType.USER_DEFINED,
        TokenType.BYTE,
        TokenType.UNUSED,
        TokenType.NORMAL,
    )
)
_ATTRIBUTES = {type.value: Attribute[type.name].value for type in TokenType if type is not TokenType.UNDEFINED}
_ATTRIBUTES_BY_TYPE = bytes(_ATTRIBUTES.get(type, 0) for type in range(256))


def types_of(attributes: bytes | bytearray) -> TokenTypes:
    """Return the types that say how tokens with these attributes, by id, are matched in a text.

    A control token is one, whatever else it is; the unknown token is matched like one.
    """
    return TokenTypes(bytes(attributes).translate(_TYPES_BY_ATTRIBUTES))


def _type_of(attribute: int) -> TokenType:
    return next((type for bit, type in _MATCHING if attribute & bit), TokenType.UNDEFINED)


_TYPES_BY_ATTRIBUTES = bytes(map(_type_of, range(256)))


class Attributes:
    """The attributes of all tokens, initially as `types` declare them; each step records its overrides."""

    def __init__(
        self, types: Sequence[int] | None, pieces: Sequence[str], ids: Mapping[str, int], build: int | None = None
    ) -> None:
        self._texts = values_of("texts", newest_build() if build is None else build)
        self._pieces = pieces
        self._ids = ids
        self.values = _attributes_of(types or ()) or bytearray([Attribute.NORMAL.value]) * len(pieces)
        self.overrides: list[Override] = []

    def override(self, special_ids: dict[str, int]) -> set[int]:
        """Override attributes by the tokens' texts, fill special roles in the same way, and return the EOG ids."""
        self._fill_roles(special_ids)
        eog_ids = {special_ids[role] for role in ENDING_FIM_ROLES if role in special_ids}
        for id in self._find(EOG_TEXTS):
            eog_ids.add(id)
            self._make_control(id)
        for id in self._find(ALWAYS_SHOWN_TEXTS):
            self._set(id, Attribute.USER_DEFINED.value, "llama.cpp always renders this token")
        eog_ids.update(special_ids[role] for role in ("eos", "eot", "eom") if role in special_ids)
        self._drop_from_eog(eog_ids)
        return eog_ids

    def _fill_roles(self, special_ids: dict[str, int]) -> None:
        # subtle: if several candidates for one role exist, llama.cpp takes the first in the iteration order of
        # a hash table, which differs between builds; here it is the first in id order.
        for role, texts in {"eot": EOT_TEXTS, "eom": EOM_TEXTS, **FIM_TEXTS}.items():
            found = sorted(self._find(texts))
            if role not in special_ids and found:
                special_ids[role] = found[0]
                self._make_control(found[0])

    def _find(self, texts: Sequence[str]) -> list[int]:
        """Return the ids of those texts that are tokens and mean something to the build."""
        return find_ids(self._ids, [text for text in texts if self._texts[text] != _ORDINARY])

    def _drop_from_eog(self, eog_ids: set[int]) -> None:
        """Undo the overrides of two tokens that are ordinary in some vocabularies."""
        texts = {self._pieces[id]: id for id in sorted(eog_ids)}
        calls = not texts.keys().isdisjoint(("<|call|>", "<|calls|>"))
        returns = not texts.keys().isdisjoint(("<|return|>", "<|flush|>"))
        if calls and returns and "<|end|>" in texts:
            eog_ids.discard(texts["<|end|>"])
            self._set(texts["<|end|>"], Attribute.USER_DEFINED.value, "other tokens end a generation here")
        if "</s>" in texts and not texts.keys().isdisjoint(("<|tool_response>", "<|plamo:eos|>")):
            eog_ids.discard(texts["</s>"])
            self._set(texts["</s>"], Attribute.NORMAL.value, "an ordinary token in this vocabulary")

    def check_byte_tokens(self, refuses: Callable[[str], bool]) -> None:
        """Refuse tokens typed BYTE on which llama.cpp aborts while it computes what each token represents.

        Raises:
            BrokenFileError: If there is such a token; `refuses` decides by its piece.
        """
        for id in find_bytes(self.values, [Attribute.BYTE.value]):
            if refuses(self._pieces[id]):
                raise BrokenFileError(
                    f"token {id} {short_repr(self._pieces[id])} is typed BYTE; llama.cpp aborts on such a file"
                )

    def check_characters(self, decodes: Callable[[int], bool]) -> None:
        """Refuse tokens with characters beyond U+10FFFF, on which llama.cpp before b11739 fails if it decodes them.

        Raises:
            BrokenFileError: If there is such a token; `decodes` decides by its attribute.
        """
        # Rare, so the pieces are searched all at once.
        for id, piece in enumerate(self._pieces if _may_be_beyond_unicode(self._pieces) else ()):
            if _BEYOND_UNICODE.search(piece) and decodes(self.values[id]):
                problem = "contains a character beyond U+10FFFF; this build of llama.cpp refuses such a file"
                raise BrokenFileError(f"token {id} {short_repr(piece)} {problem}")

    def check_decoded_size(self, decodes: Callable[[int], bool]) -> None:
        """Refuse tokens that a few kilobytes of a file turn into gigabytes (see `from_byte_level`).

        Raises:
            BrokenFileError: If the tokens that `decodes` selects by their attributes would fill the memory.
        """
        decoded = frozenset(filter(decodes, kinds_of(self.values)))
        longest, total = longest_and_total(self._pieces) if decoded else (0, 0)
        if longest * total <= MAX_PLACEHOLDER_CHARACTERS:
            return
        size = 0
        for id, characters in placeholders_of(self._pieces):
            size += characters if self.values[id] in decoded else 0
            if size > MAX_PLACEHOLDER_CHARACTERS:
                problem = "and others contain so many characters outside the GPT-2 alphabet that they would decode to"
                limit = f"more than {MAX_PLACEHOLDER_CHARACTERS:,} characters, the limit"
                raise BrokenFileError(f"token {id} {short_repr(self._pieces[id])} {problem} {limit}")

    def _make_control(self, id: int) -> None:
        if not self.values[id] & Attribute.CONTROL:
            # Builds of 2025 replaced the type; later ones add to it.
            replaces = self._texts[self._pieces[id]][0] == Attribute.CONTROL.value
            kept = 0 if replaces else self.values[id]
            self._set(id, kept | Attribute.CONTROL.value, LOOKS_LIKE_CONTROL)

    def _set(self, id: int, attribute: int, reason: str) -> None:
        if self.values[id] != attribute:
            setting = f"type of {id} {short_repr(self._pieces[id])}"
            self.overrides.append(Override(setting, _name(self.values[id]), _name(attribute), reason))
            self.values[id] = attribute


def _may_be_beyond_unicode(pieces: Sequence[str]) -> bool:
    """Whether a piece can contain a character beyond U+10FFFF; fast for the usual vocabulary, which is UTF-8."""
    if isinstance(pieces, JoinedStrings):
        joined = pieces.joined
        return any(byte in joined for byte in _FIRST_BYTES_BEYOND) or _BYTES_BEYOND.search(joined) is not None
    return find_not_utf8(["\0".join(pieces)]) is not None


def _attributes_of(types: Sequence[int]) -> bytearray:
    try:
        # subtle: a list, because bytearray() copies an array's memory.
        return bytearray(list(types)).translate(_ATTRIBUTES_BY_TYPE)
    except ValueError:
        return bytearray(_ATTRIBUTES.get(type, 0) for type in types)


def find_bits(attributes: bytes | bytearray, wanted: int) -> list[int]:
    """Return in ascending order the ids of the tokens with at least one of these attributes."""
    return find_bytes(attributes, [attribute for attribute in kinds_of(attributes) if attribute & wanted])


def kinds_of(attributes: bytes | bytearray) -> set[int]:
    """Return the distinct attributes, in a tenth of the time that `set` takes if most tokens have the same."""
    kinds: set[int] = set()
    rest = bytes(attributes)
    while rest:
        kinds.add(rest[0])
        rest = rest.translate(None, rest[:1])
    return kinds


def find_ids(ids: Mapping[str, int], texts: Sequence[str]) -> list[int]:
    """Return the ids of those `texts` that are tokens."""
    return [ids[text] for text in texts if text in ids]


def _name(attribute: int) -> str:
    return Attribute(attribute).name or "UNDEFINED"
