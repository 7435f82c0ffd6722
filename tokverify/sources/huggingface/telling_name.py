"""Find the name of a model by which llama.cpp strips spaces around added tokens, as a tokenizer.json says of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tokverify.engine.family import Settings
from tokverify.engine.settings import TELLING_NAMES, resolve
from tokverify.errors import TokverifyError
from tokverify.spec import TokenizerSpec


def with_telling_name(spec: TokenizerSpec, added_tokens: Iterable[Mapping[str, Any]]) -> TokenizerSpec:
    """Return a tokenizer with a telling name added to its own, if more tokens strip spaces as their flags say by it.

    Args:
        spec: What a GGUF file declares, for which llama.cpp has no keys of `lstrip` and `rstrip`.
        added_tokens: The entries of the tokenizer.json.
    """
    wanted = {entry["id"]: (bool(entry.get("lstrip")), bool(entry.get("rstrip"))) for entry in added_tokens}
    if not any(map(any, wanted.values())):
        return spec
    named = [*_resolve(spec), *settings_by_name(spec)]
    return max(named, key=lambda each: _count_alike(each[1], wanted))[0] if named else spec


def settings_by_name(spec: TokenizerSpec) -> Iterator[tuple[TokenizerSpec, Settings]]:
    """Yield a tokenizer with each telling name added to its own, unless llama.cpp then refuses it."""
    own = spec.general.get("name", "")
    for name in TELLING_NAMES:
        yield from _resolve(replace(spec, general={**spec.general, "name": f"{own} {name}".strip()}))


def _resolve(spec: TokenizerSpec) -> list[tuple[TokenizerSpec, Settings]]:
    try:
        return [(spec, resolve(spec))]
    except TokverifyError:
        return []


def _count_alike(settings: Settings, wanted: Mapping[int, tuple[bool, bool]]) -> int:
    return sum(wanted.get(token.id, (False, False)) == (token.lstrip, token.rstrip) for token in settings.added_tokens)
