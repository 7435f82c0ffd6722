"""Find out that a tokenizer.json has lost a setting without which it does not use many of its pieces."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.damage.difference import LEAST, LEAST_SHARE, damage_difference
from tokverify.compare.opened import Opened
from tokverify.engine.encoder import Encoder
from tokverify.engine.family import Alphabet
from tokverify.engine.normalizer import ESCAPED_SPACE
from tokverify.engine.special_text import BYTE_PIECE
from tokverify.report.run import NEARLY_ALL
from tokverify.report.tokenizer_difference import TokenizerDifference
from tokverify.sources.huggingface.document import Document
from tokverify.sources.huggingface.stage import stages_of
from tokverify.text.wording import list_tokens, plural, quote
from tokverify.texts.batch import encode_plain

_WORDS_PER_CAPITAL = 2_000
"""A vocabulary with capitals has more than one word in so many with them."""
_CONTINUATION = "##"
"""What the pieces that continue a word begin with in a WordPiece vocabulary."""
_RARE = "\ue000"
"""A character for private use, which no trainer makes a piece of."""


def find_lost_continuations(actual: Encoder, document: Document, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a WordPiece reference does not use the continuations of its vocabulary, as the model does."""
    prefix = document.model.get("continuing_subword_prefix")
    if prefix in {None, _CONTINUATION}:
        return
    lost = [id for id, piece in enumerate(facts.pieces[: actual.vocab_size]) if piece.startswith(_CONTINUATION)]
    known = [id for id in lost if actual.piece(id) == facts.pieces[id].removeprefix(_CONTINUATION)]
    if len(known) >= max(LEAST, NEARLY_ALL * len(lost)):
        names = list_tokens(known, facts.pieces)
        message = (
            f"its continuing_subword_prefix is {quote(prefix)}, but {len(known):,} of its pieces begin with"
            f" {_CONTINUATION}, such as {names}, so that it uses none of them"
        )
        yield damage_difference(message, known)


def find_lost_case(actual: Encoder, document: Document, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a WordPiece reference lowercases, or does not, against its own vocabulary, as the model does not."""
    if document.model_type != "WordPiece":
        return
    kinds = {stage["type"]: stage for stage in document.normalizer}
    lowercases = "Lowercase" in kinds or bool(kinds.get("BertNormalizer", {}).get("lowercase"))
    if lowercases == actual.settings.lowercase:
        return
    words = [piece for piece in facts.pieces if not piece.startswith("[")]
    capital = [piece for piece in words if piece != piece.lower()]
    if lowercases and len(capital) >= max(LEAST, LEAST_SHARE * len(words)):
        reason = f"its lowercase is on, but {plural(len(capital), 'piece')} of it have capitals, and are never used"
    elif not lowercases and len(words) > LEAST and len(capital) * _WORDS_PER_CAPITAL < len(words):
        reason = "its lowercase is off, but no piece of it has a capital, so that it knows no word with one"
    else:
        return
    yield damage_difference(reason)


def find_lost_spaces(actual: Encoder, document: Document, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that no stage of a reference writes spaces as its pieces have them, and the model does."""
    stages = (*document.normalizer, *document.pre_tokenizer)
    is_written = any(stage["type"] == "Metaspace" or ESCAPED_SPACE in str(stage) for stage in stages)
    if is_written or actual.settings.family.alphabet is not Alphabet.ESCAPED:
        return
    lost = [id for id, piece in enumerate(facts.pieces) if piece.startswith(ESCAPED_SPACE)]
    if len(lost) >= max(LEAST, LEAST_SHARE * len(facts.pieces)):
        message = (
            f"no stage of it writes spaces as ▁, with which {plural(len(lost), 'piece')} of it begin, such as"
            f" {list_tokens(lost, facts.pieces)}, so that it uses none of them"
        )
        yield damage_difference(message, lost)


def find_lost_fallback(actual: Encoder, document: Document, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a reference no longer uses its byte tokens, which its own decoder joins, and the model does."""
    if document.model.get("byte_fallback") is not False:
        return
    if not any(stage.get("type") == "ByteFallback" for stage in stages_of(document.library.decoder)):
        return
    known = {id for id, piece in enumerate(facts.pieces) if BYTE_PIECE.fullmatch(piece)}
    (ids,) = encode_plain(actual, [_RARE])
    if ids and known.intersection(ids):
        message = (
            f"its byte_fallback is off, although it has {plural(len(known), 'byte token')} and its decoder joins them"
            " (ByteFallback), so that it uses none of them"
        )
        yield damage_difference(message, sorted(known))
