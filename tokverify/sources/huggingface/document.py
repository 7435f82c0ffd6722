"""Parse and check a tokenizer.json, with its stages in the normal form of the library."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.sources import config
from tokverify.sources.huggingface.expansion import require_bounded, require_valid_charsmaps
from tokverify.sources.huggingface.stage import Stage, stages_of
from tokverify.sources.huggingface.tables import NativeTables, Tables, read_tables
from tokverify.system.json_input import JsonError, parse_json
from tokverify.system.library_error import raised_as

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_EMPTY_MODEL = {"type": "BPE", "vocab": {}, "merges": []}
STAGES = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
"""The stages of a tokenizer.json, apart from its model."""


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed tokenizer.json; its stages have all options filled in, and sequences are flattened."""

    source: str
    """The name of the file in messages."""
    model_type: str
    model: Mapping[str, Any]
    """The model as stored in the file, mostly without what `tables` has."""
    tables: Tables
    """The vocabulary and the merges of the model."""
    outline: Mapping[str, Any]
    """The rest of the file."""
    library: Tokenizer
    """The tokenizer as loaded by the library, but without its model."""
    normalizer: Sequence[Stage]
    pre_tokenizer: Sequence[Stage]
    post_processor: Sequence[Stage]
    special_texts: Mapping[str, str]
    """The texts of special tokens by role, such as `bos`."""
    cleans_spaces: bool | None = None
    """Whether texts are decoded without spaces before punctuation; None if the files beside it do not say."""
    takes_nearest: bool = False
    """Whether to take the pre-tokenizer or the scores that are nearest to the file's, because none are equal to it."""

    @property
    def added_tokens(self) -> Sequence[Mapping[str, Any]]:
        """The added tokens as stored in the file."""
        return _added_tokens(self.outline)

    @property
    def unknown(self) -> str | None:
        """The model's unknown token, if it has one."""
        unknown = self.model.get("unk_token")
        if not isinstance(unknown, str | None):
            raise self.broken("model.unk_token", "must be a string")
        return unknown

    @property
    def is_byte_level(self) -> bool:
        """Whether its pieces are written in the GPT-2 alphabet."""
        return any(stage["type"] == "ByteLevel" for stage in self.pre_tokenizer)

    def broken(self, part: str, problem: str) -> BrokenFileError:
        """Build the error for an invalid part."""
        return BrokenFileError(f"{self.source}: {part}: {problem}")

    def unsupported(self, part: str, problem: str = "GGUF cannot express it") -> UnsupportedError:
        """Build the error for a valid part that has no equivalent in GGUF."""
        return UnsupportedError(f"{self.source}: {part}: {problem}")


def parse_beside(path: Path, data: bytes, native: NativeTables | None = None) -> Document:
    """Parse the content of a tokenizer.json, with what the files beside it say; arguments and errors as for `parse`."""
    return parse(data, str(path), config.special_texts(path), native, cleans_spaces=config.cleans_spaces(path))


def parse(
    data: bytes,
    source: str,
    special_texts: Mapping[str, str],
    native: NativeTables | None = None,
    *,
    cleans_spaces: bool | None = None,
) -> Document:
    """Parse the content of a tokenizer.json.

    Raises:
        BrokenFileError: If it is not a tokenizer.json.
        UnsupportedError: If its normalizer could turn a short text into a huge one.
    """
    native = native or read_tables(data)
    outline = read_outline(data, source, native)
    model = outline.pop("model")
    whole = partial(_read_model, data, source) if native else lambda: model
    require_valid_charsmaps(outline.get("normalizer"), source)
    library = _load(outline, source)
    normalizer = stages_of(library.normalizer)
    require_bounded(normalizer, source)
    return Document(
        source=source,
        model_type=_model_type(model),
        model=model,
        tables=Tables(model, native, whole),
        outline=outline,
        library=library,
        normalizer=normalizer,
        pre_tokenizer=stages_of(library.pre_tokenizer),
        post_processor=stages_of(library.post_processor),
        special_texts=special_texts,
        cleans_spaces=cleans_spaces,
    )


def read_outline(data: bytes, source: str, native: NativeTables | None) -> dict[str, Any]:
    """Return the content of a tokenizer.json, without the large tables if they were read natively; errors as below."""
    return read_json(native.rest if native else data, source)


def read_json(data: bytes, source: str) -> dict[str, Any]:
    """Return the content of a tokenizer.json.

    Raises:
        BrokenFileError: If it is not a tokenizer.json.
    """
    try:
        content = parse_json(data)
    except JsonError as error:
        raise BrokenFileError(f"{source}: not a tokenizer.json, because it is not valid JSON ({error})") from error
    if not isinstance(content, dict) or not isinstance(content.get("model"), dict):
        raise BrokenFileError(f"{source}: JSON, but not a HuggingFace tokenizer.json: it has no `model`")
    return content


def _read_model(data: bytes, source: str) -> Mapping[str, Any]:
    model: Mapping[str, Any] = read_json(data, source)["model"]
    return model


def normalize_stages(outline: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a tokenizer.json, its stages as this version of the library writes them.

    Earlier versions wrote fewer options, which have the same values when they are read.
    """
    written: dict[str, Any] = json.loads(_load(outline, "tokenizer.json").to_str())
    return {**outline, **{name: written[name] for name in STAGES}}


def _load(outline: Mapping[str, Any], source: str) -> Tokenizer:
    """Load everything except the model with the library: the model takes the most time and is checked on conversion."""
    import tokenizers

    skeleton = {**outline, "model": _EMPTY_MODEL, "truncation": None, "padding": None}
    with raised_as(BrokenFileError, f"{source}: tokenizers {tokenizers.__version__} cannot load it", quietly=True):
        return tokenizers.Tokenizer.from_str(json.dumps(skeleton))


def _added_tokens(outline: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return outline.get("added_tokens") or []


def _model_type(model: Mapping[str, Any]) -> str:
    """Return the model's type, which old files omit."""
    if "type" in model:
        return str(model["type"])
    if "merges" in model:
        return "BPE"
    if isinstance(model.get("vocab"), list):
        return "Unigram"
    return "WordPiece" if "max_input_chars_per_word" in model else "WordLevel"
