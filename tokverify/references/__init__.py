"""References: the tokenizers that a GGUF file's own is compared with, each imported only when it is used.

A new kind is one module with a loader and one line in `REFERENCES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.files.location import identify
from tokverify.references import hub, huggingface, llama_cpp, rebuilt, sentencepiece, server, tekken, tiktoken
from tokverify.references.reference import FoundReference, Request

if TYPE_CHECKING:
    from tokverify.engine.settings import Settings
    from tokverify.spec import TokenizerSpec
    from tokverify.tokenizer import Tokenizer

__all__ = ["REFERENCES", "FoundReference", "Request", "load_reference", "open_reference"]

REFERENCES: Mapping[str, Callable[[Request], FoundReference]] = {
    "tokenizers": huggingface.load,
    "sentencepiece": sentencepiece.load,
    "hub": hub.load,
    "rebuilt": rebuilt.load,
    "llama.cpp": llama_cpp.load,
    "server": server.load,
    "tiktoken": tiktoken.load,
    "tekken": tekken.load,
}


def load_reference(
    location: str | Path,
    *,
    spec: TokenizerSpec | None = None,
    settings: Settings | None = None,
    model: Path | None = None,
) -> Tokenizer:
    """Load a reference tokenizer; see `open_reference`."""
    return open_reference(location, spec=spec, settings=settings, model=model).tokenizer


def open_reference(
    location: str | Path,
    *,
    spec: TokenizerSpec | None = None,
    settings: Settings | None = None,
    model: Path | None = None,
) -> FoundReference:
    """Load a reference tokenizer together with its provenance.

    Args:
        location: A tokenizer.json, a sentencepiece .model, a tiktoken or tekken file, a directory with one of the
            first two, a hub id `org/name` or `org/name@revision`, the address of a llama-server, `rebuilt`,
            `llama.cpp`, or `tiktoken:NAME`. `kind:rest` names any kind outright, as in `hub:gpt2`.
        spec: The GGUF file's tokenizer, which `rebuilt` is made from.
        settings: Its effective settings, where already known.
        model: The GGUF file itself, which `llama.cpp` loads.

    Raises:
        TokverifyError: If nothing is there; a subclass says that it is broken, or of a kind tokverify lacks.
    """
    kind, rest = identify(str(location), REFERENCES)
    return REFERENCES[kind](Request(rest, spec, settings, model))
