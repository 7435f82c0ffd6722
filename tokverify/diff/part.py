"""Compare two versions of a tokenizer part by part: tokens, merges, scores, types, settings, added tokens, template.

A new part is one function and one line in `PARTS`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tokverify.errors import TokverifyError
from tokverify.spec import TokenType
from tokverify.text.visible import visible
from tokverify.tokenizer import DocumentHolding, pieces_of

if TYPE_CHECKING:
    from tokverify.diff.version import Version
    from tokverify.engine.family import Settings
    from tokverify.spec import TokenizerSpec
    from tokverify.tokenizer import Tokenizer

_DIGITS = 16
_Value = TypeVar("_Value")
_OF_ONE_MODEL = ("types", "scores", "merges")


class Change(NamedTuple):
    """One thing that changed: `what` it is, and in words what it was and became; None where it was not there."""

    kind: str
    what: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class Part:
    """All changes of one part."""

    name: str
    changes: tuple[Change, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many changes there are of each kind, in the order they are told."""
        counts: dict[str, int] = {}
        for change in self.changes:
            counts[change.kind] = counts.get(change.kind, 0) + 1
        return counts


def compare_parts(old: Version, new: Version) -> tuple[tuple[Part, ...], tuple[str, ...]]:
    """Return the parts that changed, and sentences on what could not be compared."""
    before, after = _document(old), _document(new)
    left = "only what the two files say, not what llama.cpp would make of" if before and after else "only the tokens of"
    not_compared = [f"{left} {version.side.source}: {version.unread}" for version in (old, new) if version.spec is None]
    found = [Part("tokens", tuple(_tokens(old.tokenizer, new.tokenizer)))]
    if old.spec and new.spec:
        parts = PARTS
        if old.spec.model != new.spec.model:
            parts = {name: compare for name, compare in PARTS.items() if name not in _OF_ONE_MODEL}
            models = f"one tokenizer is {old.spec.model}, the other {new.spec.model}"
            not_compared.append(f"not the {', '.join(_OF_ONE_MODEL)}, since {models}")
        declared = _Declared(old.spec), _Declared(new.spec)
        found += [Part(name, tuple(compare(*declared))) for name, compare in parts.items()]
    if before and after:
        if not (old.spec and new.spec):
            found += [Part(name, tuple(compare(before, after))) for name, compare in DOCUMENT_PARTS.items()]
        found.append(Part("stages", tuple(_mapping(_stages(before), _stages(after)))))
    return tuple(part for part in found if part.changes), tuple(not_compared)


class _Declared:
    """What a version declares, and what llama.cpp would make of it; `settings` is None where it would refuse it."""

    def __init__(self, spec: TokenizerSpec) -> None:
        from tokverify.engine.settings import resolve

        self.spec = spec
        self.settings: Settings | None
        try:
            self.settings = resolve(spec)
        except TokverifyError:
            self.settings = None

    @cached_property
    def by_token(self) -> dict[str, int]:
        """The id of each token, the last one of those with the same text."""
        return {token: id for id, token in enumerate(self.spec.tokens)}


def _tokens(old: Tokenizer, new: Tokenizer) -> Iterator[Change]:
    old_pieces, new_pieces = pieces_of(old), pieces_of(new)
    before, after = ({piece: id for id, piece in enumerate(pieces) if piece} for pieces in (old_pieces, new_pieces))
    kept = {
        id
        for id, (was, became) in enumerate(zip(old_pieces, new_pieces, strict=False))
        # Two ways to write one token, such as two spaces and `▁▁`; a server only knows the bytes of some.
        if was == became or old.token_bytes(id) == new.token_bytes(id)
    }
    for piece, id in before.items():
        if id not in kept:
            moved = piece in after and after[piece] not in kept
            yield Change("moved" if moved else "removed", piece, f"id {id}", f"id {after[piece]}" if moved else None)
    for piece, id in after.items():
        if id not in kept and (piece not in before or before[piece] in kept):
            yield Change("added", piece, None, f"id {id}")


def _types(old: _Declared, new: _Declared) -> Iterator[Change]:
    yield from _per_token(old, new, lambda spec: spec.types, _type_name)


def _scores(old: _Declared, new: _Declared) -> Iterator[Change]:
    yield from _per_token(old, new, lambda spec: spec.scores, "{:g}".format)


def _per_token(
    old: _Declared,
    new: _Declared,
    values: Callable[[TokenizerSpec], Sequence[_Value] | None],
    show: Callable[[_Value], str],
) -> Iterator[Change]:
    """Compare what each token has; where one side has none for any token, that is one change."""
    before, after = values(old.spec), values(new.spec)
    if not before or not after:
        if before or after:
            yield Change("changed", "all", *(f"of {len(each):,} tokens" if each else None for each in (before, after)))
        return
    ids = new.by_token
    for token, id in old.by_token.items():
        if token in ids and (was := before[id]) != (became := after[ids[token]]):
            yield Change("changed", token, show(was), show(became))


def _type_name(type: int) -> str:
    return TokenType(type).name if type in TokenType.__members__.values() else str(type)


def _merges(old: _Declared, new: _Declared) -> Iterator[Change]:
    yield from _ranks(old.spec.merges or (), new.spec.merges or ())


def _ranks(old: Iterable[str], new: Iterable[str]) -> Iterator[Change]:
    before, after = ({merge: rank for rank, merge in enumerate(merges)} for merges in (old, new))
    yield from (Change("removed", merge, f"rank {rank}", None) for merge, rank in before.items() if merge not in after)
    yield from (Change("added", merge, None, f"rank {rank}") for merge, rank in after.items() if merge not in before)
    kept = [merge for merge in before if merge in after]
    for first, second in pairwise(kept):
        if after[first] > after[second]:
            shown = visible(first, mark_spaces=False)
            yield Change("reordered", second, f"after {shown}", f"before {shown}")


def _settings(old: _Declared, new: _Declared) -> Iterator[Change]:
    from tokverify.verify.side import settings_shown

    before, after = ({} if d.settings is None else _flat(settings_shown(d.settings)) for d in (old, new))
    yield from _mapping(_told(old.spec) | before, _told(new.spec) | after, left_out="added_tokens")


def _told(spec: TokenizerSpec) -> dict[str, object]:
    return {"model": spec.model, "charsmap": spec.charsmap and _digest(spec.charsmap)}


def _flat(settings: Mapping[str, object]) -> dict[str, object]:
    """Write `{"special_ids": {"bos": 1}}` as `{"special_ids.bos": 1}`."""
    flat: dict[str, object] = {}
    for name, value in settings.items():
        flat |= {f"{name}.{key}": each for key, each in value.items()} if isinstance(value, dict) else {name: value}
    return flat


def _digest(data: bytes) -> str:
    return f"sha256 {hashlib.sha256(data).hexdigest()[:_DIGITS]}"


def _added_tokens(old: _Declared, new: _Declared) -> Iterator[Change]:
    yield from _entries(_added(old.settings), _added(new.settings))


def _entries(old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[Change]:
    for change in _mapping(old, new):
        kind = "removed" if change.new is None else "added" if change.old is None else "changed"
        yield change._replace(kind=kind)


def _added(settings: Settings | None) -> dict[str, object]:
    return {
        token.text: ", ".join(
            ["control" if token.special else "user-defined"]
            + [flag for flag in ("lstrip", "rstrip") if getattr(token, flag)]
        )
        for token in (settings.added_tokens if settings else ())
    }


def _templates(old: _Declared, new: _Declared) -> Iterator[Change]:
    from tokverify.chat.trial import templates_of

    yield from _mapping(_lengths(templates_of(old.spec)), _lengths(templates_of(new.spec)))


def _lengths(templates: Mapping[str, str]) -> dict[str, object]:
    """Show a template by its length and the beginning of its sha256; the texts themselves are programs."""
    return {
        name: f"{len(text):,} characters, {_digest(text.encode('utf-8', 'surrogatepass'))}"
        for name, text in templates.items()
    }


def _mapping(old: Mapping[str, object], new: Mapping[str, object], left_out: str = "") -> Iterator[Change]:
    for name in dict.fromkeys([*old, *new]):
        before, after = old.get(name), new.get(name)
        if before != after and name != left_out:
            yield Change("changed", name, *(None if value is None else str(value) for value in (before, after)))


_STAGES = ("normalizer", "pre_tokenizer", "post_processor", "decoder", "truncation", "padding")


def _document(version: Version) -> dict[str, Any]:
    """Return a tokenizer.json in its own words; nothing for any other kind of file."""
    if not isinstance(version.tokenizer, DocumentHolding):
        return {}
    document: dict[str, Any] = json.loads(version.tokenizer.tokenizer_json())
    return document


def _stages(document: Mapping[str, Any]) -> dict[str, str | None]:
    model = {key: value for key, value in document["model"].items() if key not in {"vocab", "merges"}}
    return {name: _compact(document.get(name)) for name in _STAGES} | {"model": _compact(model)}


def _document_merges(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    before, after = (document["model"].get("merges") or () for document in (old, new))
    # A merge is written as "a b" or ["a", "b"], by the version of the library.
    yield from _ranks(*([m if isinstance(m, str) else " ".join(m) for m in merges] for merges in (before, after)))


def _document_scores(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    before, after = (document["model"].get("vocab") for document in (old, new))
    # Unigram's vocabulary is a list of pairs; others give no scores.
    if isinstance(before, list) and isinstance(after, list):
        scores = dict(after)
        kept = ((piece, was, scores[piece]) for piece, was in before if piece in scores)
        yield from (Change("changed", piece, f"{was:g}", f"{now:g}") for piece, was, now in kept if was != now)


def _document_added_tokens(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    yield from _entries(_flags(old), _flags(new))


def _flags(document: Mapping[str, Any]) -> dict[str, object]:
    """Map the text of each added token to the names of its flags that are on."""
    entries = document.get("added_tokens") or ()
    return {entry["content"]: ", ".join(sorted(name for name in entry if entry[name] is True)) for entry in entries}


def _compact(value: Any) -> str | None:  # noqa: ANN401 - any JSON value
    return None if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)


PARTS: Mapping[str, Callable[[_Declared, _Declared], Iterable[Change]]] = {
    "types": _types,
    "scores": _scores,
    "merges": _merges,
    "settings": _settings,
    "added tokens": _added_tokens,
    "chat templates": _templates,
}
"""Name -> how a part of two tokenizers is compared in terms of GGUF."""

DOCUMENT_PARTS: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], Iterable[Change]]] = {
    "scores": _document_scores,
    "merges": _document_merges,
    "added tokens": _document_added_tokens,
}
"""The same of two tokenizer.json files, of which one cannot be put in terms of GGUF."""
