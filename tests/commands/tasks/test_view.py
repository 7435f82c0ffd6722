"""What the live page asks, without a browser."""

import json

import pytest

from support.make_golden import hostile_report
from support.paths import SAMPLE
from tokverify.cases.loading import load_cases
from tokverify.commands.tasks.opening import open_model, open_reference
from tokverify.commands.tasks.view import MAX_EXPLAINED, MAX_TEXT, View
from tokverify.errors import TokverifyError
from tokverify.report.codec import encode
from tokverify.report.run import Status


@pytest.fixture(scope="module")
def view() -> View:
    model = open_model(SAMPLE / "sample-broken.gguf")
    return View(model, open_reference(model, SAMPLE / "sample.tokenizer.model"))


def ask(view: View, path: str, **request: object) -> dict:
    return json.loads(view.respond("POST", path, json.dumps(request).encode()).body)


def test_both_sides_encode_the_text(view: View):
    (result,) = view.compare("a   b").results
    assert result.status is Status.MISMATCH
    assert len(result.actual) > len(result.expected) == 3
    (equal,) = view.compare("ab").results
    assert equal.status is Status.MATCH


def test_the_answer_holds_everything_that_the_script_draws(view: View):
    answer = ask(view, "tokens", text="a   b", parse_special=True)
    assert answer["summary"] == "Different in 1 place: 4 tokens in actual, 3 in expected"
    (case,) = answer["cases"]
    assert (case["status"], case["text"]) == ("mismatch", "a···b")
    assert ask(view, "tokens", text="ab")["summary"] == "Equal: 2 tokens on both sides"


def test_the_case_is_valid_yaml(view: View, tmp_path):
    text = 'tab\t "quote" \u202e é\n'
    path = tmp_path / "live.yaml"
    path.write_text(ask(view, "tokens", text=text, add_special=True)["yaml"], encoding="utf-8")
    (case,) = load_cases([path])
    assert (case.text, case.add_special, case.parse_special) == (text, True, False)


def test_the_stages_are_explained_on_request(view: View):
    stages = ask(view, "stages", text="a   b")["stages"]
    assert "added tokens" in stages
    assert "sentencepiece" in stages


def test_a_saved_report_is_shown_under_a_path_of_its_own(view: View):
    path = json.loads(view.respond("POST", "report", encode(hostile_report()).encode()).body)["path"]
    page = view.respond("GET", path, b"")
    assert page.content_type == "text/html"
    assert b"<h1" in page.body
    assert view.respond("GET", f"{path}9", b"") is None


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("tokens", b"", "the request is not JSON: "),
        ("tokens", b"[]", "the request has no text"),
        ("tokens", b'{"text": 5}', "the request has no text"),
        ("tokens", json.dumps({"text": "a" * (MAX_TEXT + 1)}).encode(), "the page shows at most 100,000"),
        ("stages", json.dumps({"text": "a" * (MAX_EXPLAINED + 1)}).encode(), "the page explains at most 2,000"),
        ("stages", b'{"text": "\\ud800"}', "surrogate"),
        ("report", b"{}", "the report: \\$.kind: "),
        ("report", b"\xff", "the report is not JSON: "),
    ],
)
def test_a_wrong_request_is_an_error(view: View, path: str, body: bytes, message: str):
    with pytest.raises(TokverifyError, match=message):
        view.respond("POST", path, body)


def test_unknown_paths_are_not_answered(view: View):
    assert view.respond("GET", "tokens", b"") is None
    assert view.respond("POST", "", b"{}") is None
