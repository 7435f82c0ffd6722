"""Convert a HuggingFace tokenizer.json to a TokenizerSpec: what the equivalent GGUF file would declare.

A part that GGUF cannot declare is left out, and named, if what remains is the nearest that GGUF can express:
normalizers, several tokens on one side of a text, `ignore_merges`, and the exact pattern of the pre-tokenizer. Any
other such stage is refused by name.
Properties of single added tokens (`lstrip`, `rstrip`, `single_word`, `normalized`) that no name of a model brings, and
what GGUF can declare but llama.cpp does differently, are not refused either: verification finds them as differences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tokverify.errors import UnsupportedError
from tokverify.sources.config import template_fields
from tokverify.sources.huggingface.bpe import convert_bpe
from tokverify.sources.huggingface.document import Document, parse_beside
from tokverify.sources.huggingface.pipeline import find_pipeline
from tokverify.sources.huggingface.stage import RUNS_OF_SPACES, SPACES_AROUND, Stage, pre_tokenizer_of
from tokverify.sources.huggingface.tables import NativeTables
from tokverify.sources.huggingface.telling_name import with_telling_name
from tokverify.sources.huggingface.unigram import convert_unigram
from tokverify.sources.huggingface.vocabulary_files import build_document
from tokverify.sources.huggingface.wordpiece import convert_wordpiece
from tokverify.sources.location import read_file
from tokverify.spec import TokenizerSpec

CONVERTERS: Mapping[str, Callable[[Document], TokenizerSpec]] = {
    "BPE": convert_bpe,
    "Unigram": convert_unigram,
    "WordPiece": convert_wordpiece,
}
"""The type of a tokenizer.json's model -> the function that converts the document."""


_SPACE = {"String": " "}
_NORMALIZERS_OF = {"Unigram": "Precompiled", "WordPiece": "BertNormalizer"}
"""Type of the model -> the normalizer that only its algorithm applies."""

_NEAREST_PATTERN = (
    "pre_tokenizer: llama.cpp has none that splits texts exactly like this one; the file names the nearest"
)
NEAREST_SCORES = (
    "model.merges: llama.cpp merges by one score for each piece, not by pairs; the file has the nearest scores"
)
"""What is left out of merges that scores cannot express."""
NO_PREFIX = "pre_tokenizer ByteLevel add_prefix_space: llama.cpp adds no space before a text"
"""What is left out of byte-level BPE that adds a space before each text."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """The part of a tokenizer.json that GGUF can express."""

    document: Document
    spec: TokenizerSpec
    """Its `left_out` names the rest: what is left out, and what llama.cpp does instead."""


def read_spec(path: Path | str) -> TokenizerSpec:
    """Read a tokenizer.json; the files next to it determine the special tokens (BOS, EOS and others).

    Raises:
        BrokenFileError: If the file cannot be read or is not a tokenizer.json.
        UnsupportedError: If GGUF cannot declare anything like it.
    """
    path = Path(path)
    return convert_content(path, read_file(path))


def read_vocabulary_files(path: Path) -> TokenizerSpec:
    """Read a `vocab.json` with the `merges.txt` next to it, or a `vocab.txt`.

    Raises:
        BrokenFileError: If a file is missing, cannot be read, or is not a vocabulary.
        UnsupportedError: If GGUF cannot declare anything like it, or it does not say how texts are split.
    """
    return convert_content(path, build_document(path))


def convert_content(path: Path, content: bytes, native: NativeTables | None = None) -> TokenizerSpec:
    """Convert the content of a tokenizer.json, or what a vocabulary becomes; errors as for `read_spec`."""
    fitted = convert_leniently(parse_beside(path, content, native))
    return replace(fitted.spec, **template_fields(path))


def convert_leniently(document: Document) -> Fitted:
    """Convert a parsed tokenizer.json without the parts that GGUF cannot express, as few as possible.

    Raises:
        BrokenFileError: If a part of it is invalid.
        UnsupportedError: If GGUF cannot express anything like it.
    """
    document, unprefixed = _drop_prefix(document)
    document, trimmed = _fit_post_processor(document)
    first: UnsupportedError | None = None
    refusal: UnsupportedError | None = None
    for variant, dropped in _variants(document):
        try:
            spec = with_telling_name(convert_document(variant), document.added_tokens)
        except UnsupportedError as error:
            first = first or error
            # What can be left out is not the reason.
            if all(has_counterpart(stage, document.model_type) for stage in variant.normalizer):
                refusal = refusal or error
            continue
        return Fitted(variant, replace(spec, left_out=(*unprefixed, *trimmed, *dropped)))
    raise refusal or first or document.unsupported("normalizer")


def _variants(document: Document) -> Iterator[tuple[Document, tuple[str, ...]]]:
    """Yield a document without ever more of its parts, the pattern of the pre-tokenizer last."""
    stages = list(document.normalizer)
    kept_stages = [stages]
    expressible = [stage for stage in stages if has_counterpart(stage, document.model_type)]
    for kept in (*(_merge_all_spaces(each, document.model_type) for each in (stages, expressible)), []):
        if kept != kept_stages[-1]:
            kept_stages.append(kept)
    for flipped, option in (
        (document, ()),
        *_flip_ignore_merges(document),
        *_take_nearest(document),
        *_unsplit(document),
    ):
        for kept in kept_stages:
            yield replace(flipped, normalizer=kept), (*_omit_normalizers(stages, kept), *option)


def _merge_all_spaces(stages: list[Stage], model_type: str) -> list[Stage]:
    """Let normalizers that merge spaces also remove those around a text, because GGUF has one key for both."""
    is_merging = model_type == "Unigram" and any(stage.get("pattern") == RUNS_OF_SPACES for stage in stages)
    if not is_merging or any(stage["type"] == "Strip" or stage.get("pattern") == SPACES_AROUND for stage in stages):
        return stages
    return [*stages, {"type": "Strip", "strip_left": True, "strip_right": True}]


def has_counterpart(stage: Stage, model_type: str) -> bool:
    """Whether GGUF can express a normalizer, at least for some tokenizers with this type of model."""
    if model_type == "Unigram" and (
        stage["type"] == "Strip" or stage.get("pattern") in (SPACES_AROUND, RUNS_OF_SPACES)
    ):
        return True
    is_space = stage["type"] == "Replace" and stage["pattern"] == _SPACE
    return is_space or stage["type"] in {"Prepend", _NORMALIZERS_OF.get(model_type)}


def _omit_normalizers(stages: Sequence[Stage], kept: Sequence[Stage]) -> tuple[str, ...]:
    if len(kept) == len(stages):
        return ()
    if len(kept) > len(stages):
        return ("normalizer Replace: it merges runs of spaces; llama.cpp also removes those around a text",)
    names = ", ".join(dict.fromkeys(stage["type"] for stage in stages if stage not in kept))
    return (f"normalizer {names}: GGUF cannot express it; llama.cpp encodes texts without it",)


def _flip_ignore_merges(document: Document) -> Iterator[tuple[Document, tuple[str, ...]]]:
    """Yield the document with the other value of an option that llama.cpp ties to the name of the pre-tokenizer."""
    if document.model_type != "BPE" or find_pipeline(document.library):
        return
    value = bool(document.model.get("ignore_merges"))
    does = "looks up whole words before it merges" if not value else "merges every word"
    sentence = (
        f"model.ignore_merges: is {value}, but llama.cpp {does} with every pre-tokenizer that splits texts like this"
        " one"
    )
    yield replace(document, model={**document.model, "ignore_merges": not value}), (sentence,)


def _take_nearest(document: Document) -> Iterator[tuple[Document, tuple[str, ...]]]:
    """Yield the document with the pre-tokenizer or the scores of llama.cpp that are nearest to its own."""
    if document.model_type != "BPE" or find_pipeline(document.library):
        return
    sentence = _NEAREST_PATTERN if document.is_byte_level else NEAREST_SCORES
    yield replace(document, takes_nearest=True), (sentence,)


def _unsplit(document: Document) -> Iterator[tuple[Document, tuple[str, ...]]]:
    """Yield the document without the split of Metaspace, which llama.cpp's unigram model does not do."""
    if document.model_type != "Unigram":
        return
    stages = [{**stage, "split": False} if stage["type"] == "Metaspace" else stage for stage in document.pre_tokenizer]
    if stages != list(document.pre_tokenizer):
        sentence = "pre_tokenizer Metaspace split: llama.cpp does not split texts at spaces"
        yield replace(document, pre_tokenizer=stages), (sentence,)


def _drop_prefix(document: Document) -> tuple[Document, tuple[str, ...]]:
    """Drop the space that byte-level BPE adds before a text, which llama.cpp adds for no such model."""
    own = list(document.pre_tokenizer)
    stages = [{**stage, "add_prefix_space": False} if stage["type"] == "ByteLevel" else stage for stage in own]
    if stages == own or find_pipeline(document.library):
        return document, ()
    library = type(document.library).from_str(document.library.to_str())
    library.pre_tokenizer = pre_tokenizer_of(stages)
    return replace(document, pre_tokenizer=stages, library=library), (NO_PREFIX,)


def _fit_post_processor(document: Document) -> tuple[Document, tuple[str, ...]]:
    """Drop the tokens that a template adds on a side of the text where it adds more than one."""
    stages, sentences = [], []
    for stage in document.post_processor:
        trimmed, places = _trim_template(stage)
        stages.append(trimmed)
        sentences += [
            f"post_processor: {count} tokens {place} a text; GGUF can express only one" for place, count in places
        ]
    if not sentences:
        return document, ()
    return replace(document, post_processor=stages), (f"{sentences[0]}, so llama.cpp adds none there",)


def _trim_template(stage: Stage) -> tuple[Stage, list[tuple[str, int]]]:
    if stage["type"] != "TemplateProcessing":
        return stage, []
    texts = [at for at, item in enumerate(stage["single"]) if "Sequence" in item]
    if len(texts) != 1:
        return stage, []
    before, text, after = stage["single"][: texts[0]], stage["single"][texts[0]], stage["single"][texts[0] + 1 :]
    places = [(place, len(side)) for place, side in (("before", before), ("after", after)) if len(side) > 1]
    single = [*(before if len(before) == 1 else []), text, *(after if len(after) == 1 else [])]
    return {**stage, "single": single}, places


def convert_document(document: Document) -> TokenizerSpec:
    """Convert a parsed tokenizer.json.

    Raises:
        BrokenFileError: If a part of it is invalid.
        UnsupportedError: If GGUF cannot declare a part of it.
    """
    pipeline = find_pipeline(document.library)
    if pipeline and document.model_type == "BPE":
        return pipeline.convert(document)
    convert = CONVERTERS.get(document.model_type)
    if convert is None:
        raise UnsupportedError(
            f"{document.source}: the model is {document.model_type}, but GGUF supports only {', '.join(CONVERTERS)}"
        )
    return convert(document)
