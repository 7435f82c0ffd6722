"""The page of any document: it shows everything that the document says."""

import lxml.html
import pytest

from support.document_reading import texts_of
from support.hostile_reports import REPORTS
from tokverify.render.document import (
    Alignment,
    Column,
    Details,
    Document,
    Fields,
    Heading,
    Only,
    Paragraph,
    Section,
    Span,
    Style,
    Table,
    bar,
    exact,
    message,
    with_code,
)
from tokverify.render.draw_html import draw_html
from tokverify.render.kinds import FORMATS, describe
from tokverify.render.options import RenderOptions
from tokverify.texts.alignment import compare
from tokverify.tokenizer import Token


def read(*sections: Section, **fields: object) -> lxml.html.HtmlElement:
    given = {"title": "t", "verdict": "v", "exit_code": 0, "outcome": ("Passed", "all is well"), **fields}
    return lxml.html.fromstring(draw_html(Document(sections=sections, **given)))


def tokens(*texts: str) -> list[Token]:
    return [Token(ord(text[0]), text, text.encode()) for text in texts]


@pytest.mark.parametrize("kind", [kind for kind in REPORTS if kind != "run"])
def test_the_page_says_all_that_the_document_says(kind: str):
    report = REPORTS[kind]()
    shown = lxml.html.fromstring(FORMATS[kind]["html"](report, RenderOptions())).text_content()
    squeezed = "".join(shown.split())
    said = list(texts_of(describe(kind, report, RenderOptions(verbose=True)), "html"))
    assert said
    assert [text for text in said if "".join(text.split()) not in squeezed] == []


@pytest.mark.parametrize("kind", REPORTS)
def test_quiet_and_verbose_change_nothing(kind: str):
    report, write = REPORTS[kind](), FORMATS[kind]["html"]
    assert write(report, RenderOptions(quiet=True)) == write(report, RenderOptions(verbose=True))


def test_the_page_begins_with_the_verdict():
    root = read(verdict="3 cases: 1 fails; but that is known", exit_code=1, outcome=("Failed", "a case differs"))
    assert root.xpath("string(//h1)").split() == ["✗", "Failed"]
    assert root.xpath("string(//p[@class='counted'])") == "3 cases: 1 fails"
    assert root.xpath("string(//p[@class='reservation'])") == "but that is known"
    assert root.xpath("string(//p[@class='exit'])") == "Exit code 1: a case differs."


def test_sections_share_a_card_up_to_the_next_heading():
    text = [Paragraph("x")]
    root = read(
        Section(text), Section(text), Section(text, "Named"), Section(text), Section([Heading("Open")]), Section(text)
    )
    cards = root.xpath("//div[@id='report']/section")
    assert [(card.xpath("string(h2)"), len(card.xpath("p"))) for card in cards] == [
        ("", 2),
        ("Named", 1),
        ("", 1),
        ("Open", 1),
    ]


def test_a_label_before_a_title_is_what_readers_filter_by():
    title = [message("ERROR ", Style.BAD), message("TV101 name")]
    folded = Details([message("MISMATCH ", Style.BAD), message("a/b")], [Paragraph("why")], hint=message("hint"))
    root = read(Section([Paragraph("found")], title), Section([folded]))
    assert root.xpath("//*[contains(@class, 'entry')]/@data-label") == ["ERROR", "MISMATCH"]
    assert [badge.text for badge in root.xpath("//b[contains(@class, 'badge is-bad')]")] == ["ERROR", "MISMATCH"]
    assert root.xpath("string(//summary/span[@class='name'])") == "a/b"
    assert root.xpath("string(//summary/span[@class='headline'])") == "hint"


def test_only_the_first_entries_and_short_tables_are_open():
    label = message("ERROR ", Style.BAD)
    failing = [Details([label, message(str(number))], [Paragraph("x")]) for number in range(7)]
    long = Table([Column("a")], [["x"]] * 61)
    root = read(Section(failing), Section([Details("short", [Table([Column("a")], [["x"]])]), Details("long", [long])]))
    entries = root.xpath("//details[contains(@class, 'entry')]")
    assert [entry.get("open") is not None for entry in entries] == [*[True] * 5, False, False, True, False]
    assert root.xpath("//details/details/summary/text() | //details//details/summary/text()") == ["61 rows"]


def test_what_is_for_markdown_is_for_pages_unless_they_have_their_own():
    section = Section([Only("table", [Paragraph("t")]), Only("markdown", [Paragraph("m")])])
    assert read(section).xpath("//div[@id='report']//p[@class='message']/text()") == ["m"]
    section = Section([*section.blocks, Only("html", [Paragraph("h")])])
    assert read(section).xpath("//div[@id='report']//p[@class='message']/text()") == ["h"]


def test_a_very_long_table_is_cut():
    root = read(Section([Table([Column("n", is_number=True)], [[str(n)] for n in range(1010)])]))
    assert len(root.xpath("//tbody/tr")) == 1000
    assert root.xpath("//p[@class='help']/text()") == ["10 more, all of them in -f json"]


def test_a_share_is_a_bar_beside_its_number():
    root = read(Section([Table([Column("n")], [[bar("3", 3, 4)], [bar("0", 0, 0)]])]))
    assert root.xpath("//rect[@class='is-bad']/@width") == ["75.0%", "0.0%"]
    assert [cell.text_content() for cell in root.xpath("//td")] == ["3", "0"]


def test_styles_and_code_are_kept():
    root = read(Section([Fields([("a", [exact(" x", Style.ACTUAL), " and ", message("y", Style.GOOD)])])]))
    (line,) = root.xpath("//dd/p")
    assert [(part.tag, part.get("class"), part.text) for part in line] == [
        ("code", "is-actual", "·x"),
        ("span", "is-good", "y"),
    ]


@pytest.mark.parametrize(("count", "shown"), [(4, 5), (5, 1)])
def test_many_lines_of_little_interest_are_folded(count: int, shown: int):
    dim = [("", message(f"setting {number}", Style.DIM)) for number in range(count)]
    root = read(Section([Fields([("model", message("m")), *dim])]))
    assert len(root.xpath("//dd/p")) == shown
    assert len(root.xpath("//dd/details/p")) == count + 1 - shown


def test_names_between_backticks_are_code():
    assert with_code("use `a` or `b`.") == [
        Span("use "),
        Span("a", is_code=True),
        Span(" or "),
        Span("b", is_code=True),
        Span("."),
    ]


def test_an_alignment_shows_both_sides_of_each_column():
    difference = compare(tokens("a", "b", "c"), tokens("a", "bc"))
    root = read(Section([Details("x", [Alignment(difference, "expected", fold=False)])]))
    columns = [
        (
            column.get("class"),
            column.xpath("string(span[@class='text'])"),
            column.xpath("span[@class='lane actual']/span/text()"),
            column.xpath("span[@class='lane expected']/span/text()"),
        )
        for column in root.xpath("//span[starts-with(@class, 'column')]")
    ]
    assert columns == [("column", "a", ["a"], ["a"]), ("column differs", "bc", ["b", "c"], ["bc"])]
    assert root.xpath("//span[@class='lane expected']/span/@title")[1] == "expected: token 98, bytes 62 63"


def test_the_middle_of_a_long_run_of_equal_tokens_is_folded():
    run = ["r"] * 400
    difference = compare(tokens(*run, "a"), tokens(*run, "b"))
    root = read(Section([Details("x", [Alignment(difference, "expected", fold=False)])]))
    assert root.xpath("//details[@class='run']/summary/text()") == ["392 equal"]
    assert len(root.xpath("//div[@class='alignment with-ids']/span[@class='column']")) == 8
    assert root.xpath("//details[@class='run']//span[@class='help']/text()") == ["and 96 more"]


def test_a_long_lane_says_how_much_it_lacks():
    difference = compare(tokens(*"x" * 150), tokens("y"))
    root = read(Section([Details("x", [Alignment(difference, "expected", fold=False)])]))
    assert len(root.xpath("//span[@class='token actual']")) == 100
    assert root.xpath("//span[@class='nothing']/text()") == ["50 more"]


def test_the_tokens_of_very_many_entries_are_lines():
    alignment = Alignment(compare(tokens("a"), tokens("b")), "expected", fold=False)
    root = read(Section([Details(f"x{number}", [alignment]) for number in range(203)]))
    entries = root.xpath("//details[contains(@class, 'entry')]")
    assert [len(entry.xpath(".//div[@role='group']")) for entry in entries] == [*[1] * 200, *[0] * 3]
    assert entries[-1].xpath(".//pre/span/text()") == ["- actual    97 a", "+ expected  98 b"]
