"""Find the name of a model by which llama.cpp strips spaces around added tokens, as a tokenizer.json says of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from tokverify.engine.settings import resolve
from tokverify.errors import TokverifyError
from tokverify.spec import TokenizerSpec

TELLING_NAMES = ("phi-3", "modern-bert")
"""Parts of `general.name` by which llama.cpp decides to strip spaces around added tokens."""


def with_telling_name(spec: TokenizerSpec, added_tokens: Iterable[Mapping[str, Any]]) -> TokenizerSpec:
    """Return a tokenizer with a telling name added to its own, if more tokens strip spaces as their flags say by it.

    Args:
        spec: What a GGUF file declares, for which llama.cpp has no keys of `lstrip` and `rstrip`.
        added_tokens: The entries of the tokenizer.json.
    """
    wanted = {entry["id"]: (bool(entry.get("lstrip")), bool(entry.get("rstrip"))) for entry in added_tokens}
    if not any(map(any, wanted.values())):
        return spec
    own = spec.general.get("name", "")
    candidates = [replace(spec, general={**spec.general, "name": f"{own} {name}".strip()}) for name in TELLING_NAMES]
    return max(spec, *candidates, key=lambda candidate: _count_alike(candidate, wanted))


def _count_alike(spec: TokenizerSpec, wanted: Mapping[int, tuple[bool, bool]]) -> int:
    try:
        added = resolve(spec).added_tokens
    except TokverifyError:
        return -1
    return sum(wanted.get(token.id, (False, False)) == (token.lstrip, token.rstrip) for token in added)
