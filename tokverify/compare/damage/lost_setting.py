"""Find out that a reference has lost a setting with which its pieces were trained, so that it does not use many."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import compress, pairwise
from math import exp
from typing import NamedTuple

from tokverify.compare.charsmap_difference import find_replaced_differently
from tokverify.compare.damage.difference import LEAST, LEAST_SHARE, damage_difference
from tokverify.compare.opened import Opened
from tokverify.compare.role_name import ROLES_BY_NAME
from tokverify.engine.encoder import Encoder
from tokverify.engine.families import find_family
from tokverify.engine.family import Alphabet, Ranking
from tokverify.engine.joined_strings import find_containing
from tokverify.engine.normalizer import ESCAPED_SPACE, unescape_spaces
from tokverify.engine.special_text import BYTE_PIECE
from tokverify.report.tokenizer_difference import TokenizerDifference
from tokverify.report.vocabulary_difference import NEARLY_ALL
from tokverify.sources.huggingface.document import Document
from tokverify.sources.huggingface.stage import RUNS_OF_SPACES, stages_of
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.text.sequence import thin_out
from tokverify.text.utf8 import from_utf8, to_bytes
from tokverify.text.wording import list_tokens, plural, quote
from tokverify.texts.batch import encode_plain

_CONTINUATION = "##"
"""What the pieces that continue a word begin with in a WordPiece vocabulary."""


class _Case(NamedTuple):
    """What a setting of WordPiece drops from texts."""

    marks: str
    has: Callable[[str], bool]
    """Whether a piece has some."""
    can_have: Callable[[str], bool]
    """Whether one could; no Hangul or Han has capitals."""
    words_per_piece: int
    """A vocabulary that keeps them has more than one word in so many with some."""
    least: int
    """Of fewer words, that shows nothing."""


def _has_accents(text: str) -> bool:
    return not text.isascii() and any(unicodedata.category(char) == "Mn" for char in unicodedata.normalize("NFD", text))


_CASES = {
    "lowercase": _Case(
        "capitals", lambda text: text != text.lower(), lambda text: text.upper() != text.lower(), 2_000, LEAST
    ),
    # A Korean vocabulary has one word in 8,000 with an accent.
    "strip_accents": _Case("accents", _has_accents, lambda _: True, 10_000, 10_000),
}
_UNKNOWN = ROLES_BY_NAME["<unk>"]
_RUN = 2 * ESCAPED_SPACE
_SPACED = "a a a"
_FEW = 50
"""So many texts show whether a reference writes spaces."""
_LARGE = 10_000
"""Among so many pieces are some of the characters that a charsmap replaces, unless texts were normalized with one."""
_NEARLY_ONE, _TIMES = 0.2, 10
"""What the probabilities of a trained vocabulary add up to, at most so far from 1, and how much more is wrong."""
_HIGHEST = 100.0
"""A score; the exponential of much higher ones is no number."""
_DIGITS = slice(3, 5)
"""Of a byte token, such as `<0x0A>`."""
_RARE = "\ue000"
"""A character for private use, which no trainer makes a piece of."""


def find_lost_continuations(actual: Encoder, document: Document, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a WordPiece reference does not use the continuations of its vocabulary, as the model does."""
    prefix = document.model.get("continuing_subword_prefix")
    if prefix in {None, _CONTINUATION}:
        return
    pieces, size = facts.pieces, actual.vocab_size
    lost = [id for id in find_containing(pieces, _CONTINUATION) if id < size and pieces[id].startswith(_CONTINUATION)]
    known = [id for id in lost if actual.piece(id) == pieces[id].removeprefix(_CONTINUATION)]
    if len(known) >= max(LEAST, NEARLY_ALL * len(lost)):
        names = list_tokens(known, facts.pieces)
        message = (
            f"its continuing_subword_prefix is {quote(prefix)}, but {len(known):,} of its pieces begin with"
            f" {_CONTINUATION}, such as {names}, so that it uses none of them"
        )
        yield damage_difference(message, known)


def find_lost_case(actual: Encoder, document: Document, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a WordPiece reference drops capitals or accents, or keeps them, against its own vocabulary.

    The model does not. Of a byte-level reference, only lowercase is looked at.
    """
    differing, is_wordpiece = _differing_case(actual, document), document.model_type == "WordPiece"
    # SigLIP 2 lowercases texts for Gemma's vocabulary on purpose.
    is_byte_level = actual.settings.family.alphabet is Alphabet.BYTE_LEVEL
    may_be_lost = is_wordpiece or (is_byte_level and differing == "lowercase" and not actual.settings.lowercase)
    if not differing or not may_be_lost:
        return
    case, drops = _CASES[differing], not getattr(actual.settings, differing)
    pieces = facts.pieces if is_wordpiece else [from_utf8(data) or "" for data in facts.token_bytes]
    words = [piece for piece in pieces if not piece.startswith("[")]
    count = sum(map(case.has, words))
    if drops and count >= max(LEAST, LEAST_SHARE * sum(map(case.can_have, words))):
        yield damage_difference(
            f"its {differing} is on, but {plural(count, 'piece')} of it have {case.marks}, and are never used"
        )
    elif not drops and len(words) > case.least and count * case.words_per_piece < len(words):
        have = f"only {plural(count, 'piece')} of it have" if count else "no piece of it has"
        yield damage_difference(
            f"its {differing} is off, but {have} {case.marks}, so that it knows hardly any word with some"
        )


def _differing_case(actual: Encoder, document: Document) -> str:
    """Return the setting about which both sides differ; accents only if that is not because of `lowercase`."""
    kinds = {stage["type"]: stage for stage in document.normalizer}
    stage = kinds.get("BertNormalizer", {})
    lowercases = "Lowercase" in kinds or bool(stage.get("lowercase"))
    if lowercases != actual.settings.lowercase:
        return "lowercase"
    strips = stage.get("strip_accents")
    # By default, what lowercases also strips accents.
    strips = "StripAccents" in kinds or bool(stage.get("lowercase") if strips is None else strips)
    return "strip_accents" if strips != actual.settings.strip_accents else ""


def find_lost_spaces(actual: Encoder, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a reference does not write spaces as its pieces have them, and the model does."""
    if facts.tokenizer is None or actual.settings.family.alphabet is not Alphabet.ESCAPED:
        return
    (ids,) = encode_plain(facts.tokenizer, [_SPACED])
    used = ["".join(facts.pieces[id : id + 1]) for id in ids or ()]
    is_behind = bool(used) and used[-1].endswith(ESCAPED_SPACE)
    if not is_behind and any(piece.startswith(ESCAPED_SPACE) for piece in used):
        # To look at every piece, and to encode many, takes long.
        return
    lost = [id for id, piece in enumerate(facts.pieces) if piece.startswith(ESCAPED_SPACE)]
    if len(lost) < max(LEAST, LEAST_SHARE * len(facts.pieces)):
        return
    if is_behind:
        message = (
            f"it adds a space behind each text (treat_whitespace_as_suffix), although {plural(len(lost), 'piece')} of"
            f" it begin with {ESCAPED_SPACE}, such as {list_tokens(lost, facts.pieces)}"
        )
        yield damage_difference(message, lost)
        return
    # Each is doubled, as some references remove the space before the first word.
    texts = [2 * unescape_spaces(facts.pieces[id]) for id in thin_out(lost, _FEW)]
    ours, theirs = (encode_plain(side, texts) for side in (actual, facts.tokenizer))
    begun = set(lost)
    used_here, used_there = (any(not begun.isdisjoint(ids or ()) for ids in each) for each in (ours, theirs))
    if used_here and None not in theirs and not used_there:
        message = (
            f"it does not write spaces as ▁, with which {plural(len(lost), 'piece')} of it begin, such as"
            f" {list_tokens(lost, facts.pieces)}, so that it uses none of them"
        )
        yield damage_difference(message, lost)


def find_lost_fallback(actual: Encoder, document: Document, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a reference no longer uses its byte tokens, which its own decoder joins, and the model does.

    The setting is off, or they are not written as the library looks for them, in uppercase.
    """
    if not any(stage.get("type") == "ByteFallback" for stage in stages_of(document.library.decoder)):
        return
    (ids,) = encode_plain(actual, [_RARE])
    used = [facts.pieces[id] for id in ids or () if id < len(facts.pieces) and BYTE_PIECE.fullmatch(facts.pieces[id])]
    is_off = document.model.get("byte_fallback") is False
    if not used or not (is_off or any(map(_is_lower, used))):
        return
    known = [id for id, piece in enumerate(facts.pieces) if BYTE_PIECE.fullmatch(piece)]
    if is_off:
        message = (
            f"its byte_fallback is off, although it has {plural(len(known), 'byte token')} and its decoder joins them"
            " (ByteFallback), so that it uses none of them"
        )
    else:
        lower = [id for id in known if _is_lower(facts.pieces[id])]
        message = (
            f"{len(lower):,} of its byte tokens are written in lowercase, such as {list_tokens(lower, facts.pieces)},"
            " so the library does not find them"
        )
    yield damage_difference(message, known)


def _is_lower(byte_piece: str) -> bool:
    return byte_piece[_DIGITS].islower()


def find_wrong_unknown(actual: Encoder, document: Document, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a tokenizer.json writes a token with another role for what it does not know, and the model its own.

    Only its own setting says so: the unk_token of a tokenizer_config.json is often another one, and never used.
    """
    ours, theirs = actual.special_ids.get("unk"), document.model.get("unk_id")
    if document.model_type == "WordPiece":
        theirs = document.tables.vocab.get(document.model.get("unk_token"))
    if ours is None or not isinstance(theirs, int) or max(ours, theirs) >= len(facts.pieces):
        return
    own, other = ((ROLES_BY_NAME.get(facts.pieces[id]), facts.pieces[id]) for id in (ours, theirs))
    if own == (_UNKNOWN, actual.piece(ours)) and other[0] not in {None, _UNKNOWN}:
        message = f"it encodes what it does not know as {theirs} {quote(other[1])}, and not as its {quote(own[1])}"
        yield damage_difference(message, (ours, theirs))


def find_long_pieces(actual: Encoder, document: Document, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a WordPiece reference takes words for unknown that are pieces of its own."""
    limit = document.model.get("max_input_chars_per_word")
    if document.model_type != "WordPiece" or not isinstance(limit, int):
        return
    pieces = enumerate(facts.pieces[: actual.vocab_size])
    lost = [id for id, piece in pieces if len(piece) > limit and not piece.startswith((_CONTINUATION, "["))]
    if len(lost) >= LEAST:
        message = (
            f"its max_input_chars_per_word is {limit}, but {plural(len(lost), 'piece')} of it are longer, such as"
            f" {list_tokens(lost, facts.pieces)}, so that it uses none of them"
        )
        yield damage_difference(message, lost)


def find_lost_charsmap(actual: Encoder, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a reference has no charsmap, although its pieces were trained with texts that one had normalized."""
    declared = facts.spec if actual.spec.charsmap else None
    if facts.tokenizer is None or declared is None or declared.charsmap or len(facts.pieces) < _LARGE:
        return
    # Where hardly any piece is more than ASCII, it is no wonder that none has such a character.
    if sum(map(_has_foreign_letter, facts.pieces)) < LEAST_SHARE * len(facts.pieces):
        return
    replaced = {text for text in find_replaced_differently(actual, facts.tokenizer) if len(text) == 1}
    if len(replaced) >= LEAST and all(map(replaced.isdisjoint, facts.pieces)):
        yield damage_difference(
            f"it has no charsmap, but none of its {len(facts.pieces):,} pieces has one of the"
            f" {plural(len(replaced), 'character')} that the model's charsmap replaces, so that they were trained with"
            " normalized texts"
        )


def _has_foreign_letter(piece: str) -> bool:
    return not piece.isascii() and any(letter.isalpha() and not letter.isascii() for letter in piece)


def find_removed_spaces(actual: Encoder, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a reference merges spaces, and so never uses its pieces with several, as the model does."""
    settings = actual.settings
    removes = settings.remove_extra_whitespaces and "remove_extra_whitespaces" in settings.family.flags
    # A look at its stages first, as `spec` converts a tokenizer.json, which takes long.
    stages = facts.document.normalizer if facts.document else None
    if removes or (stages is not None and not any(stage.get("pattern") == RUNS_OF_SPACES for stage in stages)):
        return
    declared = facts.spec
    if declared is None or not declared.remove_extra_whitespaces:
        return
    pieces = enumerate(zip(declared.tokens, declared.types or (), strict=False))
    lost = [id for id, (piece, type) in pieces if type == TokenType.NORMAL and _RUN in piece]
    if len(lost) >= LEAST:
        message = (
            f"it removes extra spaces, so that it uses none of its {plural(len(lost), 'piece')} with several spaces,"
            f" such as {list_tokens(lost, declared.tokens)}"
        )
        yield damage_difference(message, lost)


def find_probabilities(actual: Encoder, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a reference adds up what are no logarithms of probabilities, and the model those of a trainer.

    These probabilities add up to 1, of 25 published vocabularies to 0.89 at least. Scores that were raised by the same
    number, as an example for sentencepiece does, prefer many short pieces.
    """
    is_unigram = facts.document is None or facts.document.model_type == "Unigram"
    declared = facts.spec if is_unigram and actual.settings.family.ranking is Ranking.SCORE_SUM else None
    ours, theirs = (each.scores or () if each else () for each in (actual.spec, declared))
    is_above, is_below = (_has_fraction(each) for each in (theirs, ours))
    if is_above and not is_below and min(theirs) >= 0 and max(theirs) <= 1:
        yield damage_difference(
            "its scores are probabilities (from 0 to 1); a Unigram model adds up their logarithms, so with these, a"
            " text scores better the more pieces it is divided into"
        )
        return
    other = _sum_probabilities(declared) if declared else 0.0
    # It is 0 if no piece is typed NORMAL.
    if not other or 1 / _TIMES < other < _TIMES:
        return
    own = _sum_probabilities(actual.spec)
    if abs(own - 1) < _NEARLY_ONE:
        yield damage_difference(
            "its scores are no logarithms of the probabilities of its pieces, as those would add up to"
            f" {other:.3g}; the model's add up to {own:.2f}, as they should"
        )


def _has_fraction(scores: Sequence[float]) -> bool:
    """Whether a score is between 0 and 1; most vocabularies have none above 0, which shows at once."""
    return max(scores, default=0) > 0 and any(0 < score < 1 for score in scores)


def _sum_probabilities(spec: TokenizerSpec) -> float:
    """Return the sum of the probabilities of the pieces that were trained.

    Those with the score 0 were not, or with that of user-defined pieces, which may be NORMAL.
    """
    # The engine's Python models take long to import.
    from tokverify.engine.deviating_unigram import preferred_score

    entries = zip(spec.tokens, spec.scores or (), spec.types or (), strict=False)
    scores = (
        score
        for piece, score, type in entries
        if score and type == TokenType.NORMAL and not (score > 0 and score == preferred_score(to_bytes(piece)))
    )
    return sum(exp(min(score, _HIGHEST)) for score in scores)


def find_ranks_as_scores(actual: Encoder, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a reference adds up scores that are ranks, by which the model joins neighbors."""
    merges = facts.document is not None and facts.document.model_type != "Unigram"
    declared = None if merges or actual.settings.family.ranking is not Ranking.SCORE else facts.spec
    family = find_family(declared.model) if declared else None
    if declared is None or family is None or family.ranking is not Ranking.SCORE_SUM:
        return
    are_normal = [type == TokenType.NORMAL for type in declared.types or ()]
    steps = [first - second for first, second in pairwise(compress(declared.scores or (), are_normal))]
    if len(steps) >= LEAST and steps.count(1.0) >= NEARLY_ALL * len(steps):
        yield damage_difference(
            "its model is Unigram, which adds up scores, but these are ranks, each 1 less than the one before, as those"
            " of BPE"
        )
