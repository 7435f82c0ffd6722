"""Read the tokenizer that a GGUF file declares.

Value types are checked as strictly as in llama.cpp (`GGUFMeta` in `src/llama-model-loader.cpp`, `impl::load` in
`src/llama-vocab.cpp`), because a file that it refuses has no ids to verify. Lists are checked more strictly: llama.cpp
ignores scores and types beyond the last token. `tokverify.engine.settings` determines what llama.cpp does with the
values accepted here, such as a special id that is out of range.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tokverify.engine.build import known_since, selected_build
from tokverify.engine.families import find_family
from tokverify.engine.family import NO_VOCABULARY
from tokverify.errors import BrokenFileError, TokverifyError, UnsupportedError
from tokverify.sources.gguf.cursor import ValueType
from tokverify.sources.gguf.keys import (
    ADD_BOS,
    ADD_EOS,
    ADD_SEP,
    ADD_SPACE_PREFIX,
    CHARSMAP,
    CHAT_TEMPLATE,
    GENERAL,
    HUGGINGFACE_JSON,
    LOWERCASE,
    MERGES,
    MODEL,
    NFC,
    POOLING_TYPE,
    PRE,
    REMOVE_EXTRA_WHITESPACES,
    SCORES,
    SPECIAL_IDS,
    SPLIT_NO,
    STRIP_ACCENTS,
    SUPPRESSED,
    TOKENIZER,
    TOKENS,
    TYPES,
    VOCAB_SIZE,
)
from tokverify.sources.gguf.metadata import Shape, Value, read_file
from tokverify.spec import MAX_TOKENS, TokenizerSpec
from tokverify.text.visible import visible
from tokverify.text.wording import list_alternatives

_STRINGS = (MODEL, PRE, TOKENS, MERGES, CHAT_TEMPLATE, HUGGINGFACE_JSON)
_NUMBERS = (SCORES, TYPES, CHARSMAP, SUPPRESSED, SPLIT_NO)
_FLAGS = (ADD_BOS, ADD_EOS, ADD_SEP, ADD_SPACE_PREFIX, REMOVE_EXTRA_WHITESPACES, LOWERCASE, STRIP_ACCENTS, NFC)
_KEYS = frozenset([*_STRINGS, *_NUMBERS, *_FLAGS, *(key for _, key in SPECIAL_IDS)])


def read_spec(path: Path | str) -> TokenizerSpec:
    """Read the tokenizer that a GGUF file declares; for a split model, from its first file.

    Tokens and merges are kept as stored. llama.cpp truncates them at the first NUL and renames an empty token to
    `[EMPTY_<id>]`; the encoder does the same.

    Raises:
        BrokenFileError: If the file is not GGUF, is damaged, or declares a contradictory tokenizer.
        UnsupportedError: If it is valid but of a kind that cannot be read.
        TokverifyError: If it does not exist, or is a later file of a split model.
    """
    path = Path(path)
    values, shapes, _ = read_file(path, _is_needed)
    return _spec(_Fields(path, values), shapes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """Everything that a GGUF file declares about its tokenizer, and what affects it in the rest of the model."""

    spec: TokenizerSpec
    """The tokenizer; if there is a `refusal`, what can be read nevertheless."""
    refusal: BrokenFileError | None = None
    """The error that `read_spec` raises if values are contradictory or have the wrong type."""
    vocab_size: int | None = None
    """The number of tokens according to the model's own key."""
    is_big_endian: bool = False
    """Whether the file has the byte order of few machines, on which alone llama.cpp loads it."""
    pooling: bool = False
    """Whether the model pools its outputs into an embedding."""


def read_declaration(path: Path | str) -> Declaration:
    """Read everything that an audit checks; errors are those of `read_spec`, except for `refusal`."""
    path = Path(path)
    values, shapes, is_big_endian = read_file(
        path, lambda key: _is_needed(key) or key.endswith((f".{VOCAB_SIZE}", f".{POOLING_TYPE}"))
    )
    fields = _Fields(path, values, lenient=True)
    spec = _spec(fields, shapes)
    architecture = spec.general.get("architecture", "")
    return Declaration(
        spec=spec,
        refusal=fields.refusals[0] if fields.refusals else None,
        vocab_size=fields.number(f"{architecture}.{VOCAB_SIZE}", ValueType.UINT32),
        is_big_endian=is_big_endian,
        pooling=bool(fields.number(f"{architecture}.{POOLING_TYPE}", ValueType.UINT32)),
    )


def _spec(fields: _Fields, shapes: Mapping[str, Shape]) -> TokenizerSpec:
    path = fields.path
    model = fields.string(MODEL)
    if model is None:
        raise fields.refusals[0] if fields.refusals else _no_tokenizer(fields)
    if model in NO_VOCABULARY:
        raise UnsupportedError(f"{path}: {MODEL} is {model}: {NO_VOCABULARY[model]}")
    tokens = _tokens(fields)
    embedding = shapes.get("token_embd.weight", ())
    return TokenizerSpec(
        model=model,
        tokens=tokens,
        pre=fields.string(PRE) or None,  # llama.cpp treats an empty name like a missing one
        scores=_scores(fields, len(tokens)),
        types=_per_token(fields, TYPES, len(tokens), ValueType.INT32),
        merges=_merges(fields, model),
        special_ids={role: id for role, key in SPECIAL_IDS if (id := fields.number(key, ValueType.UINT32)) is not None},
        add_bos=fields.flag(ADD_BOS),
        add_eos=fields.flag(ADD_EOS),
        add_sep=fields.flag(ADD_SEP),
        add_space_prefix=fields.flag(ADD_SPACE_PREFIX),
        remove_extra_whitespaces=fields.flag(REMOVE_EXTRA_WHITESPACES),
        lowercase=fields.flag(LOWERCASE),
        strip_accents=fields.flag(STRIP_ACCENTS),
        nfc=fields.flag(NFC),
        suppressed=fields.numbers(SUPPRESSED, ValueType.INT32),
        charsmap=_charsmap(fields),
        chat_template=fields.string(CHAT_TEMPLATE),
        named_chat_templates=fields.texts(f"{CHAT_TEMPLATE}."),
        huggingface_json=fields.string(HUGGINGFACE_JSON),
        general=fields.texts(GENERAL),
        unread_keys=fields.unread(),
        mistyped_keys=fields.mistyped,
        embedding_rows=embedding[1] if len(embedding) > 1 else None,
    )


def _is_needed(key: str) -> bool:
    return key in _KEYS or key.startswith((GENERAL, f"{CHAT_TEMPLATE}.")) or _is_unread(key)


def _is_unread(key: str) -> bool:
    return key.startswith(TOKENIZER) and key not in known_since("keys") and not key.startswith(CHAT_TEMPLATE)


def _is_ignored(key: str) -> bool:
    """Whether the selected build does not read a key, whatever its type."""
    build = selected_build()
    return build is not None and build < known_since("keys").get(key, 0)


class _Fields:
    """The values of a file by key, checked for their types.

    A value of the wrong type, or one that contradicts another, is an error that names the key. A `lenient` reader
    collects these errors in `refusals` and continues without values of the wrong type.
    """

    def __init__(self, path: Path, values: Mapping[str, Value], *, lenient: bool = False) -> None:
        self.path = path
        self.refusals: list[BrokenFileError] = []
        self.mistyped: dict[str, str] = {}
        self._values = values
        self._lenient = lenient

    def refuse(self, key: str, problem: str) -> None:
        # What is collected is read by `fix`, which knows what it should be.
        self.refusals.append(self.broken(key, problem, "try tokverify fix, or convert the model again"))
        if not self._lenient:
            raise self.refusals[0]

    def broken(self, key: str, problem: str, advice: str = "convert the model again") -> BrokenFileError:
        return BrokenFileError(f"{self.path}: {key}: {problem}; {advice}")

    def string(self, key: str) -> str | None:
        return cast("str | None", self._get(key, "STRING"))

    def flag(self, key: str) -> bool | None:
        return cast("bool | None", self._get(key, "BOOL"))

    def number(self, key: str, kind: ValueType) -> int | None:
        return cast("int | None", self._get(key, kind.name))

    def strings(self, key: str) -> Sequence[str] | None:
        return cast("Sequence[str] | None", self._get(key, "ARRAY of STRING"))

    def numbers(self, key: str, *kinds: ValueType) -> array[Any] | None:
        return cast("array[Any] | None", self._get(key, *(f"ARRAY of {kind.name}" for kind in kinds)))

    def texts(self, prefix: str) -> dict[str, str]:
        """Return the strings whose keys begin with `prefix`, by the rest of their keys."""
        strings = {key: value.data for key, value in self._values.items() if value.type is ValueType.STRING}
        return {key.removeprefix(prefix): text for key, text in strings.items() if key.startswith(prefix)}

    def has(self, key: str) -> bool:
        return key in self._values

    def unread(self) -> tuple[str, ...]:
        """Return the keys of the tokenizer that no known build of llama.cpp reads."""
        return tuple(filter(_is_unread, self._values))

    def _get(self, key: str, *type_names: str) -> object:
        value = self._values.get(key)
        if value is None:
            return None
        if value.type_name not in type_names:
            if not _is_ignored(key):
                self.mistyped[key] = value.type_name
                self.refuse(key, f"is {value.type_name}, must be {list_alternatives(type_names)}")
            return None
        return value.data


def _no_tokenizer(fields: _Fields) -> TokverifyError:
    """Build the error for a file without a tokenizer, with a hint where it may be."""
    path = fields.path
    if fields.number(SPLIT_NO, ValueType.UINT16):
        name = re.sub(r"-\d{5}(?=-of-\d{5}\.gguf$)", "-00001", path.name)
        first = name if name != path.name else "that file"
        return TokverifyError(
            f"{path}: {SPLIT_NO}: a later file of a split model; the first file contains the tokenizer, so name {first}"
        )
    for key in (TOKENS, HUGGINGFACE_JSON):
        if fields.has(key):
            return fields.broken(MODEL, f"missing: llama.cpp does not load the tokenizer in {key} without it")
    general = fields.texts(GENERAL)
    facts = [f"{GENERAL}{key} is {visible(general[key])}" for key in ("architecture", "type") if key in general]
    kind = f" ({', '.join(facts)})" if facts else ""
    return BrokenFileError(f"{path}: {MODEL}: missing: no tokenizer here{kind}; name the language model's file")


def _tokens(fields: _Fields) -> Sequence[str]:
    tokens = fields.strings(TOKENS)
    if tokens and len(tokens) > MAX_TOKENS:
        raise UnsupportedError(f"{fields.path}: {TOKENS}: {len(tokens):,} tokens; the limit is {MAX_TOKENS:,}")
    if tokens:
        return tokens
    if fields.refusals:
        raise fields.refusals[0]
    raise fields.broken(TOKENS, "missing" if tokens is None else "is empty")


def _scores(fields: _Fields, token_count: int) -> array[float] | None:
    scores = _per_token(fields, SCORES, token_count, ValueType.FLOAT32, ValueType.INT32)
    if scores is None:
        return None
    # The sum is NaN if any score is, and also for infinite scores of both signs.
    suspicious = scores if math.isnan(sum(scores)) else ()
    for index, score in enumerate(suspicious):
        if math.isnan(score):
            fields.refuse(SCORES, f"the score of id {index} is {score}, which cannot be ranked")
            break
    return array("f", scores)


def _per_token(fields: _Fields, key: str, token_count: int, *kinds: ValueType) -> array[Any] | None:
    numbers = fields.numbers(key, *kinds)
    if numbers is not None and len(numbers) != token_count:
        fields.refuse(key, f"has {len(numbers)} elements for {token_count} tokens")
    return numbers


def _merges(fields: _Fields, model: str) -> Sequence[str] | None:
    merges = fields.strings(MERGES)
    family = find_family(model)
    if merges is None and family and family.requires_merges(fields.string(PRE)):
        fields.refuse(MERGES, f"missing, and {MODEL} {model} needs it")
    return merges


def _charsmap(fields: _Fields) -> bytes | None:
    charsmap = fields.numbers(CHARSMAP, ValueType.INT8, ValueType.UINT8)
    return None if charsmap is None else charsmap.tobytes()
