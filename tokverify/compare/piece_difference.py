"""Report the ids whose tokens differ: other bytes, tokens that only one side has, padding, and exchanged ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple
from unicodedata import is_normalized, normalize

from tokverify.compare.damage.table import describe_damage
from tokverify.compare.digest import make_difference
from tokverify.compare.embedding import describe_rows, find_without_embedding
from tokverify.compare.opened import Opened
from tokverify.compare.shift import find_shift
from tokverify.engine.encoder import Encoder
from tokverify.engine.normalizer import ESCAPED_SPACE
from tokverify.report.finding import ERROR, INFO, WARNING, Severity
from tokverify.report.tokenizer_difference import Aspect, Origin, TokenizerDifference
from tokverify.report.vocabulary_difference import PieceDifference, VocabularyDifference
from tokverify.sources.config import are_left_open, configured_roles, find_displaced
from tokverify.sources.gguf.keys import TOKENS, TYPES
from tokverify.spec import ADDED_TYPES, TokenType
from tokverify.text.utf8 import from_utf8
from tokverify.text.visible import visible
from tokverify.text.wording import list_items, list_tokens, plural, quote
from tokverify.texts.batch import Queries
from tokverify.texts.frame import pack_texts
from tokverify.texts.token_text import PADDING, is_filler, is_padded, is_padding
from tokverify.tokenizer import NameSupplying, Tokenizer, lists_no_special_tokens, path_of

_SHOWN, _SHOWN_MOVED = 5, 2
_MOST_DAMAGED = 100
"""The most tokens whose bytes are worth looking at: of more, some are not UTF-8 anyway."""
_MOST_PACKS = 16
"""If more texts of many tokens differ, another fault than exchanged tokens does that, and the cases show it."""
_BEFORE = "a\n"
_ASPECTS: Mapping[Aspect, tuple[Severity, str, str]] = {
    Aspect.BYTES: (ERROR, "represents a different token", "represent different tokens"),
    Aspect.MISSING: (ERROR, "has a token in the reference only", "have a token in the reference only"),
    Aspect.EXTRA: (ERROR, "has a token in the model only", "have a token in the model only"),
    Aspect.PADDING: (INFO, "is padding that only one side has", "are padding that only one side has"),
}
"""Aspect -> its severity, and what to say of one id and of several."""


class _Excuse(NamedTuple):
    """Why another text of a token is no fault of the file."""

    reason: str
    severity: Severity
    origin: Origin


_AS_DECLARED = "the file declares what the reference does, and llama.cpp"
_EMPTY = _Excuse(f"{_AS_DECLARED} ends a piece at a NUL and names an empty one", WARNING, Origin.RUNTIME)
_SPACED = _Excuse(f"{_AS_DECLARED} decodes each ▁ as a space", WARNING, Origin.RUNTIME)
_TRIMMED = _Excuse("words are split at whitespace, so no text is encoded to it", INFO, Origin.UNKNOWN)
_SUPPLIED = _Excuse(
    "the reference's file names no special tokens, and its library has default names", INFO, Origin.UNKNOWN
)


def find_piece_differences(
    vocabulary: VocabularyDifference,
    actual: Tokenizer | None = None,
    expected: Tokenizer | None = None,
    facts: Opened | None = None,
) -> Iterator[TokenizerDifference]:
    """Yield how the tokens of two vocabularies differ, and then how the sizes do.

    Args:
        vocabulary: The tokens that differ.
        actual: The model; llama.cpp ends each piece that its file declares at a NUL.
        expected: The reference, beside whose file others may name tokens that it lacks.
        facts: What is known about the reference; by default, as much as it says itself.
    """
    model = actual.spec.model if isinstance(actual, Encoder) else ""
    types = actual.token_types() if isinstance(actual, Encoder) else ()
    # To ask for a protocol takes longer than everything else here, and there may be a difference for each token.
    supplied = expected.supplied_names if isinstance(expected, NameSupplying) else ()
    opened = facts or Opened(expected)
    left_out, omitted = opened.left_out, opened.omitted
    by_aspect: dict[Aspect, list[PieceDifference]] = {aspect: [] for aspect in _ASPECTS}
    renamed: dict[_Excuse, list[PieceDifference]] = {}
    differing = [_with_left_out(piece, left_out) for piece in vocabulary.pieces]
    for piece in differing:
        if piece.actual is not None and piece.actual in {left_out.get(piece.id), omitted.get(piece.id)}:
            continue
        excuse = _excuse(piece, actual, expected, supplied) if isinstance(actual, Encoder) and expected else None
        group = renamed.setdefault(excuse, []) if excuse else by_aspect[_aspect_of(piece, types, model)]
        group.append(piece)
    for (reason, severity, origin), pieces in renamed.items():
        found = _describe(Aspect.BYTES, pieces)
        yield replace(found, severity=severity, origin=origin, message=f"{found.message} ({reason})")
    if (missing := by_aspect[Aspect.MISSING]) and isinstance(actual, Encoder):
        without = find_without_embedding(actual.spec, opened)
        by_aspect[Aspect.MISSING] = [piece for piece in missing if piece.id not in without]
        lost = [piece for piece in missing if piece.id in without]
        yield from _describe_without_embedding(lost, describe_rows(actual.spec, opened))
    for aspect, pieces in by_aspect.items():
        if pieces:
            yield _with_note(_describe(aspect, pieces), pieces, actual, expected)
            if aspect is Aspect.PADDING and isinstance(actual, Encoder):
                yield from _find_matched_padding([piece.id for piece in pieces if piece.actual is not None], actual)
    if actual:
        on_both = {piece.id for piece in differing if piece.actual is not None and piece.expected is not None}
        # A file made without transformers has no tokens at ids that nothing declares.
        known = on_both.union(find_displaced(expected) if left_out and expected else ())
        yield from find_lacking(actual, {id: text for id, text in left_out.items() if id not in known})
    sizes = (vocabulary.actual_size, vocabulary.expected_size)
    if sizes[0] != sizes[1]:
        # The tokens that only one side has are reported above, with their own severity.
        message = f"the model has {plural(sizes[0], 'token')}, the reference {sizes[1]:,}"
        yield make_difference(Aspect.SIZE, INFO, message, facts=sizes, keys=(TOKENS,))


def _with_left_out(piece: PieceDifference, left_out: Mapping[int, str]) -> PieceDifference:
    """Return a token that only the model has with its text in the files beside the reference; padding as it is."""
    text = left_out.get(piece.id)
    is_listed = piece.expected is None and piece.actual is not None and text is not None
    return replace(piece, expected=text) if is_listed and not is_filler(piece.actual or "") else piece


def _describe_without_embedding(pieces: Sequence[PieceDifference], rows: str) -> Iterator[TokenizerDifference]:
    if pieces:
        found = _describe(Aspect.MISSING, pieces)
        message = f"{found.message}; {rows}, so no file can have more"
        yield replace(found, severity=INFO, origin=Origin.RUNTIME, message=message)


def _excuse(piece: PieceDifference, actual: Encoder, expected: Tokenizer, supplied: Collection[int]) -> _Excuse | None:
    """Say why another text of a token is no fault of the file; None if it is one.

    llama.cpp ends a piece at a NUL, and calls an empty one, such as `##` of WordPiece without its prefix, `[EMPTY_7]`
    or the like (`init_tokenizer` and `load` in its `src/llama-vocab.cpp`). Neither side encodes a text to that:
    llama.cpp splits the name at the brackets, and the library looks for nothing nowhere. A `▁` of a WordPiece
    vocabulary, whose words begin with another one in a file, becomes a space where ids are decoded. A program that
    reads a vocab.txt may trim its lines, one of which is a line separator in Chinese BERT.
    """
    declared = actual.spec.tokens
    if piece.actual is None or piece.expected is None or piece.id >= len(declared):
        return None
    is_supplied = piece.id in supplied and piece.id not in expected.special_ids.values()
    if is_supplied and actual.token_types()[piece.id] is TokenType.CONTROL:
        # Two names that are exchanged, or another BOS or EOS, are a difference.
        other = next((id for id in supplied if expected.piece(id) == piece.actual), len(declared))
        if declared[other : other + 1] != [piece.expected]:
            return _SUPPLIED
    own = declared[piece.id]
    if (not own and not expected.token_bytes(piece.id)) or ("\0" in piece.expected and own == piece.expected):
        return _EMPTY
    text = expected.token_bytes(piece.id).decode("utf-8", "surrogateescape")
    spelled = ESCAPED_SPACE + text[1:] if text.startswith(" ") else text
    is_white = not any(each.strip(ESCAPED_SPACE).strip() for each in (own, spelled))
    if actual.settings.family.splits_words and is_white and own != spelled:
        return _TRIMMED
    return _SPACED if ESCAPED_SPACE in text and text != spelled == own else None


def _find_matched_padding(ids: Sequence[int], actual: Encoder) -> Iterator[TokenizerDifference]:
    """Yield that padding is typed so that llama.cpp finds its text in texts, as converters of early 2024 did."""
    types, pieces = actual.token_types(), actual.settings.pieces
    if found := [id for id in ids if types[id] is TokenType.USER_DEFINED and PADDING.fullmatch(pieces[id])]:
        verb, their = ("is", "its") if len(found) == 1 else ("are", "their")
        message = (
            f"{plural(len(found), 'token')} of padding {verb} typed USER_DEFINED instead of UNUSED, so llama.cpp finds "
            f"{their} text in every text: {list_tokens(found, pieces)}"
        )
        facts, origin = ["padding"], Origin.FILE
        yield make_difference(Aspect.TYPES, WARNING, message, found, facts=facts, keys=(TYPES,), origin=origin)


def find_lacking(actual: Tokenizer, left_out: Mapping[int, str]) -> Iterator[TokenizerDifference]:
    """Yield that the model lacks tokens that its reference leaves out, too."""
    lacking = {id: text for id, text in left_out.items() if actual.piece(id) != text and not is_filler(text)}
    if lacking:
        message = (
            f"{plural(len(lacking), 'added token')} of the files beside the reference, which it does not have itself,"
            f" are not in the model: {list_tokens(sorted(lacking), lacking)}"
        )
        yield make_difference(Aspect.MISSING, WARNING, message, sorted(lacking), facts=sorted(lacking.items()))


def _with_note(
    found: TokenizerDifference, pieces: Sequence[PieceDifference], actual: Tokenizer | None, expected: Tokenizer | None
) -> TokenizerDifference:
    """Add what explains a difference; tokens that the reference says nothing about are only a warning."""
    if found.aspect is Aspect.BYTES and actual and expected:
        return replace(found, message=found.message + _note_damage(found.ids, pieces, actual, expected))
    if found.aspect is not Aspect.EXTRA:
        return found
    if expected and isinstance(actual, Encoder):
        all_types = actual.token_types()
        types = {all_types[piece.id] for piece in pieces}
        if types == {TokenType.CONTROL} and lists_no_special_tokens(expected):
            reason = "the reference lists no special tokens, so nothing says whether these are right"
            return replace(found, severity=WARNING, message=f"{found.message}; {reason}")
        if types <= ADDED_TYPES and are_left_open(found.ids, expected):
            reason = (
                "such a reference lists no added tokens, so nothing says whether these are right: put the model's "
                "added_tokens.json or tokenizer_config.json beside it, which may list them"
            )
            return replace(found, severity=WARNING, message=f"{found.message}; {reason}")
    return replace(found, message=found.message + _note_configured(pieces, expected))


def _note_configured(pieces: Sequence[PieceDifference], expected: Tokenizer | None) -> str:
    """Say which tokens a converter has added because another file of the reference names them."""
    path = path_of(expected)
    places: dict[str, str] = configured_roles(path) if path else {}
    named = [piece.actual for piece in pieces if piece.actual in places]
    return "".join(f"; only {places[text]} names {quote(text)}" for text in named if text is not None)


def _note_damage(ids: Sequence[int], pieces: Sequence[PieceDifference], actual: Tokenizer, expected: Tokenizer) -> str:
    """Say what a program did to all texts, or that none is UTF-8 although the reference's are; empty otherwise.

    Tokens that are parts of characters are never UTF-8, so that some are not after a shift means nothing.
    """
    if len(pieces) > 1 and (reason := describe_damage([(each.actual or "", each.expected or "") for each in pieces])):
        return f"; {reason}"
    texts = [(actual.token_bytes(id), expected.token_bytes(id)) for id in ids[:_MOST_DAMAGED]]
    read = [(from_utf8(own), from_utf8(theirs)) for own, theirs in texts]
    if len(ids) > len(texts) or any(own is not None or theirs is None for own, theirs in read):
        return ""
    own, theirs = (visible(text) for text in texts[0])
    whose = f"token {ids[0]}" if len(ids) == 1 else f"these tokens, such as {ids[0]},"
    return f'; the text of {whose} is damaged: "{own}" is not UTF-8, but "{theirs}" is'


def _aspect_of(piece: PieceDifference, types: Sequence[int], model: str) -> Aspect:
    if piece.actual is not None and piece.expected is not None:
        return Aspect.PADDING if is_padded(piece.actual, piece.expected) else Aspect.BYTES
    type = types[piece.id] if piece.actual is not None and piece.id < len(types) else TokenType.NORMAL
    if piece.is_unused or is_padding(piece.actual or piece.expected or "", type, model):
        return Aspect.PADDING
    return Aspect.MISSING if piece.actual is None else Aspect.EXTRA


def _describe(aspect: Aspect, pieces: Sequence[PieceDifference]) -> TokenizerDifference:
    severity, one, several = _ASPECTS[aspect]
    verb = one if len(pieces) == 1 else several
    moved = _describe_moved(pieces) if aspect is Aspect.BYTES else ""
    message = f"{plural(len(pieces), 'id')} {verb}: {list_items(pieces, _SHOWN_MOVED if moved else _SHOWN, _show)}"
    message = f"{moved}; {message}" if moved else message
    facts = [(piece.actual, piece.expected) for piece in pieces]
    return make_difference(aspect, severity, message, [piece.id for piece in pieces], facts=facts, keys=(TOKENS,))


def _describe_moved(pieces: Sequence[PieceDifference]) -> str:
    """Say that two tokens are exchanged, or that an insertion or a deletion has moved them; empty if neither."""
    first, last = pieces[0], pieces[-1]
    ours = {piece.id: piece.actual for piece in pieces}
    theirs = {piece.id: piece.expected for piece in pieces}
    if set(ours) == {first.id, last.id} and (first.actual, last.actual) == (last.expected, first.expected):
        return f"ids {first.id} and {last.id} are swapped"
    span = range(first.id, last.id + 1)
    # Between them, an id may have the same text on both sides by accident.
    shift = find_shift(*([side.get(id, id) for id in span] for side in (ours, theirs)))
    if shift is None:
        return ""
    by = f"ids {first.id} to {last.id} are shifted by {shift.count} since {first.id}"
    if shift.is_insertion:
        return f"{by} {quote(first.actual or '')}, which the reference does not have there"
    return f"{by}, where the model lacks {quote(first.expected or '')}"


def _show(piece: PieceDifference) -> str:
    pair = [text for text in (piece.actual, piece.expected) if text is not None]
    texts = [quote(text, mark_spaces=True) for text in pair]
    if len({normalize("NFC", text) for text in pair}) < len(pair):
        # They look the same, such as after a macOS tool has decomposed a list of tokens.
        texts = [
            shown if is_normalized("NFC", text) else f"{shown} (not in NFC)"
            for shown, text in zip(texts, pair, strict=True)
        ]
    if len(texts) > 1 and texts[0] == texts[1]:
        return f"{piece.id} {texts[0]} (other bytes)"
    return f"{piece.id} {', not '.join(texts)}"


def find_exchanged_pieces(actual: Tokenizer, expected: Tokenizer) -> Iterator[TokenizerDifference]:
    """Yield the tokens whose own texts the reference encodes to one other token, whose text is another one here, too.

    This is for a reference that does not list its tokens. No case need contain them. A normalizer of the reference also
    leads to other tokens, but not from these to others.
    """
    if not isinstance(actual, Encoder):
        return
    texts = {text: id for id, data in enumerate(actual.bytes_of_tokens()) if (text := from_utf8(data))}
    moved = _find_moved(texts, actual, expected)
    if expected.parses_special:
        special = {token.text: token.id for token in actual.settings.added_tokens if token.special}
        moved |= _find_moved(special, actual, expected, parse_special=True)
    ids = sorted(moved.keys() & moved.values())
    if ids:
        message = (
            f"{plural(len(ids), 'token')} {'is' if len(ids) == 1 else 'are'} encoded to the ids of others by the"
            f" reference, as if their texts were exchanged: {list_tokens(ids, actual.settings.pieces)}"
        )
        yield make_difference(
            Aspect.BYTES, ERROR, message, ids, facts=[(id, moved.get(id)) for id in ids], keys=(TOKENS,)
        )


def _find_moved(
    texts: Mapping[str, int], actual: Encoder, expected: Tokenizer, *, parse_special: bool = False
) -> dict[int, int]:
    """Return the tokens whose texts the reference encodes to one other token, and these; none if most texts differ."""
    ours, theirs = (partial(Queries(side).encode_all, parse_special=parse_special) for side in (actual, expected))
    packs = list(pack_texts(text for text in texts if text.strip()))
    joined = ["\n".join(pack) for pack in packs]
    encodings = zip(packs, ours(joined), theirs(joined), strict=True)
    differing = [pack for pack, left, right in encodings if right is not None and left != right]
    if len(differing) > _MOST_PACKS:
        return {}
    # At the beginning of a text, there may be a space.
    alone = [f"{_BEFORE}{text}" for pack in differing for text in pack]
    answers = zip(alone, ours(alone), theirs(alone), strict=True)
    return {
        left[-1]: right[-1]
        for text, left, right in answers
        if left and right and left[:-1] == right[:-1] and left[-1] == texts[text.removeprefix(_BEFORE)] != right[-1]
    }
