"""Find the `tokenizer.ggml.pre` name that behaves like a tokenizer.json's pre-tokenizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.engine.pre_search import PROBES, best_name, names_that_cut, no_such_name
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.errors import UnsupportedError
from tokverify.system.library_error import raised_as

if TYPE_CHECKING:
    from tokverify.files.huggingface.document import Document


def find_pre_tokenizer(document: Document, *, adds_bos: bool, ignore_merges: bool) -> str:
    """Return a name that splits all `PROBES` in the same way and implies the same `ignore_merges`.

    Raises:
        UnsupportedError: If there is none.
    """
    with raised_as(UnsupportedError, f"{document.source}: pre_tokenizer: cannot split a text", quietly=True):
        cut = [[piece for piece, _ in document.library.pre_tokenizer.pre_tokenize_str(text)] for text in PROBES]
    matching = names_that_cut(cut)
    names = [name for name in matching if PRE_TOKENIZERS[name].ignore_merges == ignore_merges]
    if names:
        return best_name(names, adds_bos=adds_bos)
    if matching:
        raise document.unsupported(
            "model.ignore_merges",
            f"is {ignore_merges}, but in llama.cpp's pre-tokenizers that split texts like this one "
            f"({', '.join(matching)}), it is always {not ignore_merges}",
        )
    raise document.unsupported("pre_tokenizer", no_such_name(cut))
