"""Sequences of ids that are, or are not, the encoding of their own text."""

import pytest

from support.fake_tokenizer import FakeTokenizer
from support.paths import SAMPLE
from support.spec_maker import CONTROL, bpe_spec, spm_spec, unigram_spec
from tokverify.compare.canonical import CanonicalCheck
from tokverify.engine.encoder import Encoder
from tokverify.report.canonical import Deviation
from tokverify.sources.load import load_gguf


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    """Bytes as ids, "ab" as 256, "abc" as 257, and `<s>` as 258."""
    return Encoder(bpe_spec(["a b", "ab c"], {"<s>": CONTROL}))


def letters(text: str) -> list[int]:
    return list(text.encode())


@pytest.mark.parametrize("ids", [[], [258], [257], [258, 256, 32, 258, 257, 258], [256, ord("d")]])
def test_an_encoding_is_canonical(encoder, ids):
    assert CanonicalCheck(encoder).find(ids) is None


@pytest.mark.parametrize(
    ("ids", "boundaries", "expected"),
    [
        (letters("ab"), (), (Deviation.SEGMENTATION, 0, 2)),
        ([258, 257, 32, 256, ord("c"), 32, 257], (), (Deviation.SEGMENTATION, 3, 2)),
        ([256, ord("c")], (1,), (Deviation.BOUNDARY, 0, 2)),
        ([257, 256, ord("c")], (1,), (Deviation.SEGMENTATION, 1, 2)),
        (letters("x<s>"), (), (Deviation.SPECIAL_TEXT, 1, 3)),
        ([257, 0xC3], (), (Deviation.NOT_UTF8, 1, 1)),
        ([257, 999, 257], (), (Deviation.UNKNOWN_ID, 1, 1)),
        ([-1], (), (Deviation.UNKNOWN_ID, 0, 1)),
        ([258, *letters("ab"), 258, *letters("abc")], (), (Deviation.SEGMENTATION, 1, 5)),
    ],
)
def test_the_first_deviation_has_a_cause_and_a_place(encoder, ids, boundaries, expected):
    found = CanonicalCheck(encoder).find(ids, boundaries)
    assert (found.cause, found.index, found.tokens) == expected


def test_an_excerpt_ends_where_both_agree_again(encoder):
    ids = [*[257] * 20, 256, ord("c"), *[257] * 20]
    found = CanonicalCheck(encoder).find(ids)
    assert [token.id for token in found.logged] == [*[257] * 8, 256, ord("c"), *[257] * 8]
    assert [token.id for token in found.canonical] == [257] * 17


def test_a_space_prefix_that_the_log_lacks_is_named():
    encoder = Encoder(spm_spec({"▁": -5.0, "a": -4.0, "▁a": -1.0}, add_space_prefix=True))
    with_prefix, without = (encoder.spec.tokens.index(piece) for piece in ("▁a", "a"))
    check = CanonicalCheck(encoder)
    assert check.find([1, with_prefix]) is None
    assert check.find([1, without]).cause is Deviation.SPACE_PREFIX


def test_a_normalizer_that_changes_the_text_is_named():
    unigram = Encoder(unigram_spec({"▁": -1.0, "a": -1.0, "▁▁": -1.0}, remove_extra_whitespaces=True))
    ids = [unigram.spec.tokens.index(piece) for piece in ("▁", "a", "▁▁", "a")]
    assert CanonicalCheck(unigram).find(ids).cause is Deviation.NORMALIZED


def test_another_tokenizer_can_encode_the_texts(encoder):
    """The reference has no token for "abc"."""
    reference = Encoder(bpe_spec(["a b"], {"<s>": CONTROL}))
    ids = [ord("x"), *reference.encode("ab")]
    assert CanonicalCheck(encoder, reference).find(ids) is None
    found = CanonicalCheck(encoder, reference).find([257])
    assert (found.cause, [token.id for token in found.canonical]) == (Deviation.SEGMENTATION, [256, ord("c")])


def test_a_reference_that_cannot_encode_a_text_is_a_deviation(encoder):
    reference = FakeTokenizer("a")
    found = CanonicalCheck(encoder, reference).find([ord("b")])
    assert (found.cause, found.message) == (Deviation.NOT_ENCODED, "no piece for 'b'")


@pytest.mark.parametrize("text", ["Hello  world", "a\n\n b", "\N{LLAMA} x", "1234 <turn> x", ""])
def test_what_the_sample_encodes_is_canonical(text):
    sample = load_gguf(SAMPLE / "sample.gguf")
    ids = sample.encode(text, add_special=True, parse_special=True)
    assert CanonicalCheck(sample).find([*ids, 1]) is None
