"""SheepOp's tokenizer, against the examples of its description by section."""

import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokverify.engine.encoder import Encoder
from tokverify.errors import EncodeError, TokverifyError, UnsupportedError
from tokverify.train.presets.sheepop import SheepopTokenizer, TrailingSpaceWarning

HELLO = [(72, 101), (256, 108), (257, 108), (258, 111)]
WORLD = [(32, 119), (260, 111), (261, 114), (262, 108), (263, 100)]


@pytest.fixture(scope="module")
def tokenizer() -> SheepopTokenizer:
    return SheepopTokenizer.from_merges(HELLO + WORLD)


def test_ids_are_bytes_merges_and_special_tokens(tokenizer):
    assert tokenizer.vocab_size == 256 + 9 + 4
    assert (tokenizer.pad_id, tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id) == (265, 266, 267, 268)


def test_section_2_bytes_are_their_own_ids():
    tokenizer = SheepopTokenizer.from_merges([(0, 0)])
    assert tokenizer.encode("Hi") == [72, 105]
    assert tokenizer.encode("Hello 世界") == [72, 101, 108, 108, 111, 32, 228, 184, 150, 231, 149, 140]


def test_section_3_4_merges_apply_from_left_to_right():
    tokenizer = SheepopTokenizer.from_merges([(97, 97), (256, 97)])
    assert tokenizer.encode("aaab") == [257, 98]
    assert tokenizer.encode("aaaab") == [256, 256, 98]


def test_section_5_4_encoding_and_6_4_decoding(tokenizer):
    assert tokenizer.encode("Hello world") == [259, 264]
    assert tokenizer.decode([259, 264]) == "Hello world"
    assert SheepopTokenizer.from_merges(HELLO).encode("Hello world") == [259, *b" world"]


def test_section_5_1_the_earliest_merge_goes_first():
    tokenizer = SheepopTokenizer.from_merges([(98, 99), (97, 98)])
    assert tokenizer.encode("abc") == [97, 256]


def test_section_6_1_decoding_stops_at_eos_and_drops_special_tokens(tokenizer):
    ids = [tokenizer.bos_id, 259, tokenizer.pad_id, tokenizer.unk_id, 264, tokenizer.eos_id, 259]
    assert tokenizer.decode(ids) == "Hello world"
    assert tokenizer.decode([tokenizer.eos_id, 259]) == ""
    assert tokenizer.decode([]) == ""


def test_section_8_2_padding(tokenizer):
    pad = tokenizer.pad_id
    assert tokenizer.encode_batch(["abc", "a"]) == [[97, 98, 99], [97, pad, pad]]
    assert tokenizer.encode_batch(["abc", "a"], 4) == [[97, 98, 99, pad], [97, pad, pad, pad]]
    assert tokenizer.encode_batch(["abc", "a"], 2) == [[97, 98, 99], [97, pad]]
    assert tokenizer.encode_batch(["abc", "a"], padding=False) == [[97, 98, 99], [97]]


def test_truncation(tokenizer):
    assert tokenizer.encode_batch(["abc", "a"], 2, truncation=True) == [[97, 98], [97, tokenizer.pad_id]]
    assert tokenizer.encode_batch(["abc", "a"], 2, truncation=True, padding=False) == [[97, 98], [97]]
    assert tokenizer.encode_batch(["abc"], 0, truncation=True) == [[]]
    assert tokenizer.encode_batch([]) == []


def test_invalid_batch_options_are_refused(tokenizer):
    with pytest.raises(ValueError, match="truncation needs a max_length"):
        tokenizer.encode_batch(["a"], truncation=True)
    with pytest.raises(ValueError, match="max_length is -1; it must be at least 0"):
        tokenizer.encode_batch(["a"], -1)


def test_bos_and_eos_are_added_on_request(tokenizer):
    assert tokenizer.encode("a", add_bos=True, add_eos=True) == [tokenizer.bos_id, 97, tokenizer.eos_id]


def test_special_tokens_inside_a_text_are_text(tokenizer):
    assert tokenizer.encode("<eos>") == list(b"<eos>")
    assert tokenizer.decode(tokenizer.encode("<eos>")) == "<eos>"


@pytest.mark.parametrize("text", ["a ", " ", "a\n "])
def test_section_10_4_a_trailing_space_warns(tokenizer, text: str):
    with pytest.warns(TrailingSpaceWarning, match="ends in a space") as caught:
        ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert caught[0].filename == __file__
    with pytest.warns(TrailingSpaceWarning):
        tokenizer.encode_batch([text])


@pytest.mark.parametrize("text", ["", "a", " a", "a\n", "a\t", "a\u00a0"])
def test_section_10_4_nothing_else_warns(tokenizer, text: str):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tokenizer.encode(text)


@pytest.mark.parametrize("id", [269, 1_000_000, -1])
def test_section_10_6_an_id_outside_the_vocabulary(tokenizer, id: int):
    assert tokenizer.decode([259, id, 97]) == "Hello<unk>a"


def test_section_10_6_bytes_that_are_not_utf8(tokenizer):
    assert tokenizer.decode([228, 184, 97]) == "\ufffda"
    assert tokenizer.decode([228, 184, 150]) == "世"


def test_a_lone_surrogate_is_refused(tokenizer):
    with pytest.raises(EncodeError, match="lone surrogate"):
        tokenizer.encode("a\ud800")


@given(st.text())
def test_every_text_survives_a_round_trip(text: str):
    tokenizer = SheepopTokenizer.from_merges(HELLO + WORLD)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrailingSpaceWarning)
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_a_trained_directory_is_loaded(tmp_path: Path):
    from tokverify.commands.tasks.train import train_tokenizer

    corpus = tmp_path / "corpus.txt"
    corpus.write_text("Hello Hello Hello world world 1234 1234")
    train_tokenizer("bpe", [corpus], tmp_path / "out", vocab_size=300, preset="sheepop")
    tokenizer = SheepopTokenizer.load(tmp_path / "out")
    text = "Hello world 1234 <eos>"
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert SheepopTokenizer.load(tmp_path / "out" / "tokenizer.gguf").encode(text) == tokenizer.encode(text)


def test_a_directory_without_a_tokenizer_is_refused(tmp_path: Path):
    with pytest.raises(TokverifyError, match=r"tokenizer\.gguf"):
        SheepopTokenizer.load(tmp_path)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"pre": "gpt-2"}, "the pre-tokenizer is gpt-2, not dbrx"),
        ({"tokens": "swapped"}, "the tokens 0 to 255 are not the bytes by value"),
        ({"tokens": "renamed"}, "the last tokens are not <pad>, <unk>, <bos>, <eos>"),
    ],
)
def test_another_layout_is_refused(tokenizer, change, complaint: str):
    from dataclasses import replace

    spec = tokenizer._encoder.spec
    tokens = list(spec.tokens)
    if change.get("tokens") == "swapped":
        tokens[0], tokens[1] = tokens[1], tokens[0]
    elif change.get("tokens") == "renamed":
        tokens[-1] = "</s>"
    with pytest.raises(UnsupportedError, match=f"not a SheepOp tokenizer: {complaint}; train one"):
        SheepopTokenizer(Encoder(replace(spec, **change | {"tokens": tokens})))


class TestBatch:
    TOKENIZER = SheepopTokenizer.from_merges([(72, 105)])
    PAD, BOS, EOS = TOKENIZER.pad_id, TOKENIZER.bos_id, TOKENIZER.eos_id

    def test_bos_and_eos_are_inside_the_padding(self):
        batch = self.TOKENIZER.encode_batch(["Hi", "abc"], add_bos=True, add_eos=True)
        assert batch == [[self.BOS, 256, self.EOS, self.PAD, self.PAD], [self.BOS, 97, 98, 99, self.EOS]]
        assert batch.attention_mask == [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]

    def test_padding_on_the_left(self):
        batch = self.TOKENIZER.encode_batch(["Hi", "abc"], max_length=4, padding_side="left")
        assert batch == [[self.PAD] * 3 + [256], [self.PAD, 97, 98, 99]]
        assert batch.attention_mask == [[0, 0, 0, 1], [0, 1, 1, 1]]

    def test_truncation_keeps_bos_and_eos(self):
        batch = self.TOKENIZER.encode_batch(["abcdef"], max_length=4, truncation=True, add_bos=True, add_eos=True)
        assert batch == [[self.BOS, 97, 98, self.EOS]]

    def test_without_padding_every_mask_is_one(self):
        batch = self.TOKENIZER.encode_batch(["Hi", "abc"], padding=False)
        assert (batch, batch.attention_mask) == ([[256], [97, 98, 99]], [[1], [1, 1, 1]])

    def test_there_must_be_room_for_bos_and_eos(self):
        with pytest.raises(ValueError, match="at least 2"):
            self.TOKENIZER.encode_batch(["a"], max_length=1, add_bos=True, add_eos=True)

    def test_an_unknown_side_is_an_error(self):
        with pytest.raises(ValueError, match="'left' or 'right'"):
            self.TOKENIZER.encode_batch(["a"], padding_side="middle")


def test_a_saved_tokenizer_is_loaded_as_it_was(tmp_path):
    SheepopTokenizer.from_merges([(72, 101), (256, 108)]).save(tmp_path / "hello.gguf")
    loaded = SheepopTokenizer.load(tmp_path / "hello.gguf")
    assert (loaded.encode("Hello"), loaded.vocab_size) == ([257, 108, 111], 262)


def test_a_tokenizer_without_merges_cannot_be_saved(tmp_path):
    with pytest.raises(UnsupportedError, match="no merges"):
        SheepopTokenizer.from_merges([]).save(tmp_path / "bytes.gguf")
