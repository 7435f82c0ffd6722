"""Tokenizers small enough to work out by hand, as a GGUF file would declare them."""

from collections.abc import Mapping, Sequence

from tokverify.engine.byte_level import byte_alphabet
from tokverify.spec import TokenizerSpec, TokenType

CONTROL, USER_DEFINED, BYTE = (type.value for type in (TokenType.CONTROL, TokenType.USER_DEFINED, TokenType.BYTE))
BYTE_PIECES = tuple(f"<0x{byte:02X}>" for byte in range(0x100))
BYTE_ALPHABET = tuple(byte_alphabet()[byte] for byte in range(0x100))


def spm_spec(
    scores: Mapping[str, float], types: Mapping[str, int] | None = None, *, byte_pieces: bool = True, **fields: object
) -> TokenizerSpec:
    """Make a `llama` tokenizer: `<unk>`, `<s>`, `</s>`, the byte pieces from id 3 on, then the pieces given."""
    tokens = ["<unk>", "<s>", "</s>", *(BYTE_PIECES if byte_pieces else ()), *scores]
    known = {"<unk>": TokenType.UNKNOWN.value, "<s>": CONTROL, "</s>": CONTROL} | dict.fromkeys(BYTE_PIECES, BYTE)
    return spec_of(
        "llama", tokens, known | dict(types or {}), scores=[scores.get(token, 0.0) for token in tokens], **fields
    )


def unigram_spec(
    scores: Mapping[str, float], types: Mapping[str, int] | None = None, **fields: object
) -> TokenizerSpec:
    """Make a `t5` tokenizer: `<pad>`, `</s>` and `<unk>`, then the pieces given."""
    tokens = ["<pad>", "</s>", "<unk>", *scores]
    known = {"<pad>": CONTROL, "</s>": CONTROL, "<unk>": TokenType.UNKNOWN.value} | dict(types or {})
    return spec_of("t5", tokens, known, scores=[scores.get(token, 0.0) for token in tokens], **fields)


def bpe_spec(
    merges: Sequence[str], added: Mapping[str, int] | None = None, *, tokens: Sequence[str] = (), **fields: object
) -> TokenizerSpec:
    """Make a `gpt2` tokenizer: the byte alphabet by byte, then the results of the merges, `tokens`, added tokens."""
    made = [merge.replace(" ", "") for merge in merges]
    all_tokens = list(dict.fromkeys([*BYTE_ALPHABET, *made, *tokens, *(added or ())]))
    return spec_of("gpt2", all_tokens, added or {}, merges=merges, **{"pre": "gpt-2"} | fields)


def spec_of(
    model: str, tokens: Sequence[str], types: Mapping[str, int] | None = None, **fields: object
) -> TokenizerSpec:
    """Make a tokenizer of any model; tokens are NORMAL unless `types` says otherwise."""
    all_types = [(types or {}).get(token, TokenType.NORMAL.value) for token in tokens]
    return TokenizerSpec(model=model, tokens=tokens, types=all_types, **fields)
