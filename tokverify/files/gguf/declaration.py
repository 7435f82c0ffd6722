"""GGUF file -> TokenizerSpec; the only module that knows GGUF's key names.

As strict about value types as llama.cpp (`GGUFMeta` in `src/llama-model-loader.cpp`, `impl::load` in
`src/llama-vocab.cpp`): a file it refuses has no ids to verify. About values that contradict each other it is stricter:
llama.cpp drops a special id that is out of range with a warning, and ignores scores and types beyond the last token.
What llama.cpp makes of the values accepted here is left to `tokverify.engine.settings`.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tokverify.engine.families import find_family
from tokverify.engine.family import NO_VOCABULARY
from tokverify.errors import BrokenFileError, TokverifyError, UnsupportedError
from tokverify.files.gguf.cursor import ValueType
from tokverify.files.gguf.metadata import read_file, read_metadata
from tokverify.spec import TokenizerSpec
from tokverify.text.visible import visible

if TYPE_CHECKING:
    from tokverify.files.gguf.metadata import Value

# subtle: not taken from `gguf.constants`, since importing any part of that package imports numpy, which takes
# longer than reading most vocabularies. tests/files/gguf/test_gguf_file.py checks the names against the package.
MODEL = "tokenizer.ggml.model"
PRE = "tokenizer.ggml.pre"
TOKENS = "tokenizer.ggml.tokens"
SCORES = "tokenizer.ggml.scores"
TYPES = "tokenizer.ggml.token_type"
MERGES = "tokenizer.ggml.merges"
ADD_BOS = "tokenizer.ggml.add_bos_token"
ADD_EOS = "tokenizer.ggml.add_eos_token"
ADD_SEP = "tokenizer.ggml.add_sep_token"
ADD_SPACE_PREFIX = "tokenizer.ggml.add_space_prefix"
REMOVE_EXTRA_WHITESPACES = "tokenizer.ggml.remove_extra_whitespaces"
CHARSMAP = "tokenizer.ggml.precompiled_charsmap"
LOWERCASE = "tokenizer.ggml.normalizer.lowercase"
STRIP_ACCENTS = "tokenizer.ggml.normalizer.strip_accents"
CHAT_TEMPLATE = "tokenizer.chat_template"
HUGGINGFACE_JSON = "tokenizer.huggingface.json"
SPLIT_NO = "split.no"
SPLIT_COUNT = "split.count"
GENERAL = "general."
VOCAB_SIZE = "vocab_size"  # of the model, so that the architecture goes before it
POOLING_TYPE = "pooling_type"  # likewise; 0 is none

# In llama.cpp's order: where two keys name one role, the later one wins.
SPECIAL_IDS = (
    ("bos", "tokenizer.ggml.bos_token_id"),
    ("eos", "tokenizer.ggml.eos_token_id"),
    ("eot", "tokenizer.ggml.eot_token_id"),
    ("eom", "tokenizer.ggml.eom_token_id"),
    ("unk", "tokenizer.ggml.unknown_token_id"),
    ("sep", "tokenizer.ggml.seperator_token_id"),  # subtle: GGUF spells it so.
    ("pad", "tokenizer.ggml.padding_token_id"),
    ("mask", "tokenizer.ggml.mask_token_id"),
    ("fim_pre", "tokenizer.ggml.fim_pre_token_id"),
    ("fim_suf", "tokenizer.ggml.fim_suf_token_id"),
    ("fim_mid", "tokenizer.ggml.fim_mid_token_id"),
    ("fim_pad", "tokenizer.ggml.fim_pad_token_id"),
    ("fim_rep", "tokenizer.ggml.fim_rep_token_id"),
    ("fim_sep", "tokenizer.ggml.fim_sep_token_id"),
    ("fim_pre", "tokenizer.ggml.prefix_token_id"),
    ("fim_suf", "tokenizer.ggml.suffix_token_id"),
    ("fim_mid", "tokenizer.ggml.middle_token_id"),
)

_STRINGS = (MODEL, PRE, TOKENS, MERGES, CHAT_TEMPLATE, HUGGINGFACE_JSON)
_NUMBERS = (SCORES, TYPES, CHARSMAP, SPLIT_NO)
_FLAGS = (ADD_BOS, ADD_EOS, ADD_SEP, ADD_SPACE_PREFIX, REMOVE_EXTRA_WHITESPACES, LOWERCASE, STRIP_ACCENTS)
_KEYS = frozenset([*_STRINGS, *_NUMBERS, *_FLAGS, *(key for _, key in SPECIAL_IDS)])


def read_spec(path: Path | str) -> TokenizerSpec:
    """Read the tokenizer a GGUF file declares; of a split model, from its first file.

    Tokens and merges are kept as stored. llama.cpp cuts them at the first NUL and renames an empty token to
    `[EMPTY_<id>]`: that is for the encoder to do.

    Raises:
        BrokenFileError: If the file is not GGUF, is damaged, or declares a tokenizer that contradicts itself.
        UnsupportedError: If it is valid but of a kind that cannot be read.
        TokverifyError: If there is no such file, or it is a later file of a split model.
    """
    path = Path(path)
    return _spec(_Fields(path, read_metadata(path, _is_wanted)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """All that a GGUF file tells of its tokenizer, and what it tells of the model that has a bearing on it.

    `refusal` is the error that `read_spec` raises where the file contradicts itself, or a value is of the wrong type;
    the spec then holds what can be read all the same. `embedding_rows` is the number of tokens that the token embedding
    has room for, `vocab_size` the number that the model's own key names, `pooling` whether the model pools its outputs
    into an embedding.
    """

    spec: TokenizerSpec
    refusal: BrokenFileError | None = None
    vocab_size: int | None = None
    embedding_rows: int | None = None
    pooling: bool = False


def read_declaration(path: Path | str) -> Declaration:
    """Read all that an audit looks at; errors as for `read_spec`, but for `refusal`."""
    path = Path(path)
    values, shapes = read_file(
        path, lambda key: _is_wanted(key) or key.endswith((f".{VOCAB_SIZE}", f".{POOLING_TYPE}"))
    )
    fields = _Fields(path, values, lenient=True)
    spec = _spec(fields)
    architecture = spec.general.get("architecture", "")
    embedding = shapes.get("token_embd.weight", ())
    return Declaration(
        spec=spec,
        refusal=fields.refusals[0] if fields.refusals else None,
        vocab_size=fields.number(f"{architecture}.{VOCAB_SIZE}", ValueType.UINT32),
        embedding_rows=embedding[1] if len(embedding) > 1 else None,
        pooling=bool(fields.number(f"{architecture}.{POOLING_TYPE}", ValueType.UINT32)),
    )


def _spec(fields: _Fields) -> TokenizerSpec:
    path = fields.path
    model = fields.string(MODEL)
    if model is None:
        raise fields.refusals[0] if fields.refusals else _no_tokenizer(fields)
    if model in NO_VOCABULARY:
        raise UnsupportedError(f"{path}: {MODEL} is {model}: the model works without a tokenizer")
    tokens = _tokens(fields)
    return TokenizerSpec(
        model=model,
        tokens=tokens,
        pre=fields.string(PRE),
        scores=_scores(fields, len(tokens)),
        types=_per_token(fields, TYPES, len(tokens), ValueType.INT32),
        merges=_merges(fields, model),
        special_ids=_special_ids(fields, len(tokens)),
        add_bos=fields.flag(ADD_BOS),
        add_eos=fields.flag(ADD_EOS),
        add_sep=fields.flag(ADD_SEP),
        add_space_prefix=fields.flag(ADD_SPACE_PREFIX),
        remove_extra_whitespaces=fields.flag(REMOVE_EXTRA_WHITESPACES),
        lowercase=fields.flag(LOWERCASE),
        strip_accents=fields.flag(STRIP_ACCENTS),
        charsmap=_charsmap(fields),
        chat_template=fields.string(CHAT_TEMPLATE),
        named_chat_templates=fields.texts(f"{CHAT_TEMPLATE}."),
        huggingface_json=fields.string(HUGGINGFACE_JSON),
        general=fields.texts(GENERAL),
    )


def _is_wanted(key: str) -> bool:
    return key in _KEYS or key.startswith((GENERAL, f"{CHAT_TEMPLATE}."))


class _Fields:
    """The values of a file by key; one of the wrong type is an error that names the key.

    Values that contradict each other are an error too. A `lenient` reader collects all these in `refusals`, and goes on
    without what is of the wrong type.
    """

    def __init__(self, path: Path, values: Mapping[str, Value], *, lenient: bool = False) -> None:
        self.path = path
        self.refusals: list[BrokenFileError] = []
        self._values = values
        self._lenient = lenient

    def refuse(self, key: str, problem: str) -> None:
        self.refusals.append(self.broken(key, problem))
        if not self._lenient:
            raise self.refusals[0]

    def broken(self, key: str, problem: str) -> BrokenFileError:
        return BrokenFileError(f"{self.path}: {key}: {problem}; convert the model again")

    def string(self, key: str) -> str | None:
        return cast("str | None", self._get(key, "STRING"))

    def flag(self, key: str) -> bool | None:
        return cast("bool | None", self._get(key, "BOOL"))

    def number(self, key: str, kind: ValueType) -> int | None:
        return cast("int | None", self._get(key, kind.name))

    def strings(self, key: str) -> list[str] | None:
        return cast("list[str] | None", self._get(key, "ARRAY of STRING"))

    def numbers(self, key: str, *kinds: ValueType) -> array[Any] | None:
        return cast("array[Any] | None", self._get(key, *(f"ARRAY of {kind.name}" for kind in kinds)))

    def texts(self, prefix: str) -> dict[str, str]:
        """Return the strings whose keys begin with `prefix`, without it."""
        return {
            key.removeprefix(prefix): value.data
            for key, value in self._values.items()
            if key.startswith(prefix) and value.type is ValueType.STRING
        }

    def _get(self, key: str, *type_names: str) -> object:
        value = self._values.get(key)
        if value is None:
            return None
        if value.type_name not in type_names:
            self.refuse(key, f"is {value.type_name}, must be {' or '.join(type_names)}")
            return None
        return value.data


def _no_tokenizer(fields: _Fields) -> TokverifyError:
    """Build the error for a file without a tokenizer, saying where to look for it."""
    path = fields.path
    if fields.number(SPLIT_NO, ValueType.UINT16):
        name = re.sub(r"-\d{5}(?=-of-\d{5}\.gguf$)", "-00001", path.name)
        first = name if name != path.name else "that one"
        return TokverifyError(
            f"{path}: {SPLIT_NO}: a later file of a split model; the first holds the tokenizer: give {first}"
        )
    general = fields.texts(GENERAL)
    told = [f"{GENERAL}{key} is {visible(general[key])}" for key in ("architecture", "type") if key in general]
    kind = f" ({', '.join(told)})" if told else ""
    return BrokenFileError(f"{path}: {MODEL}: missing: no tokenizer here{kind}; give the language model's file")


def _tokens(fields: _Fields) -> list[str]:
    tokens = fields.strings(TOKENS)
    if not tokens:
        raise (
            fields.refusals[0]
            if fields.refusals
            else fields.broken(TOKENS, "missing" if tokens is None else "is empty")
        )
    return tokens


def _scores(fields: _Fields, token_count: int) -> array[float] | None:
    scores = _per_token(fields, SCORES, token_count, ValueType.FLOAT32, ValueType.INT32)
    if scores is None:
        return None
    for index, score in enumerate(scores):
        if math.isnan(score):
            fields.refuse(SCORES, f"the score of id {index} is {score}, by which nothing can be ranked")
            break
    return array("f", scores)


def _per_token(fields: _Fields, key: str, token_count: int, *kinds: ValueType) -> array[Any] | None:
    numbers = fields.numbers(key, *kinds)
    if numbers is not None and len(numbers) != token_count:
        fields.refuse(key, f"has {len(numbers)} elements for {token_count} tokens")
    return numbers


def _merges(fields: _Fields, model: str) -> list[str] | None:
    merges = fields.strings(MERGES)
    family = find_family(model)
    if merges is None and family and family.requires_merges(fields.string(PRE)):
        fields.refuse(MERGES, f"missing, and {MODEL} {model} needs it")
    return merges


def _special_ids(fields: _Fields, token_count: int) -> dict[str, int]:
    ids: dict[str, int] = {}
    for role, key in SPECIAL_IDS:
        number = fields.number(key, ValueType.UINT32)
        if number is None:
            continue
        if number >= token_count:
            fields.refuse(key, f"id {number} is out of range for {token_count} tokens")
        ids[role] = number
    return ids


def _charsmap(fields: _Fields) -> bytes | None:
    charsmap = fields.numbers(CHARSMAP, ValueType.INT8, ValueType.UINT8)
    return None if charsmap is None else charsmap.tobytes()
