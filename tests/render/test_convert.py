import json
from dataclasses import replace
from pathlib import Path

import pytest

from tokverify.case import Case
from tokverify.compare.convert import convert
from tokverify.render.convert import verdict
from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions
from tokverify.report.convert import Conversion, PreTokenizerChoice
from tokverify.report.run import Status

SAMPLE = Path(convert.__code__.co_filename).parents[2] / "sample"
HOSTILE = "[red]x[/] [/INST] \x1b[31m\u202e\0"


@pytest.fixture
def conversion(tmp_path) -> Conversion:
    """One text that differs and one that does not, with everything named in a hostile way."""
    cases = [Case(id=id, suite="s", text=text) for id, text in (("same", "a"), ("other", " ▁"))]
    made = convert(SAMPLE / "sample.tokenizer.model", tmp_path / "out.gguf", cases=cases, count=50)
    return replace(
        made,
        target=f"{HOSTILE}.gguf",
        untransportable=(f"lost: {HOSTILE}", "nothing"),
        differing=1,
        unexplained=0,
        written=False,
        strict=True,
        warnings=(f"check {HOSTILE}",),
        pre_tokenizer=PreTokenizerChoice("gpt-2", (HOSTILE,), 7, ("mpt",), ("other",)),
    )


@pytest.mark.parametrize("options", [RenderOptions(), RenderOptions(width=40, verbose=True), RenderOptions(quiet=True)])
def test_hostile_text_is_always_escaped(conversion, options):
    table = FORMATS["convert"]["table"](conversion, options)
    assert not set("\x1b\u202e\0") & set(table)
    joined = "".join(table.split())
    assert "[red]x[/][/INST]\\x1b[31m\\u202e\\x00.gguf:notwritten" in joined


def test_the_table_lists_everything(conversion):
    words = " ".join(FORMATS["convert"]["table"](conversion, RenderOptions(verbose=True)).split())
    assert "not expressible in GGUF: - lost: [red]x" in words
    assert "- nothing" in words
    assert "it splits 1 probe like the source, into 7 pre-tokens" in words
    assert "1 other name would give the same ids: mpt" in words
    assert "the same splits, but the opposite of ignore_merges: other" in words
    assert "cases s/other" in words
    assert "WARNING: check the special tokens - check [red]x[/]" in words


@pytest.mark.parametrize("since", [0, 9445])
def test_a_recent_pre_tokenizer_is_described_with_its_first_build(conversion, since):
    usual = "gpt-4o" if since else ""
    named = replace(conversion, pre_tokenizer=PreTokenizerChoice("minicpm5", ("a",), 1, (), (), since, usual))
    words = " ".join(FORMATS["convert"]["table"](named, RenderOptions()).split())
    assert (f"llama.cpp knows this name since b{since}" in words) == bool(since)
    assert ("for older builds: gguf-new-metadata --pre-tokenizer gpt-4o" in words) == bool(since)


def test_json_survives_hostile_names_too(conversion):
    document = json.loads(FORMATS["convert"]["json"](conversion, RenderOptions()))
    assert document["untransportable"][0] == f"lost: {HOSTILE}"
    assert document["pre_tokenizer"]["texts"] == [HOSTILE]
    assert (document["summary"]["exit_code"], document["written"]) == (1, False)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"warnings": ()}, "not written: 1 of 2 cases differs, only because of limits"),
        ({"warnings": ()}, "limits of llama.cpp; without --strict it is written"),
        ({}, "; 1 warning"),
        ({"written": True}, "written, but 1 of 2 cases differs, only because"),
        ({"differing": 0, "written": True}, "written; it gives the same ids as"),
        ({"written": True, "unexplained": 1}, "written because of --unexplained: 1 of 2 cases"),
        ({"unexplained": 1}, "differs, for no known reason; use --unexplained"),
        (
            {"differing": 3, "unexplained": 1},
            "1 of 2 cases and 2 of 50 generated texts differ, 1 of them for no known reason;",
        ),
    ],
)
def test_the_verdict_mentions_everything_relevant(conversion, changes, expected):
    assert expected in verdict(replace(conversion, **changes))


def test_limits_are_counted_in_texts_of_which_some_are_no_cases(conversion):
    changed = replace(conversion, report=replace(conversion.report, results=()))
    words = " ".join(FORMATS["convert"]["table"](changed, RenderOptions()).split())
    assert "TL005 literal-marker: 1 text differs because" in words
    assert "not written: 1 of 50 generated texts differs, only because of limits" in words


@pytest.mark.parametrize(
    ("second", "expected"), [(Status.ERROR, "as one side cannot encode them"), (Status.MISMATCH, "for no known reason")]
)
def test_texts_that_a_side_refuses_are_no_unknown_difference(conversion, second, expected):
    statuses = (Status.ERROR, second)
    results = [
        replace(result, status=status, explained_by=())
        for result, status in zip(conversion.report.results, statuses, strict=True)
    ]
    changed = replace(conversion, report=replace(conversion.report, results=results), differing=2, unexplained=2)
    assert f"2 of 2 cases differ, {expected};" in verdict(changed)
