"""Explanations of decoding: what each id represents and adds, and the merges behind it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.paths import SAMPLE
from support.spec_maker import BYTE_ALPHABET, CONTROL, bpe_spec, spec_of, spm_spec
from tokverify.commands.cli import main
from tokverify.commands.tasks.encode import decode_ids, find_end
from tokverify.engine.encoder import Encoder
from tokverify.errors import EncodeError
from tokverify.explain.explanation import explain_decoding
from tokverify.render.explain.decoding import render
from tokverify.render.options import RenderOptions
from tokverify.report.codec import encode

SPM = Encoder(spm_spec({"▁a": -1, "a": -2, "é": -3}, {"</s>": CONTROL}))
SHEEP = Encoder(bpe_spec(["a a", "aa a"], {"<eos>": CONTROL}, special_ids={"eos": 258}))


def test_recursive_merges_lead_down_to_bytes():
    (token,) = explain_decoding(SHEEP, [257]).tokens
    assert [(merge.id, merge.left.id, merge.right.id, merge.token_bytes) for merge in token.merges] == [
        (257, 256, 97, b"aaa"),
        (256, 97, 97, b"aa"),
    ]


def test_a_byte_token_and_a_control_token_say_where_their_bytes_come_from():
    byte, control = explain_decoding(SPM, [3 + 0x41, 2]).tokens
    assert (byte.token.token_bytes, byte.rule, control.token.token_bytes, control.rule) == (
        b"A",
        "the byte that it names",
        b"</s>",
        "its text",
    )


def test_the_space_that_is_stripped_is_named():
    first, second = explain_decoding(SPM, SPM.encode("a a")).tokens
    assert (first.token.token_bytes, first.added, bool(first.note)) == (b" a", b"a", True)
    assert (second.token.token_bytes, second.added, second.note) == (b" a", b" a", "")


def test_inserted_spaces_are_named():
    tokens = [*BYTE_ALPHABET, "ab", "##c", "de"]
    encoder = Encoder(spec_of("cpp-hybrid", tokens, merges=["a b"]))
    explained = explain_decoding(encoder, [256, 257, 258])
    assert [(token.added, token.note) for token in explained.tokens] == [
        (b"ab", ""),
        (b"c", ""),
        (b" de", "a space is inserted between words"),
    ]


@given(st.lists(st.integers(0, SPM.vocab_size - 1), max_size=8))
def test_the_parts_make_up_the_text(ids):
    explained = explain_decoding(SPM, ids)
    assert b"".join(token.added for token in explained.tokens) == explained.decoded == SPM.decode(ids)


def test_what_llama_detokenize_cleans_up_is_shown():
    ids = SHEEP.encode("a !")
    explained = explain_decoding(SHEEP, ids)
    assert (explained.decoded, explained.cleaned_up) == (b"a !", b"a!")
    assert "llama_detokenize" in render(explained, RenderOptions())
    assert explain_decoding(SHEEP, [97]).cleaned_up is None


def test_an_unknown_id_is_an_error():
    with pytest.raises(EncodeError, match="outside the vocabulary"):
        explain_decoding(SPM, [10**6])


def test_decoding_can_stop_at_the_end_of_a_generation():
    assert (find_end(SHEEP, [97, 258, 98]), find_end(SHEEP, [97])) == (1, None)


@pytest.mark.parametrize("arguments", [["5 6"], ["[5, 6]", "-v"], ["5", "--json"], ["5 1 6", "--stop-at-eos"]])
def test_the_command(arguments, capsys):
    assert main(["explain", str(SAMPLE / "sample.gguf"), "--decode", *arguments], standalone_mode=False) in {None, 0}
    assert capsys.readouterr().out


def test_hostile_pieces_are_escaped():
    encoder = Encoder(bpe_spec([], tokens=["\x1b[2J", "\u202e", "[red]"]))
    explained = explain_decoding(encoder, [256, 257, 258])
    shown = render(explained, RenderOptions(width=50))
    assert all(line.isprintable() for line in shown.split("\n"))
    assert encode(explained).isascii()


def test_the_tokens_after_the_end_are_not_decoded():
    model = SAMPLE / "sample.gguf"
    eos = decode_ids(model, [1]).pieces
    assert eos == ["<eos>"]
    assert decode_ids(model, [20, 1, 21], stop_at_eos=True).pieces == decode_ids(model, [20]).pieces
