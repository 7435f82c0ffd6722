"""The large tables of a tokenizer.json: read natively if possible, which takes a tenth of the time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, Protocol, runtime_checkable

from tokverify.engine.engine_choice import usable_native_module
from tokverify.engine.joined_strings import JoinedStrings
from tokverify.engine.piece_index import index_pieces
from tokverify.tokenizer import DocumentHolding


class NativeTables(NamedTuple):
    """What the native engine reads of a tokenizer.json."""

    rest: bytes
    """The document with an empty `vocab` and empty `merges`, as far as those could be read."""
    pieces: JoinedStrings | None
    """The pieces of the model by id, without added tokens. One that is listed twice counts twice.

    None if the ids have gaps or occur twice, or if a piece has a NUL.
    """
    merges: JoinedStrings | None
    """The merges in their order, each with a space between its two pieces; None if one is written in another way."""
    prepared: bytes | None
    """The same document, which the library reads in less than half of the time; None if it cannot be written so.

    Its merges are strings, as in old files, and its pieces are sorted, as the library copies them to a sorted map.
    """


def read_tables(document: bytes) -> NativeTables | None:
    """Read the tables of a tokenizer.json; other Python threads can run meanwhile.

    Returns:
        None without the native engine, or if neither the pieces nor the merges could be read.
    """
    module = usable_native_module()
    found = module.read_tables(document) if module else None
    if found is None:
        return None
    rest, pieces, merges, prepared = found
    joined_pieces, joined_merges = (JoinedStrings(*strings) if strings else None for strings in (pieces, merges))
    return NativeTables(rest, joined_pieces, joined_merges, prepared)


@runtime_checkable
class TablesHolding(Protocol):
    """Was made from a tokenizer.json whose tables are known."""

    tables: NativeTables | None


def tables_of(tokenizer: object) -> NativeTables | None:
    """Return the tables of the tokenizer.json from which a tokenizer was made; None if they cannot be read natively."""
    if isinstance(tokenizer, TablesHolding):
        return tokenizer.tables
    return read_tables(tokenizer.tokenizer_json()) if isinstance(tokenizer, DocumentHolding) else None


class Tables:
    """The vocabulary and the merges of a model.

    Args:
        outline: The model without what was read natively.
        native: What the native engine has read of them.
        read_model: Returns all of the model.
    """

    def __init__(
        self,
        outline: Mapping[str, Any],
        native: NativeTables | None,
        read_model: Callable[[], Mapping[str, Any]],
    ) -> None:
        self._outline = outline
        self._has_outlined_vocab = native is None or native.pieces is None
        self._read_model = read_model
        self._pieces = native.pieces if native and isinstance(outline["vocab"], dict) else None
        self.joined_merges = native.merges if native else None
        """The merges in their order, each with a space between its two pieces; None if they were not read natively."""

    @cached_property
    def vocab(self) -> Any:  # noqa: ANN401 - JSON is anything
        """The pieces with their ids or scores, as stored in the file, not checked yet."""
        if self._pieces is not None:
            index = index_pieces(self._pieces)
            if len(index) == len(self._pieces):
                return index
        return (self._outline if self._has_outlined_vocab else self._model).get("vocab")

    @cached_property
    def merges(self) -> Any:  # noqa: ANN401 - JSON is anything
        """The merges as stored in the file, not checked yet."""
        return self._model.get("merges")

    @cached_property
    def _model(self) -> Mapping[str, Any]:
        return self._read_model()
