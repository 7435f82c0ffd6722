"""Summarize a tokenizer file, or list its tokens."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tokverify.commands.tasks.declaration import open_declaration
from tokverify.explain.inspection import find_tokens, inspect
from tokverify.report.inspect import Inspection, TokenList


def inspect_model(model: str | Path) -> Inspection:
    """Summarize the sizes, token types, special tokens and settings of a tokenizer file.

    If llama.cpp refuses a GGUF file, the summary shows what the file declares, and the reason.

    Args:
        model: The file.

    Raises:
        TokverifyError: If the file cannot be read.
    """
    opened = open_declaration(model)
    refusal = opened.declaration.refusal
    inspected = inspect(opened.spec, str(refusal) if refusal else None, is_gguf=opened.kind == "gguf")
    needs = opened.needs if inspected.in_llama_cpp else inspected.needs
    return replace(inspected, needs=needs, source=opened.file.location)


def list_tokens(model: str | Path, selection: str) -> TokenList:
    """Find tokens of a file by id (`5,107-137`) or by a pattern of their stored text (`*_of_*`).

    Args:
        model: The file.
        selection: The ids or the pattern.

    Raises:
        TokverifyError: If the file cannot be read, or there is no such token.
    """
    declaration = open_declaration(model).declaration
    return TokenList(tuple(find_tokens(declaration.spec, selection, is_loadable=declaration.refusal is None)))
