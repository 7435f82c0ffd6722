"""HuggingFace tokenizer.json -> TokenizerSpec: what a GGUF file would declare that says the same of the tokenizer.

A stage of the pipeline that no GGUF file can declare is refused by name. What concerns single added tokens (`lstrip`,
`rstrip`, `single_word`, `normalized`), and what GGUF can declare but llama.cpp does in its own way, is left as a
difference to be found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.errors import UnsupportedError
from tokverify.files.config import special_texts, template_fields
from tokverify.files.huggingface.bpe import convert_bpe
from tokverify.files.huggingface.document import parse
from tokverify.files.huggingface.pipeline import find_pipeline
from tokverify.files.huggingface.unigram import convert_unigram
from tokverify.files.huggingface.wordpiece import convert_wordpiece
from tokverify.files.location import read_file

if TYPE_CHECKING:
    from tokverify.files.huggingface.document import Document
    from tokverify.spec import TokenizerSpec

__all__ = ["CONVERTERS", "convert_document", "read_spec"]

CONVERTERS: Mapping[str, Callable[[Document], TokenizerSpec]] = {
    "BPE": convert_bpe,
    "Unigram": convert_unigram,
    "WordPiece": convert_wordpiece,
}
"""The type of a tokenizer.json's model -> how the whole is converted."""


def read_spec(path: Path | str) -> TokenizerSpec:
    """Read the tokenizer of a tokenizer.json; files beside it tell which token is BOS, EOS and so on.

    Raises:
        BrokenFileError: If the file cannot be read or is not a tokenizer.json.
        UnsupportedError: If a part of it is one that no GGUF file can declare.
    """
    path = Path(path)
    document = parse(read_file(path), str(path), special_texts(path))
    return replace(convert_document(document), **template_fields(path))


def convert_document(document: Document) -> TokenizerSpec:
    """Convert a tokenizer.json that is parsed already.

    Raises:
        BrokenFileError: If a part of it makes no sense.
        UnsupportedError: If a part of it is one that no GGUF file can declare.
    """
    pipeline = find_pipeline(document.library)
    if pipeline and document.model_type == "BPE":
        return pipeline.convert(document)
    convert = CONVERTERS.get(document.model_type)
    if convert is None:
        raise UnsupportedError(
            f"{document.source}: the model is {document.model_type}; of its kinds GGUF has {', '.join(CONVERTERS)}"
        )
    return convert(document)
