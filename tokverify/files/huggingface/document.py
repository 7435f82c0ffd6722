"""A tokenizer.json as data: parsed, checked, and its stages in the library's own normal form."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.files.huggingface.pipeline import Stage, stages_of
from tokverify.system.library_error import raised_as

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from tokenizers.models import Model

_EMPTY_MODEL = {"type": "BPE", "vocab": {}, "merges": []}
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


@dataclass(frozen=True, slots=True)
class Document:
    """A tokenizer.json.

    `model` is as the file has it, and `outline` the rest of the file. `library` is the tokenizer as the library loads
    it, but without its model; the stages are its normalizer, pre-tokenizer and post-processor with all options filled
    in and sequences unrolled. `special_texts` maps roles such as `bos` to the texts of their tokens.
    """

    source: str
    model_type: str
    model: Mapping[str, Any]
    outline: Mapping[str, Any]
    library: Tokenizer
    normalizer: Sequence[Stage]
    pre_tokenizer: Sequence[Stage]
    post_processor: Sequence[Stage]
    special_texts: Mapping[str, str]

    @property
    def added_tokens(self) -> Sequence[Mapping[str, Any]]:
        """The added tokens as the file has them."""
        return _added_tokens(self.outline)

    @property
    def unknown(self) -> str | None:
        """The model's token for what the vocabulary lacks, if it has one."""
        unknown = self.model.get("unk_token")
        if not isinstance(unknown, str | None):
            raise self.broken("model.unk_token", "must be a string")
        return unknown

    def broken(self, part: str, problem: str) -> BrokenFileError:
        """Make the error for a part that makes no sense."""
        return BrokenFileError(f"{self.source}: {part}: {problem}")

    def unsupported(self, part: str, problem: str = "GGUF cannot express it") -> UnsupportedError:
        """Make the error for a part that makes sense but has no counterpart in GGUF."""
        return UnsupportedError(f"{self.source}: {part}: {problem}")


def parse(data: bytes, source: str, special_texts: Mapping[str, str]) -> Document:
    """Parse the content of a tokenizer.json.

    Raises:
        BrokenFileError: If it is not a tokenizer.json.
    """
    outline = _read_json(data, source)
    model = outline.pop("model")
    library = _load(outline, source)
    return Document(
        source=source,
        model_type=_model_type(model),
        model=model,
        outline=outline,
        library=library,
        normalizer=stages_of(library.normalizer),
        pre_tokenizer=stages_of(library.pre_tokenizer),
        post_processor=stages_of(library.post_processor),
        special_texts=special_texts,
    )


def _read_json(data: bytes, source: str) -> dict[str, Any]:
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BrokenFileError(f"{source}: not a tokenizer.json, as it is not valid JSON ({error})") from error
    if not isinstance(content, dict) or not isinstance(content.get("model"), dict):
        raise BrokenFileError(f"{source}: JSON, but not a HuggingFace tokenizer.json: it has no `model`")
    return content


def load_around(model: Model, outline: Mapping[str, Any], source: str) -> Tokenizer:
    """Let the library load a tokenizer.json whose model it has loaded already, of which `outline` is the rest.

    Truncation and padding are left out.

    Raises:
        BrokenFileError: If it cannot.
    """
    from tokenizers import AddedToken

    tokenizer = _load({**outline, "added_tokens": []}, source)
    tokenizer.model = model
    # subtle: their ids depend on the model, and so they are not added before.
    tokenizer.add_tokens(
        [AddedToken(entry["content"], **{flag: entry[flag] for flag in _FLAGS}) for entry in _added_tokens(outline)]
    )
    return tokenizer


def _load(outline: Mapping[str, Any], source: str) -> Tokenizer:
    """Let the library load everything but the model, which takes the most time and is checked when it is converted."""
    import tokenizers

    skeleton = {**outline, "model": _EMPTY_MODEL, "truncation": None, "padding": None}
    with raised_as(BrokenFileError, f"{source}: tokenizers {tokenizers.__version__} cannot load it", quietly=True):
        return tokenizers.Tokenizer.from_str(json.dumps(skeleton))


def _added_tokens(outline: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return outline.get("added_tokens") or []


def _model_type(model: Mapping[str, Any]) -> str:
    """Return the model's type, which old files leave out."""
    if "type" in model:
        return str(model["type"])
    if "merges" in model:
        return "BPE"
    if isinstance(model.get("vocab"), list):
        return "Unigram"
    return "WordPiece" if "max_input_chars_per_word" in model else "WordLevel"
