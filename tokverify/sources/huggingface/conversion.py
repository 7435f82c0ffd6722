"""Convert a HuggingFace tokenizer.json to a TokenizerSpec: what the equivalent GGUF file would declare.

A stage of the pipeline that GGUF cannot declare is refused by name. Properties of single added tokens (`lstrip`,
`rstrip`, `single_word`, `normalized`), and what GGUF can declare but llama.cpp does differently, are not refused:
verification finds them as differences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from tokverify.errors import UnsupportedError
from tokverify.sources.config import special_texts, template_fields
from tokverify.sources.huggingface.bpe import convert_bpe
from tokverify.sources.huggingface.document import Document, parse
from tokverify.sources.huggingface.pipeline import find_pipeline
from tokverify.sources.huggingface.unigram import convert_unigram
from tokverify.sources.huggingface.wordpiece import convert_wordpiece
from tokverify.sources.location import read_file
from tokverify.spec import TokenizerSpec

CONVERTERS: Mapping[str, Callable[[Document], TokenizerSpec]] = {
    "BPE": convert_bpe,
    "Unigram": convert_unigram,
    "WordPiece": convert_wordpiece,
}
"""The type of a tokenizer.json's model -> the function that converts the document."""


def read_spec(path: Path | str) -> TokenizerSpec:
    """Read a tokenizer.json; the files next to it determine the special tokens (BOS, EOS and others).

    Raises:
        BrokenFileError: If the file cannot be read or is not a tokenizer.json.
        UnsupportedError: If GGUF cannot declare a part of it.
    """
    path = Path(path)
    document = parse(read_file(path), str(path), special_texts(path))
    return replace(convert_document(document), **template_fields(path))


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
