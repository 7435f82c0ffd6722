"""Parse the protobuf message in a sentencepiece .model file, as far as it affects ids.

The package sentencepiece contains generated code for it, but this code requires at least the release of protobuf that
it was generated for, which the package does not declare as a dependency. So the relevant fields are described here.

Source: `sentencepiece_model.proto` in sentencepiece's repository.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Protocol, cast


class Piece(Protocol):
    """One token; `type` is numbered as in `TokenType`."""

    piece: bytes
    score: float
    type: int


class Pieces(Protocol):
    """The tokens by id, as the library stores a repeated field."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Piece]: ...
    def __getitem__(self, id: int, /) -> Piece: ...
    def __delitem__(self, ids: slice, /) -> None: ...

    def add(self, *, piece: bytes, score: float, type: int) -> Piece:
        """Append a token."""


class TrainerSpec(Protocol):
    """How the model was trained; `model_type` is 1 for unigram, 2 for bpe, 3 for word and 4 for char."""

    model_type: int
    treat_whitespace_as_suffix: bool
    byte_fallback: bool
    unk_piece: bytes
    bos_piece: bytes
    eos_piece: bytes
    pad_piece: bytes


class NormalizerSpec(Protocol):
    """How a text is normalized before it is encoded."""

    precompiled_charsmap: bytes
    add_dummy_prefix: bool
    remove_extra_whitespaces: bool
    escape_whitespaces: bool


class Message(Protocol):
    """A whole .model file."""

    pieces: Pieces
    trainer_spec: TrainerSpec
    normalizer_spec: NormalizerSpec

    def HasField(self, name: str) -> bool:  # noqa: N802 - the library's name
        """Check whether the file contains this part, instead of relying on the defaults."""

    def SerializeToString(self) -> bytes:  # noqa: N802 - likewise
        """Return the content of a .model file."""


# Message -> field -> number, type and default.
_FIELDS: Mapping[str, Mapping[str, tuple[int, str, str]]] = {
    "SentencePiece": {
        "piece": (1, "TYPE_BYTES", ""),
        "score": (2, "TYPE_FLOAT", "0"),
        "type": (3, "TYPE_INT32", "1"),
    },
    "TrainerSpec": {
        "model_type": (3, "TYPE_INT32", "1"),
        "treat_whitespace_as_suffix": (24, "TYPE_BOOL", "false"),
        "byte_fallback": (35, "TYPE_BOOL", "false"),
        "unk_piece": (45, "TYPE_BYTES", "<unk>"),
        "bos_piece": (46, "TYPE_BYTES", "<s>"),
        "eos_piece": (47, "TYPE_BYTES", "</s>"),
        "pad_piece": (48, "TYPE_BYTES", "<pad>"),
    },
    "NormalizerSpec": {
        "precompiled_charsmap": (2, "TYPE_BYTES", ""),
        "add_dummy_prefix": (3, "TYPE_BOOL", "true"),
        "remove_extra_whitespaces": (4, "TYPE_BOOL", "true"),
        "escape_whitespaces": (5, "TYPE_BOOL", "true"),
    },
}
# Field of the whole message -> number, label and message.
_PARTS: Mapping[str, tuple[int, str, str]] = {
    "pieces": (1, "LABEL_REPEATED", "SentencePiece"),
    "trainer_spec": (2, "LABEL_OPTIONAL", "TrainerSpec"),
    "normalizer_spec": (3, "LABEL_OPTIONAL", "NormalizerSpec"),
}


def parse(data: bytes) -> Message:
    """Parse the content of a .model file; a missing field has its default value.

    Raises:
        google.protobuf.message.DecodeError: If it is not such a message.
    """
    return _parser()(data)


@cache
def _parser() -> Callable[[bytes], Message]:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="model.proto", package="tokverify")
    for name, fields in _FIELDS.items():
        message = file.message_type.add(name=name)
        for field, (number, type, default) in fields.items():
            message.field.add(name=field, number=number, type=type, label="LABEL_OPTIONAL", default_value=default)
    model = file.message_type.add(name="Model")
    for field, (number, label, name) in _PARTS.items():
        model.field.add(
            name=field, number=number, type="TYPE_MESSAGE", label=label, type_name=f".{file.package}.{name}"
        )
    # subtle: a separate pool, because names in the default pool must not clash with sentencepiece's own code.
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    message_class = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{file.package}.Model"))
    return cast("Callable[[bytes], Message]", message_class.FromString)
