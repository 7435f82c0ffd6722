"""The results of encoding or decoding many texts at once: one buffer with offsets, and lists or bytes on request."""

from __future__ import annotations

from abc import abstractmethod
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, TypeVar, overload

from tokverify.errors import EncodeError, TokverifyError

if TYPE_CHECKING:
    from typing_extensions import Buffer

Item = TypeVar("Item")
_Input = TypeVar("_Input")

ID_BITS = 32
"""Ids are stored as unsigned integers of this size."""


class _Batch(Sequence[Item]):
    """The results of many texts, of which item `i` belongs to text `i`."""

    __slots__ = ("_buffer", "offsets")

    def __init__(self, buffer: memoryview, offsets: memoryview) -> None:
        self._buffer = buffer
        self.offsets = offsets
        """Where the result of each text starts, and where the last one ends: signed 64-bit integers."""

    @abstractmethod
    def _item(self, part: memoryview) -> Item:
        """Convert the part of the buffer that belongs to one text."""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> Item: ...

    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...

    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        position = range(len(self))[index]
        return self._item(self._buffer[self.offsets[position] : self.offsets[position + 1]])

    def __iter__(self) -> Iterator[Item]:
        for start, end in pairwise(self.offsets):
            yield self._item(self._buffer[start:end])


class EncodedBatch(_Batch[list[int]]):
    """The ids of many texts; item `i` is the list of the ids of text `i`."""

    __slots__ = ()

    @classmethod
    def from_lists(cls, lists: Iterable[Sequence[int]]) -> EncodedBatch:
        """Store lists of ids.

        Raises:
            EncodeError: If an id is negative, as llama.cpp's -1 for a token that the vocabulary lacks, or needs more
                than 32 bits. It names the index of the list.
        """
        kept = list(lists)
        ids = array("I")
        try:
            for each in kept:
                ids.extend(array("I", each))  # half the time of extending by the list itself
        except OverflowError:
            raise _name_unstorable(kept) from None
        return cls(memoryview(ids), memoryview(array("q", accumulate(map(len, kept), initial=0))))

    @classmethod
    def from_buffers(cls, ids: Buffer, offsets: Buffer) -> EncodedBatch:
        """Use ids and offsets that are already in one buffer each, such as NumPy arrays, without copying them.

        Args:
            ids: Unsigned 32-bit integers.
            offsets: Signed 64-bit integers, one more than there are texts.

        Raises:
            TokverifyError: If a buffer has another type, or the offsets are not an ascending list of places in `ids`.
        """
        batch = cls(_view(ids, "ids", "IL", 4), _view(offsets, "offsets", "ql", 8))
        ends = [0, *batch.offsets, len(batch.ids)]
        if len(ends) < 3 or any(start > end for start, end in pairwise(ends)):  # noqa: PLR2004 - one offset at least
            raise TokverifyError("offsets must ascend from 0 or more to at most the number of ids; give at least one")
        return batch

    @property
    def ids(self) -> memoryview:
        """The ids of all texts: unsigned 32-bit integers, which NumPy and Arrow can use without copying."""
        return self._buffer

    def _item(self, part: memoryview) -> list[int]:
        return part.tolist()


class DecodedBatch(_Batch[bytes]):
    """The decoded texts of many lists of ids; item `i` is the bytes of list `i`."""

    __slots__ = ()

    @classmethod
    def from_texts(cls, texts: Iterable[bytes]) -> DecodedBatch:
        """Store decoded texts."""
        kept = list(texts)
        return cls(memoryview(b"".join(kept)), memoryview(array("q", accumulate(map(len, kept), initial=0))))

    @property
    def data(self) -> memoryview:
        """The bytes of all texts, one after the other, as Arrow stores them in a column of type `large_binary`."""
        return self._buffer

    def _item(self, part: memoryview) -> bytes:
        return bytes(part)


def encode_each(
    encode: Callable[..., list[int]], texts: Iterable[str], *, add_special: bool, parse_special: bool
) -> list[list[int] | EncodeError]:
    """Encode texts one by one; the result for a text that cannot be encoded is its error."""
    return _each(partial(encode, add_special=add_special, parse_special=parse_special), texts)


def decode_each(
    decode: Callable[[Sequence[int]], bytes], all_ids: Iterable[Sequence[int]]
) -> list[bytes | EncodeError]:
    """Decode lists of ids one by one; the result for a list that cannot be decoded is its error."""
    return _each(decode, all_ids)


def _each(function: Callable[[_Input], Item], inputs: Iterable[_Input]) -> list[Item | EncodeError]:
    results: list[Item | EncodeError] = []
    for each in inputs:
        try:
            results.append(function(each))
        except EncodeError as error:
            results.append(error)
    return results


def _view(buffer: Buffer, name: str, formats: str, size: int) -> memoryview:
    view = memoryview(buffer)
    if view.ndim != 1 or not view.contiguous or view.format not in formats or view.itemsize != size:
        sign = "unsigned" if "I" in formats else "signed"
        raise TokverifyError(f"{name} must be one contiguous array of {sign} integers of {size * 8} bits")
    return view


def _name_unstorable(lists: Sequence[Sequence[int]]) -> EncodeError:
    index, id = next((index, id) for index, ids in enumerate(lists) for id in ids if not 0 <= id < 1 << ID_BITS)
    return EncodeError(f"text {index}: becomes the id {id}, which a batch cannot hold; encode it alone")
