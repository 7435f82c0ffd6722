import dataclasses
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.spec_maker import BYTE_ALPHABET
from tokverify.engine.byte_level import to_byte_level
from tokverify.engine.models.bpe import Bpe
from tokverify.engine.normalizer import escape_spaces
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, PreTokenizer, splitter
from tokverify.errors import EncodeError

GPT2 = PRE_TOKENIZERS["gpt-2"]
GEMMA4 = PRE_TOKENIZERS["gemma4"]
WHOLE = dataclasses.replace(GPT2, ignore_merges=True)
HEX = [f"<0x{byte:02X}>" for byte in range(0x100)]


def pieces_of(tokens: Sequence[str], merges: Sequence[str], text: str, pre_tokenizer: PreTokenizer = GPT2) -> list[str]:
    model = Bpe({token: id for id, token in enumerate(tokens)}, merges, pre_tokenizer)
    return [tokens[id] for id in model.encode(text)]


def plain_encoder(ids: Mapping[str, int], merges: Sequence[str], pre: PreTokenizer) -> Callable[[str], list[int]]:
    """The algorithm as its definition has it, on each whole pre-token, where no rule about whole ones applies."""
    ranks: dict[tuple[str, ...], int] = {}
    for rank, merge in enumerate(merges):
        ranks.setdefault(tuple(merge.split(" ")), rank)
    pre_tokens = splitter(pre)

    def join(symbols: list[str]) -> list[str]:
        while found := [(ranks[pair], index) for index, pair in enumerate(pairwise(symbols)) if pair in ranks]:
            _, index = min(found)
            symbols[index : index + 2] = [symbols[index] + symbols[index + 1]]
        return symbols

    def spell(symbol: str) -> list[str]:
        if symbol in ids:
            return [symbol]
        raw = [bytes([byte]).decode("utf-8", "surrogateescape") for byte in symbol.encode()]
        return raw if pre.byte_level else [f"<0x{byte:02X}>" for byte in symbol.encode()]

    def encode(text: str) -> list[int]:
        words = [to_byte_level(pre_token) if pre.byte_level else pre_token for pre_token in pre_tokens(text)]
        return [ids[piece] for word in words for symbol in join(list(word)) for piece in spell(symbol) if piece in ids]

    return encode


def test_the_pair_listed_first_is_merged_first():
    assert pieces_of(["a", "b", "c", "ab", "bc"], ["b c", "a b"], "abc") == ["a", "bc"]
    assert pieces_of(["a", "b", "c", "ab", "abc"], ["a b", "ab c"], "abc") == ["abc"]


def test_the_leftmost_of_equal_pairs_is_merged_first():
    assert pieces_of(["a", "aa"], ["a a"], "aaaaa") == ["aa", "aa", "a"]


def test_the_first_of_duplicate_merges_counts():
    assert pieces_of(["a", "b", "c", "ab", "bc"], ["a b", "b c", "a b"], "abc") == ["ab", "c"]


def test_no_merge_crosses_a_pre_token():
    assert pieces_of(["a", "Ġ", "aĠ", "Ġa"], ["a Ġ", "Ġ a"], "a a") == ["a", "Ġa"]


def test_bytes_are_mapped_to_the_alphabet():
    assert pieces_of(BYTE_ALPHABET, [], "é\n") == ["Ã", "©", "Ċ"]


@pytest.mark.parametrize("merge", ["ab", "", " ab", "ab ", " a b", "a  b", "a b c", "a", " "])
def test_a_merge_that_is_not_a_pair_has_no_effect(merge: str):
    assert pieces_of(["a", "b", "ab", "c"], [merge], "abc") == ["a", "b", "c"]


def test_a_merged_pair_that_is_not_a_piece_is_dropped():
    # llama.cpp looks the bytes of the mapped string up one by one: letters are found, anything beyond ASCII is not.
    assert pieces_of(["a", "b", "c"], ["a b"], "abc") == ["a", "b", "c"]
    assert pieces_of(["Ġ", "a", "c"], ["Ġ a"], "c ac") == ["c", "a", "c"]
    # Ã© is C3 83 C2 A9.
    assert pieces_of(["\udcc3", "\udcc2"], ["Ã ©"], "é") == ["\udcc3", "\udcc2"]


def test_a_byte_without_a_piece_is_dropped():
    assert pieces_of(["a"], [], "aba") == ["a", "a"]


def test_characters_are_kept_if_the_name_maps_no_bytes():
    assert pieces_of(["é", "▁é", "▁"], ["▁ é"], "▁éé", GEMMA4) == ["▁é", "é"]
    assert pieces_of(["a", *HEX], [], "a🦙", GEMMA4) == ["a", "<0xF0>", "<0x9F>", "<0xA6>", "<0x99>"]
    assert pieces_of(["a"], [], "a🦙", GEMMA4) == ["a"]


def test_a_whole_pre_token_is_taken_where_the_name_ignores_merges():
    tokens = ["a", "b", "ab", "Ġab"]
    assert pieces_of(tokens, [], "ab ab") == ["a", "b", "a", "b"]
    assert pieces_of(tokens, [], "ab ab", WHOLE) == ["ab", "Ġab"]
    assert pieces_of(tokens, [], "aba", WHOLE) == ["a", "b", "a"]


def test_a_part_of_a_pre_token_is_not_treated_as_a_whole_one():
    # No merge crosses from b to c, so `ab` and `c` are merged separately.
    assert pieces_of(["a", "b", "c", "ab", "xb"], ["x b"], "abc", WHOLE) == ["a", "b", "c"]


def test_gemma4_takes_a_run_of_newlines_as_one_piece():
    tokens = ["a", "\n", "\n\n\n", "aa"]
    assert pieces_of(tokens, [], "aa\n\n\na\n\n", GEMMA4) == ["a", "a", "\n\n\n", "a", "\n", "\n"]


def test_a_space_among_others_is_an_error_where_it_is_neither_mapped_nor_escaped():
    plain = dataclasses.replace(GEMMA4, escape_whitespaces=False)
    assert pieces_of(["a", " "], [], " ", plain) == [" "]
    with pytest.raises(EncodeError, match="the pre-token 'a a' contains a space"):
        pieces_of(["a", " "], [], "a a", plain)


def test_an_empty_text_has_no_tokens():
    assert pieces_of(["a"], [], "") == []


alphabet = "abĠ"
part = st.text(alphabet, min_size=1, max_size=3)
merge_lists = st.lists(st.tuples(part, part).map(" ".join), max_size=15)


@given(merge_lists, st.sets(part | st.sampled_from(["\udcc3", "\udca9"])), st.text("ab é", max_size=40))
def test_splitting_pre_tokens_changes_nothing(merges: list[str], other: set[str], text: str):
    made = {merge.replace(" ", "") for merge in merges[::2]}  # what the others make is mostly no piece
    ids = {token: id for id, token in enumerate(sorted({*BYTE_ALPHABET, *made, *other}))}
    assert Bpe(ids, merges, GPT2).encode(text) == plain_encoder(ids, merges, GPT2)(text)


@given(merge_lists, st.text("ab", min_size=5, max_size=12))
def test_long_words_give_the_same_ids(merges: list[str], text: str):
    made = {merge.replace(" ", "") for merge in merges}
    ids = {token: id for id, token in enumerate(sorted({*BYTE_ALPHABET, *made}))}
    assert Bpe(ids, merges, GPT2).encode(text * 40) == plain_encoder(ids, merges, GPT2)(text * 40)


@pytest.mark.parametrize("name", ["gpt-2", "qwen2", "gemma-4"])
def test_real_vocabularies_give_the_same_ids(spec_of, encoder_of, name: str):
    merges, encoder = spec_of(name).merges, encoder_of(name)
    ids = encoder.settings.ids
    pre_tokenizer = dataclasses.replace(PRE_TOKENIZERS[encoder.settings.pre], newline_pieces=False)
    model = Bpe(ids, merges, pre_tokenizer)
    encode_plainly = plain_encoder(ids, merges, pre_tokenizer)
    tokens = st.integers(0, encoder.vocab_size - 1).map(lambda id: encoder.decode_text([id]))
    marks = st.sampled_from([*" \n\t.'é0aßक\u0301", "  ", "🦙"])

    @settings(max_examples=40)
    @given(st.lists(tokens | marks, max_size=8).map("".join))
    def check(text: str) -> None:
        text = escape_spaces(text) if encoder.settings.escape_whitespaces else text
        assert model.encode(text) == encode_plainly(text)

    check()
