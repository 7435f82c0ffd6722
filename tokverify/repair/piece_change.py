"""Generate changes to the stored texts of tokens."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from tokverify.compare.damage.table import UNDONE, describe_damage
from tokverify.compare.shift import LEAST_MOVED
from tokverify.engine.attribute import Attribute
from tokverify.engine.byte_level import read_bytes
from tokverify.engine.families import find_family
from tokverify.engine.family import Alphabet, Settings
from tokverify.engine.joined_strings import find_changed
from tokverify.engine.normalizer import ESCAPED_SPACE, escape_spaces
from tokverify.engine.settings import resolve
from tokverify.engine.special_text import BYTE_PIECE
from tokverify.errors import answer_or
from tokverify.repair import cost
from tokverify.repair.change import TokenizerChange
from tokverify.repair.evidence import Evidence
from tokverify.repair.probe.vocabulary import BYTES, find_byte_run
from tokverify.repair.spelling import RESPELLINGS, Respelling, spell_token
from tokverify.repair.token_patch import (
    TokenPatch,
    describe_distance,
    name_tokens,
    name_tokens_and_kinds,
    patch_tokens,
    types_of,
)
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.text.wording import plural, quote
from tokverify.texts.token_text import is_filler
from tokverify.tokenizer import why_hidden

_NOT_ASCII = 0x80
_AS_THERE = "as in the reference"
_REPRESENT_NOTHING = frozenset({TokenType.UNUSED, TokenType.UNDEFINED})


def reference_texts(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Store tokens as the reference does, grouped by how they differ."""
    reference, spec = evidence.facts.extended_spec, evidence.spec
    if reference is None:
        return
    groups: dict[str, dict[int, TokenPatch]] = {}
    patches = _reference_patches(spec, reference, evidence.facts.listed_size)
    for id, patch in patches.items():
        groups.setdefault(_describe_difference(spec.tokens[id], reference.tokens[id]), {})[id] = patch
    for group in groups.values():
        yield _rewrite(group, spec, reference, cost.REFERENCE_TEXTS)
    if len(groups) > 1:
        yield _rewrite(patches, spec, reference, cost.ALL_TEXTS)


def all_reference_texts(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Store all tokens that differ as the reference does."""
    reference, spec = evidence.facts.extended_spec, evidence.spec
    patches = _reference_patches(spec, reference, evidence.facts.listed_size) if reference else {}
    if reference and patches:
        yield _rewrite(patches, spec, reference, cost.REFERENCE_TEXTS)


def _rewrite(
    patches: dict[int, TokenPatch], spec: TokenizerSpec, reference: TokenizerSpec, cost: float
) -> TokenizerChange:
    """Rewrite tokens, and exchange those of them that stand behind the reference's last one with the padding here.

    A merge of models, or a script, may pad a vocabulary before it adds the last tokens. llama.cpp refuses a file with
    two tokens of one text.
    """
    sentence = f"rewriting {name_tokens(patches, spec)} {_describe_all(patches, spec, reference)}"
    types, ids = types_of(spec), {patch.text: id for id, patch in patches.items() if is_filler(spec.tokens[id])}
    behind = range(len(reference.tokens), len(spec.tokens))
    left = {id: ids[spec.tokens[id]] for id in behind if spec.tokens[id] in ids}
    if left:
        patches = patches | {id: TokenPatch(spec.tokens[place], types[place]) for id, place in left.items()}
        sentence += f", which puts padding in the place of {name_tokens(left, spec)}"
    change = patch_tokens(patches, "tokens", sentence, cost)
    roles = {role: left[id] for role, id in spec.special_ids.items() if id in left}
    if not roles:
        return change
    return replace(
        change,
        sentence=f"{sentence}, and moves {' and '.join(roles)} along",
        transform=lambda spec: replace(change.transform(spec), special_ids={**spec.special_ids, **roles}),
    )


def _reference_patches(spec: TokenizerSpec, reference: TokenizerSpec, size: int) -> dict[int, TokenPatch]:
    """Return patches for all tokens that the reference stores differently; from `size` on, files beside it list them.

    Those that represent nothing here, as placeholders do, also get the reference's type.
    """
    types, expected_types = types_of(spec), types_of(reference)
    patches: dict[int, TokenPatch] = {}
    for id in find_changed(spec.tokens, reference.tokens):
        if id >= size and expected_types[id] == TokenType.UNUSED:
            # It is between those that the files list.
            continue
        type = expected_types[id] if types[id] in _REPRESENT_NOTHING else None
        patches[id] = TokenPatch(reference.tokens[id], type)
    return patches


def _describe_difference(text: str, expected: str) -> str:
    if escape_spaces(text) == expected:
        return "with ▁ instead of spaces"
    if text == escape_spaces(expected):
        return "with spaces instead of ▁"
    if text.replace("▁", "") == expected.replace("▁", ""):
        return "with or without ▁ as in the reference"
    return _AS_THERE


def _describe_all(ids: Collection[int], spec: TokenizerSpec, reference: TokenizerSpec) -> str:
    """Say how the reference stores tokens and, if that can be seen, what a program did to all of them."""
    pairs = [(spec.tokens[id], reference.tokens[id]) for id in ids]
    if all(_is_as_in_vocab_txt(*pair) for pair in pairs) and any(text.startswith("##") for text, _ in pairs):
        return f"{_AS_THERE} (they were kept as in a vocab.txt, with ## inside words and no ▁ before them)"
    how = {_describe_difference(*pair) for pair in pairs}
    if how != {_AS_THERE}:
        return how.pop() if len(how) == 1 else _AS_THERE
    reason = (
        describe_damage(pairs) or _explain_lost(spec.tokens, reference.tokens) or _explain_moved(ids, spec, reference)
    )
    return f"{_AS_THERE} ({reason})" if reason else _AS_THERE


def _explain_moved(ids: Collection[int], spec: TokenizerSpec, reference: TokenizerSpec) -> str:
    """Say how far most ids are off, if the tokens are the same ones; empty if they are not, or if few are."""
    places = {spec.tokens[id]: id for id in ids}
    sources = {id: places[reference.tokens[id]] for id in ids if reference.tokens[id] in places}
    return describe_distance(sources) if len(sources) == len(places) >= LEAST_MOVED else ""


def _explain_lost(tokens: Sequence[str], expected: Sequence[str]) -> str:
    """Say that tokens have other ids only because the file has lost some; empty if it is not so."""
    here = set(tokens)
    lost = [token for token in expected if token not in here]
    if not lost or list(tokens) != [token for token in expected if token in here]:
        return ""
    such_as = ", such as" if len(lost) > 1 else ""
    return f"the file has lost {plural(len(lost), 'token')}{such_as} {quote(lost[0])}, so that these have lower ids"


def _is_as_in_vocab_txt(text: str, right: str) -> bool:
    """Whether a piece of a WordPiece vocabulary is spelled as BERT's own files do, and not as a GGUF file does."""
    inner = text.removeprefix("##")
    return right == (inner if inner != text else ESCAPED_SPACE + text)


def undamaged_texts(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Undo what a program may have done to all texts, and to merges that have the same parts, if no two become equal.

    Of a vocabulary that happens to contain `%20` or `&lt;`, two become equal.
    """
    spec, expected = evidence.spec, evidence.facts.tokenizer
    # One that lists its tokens tells what each should be.
    if expected is None or not why_hidden(expected):
        return
    family = find_family(spec.model)
    is_spelled = family is not None and family.alphabet is Alphabet.BYTE_LEVEL
    for reason, texts in _undo_all(tuple(spec.tokens)).items():
        if all(_may_be_stored(text, spec.tokens[id], is_spelled=is_spelled) for id, text in texts.items()):
            sentence = f"restoring the texts of {name_tokens(texts, spec)} ({reason})"
            patches = {id: TokenPatch(text) for id, text in texts.items()}
            change = patch_tokens(patches, "tokens", sentence, cost.CONVENTIONAL_TEXTS)
            yield _with_merges(change, UNDONE[reason]) if _are_parts_tokens(spec) else change


# A search asks for them again with each change that it extends, and they take half a second.
@lru_cache(maxsize=1)
def _undo_all(tokens: tuple[str, ...]) -> Mapping[str, Mapping[int, str]]:
    """Return by reason the texts that change if it is undone, by id; nothing for one that makes two texts equal."""
    known, found = set(tokens), {}
    for reason, undo in UNDONE.items():
        changed = {id: undone for id, text in enumerate(tokens) if (undone := undo(text)) != text}
        kept = known.difference(tokens[id] for id in changed) if changed else known
        if changed and len(set(changed.values()) - kept) == len(changed):
            found[reason] = changed
    return found


def _may_be_stored(text: str, before: str, *, is_spelled: bool) -> bool:
    """Whether a text is not empty and, if the one before was in the alphabet for bytes, is so, too."""
    return bool(text) and not (is_spelled and read_bytes(before) is not None and read_bytes(text) is None)


def _are_parts_tokens(spec: TokenizerSpec) -> bool:
    known = set(spec.tokens)
    return bool(spec.merges) and all(known.issuperset(merge.split(" ")) for merge in spec.merges or ())


def _with_merges(change: TokenizerChange, rewrite: Callable[[str], str]) -> TokenizerChange:
    """Rewrite the parts of merges as well."""

    def transform(spec: TokenizerSpec) -> TokenizerSpec:
        merges = [" ".join(map(rewrite, merge.split(" "))) for merge in spec.merges or ()]
        return replace(change.transform(spec), merges=merges)

    return replace(change, sentence=f"{change.sentence}, and the merges with them", transform=transform)


def conventional_texts(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Store tokens as their family does, if they look like another family's and the reference's bytes allow it."""
    spec = evidence.spec
    if evidence.facts.spec is not None:
        return
    family = find_family(spec.model)
    for respelling in RESPELLINGS:
        patches = dict(_respell(evidence, respelling)) if family and respelling.applies(family) else {}
        if patches:
            sentence = f"rewriting {name_tokens(patches, spec)} {respelling.description}"
            yield patch_tokens(patches, "tokens", sentence, cost.CONVENTIONAL_TEXTS)


def _respell(evidence: Evidence, respelling: Respelling) -> Iterator[tuple[int, TokenPatch]]:
    expected_bytes, family = evidence.facts.token_bytes, find_family(evidence.spec.model)
    # Other families may store runs of spaces with spaces, so that texts match them; but not if no token has a mark.
    is_byte_level = family is not None and family.alphabet is Alphabet.BYTE_LEVEL
    keeps_runs = not is_byte_level and any(ESCAPED_SPACE in text for text in evidence.spec.tokens)
    for id, (text, type) in enumerate(zip(evidence.spec.tokens, types_of(evidence.spec), strict=False)):
        if type == respelling.type and (not keeps_runs or len(text) == 1 or text.strip("▁ ")):
            expected = respelling.respell(text)
            if expected != text and (id >= len(expected_bytes) or respelling.read(expected) == expected_bytes[id]):
                yield id, TokenPatch(expected)


def lost_bytes(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Restore byte tokens of a family that needs them, by the bytes that tokens represent in the reference."""
    spec, family = evidence.spec, find_family(evidence.spec.model)
    if evidence.facts.spec is not None or family is None or not family.has_byte_pieces:
        return
    patches = _lost_bytes_of_run(spec, evidence.facts.token_bytes) or _lost_bytes(spec, evidence.facts.token_bytes)
    if patches:
        sentence = f"restoring {name_tokens(patches, spec)} as {'a byte token' if len(patches) == 1 else 'byte tokens'}"
        yield patch_tokens(patches, "tokens", sentence, cost.TEXTS_BY_BYTES)


def ordered_bytes(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Put byte tokens in order, as trainers number them, if the reference shows nothing but ids."""
    spec = evidence.spec
    if evidence.facts.spec is not None or evidence.facts.token_bytes:
        return
    ids = [id for id, piece in enumerate(spec.tokens) if piece.startswith("<0x") and BYTE_PIECE.fullmatch(piece)]
    ordered = zip(ids, sorted(spec.tokens[id] for id in ids), strict=True)
    patches = {id: TokenPatch(piece) for id, piece in ordered if piece != spec.tokens[id]}
    if patches:
        sentence = f"putting {name_tokens_and_kinds(patches, spec)} in order"
        yield patch_tokens(patches, "tokens", sentence, cost.CONVENTIONAL_TEXTS)


def _lost_bytes(spec: TokenizerSpec, expected_bytes: Sequence[bytes]) -> dict[int, TokenPatch]:
    known = set(spec.tokens)
    patches: dict[int, TokenPatch] = {}
    for id, data in enumerate(expected_bytes[: len(spec.tokens)]):
        text = _byte_piece(data)
        # A character may have a token of its own besides its byte token, but no other byte has.
        if len(data) == 1 and data[0] >= _NOT_ASCII and text not in known:
            patches[id] = TokenPatch(text, TokenType.BYTE)
    return patches


def _lost_bytes_of_run(spec: TokenizerSpec, expected_bytes: Sequence[bytes]) -> dict[int, TokenPatch]:
    """Return patches for a run of tokens that represent all bytes in order, if some have another text.

    As llama.cpp refuses a file without all of them, those with another type are included.
    """
    start = find_byte_run(expected_bytes)
    if start is None or start + BYTES > len(spec.tokens):
        return {}
    types = types_of(spec)
    right = {start + value: _byte_piece(bytes([value])) for value in range(BYTES)}
    if all(spec.tokens[id] == text for id, text in right.items()):
        return {}
    wrong = {id for id, text in right.items() if (spec.tokens[id], types[id]) != (text, TokenType.BYTE)}
    return {id: TokenPatch(right[id], TokenType.BYTE) for id in sorted(wrong)}


def _byte_piece(data: bytes) -> str:
    return f"<0x{data.hex().upper()}>"


def _settings(evidence: Evidence) -> Settings | None:
    """Return our settings; if equal texts or lost byte tokens are what llama.cpp refuses, those without them."""
    if evidence.encoder is not None:
        return evidence.encoder.settings
    spec, first = evidence.spec, dict[str, int]()
    restored = _lost_bytes_of_run(spec, evidence.facts.token_bytes)
    for id in (*restored, *range(len(spec.tokens))):
        first.setdefault(restored[id].text or "" if id in restored else spec.tokens[id], id)
    texts = {id: text for text, id in first.items()}
    distinct = [texts.get(id, f"[PAD{id}]") for id in range(len(spec.tokens))]
    return answer_or(None, resolve, replace(spec, tokens=distinct))


def texts_by_bytes(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Rewrite tokens so that they represent the same bytes as in the reference, even if the file is refused.

    Used if the reference does not declare how this model stores its tokens.
    """
    spec, reference = evidence.spec, evidence.facts.spec
    if reference is not None and reference.model == spec.model:
        return
    settings, expected_bytes = _settings(evidence), evidence.facts.token_bytes
    if settings is None:
        return
    patches: dict[int, TokenPatch] = {}
    for id, (expected, attribute) in enumerate(zip(expected_bytes, settings.attributes, strict=False)):
        # llama.cpp gives an empty token a name.
        own = spec.tokens[id] or settings.pieces[id]
        if not expected or settings.family.token_bytes(own, attribute, settings) == expected:
            continue
        text = None if attribute & Attribute.UNUSED.value else spell_token(expected, attribute, settings)
        if text is not None:
            patches[id] = TokenPatch(text)
    if patches:
        sentence = f"rewriting {name_tokens(patches, spec)} to represent the same bytes as in the reference"
        if reason := describe_damage([(spec.tokens[id], patch.text or "") for id, patch in patches.items()]):
            sentence += f" ({reason})"
        yield patch_tokens(patches, "tokens", sentence, cost.TEXTS_BY_BYTES)
