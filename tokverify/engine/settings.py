"""Settings: what llama.cpp uses after it has loaded a declared tokenizer.

llama.cpp fills in defaults by model and pre-tokenizer, and overrides declared values by the texts of tokens. All of
that affects the ids, so it is applied here, and each override is recorded for reports.

Source: `llama_vocab::impl::load` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

from tokverify.engine.added_token import sort_longest_first
from tokverify.engine.attribute import SPECIAL, Attribute, Attributes, find_bits, find_ids
from tokverify.engine.build import newest_build, selected_build
from tokverify.engine.families import FAMILIES, find_family
from tokverify.engine.family import NO_VOCABULARY, STRICT_UTF8_SINCE, Family, Settings
from tokverify.engine.joined_strings import JoinedStrings
from tokverify.engine.override import Override
from tokverify.engine.piece_index import index_pieces
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, PreTokenizer
from tokverify.engine.requirement import read_by
from tokverify.engine.space_mark import describe_foreign_spaces
from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.spec import AddedToken, TokenizerSpec, TokenType
from tokverify.text.wording import find_similar_names, list_alternatives, plural, short_repr

KEEP_SPACE_AFTER = ("<unk>", "<s>", "<|endoftext|>")
"""The tokens of a Phi-3 model that do not strip the whitespace after them."""
_PHI_3 = ("phi-3", "phi3")
_MODERN_BERT = "modern-bert"
NAMES_THAT_STRIP = (*_PHI_3, _MODERN_BERT)
"""llama.cpp strips spaces around added tokens if `general.name` contains one of these, in any case."""
TELLING_NAMES = (_PHI_3[0], _MODERN_BERT)
"""One of these names for each way in which it does."""
_FEWEST_CUT = 8
"""So many duplicates of one length show that tokens were cut off."""
_MAX_ID = 0xFFFFFFFF
"""The highest id that a GGUF file can declare for a special token."""


def resolve(spec: TokenizerSpec, build: int | None = None) -> Settings:
    """Derive the effective settings of `spec` in a build of llama.cpp, by default in the selected one.

    Raises:
        UnsupportedError: If tokverify, or that build, does not know the model, the pre-tokenizer or the architecture,
            or it is not known what that build does.
        BrokenFileError: If llama.cpp refuses the file, or a part does not match the size of the vocabulary.
    """
    family = find_family(spec.model)
    if spec.model in NO_VOCABULARY:
        raise UnsupportedError(f"tokenizer.ggml.model is {short_repr(spec.model)}: {NO_VOCABULARY[spec.model]}")
    if family is None:
        raise UnsupportedError(
            f"tokenizer.ggml.model is {short_repr(spec.model)}; {near_matches(spec.model, FAMILIES)}"
        )
    if build is None:
        build = selected_build()
    if build is not None:
        spec = read_by(spec, build)
    loader = _Loader(spec, family, newest_build() if build is None else build)
    _check_sizes(spec)
    return loader.settings()


def without_ignored(spec: TokenizerSpec) -> TokenizerSpec:
    """Return what a file declares, without the normalization that llama.cpp ignores for its model."""
    family = find_family(spec.model)
    if family is None or family.uses_charsmap:
        return spec
    return replace(spec, charsmap=None, remove_extra_whitespaces=None)


def _check_sizes(spec: TokenizerSpec) -> None:
    """Check a spec made by Python code against the number of tokens; one from a file was checked by the reader.

    Raises:
        BrokenFileError: If there are too few or too many scores or types, a score is not a number, or an id is negative
            or does not fit into a file.
    """
    count = len(spec.tokens)
    for name, numbers in (("scores", spec.scores), ("types", spec.types)):
        if numbers is not None and len(numbers) not in {0, count}:
            raise BrokenFileError(f"there are {len(numbers):,} {name} for {count:,} tokens; give one for each")
    # The sum is NaN if any score is, and also for infinite scores of both signs.
    if spec.scores is not None and math.isnan(sum(spec.scores)):
        _require_numbers(spec.scores)
    for role, id in spec.special_ids.items():
        if not 0 <= id <= _MAX_ID:
            raise BrokenFileError(f"the {role} id {id} is out of range for {count:,} tokens; name one of them, or none")


def _require_numbers(scores: Sequence[float]) -> None:
    for id, score in enumerate(scores):
        if math.isnan(score):
            raise BrokenFileError(f"the score of id {id} is {score}, which cannot be ranked; convert the model again")


class _Loader:
    """The steps of loading, in llama.cpp's order; each records its overrides."""

    def __init__(self, spec: TokenizerSpec, family: Family, build: int) -> None:
        self.spec = spec
        self.build = build
        self.family = family
        self.overrides: list[Override] = []
        self.pieces = _pieces(spec.tokens)
        self.ids = index_pieces(self.pieces)
        if len(self.ids) != len(self.pieces):
            raise BrokenFileError(_duplicate_message(self.pieces, spec))
        self.pieces = family.displayed_pieces(self.pieces, self.ids)

    def settings(self) -> Settings:
        name, pre = self._pre_tokenizer()
        escape_whitespaces = self.family.escape_whitespaces or pre.escape_whitespaces
        special_ids = self._special_ids(pre)
        attributes = Attributes(self.spec.types, self.pieces, self.ids, self.build)
        eog_ids = {special_ids[role] for role in ("eos", "eot", "eom") if role in special_ids}
        if self.family.in_llama_cpp:
            eog_ids = attributes.override(special_ids)
            attributes.check_byte_tokens(self.family.refuses_byte_token)
            decodes = partial(self.family.decodes_characters, escape_whitespaces=escape_whitespaces)
            if self.build < STRICT_UTF8_SINCE:
                attributes.check_characters(decodes)
            attributes.check_decoded_size(decodes)
        self.overrides += attributes.overrides
        lowercase = self._flag("lowercase", self.family.lowercase and not pre.keeps_case)
        return Settings(
            family=self.family,
            build=self.build,
            pre=name,
            pieces=self.pieces,
            ids=self.ids,
            attributes=bytes(attributes.values),
            added_tokens=self._added_tokens(attributes.values),
            special_ids=special_ids,
            eog_ids=frozenset(eog_ids),
            add_bos=self._add_bos(name, pre),
            add_eos=self._flag("add_eos", self.family.add_eos),
            add_sep=self._flag("add_sep", self.family.add_sep or pre.add_sep),
            add_space_prefix=self._flag("add_space_prefix", self.family.add_space_prefix),
            escape_whitespaces=escape_whitespaces,
            remove_extra_whitespaces=bool(self.spec.remove_extra_whitespaces),
            clean_spaces=self.family.clean_spaces and pre.clean_spaces,
            ignore_merges=pre.ignore_merges,
            lowercase=lowercase,
            strip_accents=self._flag("strip_accents", lowercase and self.family.strips_accents_if_lowercase),
            nfc=self._nfc(),
            overrides=tuple(self.overrides),
        )

    def _override(self, setting: str, declared: object, effective: object, reason: str) -> None:
        self.overrides.append(Override(setting, declared, effective, reason))

    def _pre_tokenizer(self) -> tuple[str, PreTokenizer]:
        declared = self.spec.pre
        if not self.family.uses_pre_tokenizer:
            return self.family.pre or "default", PreTokenizer((), ignore_merges=self.family.ignore_merges)
        name = self.family.pre or declared or "default"
        if name not in PRE_TOKENIZERS:
            raise UnsupportedError(f"tokenizer.ggml.pre is {short_repr(name)}; {near_matches(name, PRE_TOKENIZERS)}")
        if name != declared:
            reason = f"the model {self.spec.model} implies it" if self.family.pre else "the file names none"
            self._override("pre", declared, name, reason)
        return name, PRE_TOKENIZERS[name]

    def _flag(self, setting: str, default: bool) -> bool:
        declared: bool | None = getattr(self.spec, setting)
        if declared is None and default:
            self._override(setting, None, default, f"llama.cpp's default for the model {self.spec.model}")
        return default if declared is None else declared

    def _nfc(self) -> bool:
        normalizes = "nfc" in self.family.flags
        if self.spec.nfc and not normalizes:
            self._override("nfc", True, False, f"llama.cpp does not normalize for the model {self.spec.model}")
        return bool(self.spec.nfc) and normalizes

    def _add_bos(self, name: str, pre: PreTokenizer) -> bool:
        if pre.always_bos:
            if not self.spec.add_bos:
                self._override("add_bos", self.spec.add_bos, True, f"always on for the pre-tokenizer {name}")
            return True
        return self._flag("add_bos", self.family.add_bos or pre.add_bos)

    def _special_ids(self, pre: PreTokenizer) -> dict[str, int]:
        """Return the declared ids, and llama.cpp's defaults for roles without an id that is in range."""
        size, declared = len(self.pieces), self.spec.special_ids
        ids = {role: id for role, id in self.family.special_ids.items() if id < size and (pre.has_bos or role != "bos")}
        for role, id in ids.items():
            if declared.get(role, size) >= size:
                reason = f"llama.cpp's default for the model {self.spec.model}: {self.pieces[id]!r}"
                self._override(f"{role} id", declared.get(role), id, reason)
        for role, id in declared.items():
            if id < size:
                ids[role] = id
            elif role not in ids:
                self._override(f"{role} id", id, None, f"llama.cpp ignores what is out of range for {size:,} tokens")
        return ids

    def _added_tokens(self, attributes: bytes | bytearray) -> tuple[AddedToken, ...]:
        ids = find_bits(attributes, SPECIAL | Attribute.USER_DEFINED.value)
        # There can be thousands, and to look up each of them takes long.
        found = self.pieces.select(ids) if isinstance(self.pieces, JoinedStrings) else [self.pieces[id] for id in ids]
        texts = dict(zip(ids, found, strict=True))
        lstrip, rstrip = self._find_stripping(ids) if self.family.in_llama_cpp else (set(), set())
        return tuple(
            AddedToken(id, texts[id], bool(attributes[id] & SPECIAL), id in lstrip, id in rstrip)
            for id in sort_longest_first(ids, texts)
        )

    def _find_stripping(self, added: Sequence[int]) -> tuple[set[int], set[int]]:
        """Return the ids whose match strips the whitespace before it, and after it; llama.cpp decides by names."""
        pre, architecture = self.spec.pre or "", self.spec.general.get("architecture", "")
        name = self.spec.general.get("name", "").lower()
        lstrip: set[int] = set()
        rstrip: set[int] = set()
        if _contains_any(pre, "jina-v2-de", "jina-v2-es", "jina-v2-code", "mmbert") or _contains_any(
            architecture, "nomic-bert-moe", "jina-bert-v3"
        ):
            lstrip.update(find_ids(self.ids, ["<mask>"]))
        elif _contains_any(name, *_PHI_3):
            missing = [text for text in ("</s>", *KEEP_SPACE_AFTER) if text not in self.ids]
            if missing:
                raise BrokenFileError(
                    f"general.name {short_repr(name)} makes llama.cpp look for the token {missing[0]!r}, "
                    "which is missing; unless it is a Phi-3 model that lost it, use a name without 'phi3' and 'phi-3'"
                )
            rstrip = {*added, self.ids["</s>"]} - set(find_ids(self.ids, KEEP_SPACE_AFTER))
        elif _MODERN_BERT in name:
            lstrip.update(find_ids(self.ids, ["[MASK]"]))
        for side, ids in (("lstrip", lstrip), ("rstrip", rstrip)):
            if ids:
                self._override(f"{side} of {len(ids)} added tokens", None, True, "by the model's name")
        return lstrip, rstrip


def _pieces(tokens: Sequence[str]) -> Sequence[str]:
    """Return the tokens as llama.cpp reads them: truncated at the first NUL, and never empty."""
    if isinstance(tokens, JoinedStrings) and not tokens.has_empty:
        return tokens
    pieces = list(tokens)
    if not all(pieces) or "\0".join(pieces).count("\0") != len(pieces) - 1:
        for id in [id for id, token in enumerate(pieces) if not token or "\0" in token]:
            pieces[id] = pieces[id].partition("\0")[0] or f"[EMPTY_{id}]"
    try:
        return JoinedStrings.of(pieces)
    except UnicodeEncodeError:
        return pieces


def _duplicate_message(texts: Sequence[str], spec: TokenizerSpec) -> str:
    ids = {text: id for id, text in enumerate(texts)}
    second = next(id for id, text in enumerate(texts) if ids[text] != id)
    text, spaces = texts[second], describe_foreign_spaces(spec)
    return (
        f"tokenizer.ggml.tokens contains {short_repr(text)} twice, as ids {second} and {ids[text]} "
        f"({plural(len(texts) - len(ids), 'duplicate')} in all); llama.cpp aborts on such a file"
        f"{f'; {spaces}, which its model uses for a space' if spaces else _describe_cut(texts, spec)}"
    )


def _describe_cut(texts: Sequence[str], spec: TokenizerSpec) -> str:
    """Say that tokens were cut off, if all duplicates are as long as the longest ordinary tokens; empty otherwise."""
    duplicates = {text for text, count in Counter(texts).items() if count > 1}
    types = spec.types or [TokenType.NORMAL] * len(texts)
    longest = max((len(text) for text, type in zip(texts, types, strict=False) if type == TokenType.NORMAL), default=0)
    if len(duplicates) < _FEWEST_CUT or {*map(len, duplicates)} != {longest}:
        return ""
    return f"; all of these have {longest} characters, and no ordinary token has more, as if they were cut off"


def _contains_any(text: str, *parts: str) -> bool:
    return any(part in text for part in parts)


def near_matches(name: str, known: Collection[str]) -> str:
    """Suggest known names that resemble `name`, as the end of an error message."""
    near = find_similar_names(name, known)
    return f"did you mean {list_alternatives(near)}?" if near else f"tokverify knows {', '.join(known)}"
