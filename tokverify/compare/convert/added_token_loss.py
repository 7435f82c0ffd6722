"""Find how llama.cpp matches added tokens differently from what a tokenizer.json specifies."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tokverify.compare.convert.loss import Loss, name_texts
from tokverify.engine.normalizer import ESCAPED_SPACE
from tokverify.engine.settings import resolve

if TYPE_CHECKING:
    from tokverify.compare.convert.loss import Sides
    from tokverify.sources.huggingface.document import Document
    from tokverify.spec import AddedToken, TokenizerSpec

    Entry = Mapping[str, Any]

_FLAGS = ("lstrip", "rstrip", "single_word")
# Whether a token is special in IN and in llama.cpp; None if it is not an added token.
_SENTENCES = {
    (None, True): "llama.cpp recognizes {} as control tokens, but IN has no such added tokens",
    (None, False): "llama.cpp matches {} in texts, but IN has no such added tokens",
    (False, True): "llama.cpp treats {} as control tokens, regardless of what the file declares",
    (True, False): "llama.cpp matches {} even if it does not parse control tokens",
    (True, None): "llama.cpp does not match {} in texts",
    (False, None): "llama.cpp does not match {} in texts",
}


def added_token_losses(document: Document, spec: TokenizerSpec, ids: Mapping[str, int]) -> Iterator[Loss]:
    """Yield the added tokens that llama.cpp matches in other places, one loss per reason.

    Args:
        document: The tokenizer.json.
        spec: The converted tokenizer.
        ids: The ids of the document's tokens, by their texts in it.
    """
    found = {token.id: token for token in resolve(spec).added_tokens}
    declared = {ids[entry["content"]]: entry for entry in document.added_tokens if entry["content"] in ids}
    yield from _flag_losses(declared, found)
    contents = {id: entry["content"] for id, entry in declared.items()}
    escaped = [id for id, content in contents.items() if id not in found and ESCAPED_SPACE in content]
    if escaped:
        texts = {id: contents[id] for id in escaped}
        yield Loss(
            f"added_tokens: IN matches {name_texts(list(texts.values()))} where a text contains exactly these "
            "characters; llama.cpp treats `▁` as a space",
            _SetTokens(dict.fromkeys(texts.values())),
        )
    rest = sorted({*found, *declared} - {*escaped})
    for kind, ids_of_kind in _by_kind(rest, declared, found).items():
        texts = {id: contents[id] if id in contents else spec.tokens[id] for id in ids_of_kind}
        yield Loss(
            f"added_tokens: {_SENTENCES[kind].format(name_texts(list(texts.values())))}",
            _SetTokens({text: found.get(id) for id, text in texts.items()}),
        )


def _by_kind(
    ids: Iterable[int], declared: Mapping[int, Entry], found: Mapping[int, AddedToken]
) -> dict[tuple[bool | None, bool | None], list[int]]:
    """Group the tokens that are not equally special on both sides, by a key of `_SENTENCES`."""
    kinds: dict[tuple[bool | None, bool | None], list[int]] = {}
    for id in ids:
        in_source = bool(declared[id]["special"]) if id in declared else None
        in_llama_cpp = found[id].special if id in found else None
        if in_source is not in_llama_cpp:
            kinds.setdefault((in_source, in_llama_cpp), []).append(id)
    return kinds


def _flag_losses(declared: Mapping[int, Entry], found: Mapping[int, AddedToken]) -> Iterator[Loss]:
    for flag in _FLAGS:
        lost = [
            id
            for id, entry in declared.items()
            if id in found and entry.get(flag) and not getattr(found[id], flag, False)
        ]
        if lost:
            texts = [declared[id]["content"] for id in lost]
            yield Loss(f"added_tokens: {flag} of {name_texts(texts)}; GGUF has no key for it", _ClearFlag(flag, texts))


class _ClearFlag:
    """Clear a flag of added tokens in a tokenizer.json."""

    def __init__(self, flag: str, texts: Collection[str]) -> None:
        self._flag = flag
        self._texts = frozenset(texts)

    def __call__(self, sides: Sides) -> None:
        for entry in sides.content["added_tokens"]:
            if entry["content"] in self._texts:
                entry[self._flag] = False


class _SetTokens:
    """Make a tokenizer.json match added tokens, given by their texts in it, as llama.cpp does; None for not at all."""

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
