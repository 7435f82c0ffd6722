"""Small tokenizers of the library, and how their tokenizer.json is read."""

import random
from collections.abc import Callable

import pytest
from tokenizers import AddedToken, Tokenizer

from support.sentencepiece_maker import WORDS
from tokverify.engine.encoder import Encoder
from tokverify.sources.config import special_texts
from tokverify.sources.huggingface.conversion import convert_document
from tokverify.sources.huggingface.document import parse
from tokverify.spec import TokenizerSpec


@pytest.fixture
def make() -> Callable[..., Tokenizer]:
    """Build a tokenizer; `added` are (text, special) or tokens of the library."""

    def make_tokenizer(model, added=(), **stages) -> Tokenizer:
        tokenizer = Tokenizer(model)
        for name, stage in stages.items():
            setattr(tokenizer, name, stage)
        tokenizer.add_tokens(
            [
                token if isinstance(token, AddedToken) else AddedToken(token[0], special=token[1], normalized=False)
                for token in added
            ]
        )
        return tokenizer

    return make_tokenizer


@pytest.fixture
def read(tmp_path) -> Callable[[Tokenizer | str], TokenizerSpec]:
    def read_tokenizer(tokenizer):
        path = tmp_path / "tokenizer.json"
        path.write_text(tokenizer if isinstance(tokenizer, str) else tokenizer.to_str())
        return convert_document(parse(path.read_bytes(), str(path), special_texts(path)))

    return read_tokenizer


@pytest.fixture
def convert(make, read) -> Callable[..., TokenizerSpec]:
    return lambda model, added=(), **stages: read(make(model, added, **stages))


@pytest.fixture
def require_equal(read) -> Callable[..., TokenizerSpec]:
    """Require that our encoder gives the library's ids, for a few hundred texts in all four modes."""

    def require(tokenizer, *, but=()) -> TokenizerSpec:
        spec = read(tokenizer)
        encoder = Encoder(spec)
        texts = [text for text in _texts(tokenizer) if not any(part in text for part in but)]
        for add_special, parse_special in ((False, True), (False, False), (True, True), (True, False)):
            tokenizer.encode_special_tokens = not parse_special
            for text in texts:
                actual = encoder.encode(text, add_special=add_special, parse_special=parse_special)
                assert actual == tokenizer.encode(text, add_special_tokens=add_special).ids, text
        return spec

    return require


def _texts(tokenizer: Tokenizer) -> list[str]:
    rng = random.Random(0)  # noqa: S311 - no secret
    added = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
    marks = [" ", " ", "  ", "   ", "\n", "\n\n", "\t", "'s", "…", "🫩", "日本", "0", "12", "345", ".", ","]
    parts = [*WORDS, *"aebzéÉ", *marks, *added]
    return ["".join(rng.choices(parts, k=rng.randint(0, 12))) for _ in range(150)]
