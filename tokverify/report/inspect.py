"""Inspection: an overview of a tokenizer, and a list of its tokens, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tokverify.tokenizer import HexBytes


@dataclass(frozen=True, slots=True)
class TokenRun:
    """Consecutive ids of tokens of one type and one kind."""

    first: int
    """The first id."""
    last: int
    """The last id, inclusive."""
    first_piece: str
    """The piece of the first id."""
    last_piece: str
    """The piece of the last id."""
    repeated: str | None = None
    """The character that all pieces repeat, such as a space; None for other pieces."""


@dataclass(frozen=True, slots=True)
class TypeSummary:
    """The tokens of one declared type."""

    name: str
    """Such as `NORMAL`; `undeclared` where the file declares no type."""
    count: int
    """How many tokens have it."""
    runs: tuple[TokenRun, ...]
    """Where they are."""


@dataclass(frozen=True, slots=True)
class SpecialToken:
    """The token of a role such as `bos`."""

    role: str
    """The role, such as `bos`."""
    id: int
    """Its id."""
    piece: str
    """Empty if there is no such token."""
    declared: bool
    """Whether the file declares it."""
    reason: str = ""
    """Why llama.cpp uses this token, where the file does not declare it."""


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag of the tokenizer."""

    name: str
    """Such as `add_bos`."""
    declared: bool | None
    """None: not declared."""
    effective: bool | None
    """None: unknown, because the tokenizer cannot be loaded."""
    reason: str = ""
    """Why the two differ."""


@dataclass(frozen=True, slots=True)
class OverriddenSetting:
    """A setting for which llama.cpp uses another value than the declared one."""

    setting: str
    """What is overridden."""
    declared: object
    """None: not declared."""
    effective: object
    reason: str
    """Why llama.cpp does so."""
    sentence: str
    """All of this in words."""


@dataclass(frozen=True, slots=True)
class EogToken:
    """A token that ends a generation."""

    id: int
    """Its id."""
    piece: str
    """The stored string."""


@dataclass(frozen=True, slots=True)
class CategorySummary:
    """The tokens of one category."""

    name: str
    """The category."""
    count: int
    """How many tokens it has."""
    first: int
    """Its lowest id."""
    last: int
    """Its highest id."""


@dataclass(frozen=True, slots=True)
class WorstCase:
    """The most tokens that a text can need; a word has no limit, because it can have any length."""

    per_byte: int
    """Tokens per byte of UTF-8."""
    per_character: int
    """Tokens per character."""
    around: int
    """How many more a text needs as a whole: those that `add_special` adds, and the one of a space before it."""
    text: str
    """A text that needs as many; empty if none was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """An overview of a tokenizer."""

    source: str = ""
    """The file."""
    model: str
    """`tokenizer.ggml.model`."""
    in_llama_cpp: bool = True
    """Whether llama.cpp supports the model; False for tokverify's own."""
    needs: str = ""
    """Which build of llama.cpp reads the whole file, in words; empty if every known one does."""
    changes: str = ""
    """Before which builds that read it ids were others, and why, in words."""
    tokens: int
    """The size of the vocabulary."""
    types: tuple[TypeSummary, ...]
    """The tokens by declared type."""
    algorithm: str | None = None
    """None if the tokenizer cannot be loaded."""
    pre_declared: str | None = None
    """The name of the pre-tokenizer in the file; None without one."""
    pre_effective: str | None = None
    """None if the tokenizer cannot be loaded; empty for models without a pre-tokenizer."""
    merges: int | None = None
    """The number of merges; None without a list of them."""
    scores: tuple[float, float] | None = None
    """The lowest and the highest score."""
    charsmap_bytes: int | None = None
    """The size of the charsmap; None without one."""
    charsmap_entries: int | None = None
    """The number of entries in the array of the charsmap."""
    categories: tuple[CategorySummary, ...] = ()
    """What kinds of things the tokens stand for; empty where the tokenizer knows no kinds."""
    added_tokens: int = 0
    """The number of tokens that are matched in texts before the model runs."""
    worst_case: WorstCase | None = None
    """None where it is not proven."""
    special: tuple[SpecialToken, ...] = ()
    """The tokens of roles such as BOS."""
    eog: tuple[EogToken, ...] = ()
    """The tokens that end a generation."""
    flags: tuple[Flag, ...] = ()
    """Flags such as `add_bos`, as declared and as used."""
    overrides: tuple[OverriddenSetting, ...] = ()
    """What llama.cpp uses instead of what is declared."""
    fingerprint: str | None = None
    """None if the tokenizer cannot be loaded."""
    chat_template_length: int | None = None
    """In characters."""
    has_huggingface_json: bool = False
    """Whether the file contains the model's tokenizer.json."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """What the file says about its origin: key without `general.` -> value."""
    refusal: str | None = None
    """Why the tokenizer cannot be loaded."""


@dataclass(frozen=True, slots=True)
class TokenDetails:
    """A token with everything the file says about it."""

    id: int
    """Its place in the vocabulary."""
    piece: str
    """The stored string."""
    token_bytes: HexBytes | None
    """None if the tokenizer cannot be loaded."""
    declared: str | None
    """Its declared type."""
    effective: str | None
    """Its effective type; None if the tokenizer cannot be loaded."""
    score: float | None
    """The score; None if the file has no scores."""
    category: str = ""
    """What kind of thing it stands for, such as `keywords`; empty where the tokenizer knows no kinds."""


@dataclass(frozen=True, slots=True)
class TokenList:
    """The tokens that a selection matches."""

    tokens: tuple[TokenDetails, ...]
    """The tokens."""
