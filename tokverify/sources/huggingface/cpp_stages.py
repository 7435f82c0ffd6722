"""Build and recognize the C++ hybrid tokenizer in HuggingFace's `tokenizers`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tokverify.engine.models.cpp import pattern as cpp_pattern
from tokverify.engine.models.cpp.spacing import library_rules
from tokverify.engine.models.cpp.vocabulary import CONTINUATION, NEWLINES, SPECIAL, UNKNOWN

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from tokenizers.decoders import Decoder
    from tokenizers.normalizers import Normalizer
    from tokenizers.pre_tokenizers import PreTokenizer


def build(ids: Mapping[str, int], merges: Sequence[tuple[str, str]]) -> Tokenizer:
    """Build a tokenizer without its added tokens."""
    from tokenizers import Tokenizer, models

    model = models.BPE(
        dict(ids), list(merges), unk_token=UNKNOWN, continuing_subword_prefix=CONTINUATION, ignore_merges=True
    )
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = _normalizer()
    tokenizer.pre_tokenizer = _pre_tokenizer()
    tokenizer.decoder = _decoder()
    return tokenizer


def add_fixed_tokens(tokenizer: Tokenizer) -> None:
    """Add the special tokens and the newlines, at which a text is split first."""
    from tokenizers import AddedToken

    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in SPECIAL])
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in NEWLINES])


def is_cpp_hybrid(tokenizer: Tokenizer) -> bool:
    """Check whether texts are rewritten and split exactly as here; the model can still differ."""
    return (
        tokenizer.normalizer is not None
        and tokenizer.pre_tokenizer is not None
        and tokenizer.normalizer.__getstate__() == _normalizer().__getstate__()
        and tokenizer.pre_tokenizer.__getstate__() == _pre_tokenizer().__getstate__()
    )


def _normalizer() -> Normalizer:
    from tokenizers import Regex
    from tokenizers.normalizers import Replace, Sequence

    return Sequence([Replace(Regex(pattern), content) for pattern, content in cpp_pattern.REWRITES])


def _pre_tokenizer() -> PreTokenizer:
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import ByteLevel, Sequence, Split, WhitespaceSplit

    split = Split(Regex(cpp_pattern.PATTERN), "isolated")
    return Sequence([split, WhitespaceSplit(), ByteLevel(add_prefix_space=False, use_regex=False)])


def _decoder() -> Decoder:
    from tokenizers import Regex
    from tokenizers.decoders import ByteLevel, Fuse, Replace, Sequence

    piece_rules, (superfluous_space, nothing) = library_rules()
    pieces = [Replace(Regex(pattern), content) for pattern, content in piece_rules]
    return Sequence([*pieces, Fuse(), Replace(Regex(superfluous_space), nothing), ByteLevel()])
