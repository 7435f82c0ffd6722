"""Both engines decode alike: all families, any pieces, one list of ids at a time, in batches and in streams."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.spec_maker import BYTE_ALPHABET, BYTE_PIECES, bpe_spec, spec_of
from tokverify.engine.batch import EncodedBatch
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import PYTHON
from tokverify.errors import EncodeError, TokverifyError
from tokverify.spec import TokenizerSpec, TokenType

FAMILIES = ("llama", "gpt2", "gemma4", "t5", "bert", "rwkv", "plamo2", "plamo3", "hybriddna", "whitespace")
MARKS = st.sampled_from([*" ▁Ġé'.,?!sx\\<0>-\t你\ue000\udcc3\udca9", "\\x", "<0x0A>", "'re", " ' ", "<oov>"])
PIECES = st.lists(st.lists(MARKS, min_size=1, max_size=5).map("".join), max_size=12)
TYPES = st.lists(st.sampled_from([type.value for type in TokenType]), min_size=12, max_size=12)


def make_spec(model: str, pieces: list[str], types: list[int], *, add_space_prefix: bool) -> TokenizerSpec:
    """Make a tokenizer with any pieces, besides those that the family requires."""
    has_byte_alphabet = model in {"gpt2", "hybriddna", "whitespace"}
    required = ["<unk>", "\n", *BYTE_ALPHABET, *(() if has_byte_alphabet else BYTE_PIECES)]
    tokens = list(dict.fromkeys([*required, *pieces]))
    typed = dict.fromkeys(BYTE_PIECES, TokenType.BYTE.value) | dict(zip(pieces, types, strict=False))
    return spec_of(
        model,
        tokens,
        typed,
        scores=[0.0] * len(tokens),
        special_ids={"unk": 0},
        merges=[],
        pre="gpt-2" if has_byte_alphabet else None,
        add_space_prefix=add_space_prefix,
    )


SPECS = st.builds(make_spec, st.sampled_from(FAMILIES), PIECES, TYPES, add_space_prefix=st.booleans())


@settings(max_examples=60)
@given(SPECS, st.data())
def test_any_pieces_are_decoded_alike(engine, spec, data):
    if engine == PYTHON:
        pytest.skip("compares with the Python engine")
    try:
        encoder = Encoder(spec)
    except TokverifyError:  # llama.cpp refuses some types and pieces
        return
    assert encoder.engine.name == engine
    python = Encoder(spec, model=encoder.model)
    last = encoder.vocab_size - 1
    own = st.integers(last - 12, last)
    ids = data.draw(st.lists(own | st.integers(0, last), max_size=8))
    for clean_up in (False, True):
        assert encoder.decode(ids, clean_up=clean_up) == python.decode(ids, clean_up=clean_up)
    assert stream(encoder, ids) == stream(python, ids)


def stream(encoder: Encoder, ids: list[int]) -> list[str]:
    """Return the texts of a stream, of the last id twice."""
    decoder = encoder.decoder()
    return [*map(decoder.push, ids), decoder.finish(), decoder.finish()]


@pytest.mark.parametrize("name", ["llama-spm", "gpt-2"])
def test_every_token_of_a_real_vocabulary_is_decoded(encoder_of, name):
    encoder = encoder_of(name)
    ids = range(encoder.vocab_size)
    prefix = len(encoder.decode([0]))
    decoded = encoder.decode_batch([[0, id] for id in ids])
    assert [both[prefix:] for both in decoded] == list(map(encoder.token_bytes, ids))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("clean_up", [False, True])
def test_a_batch_has_the_bytes_of_each_list(threads, clean_up):
    encoder = Encoder(bpe_spec(["Ġ ."], tokens=["Ġ's"]))
    lists = [[0, 1, 256], [], [257] * 70_000, [46, 256]]
    batch = encoder.decode_batch(lists, clean_up=clean_up, threads=threads)
    expected = [encoder.decode(ids, clean_up=clean_up) for ids in lists]
    assert list(batch) == batch[:] == expected
    assert bytes(batch.data) == b"".join(expected)
    assert np.asarray(batch.offsets).dtype == np.int64
    assert list(encoder.decode_batch([])) == []


def test_the_result_of_a_batch_is_decoded_again():
    encoder = Encoder(bpe_spec(["a b"]))
    texts = ["ab ab", "", "é\n"]
    assert list(encoder.decode_batch(encoder.encode_batch(texts))) == [text.encode() for text in texts]


def test_ids_can_be_numpy_arrays():
    encoder = Encoder(bpe_spec(["a b"]))
    ids = np.array(encoder.encode("xxab a"), np.uint32)
    batch = EncodedBatch.from_buffers(ids, np.array([2, 3, 3, 5]))
    assert np.shares_memory(ids, np.asarray(batch.ids))
    assert list(encoder.decode_batch(batch)) == [b"ab", b"", b" a"]


@pytest.mark.parametrize("id", [-1, 256, 2**31, 2**32, 2**70])
def test_the_first_list_with_an_unknown_id_is_named(id):
    encoder = Encoder(bpe_spec([]))
    problem = f"id {id} is outside the vocabulary of 256 tokens"
    with pytest.raises(EncodeError, match=f"list 1: {problem}"):
        encoder.decode_batch([[0], [1, id], [id]])
    with pytest.raises(EncodeError, match=problem):
        encoder.decode([0, id])
    decoder = encoder.decoder()
    with pytest.raises(EncodeError, match=problem):
        decoder.push(id)
    assert decoder.push(encoder.settings.ids["a"]) == "a"


@pytest.mark.parametrize("offsets", [[], [1, 0], [0, 4], [-1, 0]])
def test_offsets_must_ascend_within_the_ids(offsets):
    with pytest.raises(TokverifyError, match="offsets must ascend from 0 or more to at most the number of ids"):
        EncodedBatch.from_buffers(np.zeros(3, np.uint32), np.array(offsets, np.int64))


@pytest.mark.parametrize(
    "ids", [np.zeros(3), np.zeros(3, np.int32), np.zeros((3, 3), np.uint32), np.zeros(6, np.uint32)[::2]]
)
def test_ids_must_be_one_array_of_the_right_type(ids):
    with pytest.raises(TokverifyError, match="ids must be one contiguous array of unsigned integers of 32 bits"):
        EncodedBatch.from_buffers(ids, np.zeros(1, np.int64))
    with pytest.raises(TokverifyError, match="offsets must be one contiguous array of signed integers of 64 bits"):
        EncodedBatch.from_buffers(np.zeros(1, np.uint32), np.zeros(1, np.uint64))
