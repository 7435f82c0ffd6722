"""The unigram model done literally: byte by byte, over the whole text, with nothing remembered."""

from collections.abc import Callable

from tokverify.spec import TokenizerSpec

LEAD_SIZES = (1,) * 12 + (2, 2, 3, 4)


def unigram_twin(spec: TokenizerSpec) -> Callable[[str], list[int]]:
    """Return the function that encodes a text as `llm_tokenizer_ugm_session::tokenize` does."""
