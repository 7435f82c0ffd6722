import codecs
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.spec_maker import BYTE, CONTROL, USER_DEFINED, bpe_spec, spm_spec
from tokverify.engine.decoder import clean_up_spaces
from tokverify.engine.encoder import Encoder
from tokverify.errors import EncodeError

SPM = spm_spec({"▁": 0, "▁a": -1, "b▁c": -2, "<|x▁y|>": 0, "▁▁": 0}, {"<|x▁y|>": CONTROL, "▁▁": USER_DEFINED})


@pytest.fixture(scope="module", name="spm")
def make_spm(engine: str) -> Encoder:
    """Return the encoder of a small vocabulary on the engine at hand."""
    encoder = Encoder(SPM)
    assert encoder.engine.name == engine
    return encoder


def token_bytes(type: int, piece: str) -> bytes:
    encoder = Encoder(spm_spec({piece: 0}, {piece: type}, byte_pieces=False, add_space_prefix=False))
    id = encoder.vocab_size - 1
    assert encoder.decode([id]) == encoder.token_bytes(id)
    return encoder.token_bytes(id)


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        ("▁a", b" a"),
        ("b▁c", b"b c"),
        ("▁▁", "▁▁".encode()),  # added tokens stand for what they are
        ("<|x▁y|>", "<|x▁y|>".encode()),
        ("<0x0A>", b"\n"),
        ("<0xFF>", b"\xff"),
        ("<unk>", b"<unk>"),
    ],
)
def test_each_token_represents_its_bytes(spm: Encoder, piece: str, expected: bytes):
    assert spm.token_bytes(spm.settings.ids[piece]) == expected


@pytest.mark.parametrize("type", [0, 5, 7, -1])
def test_unused_and_undefined_tokens_represent_no_bytes(type: int):
    assert token_bytes(type, "abc") == b""


@pytest.mark.parametrize(
    ("piece", "byte"),
    [
        ("<0x41>", b"A"),
        ("abc41", b"A"),
        ("▁41", b"A"),  # the fourth and fifth byte, not character
        ("<0x4>", b"\x04"),
        ("<0xzz>", b"\0"),
        ("abc", b"\0"),
        ("abc-1", b"\xff"),
        ("abc 7", b"\x07"),
    ],
)
def test_a_byte_token_is_read_as_strtol_would(piece: str, byte: bytes):
    assert token_bytes(BYTE, piece) == byte


def test_byte_level_pieces_are_read_back_but_added_tokens_are_verbatim():
    encoder = Encoder(bpe_spec([], {"<|Ġ|>": CONTROL}, tokens=["Ġé"]))
    assert encoder.token_bytes(encoder.settings.ids["Ġé"]) == b" \xe9"
    assert encoder.token_bytes(encoder.settings.ids["<|Ġ|>"]) == "<|Ġ|>".encode()


def test_bytes_that_are_no_utf8_survive():
    assert token_bytes(1, "\udcff▁") == b"\xff "


def test_one_space_is_removed_from_the_first_token_only(spm: Encoder):
    first, blank = spm.settings.ids["▁a"], spm.settings.ids["▁"]
    assert spm.decode([first, first]) == b"a a"
    assert spm.decode([blank, first]) == b" a"
    assert spm.decode([1, first]) == b"<s> a"
    assert spm.decode([]) == b""
    without = Encoder(spm_spec({"▁a": 0}, add_space_prefix=False))
    assert without.decode([without.settings.ids["▁a"]]) == b" a"


def test_a_declared_space_prefix_counts_for_byte_level_too():
    encoder = Encoder(bpe_spec([], tokens=["Ġa"], add_space_prefix=True))
    ids = [encoder.settings.ids["Ġa"]] * 2
    assert encoder.decode(ids) == b"a a"
    assert encoder.encode("a") == [encoder.settings.ids["a"]]


@pytest.mark.parametrize(
    ("decoded", "cleaned"),
    [
        (b"", b""),
        (b"a ? b ! c . d , e ; f", b"a? b! c. d, e ; f"),
        (b"  ..", b" .."),
        (b" .", b"."),
        (b"a ' b", b"a'b"),
        (b" ' ' a", b"'' a"),
        (b"it 's I 'm we 're they 've", b"it's I'm we're they've"),
        (b"he 'll don 't I 'd I 'r", b"he 'll don 't I 'd I 'r"),
        (b"a  's", b"a 's"),
        (b"a ' .", b"a '."),
        (b"' a '", b"' a '"),
    ],
)
def test_cleaning_up(decoded: bytes, cleaned: bytes):
    assert clean_up_spaces(decoded) == cleaned


def clean_up_literally(text: bytes) -> bytes:
    """Make three passes over the bytes, each of which can drop the preceding byte."""
    for is_dropped in (_space_before_mark, _space_around_apostrophe, _space_before_contraction):
        text = bytes(byte for index, byte in enumerate(text) if not is_dropped(text, index))
    return text


def _space_before_mark(text: bytes, index: int) -> bool:
    return text[index : index + 1] == b" " and text[index + 1 : index + 2] in {b"?", b"!", b".", b","}


def _space_around_apostrophe(text: bytes, index: int) -> bool:
    used = -1
    for start in range(len(text)):
        if text[start : start + 3] == b" ' " and start > used:
            used = start + 2
            if index in {start, used}:
                return True
    return False


def _space_before_contraction(text: bytes, index: int) -> bool:
    return text[index : index + 1] == b" " and text[index + 1 :].startswith((b"'s", b"'m", b"'re", b"'ve"))


@given(st.text(" '.,?smrev", max_size=20).map(str.encode))
def test_cleaning_up_equals_the_literal_passes(text: bytes):
    assert clean_up_spaces(text) == clean_up_literally(text)


def test_only_names_that_clean_up_do_so_and_only_when_asked():
    for pre, expected in (("gpt-2", b"a."), ("qwen2", b"a .")):
        encoder = Encoder(bpe_spec([], pre=pre))
        assert encoder.decode(encoder.encode("a ."), clean_up=True) == expected
        assert encoder.decode(encoder.encode("a .")) == b"a ."


@pytest.mark.parametrize(
    ("remove_special", "unparse_special", "expected"),
    [
        (False, True, b"<s> a a</s>"),
        (True, True, b" a a"),  # the space is that of an inner token now
        (False, False, b" a a"),
        (True, False, b" a a"),
    ],
)
def test_special_tokens_are_left_out_as_llama_detokenize_does(
    spm: Encoder, remove_special: bool, unparse_special: bool, expected: bytes
):
    spec = replace(SPM, add_eos=True, special_ids={"bos": 1, "eos": 2})
    encoder = Encoder(spec)
    word = spm.settings.ids["▁a"]
    flags = {"remove_special": remove_special, "unparse_special": unparse_special}
    assert encoder.decode_as_llama_cpp([1, word, word, 2], **flags) == expected
    assert encoder.decode_as_llama_cpp([word, word], **flags) == b"a a"


def test_bos_and_eos_are_removed_once_and_only_if_they_are_added(spm: Encoder):
    both = Encoder(replace(SPM, add_eos=True, special_ids={"bos": 1, "eos": 2}))
    assert both.decode_as_llama_cpp([1, 1, 2, 2], remove_special=True) == b"<s></s>"
    assert both.decode_as_llama_cpp([2, 1], remove_special=True) == b"</s><s>"
    same = Encoder(replace(SPM, add_eos=True, special_ids={"bos": 1, "eos": 1}))
    assert same.decode_as_llama_cpp([1], remove_special=True) == b""
    neither = Encoder(replace(SPM, add_bos=False, special_ids={"bos": 1, "eos": 2}))
    assert neither.decode_as_llama_cpp([1, 2], remove_special=True) == b"<s></s>"
    with pytest.raises(EncodeError, match="id -1 is outside the vocabulary"):
        both.decode_as_llama_cpp([-1], unparse_special=False)
    assert spm.decode_as_llama_cpp([], remove_special=True) == b""


def test_a_character_is_emitted_when_it_is_complete(spm: Encoder):
    decoder = spm.decoder()
    llama = [spm.settings.ids[f"<0x{byte:02X}>"] for byte in "🦙".encode()]
    assert [decoder.push(id) for id in llama] == ["", "", "", "🦙"]
    assert decoder.push(spm.settings.ids["▁a"]) == " a"
    assert decoder.finish() == ""


def test_a_character_that_is_never_completed_is_shown_at_the_end(spm: Encoder):
    decoder = spm.decoder()
    first, second = (spm.settings.ids[piece] for piece in ("<0xF0>", "<0x9F>"))
    assert [decoder.push(first), decoder.push(second)] == ["", ""]
    assert decoder.finish() == "\ufffd"


def test_bytes_that_cannot_become_a_character_are_shown_at_once(spm: Encoder):
    decoder = spm.decoder()
    first, letter = spm.settings.ids["<0xF0>"], spm.settings.ids["▁a"]
    assert [decoder.push(first), decoder.push(letter)] == ["", "\ufffd a"]


def test_the_first_space_is_removed_in_a_stream_too(spm: Encoder):
    decoder = spm.decoder()
    assert [decoder.push(id) for id in [spm.settings.ids["▁a"]] * 2] == ["a", " a"]


@pytest.mark.parametrize("name", ["llama-spm", "gpt-2", "gemma-4"])
def test_streaming_equals_decoding_at_once(encoder_of, name: str):
    encoder = encoder_of(name)

    @given(st.lists(st.integers(0, encoder.vocab_size - 1), max_size=8) | st.text(max_size=5).map(encoder.encode))
    def check(ids: list[int]) -> None:
        decoder = encoder.decoder()
        streamed = [decoder.push(id) for id in ids]
        assert "".join([*streamed, decoder.finish()]) == encoder.decode_text(ids)
        known = codecs.getincrementaldecoder("utf-8")("replace")
        assert "".join(streamed) == known.decode(encoder.decode(ids))

    check()
