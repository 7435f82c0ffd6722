"""Align two tokenizations of one text and find where they diverge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from tokverify.report.difference import Block, DecodeDifference, Difference, Divergence, Excerpt
from tokverify.text.sequence import common_ends, common_length
from tokverify.text.utf8 import to_text
from tokverify.tokenizer import Token, is_placeholder, join_bytes

_MAX_MATCHING = 20_000_000
_EXCERPT_CHARACTERS = 8
_MAX_UTF8_BYTES = 4
_EXCERPT_BYTES = _EXCERPT_CHARACTERS * _MAX_UTF8_BYTES


def compare(actual: Sequence[Token], expected: Sequence[Token]) -> Difference:
    """Align two tokenizations whose ids differ.

    If both decode to the same bytes, blocks meet at every common byte boundary; if not, they are aligned by
    their ids.
    """
    same_text = join_bytes(actual) == join_bytes(expected)
    blocks = _blocks_by_bytes(actual, expected) if same_text else _blocks_by_ids(actual, expected)
    index = common_length(_ids_of(actual), _ids_of(expected))
    texts = _text_tokens(actual, expected, index), _text_tokens(expected, actual, index)
    first = Divergence(
        token_index=index,
        byte_offset=len(join_bytes(texts[0][:index])),
        actual=actual[index] if index < len(actual) else None,
        expected=expected[index] if index < len(expected) else None,
    )
    excerpt = _extract_excerpt(*texts, first.byte_offset)
    return Difference(first=first, excerpt=excerpt, blocks=tuple(_merge_equal(blocks)))


def compare_decoded(actual: bytes, expected: bytes) -> DecodeDifference | None:
    """Compare what two sides decode the same ids to; None if both are equal.

    Many libraries return text, with U+FFFD for bytes that are not UTF-8; these equal such bytes.
    """
    if actual == expected or _replace_broken(actual) == expected or _replace_broken(expected) == actual:
        return None
    return DecodeDifference(
        offset=common_length(actual, expected),
        actual_text=actual.decode("utf-8", "replace"),
        expected_text=expected.decode("utf-8", "replace"),
        actual=actual,
        expected=expected,
    )


def _replace_broken(data: bytes) -> bytes:
    return data.decode("utf-8", "replace").encode()


def _extract_excerpt(actual_tokens: Sequence[Token], expected_tokens: Sequence[Token], offset: int) -> Excerpt:
    """Return the characters around a byte offset up to which both sides decode to the same bytes."""
    actual, expected = join_bytes(actual_tokens), join_bytes(expected_tokens)
    start = _character_start(actual, min(offset, len(actual)))
    before = to_text(actual[max(0, start - _EXCERPT_BYTES) : start])[-_EXCERPT_CHARACTERS:]
    return Excerpt(before, _head(actual, start), _head(expected, start))


def _text_tokens(side: Sequence[Token], other: Sequence[Token], index: int) -> Sequence[Token]:
    """Return the tokens that tell the text of a side: those of the other one if it has only ids.

    Otherwise, a side whose text is not known would look as if it had ended.
    """
    if not side or not all(is_placeholder(token) for token in side):
        return side
    return other if index < len(side) else other[:index]


def _ids_of(tokens: Sequence[Token]) -> list[int]:
    return [token.id for token in tokens]


def _blocks_by_bytes(actual: Sequence[Token], expected: Sequence[Token]) -> Iterator[Block]:
    """Yield the smallest blocks that end at the same byte on both sides, in O(n)."""
    i = j = 0
    while i < len(actual) or j < len(expected):
        i_end, j_end = _next_boundary(actual, i, expected, j)
        yield _block(actual[i:i_end], expected[j:j_end])
        i, j = i_end, j_end


def _next_boundary(actual: Sequence[Token], i: int, expected: Sequence[Token], j: int) -> tuple[int, int]:
    """Return the next indexes at which both sides have decoded the same bytes; the totals are equal."""
    if i < len(actual) and j < len(expected) and _same(actual[i], expected[j]):
        return i + 1, j + 1
    # A token without bytes, such as BOS, stands alone or opposite another one.
    silent_actual = i < len(actual) and not actual[i].token_bytes
    silent_expected = j < len(expected) and not expected[j].token_bytes
    if silent_actual or silent_expected:
        return i + silent_actual, j + silent_expected
    ahead = 0
    while True:
        if ahead <= 0 and i < len(actual):
            ahead += len(actual[i].token_bytes)
            i += 1
        else:
            ahead -= len(expected[j].token_bytes)
            j += 1
        if ahead == 0:
            return i, j


def _same(actual: Token, expected: Token) -> bool:
    return actual.id == expected.id and actual.token_bytes == expected.token_bytes


def _blocks_by_ids(actual: Sequence[Token], expected: Sequence[Token]) -> Iterator[Block]:
    """Yield blocks by the longest common runs of ids."""
    start, tail = common_ends(_ids_of(actual), _ids_of(expected))
    end_actual, end_expected = len(actual) - tail, len(expected) - tail
    yield _block(actual[:start], expected[:start])
    yield from _match_ids(actual[start:end_actual], expected[start:end_expected])
    yield _block(actual[end_actual:], expected[end_expected:])


def _match_ids(actual: Sequence[Token], expected: Sequence[Token]) -> Iterator[Block]:
    ids, others = _ids_of(actual), _ids_of(expected)
    # subtle: the matcher visits every pair of equal ids for each run that it finds, so two long runs of one token would
    # take hours; beyond the limit the whole stretch is one block.
    counts, other_counts = Counter(ids), Counter(others)
    pairs = sum(counts[token] * other_counts[token] for token in counts)
    if pairs * min(len(ids), len(others)) > _MAX_MATCHING:
        yield _block(actual, expected)
        return
    for _, i, i_end, j, j_end in SequenceMatcher(None, ids, others, autojunk=False).get_opcodes():
        yield _block(actual[i:i_end], expected[j:j_end])


def _block(actual: Sequence[Token], expected: Sequence[Token]) -> Block:
    equal = _ids_of(actual) == _ids_of(expected)
    return Block(equal, tuple(actual), tuple(expected))


def _merge_equal(blocks: Iterator[Block]) -> Iterator[Block]:
    """Join neighboring equal blocks into one, and drop empty ones."""
    actual: list[Token] = []
    expected: list[Token] = []
    for block in blocks:
        if block.equal:
            actual += block.actual
            expected += block.expected
            continue
        if actual:
            yield Block(True, tuple(actual), tuple(expected))
            actual, expected = [], []
        yield block
    if actual:
        yield Block(True, tuple(actual), tuple(expected))


def _character_start(text: bytes, offset: int) -> int:
    """Step back from inside a UTF-8 character to its first byte."""
    start = offset
    while start > max(0, offset - _MAX_UTF8_BYTES + 1) and b"\x80" <= text[start : start + 1] < b"\xc0":
        start -= 1
    return start


def _head(text: bytes, start: int) -> str:
    return to_text(text[start : start + _EXCERPT_BYTES])[:_EXCERPT_CHARACTERS]
