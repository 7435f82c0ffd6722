"""Find out which tokens a repair changes, and which of them nothing has verified."""

from __future__ import annotations

from collections.abc import Iterable

from tokverify.compare.opened import Opened
from tokverify.engine.joined_strings import find_differing
from tokverify.engine.special_text import BYTE_PIECE
from tokverify.repair.fix.measure import Measure
from tokverify.repair.probed_type_change import confirmed_by_probing
from tokverify.repair.token_patch import types_of
from tokverify.repair.type_change import converted_types
from tokverify.report.fix import TypeRange
from tokverify.report.run import Status
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.text.utf8 import from_utf8
from tokverify.texts.target_text import ids_in
from tokverify.texts.token_text import is_marker


def changed_ids(old: TokenizerSpec, new: TokenizerSpec) -> list[int]:
    """Return the ids whose text, type or score is not the same in two tokenizers."""
    changed = set(find_differing(old.tokens, new.tokens)) | set(find_differing(types_of(old), types_of(new)))
    changed.update(find_differing(old.scores or (), new.scores or ()))
    return sorted(id for id in changed if id < len(new.tokens))


def unverified_ids(old: TokenizerSpec, new: TokenizerSpec, facts: Opened, after: Measure) -> list[int]:
    """Return the ids with a new text or type that the reference does not declare and no matching text shows.

    If it shows only ids, a token that is named like a byte may become one.
    """
    changed = set(find_differing(old.tokens, new.tokens)) | set(find_differing(types_of(old), types_of(new)))
    unshown = {id for id in changed - _shown_ids(after) if id < len(new.tokens)}
    named = set[int]() if facts.extended_spec else _named_bytes(unshown, old, new)
    left = unshown - _declared_ids(unshown, old, new, facts) - named
    return sorted(left - _known_bytes(left, old, new, facts, after)) if left else []


def _named_bytes(ids: Iterable[int], old: TokenizerSpec, new: TokenizerSpec) -> set[int]:
    """Return those of some ids whose type became BYTE, as their texts say; few texts show one."""
    types, size = types_of(new), len(old.tokens)
    named = (id for id in ids if id < size and types[id] == TokenType.BYTE and old.tokens[id] == new.tokens[id])
    return {id for id in named if BYTE_PIECE.fullmatch(new.tokens[id])}


def _declared_ids(ids: Iterable[int], old: TokenizerSpec, new: TokenizerSpec, facts: Opened) -> set[int]:
    """Return those of some ids whose text is the reference's, and whose type is, too, or as it was before.

    What converters make of the reference's type will also do.
    """
    reference = facts.extended_spec
    if reference is None:
        return set()
    types, expected_types, kept = types_of(new), types_of(reference), types_of(old)
    converted = converted_types(new, expected_types, facts)
    known = (id for id in ids if id < len(reference.tokens) and new.tokens[id] == reference.tokens[id])
    return {id for id in known if types[id] in {expected_types[id], converted[id], *kept[id : id + 1]}}


def _shown_ids(after: Measure) -> set[int]:
    """Return the ids for which texts were made, all of which match."""
    failing = [result.case for result in after.results if result.status in {Status.MISMATCH, Status.ERROR}]
    return ids_in(result.case for result in after.results) - ids_in(failing)


def _known_bytes(ids: Iterable[int], old: TokenizerSpec, new: TokenizerSpec, facts: Opened, after: Measure) -> set[int]:
    """Return those of some ids that represent the same bytes as in the reference, if a text cannot show more.

    That is so for tokens that no text can contain, such as padding after the reference's last token, for those that
    were only moved and keep their type, for those whose type probing the reference confirms, and for ordinary ones that
    stay so, unless they are markers.
    """
    expected, known = facts.token_bytes, set[int]()
    if after.encoder is None or not expected:
        return known
    moved, probed = set(zip(old.tokens, types_of(old), strict=False)), confirmed_by_probing(facts, new)
    types, kept = types_of(new), types_of(old)
    for id in ids:
        token = new.tokens[id], types[id]
        stays_normal = id < len(kept) and kept[id] == types[id] == TokenType.NORMAL
        is_word = stays_normal and not is_marker(new.tokens[id])
        data = after.encoder.token_bytes(id)
        is_same = data == (expected[id] if id < len(expected) else b"")
        if is_same and (token in moved or id in probed or is_word or not from_utf8(data)):
            known.add(id)
    return known


def type_ranges(old: TokenizerSpec, new: TokenizerSpec) -> tuple[TypeRange, ...]:
    """Return the types that differ, as ranges of ids; none if the tokens themselves have moved."""
    if len(old.tokens) != len(new.tokens):
        return ()
    types = types_of(new)
    ranges: list[TypeRange] = []
    for id in find_differing(types_of(old), types):
        if ranges and (ranges[-1].last, ranges[-1].type) == (id - 1, types[id]):
            ranges[-1] = TypeRange(ranges[-1].first, id, int(types[id]))
        else:
            ranges.append(TypeRange(id, id, int(types[id])))
    return tuple(ranges)
