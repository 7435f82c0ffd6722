"""Build, recognize and convert the C++ hybrid tokenizer in HuggingFace's `tokenizers`, as tokverify itself trains it.

llama.cpp has no such model. It is recognized by its normalizer and pre-tokenizer, which no other tokenizer has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tokverify.engine.models.cpp import pattern as cpp_pattern
from tokverify.engine.models.cpp.spacing import library_rules
from tokverify.engine.models.cpp.vocabulary import CONTINUATION, NEWLINES, ROLES, SPECIAL, UNKNOWN, reserved_piece
from tokverify.sources.huggingface.bpe import join_merges
from tokverify.sources.huggingface.vocabulary import ids_around, special_ids, vocabulary
from tokverify.spec import TokenizerSpec, TokenType

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from tokenizers.decoders import Decoder
    from tokenizers.normalizers import Normalizer
    from tokenizers.pre_tokenizers import PreTokenizer

    from tokverify.sources.huggingface.document import Document

MODEL = "cpp-hybrid"
"""The `tokenizer.ggml.model` of the family."""

_OPTIONS = {"ignore_merges": True, "continuing_subword_prefix": CONTINUATION, "unk_token": UNKNOWN}
_OFF = ("dropout", "end_of_word_suffix", "fuse_unk", "byte_fallback")


def convert_cpp_hybrid(document: Document) -> TokenizerSpec:
    """Convert a tokenizer.json with the pipeline of this family."""
    for option, value in {**_OPTIONS, **dict.fromkeys(_OFF)}.items():
        if (document.model.get(option) or None) != value:
            raise document.unsupported(f"model.{option}", f"must be {value or 'off'} for {MODEL}")
    around = ids_around(document)
    words = vocabulary(document, document.tables.vocab, unknown=UNKNOWN)
    roles = {role: words.ids[text] for role, text in ROLES.items() if text in words.ids}
    placeholders = {id for id, token in enumerate(words.tokens) if token == reserved_piece(id) and token not in SPECIAL}
    return TokenizerSpec(
        model=MODEL,
        tokens=words.tokens,
        types=[TokenType.UNUSED.value if id in placeholders else type for id, type in enumerate(words.types)],
        merges=join_merges(document),
        special_ids=roles | special_ids(document, words.ids, around, document.unknown),
        add_bos=bool(around[0]),
        add_eos=bool(around[1]),
    )


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
