"""The Markdown formats, read by a parser of Markdown: nothing that a text holds may become anything but text."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.hostile_audit import hostile_audit
from support.hostile_chat import hostile_chat
from support.hostile_corpus import hostile_corpus
from support.hostile_finding import hostile_change, hostile_fuzz
from support.hostile_stats import hostile_stats
from support.make_golden import hostile_report
from support.markdown_reading import check_plain, tokens
from tokverify.render.kinds import FORMATS
from tokverify.render.markdown_text import block, cell_code, code, details, prose, table
from tokverify.render.options import RenderOptions
from tokverify.text.visible import visible, visible_message

ANY = st.text(alphabet=st.sampled_from("`|\\*_[]()<>&#~$@!:/-+. aw\t\n\r\x1b\u202e·🦙http1")) | st.text(max_size=30)


@given(ANY)
def test_markdown_keeps_prose_unchanged(text: str):
    read = list(tokens(f"x {prose(text)} x"))
    assert {token.type for token in read} <= {"paragraph_open", "paragraph_close", "inline", "text"}
    seen = "".join(token.content for token in read if token.type == "text")
    assert seen == f"x {visible_message(text)} x"


@given(ANY)
def test_markdown_keeps_code_unchanged(text: str):
    if text:
        assert [t.content for t in tokens(f"x {code(visible(text))} x") if t.type == "code_inline"] == [visible(text)]


@given(ANY, ANY)
def test_markdown_keeps_cells_unchanged(first: str, second: str):
    read = list(tokens(table(("a", "b"), [(cell_code(visible("x" + first)), prose(f"x{second}x"))])))
    assert [token.type for token in read].count("td_open") == 2
    assert [token.content for token in read if token.type == "code_inline"] == [visible("x" + first)]
    seen = "".join(token.content for token in read if token.type == "text")
    assert seen == "ab" + visible_message(f"x{second}x")


@given(st.lists(ANY, max_size=4))
def test_markdown_keeps_blocks_unchanged(lines: list[str]):
    lines = [visible(line) for line in lines]
    (fence,) = tokens(details("s", block(lines)).partition("\n\n")[2].partition("\n</details>")[0])
    assert fence.content == "".join(f"{line}\n" for line in lines)


def test_markdown_contains_no_unintended_syntax():
    write = FORMATS["run"]["markdown"]
    for text in (
        write(hostile_report(), RenderOptions()),
        write(hostile_report(), RenderOptions(verbose=True)),
        FORMATS["audit"]["markdown"](hostile_audit(), RenderOptions()),
        FORMATS["chat"]["markdown"](hostile_chat(), RenderOptions(verbose=True)),
        FORMATS["stats"]["markdown"](hostile_stats(), RenderOptions(verbose=True)),
    ):
        check_plain(text)


def test_a_diagnosis_that_found_nothing_or_had_no_time_says_so():
    report = hostile_report()
    nothing = replace(report.diagnosis, explanations=(), tried=5)
    text = FORMATS["run"]["markdown"](replace(report, diagnosis=nothing), RenderOptions())
    assert "### Diagnosis\n\nnone of the 5 changes that were tried makes a failing case match\n\n" in text
    early = replace(report.diagnosis, tried=5, stopped_early=True, not_tried=("merges",))
    text = FORMATS["run"]["markdown"](replace(report, diagnosis=early), RenderOptions())
    assert "\n\nthe limit was reached after 5 changes; not tried: merges\n\n" in text


@pytest.mark.parametrize(
    ("formats", "report"),
    [
        (FORMATS["run"], hostile_report()),
        (FORMATS["audit"], hostile_audit()),
        (FORMATS["diff"], hostile_change()),
        (FORMATS["chat"], hostile_chat()),
        (FORMATS["fuzz"], hostile_fuzz()),
        (FORMATS["stats"], hostile_stats()),
        (FORMATS["corpus"], hostile_corpus()),
    ],
    ids=["run", "audit", "change", "chat", "fuzz", "stats", "corpus"],
)
def test_a_summary_holds_what_fits(formats, report):
    write = formats["markdown"]
    whole = write(report, RenderOptions())
    size = len(whole.encode())
    assert write(report, RenderOptions(limit=size)) == whole
    for limit in (*range(0, 200, 7), *range(200, size, size // 10)):
        cut = write(report, RenderOptions(limit=limit))
        assert len(cut.encode()) <= limit
        assert cut.endswith("write the report to a file to read them.\n") or (not cut and limit < 200)
