"""Find added tokens that only the files beside a reference declare, as for those that were added to a .model file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tokverify.compare.digest import make_difference
from tokverify.report.finding import WARNING
from tokverify.report.tokenizer_difference import Aspect, TokenizerDifference
from tokverify.sources.config import declared_tokens, read_extra_tokens
from tokverify.text.wording import list_tokens, plural
from tokverify.texts.token_text import is_filler
from tokverify.tokenizer import FileReading, Tokenizer


def configured_tokens(expected: Tokenizer) -> Mapping[int, str]:
    """Return the added tokens, by id, that a reference does not have itself."""
    path = expected.path if isinstance(expected, FileReading) else None
    if path is None:
        return {}
    declared = {**read_extra_tokens(path), **declared_tokens(path)}
    return {id: text for text, id in declared.items() if id >= expected.vocab_size}


def find_configured_differences(actual: Tokenizer, expected: Tokenizer) -> Iterator[TokenizerDifference]:
    """Yield that the model lacks added tokens that only the files beside the reference declare."""
    configured = configured_tokens(expected).items()
    lacking = {id: text for id, text in configured if actual.piece(id) != text and not is_filler(text)}
    if lacking:
        message = (
            f"{plural(len(lacking), 'added token')} of the files beside the reference, which it does not have itself,"
            f" are not in the model: {list_tokens(sorted(lacking), lacking)}"
        )
        yield make_difference(Aspect.MISSING, WARNING, message, sorted(lacking), facts=sorted(lacking.items()))
