"""Report pieces that are empty as llama.cpp reads them, beside all other differences of tokens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tokverify.compare.digest import make_difference
from tokverify.compare.piece_difference import find_piece_differences
from tokverify.engine.encoder import Encoder
from tokverify.report.finding import WARNING
from tokverify.report.run import PieceDifference, VocabularyDifference
from tokverify.report.tokenizer_difference import Aspect, Origin, TokenizerDifference
from tokverify.sources.gguf.keys import TOKENS
from tokverify.text.wording import list_items, plural, quote
from tokverify.tokenizer import Tokenizer


def find_token_differences(
    vocabulary: VocabularyDifference, actual: Tokenizer, expected: Tokenizer
) -> Iterator[TokenizerDifference]:
    """Yield how the tokens of two vocabularies differ, with pieces apart that both sides declare as empty.

    A piece `##` of WordPiece continues a word with nothing, so that the file declares an empty one. llama.cpp calls it
    `[EMPTY_7]` or the like (`init_tokenizer` and `load` in its `src/llama-vocab.cpp`), whatever the file says. Neither
    side encodes a text to it: llama.cpp splits its name at the brackets, and the library looks for nothing nowhere.
    """
    named = [piece for piece in vocabulary.pieces if _is_named(piece, actual, expected)]
    if named:
        items = list_items(named, 5, lambda piece: f"{piece.id} {quote(piece.expected or '')}")
        message = (
            f"{plural(len(named), 'id')} with an empty text, as the reference decodes it inside a word, to which "
            f"llama.cpp gives a name, such as {quote(named[0].actual or '')}: {items}"
        )
        yield make_difference(
            Aspect.BYTES, WARNING, message, [piece.id for piece in named], origin=Origin.RUNTIME, keys=(TOKENS,),
            facts=[(piece.actual, piece.expected) for piece in named],
        )  # fmt: skip
        others = tuple(piece for piece in vocabulary.pieces if piece not in named)
        vocabulary = replace(vocabulary, pieces=others)
    yield from find_piece_differences(vocabulary, actual, expected)


def _is_named(piece: PieceDifference, actual: Tokenizer, expected: Tokenizer) -> bool:
    if piece.actual is None or piece.expected is None or not isinstance(actual, Encoder):
        return False
    return not actual.spec.tokens[piece.id] and not expected.token_bytes(piece.id)
