"""Texts to which a hostile engine returns something that is no list of ids."""

HOSTILE_IDS = {
    "hostile: negative": [-1],
    "hostile: huge": [2**40],
    "hostile: text": ["1"],
    "hostile: fraction": [1.5],
    "hostile: null": [None],
    "hostile: nested": [[1]],
    "hostile: object": [{"id": None}],
}


class HostileEncoder:
    """Encodes as another encoder does, except for these texts."""

    def __init__(self, encoder) -> None:
        self._encoder = encoder

    def __getattr__(self, name: str):
        return getattr(self._encoder, name)

    def encode(self, text: str, **mode: bool):
        return HOSTILE_IDS.get(text) or self._encoder.encode(text, **mode)

    def piece(self, id: object) -> str:
        return self._encoder.piece(id) if isinstance(id, int) else ""
