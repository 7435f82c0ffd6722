"""How llama.cpp finds added tokens otherwise than a tokenizer.json says."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tokverify.convert.loss import Loss
from tokverify.convert.retyping import such
from tokverify.engine.normalizer import ESCAPED_SPACE
from tokverify.engine.settings import resolve

if TYPE_CHECKING:
    from tokverify.convert.loss import Sides
    from tokverify.files.huggingface.document import Document
    from tokverify.spec import AddedToken, TokenizerSpec

    Entry = Mapping[str, Any]

_FLAGS = ("lstrip", "rstrip", "single_word")
# Whether a token is special in IN and to llama.cpp; None where it is no added token.
_SENTENCES = {
    (None, True): "llama.cpp finds {} as control tokens, which are no added tokens in IN",
    (None, False): "llama.cpp finds {}, which are no added tokens in IN",
    (False, True): "llama.cpp takes {} for control tokens, whatever a file says of them",
    (True, False): "llama.cpp finds {} where it does not look for control tokens, too",
    (True, None): "llama.cpp does not look for {} in texts",
    (False, None): "llama.cpp does not look for {} in texts",
}


def added_token_losses(document: Document, spec: TokenizerSpec, ids: Mapping[str, int]) -> Iterator[Loss]:
    """Tell which added tokens llama.cpp finds in other places, by kind of reason.

    Args:
        document: The tokenizer.json.
        spec: What was made of it.
        ids: The ids of its tokens, by their texts there.
    """
    found = {token.id: token for token in resolve(spec).added_tokens}
    told = {ids[entry["content"]]: entry for entry in document.added_tokens if entry["content"] in ids}
    yield from _flag_losses(told, found)
    escaped = [id for id in told if id not in found and ESCAPED_SPACE in told[id]["content"]]
    if escaped:
        named = such([told[id]["content"] for id in escaped])
        yield Loss(
            f"added_tokens: IN finds {named} where a text holds these characters, and not spaces; llama.cpp takes "
            "them for spaces",
            _Setting({told[id]["content"]: None for id in escaped}),
        )
    kinds: dict[tuple[bool | None, bool | None], list[int]] = {}
    for id in sorted({*found, *told} - {*escaped}):
        kind = (bool(told[id]["special"]) if id in told else None, found[id].special if id in found else None)
        if kind[0] is not kind[1]:
            kinds.setdefault(kind, []).append(id)
    for kind, retyped in kinds.items():
        texts = {id: told[id]["content"] if id in told else spec.tokens[id] for id in retyped}
        yield Loss(
            f"added_tokens: {_SENTENCES[kind].format(such(list(texts.values())))}",
            _Setting({text: found.get(id) for id, text in texts.items()}),
        )


def _flag_losses(told: Mapping[int, Entry], found: Mapping[int, AddedToken]) -> Iterator[Loss]:
    for flag in _FLAGS:
        lost = [
            id for id, entry in told.items() if id in found and entry.get(flag) and not getattr(found[id], flag, False)
        ]
        if lost:
            texts = [told[id]["content"] for id in lost]
            yield Loss(f"added_tokens: {flag} of {such(texts)}; GGUF has no key for it", _Clearing(flag, texts))


class _Clearing:
    """Clears a flag of added tokens in a tokenizer.json."""

    def __init__(self, flag: str, texts: Collection[str]) -> None:
        self._flag = flag
        self._texts = frozenset(texts)

    def __call__(self, sides: Sides) -> None:
        for entry in sides.content["added_tokens"]:
            if entry["content"] in self._texts:
                entry[self._flag] = False


class _Setting:
    """Has a tokenizer.json find added tokens, given by their texts there, as llama.cpp does; None is not at all."""

    def __init__(self, tokens: Mapping[str, AddedToken | None]) -> None:
        self._tokens = tokens

    def __call__(self, sides: Sides) -> None:
        content = sides.content
        kept = [entry for entry in content.get("added_tokens") or [] if self._tokens.get(entry["content"], True)]
        for entry in kept:
            if token := self._tokens.get(entry["content"]):
                entry["special"] = token.special
        present = {entry["content"] for entry in kept}
        kept += [_entry(text, token) for text, token in self._tokens.items() if token and text not in present]
        content["added_tokens"] = kept


def _entry(text: str, token: AddedToken) -> dict[str, object]:
    flags = dict.fromkeys((*_FLAGS, "normalized"), False)
    return {"id": token.id, "content": text, "special": token.special, **flags}
