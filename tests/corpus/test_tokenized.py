from array import array
from dataclasses import replace

import pytest

from support import made_vocabulary
from tokverify.corpus.cause import Classifier
from tokverify.corpus.check import TokenizedChecker
from tokverify.corpus.document import Document
from tokverify.engine.encoder import Encoder
from tokverify.report.corpus import CorpusCause
from tokverify.texts.mode import Mode

MODE = Mode(add_special=True, parse_special=True)
TEXT = "The weather in Zürich was fine, with 12345 people outside."


@pytest.fixture(scope="module", params=["bpe", "spm"])
def encoder(request: pytest.FixtureRequest) -> Encoder:
    return Encoder(replace(getattr(made_vocabulary, request.param)(), add_bos=True, add_eos=True))


def check(encoder: Encoder, ids: list[int], text: str | None, mode: Mode = MODE):
    checker = TokenizedChecker(encoder, mode, Classifier(encoder, encoder))
    return checker.check([Document(0, text, array("I", ids))])


def causes(encoder: Encoder, ids: list[int], text: str | None = TEXT) -> tuple[str, ...]:
    different = check(encoder, ids, text).different
    return different[0].causes if different else ()


@pytest.fixture
def ids(encoder: Encoder) -> list[int]:
    return encoder.encode(TEXT, add_special=True)


@pytest.mark.parametrize("text", [TEXT, None])
def test_right_ids_agree(encoder: Encoder, ids: list[int], text: str | None):
    checked = check(encoder, ids, text)
    assert (checked.different, checked.failed) == ([], [])
    assert list(checked.actual) == [ids]
    assert checked.expected_tokens == len(ids)


@pytest.mark.parametrize("text", [TEXT, None])
def test_tokens_around_a_document(encoder: Encoder, ids: list[int], text: str | None):
    bos, eos = ids[0], ids[-1]
    assert causes(encoder, ids[1:], text) == (CorpusCause.BOS_MISSING,)
    assert causes(encoder, [bos, *ids], text) == (CorpusCause.BOS_DOUBLED,)
    assert causes(encoder, ids[:-1], text) == (CorpusCause.EOS_MISSING,)
    assert causes(encoder, [*ids[1:], eos], text) == (CorpusCause.BOS_MISSING, CorpusCause.EOS_DOUBLED)


@pytest.mark.parametrize("text", [TEXT, None])
def test_padding_and_ids_outside_the_vocabulary(encoder: Encoder, ids: list[int], text: str | None):
    pad, outside = encoder.special_ids["pad"], encoder.vocab_size + 7
    assert causes(encoder, [*ids, pad, pad], text) == (CorpusCause.PADDING,)
    assert causes(encoder, [pad, *ids[1:]], text) == (CorpusCause.BOS_MISSING, CorpusCause.PADDING)
    assert causes(encoder, [*ids[:3], outside, *ids[3:]], text) == (CorpusCause.OUTSIDE_VOCABULARY,)
    assert outside not in next(iter(check(encoder, [*ids, outside], text).actual))


def test_truncation_is_only_visible_with_a_text(encoder: Encoder, ids: list[int]):
    assert causes(encoder, ids[:6]) == (CorpusCause.TRUNCATED,)
    assert causes(encoder, [*ids[:6], ids[-1]]) == (CorpusCause.TRUNCATED,)
    assert causes(encoder, [*ids[:6], ids[-1]], None) == ()


def test_ids_that_the_tokenizer_would_not_return_for_their_text(encoder: Encoder):
    whole = encoder.encode("hello", add_special=True)
    known = encoder.settings.ids
    letters = [known[piece] for piece in ("▁hello" if "▁" in known else "hello")]
    ids = [whole[0], *letters, whole[-1]]
    assert encoder.decode(letters) == b"hello"
    assert ids != whole
    assert causes(encoder, ids, None) == (CorpusCause.NOT_CANONICAL,)
    assert CorpusCause.NOT_CANONICAL not in causes(encoder, ids, "hello")


def test_another_text_is_a_difference(encoder: Encoder, ids: list[int]):
    assert causes(encoder, ids, f"{TEXT} And more?") == (CorpusCause.TRUNCATED,)
    assert causes(encoder, ids, TEXT.replace("fine", "grim")) == (CorpusCause.OTHER,)


def test_without_special_tokens(encoder: Encoder, ids: list[int]):
    plain = Mode(add_special=False, parse_special=True)
    assert check(encoder, ids[1:-1], TEXT, plain).different == []
    (found,) = check(encoder, ids, TEXT, plain).different
    assert found.causes == (CorpusCause.BOS_EXTRA, CorpusCause.EOS_EXTRA)


def test_a_text_that_cannot_be_encoded_is_not_compared(encoder: Encoder):
    checked = check(encoder, [1, 2], "\udc80")
    assert checked.different == []
    assert checked.failed == [(0, "the tokenizer cannot encode the text")]
