"""A tokenizer small enough to work out by hand: the longest piece at each position, or an error."""

from collections.abc import Sequence

from tokverify.errors import EncodeError


class FakeTokenizer:
    """Ids are indexes into `pieces`; pieces in `special` are matched only when special tokens are parsed."""

    decodes_as_llama_cpp = False

    def __init__(
        self,
        *pieces: str,
        name: str = "fake",
        special: Sequence[str] = (),
        parses_special: bool = True,
        adds_special: bool = True,
        special_ids: dict[str, int] | None = None,
    ) -> None:
        self.pieces = pieces
        self.name = name
        self.special = frozenset(special)
        self.parses_special = parses_special
        self.adds_special = adds_special
        self.special_ids = special_ids or {}
        self.calls: list[str] = []

    @property
    def vocab_size(self) -> int:
        return len(self.pieces)

    @property
    def control_texts(self) -> frozenset[str]:
        return self.special

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        self.calls.append(text)
        known = {piece for piece in self.pieces if piece and (parse_special or piece not in self.special)}
        lengths = sorted({len(piece) for piece in known}, reverse=True)
        ids = [self.special_ids["bos"]] if add_special and "bos" in self.special_ids else []
        at = 0
        while at < len(text):
            found = next((part for length in lengths if (part := text[at : at + length]) in known), None)
            if found is None:
                raise EncodeError(f"no piece for {text[at]!r}")
            ids.append(self.pieces.index(found))
            at += len(found)
        return ids

    def decode(self, ids: Sequence[int]) -> bytes:
        return b"".join(map(self.token_bytes, ids))

    def piece(self, id: int) -> str:
        return self.pieces[id] if id < len(self.pieces) else ""

    def token_bytes(self, id: int) -> bytes:
        if id >= len(self.pieces):
            raise EncodeError(f"no id {id}")
        return self.pieces[id].replace("▁", " ").encode("utf-8", "surrogateescape")
