"""The document model: both formats draw the same blocks, and hostile texts stay what they are."""

from dataclasses import replace
from textwrap import dedent

from tokverify.render.document import (
    Bullets,
    Code,
    Column,
    CommandLine,
    Details,
    Document,
    Fields,
    Heading,
    Item,
    Items,
    Names,
    Only,
    Paragraph,
    Section,
    Style,
    Table,
    code,
    exact,
    message,
    only,
)
from tokverify.render.draw_markdown import draw_markdown
from tokverify.render.draw_table import draw_table
from tokverify.render.options import RenderOptions
from tokverify.report.diagnosis import Command


def document(*blocks, heading="", exit_code=1):
    return Document(message("tokverify: a*b"), "2 cases: 1 mismatch", exit_code, [Section(blocks, heading)])


def table(*blocks, **options):
    return draw_table(document(*blocks, **options), RenderOptions(width=60))


def markdown(*blocks, **options):
    return draw_markdown(document(*blocks, **options), RenderOptions())


def body(*blocks):
    """Return what follows the title and the verdict in Markdown."""
    return markdown(*blocks).split("\n\n", 2)[2]


def test_title_and_verdict():
    assert markdown() == "## ❌ tokverify: a\\*b\n\n**2 cases: 1 mismatch**\n"
    assert markdown(exit_code=0).startswith("## ✅ ")
    assert table() == "2 cases: 1 mismatch\n"


def test_sections_for_one_format_are_left_out_of_the_others():
    shown = document()
    sections = [Section([Paragraph("text")], "Heading")]
    shown = replace(shown, sections=[*only("markdown", sections), *only("table", [])])
    assert "### Heading\n\ntext\n" in draw_markdown(shown, RenderOptions())
    assert draw_table(shown, RenderOptions()) == "2 cases: 1 mismatch\n"


def test_quiet_output_is_the_verdict():
    quiet = RenderOptions(quiet=True)
    assert draw_table(document(Paragraph("text")), quiet) == "2 cases: 1 mismatch\n"
    assert "text" not in draw_markdown(document(Paragraph("text")), quiet)


def test_a_heading_is_drawn_above_its_blocks():
    assert table(Paragraph("text"), heading="Not evaluated").startswith("NOT EVALUATED\n  text\n")
    assert "### Not evaluated\n\ntext\n" in markdown(Paragraph("text"), heading="Not evaluated")


def test_hostile_texts_are_escaped_once():
    text = [message("[red]\x1b|<b>", Style.BAD), " ", exact("a b`|")]
    assert table(Paragraph(text)).startswith("[red]\\x1b|<b> a·b`|\n")
    assert body(Paragraph(text)) == "**\\[red\\]\\\\x1b\\|\\<b\\>** ``a·b`|``\n"


def test_hostile_headings_and_labels_are_escaped():
    drawn = body(Table([Column("<b>|")], [["x"]]), Fields([("<i>|", "y")]))
    assert "| \\<b\\>\\| |" in drawn
    assert "| \\<i\\>\\| | y |" in drawn


def test_fields():
    fields = Fields([("model", code("a|b")), ("", "second"), ("other", "third")])
    assert table(fields).startswith("model  a|b\n       second\nother  third\n")
    assert "| model | `a\\|b`<br>second |\n| other | third |\n" in body(fields)


def test_rows():
    rows = Table([Column("name"), Column("count", is_number=True)], [["a", "1"], ["b", "20"]], left_out="3 more")
    assert table(rows).startswith("name  count\na         1\nb        20\n... 3 more ...\n")
    assert body(rows) == dedent(
        """\
        | name | count |
        | --- | --: |
        | a | 1 |
        | b | 20 |

        3 more
        """
    )


def test_lists():
    assert table(Bullets(["a", "b"])).startswith("- a\n- b\n")
    assert body(Bullets(["a", "b"])) == "- a\n- b\n"


def test_numbered_items_with_commands():
    items = [Item(["a", "more"], [Command("repair", ("tokverify fix",))]), Item(["b"])]
    numbered = Items(items, note="stopped early")
    assert table(numbered, heading="Diagnosis").startswith(
        "DIAGNOSIS\n  1  a\n     more\n     repair: tokverify fix\n  2  b\n     stopped early\n"
    )
    assert body(numbered) == "1. a; more; repair: `tokverify fix`\n2. b\n\nstopped early\n"


def test_further_lines_of_an_item_without_a_number_are_indented_when_they_wrap():
    item = Item(["limit", "advice " * 20])
    [_, _, first, second, *_] = table(Items([item], numbered=False), heading="Limits").splitlines()
    assert (first[:12], second[:12]) == ("      advice", "      advice")


def test_names_of_cases():
    names = Names("skipped", "it <is>", ["s/a", "s/b"])
    assert table(names).startswith("SKIPPED it <is>\n  2 cases  s/a, s/b\n")
    assert body(names) == (
        "<details><summary>Skipped, 2 cases: it &lt;is&gt;</summary>\n\n```text\ns/a\ns/b\n```\n\n</details>\n"
    )


def test_a_section_without_blocks_for_a_format_is_left_out():
    assert table(Only("markdown", [Heading("Cases")]), heading="Empty") == "2 cases: 1 mismatch\n"
    assert body(Only("markdown", [Heading("Cases")])) == "### Cases\n"


def test_a_command_can_be_pasted():
    block = CommandLine(Command("repair", ("tokverify fix", "'a  b'")))
    assert table(block).startswith("repair: tokverify fix 'a  b'\n")
    assert body(block) == "repair: `tokverify fix 'a  b'`\n"


def test_details_are_folded_in_markdown_only():
    block = Details(message("a <b>"), [Code(["x  y"], "diff")])
    assert table(block).startswith("a <b>\n  x  y\n")
    assert body(block) == "<details><summary>a &lt;b&gt;</summary>\n\n```diff\nx  y\n```\n\n</details>\n"


def test_a_block_for_one_format_appears_only_there():
    blocks = [Only("table", [Paragraph("for table")]), Only("markdown", [Paragraph("for markdown")])]
    assert "for table" in table(*blocks)
    assert "for markdown" not in table(*blocks)
    assert body(*blocks) == "for markdown\n"
