"""The Markdown formats, read by a parser of Markdown: nothing that a text holds may become anything but text."""

import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.document_reading import texts_of
from support.hostile_reports import REPORTS
from support.make_golden import hostile_report
from support.markdown_reading import check_plain, tokens
from support.selection import thinned
from tokverify.render.document import Style, exact, message, spans
from tokverify.render.draw_markdown import cell_code, code, code_block, details, escaped, table, to_markdown
from tokverify.render.kinds import FORMATS, describe
from tokverify.render.options import RenderOptions
from tokverify.text.visible import visible, visible_message

ANY = st.text(alphabet=st.sampled_from("`|\\*_[]()<>&#~$@!:/-+. aw\t\n\r\x1b\u202e·🦙http1")) | st.text(max_size=30)


@given(ANY)
def test_markdown_keeps_prose_unchanged(text: str):
    read = list(tokens(f"x {escaped(visible_message(text))} x"))
    assert {token.type for token in read} <= {"paragraph_open", "paragraph_close", "inline", "text"}
    seen = "".join(token.content for token in read if token.type == "text")
    assert seen == f"x {visible_message(text)} x"


@given(ANY)
def test_markdown_keeps_code_unchanged(text: str):
    if text:
        assert [t.content for t in tokens(f"x {code(visible(text))} x") if t.type == "code_inline"] == [visible(text)]


@given(ANY, ANY)
def test_markdown_keeps_cells_unchanged(first: str, second: str):
    read = list(tokens(table(("a", "b"), [(cell_code(visible("x" + first)), escaped(visible_message(f"x{second}x")))])))
    assert [token.type for token in read].count("td_open") == 2
    assert [token.content for token in read if token.type == "code_inline"] == [visible("x" + first)]
    seen = "".join(token.content for token in read if token.type == "text")
    assert seen == "ab" + visible_message(f"x{second}x")


@given(st.lists(ANY, max_size=4))
def test_markdown_keeps_blocks_unchanged(lines: list[str]):
    lines = [visible(line) for line in lines]
    (fence,) = tokens(details("s", code_block(lines)).partition("\n\n")[2].partition("\n</details>")[0])
    assert fence.content == "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("kind", REPORTS)
def test_markdown_contains_no_unintended_syntax(kind: str, verbose: bool):
    check_plain(FORMATS[kind]["markdown"](REPORTS[kind](), RenderOptions(verbose=verbose)))


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("kind", REPORTS)
def test_markdown_says_what_the_document_says(kind: str, verbose: bool):
    options = RenderOptions(verbose=verbose)
    report = REPORTS[kind]()
    text = FORMATS[kind]["markdown"](report, options)
    shown = "".join("".join(shown_texts(text)).split())
    said = list(texts_of(describe(kind, report, options), "markdown"))
    assert [each for each in said if "".join(each.split()) not in shown] == []
    # An asterisk or a backtick that the document does not contain is one that the parser did not understand.
    own = "".join(said) + "".join(title_and_verdict(kind, report))
    for character in "*`":
        assert shown.count(character * 2) <= "".join(own.split()).count(character * 2)


@pytest.mark.parametrize("kind", REPORTS)
def test_the_rows_of_tables_are_as_long_as_their_heads(kind: str):
    for cells in tables(FORMATS[kind]["markdown"](REPORTS[kind](), RenderOptions(verbose=True))):
        assert cells
        assert len(set(cells)) == 1


def shown_texts(text: str) -> Iterator[str]:
    """Yield what a reader sees, of folded blocks both the title and the content."""
    for token in tokens(text):
        if token.type in {"text", "code_inline", "fence"}:
            yield token.content
        elif token.type == "html_block":
            yield unescape(re.sub("<[^<>]*>", "", token.content))


def title_and_verdict(kind: str, report: object) -> Iterator[str]:
    document = describe(kind, report, RenderOptions())
    yield from (span.text for span in spans(document.title))
    yield visible_message(document.verdict)


def tables(text: str) -> Iterator[list[int]]:
    """Yield for each table how many cells its rows have, as they are written."""
    for lines in re.findall(r"(?:^\|.*\|\n)+", re.sub(r"(?ms)^(`{3,}).*?^\1$", "", text), flags=re.M):
        yield [len(re.findall(r"(?<!\\)(?:\\\\)*\|", without_code(line))) for line in lines.splitlines()]


def without_code(line: str) -> str:
    """Leave out code, in which a backslash before `|` escapes it, however many stand before."""
    return re.sub(r"(?<!\\)(`+)(?!`).*?(?<!`)\1(?!`)", "", line)


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([message("ERROR ", Style.BAD), message("affixes: ", Style.STRONG), message("why")], "**ERROR affixes:** why"),
        ([message(" a ", Style.STRONG), "b"], " **a** b"),
        ([message("[a]", Style.STRONG), "b"], "\\[a\\]b"),
        (["b", message("[a]", Style.STRONG)], "b\\[a\\]"),
        ([message("", Style.STRONG), message("  ", Style.STRONG)], "  "),
        ([message("a:", Style.STRONG), exact("b")], "**a:**`b`"),
        ([exact("a", Style.STRONG), exact("b")], "`ab`"),
    ],
)
def test_emphasis_is_understood(spans, expected: str):
    assert to_markdown(spans) == expected


@given(st.lists(st.tuples(ANY, st.sampled_from(list(Style))), max_size=4))
def test_emphasis_never_shows_its_asterisks(parts: list[tuple[str, Style]]):
    written = to_markdown(["x ", *(message(text, style) for text, style in parts), " x"])
    seen = "".join(token.content for token in tokens(written) if token.type == "text")
    assert seen == f"x {''.join(visible_message(text) for text, _ in parts)} x"


def test_a_diagnosis_that_found_nothing_or_had_no_time_says_so():
    report = hostile_report()
    nothing = replace(report.diagnosis, explanations=(), tried=5)
    text = FORMATS["run"]["markdown"](replace(report, diagnosis=nothing), RenderOptions())
    assert (
        "### Diagnosis\n\nthe cause is unknown: none of the 5 changes that were tried explains the failing cases\n\n"
        in text
    )
    early = replace(report.diagnosis, tried=5, stopped_early=True, not_tried=("merges",))
    text = FORMATS["run"]["markdown"](replace(report, diagnosis=early), RenderOptions())
    assert "\n\nthe limit was reached after 5 changes; not tried: merges\n\n" in text


@pytest.mark.parametrize("kind", thinned(3, REPORTS))
def test_a_summary_holds_what_fits(kind: str):
    report, write = REPORTS[kind](), FORMATS[kind]["markdown"]
    whole = write(report, RenderOptions())
    size = len(whole.encode())
    assert write(report, RenderOptions(limit=size)) == whole
    for limit in (*range(0, 200, 7), *range(200, size, size // 10)):
        cut = write(report, RenderOptions(limit=limit))
        assert len(cut.encode()) <= limit
        assert cut.endswith("write the report to a file to read them.\n") or (not cut and limit < 200)
