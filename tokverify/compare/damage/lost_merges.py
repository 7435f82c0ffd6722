"""Find out that a reference has lost the merges of tokens that it looks up."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.damage.difference import LEAST, LEAST_SHARE, OPPOSED, damage_difference
from tokverify.compare.opened import Opened
from tokverify.engine.encoder import Encoder
from tokverify.report.tokenizer_difference import TokenizerDifference
from tokverify.spec import pieces_made_by
from tokverify.text.wording import list_tokens, plural
from tokverify.tokenizer import PatternHolding, Tokenizer


def find_lost_merges(actual: Tokenizer, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that no merge makes many tokens of a reference which looks up whole pre-tokens, and the model's merges do.

    All of its tokens still come back as themselves.
    """
    # Ranks have no merges that could be missing, and to find those that they stand for takes long.
    has_merges = facts.ignore_merges and not isinstance(facts.tokenizer, PatternHolding)
    ranking = facts.ranking if has_merges else None
    if ranking is None or not ranking.merges or not isinstance(actual, Encoder) or not actual.settings.family.is_bpe:
        return
    merges = actual.spec.merges or ()
    if len(merges) <= len(ranking.merges):
        return
    ours, theirs = set(pieces_made_by(merges)), set(pieces_made_by(ranking.merges))
    pieces = enumerate(zip(actual.settings.pieces, facts.pieces, strict=False))
    lost = [id for id, (piece, other) in pieces if piece == other and piece in ours and piece not in theirs]
    if len(lost) >= max(LEAST, LEAST_SHARE * len(facts.pieces), OPPOSED * len(theirs - ours)):
        message = (
            f"merges are missing (it has {len(ranking.merges):,}), and so none of them makes"
            f" {plural(len(lost), 'token')} of its own, such as {list_tokens(lost, facts.pieces)}, which those of the"
            " model make"
        )
        yield damage_difference(message, lost)
