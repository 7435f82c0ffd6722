"""Tokens of byte-pair encoding that no merge makes: added ones that lost their type, or words that lost their merge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tokverify.engine.attribute import Attribute
from tokverify.engine.families import find_family
from tokverify.engine.family import Settings
from tokverify.engine.piece_index import find_unmade, index_pieces
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, splitter
from tokverify.spec import TokenizerSpec, pieces_made_by


def ordinary_unmade(spec: TokenizerSpec, settings: Settings) -> list[int]:
    """Return the NORMAL tokens of several characters that no merge makes; none in families without merges."""
    if not settings.family.is_bpe or not spec.merges:
        return []
    normal, pieces = Attribute.NORMAL.value, settings.pieces
    unmade = unmade_by(spec.merges, settings.ids)
    return sorted(id for id in unmade if settings.attributes[id] == normal and len(pieces[id]) > 1)


def unmade_by(merges: Sequence[str], ids: Mapping[str, int]) -> Sequence[int]:
    """Return the tokens that no merge makes."""
    found = find_unmade(merges, ids)
    if found is None:
        made = set(pieces_made_by(merges))
        found = [id for piece, id in ids.items() if piece not in made]
    return found


def merged_ids(spec: TokenizerSpec) -> tuple[range, frozenset[int]]:
    """Return the ids from the first to the last token that a merge makes, and those among them that none makes.

    Most added tokens have ids before or after all of these. There are none in families without merges.
    """
    family = find_family(spec.model)
    if family is None or not family.is_bpe or not spec.merges:
        return range(0), frozenset()
    unmade = set(unmade_by(spec.merges, index_pieces(spec.tokens)))
    ids = range(len(spec.tokens))
    first = next((id for id in ids if id not in unmade), len(ids))
    last = next((id for id in reversed(ids) if id not in unmade), -1)
    among = range(first, last + 1)
    return among, frozenset(unmade.intersection(among))


def lost_merges(spec: TokenizerSpec) -> frozenset[int]:
    """Return the tokens of several characters that no merge makes among those that merges make.

    As most added tokens are elsewhere, each has probably lost its merge, and not its type.
    """
    _, unmade = merged_ids(spec)
    return frozenset(id for id in unmade if len(spec.tokens[id]) > 1)


def never_made(spec: TokenizerSpec, settings: Settings) -> list[int]:
    """Return the NORMAL tokens that no merge could make, as texts are split within them before merges apply.

    Such a token is useless, unless it is matched in texts before that and has lost its type.
    """
    ids = ordinary_unmade(spec, settings)
    if not ids:
        return []
    split = splitter(PRE_TOKENIZERS[settings.pre])
    return [id for id in ids if len(split(settings.pieces[id])) > 1]
