"""Generate changes that add or replace entire tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tokverify.compare.marker import ANY
from tokverify.compare.opened import Opened
from tokverify.engine.families import find_family
from tokverify.engine.joined_strings import find_changed
from tokverify.engine.normalizer import escape_spaces
from tokverify.engine.special_text import is_converted_control
from tokverify.repair import cost
from tokverify.repair.change import TokenizerChange
from tokverify.repair.evidence import Evidence
from tokverify.repair.spelling import text_of_bytes
from tokverify.repair.token_patch import TokenPatch, kind_of, name_tokens, patch_tokens, types_of
from tokverify.repair.type_change import converted_types, type_effect
from tokverify.spec import TokenizerSpec, TokenType, ids_of_type, pieces_made_by
from tokverify.text.utf8 import has_surrogate, to_bytes
from tokverify.text.wording import list_items, plural, quote
from tokverify.texts.batch import Queries
from tokverify.texts.token_text import is_filler
from tokverify.tokenizer import why_hidden

_SHOWN = 5
_PADDING_SCORE = -10_000.0
"""So low that a model that looks for the best sum of scores never uses a padding token for its own text."""


def reference_tokens(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Add the reference's tokens beyond our last one, and copy those that differ in both text and type."""
    reference, spec = evidence.facts.spec, evidence.spec
    if reference is None:
        return
    yield from missing_tokens(evidence)
    others = _other_tokens(spec, reference, evidence.facts)
    types = types_of(spec)
    both = {id: patch for id, patch in others.items() if _has_other_effect(patch, types[id], spec)}
    # Where tokens were moved, the types of most of them happen to be right.
    for patches in [both, others] if 0 < len(both) < len(others) else [both]:
        if patches:
            sentence = f"copying the text and type of {name_tokens(patches, spec)} from the reference"
            yield patch_tokens(patches, "added", sentence, cost.ADDED_TOKENS)


def missing_tokens(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Add the reference's tokens beyond our last one."""
    reference, size = evidence.facts.extended_spec, len(evidence.spec.tokens)
    if reference is not None and len(reference.tokens) > size:
        yield TokenizerChange(
            kind="added",
            sentence=f"adding {name_tokens(range(size, len(reference.tokens)), evidence.spec)} from the reference",
            cost=cost.ADDED_TOKENS,
            transform=lambda spec: _append_rest(spec, reference, evidence.facts),
        )


def _append_rest(spec: TokenizerSpec, reference: TokenizerSpec, facts: Opened) -> TokenizerSpec:
    start = len(spec.tokens)
    scores = None if reference.scores is None else list(reference.scores)[start:]
    types = converted_types(reference, types_of(reference), facts, spec)
    return _append(spec, reference.tokens[start:], types[start:], scores)


def _other_tokens(spec: TokenizerSpec, reference: TokenizerSpec, facts: Opened) -> dict[int, TokenPatch]:
    """Return the reference's text and type for each token that has another text, and not only other marks of spaces."""
    types = converted_types(reference, types_of(reference), facts, spec)
    return {
        id: TokenPatch(reference.tokens[id], types[id])
        for id in find_changed(spec.tokens, reference.tokens)
        if escape_spaces(spec.tokens[id]) != escape_spaces(reference.tokens[id])
    }


def _has_other_effect(patch: TokenPatch, type: int, spec: TokenizerSpec) -> bool:
    return patch.type is not None and type_effect(type, spec) != type_effect(patch.type, spec)


def tokens_by_bytes(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Add the reference's tokens beyond our last one, of which only the bytes are known."""
    spec, expected_bytes = evidence.spec, evidence.facts.token_bytes
    start = len(spec.tokens)
    if evidence.facts.spec is not None or len(expected_bytes) <= start:
        return
    ids = range(start, len(expected_bytes))
    formed = _formed_pieces(spec)
    added = [_token_for(id, expected_bytes[id], formed, evidence) for id in ids]
    texts, types = [text for text, _ in added], [type.value for _, type in added]
    yield TokenizerChange(
        kind="added",
        sentence=f"adding {name_tokens(ids, spec)} from the reference",
        cost=cost.ADDED_TOKENS_BY_BYTES,
        transform=lambda spec: _append(spec, texts, types, None),
    )


def placeholders_by_bytes(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Replace placeholders, and unused tokens that texts should contain, by the reference's, by their bytes."""
    spec, reference = evidence.spec, evidence.facts.spec
    if not evidence.facts.token_bytes or (reference is not None and reference.model == spec.model):
        return
    formed, types = _formed_pieces(spec), types_of(spec)
    patches: dict[int, TokenPatch] = {}
    for id, (data, text) in enumerate(zip(evidence.facts.token_bytes, spec.tokens, strict=False)):
        is_placeholder = types[id] == TokenType.UNUSED and (is_filler(text) or id in evidence.missing)
        if is_placeholder and data not in {b"", to_bytes(text)} and not has_surrogate(text_of_bytes(data, spec.model)):
            patches[id] = TokenPatch(*_token_for(id, data, formed, evidence))
    if patches:
        sentence = f"replacing {name_tokens(patches, spec)} with the reference's"
        yield patch_tokens(patches, "added", sentence, cost.TEXTS_BY_BYTES)


def placeholders_by_ids(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Replace placeholders by markers that a reference which shows only ids encodes to their ids.

    The markers are those of the failing texts and of the chat template.
    """
    spec, expected, types = evidence.spec, evidence.facts.tokenizer, types_of(evidence.spec)
    free = {id for id in ids_of_type(types, TokenType.UNUSED) if is_filler(spec.tokens[id])}
    if expected is None or not why_hidden(expected) or free.isdisjoint(evidence.missing):
        return
    markers = list(dict.fromkeys(ANY.findall(f"{evidence.text}\n{spec.chat_template or ''}")))
    queries = Queries(expected)
    parsed = queries.encode_all(markers, parse_special=expected.parses_special)
    patches: dict[int, TokenPatch] = {}
    for text, ids, plain in zip(markers, parsed, queries.encode_all(markers), strict=True):
        if ids and len(ids) == 1 and ids[0] in free:
            is_control = plain != ids or is_converted_control(text)
            type = TokenType.CONTROL if is_control else TokenType.USER_DEFINED
            patches.setdefault(ids[0], TokenPatch(text, type))
    if patches:
        texts = list_items([quote(patch.text or "") for patch in patches.values()], _SHOWN)
        what = "marker" if len(patches) == 1 else "markers"
        sentence = f"replacing {name_tokens(patches, spec)} with the {what} that the reference encodes so ({texts})"
        yield patch_tokens(patches, "added", sentence, cost.TEXTS_BY_BYTES)


def _formed_pieces(spec: TokenizerSpec) -> frozenset[str] | None:
    """Return the pieces that merges form and that have no token yet; None if the model uses no merges."""
    family = find_family(spec.model)
    if family is None or not family.is_bpe:
        return None
    return frozenset(pieces_made_by(spec.merges or ())).difference(spec.tokens)


def _token_for(id: int, data: bytes, formed: frozenset[str] | None, evidence: Evidence) -> tuple[str, TokenType]:
    """Return the text and type of a token that represents some bytes.

    One that looks like a tag, or that the reference uses although merges do not form it, is matched in texts. If the
    reference lists which tokens are matched, no others are.
    """
    text, listed = data.decode("utf-8", "surrogateescape"), evidence.facts.added_tokens
    if not data or text == f"[PAD{id}]":
        return f"[PAD{id}]", TokenType.UNUSED
    if listed is not None and id in listed:
        is_control = listed[id].special or is_converted_control(text)
        return text, TokenType.CONTROL if is_control else TokenType.USER_DEFINED
    if listed is not None:
        return text_of_bytes(data, evidence.spec.model), TokenType.NORMAL
    if kind_of(text) == "tags":
        is_control = id not in evidence.missing_unparsed or is_converted_control(text)
        return text, TokenType.CONTROL if is_control else TokenType.USER_DEFINED
    piece = text_of_bytes(data, evidence.spec.model)
    if formed is not None and piece not in formed and id in evidence.missing:
        return text, TokenType.USER_DEFINED
    return piece, TokenType.NORMAL


def padding(start: int, size: int) -> TokenizerChange:
    """Return the change that adds padding from the id `start` on, so that each of `size` embeddings has a token."""
    texts, types = [f"[PAD{id}]" for id in range(start, size)], [TokenType.UNUSED.value] * (size - start)
    return TokenizerChange(
        kind="added",
        sentence=f"adding {plural(size - start, 'padding token')}, as the model has {size:,} embeddings",
        cost=cost.ADDED_TOKENS,
        transform=lambda spec: _append(spec, texts, types, None),
    )


def _append(
    spec: TokenizerSpec, tokens: Sequence[str], types: Sequence[int], scores: Sequence[float] | None
) -> TokenizerSpec:
    """Append tokens; without scores, they get those that converters write, if the others have scores."""
    scores = scores or [_PADDING_SCORE if type == TokenType.UNUSED else 0.0 for type in types]
    return replace(
        spec,
        tokens=[*spec.tokens, *tokens],
        types=[*types_of(spec), *types],
        scores=None if spec.scores is None else [*spec.scores[: len(spec.tokens)], *scores],
    )
