"""The formats of an audit with hostile texts; test_ci_formats.py tests most of them."""

from support.hostile_audit import hostile_audit
from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions


def test_the_markdown_contains_every_finding():
    text = FORMATS["audit"]["markdown"](hostile_audit(), RenderOptions())
    assert "### ERROR TV101 x" in text
    assert "ids 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22 and 38 more" in text
    assert "### INFO TV103 y" in text
    assert "### Accepted" in text
