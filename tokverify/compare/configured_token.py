"""Find added tokens that only the files beside a reference declare, as for those that were added to a .model file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tokverify.compare.digest import make_difference
from tokverify.report.finding import WARNING
from tokverify.report.tokenizer_difference import Aspect, TokenizerDifference
from tokverify.sources.config import configured_tokens
from tokverify.text.wording import list_tokens, plural
from tokverify.texts.token_text import is_filler
from tokverify.tokenizer import FileReading, Tokenizer


def find_left_out(expected: Tokenizer) -> Mapping[int, str]:
    """Return the added tokens, by id, that a reference does not have itself."""
    path = expected.path if isinstance(expected, FileReading) else None
    declared = configured_tokens(path) if path else {}
    return {id: text for text, id in declared.items() if id >= expected.vocab_size}


def find_lacking(actual: Tokenizer, left_out: Mapping[int, str]) -> Iterator[TokenizerDifference]:
    """Yield that the model lacks tokens that its reference leaves out, too."""
    lacking = {id: text for id, text in left_out.items() if actual.piece(id) != text and not is_filler(text)}
    if lacking:
        message = (
            f"{plural(len(lacking), 'added token')} of the files beside the reference, which it does not have itself,"
            f" are not in the model: {list_tokens(sorted(lacking), lacking)}"
        )
        yield make_difference(Aspect.MISSING, WARNING, message, sorted(lacking), facts=sorted(lacking.items()))
