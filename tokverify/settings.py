"""Settings: what llama.cpp makes of a declared tokenizer when it loads it.

llama.cpp fills in defaults by model and pre-tokenizer and overrides what a file says by the text of its tokens.
All of that decides the ids, so it is applied here, and each override is kept as data to be shown.

Source: `llama_vocab::impl::load` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from enum import IntFlag
from typing import TYPE_CHECKING

from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.family import BYTE_PAIR_ALGORITHMS, FAMILIES, NO_VOCABULARY, Family
from tokverify.pre_tokenizer import PRE_TOKENIZERS, PreTokenizer
from tokverify.spec import AddedToken, TokenType
from tokverify.special_text import ALWAYS_SHOWN_TEXTS, EOG_TEXTS, EOM_TEXTS, EOT_TEXTS, FIM_TEXTS, KMER_MARKER

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from tokverify.spec import TokenizerSpec


class Attribute(IntFlag):
    """A token's attributes as llama.cpp keeps them; overrides can leave a token with several.

    Lists hold the plain integers: `&` on a quarter of a million of these objects takes a third of a second.
    """

    UNDEFINED = 0
    UNKNOWN = 1
    UNUSED = 2
    NORMAL = 4
    CONTROL = 8
    USER_DEFINED = 16
    BYTE = 32


@dataclass(frozen=True, slots=True)
class Override:
    """One setting that llama.cpp takes otherwise than the file declares it (None: not declared)."""

    setting: str
    declared: object
    effective: object
    reason: str

    def __str__(self) -> str:
        declared = "not declared" if self.declared is None else f"declared {self.declared}"
        return f"{self.setting}: {declared}, effective {self.effective} ({self.reason})"


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

LOOKS_LIKE_CONTROL = "its text is one that llama.cpp always takes for a control token"


def resolve(spec: TokenizerSpec) -> Settings:
    """Work out the effective settings of `spec`.

    Raises:
        UnsupportedError: For a model or pre-tokenizer that tokverify does not know.
        BrokenFileError: Where llama.cpp refuses the file.
    """
    family = FAMILIES.get(spec.model)
    if spec.model in NO_VOCABULARY:
        raise UnsupportedError(f"tokenizer.ggml.model is {spec.model!r}: this file has no tokenizer to verify")
    if family is None:
        raise UnsupportedError(f"tokenizer.ggml.model is {spec.model!r}; {near_matches(spec.model, FAMILIES)}")
    return _Loader(spec, family).settings()


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
        attributes = [_ATTRIBUTES.get(type, 0) for type in self.spec.types or ()]
        attributes = attributes or [Attribute.NORMAL.value] * len(self.pieces)
        eog_ids = self._override_attributes(attributes, special_ids)
        self._check_byte_tokens(attributes)
        lowercase = self._flag("lowercase", self.family.lowercase and not pre.keeps_case)
        return Settings(
            algorithm=self.family.algorithm,
            pre=name,
            pieces=self.pieces,
            ids=self.ids,
            attributes=attributes,
            added_tokens=self._added_tokens(attributes),
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
            return "default", PreTokenizer(())
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

    def _override_attributes(self, attributes: list[int], special_ids: dict[str, int]) -> set[int]:
        """Change attributes by the tokens' texts, fill the special roles found so, and collect the EOG ids."""
        self._fill_roles(attributes, special_ids)
        eog_ids = {special_ids[role] for role in ("fim_pad", "fim_rep", "fim_sep") if role in special_ids}
        for id in self._present(EOG_TEXTS):
            eog_ids.add(id)
            self._make_control(attributes, id)
        for id in self._present(ALWAYS_SHOWN_TEXTS):
            self._set(attributes, id, Attribute.USER_DEFINED.value, "llama.cpp always renders this token")
        eog_ids.update(special_ids[role] for role in ("eos", "eot", "eom") if role in special_ids)
        self._drop_from_eog(attributes, eog_ids)
        return eog_ids

    def _fill_roles(self, attributes: list[int], special_ids: dict[str, int]) -> None:
        # subtle: where several candidates for one role exist, llama.cpp takes the first in the iteration order of
        # a hash table, which differs between builds; here it is the first in id order.
        for role, texts in {"eot": EOT_TEXTS, "eom": EOM_TEXTS, **FIM_TEXTS}.items():
            found = sorted(self._present(texts))
            if role not in special_ids and found:
                special_ids[role] = found[0]
                self._make_control(attributes, found[0])

    def _drop_from_eog(self, attributes: list[int], eog_ids: set[int]) -> None:
        """Undo what the texts suggested for two tokens that are ordinary in some vocabularies."""
        texts = {self.pieces[id]: id for id in sorted(eog_ids)}
        calls = not texts.keys().isdisjoint(("<|call|>", "<|calls|>"))
        returns = not texts.keys().isdisjoint(("<|return|>", "<|flush|>"))
        if calls and returns and "<|end|>" in texts:
            eog_ids.discard(texts["<|end|>"])
            self._set(attributes, texts["<|end|>"], Attribute.USER_DEFINED.value, "other tokens end a generation here")
        if "</s>" in texts and not texts.keys().isdisjoint(("<|tool_response>", "<|plamo:eos|>")):
            eog_ids.discard(texts["</s>"])
            self._set(attributes, texts["</s>"], Attribute.NORMAL.value, "an ordinary token in this vocabulary")

    def _check_byte_tokens(self, attributes: Sequence[int]) -> None:
        """Refuse tokens typed BYTE that llama.cpp aborts on when it works out what every token stands for."""
        if self.family.algorithm in {"rwkv", "plamo2", "plamo3"}:
            return
        for id in [id for id, attribute in enumerate(attributes) if attribute == Attribute.BYTE.value]:
            is_short = len(self.pieces[id].encode("utf-8", "surrogateescape")) < len("<0x")
            if is_short or self.family.algorithm == "wordpiece":
                raise BrokenFileError(f"token {id} {self.pieces[id]!r} is typed BYTE; llama.cpp aborts on such a file")

    def _present(self, texts: Sequence[str]) -> list[int]:
        return [self.ids[text] for text in texts if text in self.ids]

    def _make_control(self, attributes: list[int], id: int) -> None:
        if not attributes[id] & Attribute.CONTROL:
            self._set(attributes, id, attributes[id] | Attribute.CONTROL.value, LOOKS_LIKE_CONTROL)

    def _set(self, attributes: list[int], id: int, attribute: int, reason: str) -> None:
        if attributes[id] != attribute:
            setting = f"type of {id} {self.pieces[id]!r}"
            self._override(setting, _name(attributes[id]), _name(attribute), reason)
            attributes[id] = attribute

    def _added_tokens(self, attributes: Sequence[int]) -> tuple[AddedToken, ...]:
        special = (Attribute.CONTROL | Attribute.UNKNOWN).value
        matched = special | Attribute.USER_DEFINED.value
        ids = [id for id, attribute in enumerate(attributes) if attribute & matched]
        # subtle: llama.cpp's sort is not stable, so tokens of equal length may be tried in another order there.
        ids.sort(key=lambda id: -len(self.pieces[id].encode("utf-8", "surrogateescape")))
        lstrip, rstrip = self._stripping(ids)
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
            lstrip.update(self._present(["<mask>"]))
        elif _contains_any(name, "phi-3", "phi3"):
            missing = [text for text in ("</s>", *KEEP_SPACE_AFTER) if text not in self.ids]
            if missing:
                raise BrokenFileError(
                    f"general.name {name!r} makes llama.cpp look for the token {missing[0]!r}, which is missing"
                )
            rstrip = {*added, self.ids["</s>"]} - set(self._present(KEEP_SPACE_AFTER))
        elif "modern-bert" in name:
            lstrip.update(self._present(["[MASK]"]))
        for side, ids in (("lstrip", lstrip), ("rstrip", rstrip)):
            if ids:
                self._override(f"{side} of {len(ids)} added tokens", None, True, "by the model's name")
        return lstrip, rstrip


_ATTRIBUTES = {type.value: Attribute[type.name].value for type in TokenType if type is not TokenType.UNDEFINED}


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


def _name(attribute: int) -> str:
    return Attribute(attribute).name or "UNDEFINED"


def near_matches(name: str, known: Collection[str]) -> str:
    """Say which of the known names a name may stand for."""
    near = get_close_matches(name, known, n=3)
    return f"near to it are {', '.join(near)}" if near else f"tokverify knows {', '.join(known)}"
