"""Find added tokens that the reference finds in other forms of their texts, or only after a space.

HuggingFace tokenizers looks for an added token with `normalized` in the normalized text, so a token that is added to an
uncased model is matched in capitals, too; and one that is added to Llama 2, whose normalizer puts a space before it,
only after a space. llama.cpp looks for the text that the file stores, and for no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
_BEFORE = "."
"""What precedes a token that follows no space; no letter, beside which `single_word` would matter."""


def find_normalized_matches(actual: Tokenizer, expected: Tokenizer) -> Iterator[TokenizerDifference]:
    """Yield added tokens that only the reference finds in other forms, and those that it finds only after a space."""
    listed = expected.normalized_tokens() if isinstance(expected, NormalizedListing) else {}
    # One that the model does not find even as it is written has another type, and is reported for that.
    tried = {id: text for id, text in list(listed.items())[:_MOST] if _matches(actual, text, id)}
    forms: dict[int, str] = {}
    inside: dict[int, str] = {}
    for id, text in tried.items():
        for form in dict.fromkeys([text.upper(), text.lower(), text.title()]):
            if _matches(expected, form, id) and not _matches(actual, form, id):
                forms.setdefault(id, form)
        if _matches(actual, _BEFORE + text, id) and not _matches(expected, _BEFORE + text, id):
            inside[id] = _BEFORE + text
    if forms:
        yield _describe(forms, expected, "the reference also finds {} in {}, and llama.cpp does not")
    if inside:
        yield _describe(inside, expected, "the reference does not find {} in {}, and llama.cpp does")


def _describe(found: Mapping[int, str], expected: Tokenizer, example: str) -> TokenizerDifference:
    id, text = next(iter(found.items()))
    pieces = {each: expected.piece(each) for each in found}
    message = (
        f"{plural(len(found), 'token')} with normalized in the reference, which GGUF cannot express:"
        f" {list_tokens(found, pieces)}; {example.format(quote(pieces[id]), quote(text))}"
    )
    return make_difference(
        Aspect.TYPES, WARNING, message, list(found), facts="normalized", origin=Origin.RUNTIME, code=CODE
    )


def _matches(tokenizer: Tokenizer, text: str, id: int) -> bool:
    """Whether a tokenizer finds a token in a text of its own."""
    return id in answer_or([], tokenizer.encode, text, add_special=False, parse_special=True)
