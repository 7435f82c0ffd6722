"""Sides: what is known of a file and its reference, for the functions that find limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from tokverify.compare.damage import find_damage
from tokverify.compare.opened import Opened
from tokverify.engine.attribute import SPECIAL, Attribute
from tokverify.engine.byte_level import from_byte_level
from tokverify.engine.encoder import Encoder
from tokverify.engine.family import Ranking, Settings
from tokverify.engine.models.unigram_normalizer import replacing_normalizer
from tokverify.engine.normalizer import escape_spaces
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, PreTokenizer, splitter
from tokverify.engine.special_text import is_converted_control
from tokverify.sources.huggingface.stage import normalizer_of
from tokverify.sources.nearest_pattern import count_differences, original_name, probe_texts, surpasses
from tokverify.sources.sentencepiece.plain_piece import find_plain_pieces
from tokverify.sources.tiktoken.merges import count_unmerged
from tokverify.spec import SPECIAL_TYPES, AddedToken, TokenizerSpec, TokenType, ids_of_type
from tokverify.tokenizer import PatternHolding

Matching = bool | None
"""Whether a token is special, which means matched only with `parse_special`; None if it is never matched."""


@dataclass(frozen=True)
class Sides:
    """A file and its reference; everything is computed on first use."""

    encoder: Encoder
    facts: Opened

    @property
    def settings(self) -> Settings:
        """The effective settings of the file."""
        return self.encoder.settings

    @property
    def spec(self) -> TokenizerSpec:
        """What the file declares."""
        return self.encoder.spec

    @cached_property
    def added(self) -> Mapping[int, AddedToken]:
        """The tokens that llama.cpp matches in texts, by id."""
        return {token.id: token for token in self.settings.added_tokens}

    @cached_property
    def reference_matching(self) -> Callable[[int], Matching] | None:
        """How the reference matches a token; None if it does not say."""
        added = self.facts.added_tokens
        if added is not None:
            specials = {id: token.special for id, token in added.items()}
            return specials.get
        types = self._reference_types
        if types is None:
            return None
        return lambda id: matching_of_type(types[id]) if id < len(types) else None

    @cached_property
    def _reference_types(self) -> Sequence[int] | None:
        """The types that the reference declares, which take long to find; one that lists added tokens is not asked."""
        types, extended = self.facts.types, self.facts.extended_spec
        # Files beside a sentencepiece model declare further tokens, which its library knows nothing of.
        return [*types, *(extended.types or ())[len(types) :]] if types is not None and extended else types

    def matching(self, id: int) -> Matching:
        """Return how llama.cpp matches a token."""
        return matching_of_attribute(self.settings.attributes[id])

    def declared_matching(self, id: int) -> Matching:
        """Return how the file says that a token is matched."""
        types = self.spec.types
        return matching_of_type(types[id]) if types is not None and id < len(types) else None

    @cached_property
    def converted_markers(self) -> set[int]:
        """The tokens that llama.cpp's converter makes control tokens, although the reference always matches them."""
        reference = self.reference_matching
        # What a tokenizer_config.json calls special is converted as such, even if a sentencepiece model does not.
        contradicted = self.facts.contradicted_tokens
        return {
            id
            for id, token in self.added.items()
            if token.special and self.declared_matching(id) and reference is not None and reference(id) is False
            if is_converted_control(token.text) or id in contradicted
        }

    @cached_property
    def always_matched(self) -> list[int]:
        """The tokens that are matched in every text as the file declares them; none unless the reference does the same.

        llama.cpp may override their types.
        """
        declared = set(ids_of_type(self.spec.types, TokenType.USER_DEFINED))
        # Those that only the files beside the reference declare are matched before it sees a text.
        size, added = self.facts.listed_size, self.facts.added_tokens
        own = {id: token for id, token in self.added.items() if id < size}
        if added is None:
            matched = ids_of_type(self._reference_types, TokenType.USER_DEFINED)
        else:
            matched = [id for id, token in added.items() if not token.special]
        theirs = {id for id in matched if id < size}
        if self.facts.gguf_spec and self.settings.family.ranking is Ranking.SCORE:
            # The model of the file makes the same tokens of these.
            theirs -= {id for id in find_plain_pieces(self.facts.gguf_spec) if id not in own}
        converted = self.converted_markers
        ours = [id for id, token in own.items() if not token.special or id in declared or id in converted]
        return ours if theirs.issuperset(ours) and len(theirs) == len(ours) else []

    @cached_property
    def replaces_alike(self) -> Callable[[str], bool]:
        """Whether the file's charsmap and the reference's replace the same in a text; what happens to spaces aside."""
        document = self.facts.document
        stages = [stage for stage in document.normalizer if stage["type"] == "Precompiled"] if document else []
        replace_by_reference = normalizer_of(stages).normalize_str
        own = replacing_normalizer(self.spec.charsmap or b"")
        # Two limits ask about each text, one after the other.
        return lru_cache(maxsize=1)(lambda text: own.normalize(text) == escape_spaces(replace_by_reference(text)))

    @cached_property
    def split(self) -> Callable[[str], list[str]] | None:
        """How the reference splits a text into pre-tokens for BPE; None if that is not known."""
        return self.facts.split if self.settings.family.is_bpe else None

    @cached_property
    def probe_splits(self) -> Sequence[tuple[str, list[str]]]:
        """The texts that tell pre-tokenizers apart, and how the reference splits them; none if that is not known."""
        split = self.split
        return [(text, split(text)) for text in probe_texts()] if split else []

    @cached_property
    def split_differences(self) -> int:
        """How many of these texts the file's pre-tokenizer splits in another way."""
        return count_differences(PRE_TOKENIZERS[self.settings.pre], self.probe_splits, None) if self.split else 0

    @property
    def nearest(self) -> bool:
        """Whether no other of llama.cpp's pre-tokenizers is nearer to what the reference does than the file's."""
        # Most files name a pattern that is exact, and then the others need not be compiled.
        is_exact = self.split is not None and not self.split_differences
        return (is_exact and not self._is_wrong) or self._rivals is not None

    @property
    def _is_wrong(self) -> bool:
        """Whether the file's pre-tokenizer is wrong about `ignore_merges`."""
        wanted = self.facts.ignore_merges
        return wanted is not None and PRE_TOKENIZERS[self.settings.pre].ignore_merges != wanted

    def splits_as_rival(self, text: str) -> bool:
        """Whether another pre-tokenizer that is as near as the file's splits a text as the reference does."""
        return any(splitter(rival)(text) == self.split(text) for rival in self._rivals or () if self.split)

    @cached_property
    def _rivals(self) -> Sequence[PreTokenizer] | None:
        """The pre-tokenizers that are as near to what the reference does as the file's; None if one is nearer.

        One is nearer if it splits fewer texts differently from the reference without being wrong about
        `ignore_merges`, or is right about that without splitting more texts differently; or if it splits all of them
        as the reference does, and `ignore_merges` makes no difference. The name that llama.cpp's converter gives the
        reference's pattern is the nearest unless another one is right wherever this one is, and elsewhere, too.
        """
        wanted, wanted_splits, most = self.facts.ignore_merges, self.probe_splits, self.split_differences
        if self.split is None:
            return None
        own, is_wrong = PRE_TOKENIZERS[self.settings.pre], self._is_wrong
        original = original_name([pieces for _, pieces in wanted_splits]) if most else None
        converted = PRE_TOKENIZERS[original].patterns if original else None
        rivals: list[PreTokenizer] = []
        for other in {(each.patterns, each.ignore_merges): each for each in PRE_TOKENIZERS.values()}.values():
            if other.byte_level != own.byte_level:
                continue
            other_is_wrong = wanted is not None and other.ignore_merges != wanted
            if other_is_wrong and not is_wrong:
                if most and not count_differences(other, wanted_splits, 0) and self._merges_suffice:
                    return None
                continue
            count = count_differences(other, wanted_splits, most)
            is_nearer = count < most
            if converted == other.patterns != own.patterns:
                is_nearer = not surpasses(own, other, wanted_splits)
            elif converted == own.patterns:
                is_nearer = is_nearer and surpasses(other, own, wanted_splits)
            if is_nearer or (count == most and is_wrong and not other_is_wrong):
                return None
            if count == most and other.patterns != own.patterns:
                rivals.append(other)
        return rivals

    @cached_property
    def loses_tokens(self) -> bool:
        """Whether the reference splits its own tokens, as it does if a library has lost a stage."""
        return any(find_damage(self.encoder, self.facts))

    @cached_property
    def _merges_suffice(self) -> bool:
        """Whether it makes no difference that a reference with ranks looks up whole pre-tokens first."""
        if not isinstance(self.facts.tokenizer, PatternHolding):
            return False
        listed = zip(self.spec.tokens, self.spec.types or (), strict=False)
        ranks = {from_byte_level(piece): id for id, (piece, type) in enumerate(listed) if type == TokenType.NORMAL}
        return bool(ranks) and not count_unmerged(ranks)

    @property
    def looks_up_pre_tokens(self) -> bool:
        """Whether llama.cpp's BPE looks up a whole pre-token before merging."""
        return self.settings.family.is_bpe and PRE_TOKENIZERS[self.settings.pre].ignore_merges

    @cached_property
    def own_split(self) -> Callable[[str], list[str]]:
        """How llama.cpp splits a text into pre-tokens for BPE."""
        return splitter(PRE_TOKENIZERS[self.settings.pre])


def matching_of_type(type: int) -> Matching:
    """Return how tokens of a declared type are matched."""
    if type in SPECIAL_TYPES:
        return True
    return False if type == TokenType.USER_DEFINED else None


def matching_of_attribute(attribute: int) -> Matching:
    """Return how tokens with an effective attribute are matched."""
    if attribute & SPECIAL:
        return True
    return False if attribute & Attribute.USER_DEFINED.value else None
