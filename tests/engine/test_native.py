"""The native engine supports everything that the Python engine's tables name, and shares tables between encoders."""

import subprocess
import sys
from array import array
from dataclasses import replace

import pytest

from support.selection import thinned
from support.spec_maker import BYTE, BYTE_ALPHABET, BYTE_PIECES, CONTROL, USER_DEFINED, bpe_spec
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import NATIVE
from tokverify.engine.pre_search import PROBES
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.errors import BrokenFileError
from tokverify.spec import TokenizerSpec, TokenType

NORMAL, UNUSED = TokenType.NORMAL.value, TokenType.UNUSED.value
ENDS = [start + end for start in ("", "a", "é", "日", "1", " ", "a ") for end in ("é", "։", "日", "🦙", "\u0301")]
"""Texts that end with each size of character."""
MERGES = ["h e", "l l", "he ll", "hell o", "Ġ w", "o r", "1 2", "12 3", "Ċ Ċ", "Ġ Ġ"]


def results(encoder: Encoder) -> list[str]:
    """Return the ids of each probe, or the error."""
    return list(map(str, encoder.encode_many([*PROBES, *ENDS], add_special=False, parse_special=True)))


@pytest.mark.parametrize("pre", thinned(3, PRE_TOKENIZERS))
def test_every_pre_tokenizer_is_native_and_gives_the_same_ids(engine, pre):
    encoder = Encoder(replace(bpe_spec(MERGES), pre=pre))
    assert encoder.engine.name == engine
    python = Encoder(encoder.spec, model=encoder.model)
    assert results(encoder) == results(python)


@pytest.mark.parametrize(
    "change",
    [
        {"pre": "llama-bpe"},
        {"merges": ["h e", "e l"]},
        {"types": [CONTROL] * 3 + [1] * 400},
        {"pre": "gemma4"},
        {"tokens": [f"<{number}>" for number in range(403)]},
    ],
)
def test_an_encoder_based_on_another_one_equals_one_built_alone(change):
    spec = bpe_spec(MERGES)
    base = Encoder(spec)
    size = len(spec.tokens)
    change = {name: value[:size] if name in {"types", "tokens"} else value for name, value in change.items()}
    changed = replace(spec, **change)
    shared, alone = Encoder(changed, base=base), Encoder(changed)
    assert results(shared) == results(alone)
    assert results(base) == results(Encoder(spec))


FAMILIES = ("llama", "t5", "bert", "rwkv", "plamo2", "plamo3", "hybriddna", "whitespace")
PIECES = ["<unk>", "<s>", "</s>", "\n", "ab", "▁a", "a\\n", "▁", *BYTE_ALPHABET[32:127], *BYTE_PIECES]
TYPES = [BYTE if piece in BYTE_PIECES else NORMAL for piece in PIECES]


@pytest.mark.parametrize("model", FAMILIES)
@pytest.mark.parametrize(
    "change",
    [
        {"types": [CONTROL, CONTROL, CONTROL, NORMAL, USER_DEFINED, *TYPES[5:]]},
        {"types": [*TYPES[:5], UNUSED, *TYPES[6:]]},
        {"types": [*TYPES[:5], BYTE, *TYPES[6:]]},
        {"scores": [float(-id % 7) for id in range(len(PIECES))]},
        {"tokens": [*PIECES[:5], "▁b", *PIECES[6:]]},
        {"merges": ["a b"]},
        {"special_ids": {"unk": 4}},
        {"add_space_prefix": True, "remove_extra_whitespaces": True},
        {"nfc": True},
    ],
)
def test_every_family_shares_only_what_a_change_leaves_alone(engine, model, change):
    pre = "gpt-2" if model in {"hybriddna", "whitespace"} else None
    types = TYPES if model != "bert" else [NORMAL] * len(PIECES)  # llama.cpp refuses byte tokens in that family
    fields = {"scores": [-1.0] * len(PIECES), "types": types, "merges": [], "special_ids": {"unk": 0}}
    spec = TokenizerSpec(model=model, tokens=PIECES, pre=pre, **fields)
    base, changed = Encoder(spec), replace(spec, **change)
    before = results(base)
    try:
        alone = Encoder(changed)
    except BrokenFileError:  # llama.cpp refuses a piece of this type
        return
    shared = Encoder(changed, base=base)
    assert base.engine.name == alone.engine.name == shared.engine.name == engine
    assert results(shared) == results(alone)
    assert results(base) == before


@pytest.mark.parametrize("sequence", [list, tuple, bytes, bytearray, lambda types: array("q", types)])
def test_types_may_be_any_sequence_of_numbers(engine, sequence):
    tokens = ["<unk>", *BYTE_PIECES, "a", "b", "ab"]
    types = [BYTE if token in BYTE_PIECES else NORMAL for token in tokens]
    usual = Encoder(TokenizerSpec(model="plamo2", tokens=tokens, types=types, scores=[-1.0] * len(tokens)))
    other = Encoder(replace(usual.spec, types=sequence(types)))
    assert other.engine.name == engine
    assert results(other) == results(usual)


def test_a_tokenizer_that_is_not_native_says_why(engine):
    spec = replace(bpe_spec(MERGES), model="cpp-hybrid", pre=None)
    encoder = Encoder(spec)
    if engine == NATIVE:
        assert encoder.engine.reason == "the native engine does not support this tokenizer family"
    assert encoder.engine.name != NATIVE


FORK = """
import os, signal
from tokverify.engine.encoder import Encoder
from tokverify.spec import TokenizerSpec

pieces = ["<unk>", "▁", *(f"{left}{right}" for left in "abcdefgh" for right in range(40_000))]
spec = TokenizerSpec(model="llama", tokens=pieces, scores=[-float(at) for at in range(len(pieces))])
statuses = []
for _ in range(3):
    encoder = Encoder(spec, in_background=True)
    child = os.fork()
    if not child:
        signal.alarm(20)
        os._exit(encoder.encode("a1") != Encoder(spec).encode("a1"))
    statuses.append(os.waitpid(child, 0)[1])
print(statuses)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_a_child_process_can_use_an_encoder_whose_tables_its_parent_was_building():
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=100, check=True)
    assert done.stdout == "[0, 0, 0]\n"
