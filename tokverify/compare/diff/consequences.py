"""Decide what a change of a tokenizer invalidates: weights, prompts, ids, round trips, or only token counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product

from tokverify.compare.diff.parts.document import read_stages
from tokverify.compare.diff.special import SpecialTokens
from tokverify.compare.diff.version import Version, naming_side, unnamed_roles
from tokverify.compare.diff.witness import Versions, shortest_witness, texts_about
from tokverify.engine.byte_level import count_placeholders, from_byte_level
from tokverify.engine.joined_strings import find_differing
from tokverify.errors import EncodeError, UnsupportedError
from tokverify.report.diff import ACTIONS, ONLY_ROUND_TRIPS, ChangeReport, Consequence, Level, Outcome, Witness
from tokverify.text.wording import list_items, plural
from tokverify.texts.sample import Sample
from tokverify.texts.vocabulary import bytes_of_tokens
from tokverify.tokenizer import BatchEncoding, Tokenizer, why_hidden

_MAX_TOKENS = 2000
"""The number of ids that represent another token to look for in texts."""
_LETTER = "a"
_TURNED_OFF = ("truncation", "padding")
"""Stages of a tokenizer.json that no comparison applies, because they do not depend on the tokens."""


class Consequences:
    """What a change means for each level, from what changed and from texts about it.

    Args:
        old: The version that weights, prompts and stored ids come from.
        new: The version that shall replace it.
        report: The comparison of both; its cases and generated texts are tried as well.
    """

    def __init__(self, old: Version, new: Version, report: ChangeReport) -> None:
        self._old, self._new, self._report = old, new, report
        self._versions = Versions(old.tokenizer, new.tokenizer)
        self._specials = SpecialTokens(old, new, report.parts)
        self._samples = self._versions.supported(self._list_samples())
        self._short = find_short_samples(old, new)

    def _list_samples(self) -> Iterator[Sample]:
        for result in self._report.report.results:
            yield Sample(result.case.text, result.add_special, result.parse_special)
        if self._report.fuzzed:
            for result in self._report.fuzzed.report.results:
                yield Sample(result.case.text, result.add_special, result.parse_special)
        for text in texts_about(self._report.parts, self._old, self._new):
            yield from self._versions.modes(text)

    def list_ids(self) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Return the ids that the old and the new version give each text that both encode."""
        pairs = map(self._versions.ids, self._every())
        return [(old, new) for old, new in pairs if old is not None and new is not None]

    def _every(self) -> dict[Sample, None]:
        return dict.fromkeys([*self._samples, *self._short])

    def find(self) -> Iterator[Consequence]:
        """Decide for each level whether it remains valid."""
        yield self._vocabulary()
        yield self._special()
        yield self._ids()
        yield self._text()
        yield self._cost()

    def _vocabulary(self) -> Consequence:
        level = Level.VOCABULARY
        if hidden := why_hidden(self._old.tokenizer, self._new.tokenizer):
            return Consequence(level, Outcome.UNKNOWN, hidden)
        try:
            changed = _find_changed_ids(self._old.tokenizer, self._new.tokenizer)
        except EncodeError as error:
            return Consequence(level, Outcome.UNKNOWN, f"not every token is known: {error}")
        added = self._new.tokenizer.vocab_size - self._old.tokenizer.vocab_size
        if not changed:
            # It may have them already, as many are padded.
            more = plural(added, "more token")
            rows = f"; the embedding matrix needs {'a row' if added == 1 else 'rows'} for {more}" if added > 0 else ""
            return Consequence(level, Outcome.VALID, f"each id represents the same token{rows}")
        pieces = {id: self._old.tokenizer.piece(id) for id in changed[:_MAX_TOKENS]}
        some = set(pieces)
        # A token that only continues a word does not occur at the beginning of a text.
        texts = [context + text for text in _token_texts(self._old.tokenizer, pieces) for context in ("", _LETTER)]
        samples = [sample for text in texts for sample in self._versions.modes(text)]
        witness = self._find_witness(
            [*samples, *self._short, *self._samples],
            lambda sample: not some.isdisjoint(self._versions.ids(sample)[0] or ()),
        )
        count = plural(len(changed), "id represents", "ids represent")
        reason = f"{count} another token or no token: {list_items(changed)}"
        return self._broken(level, reason, len(changed), witness)

    def _special(self) -> Consequence:
        level = Level.SPECIAL
        changed = self._specials.list_changes()
        # A flag of a control token, such as `lstrip`, changes only what is around it.
        shows = self._differs_only_with_options if self._specials.changed_tokens else self._changes_special_tokens
        witness = self._find_witness(self._samples, shows)
        if changed:
            return self._broken(level, f"changed: {list_items(changed)}", len(changed), witness)
        if witness:
            return self._broken(level, "a text is the same only without special tokens", 1, witness)
        if unnamed := unnamed_roles(self._old, self._new):
            return Consequence(level, Outcome.UNKNOWN, _explain_unnamed(self._old, self._new, unnamed))
        if not self._specials.are_comparable():
            return Consequence(level, Outcome.UNKNOWN, "the two have no special tokens in common that both expose")
        if hidden := why_hidden(self._old.tokenizer, self._new.tokenizer):
            reason = f"only the special ids that both name are known to be the same: {hidden}"
            return Consequence(level, Outcome.UNKNOWN, reason)
        return Consequence(level, Outcome.VALID, "special tokens, stop tokens and chat templates are the same")

    def _differs_only_with_options(self, sample: Sample) -> bool:
        if not self._versions.differ(sample):
            return False
        plain = self._versions.modes(sample.text)[0]
        return sample != plain and not self._versions.differ(plain)

    def _changes_special_tokens(self, sample: Sample) -> bool:
        if not self._differs_only_with_options(sample):
            return False
        old, new = self._versions.ids(sample)
        return old is None or new is None or self._specials.differ_in(old, new)

    def _ids(self) -> Consequence:
        return self._by_texts(Level.IDS, self._versions.differ, "get different ids", "the same ids")

    def _text(self) -> Consequence:
        if reason := self._versions.why_not_decoded:
            return Consequence(Level.TEXT, Outcome.UNKNOWN, reason)
        self._versions.decode_all(self._every())
        found = self._by_texts(Level.TEXT, self._damages, "decode to a different text", "the same text after decoding")
        if found.outcome is Outcome.BROKEN and not any(map(self._decodes_differently, self._every())):
            return replace(found, action=ONLY_ROUND_TRIPS)
        return found

    def _decodes_differently(self, sample: Sample) -> bool:
        """Check whether the ids that the old version gives a text, if stored, decode to another text now."""
        text = self._versions.decode_old(sample)
        return text is not None and self._versions.redecode(sample) != text

    def _damages(self, sample: Sample) -> bool:
        old = self._versions.decode_old(sample)
        if old is None or self._versions.redecode(sample) != old:
            return old is not None
        if sample.add_special or old != sample.text.encode("utf-8", "surrogatepass"):
            return False
        new = self._versions.decode_new(sample)
        return new is not None and new != old

    def _cost(self) -> Consequence:
        return self._by_texts(
            Level.COST, self._costs_more_or_less, "need a different number of tokens", "the same number of tokens"
        )

    def _costs_more_or_less(self, sample: Sample) -> bool:
        old, new = self._versions.ids(sample)
        return len(old or ()) != len(new or ())

    def _by_texts(self, level: Level, shows: Callable[[Sample], bool], broken: str, valid: str) -> Consequence:
        showing, short = (list(filter(shows, texts)) for texts in (self._samples, self._short))
        if showing or short:
            kind = plural(len(self._samples), "text") if showing else plural(len(SHORT_TEXTS), "short text")
            count = len(showing or short)
            reason = f"{count:,} of {kind} {broken}"
            return self._broken(level, reason, count, self._find_witness([*short, *showing], shows))
        samples = [sample for sample in self._samples if self._versions.ids(sample)[0] is not None]
        if not samples:
            return Consequence(level, Outcome.UNKNOWN, "no text could be encoded")
        compared = f"{plural(len(samples), 'text')} compared, all with {valid}"
        if changed := _list_turned_off(self._old, self._new):
            differ = "differs" if len(changed) == 1 else "differ"
            reason = f"{' and '.join(changed)} {differ}, which a comparison turns off; without it, {compared}"
            return Consequence(level, Outcome.UNKNOWN, reason)
        return Consequence(level, Outcome.VALID, compared)

    def _find_witness(self, samples: Iterable[Sample], shows: Callable[[Sample], bool]) -> Sample | None:
        return shortest_witness(samples, lambda sample: self._versions.supports(sample) and shows(sample))

    def _broken(self, level: Level, reason: str, count: int, sample: Sample | None) -> Consequence:
        witness = sample and self._witness(sample, with_text=level is Level.TEXT)
        return Consequence(level, Outcome.BROKEN, reason, ACTIONS[level], witness, count)

    def _witness(self, sample: Sample, *, with_text: bool) -> Witness:
        if not with_text:
            return Witness(*sample, *map(_describe_ids, self._versions.ids(sample)))
        old, again = self._versions.decode_old(sample), self._versions.redecode(sample)
        new = self._versions.decode_new(sample) if again == old else again
        return Witness(*sample, _describe_bytes(old), _describe_bytes(new))


def _explain_unnamed(old: Version, new: Version, roles: Sequence[str]) -> str:
    naming = naming_side(old, new)
    reason = f"only {'the GGUF file' if naming and naming.is_gguf else 'one of the two'} names {list_items(roles)}"
    if read_stages(old) or read_stages(new):
        return f"{reason}; a tokenizer_config.json next to the tokenizer.json would, too"
    return reason


def _find_changed_ids(old: Tokenizer, new: Tokenizer) -> list[int]:
    """Return the ids whose bytes changed or that no longer exist; ids without bytes are unused and left out.

    A piece in which a character stands for no byte is the same token on both sides: no text becomes it, and only
    llama.cpp decodes it to a placeholder.
    """
    before, after = bytes_of_tokens(old), bytes_of_tokens(new)
    changed = [id for id in find_differing(before, after) if id < len(before) and before[id]]
    return [
        id
        for id in changed
        if id >= len(after) or not _stands_for_nothing(old.piece(id), new.piece(id), (before[id], after[id]))
    ]


def _stands_for_nothing(piece: str, other: str, represented: Sequence[bytes]) -> bool:
    return piece == other and count_placeholders(piece) > 0 and from_byte_level(piece) in represented


def _token_texts(tokenizer: Tokenizer, ids: Iterable[int]) -> list[str]:
    texts = [tokenizer.token_bytes(id).decode(errors="ignore") for id in ids]
    return [text for text in texts if text]


def _list_turned_off(old: Version, new: Version) -> list[str]:
    """Return which of the stages differ that are turned off in a comparison; only a tokenizer.json has them."""
    before, after = read_stages(old), read_stages(new)
    return [name for name in _TURNED_OFF if before.get(name) != after.get(name)]


def _describe_ids(ids: Sequence[int] | None) -> str:
    if ids is None:
        return "cannot encode it"
    return " ".join(map(str, ids)) or "no ids"


def _describe_bytes(data: bytes | None) -> str:
    return "cannot decode it" if data is None else data.decode("utf-8", "surrogateescape")


_PRINTABLE = [chr(code) for code in range(ord(" "), ord("~") + 1)]
SHORT_TEXTS = (*_PRINTABLE, *map("".join, product(_PRINTABLE, repeat=2)))
"""The texts of one or two printable ASCII characters, the shortest first."""
_MAX_SAMPLES = 300
"""The number of texts to return for each kind of difference."""


def find_short_samples(old: Version, new: Version) -> list[Sample]:
    """Return short texts that get other ids, and such that get another number of them.

    Only files are asked: a server or a program would need thousands of requests.
    """
    before, after = _encode(old), _encode(new)
    if before is None or after is None:
        return []
    pairs = list(zip(SHORT_TEXTS, before, after, strict=True))
    other_ids = [text for text, was, became in pairs if was != became]
    other_counts = [text for text, was, became in pairs if len(was) != len(became)]
    texts = dict.fromkeys([*other_ids[:_MAX_SAMPLES], *other_counts[:_MAX_SAMPLES]])
    return [Sample(text, add_special=False, parse_special=False) for text in texts]


def _encode(version: Version) -> Sequence[Sequence[int]] | None:
    """Return the ids of all short texts, none for a text that cannot be encoded; None if that takes too long."""
    tokenizer = version.tokenizer
    is_file = version.is_gguf or version.path is not None
    if not is_file or not isinstance(tokenizer, BatchEncoding):
        return None
    encoded = tokenizer.encode_many(SHORT_TEXTS, add_special=False, parse_special=False)
    return [() if isinstance(ids, EncodeError | UnsupportedError) else tuple(ids) for ids in encoded]
