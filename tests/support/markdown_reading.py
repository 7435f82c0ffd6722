"""Parse Markdown as CommonMark does, and check that it contains no active content."""

import re

from markdown_it import MarkdownIt

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


PLAIN = {
    *("paragraph", "heading", "ordered_list", "bullet_list", "list_item", "table", "thead", "tbody", "tr", "th", "td"),
    *("inline", "text", "strong", "code_inline", "fence", "softbreak", "html_block", "html_inline"),
}


def tokens(text: str):
    for token in PARSER.parse(text):
        yield token
        yield from token.children or ()


def shown(text: str) -> str:
    """Return what a reader sees, one text or block a line, without what Markdown itself escapes."""
    return "\n".join(token.content for token in tokens(text) if token.type != "inline")


def check_plain(text: str) -> None:
    for token in tokens(text):
        assert re.sub("_(open|close)$", "", token.type) in PLAIN
        if token.type.startswith("html"):
            assert re.fullmatch(r"<details><summary>[^<>]*</summary>\n|</details>\n|<br>", token.content), token.content
