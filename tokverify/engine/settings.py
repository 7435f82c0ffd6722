"""Settings: what llama.cpp makes of a declared tokenizer when it loads it.

llama.cpp fills in defaults by model and pre-tokenizer and overrides what a file says by the text of its tokens.
All of that decides the ids, so it is applied here, and each override is kept as data to be shown.

Source: `llama_vocab::impl::load` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from tokverify.engine.attribute import Attribute, Attributes, present
from tokverify.engine.family import BYTE_PAIR_ALGORITHMS, FAMILIES, NO_VOCABULARY, Family
from tokverify.engine.override import Override
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, PreTokenizer
from tokverify.engine.special_text import KMER_MARKER
from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.spec import AddedToken
from tokverify.text.utf8 import to_bytes

if TYPE_CHECKING:
    from tokverify.spec import TokenizerSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The effective settings of a tokenizer.

    `algorithm` is a key of `MODELS`. `pieces` and `attributes` are indexed by id; pieces are the stored strings as
    llama.cpp reads them. `ids` maps the strings that texts are looked up by to ids, in their order; it is the inverse
    of `pieces`, except that `hybriddna` stores k-mers with a marker.
    `added_tokens` are in the order llama.cpp splits the text at them: longest first, in bytes. `special_ids`
    has no entry for a role that nothing fills. `eog_ids` end a generation.
    """

    algorithm: str
    pre: str
    pieces: Sequence[str]
    ids: Mapping[str, int]
    attributes: Sequence[int]
    added_tokens: tuple[AddedToken, ...]
    special_ids: Mapping[str, int]
    eog_ids: frozenset[int]
    add_bos: bool
    add_eos: bool
    add_sep: bool
    add_space_prefix: bool
    escape_whitespaces: bool
    remove_extra_whitespaces: bool
    clean_spaces: bool
    ignore_merges: bool
    lowercase: bool
    strip_accents: bool
    overrides: tuple[Override, ...] = ()


KEEP_SPACE_AFTER = ("<unk>", "<s>", "<|endoftext|>")
"""The tokens of a Phi-3 model that do not swallow the whitespace after them."""


def resolve(spec: TokenizerSpec) -> Settings:
    """Work out the effective settings of `spec`.

    Raises:
        UnsupportedError: For a model or pre-tokenizer that tokverify does not know.
        BrokenFileError: Where llama.cpp refuses the file, or something is of another size than the vocabulary.
    """
    family = FAMILIES.get(spec.model)
    if spec.model in NO_VOCABULARY:
        raise UnsupportedError(f"tokenizer.ggml.model is {spec.model!r}: this file has no tokenizer to verify")
    if family is None:
        raise UnsupportedError(f"tokenizer.ggml.model is {spec.model!r}; {near_matches(spec.model, FAMILIES)}")
    loader = _Loader(spec, family)
    _check_sizes(spec)
    return loader.settings()


def _check_sizes(spec: TokenizerSpec) -> None:
    """Check what has to fit the number of tokens; a file was checked when it was read, what Python code made was not.

    Raises:
        BrokenFileError: If something does not.
    """
    count = len(spec.tokens)
    for name, numbers in (("scores", spec.scores), ("types", spec.types)):
        if numbers is not None and len(numbers) not in {0, count}:
            raise BrokenFileError(f"there are {len(numbers):,} {name} for {count:,} tokens; give one for each")
    for role, id in spec.special_ids.items():
        if not 0 <= id < count:
            raise BrokenFileError(f"the {role} id {id} is out of range for {count:,} tokens; name one of them, or none")


class _Loader:
    """The steps of loading, in llama.cpp's order; each notes the overrides it makes."""

    def __init__(self, spec: TokenizerSpec, family: Family) -> None:
        self.spec = spec
        self.family = family
        self.overrides: list[Override] = []
        self.pieces = _pieces(spec.tokens)
        self.ids = dict(zip(self.pieces, range(len(self.pieces)), strict=True))
        if len(self.ids) != len(self.pieces):
            raise BrokenFileError(_duplicate_message(self.pieces, self.ids))
        if spec.model == "hybriddna":
            self.pieces = _without_kmer_markers(self.pieces, self.ids)

    def settings(self) -> Settings:
        name, pre = self._pre_tokenizer()
        special_ids = self._special_ids(pre)
        attributes = Attributes(self.spec.types, self.pieces, self.ids)
        eog_ids = {special_ids[role] for role in ("eos", "eot", "eom") if role in special_ids}
        if self.family.in_llama_cpp:
            eog_ids = attributes.override(special_ids)
            attributes.check_byte_tokens(self.family.algorithm)
        self.overrides += attributes.overrides
        lowercase = self._flag("lowercase", self.family.lowercase and not pre.keeps_case)
        return Settings(
            algorithm=self.family.algorithm,
            pre=name,
            pieces=self.pieces,
            ids=self.ids,
            attributes=attributes.values,
            added_tokens=self._added_tokens(attributes.values),
            special_ids=special_ids,
            eog_ids=frozenset(eog_ids),
            add_bos=self._add_bos(name, pre),
            add_eos=self._flag("add_eos", self.family.add_eos),
            add_sep=self._flag("add_sep", self.family.add_sep or pre.add_sep),
            add_space_prefix=self._flag("add_space_prefix", self.family.add_space_prefix),
            escape_whitespaces=self.family.escape_whitespaces or pre.escape_whitespaces,
            remove_extra_whitespaces=bool(self.spec.remove_extra_whitespaces),
            clean_spaces=self.family.clean_spaces and pre.clean_spaces,
            ignore_merges=pre.ignore_merges,
            lowercase=lowercase,
            strip_accents=self._flag("strip_accents", lowercase and self.family.algorithm == "wordpiece"),
            overrides=tuple(self.overrides),
        )

    def _override(self, setting: str, declared: object, effective: object, reason: str) -> None:
        self.overrides.append(Override(setting, declared, effective, reason))

    def _pre_tokenizer(self) -> tuple[str, PreTokenizer]:
        declared = self.spec.pre
        if self.family.algorithm not in BYTE_PAIR_ALGORITHMS:
            return self.family.pre or "default", PreTokenizer((), ignore_merges=self.family.ignore_merges)
        name = self.family.pre or declared or "default"
        if name not in PRE_TOKENIZERS:
            raise UnsupportedError(f"tokenizer.ggml.pre is {name!r}; {near_matches(name, PRE_TOKENIZERS)}")
        if name != declared:
            reason = f"the model {self.spec.model} implies it" if self.family.pre else "the file names none"
            self._override("pre", declared, name, reason)
        return name, PRE_TOKENIZERS[name]

    def _flag(self, setting: str, default: bool) -> bool:
        declared: bool | None = getattr(self.spec, setting)
        if declared is None and default:
            self._override(setting, None, default, f"llama.cpp's default for the model {self.spec.model}")
        return default if declared is None else declared

    def _add_bos(self, name: str, pre: PreTokenizer) -> bool:
        if pre.always_bos:
            if not self.spec.add_bos:
                self._override("add_bos", self.spec.add_bos, True, f"always on for the pre-tokenizer {name}")
            return True
        return self._flag("add_bos", self.family.add_bos or pre.add_bos)

    def _special_ids(self, pre: PreTokenizer) -> dict[str, int]:
        defaults = {role: id for role, id in self.family.special_ids.items() if pre.has_bos or role != "bos"}
        for role, id in defaults.items():
            if id < len(self.pieces) and role not in self.spec.special_ids:
                reason = f"llama.cpp's default for the model {self.spec.model}: {self.pieces[id]!r}"
                self._override(f"{role} id", None, id, reason)
        known = {role: id for role, id in defaults.items() if id < len(self.pieces)}
        return known | dict(self.spec.special_ids)

    def _added_tokens(self, attributes: Sequence[int]) -> tuple[AddedToken, ...]:
        special = (Attribute.CONTROL | Attribute.UNKNOWN).value
        matched = special | Attribute.USER_DEFINED.value
        ids = [id for id, attribute in enumerate(attributes) if attribute & matched]
        # subtle: llama.cpp's sort is not stable, so tokens of equal length may be tried in another order there.
        ids.sort(key=lambda id: -len(to_bytes(self.pieces[id])))
        lstrip, rstrip = self._stripping(ids) if self.family.in_llama_cpp else (set(), set())
        return tuple(
            AddedToken(id, self.pieces[id], bool(attributes[id] & special), id in lstrip, id in rstrip) for id in ids
        )

    def _stripping(self, added: Sequence[int]) -> tuple[set[int], set[int]]:
        """Ids whose match swallows the whitespace before, and after; GGUF has no key for it, only names."""
        pre, architecture = self.spec.pre or "", self.spec.general.get("architecture", "")
        name = self.spec.general.get("name", "").lower()
        lstrip: set[int] = set()
        rstrip: set[int] = set()
        if _contains_any(pre, "jina-v2-de", "jina-v2-es", "jina-v2-code", "mmbert") or _contains_any(
            architecture, "nomic-bert-moe", "jina-bert-v3"
        ):
            lstrip.update(present(self.ids, ["<mask>"]))
        elif _contains_any(name, "phi-3", "phi3"):
            missing = [text for text in ("</s>", *KEEP_SPACE_AFTER) if text not in self.ids]
            if missing:
                raise BrokenFileError(
                    f"general.name {name!r} makes llama.cpp look for the token {missing[0]!r}, which is missing"
                )
            rstrip = {*added, self.ids["</s>"]} - set(present(self.ids, KEEP_SPACE_AFTER))
        elif "modern-bert" in name:
            lstrip.update(present(self.ids, ["[MASK]"]))
        for side, ids in (("lstrip", lstrip), ("rstrip", rstrip)):
            if ids:
                self._override(f"{side} of {len(ids)} added tokens", None, True, "by the model's name")
        return lstrip, rstrip


def _pieces(tokens: Sequence[str]) -> list[str]:
    """Return the tokens as llama.cpp reads them: cut at the first NUL, and never empty."""
    pieces = list(tokens)
    for id in [id for id, token in enumerate(tokens) if not token or "\0" in token]:
        pieces[id] = tokens[id].partition("\0")[0] or f"[EMPTY_{id}]"
    return pieces


def _without_kmer_markers(pieces: Sequence[str], ids: Mapping[str, int]) -> list[str]:
    """Return what DNA tokens, which follow `<oov>`, are shown as."""
    first = ids.get("<oov>", len(pieces)) + 1
    return [*pieces[:first], *(piece.removesuffix(KMER_MARKER) or piece for piece in pieces[first:])]


def _duplicate_message(texts: Sequence[str], ids: Mapping[str, int]) -> str:
    second = next(id for id, text in enumerate(texts) if ids[text] != id)
    text = texts[second]
    return (
        f"tokenizer.ggml.tokens holds {text!r} twice, as ids {second} and {ids[text]} "
        f"({len(texts) - len(ids)} duplicates in all); llama.cpp aborts on such a file"
    )


def _contains_any(text: str, *parts: str) -> bool:
    return any(part in text for part in parts)


def near_matches(name: str, known: Collection[str]) -> str:
    """Say which of the known names a name may stand for."""
    near = get_close_matches(name, known, n=3)
    return f"near to it are {', '.join(near)}" if near else f"tokverify knows {', '.join(known)}"
