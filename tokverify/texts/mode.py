"""Mode: the options with which tokenizers can be compared on a text.

A tokenizer that never recognizes control tokens (`parses_special` is False) encodes a text in one way only, and always
matches its other added tokens. In a text without any of its control tokens, this is what `parse_special` does to other
tokenizers. In a text that contains one, none of their modes is the same; with the option off, at least the control
tokens are plain text on both sides. If such a tokenizer does not list its control tokens, the option is always off.
If the text also contains other tokens that only this tokenizer matches then, such as the chat markers of Gemma, the
stretches between its control tokens can be compared, with the option on (see `is_stretched`).

Some tokenizers always recognize control tokens. The option is then always on, unless another one never does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property, lru_cache, partial
from typing import NamedTuple

from tokverify.case import Case
from tokverify.errors import EncodeError, UnsupportedError
from tokverify.spec import MAX_TOKENS
from tokverify.tokenizer import (
    AddedTokenListing,
    AlwaysParsing,
    ControlListing,
    MatchListing,
    NameSupplying,
    Tokenizer,
    lists_no_special_tokens,
    pieces_of,
    why_hidden,
)

ContainsControl = Callable[[str], bool]


_LATEST = 2048
"""For how many texts it is remembered which tokenizers recognize all their control tokens."""


class Mode(NamedTuple):
    """The options of one encode call."""

    add_special: bool
    parse_special: bool


def mode_of(case: Case) -> Mode:
    """Return the mode that a case asks for."""
    return Mode(case.add_special, case.parse_special)


class Modes:
    """Chooses the mode in which to compare some tokenizers, for each text."""

    def __init__(self, *tokenizers: Tokenizer) -> None:
        self._tokenizers = tokenizers
        self._adds_special = all(tokenizer.adds_special for tokenizer in tokenizers)
        unable = [tokenizer for tokenizer in tokenizers if not tokenizer.parses_special]
        self.parses_special = not unable
        """Whether `parse_special` is always as asked for, instead of depending on the text."""
        self._always = [tokenizer for tokenizer in tokenizers if _always_parses(tokenizer)]
        self._never_parsed = [(tokenizer.name, _control_test(tokenizer, tokenizers)) for tokenizer in unable]
        # Each text is asked about several times in a row. subtle: a cached method would keep the tokenizers alive.
        self._find_unable = lru_cache(_LATEST)(partial(_find_unable, self._never_parsed))

    def choose(self, text: str, asked: Mode) -> Mode:
        """Return the mode in which a text is compared, given the one that is asked for."""
        parse_special = asked.parse_special or bool(self._always)
        if not self.parses_special:
            parse_special = not self._find_unable(text)
        return Mode(asked.add_special and self._adds_special, parse_special)

    def decisive_options(self, text: str, asked: Mode, chosen: Mode) -> list[str]:
        """Return the options that differ in two modes, and may change the ids of a text."""
        decisive: list[str] = []
        if asked.add_special != chosen.add_special and self._adds_tokens:
            decisive.append("add_special")
        if asked.parse_special != chosen.parse_special and any(contains(text) for contains in self._parsed):
            decisive.append("parse_special")
        return decisive

    def reason(self, option: str, text: str) -> str:
        """Return why an option is not as it was asked for."""
        if option == "add_special":
            names = dict.fromkeys(tokenizer.name for tokenizer in self._tokenizers if not tokenizer.adds_special)
            return f"add_special off: {_join(names, 'does', 'do')} not know which tokens to add around a text"
        unable = self._find_unable(text)
        if self._always and not unable:
            names = dict.fromkeys(tokenizer.name for tokenizer in self._always)
            return f"parse_special on: {_join(names, 'always recognizes', 'always recognize')} control tokens in a text"
        if not unable:
            names = dict.fromkeys(name for name, _ in self._never_parsed)
            return f"parse_special on: {_join(names, 'has', 'have')} no other way to encode this text"
        return f"parse_special off: {_join(unable, 'never recognizes', 'never recognize')} control tokens in a text"

    def is_stretched(self, text: str) -> bool:
        """Whether a text is best compared with only `parse_special` on, in stretches around control tokens.

        This is so if no mode of the others is the same: one tokenizer never parses control tokens, and the text
        contains one of these, and another token that only it matches anyway.
        """
        return self._markers is not None and self._markers(text) and bool(self._find_unable(text))

    def encode_stretches(self, tokenizer: Tokenizer, text: str) -> list[int]:
        """Encode the stretches of a text between the control tokens of a tokenizer that never parses these.

        Raises:
            EncodeError: If a stretch cannot be encoded.
        """
        ids: list[int] = []
        for part in filter(None, re.split(f"({self._stretched_pattern})", text)):
            id = self._stretched_ids.get(part)
            ids += tokenizer.encode(part, add_special=False, parse_special=True) if id is None else [id]
        return ids

    @cached_property
    def _stretched(self) -> Tokenizer | None:
        """The only tokenizer that never parses control tokens, if it lists its tokens."""
        unable = [tokenizer for tokenizer in self._tokenizers if not tokenizer.parses_special]
        if len(unable) != 1 or not isinstance(unable[0], ControlListing) or why_hidden(*unable):
            return None
        return unable[0]

    @cached_property
    def _stretched_ids(self) -> dict[str, int]:
        if not isinstance(self._stretched, ControlListing):
            return {}
        controls = self._stretched.control_texts
        return {piece: id for id, piece in enumerate(pieces_of(self._stretched)) if piece and piece in controls}

    @cached_property
    def _stretched_pattern(self) -> str:
        return "|".join(map(re.escape, sorted(self._stretched_ids, key=len, reverse=True)))

    @cached_property
    def _markers(self) -> ContainsControl | None:
        """Check whether a text contains a token that only the others do not match without parsing control tokens."""
        stretched = self._stretched
        if not isinstance(stretched, ControlListing) or not isinstance(stretched, AddedTokenListing):
            return None
        others = [each for each in self._tokenizers if each is not stretched and isinstance(each, ControlListing)]
        theirs = set().union(*(each.control_texts for each in others))
        markers = (theirs & set(stretched.added_texts)) - stretched.control_texts
        if not markers:
            return None
        return _contains_any(frozenset(markers))

    @property
    def summary(self) -> tuple[str, ...]:
        """Notes about the options that cannot always be as they are asked for, and why."""
        notes: dict[str, None] = {}
        for tokenizer in self._tokenizers:
            if not tokenizer.adds_special:
                reason = f"{tokenizer.name} does not know which tokens to add around a text"
                notes[f"compared with add_special turned off: {reason}"] = None
        for tokenizer in self._tokenizers:
            if not tokenizer.parses_special:
                notes[_describe_parsing(tokenizer)] = None
        for tokenizer in self._always:
            reason = f"{tokenizer.name} always recognizes control tokens in text"
            notes[f"compared with parse_special turned on: {reason}"] = None
        return tuple(notes)

    @cached_property
    def _adds_tokens(self) -> bool:
        return any(_adds_tokens(tokenizer) for tokenizer in self._tokenizers if tokenizer.adds_special)

    @cached_property
    def _parsed(self) -> list[ContainsControl]:
        # One that always recognizes control tokens encodes a text in the same way in both modes.
        choosing = [each for each in self._tokenizers if each.parses_special and not _always_parses(each)]
        return [_control_test(tokenizer) for tokenizer in choosing]


def _describe_parsing(tokenizer: Tokenizer) -> str:
    if lists_no_special_tokens(tokenizer):
        unlisted = f"control tokens that {tokenizer.name} does not list"
        return f"compared with parse_special turned on, but off for texts that contain {unlisted}"
    if isinstance(tokenizer, ControlListing):
        return (
            f"compared with parse_special turned on, but off for texts that contain a control token of {tokenizer.name}"
            ", which never recognizes those and always matches its other added tokens"
        )
    return f"compared with parse_special turned off: {tokenizer.name} never recognizes control tokens in text"


def _join(names: dict[str, None], singular: str, plural: str) -> str:
    return f"{' and '.join(names)} {singular if len(names) == 1 else plural}"


def _find_unable(never_parsed: Sequence[tuple[str, ContainsControl]], text: str) -> dict[str, None]:
    """Return the names of the tokenizers that never recognize some control token in this text."""
    return dict.fromkeys(name for name, contains in never_parsed if contains(text))


def _always_parses(tokenizer: Tokenizer) -> bool:
    return isinstance(tokenizer, AlwaysParsing) and tokenizer.always_parses_special


def _adds_tokens(tokenizer: Tokenizer) -> bool:
    try:
        with_tokens, without = (tokenizer.encode("", add_special=add, parse_special=True) for add in (True, False))
    except (EncodeError, UnsupportedError):
        return True
    return with_tokens != without


def _control_test(tokenizer: Tokenizer, others: Iterable[Tokenizer] = ()) -> ContainsControl:
    """Return a function that checks if a text contains a control token; if they are not known, any text may.

    Of one that lists none, these are the tokens of others that it does not have; of one whose file names none, also
    those that others have in their place.
    """
    if lists_no_special_tokens(tokenizer):
        # A piece of its own that others call a control token is a difference.
        return _contains_any(_control_texts(others, range(tokenizer.vocab_size, MAX_TOKENS)))
    if not isinstance(tokenizer, ControlListing):
        return lambda _: True
    supplied = tokenizer.supplied_names if isinstance(tokenizer, NameSupplying) else ()
    return _contains_any(frozenset(filter(None, tokenizer.control_texts)) | _control_texts(others, supplied))


def _control_texts(tokenizers: Iterable[Tokenizer], ids: Collection[int]) -> frozenset[str]:
    """Return the texts of the control tokens that tokenizers have at some ids."""
    listing = (tokenizer for tokenizer in tokenizers if isinstance(tokenizer, MatchListing)) if ids else ()
    added = (token for tokenizer in listing for token in tokenizer.added_tokens().values())
    return frozenset(token.text for token in added if token.special and token.id in ids and token.text)


@lru_cache(maxsize=8)  # candidates for a repair mostly have the same control tokens, of which there may be thousands
def _contains_any(parts: frozenset[str]) -> ContainsControl:
    """Return a function that checks if a text contains one of these parts."""
    if not parts:
        return lambda _: False
    # A pattern of all of them takes long to compile, and tries them one after the other at each place.
    lengths: dict[str, set[int]] = {}
    for part in parts:
        lengths.setdefault(part[0], set()).add(len(part))
    begin = re.compile(f"[{re.escape(''.join(lengths))}]").finditer
    return lambda text: any(
        text[found.start() : found.start() + length] in parts for found in begin(text) for length in lengths[found[0]]
    )
