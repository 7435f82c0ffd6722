"""Write tokens as a GGUF file stores them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tokverify.engine.byte_level import spell_bytes
from tokverify.engine.family import Alphabet
from tokverify.engine.normalizer import escape_spaces
from tokverify.spec import TokenType
from tokverify.text.utf8 import to_text

if TYPE_CHECKING:
    from tokverify.repair.probe.vocabulary import Vocabulary

_WRITTEN_AS_TEXT = {TokenType.CONTROL.value, TokenType.USER_DEFINED.value, TokenType.UNKNOWN.value}


def store_tokens(
    vocabulary: Vocabulary, types: Sequence[int], byte_ids: Mapping[int, int], alphabet: Alphabet
) -> list[str]:
    """Return the stored string of each token: the reference's own if it reveals them, else as `alphabet` writes bytes.

    Two tokens cannot have the same string. Of several that represent the same bytes, the first one gets it.
    """
    tokens: list[str] = []
    taken: set[str] = set()
    for id, data in enumerate(vocabulary.token_bytes):
        own = vocabulary.pieces[id] if vocabulary.has_stored_strings else ""
        token = own or _store_token(data, types[id], byte_ids.get(id), alphabet)
        token = token if token and token not in taken else f"[HIDDEN{id}]"
        taken.add(token)
        tokens.append(token)
    return tokens


def _store_token(data: bytes, type: int, byte: int | None, alphabet: Alphabet) -> str:
    if byte is not None:
        return f"<0x{byte:02X}>"
    if type in _WRITTEN_AS_TEXT:
        return to_text(data)
    return spell_bytes(data) if alphabet is Alphabet.BYTE_LEVEL else escape_spaces(to_text(data))
