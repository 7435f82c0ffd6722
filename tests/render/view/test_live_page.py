"""The live page in a real Chromium: typing, keyboard, copying, saved reports, accessibility, and hostile tokens."""

import threading
from dataclasses import replace

import pytest

from support.make_golden import hostile_report
from support.paths import SAMPLE
from support.selection import thinned
from tokverify.commands.tasks.opening import open_model, open_reference
from tokverify.commands.tasks.run import verify_model
from tokverify.commands.tasks.view import View, serve_view
from tokverify.engine.encoder import Encoder
from tokverify.report.codec import encode
from tokverify.sources.load import load_gguf
from tokverify.spec import TokenType
from tokverify.system.local_server import LocalServer

pytestmark = pytest.mark.process

INJECTION = '</script><img src=x onerror="hacked = 1">'


def start(server: LocalServer):
    thread = threading.Thread(target=server.serve)
    thread.start()
    return server, thread


def stop(server: LocalServer, thread: threading.Thread) -> None:
    server.stop()
    thread.join()


@pytest.fixture(scope="module")
def url():
    """Serve the broken sample next to its reference."""
    server, thread = start(serve_view(SAMPLE / "sample-broken.gguf", SAMPLE / "sample.tokenizer.model"))
    yield server.url
    stop(server, thread)


@pytest.fixture
def open_page(open_address, url):
    def open_(address: str = url, **options: object):
        # Chromium logs every answer with the status 400, which the page shows.
        return open_address(address, expected="400", permissions=["clipboard-read", "clipboard-write"], **options)

    return open_


def wait_for(page, place: str, text: str) -> None:
    page.locator(place).filter(has_text=text).wait_for()


def type_text(page, text: str, summary: str) -> None:
    page.fill("#text", text)
    wait_for(page, "#summary", summary)


def test_the_page_opens_with_the_first_text_that_differs(open_page):
    page = open_page()
    wait_for(page, "#summary", "Different in")
    first = verify_model(SAMPLE / "sample-broken.gguf", SAMPLE / "sample.tokenizer.model").results
    expected = next(result.case.text for result in first if result.fails)
    assert page.input_value("#text") == expected


def test_tokens_follow_the_text(open_page):
    page = open_page()
    type_text(page, "ab", "Equal: 2 tokens")
    assert page.locator("#list .token").count() == 4
    type_text(page, "a   b", "Different in 1 place")
    assert page.locator("#list .differs .token.actual").count() == 3


def test_an_option_that_one_side_lacks_is_named(open_page):
    page = open_page()
    type_text(page, "ab", "Equal: 2 tokens")
    page.check("#add_special")
    wait_for(page, "#changed", "compared with add_special off")
    page.uncheck("#add_special")
    # subtle: not wait_for_function, which the page's Content Security Policy forbids unless it holds at once.
    page.locator("#changed:empty").wait_for(state="attached")


def test_options_that_cannot_be_compared_are_corrected_for_tokens_and_stages(open_page):
    page = open_page()
    page.click("#stages summary")
    type_text(page, "<bos>ab", "Equal")
    assert page.is_checked("#parse_special")
    wait_for(page, "#changed", "compared with parse_special off: sentencepiece never recognizes control tokens")
    assert "compared with" not in page.inner_text("#facts")
    wait_for(page, "#facts", "add_special off, parse_special off")
    wait_for(page, "#explained", "parse_special off")


# Draws the answer for a text into the page, and once more from nothing; returns both, with the places of all tokens.
REDRAW = """async text => {
  TEXT.value = text;
  const answer = await ask("tokens", request());
  drawTokens(answer);
  const places = (root) => [...root.querySelectorAll(".token")].map((token) => {
    const { lane, column, offset } = DETAILS.get(token);
    return column[lane + "Start"] + offset;
  });
  const whole = drawAlignment(answer.tokens, answer.cases[0]);
  return [LIST.firstChild, whole].map((root) => [root.outerHTML, places(root)]);
}"""
LONG = "a   b é " * 120


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param(["abc abc", "xabc abc", "abc abc", "abc abcx"], id="equal"),
        pytest.param(["a   b", "a   bc", "é a   bc", "a   b   bc", "ab", "a   b"], id="different"),
        pytest.param([LONG, "x" + LONG, LONG + "x", LONG[:500] + "zz" + LONG[500:], "a", LONG], id="longer-than-shown"),
        pytest.param(["x " * 40 + "a   b", "x " * 41 + "a   b", "y" + "x " * 41 + "a   b   b"], id="folded"),
    ],
)
def test_a_redrawn_alignment_equals_a_new_one(open_page, texts: list[str]):
    page = open_page()
    for text in texts:
        redrawn, new = page.evaluate(REDRAW, text)
        assert redrawn == new


def test_columns_that_stay_the_same_are_kept(open_page):
    page = open_page()
    # The page draws its first text when the answer arrives.
    page.wait_for_load_state("networkidle")
    page.evaluate(REDRAW, "a   b c")
    page.evaluate("[...LIST.querySelectorAll('.column')].forEach((column) => { column.isOld = true; })")
    page.evaluate(REDRAW, "a   b c d")
    assert page.evaluate("[...LIST.querySelectorAll('.column')].filter((column) => !column.isOld).length") == 1


def test_a_text_typed_after_a_folded_run_was_opened_is_drawn_anew(open_page):
    page = open_page()
    text = "x " * 40 + "a   b"
    page.evaluate(REDRAW, text)
    page.click("#list .fold")
    redrawn, new = page.evaluate(REDRAW, text + "b")
    assert redrawn == new


def test_more_columns_stay_shown_while_typing(open_page):
    page = open_page()
    type_text(page, LONG, "Different")
    page.click("#list .more >> nth=-1")
    columns = page.locator("#list .column").count()
    assert columns > 300
    type_text(page, LONG + "x", "Different")
    page.evaluate(REDRAW, LONG + "xy")
    assert page.locator("#list .column").count() >= columns


def test_alt_n_moves_from_one_difference_to_the_next(open_page):
    page = open_page()
    type_text(page, "a   b   c", "Different in 2 places")
    columns = []
    for _ in range(3):
        page.keyboard.press("Alt+n")
        columns.append(
            page.evaluate(
                "[...document.querySelectorAll('.differs')].indexOf(document.activeElement.closest('.differs'))"
            )
        )
    assert columns == [0, 1, 0]


def test_the_case_is_copied_as_yaml_as_soon_as_it_is_typed(open_page):
    page = open_page()
    page.fill("#text", "a\tb")
    page.click("#copy")
    wait_for(page, "#copy", "Copied")
    assert 'text: "a\\tb"' in page.evaluate("navigator.clipboard.readText()")


def test_stages_are_shown_when_they_are_opened_and_then_follow_the_text(open_page):
    page = open_page()
    type_text(page, "abc", "")
    page.click("#stages summary")
    wait_for(page, "#explained", "3 characters")
    page.fill("#text", "abcd")
    wait_for(page, "#explained", "4 characters")


def test_a_saved_report_opens_in_its_own_page(open_page, tmp_path):
    saved = tmp_path / "report.json"
    saved.write_text(encode(hostile_report()), encoding="utf-8")
    page = open_page()
    page.set_input_files("#report", saved)
    page.wait_for_selector("#opened a")
    with page.context.expect_page() as opened:
        page.click("#opened a")
    assert opened.value.locator("#outcome").count() == 1


def test_a_file_that_is_no_report_is_an_error_on_the_page(open_page, tmp_path):
    other = tmp_path / "other.json"
    other.write_text("[]", encoding="utf-8")
    page = open_page()
    page.set_input_files("#report", other)
    wait_for(page, "#opened", "the report: $: Expected")


@pytest.mark.parametrize(("dark", "width"), thinned(2, [(True, 360), (False, 1000)]), ids=["dark-phone", "light"])
def test_axe_finds_nothing(open_page, dark: bool, width: int):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs the extra `browser`")
    page = open_page(dark=dark, width=width)
    type_text(page, "a   b <start_of_turn>\n日本 🙂", "Different")
    page.click("#stages summary")
    wait_for(page, "#explained", "characters")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    found = axe.Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_hostile_tokens_stay_text(open_page):
    spec = load_gguf(SAMPLE / "sample.gguf").spec
    model = open_model(SAMPLE / "sample.gguf")
    spec = replace(spec, tokens=[*spec.tokens[:-1], INJECTION], types=[*spec.types[:-1], TokenType.USER_DEFINED])
    model.encoder = Encoder(spec, INJECTION)
    server, thread = start(LocalServer(View(model, open_reference(model, SAMPLE / "sample.tokenizer.model")).respond))
    try:
        page = open_page(server.url)
        type_text(page, INJECTION, "Different")
        page.click("#stages summary")
        wait_for(page, "#explained", "characters")
        assert INJECTION.replace(" ", "·") in page.locator("#list").text_content()
        assert page.evaluate("typeof hacked") == "undefined"
        assert page.locator("main img, main script").count() == 0
    finally:
        stop(server, thread)


@pytest.mark.parametrize(
    "ask", [lambda page: page.fill("#text", "abc"), lambda page: page.click("#copy")], ids=["typing", "copying"]
)
def test_a_stopped_program_is_reported(open_page, ask):
    server, thread = start(serve_view())
    page = open_page(server.url)
    type_text(page, "ab", "Equal")
    stop(server, thread)
    page.evaluate("() => { window.fetch = () => Promise.reject(new Error()); }")
    ask(page)
    wait_for(page, "#summary", "tokverify does not answer")
