"""Summarize a tokenizer file, or list its tokens."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.explain.inspection import inspect
from tokverify.explain.token_search import find_tokens
from tokverify.files.gguf.declaration import read_declaration
from tokverify.files.tokenizer_file import kind_of_model, read_spec_of_kind
from tokverify.report.inspect import TokenList

if TYPE_CHECKING:
    from tokverify.report.inspect import Inspection
    from tokverify.spec import TokenizerSpec


def inspect_model(model: str | Path) -> Inspection:
    """Summarize the sizes, token types, special tokens and settings of a tokenizer file.

    If llama.cpp refuses a GGUF file, the summary shows what the file declares, and the reason.

    Raises:
        TokverifyError: If the file cannot be read.
    """
    return replace(inspect(*_read(Path(model))), source=str(model))


def list_tokens(model: str | Path, selection: str) -> TokenList:
    """Find tokens of a file by id (`5,107-137`) or by a pattern of their stored text (`*_of_*`).

    Raises:
        TokverifyError: If the file cannot be read, or there is no such token.
    """
    spec, refusal = _read(Path(model))
    return TokenList(tuple(find_tokens(spec, selection, is_loadable=refusal is None)))


def _read(path: Path) -> tuple[TokenizerSpec, str | None]:
    """Read a tokenizer, as much of it as possible if it is a GGUF file that is refused, and the reason for that."""
    kind = kind_of_model(path)
    if kind != "gguf":
        return read_spec_of_kind(path, kind), None
    declaration = read_declaration(path)
    return declaration.spec, str(declaration.refusal) if declaration.refusal else None
