"""Fingerprint: a hash of everything that determines the ids of a text."""

from __future__ import annotations

import hashlib
import json
import sys
from array import array
from collections.abc import Sequence

from tokverify.engine.family import Ranking, Settings
from tokverify.engine.joined_strings import join
from tokverify.engine.piece_index import listed_pieces
from tokverify.spec import TokenizerSpec

_FLAGS = (
    "algorithm", "pre", "add_bos", "add_eos", "add_sep", "add_space_prefix", "escape_whitespaces",
    "remove_extra_whitespaces", "ignore_merges", "lowercase", "strip_accents",
)  # fmt: skip
_ROLES = ("bos", "eos", "sep", "unk")


def fingerprint(spec: TokenizerSpec, settings: Settings) -> str:
    """Return the sha256, in hexadecimal, of everything that determines the ids of a text.

    It is equal for all files of one model, regardless of what else they contain.
    """
    ranking = settings.family.ranking
    digest = hashlib.sha256(json.dumps(_flags(settings), sort_keys=True).encode())
    merges = spec.merges if ranking is Ranking.MERGE_RANK else None
    for strings in (listed_pieces(settings.ids), merges or ()):
        digest.update(join(strings) + b"\0\0")
    digest.update(settings.attributes + b"\0")
    digest.update(_little_endian(spec.scores or ()) if ranking.uses_scores else b"")
    digest.update(spec.charsmap or b"" if settings.family.uses_charsmap else b"")
    return digest.hexdigest()


def _flags(settings: Settings) -> dict[str, object]:
    flags: dict[str, object] = {name: getattr(settings, name) for name in _FLAGS}
    flags["special_ids"] = {role: settings.special_ids.get(role) for role in _ROLES}
    flags |= {"nfc": True} if settings.nfc else {}
    flags["stripping"] = [(t.id, t.lstrip, t.rstrip) for t in settings.added_tokens if t.lstrip or t.rstrip]
    return flags


def _little_endian(scores: Sequence[float]) -> bytes:
    floats = array("f", scores)
    if sys.byteorder == "big":
        floats.byteswap()
    return floats.tobytes()
