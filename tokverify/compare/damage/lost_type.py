"""Find out that a reference is a file that no longer types the markers of its own chats as special tokens."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.damage.difference import damage_difference
from tokverify.compare.marker import read_template
from tokverify.compare.opened import Opened
from tokverify.engine.attribute import Attribute
from tokverify.engine.encoder import Encoder
from tokverify.report.tokenizer_difference import TokenizerDifference
from tokverify.text.wording import list_tokens
from tokverify.tokenizer import Tokenizer

_NORMAL = Attribute.NORMAL.value


def find_lost_types(actual: Tokenizer, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a reference splits tokens that its own chat template writes, and the model does not.

    Another program may have converted the same model without the types of added tokens.
    """
    reference = facts.tokenizer
    if not isinstance(actual, Encoder) or not isinstance(reference, Encoder):
        return
    ours, theirs = actual.settings, reference.settings
    written = read_template(reference.spec.chat_template).strong
    ids = [theirs.ids[text] for text in written if text in theirs.ids and ours.ids.get(text) == theirs.ids[text]]
    lost = [
        id
        for id in ids
        if theirs.attributes[id] == _NORMAL != ours.attributes[id] and id not in reference.encode(theirs.pieces[id])
    ]
    if lost:
        message = f"its chat template writes {list_tokens(lost, theirs.pieces)}, which it types NORMAL, and so splits"
        yield damage_difference(message, lost)
