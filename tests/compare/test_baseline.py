"""Baselines: what an entry accepts, what it does not, and what updating keeps."""

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.fake_tokenizer import FakeTokenizer
from tokverify.case import Case
from tokverify.compare.baseline import Baseline, read_baseline
from tokverify.compare.baseline_writer import render_baseline
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.digest import digest
from tokverify.errors import TokverifyError
from tokverify.report.finding import WARNING
from tokverify.report.known_difference import KnownDifference
from tokverify.report.run import AppliedLimit, Report, Status, count_status, run_exit_code
from tokverify.report.side import Side
from tokverify.report.tokenizer_difference import Origin

TODAY = date(2026, 6, 1)
ACTUAL = FakeTokenizer("a", "b", "c", "d", name="ours")
JOINED = FakeTokenizer("a", "b", "c", "d", "ab", name="theirs")
OTHERWISE = FakeTokenizer("a", "b", "c", "d", "ab", "abc", name="theirs")


def report(*texts: str, expected: FakeTokenizer = JOINED, baseline: Baseline | None = None, **options: bool) -> Report:
    cases = [Case(id=text, suite="s", text=text) for text in texts]
    return verify_tokenizers(ACTUAL, expected, cases, baseline=baseline, **{"fail_on": ()} | options)


def statuses(found: Report) -> list[str]:
    return [str(result.status) for result in found.results]


def baseline(*entries: KnownDifference) -> Baseline:
    return Baseline("known.yaml", entries, TODAY)


def entry(text: str, **fields: object) -> KnownDifference:
    (result,) = report(text).results
    known = KnownDifference(case=f"s/{text}", difference=digest(result), reason="it is so", place="known.yaml:3")
    return replace(known, **fields)


def test_a_listed_failure_is_known_and_does_not_fail_the_run():
    found = report("ab", "cd", baseline=baseline(entry("ab")))
    assert statuses(found) == ["known", "match"]
    assert run_exit_code(found) == 0
    assert found.results[0].known.reason == "it is so"
    assert found.results[0].difference is not None
    assert count_status(found, Status.KNOWN) == 1


def test_an_unlisted_failure_fails_the_run():
    found = report("ab", "abd", baseline=baseline(entry("ab")))
    assert statuses(found) == ["known", "mismatch"]
    assert run_exit_code(found) == 1


def test_a_known_case_that_fails_in_another_way_fails():
    found = report("abc", expected=OTHERWISE, baseline=baseline(entry("abc")))
    assert statuses(found) == ["mismatch"]
    note = "known.yaml:3 accepts another failure of this case, not this one (reason: it is so)"
    assert found.results[0].refusals == (note,)


@pytest.mark.parametrize(("days", "status"), [(-1, "mismatch"), (0, "known"), (1, "known")])
def test_an_entry_holds_until_the_end_of_its_last_day(days: int, status: str):
    expires = TODAY + timedelta(days)
    found = report("ab", baseline=baseline(entry("ab", expires=expires)))
    assert statuses(found) == [status]
    if status == "mismatch":
        note = f"accepted until {expires} by known.yaml:3, which has expired (reason: it is so)"
        assert found.results[0].refusals == (note,)


def test_a_new_baseline_replaces_an_earlier_one():
    expired = baseline(entry("ab", expires=TODAY - timedelta(1)))
    refused, accepted = report("ab", baseline=expired), report("ab", baseline=baseline(entry("ab")))
    assert baseline(entry("ab")).apply(refused) == accepted
    assert expired.apply(accepted) == refused
    assert baseline().apply(accepted).results == report("ab").results


def test_an_error_can_be_listed_by_its_message():
    expected = FakeTokenizer("a", "x", name="theirs")
    (result,) = report("x", expected=expected).results
    assert result.status is Status.ERROR
    listed = baseline(entry("ab", case="s/x", difference=digest(result)))
    assert statuses(report("x", expected=expected, baseline=listed)) == ["known"]


def test_only_known_failures_are_a_success():
    assert run_exit_code(report("ab", baseline=baseline(entry("ab")))) == 0


def test_a_known_failure_does_not_stop_a_run():
    found = report("ab", "abd", "abc", baseline=baseline(entry("ab")), max_failures=1)
    assert statuses(found) == ["known", "mismatch"]
    assert found.stopped_early


@pytest.mark.parametrize(
    ("pattern", "status"), [("ours", "known"), ("ou*", "known"), (None, "known"), ("x", "mismatch")]
)
def test_an_entry_is_about_the_models_that_it_names(pattern: str | None, status: str):
    assert statuses(report("ab", baseline=baseline(entry("ab", model=pattern)))) == [status]


def test_an_entry_can_name_a_model_by_another_of_its_names():
    sides = (Side("file", "file.gguf", aliases=("Model 3",)), Side("theirs", "t"))
    found = verify_tokenizers(
        ACTUAL,
        JOINED,
        [Case(id="ab", suite="s", text="ab")],
        sides=sides,
        baseline=baseline(entry("ab", model="Model*")),
    )
    assert statuses(found) == ["known"]


def test_superfluous_baseline_entries_are_reported():
    entries = entry("ab"), entry("ab", case="s/cd"), entry("ab", case="s/gone"), entry("ab", case="s/cd", model="other")
    applied = report("ab", "cd", baseline=baseline(*entries)).baseline
    assert (applied.fixed, applied.not_run) == ((entries[1],), (entries[2],))


LIMITED = replace(report("ab").results[0], explained_by=("TL001", "TL002"))


@pytest.mark.parametrize(
    ("codes", "status"),
    [(("TL001", "TL002"), "known"), (("TL001",), "mismatch"), (("TL001", "TL003"), "mismatch"), ((), "mismatch")],
)
def test_a_case_is_known_if_all_limits_that_explain_it_are_accepted(codes: tuple[str, ...], status: str):
    entries = [KnownDifference(code=code, reason="it is so") for code in codes]
    found = baseline(*entries).judge(Side("ours", "o")).apply(LIMITED)
    assert found.status == status
    assert found.explained_by == (() if status == "known" else LIMITED.explained_by)


def test_a_limit_is_accepted_by_its_code():
    limit = AppliedLimit(
        code="TL001", name="a-limit", origin=Origin.RUNTIME, severity=WARNING, message="it does so", cases=1, advice=""
    )
    limited = replace(LIMITED, explained_by=("TL001",))
    found = replace(report("ab", strict=True), results=(limited,), limits=(limit,))
    assert run_exit_code(found) == 1
    updated = baseline().update(found, "so be it")
    assert [(each.code, each.case, each.reason) for each in updated.entries] == [("TL001", "", "so be it")]
    accepted = updated.apply(found)
    assert (run_exit_code(accepted), statuses(accepted), accepted.limits) == (0, ["known"], ())


# Updating


def test_an_update_lists_what_fails_and_keeps_what_holds():
    kept = entry("ab", reason="kept", expires=date(2030, 1, 1))
    fixed, gone = entry("ab", case="s/cd"), entry("ab", case="s/gone")
    others = entry("ab", case="s/cd", model="other")
    found = report("ab", "cd", "abd")
    updated = baseline(kept, fixed, gone, others).update(found, "new here")
    assert [(known.case, known.reason, known.expires) for known in updated.entries] == [
        ("s/ab", "kept", date(2030, 1, 1)),
        ("s/abd", "new here", None),
        ("s/cd", "it is so", None),
        ("s/gone", "it is so", None),
    ]
    assert statuses(updated.apply(found)) == ["known", "match", "known"]
    assert run_exit_code(updated.apply(found)) == 0


def test_a_failure_of_another_kind_is_new():
    before = baseline(entry("abc", reason="old"))
    updated = before.update(report("abc", expected=OTHERWISE), "new")
    assert [known.reason for known in updated.entries] == ["new"]


def test_new_entries_need_a_reason():
    texts = [f"ab{'d' * n}" for n in range(8)]
    with pytest.raises(
        TokverifyError,
        match=r"does not accept s/ab, .*, s/abdddd and 3 more yet; say why with --reason TEXT",
    ):
        baseline().update(report(*texts), None)
    assert baseline(entry("ab")).update(report("ab"), None).entries[0].reason == "it is so"


def test_an_expired_entry_is_left_for_a_person():
    expired = entry("ab", expires=date(2020, 1, 1))
    updated = baseline(expired).update(report("ab"), "so that it passes")
    assert [known.expires for known in updated.entries] == [date(2020, 1, 1)]
    assert run_exit_code(updated.apply(report("ab"))) == 1


# The file

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"]), min_size=1).filter(str.strip)


@given(st.lists(st.builds(
    KnownDifference,
    case=TEXT, difference=st.from_regex("[0-9a-f]{16}", fullmatch=True), reason=TEXT, about=st.just("") | TEXT,
    expires=st.none() | st.dates(), model=st.none() | TEXT,
), max_size=5,
        unique_by=lambda known: known.case))  # fmt: skip
@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_a_file_reads_back_as_it_was_written(tmp_path_factory, suffix: str, entries: list[KnownDifference]):
    path = tmp_path_factory.mktemp("baseline") / f"known{suffix}"
    path.write_text(render_baseline(baseline(*entries), suffix), encoding="utf-8")
    read = read_baseline(path, TODAY)
    assert {replace(known, place="") for known in read.entries} == set(entries)
    assert read.today == TODAY


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\ufeff", "\x85", " ", "\ud7ff"])
@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_a_line_separator_at_the_end_reads_back(tmp_path: Path, suffix: str, end: str):
    known = KnownDifference(case=f"s/a{end}", difference="0" * 16, reason=f"x{end}", about=f"{end}y{end}")
    path = tmp_path / f"known{suffix}"
    path.write_text(render_baseline(baseline(known), suffix), encoding="utf-8")
    assert [replace(read, place="") for read in read_baseline(path, TODAY).entries] == [known]


GOOD = "- case: s/a\n  difference: 0123456789abcdef\n  reason: it is so\n"


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "known.yaml"
    path.write_text(text)
    return path


def test_read(tmp_path: Path):
    path = written(
        tmp_path, GOOD + '  expires: 2027-01-31\n- {case: s/b, difference: 1234567812345678, reason: "no"}\n'
    )
    first, second = read_baseline(path, TODAY).entries
    assert (first.expires, first.place) == (date(2027, 1, 31), f"{path}:1")
    assert (second.difference, second.reason, second.expires) == ("1234567812345678", "no", None)


def test_read_causes_and_cases(tmp_path: Path):
    text = """\
- code: TV103
  reason: an HTML tag here
  model: gemma-3*
  ids: [212, 300-310]
- code: TL001
  reason: checked by hand
  fingerprint: "01234567"
  message: "*default*"
- reason: one cause
  cases:
    s/a: 0123456789abcdef
    s/b: 1234567812345678
"""
    path = written(tmp_path, text)
    assert read_baseline(path, TODAY).entries == (
        KnownDifference(
            code="TV103", reason="an HTML tag here", model="gemma-3*", ids=((212, 212), (300, 310)), place=f"{path}:1"
        ),
        KnownDifference(
            code="TL001", reason="checked by hand", fingerprint="01234567", message="*default*", place=f"{path}:5"
        ),
        KnownDifference(case="s/a", reason="one cause", difference="0123456789abcdef", place=f"{path}:9"),
        KnownDifference(case="s/b", reason="one cause", difference="1234567812345678", place=f"{path}:9"),
    )


@pytest.mark.parametrize("digits", ["0000000000000000", "1234567890123456", "12345678901234e5", "0123456701234567"])
def test_a_digest_of_digits_is_no_number(tmp_path: Path, digits: str):
    (known,) = read_baseline(written(tmp_path, GOOD.replace("0123456789abcdef", digits)), TODAY).entries
    assert known.difference == digits


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (GOOD.replace("reason: it is so", "about: x"), ":1: a known failure has no reason; add `reason: ...`"),
        (GOOD.replace("it is so", "' '"), ":3: reason is empty"),
        (GOOD.replace("it is so", "no"), ":3: reason is no, which YAML reads as true or false"),
        (GOOD.replace("abcdef", "abcdeg"), ":2: difference is not 16 hexadecimal digits"),
        (GOOD.replace("0123456789abcdef", "[a]"), ":2: difference is not 16 hexadecimal digits"),
        (GOOD + "  expires: soon\n", ":4: expires is not a date"),
        (GOOD + "  expires: 2026-02-30\n", ":4: expires is not a date"),
        (GOOD + "  expires: 20260230\n", ":4: expires is not a date"),
        (GOOD + "  expires: {}\n", ":4: expires is not a date"),
        (GOOD + GOOD, ":4: s/a is already listed above"),
        (GOOD + "  code: TV101\n", ":1: a known failure needs either a code or cases"),
        ("- reason: x\n", ":1: a known failure needs either a code or cases"),
        ("- {case: s/a, reason: x}\n", "a known failure with case needs a difference"),
        ("- {cases: {s/a: 12}, reason: x}\n", "cases s/a is not 16 hexadecimal digits"),
        ("- {cases: [s/a], reason: x}\n", "cases is a list"),
        ("- code: TV999\n  reason: x\n", ":1: code 'TV999' is unknown"),
        ("- code: TV101\n  reason: x\n  ids: 5\n", ":3: ids is 5; write a list"),
        ("- code: TV101\n  reason: x\n  ids: [-5]\n", "write a whole number"),
        ("- code: TV101\n  reason: x\n  fingerprint: xyz\n", "8 to 64 lower-case hexadecimal digits"),
        (GOOD + "  expiry: 2026-01-01\n", "did you mean 'expires'?"),
        ("{}", "the file of known failures is a mapping"),
        ("", "the file is empty; write at least a list of known failures"),
    ],
)
def test_mistakes_are_reported_with_their_line(tmp_path: Path, text: str, complaint: str):
    path = written(tmp_path, text)
    with pytest.raises(TokverifyError) as raised:
        read_baseline(path, TODAY)
    assert complaint in str(raised.value)
    assert str(raised.value).startswith(str(path))


def test_an_unreadable_baseline_is_an_error(tmp_path: Path):
    with pytest.raises(TokverifyError, match="cannot read the known failures: No such file"):
        read_baseline(tmp_path / "absent.yaml", TODAY)
