"""Many texts are encoded in one call, to the same ids as one by one."""

import numpy as np
import pytest

from support.spec_maker import CONTROL, bpe_spec, spec_of, spm_spec
from tokverify.engine.encoder import Encoder
from tokverify.errors import EncodeError

SPM = spm_spec({"▁": -9, "a": -9, "b": -9, "▁a": -1, "<c>": 0}, {"<c>": CONTROL})
BPE = bpe_spec(["a b", "Ġ ab"], {"<c>": CONTROL})
TEXTS = ["ab ab<c>b", "", "ab " * 5000, "a"]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("parse_special", [False, True])
def test_a_batch_has_the_ids_of_each_text(threads, parse_special):
    encoder = Encoder(BPE)
    batch = encoder.encode_batch(TEXTS, parse_special=parse_special, threads=threads)
    expected = [encoder.encode(text, parse_special=parse_special) for text in TEXTS]
    assert list(batch) == expected
    assert [batch[index] for index in range(-4, 0)] == batch[:] == expected
    assert len(batch) == 4


@pytest.mark.parametrize("threads", [1, 2])
def test_a_batch_is_not_changed_by_later_ones_which_reuse_memory(threads):
    encoder = Encoder(BPE)
    batches = [encoder.encode_batch(texts, threads=threads) for texts in (TEXTS, TEXTS[::-1], ["b"], TEXTS * 20)]
    expected = [encoder.encode(text) for text in TEXTS]
    assert [list(batch) for batch in batches] == [expected, expected[::-1], [encoder.encode("b")], expected * 20]


def test_the_buffers_are_used_without_copying():
    batch = Encoder(BPE).encode_batch(["ab", "", "b a"])
    ids, offsets = np.asarray(batch.ids), np.asarray(batch.offsets)
    assert ids.dtype == np.uint32
    assert offsets.dtype == np.int64
    assert np.shares_memory(ids, np.asarray(batch.ids))
    assert offsets.tolist() == [0, 1, 1, len(ids)]


def test_texts_can_be_bytes():
    encoder = Encoder(BPE)
    assert list(encoder.encode_batch([b"ab", "ab"])) == [encoder.encode("ab")] * 2


def test_no_texts_are_an_empty_batch():
    batch = Encoder(BPE).encode_batch([])
    assert list(batch) == []
    assert batch.offsets.tolist() == [0]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["a", b"a\xff"], "text 1: the text is not UTF-8: it has the byte 0xFF at offset 1"),
        (["a", "b", "\udc80"], r"text 2: the text has a lone surrogate \(U\+DC80\) at character 0"),
    ],
)
def test_the_first_text_that_cannot_be_encoded_is_named(texts, message):
    with pytest.raises(EncodeError, match=message):
        Encoder(SPM).encode_batch(texts)


def test_llama_cpps_id_for_a_missing_unknown_token_is_kept_by_encode_alone():
    encoder = Encoder(spec_of("bert", ["[CLS]", "[SEP]", "▁a"]))
    assert encoder.encode("a ?") == [2, -1]
    assert encoder.encode_many(["a", "a ?"], add_special=False, parse_special=True) == [[2], [2, -1]]
    with pytest.raises(EncodeError, match=r"text 1: becomes the id -1, which a batch cannot hold; encode it alone"):
        encoder.encode_batch(["a", "a ?"])


def test_errors_are_returned_for_their_texts():
    encoder = Encoder(SPM)
    first, error, last = encoder.encode_many(["a", "\udc80", "b"], add_special=False, parse_special=True)
    assert [first, last] == [encoder.encode("a"), encoder.encode("b")]
    assert str(error).startswith("the text has a lone surrogate")
