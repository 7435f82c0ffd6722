from support.fake_tokenizer import FakeTokenizer
from tokverify.engine.joined_strings import JoinedStrings, join
from tokverify.report.run import vocabularies_differ
from tokverify.report.vocabulary_difference import PieceDifference
from tokverify.texts.vocabulary import compare_vocabularies, list_other_tokens


def test_equal_vocabularies_do_not_differ():
    assert not vocabularies_differ(compare_vocabularies(FakeTokenizer("a", "b"), FakeTokenizer("a", "b")))


def test_pieces_are_compared_id_by_id():
    difference = compare_vocabularies(FakeTokenizer("a", "b", "c"), FakeTokenizer("a", "x"))
    assert vocabularies_differ(difference)
    assert (difference.actual_size, difference.expected_size) == (3, 2)
    assert difference.pieces == (PieceDifference(1, "b", "x"), PieceDifference(2, "c", None))


def test_an_id_without_a_token_is_the_same_as_none():
    assert not compare_vocabularies(FakeTokenizer("a", ""), FakeTokenizer("a", "")).pieces
    longer = compare_vocabularies(FakeTokenizer("a"), FakeTokenizer("a", ""))
    assert longer.pieces == ()
    assert longer


def test_an_id_without_a_token_is_the_same_as_none_if_pieces_are_joined():
    shorter, longer = FakeTokenizer("a"), FakeTokenizer("a", "")
    for tokenizer in (shorter, longer):
        tokenizer.pieces = JoinedStrings(join(tokenizer.pieces), len(tokenizer.pieces))
    for difference in (compare_vocabularies(shorter, longer), compare_vocabularies(longer, shorter)):
        assert difference.pieces == ()
        assert difference.actual_size != difference.expected_size


def test_tokens_stored_differently_for_the_same_bytes_are_only_counted():
    difference = compare_vocabularies(FakeTokenizer("  ", "a"), FakeTokenizer("▁▁", "a"))
    assert difference.respelled == 1
    assert not vocabularies_differ(difference)


def test_special_ids_are_compared_if_both_sides_name_them():
    actual = FakeTokenizer("a", "b", special_ids={"bos": 0, "eos": 1, "unk": 0})
    expected = FakeTokenizer("a", "b", special_ids={"bos": 0, "eos": 0, "pad": 1})
    assert compare_vocabularies(actual, expected).special_ids == {"eos": (1, 0)}


def test_tokens_that_both_have_and_that_differ_are_those_of_the_comparison():
    ours, theirs = FakeTokenizer("a", "", "b", "x", "y"), FakeTokenizer("a", "b", "c", "x")
    compared = compare_vocabularies(ours, theirs)
    assert list_other_tokens(ours, theirs) == [(2, "b", "c")]
    assert [each.id for each in compared.pieces if each.actual and each.expected] == [2]
