"""Find added tokens that the reference also matches in other forms of their texts, which GGUF cannot express.

HuggingFace tokenizers looks for an added token with `normalized` in the normalized text, so a token that is added to an
uncased model is matched in capitals, too. llama.cpp looks only for the text that the file stores.
"""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.digest import make_difference
from tokverify.errors import answer_or
from tokverify.report.finding import WARNING
from tokverify.report.tokenizer_difference import Aspect, Origin, TokenizerDifference
from tokverify.text.wording import list_tokens, plural, quote
from tokverify.tokenizer import NormalizedListing, Tokenizer

CODE = "TV203"
"""The rule that reports the same."""
_MOST = 500
"""At most this many tokens are tried."""


def find_normalized_matches(actual: Tokenizer, expected: Tokenizer) -> Iterator[TokenizerDifference]:
    """Yield the added tokens that only the reference finds in some form of their texts."""
    listed = expected.normalized_tokens() if isinstance(expected, NormalizedListing) else {}
    forms: dict[int, str] = {}
    for id, text in list(listed.items())[:_MOST]:
        # One that the model does not find even as it is written has another type, and is reported for that.
        if not _matches(actual, text, id):
            continue
        for form in dict.fromkeys([text.upper(), text.lower(), text.title()]):
            if _matches(expected, form, id) and not _matches(actual, form, id):
                forms.setdefault(id, form)
    if forms:
        id, form = next(iter(forms.items()))
        pieces = {each: expected.piece(each) for each in forms}
        message = (
            f"{plural(len(forms), 'token')} with normalized in the reference, which GGUF cannot express:"
            f" {list_tokens(forms, pieces)}; the reference also finds {quote(pieces[id])} in {quote(form)}, and"
            f" llama.cpp does not"
        )
        yield make_difference(
            Aspect.TYPES, WARNING, message, list(forms), facts="normalized", origin=Origin.RUNTIME, code=CODE
        )


def _matches(tokenizer: Tokenizer, text: str, id: int) -> bool:
    """Whether a tokenizer finds a token in a text of its own."""
    return id in answer_or([], tokenizer.encode, text, add_special=False, parse_special=True)
