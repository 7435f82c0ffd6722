"""Read the pieces of a tokenizer.json natively, which is much faster than asking its library for each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.engine.engine_choice import usable_native_module
from tokverify.engine.joined_strings import JoinedStrings
from tokverify.text.utf8 import to_bytes

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def read_model_pieces(document: bytes) -> JoinedStrings | None:
    """Return the pieces of the model in a tokenizer.json, by id; other Python threads can run meanwhile.

    Returns:
        None without the native engine, if ids are missing or used twice, or a piece has a NUL. A piece that is listed
        twice is returned twice, so their number shows that the library read something else.
    """
    module = usable_native_module()
    found = module.read_pieces(document) if module else None
    return JoinedStrings(*found) if found else None


def add_tokens(of_model: JoinedStrings, tokenizer: Tokenizer) -> JoinedStrings | None:
    """Return every piece of a tokenizer by id, as the library does.

    Args:
        of_model: The pieces of the model in the tokenizer.json.
        tokenizer: The tokenizer that the library made from it.

    Returns:
        None if the library may have read something else, or an added token has another text than the piece of its id.
    """
    if len(of_model) != tokenizer.get_vocab_size(with_added_tokens=False):
        return None
    added = {id: token.content for id, token in sorted(tokenizer.get_added_tokens_decoder().items())}
    texts = [text for id, text in added.items() if id >= len(of_model)]
    total = len(of_model) + len(texts)
    if max(added, default=-1) >= total or total != tokenizer.get_vocab_size() or any("\0" in text for text in texts):
        return None
    listed = [id for id in added if id < len(of_model)]
    if of_model.select(listed) != [added[id] for id in listed]:
        return None
    if not texts:
        return of_model
    return JoinedStrings(b"\0".join([*([of_model.joined] if of_model else []), *map(to_bytes, texts)]), total)
