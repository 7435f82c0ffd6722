"""Find the tokens that a hypothesis produces and the reference never does, such as those whose merges were lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tokverify.texts.frame import FRAMES, make_packs
from tokverify.texts.queries import Queries

if TYPE_CHECKING:
    from tokverify.engine.encoder import Encoder

    Texts = Sequence[str | None]


def find_unreachable(queries: Queries, hypothesis: Encoder, texts: Texts, ids: Sequence[int]) -> frozenset[int]:
    """Return those tokens among `ids` whose own text the hypothesis encodes to them, and the reference does not.

    Only tokens in packs that are encoded differently are examined one by one.
    """
    own = Queries(hypothesis)
    packs = list(make_packs([id for id in ids if texts[id]], texts))
    probes = [FRAMES[0].surround(texts[id] or "" for id in pack) for pack in packs]
    encodings = zip(packs, queries.encode_all(probes), own.encode_all(probes), strict=True)
    suspects = [id for pack, theirs, ours in encodings if theirs != ours for id in pack]
    alone = [texts[id] or "" for id in suspects]
    answers = zip(suspects, queries.encode_all(alone), own.encode_all(alone), strict=True)
    return frozenset(id for id, theirs, ours in answers if id in (ours or ()) and id not in (theirs or ()))
