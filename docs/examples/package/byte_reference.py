"""A kind of reference in a package of its own: `-r 'bytes:<pad>,</s>,<unk>'` is the tokenizer of ByT5.

Its first tokens are the named control tokens, and the other 256 are bytes. `</s>` ends each text.
"""

from collections.abc import Sequence

from tokverify.errors import EncodeError
from tokverify.references import FoundReference, Request

BYTES = 256
END = "</s>"


class ByteTokenizer:
    """Implements the protocol `tokverify.tokenizer.Tokenizer`."""

    name = "bytes"
    parses_special = False
    adds_special = True
    decodes_as_llama_cpp = False

    def __init__(self, control_texts: Sequence[str]) -> None:
        self.control_texts = control_texts
        self.vocab_size = len(control_texts) + BYTES
        self.special_ids = {"eos": control_texts.index(END)} if END in control_texts else {}

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        del parse_special  # control tokens in a text are never recognized
        try:
            ids = [len(self.control_texts) + byte for byte in text.encode()]
        except UnicodeEncodeError as error:
            raise EncodeError("the text contains a lone surrogate") from error
        return [*ids, *self.special_ids.values()] if add_special else ids

    def decode(self, ids: Sequence[int]) -> bytes:
        unknown = [id for id in ids if not 0 <= id < self.vocab_size]
        if unknown:
            raise EncodeError(f"there is no token {unknown[0]}")
        return b"".join(map(self.token_bytes, ids))

    def piece(self, id: int) -> str:
        if 0 <= id < len(self.control_texts):
            return self.control_texts[id]
        return f"<0x{id - len(self.control_texts):02X}>" if 0 <= id < self.vocab_size else ""

    def token_bytes(self, id: int) -> bytes:
        byte = id - len(self.control_texts)
        return bytes([byte]) if byte >= 0 else self.control_texts[id].encode()


def load(request: Request) -> FoundReference:
    """Return the reference that `bytes:LOCATION` names."""
    return FoundReference(ByteTokenizer(request.location.split(",")), source=f"bytes:{request.location}")
