"""A tokenizer with faults in some texts, to plant differences in a corpus."""

import unicodedata
from collections.abc import Callable, Mapping, Sequence

from tokverify.engine.encoder import Encoder

Fault = Callable[[Encoder, str, list[int]], list[int]]


def lose_bos(encoder: Encoder, text: str, ids: list[int]) -> list[int]:
    return ids[1:]


def double_bos(encoder: Encoder, text: str, ids: list[int]) -> list[int]:
    return [encoder.special_ids["bos"], *ids]


def decompose(encoder: Encoder, text: str, ids: list[int]) -> list[int]:
    return encoder.encode(unicodedata.normalize("NFD", text), add_special=True)


FAULTS: Mapping[str, Fault] = {"#lost": lose_bos, "#twice": double_bos, "#form": decompose}
"""A word in a text -> what goes wrong with such texts."""


class Planted:
    """Encodes as another encoder does, except for the texts that contain one of the words of `FAULTS`."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def __getattr__(self, name: str) -> object:
        return getattr(self._encoder, name)

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        ids = self._encoder.encode(text, add_special=add_special, parse_special=parse_special)
        if add_special:
            for word, fault in FAULTS.items():
                ids = fault(self._encoder, text, ids) if word in text else ids
        return ids

    def encode_many(self, texts: Sequence[str], **mode: bool) -> list[list[int]]:
        return [self.encode(text, **mode) for text in texts]
