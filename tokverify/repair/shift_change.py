"""Generate changes that undo an insertion or a deletion, which moved all later tokens with their types and scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tokverify.compare.shift import AGREEMENT, LEAST_MOVED, MOST, Shift, find_shift
from tokverify.engine.encoder import Encoder
from tokverify.repair import cost
from tokverify.repair.change import TokenizerChange
from tokverify.repair.evidence import Evidence
from tokverify.repair.spelling import text_of_bytes
from tokverify.repair.token_patch import kind_of, name_tokens, types_of
from tokverify.spec import SPECIAL_TYPES, TokenizerSpec, TokenType
from tokverify.text.utf8 import from_utf8
from tokverify.text.wording import plural
from tokverify.texts.batch import Queries
from tokverify.tokenizer import Tokenizer

_MOST_ASKED = 2_000
"""Of at most this many tokens before those that texts show, the reference is asked whether they are moved."""


def shifts(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Move tokens back that an insertion or a deletion has moved, together with their types and scores."""
    facts, spec = evidence.facts, evidence.spec
    if facts.spec is not None:
        shift = find_shift(spec.tokens, facts.spec.tokens)
    elif evidence.encoder is not None and facts.token_bytes:
        shift = find_shift(list(map(evidence.encoder.token_bytes, range(len(spec.tokens)))), facts.token_bytes)
    elif evidence.encoder is not None and facts.tokenizer is not None:
        shift = _find_by_ids(evidence, evidence.encoder, facts.tokenizer)
    else:
        return
    if shift:
        fill = _Fill(evidence, shift)
        gain = _gain_by_moving_roles(evidence, shift)
        if gain >= 0:
            yield _undo(fill, shift, moves_roles=True)
        if gain <= 0:
            yield _undo(fill, shift, moves_roles=False)


def _find_by_ids(evidence: Evidence, encoder: Encoder, expected: Tokenizer) -> Shift | None:
    """Recognize an insertion or a deletion by ids: from one on, nearly all are lower or higher by the same number."""
    moves: Counter[int] = Counter()
    pairs: set[tuple[int, int]] = set()
    for target in evidence.targets:
        actual = target.outcome(encoder) or ()
        if len(actual) == len(target.expected):
            pairs.update(zip(actual, target.expected, strict=True))
    moves.update(theirs - ours for ours, theirs in pairs if ours != theirs)
    if not moves:
        return None
    move, moved = moves.most_common(1)[0]
    count = abs(move)
    first = min(ours for ours, theirs in pairs if theirs - ours == move)
    after = [theirs - ours for ours, theirs in pairs if ours >= first]
    if moved < max(LEAST_MOVED, AGREEMENT * moves.total()) or moved < AGREEMENT * len(after) or count > MOST:
        return None
    first = _find_first_moved(first, move, encoder, expected)
    is_insertion = move < 0
    difference = len(encoder.spec.tokens) - expected.vocab_size
    size = len(encoder.spec.tokens) + move if abs(difference) > count else expected.vocab_size
    return Shift(first - count if is_insertion else first, count, is_insertion, size)


def _find_first_moved(known: int, move: int, encoder: Encoder, expected: Tokenizer) -> int:
    """Return the first of our ids that are moved, at most `known`: the reference encodes the texts of those before."""
    first = known
    for id, place in reversed(ask_places(range(max(0, known - _MOST_ASKED), known), encoder, expected).items()):
        if id == place:
            break
        if place == id + move:
            first = id
    return first


def ask_places(ids: Iterable[int], encoder: Encoder, expected: Tokenizer) -> dict[int, int]:
    """Return the reference's id of each of our tokens whose text is a single token on both sides."""
    texts = {id: text for id in ids if (text := from_utf8(encoder.token_bytes(id)))}
    parse_special = expected.parses_special
    ours, theirs = (
        Queries(side).encode_all(list(texts.values()), parse_special=parse_special) for side in (encoder, expected)
    )
    answers = zip(texts, ours, theirs, strict=True)
    return {id: found[0] for id, own, found in answers if own == [id] and found and len(found) == 1}


def _gain_by_moving_roles(evidence: Evidence, shift: Shift) -> int:
    """Return how many more ids of special tokens are those of the reference if they move, too; 0 if it has none."""
    ours, theirs = evidence.spec.special_ids, evidence.facts.special_ids
    roles = [role for role in ours if role in theirs]
    moved = sum(shift.move_id(ours[role]) == theirs[role] for role in roles)
    return moved - sum(ours[role] == theirs[role] for role in roles)


def _undo(fill: _Fill, shift: Shift, *, moves_roles: bool) -> TokenizerChange:
    spec = fill.evidence.spec
    done = "removing" if shift.is_insertion else "restoring"
    ids = range(shift.at, shift.at + shift.count)
    names = name_tokens(ids, spec) if shift.is_insertion else plural(shift.count, "token")
    reason = "inserted" if shift.is_insertion else f"deleted at id {shift.at}"
    roles = "" if moves_roles else ", but not the ids of special tokens"
    return TokenizerChange(
        kind="shift",
        sentence=f"{done} {names}, {reason} by mistake, which moves all later tokens, types and scores back{roles}",
        cost=cost.SHIFT if moves_roles else cost.SHIFT_WITHOUT_ROLES,
        transform=lambda spec: _undo_in(spec, fill, shift, moves_roles=moves_roles),
    )


def _undo_in(spec: TokenizerSpec, fill: _Fill, shift: Shift, *, moves_roles: bool) -> TokenizerSpec:
    types = None if spec.types is None else shift.undo(spec.types, fill.type)
    ids = dict(spec.special_ids)
    for role, id in spec.special_ids.items() if moves_roles else ():
        moved = shift.move_id(id)
        # A converter may write the id as a constant, although it has lost the token.
        is_kept = role not in fill.evidence.facts.special_ids and _is_special(types, id) > _is_special(types, moved)
        ids[role] = id if is_kept else moved
    return replace(
        spec,
        tokens=shift.undo(spec.tokens, fill.text),
        types=types,
        scores=None if spec.scores is None else shift.undo(spec.scores, fill.score),
        special_ids={role: id for role, id in ids.items() if id < shift.size},
    )


def _is_special(types: Sequence[int] | None, id: int) -> bool:
    return types is not None and id < len(types) and types[id] in SPECIAL_TYPES


@dataclass(frozen=True, slots=True)
class _Fill:
    """What is known about tokens that our vocabulary lacks."""

    evidence: Evidence
    shift: Shift

    def text(self, id: int) -> str:
        facts = self.evidence.facts
        if facts.spec is not None and id < len(facts.spec.tokens):
            return facts.spec.tokens[id]
        data = facts.token_bytes[id] if id < len(facts.token_bytes) else b""
        text = text_of_bytes(data, self.evidence.spec.model) if data else f"[PAD{id}]"
        return text if text not in self.evidence.spec.tokens else f"[PAD{id}]"

    def type(self, id: int) -> int:
        reference = self.evidence.facts.spec
        if reference is not None and id < len(reference.tokens):
            return types_of(reference)[id]
        text = self.text(id)
        if text == f"[PAD{id}]":
            return TokenType.UNUSED.value
        is_tag = kind_of(text) == "tags"
        return TokenType.CONTROL.value if is_tag else TokenType.NORMAL.value

    def score(self, id: int) -> float:
        reference, own = self.evidence.facts.spec, self.evidence.spec.scores or ()
        if reference is not None and reference.scores and id < len(reference.scores):
            return reference.scores[id]
        # Between those of its neighbors, because trainers number tokens by score.
        neighbors = [own[near] for near in (self.shift.at - 1, self.shift.at) if 0 <= near < len(own)]
        return sum(neighbors) / len(neighbors) if neighbors else 0.0
