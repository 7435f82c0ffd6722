"""Deviations: what a reference may do that GGUF cannot express; encoders that do it anyway prove a cause."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tokverify.engine.added_token import sort_longest_first
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import NATIVE
from tokverify.engine.family import Settings
from tokverify.engine.pre_tokenizer import PreTokenizer
from tokverify.spec import AddedToken, TokenizerSpec, TokenType, ids_of_type

_SINGLE = (
    "rewrite", "split_pre_tokens", "flags", "leftmost", "byte_fallback", "split_words", "longest_word", "plain_marker",
    "ignore_merges", "fuse_unknown", "join_words", "prefix", "user_defined_inside", "single_precision", "around",
    "scores", "ignore_charsmap", "keep_spaces", "missing", "keeps_marker", "merge_ranks", "normalized_tokens", "cut",
)  # fmt: skip
"""The fields that cannot be combined; the later deviation takes precedence."""

_BESIDE_MODEL = (
    "normalizers", "specials", "texts", "decoded", "flags", "leftmost", "prefix", "normalized_tokens", "rewrite",
    "around", "join_words", "cut",
)  # fmt: skip
"""The fields that do not concern the model."""


@dataclass(frozen=True, slots=True)
class MatchFlags:
    """How an added token is matched in HuggingFace tokenizers, beyond what GGUF can say."""

    lstrip: bool = False
    """Whether a match includes the whitespace before it."""
    rstrip: bool = False
    """Whether a match includes the whitespace after it."""
    single_word: bool = False
    """Whether it is matched only where no letter, digit or underscore touches it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """How an encoder deviates from llama.cpp; empty fields and None mean that it does not."""

    rewrite: Callable[[str], str] | None = None
    """Applied to the whole text, before added tokens are looked for."""
    normalizers: tuple[Callable[[str], str], ...] = ()
    """Applied in turn to the text between added tokens, before anything else."""
    split_words: Callable[[str], list[str]] | None = None
    """Returns the words of a text, in place of llama.cpp's clean-up for BERT."""
    longest_word: int | None = None
    """WordPiece treats words of more characters as unknown."""
    plain_marker: bool | None = None
    """WordPiece treats a `▁` in a word as an ordinary character that does not begin another word."""
    ignore_merges: bool | None = None
    """Whether BPE encodes a pre-token that is a piece as one token."""
    missing: str | None = None
    """The piece for which BPE takes each character that is no piece, before it merges; if empty, it drops these."""
    fuse_unknown: bool | None = None
    """If set, text that would be encoded as bytes is unknown: one token for a whole run (True) or per character.

    Beside `missing`: whether a run of characters that are no pieces becomes one piece.
    """
    merge_ranks: Mapping[str, int] | None = None
    """If set, SPM merges these pairs, by `left right`, and no others, in the order of their ranks."""
    byte_fallback: bool | None = None
    """If True, the unigram model encodes what is unknown as bytes."""
    single_precision: bool | None = None
    """If True, the unigram model rounds each sum of scores to single precision."""
    scores: Sequence[float] | None = None
    """The scores of the unigram model by id, in double precision, as far as they are listed."""
    ignore_charsmap: bool | None = None
    """If True, the unigram model does not apply the charsmap; a normalizer does what it stands for."""
    keep_spaces: bool | None = None
    """If True, the unigram model merges and removes no spaces; a normalizer does what the reference does."""
    keeps_marker: bool | None = None
    """If True, the charsmap of the unigram model does not apply to a literal `▁`."""
    whole_pieces: bool | None = None
    """If True, the charsmap of the unigram model also applies to what only begins like a user-defined piece."""
    user_defined_inside: bool | None = None
    """If True, the unigram model finds user-defined pieces in the normalized text, which is not split at them."""
    usable: Mapping[int, bool] = field(default_factory=dict)
    """Whether the model itself uses tokens, by id, where that is not what their types imply."""
    prefix: Callable[[str, bool], bool] | None = None
    """Returns whether a space is added before a normalized stretch of text, given also whether it begins the text.

    It is asked about the empty stretch before an added token that begins a text, too.
    """
    split_pre_tokens: Callable[[str], list[str]] | None = None
    """Returns the pre-tokens of a text, in place of the patterns of BPE's pre-tokenizer."""
    flags: Mapping[int, MatchFlags] | None = None
    """How added tokens are matched, by id; implies `leftmost`."""
    normalized_tokens: tuple[AddedToken, ...] | None = None
    """Added tokens that are looked for in normalized text, with their normalized texts; others are found before."""
    leftmost: bool | None = None
    """If True, added tokens are found from left to right, the longest at each position."""
    specials: Mapping[int, bool | None] = field(default_factory=dict)
    """Whether tokens are special, which means matched only with `parse_special`, by id; None for never matched."""
    pieces: Mapping[int, str] = field(default_factory=dict)
    """What pieces are, by id, where that is not what llama.cpp reads."""
    around: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """The ids that are added before and after a text."""
    cut: tuple[int, int] | None = None
    """How many ids are returned at most, and how many of them are those after a text, if any are added."""
    texts: Mapping[int, str] = field(default_factory=dict)
    """The texts for which added tokens are looked, by id, where they are not what the file stores or it has none."""
    decoded: Mapping[int, bytes] = field(default_factory=dict)
    """What ids decode to; if that is empty, the token is ignored."""
    join_words: Callable[[Iterable[tuple[bytes, bool]]], bytes] | None = None
    """Joins the decoded tokens, given their bytes and whether each represents its text verbatim."""

    def __bool__(self) -> bool:
        return self != Deviation()

    def combine(self, other: Deviation) -> Deviation:
        """Combine two deviations; if they contradict each other, `other` takes precedence."""
        combined = replace(
            self,
            normalizers=self.normalizers + other.normalizers,
            specials={**self.specials, **other.specials},
            texts={**self.texts, **other.texts},
            decoded={**self.decoded, **other.decoded},
            usable={**self.usable, **other.usable},
            pieces={**self.pieces, **other.pieces},
        )
        for name in _SINGLE:
            if getattr(other, name) is not None:
                combined = replace(combined, **{name: getattr(other, name)})
        return combined

    @property
    def only_changes_added_tokens(self) -> bool:
        """Whether nothing else is changed than which added tokens there are."""
        return replace(self, specials={}, texts={}) == Deviation()

    @property
    def keeps_model(self) -> bool:
        """Whether nothing changes but how a text gets to the model, and what becomes of the ids."""
        return Deviation(**{name: getattr(self, name) for name in _BESIDE_MODEL}) == self

    @property
    def keeps_merging(self) -> bool:
        """Whether nothing changes in a byte-pair model but which pre-tokens it gets, and which of them it merges."""
        return replace(self, split_pre_tokens=None, ignore_merges=None).keeps_model

    @property
    def changes_unigram(self) -> bool:
        """Whether something changes in a unigram model, of which another one is then made."""
        return any(
            (
                self.byte_fallback,
                self.single_precision,
                self.user_defined_inside,
                self.usable,
                self.scores,
                self.ignore_charsmap,
                self.keep_spaces,
                self.keeps_marker,
                self.whole_pieces,
            )
        )

    def is_native_like(self, base: Encoder) -> bool:
        """Whether the native engine can encode with it, if it encodes for `base`, a similar tokenizer without it."""
        has_all = all(id < len(base.settings.pieces) for id in self.texts)
        return base.engine.name == NATIVE and self.only_changes_added_tokens and has_all

    def change_pre_tokenizer(self, own: PreTokenizer) -> PreTokenizer:
        """Return a pre-tokenizer that decides as `ignore_merges` says; `split_pre_tokens` is not part of it."""
        return own if self.ignore_merges is None else replace(own, ignore_merges=self.ignore_merges)

    def change_added_tokens(self, spec: TokenizerSpec, settings: Settings) -> tuple[AddedToken, ...]:
        """Return added tokens as `specials` and `flags` specify, longest first."""
        tokens = {token.id: token for token in settings.added_tokens}
        if self.user_defined_inside:
            # Also those that llama.cpp makes control tokens because of their texts.
            inside = set(ids_of_type(spec.types, TokenType.USER_DEFINED))
            tokens = {id: token for id, token in tokens.items() if token.special and id not in inside}
        for id, special in self.specials.items():
            text = self.texts.get(id) or (settings.pieces[id] if id < len(settings.pieces) else "")
            # Without the change that adds a token, there is none.
            if special is None or not text:
                tokens.pop(id, None)
            elif id not in tokens or tokens[id].special != special:
                tokens[id] = replace(tokens.get(id) or AddedToken(id, text, special), special=special)
        for id, text in self.texts.items():
            if id in tokens:
                tokens[id] = replace(tokens[id], text=text)
        for id, flags in (self.flags or {}).items():
            token = tokens.get(id)
            # Most of thousands are as they were, and to copy one takes long.
            if token and (token.lstrip, token.rstrip) != (flags.lstrip, flags.rstrip):
                tokens[id] = replace(token, lstrip=flags.lstrip, rstrip=flags.rstrip)
        if not self.texts and tokens.keys() == {token.id for token in settings.added_tokens}:
            return tuple(tokens[token.id] for token in settings.added_tokens)
        return tuple(
            tokens[id] for id in sort_longest_first(sorted(tokens), {id: token.text for id, token in tokens.items()})
        )
