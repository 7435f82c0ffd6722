"""Find tokens whose texts were exchanged by the ids of these texts, for a reference that does not list its tokens."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.digest import make_difference
from tokverify.engine.encoder import Encoder
from tokverify.report.finding import ERROR
from tokverify.report.tokenizer_difference import Aspect, TokenizerDifference
from tokverify.sources.gguf.keys import TOKENS
from tokverify.text.utf8 import from_utf8
from tokverify.text.wording import list_tokens, plural
from tokverify.texts.batch import Queries
from tokverify.texts.frame import pack_texts
from tokverify.tokenizer import Tokenizer

_MOST_PACKS = 16
"""If more of them differ, another fault does that, and the cases show it."""
_BEFORE = "a\n"


def find_exchanged_pieces(actual: Tokenizer, expected: Tokenizer) -> Iterator[TokenizerDifference]:
    """Yield the tokens whose own texts the reference encodes to one other token, whose text is another one here, too.

    No case need contain them. A normalizer of the reference also leads to other tokens, but not from these to others.
    """
    if not isinstance(actual, Encoder):
        return
    texts = {text: id for id, data in enumerate(actual.bytes_of_tokens()) if (text := from_utf8(data))}
    ours, theirs = Queries(actual), Queries(expected)
    packs = list(pack_texts(text for text in texts if text.strip()))
    joined = ["\n".join(pack) for pack in packs]
    encodings = zip(packs, ours.encode_all(joined), theirs.encode_all(joined), strict=True)
    differing = [pack for pack, left, right in encodings if right is not None and left != right]
    if len(differing) > _MOST_PACKS:
        return
    # At the beginning of a text, there may be a space.
    alone = [f"{_BEFORE}{text}" for pack in differing for text in pack]
    answers = zip(alone, ours.encode_all(alone), theirs.encode_all(alone), strict=True)
    moved = {
        left[-1]: right[-1]
        for text, left, right in answers
        if left and right and left[:-1] == right[:-1] and left[-1] == texts[text.removeprefix(_BEFORE)] != right[-1]
    }
    ids = sorted(moved.keys() & moved.values())
    if ids:
        message = (
            f"{plural(len(ids), 'token')} {'is' if len(ids) == 1 else 'are'} encoded to the ids of others by the"
            f" reference, as if their texts were exchanged: {list_tokens(ids, actual.settings.pieces)}"
        )
        yield make_difference(
            Aspect.BYTES, ERROR, message, ids, facts=[(id, moved.get(id)) for id in ids], keys=(TOKENS,)
        )
