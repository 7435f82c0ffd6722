"""A report in a notebook: colored, and no text that it shows becomes markup."""

import re

from support.make_golden import hostile_report
from support.paths import SAMPLE
from tokverify import verify_model
from tokverify.render.notebook import draw_notebook


def test_a_notebook_shows_the_tokens_in_color_and_the_verdict():
    report = verify_model(SAMPLE / "sample-broken.gguf", SAMPLE / "sample.tokenizer.json")
    html = report._repr_html_()
    assert html == draw_notebook(report)
    assert re.search(r'<span style="color: #[0-9a-f]{6};[^>]*">▁ *</span>', html)
    assert "657 cases: 574 match, 83 mismatch" in re.sub("<[^>]*>", "", html)
    assert repr(report).startswith("<Report: 657 cases: 574 match, 83 mismatch; ")


def test_hostile_texts_stay_texts():
    html = draw_notebook(hostile_report())
    assert set(re.findall(r"</?([a-z]+)", html)) <= {"pre", "span"}
    assert "&lt;script&gt;" in html
