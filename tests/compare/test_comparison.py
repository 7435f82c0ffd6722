from dataclasses import replace

import pytest

from support.bare_tokenizer import Bare
from support.fake_tokenizer import FakeTokenizer
from tokverify.case import Case
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.fuzz.trial import Trial
from tokverify.errors import UnsupportedError
from tokverify.report.fuzz import DifferenceKind
from tokverify.report.run import Status, count_decode_differences, run_exit_code
from tokverify.report.side import Side
from tokverify.report.tokenizer_difference import Aspect
from tokverify.texts.alignment import compare_decoded
from tokverify.texts.sample import Sample
from tokverify.tokenizer import Token

GOOD = FakeTokenizer("a", "b", "ab", "<s>", " ", special=["<s>"], name="good", special_ids={"bos": 3})
BROKEN = FakeTokenizer("a", "b", "xy", "<s>", " ", special=["<s>"], name="broken", special_ids={"bos": 3})


def case(text: str, **fields) -> Case:
    return Case(id=f"case-{text}", suite="suite", text=text, **fields)


def result_of(actual, expected, one: Case, **options):
    return verify_tokenizers(actual, expected, [one], **options).results[0]


def test_equal_ids_match():
    result = result_of(GOOD, GOOD, case("aab"))
    assert result.status is Status.MATCH
    assert result.actual == result.expected == (0, 2)
    assert result.difference is None
    assert run_exit_code(verify_tokenizers(GOOD, GOOD, [case("a")])) == 0


def test_a_mismatch_is_aligned():
    report = verify_tokenizers(BROKEN, GOOD, [case("aab"), case("a")])
    assert [result.status for result in report.results] == [Status.MISMATCH, Status.MATCH]
    equal, replaced = report.results[0].difference.blocks
    assert equal.equal
    assert [token.piece for token in replaced.actual] == ["a", "b"]
    assert [token.piece for token in replaced.expected] == ["ab"]
    assert run_exit_code(report) == 1


def test_the_report_records_the_ids_of_matches():
    report = verify_tokenizers(
        FakeTokenizer("a", "b", "c"), FakeTokenizer("a", "b", "c", "▁", "bb"), [case("ca"), case("bb")]
    )
    a, c = Token(0, "a", b"a"), Token(2, "c", b"c")
    assert report.tokens == {0: (a, a), 2: (c, c)}


def test_the_id_of_a_match_is_that_of_each_side():
    spelled = FakeTokenizer("▁", "a")
    assert verify_tokenizers(FakeTokenizer(" ", "a"), spelled, [case("a")]).tokens == {1: (Token(1, "a", b"a"),) * 2}
    spelled.encode = lambda text, **_: [0]
    report = verify_tokenizers(FakeTokenizer(" ", "a"), spelled, [case(" ")])
    assert report.tokens == {0: (Token(0, " ", b" "), Token(0, "▁", b" "))}


def test_vocabularies_are_compared():
    assert [difference.id for difference in verify_tokenizers(BROKEN, GOOD, [case("a")]).vocabulary.pieces] == [2]


def test_an_error_names_the_side():
    for actual, expected, role in (
        (FakeTokenizer("b", name="x"), GOOD, "actual"),
        (GOOD, FakeTokenizer(), "expected"),
    ):
        result = result_of(actual, expected, case("a"))
        assert result.status is Status.ERROR
        assert result.message.startswith(role)
        assert "no piece for 'a'" in result.message


def test_a_lone_surrogate_is_an_error_of_that_case():
    report = verify_tokenizers(GOOD, GOOD, [case("a\ud800"), case("a")])
    assert [result.status for result in report.results] == [Status.ERROR, Status.MATCH]
    assert "U+D800" in report.results[0].message
    assert run_exit_code(report) == 1


def test_a_case_that_one_side_does_not_support_is_skipped_with_the_reason():
    class Unsupporting(FakeTokenizer):
        def encode(self, text, **options):
            raise UnsupportedError("no such thing")

    report = verify_tokenizers(GOOD, Unsupporting(*GOOD.pieces, name="lame"), [case("a")])
    assert report.results[0].status is Status.SKIPPED
    assert report.results[0].message == "expected (lame): no such thing"
    assert run_exit_code(report) == 2


def test_a_text_that_neither_side_can_encode_is_skipped_as_in_fuzz():
    report = verify_tokenizers(GOOD, FakeTokenizer("b", name="other"), [case("x")], fail_on=())
    assert report.results[0].status is Status.SKIPPED
    reasons = "actual (good): no piece for 'x'; expected (other): no piece for 'x'"
    assert report.results[0].message == f"neither side can encode this text: {reasons}"
    assert run_exit_code(report) == 2
    assert (
        Trial(GOOD, FakeTokenizer("b")).outcome(Sample("x", add_special=False, parse_special=True)).kind
        is DifferenceKind.SKIPPED
    )


def test_a_skip_is_an_error_if_the_case_itself_expects_tokens():
    report = verify_tokenizers(GOOD, FakeTokenizer("b", name="other"), [case("x", expect={"good": (0,)})])
    assert report.results[0].status is Status.ERROR
    assert run_exit_code(report) == 1


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt])
def test_bugs_and_interrupts_are_not_results(error):
    class Failing(FakeTokenizer):
        def encode(self, text, **options):
            raise error

    with pytest.raises(error):
        verify_tokenizers(GOOD, Failing(), [case("a")])


def test_special_tokens_are_added_and_parsed_as_the_case_says():
    assert result_of(GOOD, GOOD, case("<s>a", add_special=True)).actual == (3, 3, 0)
    assert "no piece for '<'" in result_of(GOOD, GOOD, case("<s>a", parse_special=False)).message


SPELLED = ("a", "<s>", "<", "s", ">")


def test_a_side_of_which_only_the_lack_of_parsing_is_known_is_compared_without():
    actual = FakeTokenizer(*SPELLED, special=["<s>"])
    expected = Bare(FakeTokenizer(*SPELLED, special=["<s>"], parses_special=False, name="lame"))
    result = result_of(actual, expected, case("<s>a"))
    assert result.status is Status.MATCH
    assert not result.parse_special
    assert result.notes[0].startswith("compared with parse_special off: bare never recognizes control tokens")
    plain = result_of(actual, expected, case("a"))
    assert not plain.parse_special
    assert plain.notes == ()


def test_each_side_encodes_a_text_once():
    actual = FakeTokenizer(*SPELLED, special=["<s>"])
    expected = FakeTokenizer(*SPELLED, special=["<s>"], parses_special=False)
    result_of(actual, expected, case("<s>a"))
    # What is added around a text is determined with another one.
    assert (actual.calls.count("<s>a"), expected.calls.count("<s>a")) == (1, 1)


def test_a_side_that_cannot_add_special_tokens_is_compared_without():
    expected = FakeTokenizer("a", "b", "ab", "<s>", adds_special=False)
    result = result_of(GOOD, expected, case("a", add_special=True))
    assert (result.status, result.actual, result.add_special) == (Status.MATCH, (0,), False)
    assert "add_special off" in result.notes[0]


def test_only_own_cases_are_reported_as_unchecked():
    own = case("a", expect={"other": (0,)})
    notes = ("`expect` is for other, which names neither side; it was not checked",)
    assert result_of(GOOD, GOOD, own).notes == notes
    assert result_of(GOOD, GOOD, replace(own, shipped=True)).notes == ()
    assert result_of(GOOD, GOOD, replace(own, expect={"other": (0,), "good": (0,)}, shipped=True)).notes == ()


def test_expect_is_not_checked_in_another_mode():
    expected = FakeTokenizer("a", "b", "ab", "<s>", adds_special=False)
    result = result_of(GOOD, expected, case("a", add_special=True, expect={"good": (3, 0)}))
    assert result.status is Status.MATCH
    assert "not checked" in result.notes[1]


@pytest.mark.parametrize("key", ["good", "Good Model", "0123456789abcdef", "01234567", "0123456789AB"])
def test_expect_by_name_or_fingerprint(key):
    sides = (
        Side("good", "good.gguf", aliases=("Good Model",), fingerprint="0123456789abcdef"),
        Side("reference", "reference"),
    )
    asked = case("a", expect={key: (1,), "0123456": (0,), "other": (0,)})
    result = result_of(GOOD, GOOD, asked, sides=sides)
    assert result.status is Status.MISMATCH
    assert result.expect == (1,)
    assert result.notes == ("both sides agree, but not with the case's own `expect`",)
    assert [token.piece for token in result.difference.blocks[0].expected] == ["b"]


def test_expect_that_agrees_is_a_match():
    assert result_of(GOOD, GOOD, case("a", expect={"good": (0,)})).status is Status.MATCH
    assert result_of(GOOD, GOOD, case("a", expect={"some other": (7,)})).status is Status.MATCH


@pytest.mark.parametrize(
    ("ids", "note"),
    [((0, 1), "agrees with actual"), ((2,), "agrees with expected"), ((9,), "agrees with neither side")],
)
def test_expect_tells_which_side_of_a_mismatch_is_right(ids, note):
    result = result_of(BROKEN, GOOD, case("ab", expect={"broken": ids}))
    assert result.status is Status.MISMATCH
    assert note in result.notes[0]


def test_ids_outside_the_vocabulary_are_shown_without_a_piece():
    result = result_of(GOOD, GOOD, case("a", expect={"good": (99,)}))
    assert [(token.id, token.piece) for token in result.difference.blocks[0].expected] == [(99, "")]


def test_pieces_are_expected_as_ids_are():
    assert result_of(GOOD, GOOD, case("aab", expect={"good": ("a", "ab")})).status is Status.MATCH
    result = result_of(GOOD, GOOD, case("aab", expect={"good": ("a", "a", "b")}))
    assert result.status is Status.MISMATCH
    assert result.notes == ("both sides agree, but not with the case's own `expect`",)
    assert [token.id for token in result.difference.blocks[1].expected] == [0, 1]


def test_pieces_are_those_of_the_side_they_are_expected_of():
    actual, expected = FakeTokenizer("▁a", name="ours"), FakeTokenizer(" a", name="theirs")
    actual.encode = expected.encode = lambda text, **options: [0]
    assert result_of(actual, expected, case(" a", expect={"theirs": (" a",)})).status is Status.MATCH
    assert result_of(actual, expected, case(" a", expect={"ours": (" a",)})).status is Status.MISMATCH


def test_expected_pieces_tell_which_side_of_a_mismatch_is_right():
    result = result_of(BROKEN, GOOD, case("ab", expect={"broken": ("a", "b")}))
    assert "agrees with actual" in result.notes[0]


def test_an_expected_piece_without_a_token_is_reported():
    result = result_of(GOOD, GOOD, case("a", expect={"good": ("a", "z\n")}))
    assert result.notes[1] == "no token has the expected piece 'z\\n'"


def test_without_a_reference_cases_are_compared_with_their_own_expect():
    cases = [
        case("aab", expect={"good": (0, 2)}),
        case("ab", expect={"good": ("ab",)}),
        case("ba", expect={"good": (2, 0)}),
        case("b", expect={"good": ("zz",)}),
        case("a", expect={"other": (0,)}),
        case("%", expect={"good": (0,)}),
    ]
    report = verify_tokenizers(GOOD, None, cases)
    statuses = [Status.MATCH, Status.MATCH, Status.MISMATCH, Status.MISMATCH, Status.SKIPPED, Status.ERROR]
    assert [result.status for result in report.results] == statuses
    assert [token.piece for token in report.results[2].difference.blocks[0].expected] == ["ab"]
    assert report.results[3].notes == ("no token has the expected piece 'zz'",)
    assert report.results[4].message.startswith("the case has no `expect` for good, only for other; add it with")
    assert report.results[5].message.startswith("actual (good)")
    assert report.vocabulary is None
    assert (report.expected.name, run_exit_code(report)) == ("expect", 1)


def test_a_case_without_expectations_is_not_compared():
    assert run_exit_code(verify_tokenizers(GOOD, None, [case("a")])) == 2


def test_without_a_reference_a_mode_that_the_tokenizer_cannot_do_is_skipped():
    lame = FakeTokenizer("a", adds_special=False, name="lame")
    cases = [case("a", expect={"lame": (0,)}), case("a", expect={"lame": (0,)}, add_special=True)]
    statuses = [result.status for result in verify_tokenizers(lame, None, cases).results]
    assert statuses == [Status.MATCH, Status.SKIPPED]


def test_decoding_is_a_second_axis():
    class Trimming(FakeTokenizer):
        def decode(self, ids):
            return super().decode(ids).strip()

    report = verify_tokenizers(GOOD, Trimming(*GOOD.pieces, special_ids=GOOD.special_ids), [case("a "), case("a")])
    assert [result.decode_difference for result in report.results] == [compare_decoded(b"a ", b"a"), None]
    assert count_decode_differences(report) == 1
    assert [difference.aspect for difference in report.differences] == [Aspect.DECODING]
    assert run_exit_code(report) == 0
    assert run_exit_code(replace(report, fail_on=("decoding",))) == 1


def test_decoding_that_fails_is_noted():
    result = result_of(FakeTokenizer("a"), FakeTokenizer("b", "a"), case("a"))
    assert result.status is Status.MISMATCH
    assert result.notes == ("decoding was not compared: actual (fake): no id 1",)


def test_a_run_stops_after_the_allowed_number_of_failures():
    cases = [case("a"), case("ab"), case("b"), case("aab"), case("a")]
    once, twice, thrice = (verify_tokenizers(BROKEN, GOOD, cases, max_failures=count) for count in (1, 2, 3))
    assert [result.status for result in once.results] == [Status.MATCH, Status.MISMATCH]
    assert [len(report.results) for report in (once, twice, thrice)] == [2, 4, 5]
    assert [report.stopped_early for report in (once, twice, thrice)] == [True, True, False]
    assert not verify_tokenizers(BROKEN, GOOD, cases[:2], max_failures=1).stopped_early


def test_the_version_of_a_suite_depends_on_what_its_cases_ask():
    versions = [
        verify_tokenizers(GOOD, GOOD, cases).suites
        for cases in (
            [case("a")],
            [case("a"), replace(case("b"), suite="t")],
            [replace(case("a"), note="why", file="x.yaml", line=3)],
            [replace(case("a"), text="b")],
            [replace(case("a"), expect={"fake": (0,)})],
            [replace(case("a"), add_special=True)],
        )
    ]
    same = {version["suite"] for version in versions[:3]}
    assert len(same) == 1
    assert set(versions[1]) == {"suite", "t"}
    assert len({version["suite"] for version in versions}) == 4


def test_progress_is_reported_after_each_case():
    seen = []
    verify_tokenizers(GOOD, GOOD, [case("a"), case("b")], on_progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]
