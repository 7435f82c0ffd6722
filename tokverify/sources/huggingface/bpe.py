"""Convert byte-pair encoding: over the byte-level alphabet, or like sentencepiece over `▁` and byte pieces.

A tokenizer.json ranks merges. GGUF's model `llama` scores pieces instead, and applies every merge that produces a
piece. The two are equivalent if all merges that can produce a piece are listed consecutively. Otherwise, GGUF's model
`gemma4`, which ranks merges too, may be equivalent: it processes lines, and always adds BOS before a text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from tokverify.engine.joined_strings import find_containing
from tokverify.engine.models.merge import merge
from tokverify.engine.piece_index import listed_pieces
from tokverify.engine.pre_search import PROBES, choose_name, explain_no_match, find_matching_names
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.errors import EncodeError, UnsupportedError
from tokverify.sources.huggingface.space import read_spaces
from tokverify.sources.huggingface.vocabulary import Vocabulary, ids_around, special_ids, vocabulary
from tokverify.sources.nearest_pattern import nearest_names, probe_texts, split_bytes
from tokverify.spec import TokenizerSpec, TokenType, piece_made_by
from tokverify.system.library_error import raised_as
from tokverify.text.wording import short_repr

if TYPE_CHECKING:
    from tokverify.sources.huggingface.document import Document

Merge = tuple[str, str]

_NO_COUNTERPART = ("continuing_subword_prefix", "end_of_word_suffix")


def convert_bpe(document: Document) -> TokenizerSpec:
    """Convert a tokenizer.json whose model is BPE."""
    for option in _NO_COUNTERPART:
        if document.model.get(option):
            raise document.unsupported(f"model.{option}")
    if document.is_byte_level:
        return _byte_level(document)
    return _sentencepiece(document)


def _byte_level(document: Document) -> TokenizerSpec:
    for stage in document.normalizer:
        raise document.unsupported(f"normalizer {stage['type']}")
    if any(stage.get("add_prefix_space") for stage in document.pre_tokenizer):
        raise document.unsupported("pre_tokenizer ByteLevel add_prefix_space", "llama.cpp adds no space before a text")
    around = ids_around(document)
    pre = _find_pre_tokenizer(
        document, adds_bos=bool(around[0]), ignore_merges=bool(document.model.get("ignore_merges"))
    )
    words = vocabulary(document, document.tables.vocab)
    return TokenizerSpec(
        model="gpt2",
        tokens=words.tokens,
        pre=pre,
        types=words.types,
        merges=join_merges(document),
        special_ids=special_ids(document, words.ids, around, document.unknown),
        add_bos=bool(around[0]),
        add_eos=bool(around[1]),
    )


def _find_pre_tokenizer(document: Document, *, adds_bos: bool, ignore_merges: bool) -> str:
    """Find the `tokenizer.ggml.pre` name that splits texts in the same way and implies the same `ignore_merges`.

    Raises:
        UnsupportedError: If there is none.
    """
    pre_tokens = split_probes(document)
    matching = find_matching_names(pre_tokens)
    names = [name for name in matching if PRE_TOKENIZERS[name].ignore_merges == ignore_merges]
    if names:
        return choose_name(names, adds_bos=adds_bos, cleans_spaces=document.cleans_spaces)
    if matching:
        raise document.unsupported(
            "model.ignore_merges",
            f"is {ignore_merges}, but in llama.cpp's pre-tokenizers that split texts like this one "
            f"({', '.join(matching)}), it is always {not ignore_merges}",
        )
    if document.takes_nearest:
        found = split_all(document, probe_texts())
        if names := nearest_names(found, ignore_merges=ignore_merges):
            return choose_name(names, adds_bos=adds_bos, cleans_spaces=document.cleans_spaces)
    raise document.unsupported("pre_tokenizer", explain_no_match(pre_tokens))


def split_probes(document: Document) -> list[list[str]]:
    """Split `PROBES` into the pre-tokens of byte-level BPE, written in the GPT-2 alphabet.

    Raises:
        UnsupportedError: If the library cannot split one.
    """
    with raised_as(UnsupportedError, f"{document.source}: pre_tokenizer: cannot split a text", quietly=True):
        pre_tokenize = document.library.pre_tokenizer.pre_tokenize_str
        return [[piece for piece, _ in pre_tokenize(text)] for text in PROBES]


def split_all(document: Document, texts: Iterable[str]) -> list[list[str]]:
    """Split texts into the pre-tokens of byte-level BPE; many calls for one text each would take twice as long.

    Raises:
        EncodeError: If one cannot be split.
    """
    with raised_as(EncodeError, f"{document.source}: pre_tokenizer: cannot split this text", quietly=True):
        return [split_bytes(document.library.pre_tokenizer, text) for text in texts]


def _sentencepiece(document: Document) -> TokenizerSpec:
    if document.model.get("ignore_merges"):
        raise document.unsupported("model.ignore_merges", "GGUF cannot express it for pieces written with `▁`")
    merges = join_merges(document)
    spaces = read_spaces(document, document.normalizer, document.pre_tokenizer)
    spaces.require_inside_words(document, map(piece_made_by, merges))
    around = ids_around(document)
    words = vocabulary(
        document,
        document.tables.vocab,
        unknown=document.unknown,
        escapes_spaces=True,
        has_bytes=bool(document.model.get("byte_fallback")),
    )
    scores = _nearest_scores(merges, words) if document.takes_nearest else _scores(merges, words)
    if scores is None:
        _require_gemma4(document, merges, words.ids, prefixes_space=spaces.prefix, adds_bos=bool(around[0]))
    return TokenizerSpec(
        model="gemma4" if scores is None else "llama",
        tokens=words.tokens,
        pre="gemma4" if scores is None else "default",
        scores=scores,
        types=words.types,
        merges=merges if scores is None else None,
        special_ids=special_ids(document, words.ids, around, document.unknown),
        add_bos=bool(around[0]),
        add_eos=bool(around[1]),
        add_space_prefix=spaces.prefix,
    )


def join_merges(document: Document) -> Sequence[str]:
    """Read the merges in order of rank, as GGUF stores them."""
    return document.tables.joined_merges or list(map(" ".join, read_merges(document)))


def read_merges(document: Document) -> list[Merge]:
    """Read the merges in order of rank."""
    if joined := document.tables.joined_merges:
        pieces = joined.joined.replace(b" ", b"\0").decode().split("\0")
        return list(zip(pieces[::2], pieces[1::2], strict=True))
    merges = document.tables.merges
    if not isinstance(merges, list):
        raise document.broken("model.merges", "must be a list")
    return _read_pairs(merges) or [_merge(document, rank, item) for rank, item in enumerate(merges)]


def _read_pairs(merges: list[Any]) -> list[Merge]:
    """Return merges that are all lists of two pieces without spaces, in a quarter of the time; none if one is not."""
    if set(map(type, merges)) != {list} or set(map(len, merges)) != {2}:
        return []
    pieces = list(chain.from_iterable(merges))
    is_plain = set(map(type, pieces)) == {str} and all(pieces) and " " not in "".join(pieces)
    return list(zip(pieces[::2], pieces[1::2], strict=True)) if is_plain else []


def _merge(document: Document, rank: int, item: object) -> Merge:
    """Read a merge: two pieces, or in old files one string with a space between them."""
    parts = item.split(" ") if isinstance(item, str) else item
    match parts:
        # `str(left)` is equivalent but takes four times as long.
        case [str() as left, str() as right] if left and right:
            if " " in left or " " in right:
                raise document.unsupported("model.merges", f"merge {rank} contains a space, which GGUF cannot express")
            return left, right
    raise document.broken("model.merges", f"merge {rank} must be two pieces")


def _scores(merges: Sequence[str], words: Vocabulary) -> list[float] | None:
    """Return scores by id that produce the same order of merges as the ranks; None if there are none."""
    formed: set[str] = set()
    previous = ""
    for piece in map(piece_made_by, merges):
        if piece != previous and piece in formed:
            return None
        formed.add(piece)
        previous = piece
    # A merge never produces an added token, because the text is split at these first.
    pieces = {piece for piece, id in words.ids.items() if words.types[id] != TokenType.USER_DEFINED}
    if not _lists_all_splits(merges, pieces):
        return None
    return _nearest_scores(merges, words)


def _nearest_scores(merges: Sequence[str], words: Vocabulary) -> list[float]:
    """Return scores by id: of the ranks of the merges that form a piece, the first counts."""
    scores = [0.0] * len(words.tokens)
    for rank in range(len(merges) - 1, -1, -1):
        id = words.ids.get(piece_made_by(merges[rank]))
        if id is not None:
            scores[id] = float(-rank)
    return scores


def _lists_all_splits(merges: Sequence[str], pieces: Collection[str]) -> bool:
    """Check that the merges contain every pair of parts that form a piece: other pieces, or single characters.

    Single characters count even if they are not in the vocabulary, because a text is first split into characters.
    """
    known = set(merges)
    lengths = {1, *map(len, pieces)}
    return all(known.issuperset(splits_of(piece, pieces, lengths)) for piece in pieces)


def splits_of(piece: str, pieces: Collection[str], lengths: Collection[int]) -> Iterator[str]:
    """Yield each possible merge that produces a piece; `lengths` are those of all parts."""
    # Most pieces are short, and few lengths are those of parts of a very long one.
    places = range(1, len(piece))
    for length in places if len(places) < len(lengths) else filter(places.__contains__, lengths):
        left, right = piece[:length], piece[length:]
        if (length == 1 or left in pieces) and (len(right) == 1 or right in pieces):
            yield f"{left} {right}"


def _require_gemma4(
    document: Document, merges: Sequence[str], ids: Mapping[str, int], *, prefixes_space: bool, adds_bos: bool
) -> None:
    """Check that nothing specific to llama.cpp's `gemma4` makes a difference."""
    problem = "cannot be expressed by scores, and GGUF's only other model for such pieces, gemma4, "
    if prefixes_space:
        raise document.unsupported("model.merges", problem + "adds no space before a text")
    if not adds_bos:
        raise document.unsupported("model.merges", problem + "always adds BOS before a text")
    newlines: dict[str, float] = {}
    for rank in find_containing(merges, "\n"):
        pair = merges[rank]
        if piece_made_by(pair).strip("\n"):
            raise document.unsupported("model.merges", f"{problem}does not merge across line ends, as rank {rank} does")
        newlines[pair] = rank
    pieces = listed_pieces(ids)
    for piece in (pieces[index] for index in find_containing(pieces, "\n")):
        if not piece.strip("\n") and merge(list(piece), newlines, " ") != [piece]:
            raise document.unsupported("model.merges", f"{problem}encodes {short_repr(piece)} as one token")
