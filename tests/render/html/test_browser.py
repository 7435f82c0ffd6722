"""The pages in a real Chromium: that they work by mouse and keyboard, and that nothing gets in or out."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from support.fake_tokenizer import FakeTokenizer
from support.hostile_audit import hostile_audit
from support.hostile_canonical import hostile_canonical
from support.hostile_chat import HOSTILE, hostile_chat
from support.hostile_check import hostile_check
from support.hostile_corpus import hostile_corpus
from support.hostile_finding import hostile_change, hostile_fuzz
from support.hostile_stats import hostile_stats
from support.hostile_stream import hostile_stream
from support.make_golden import MARKUP, hostile_report
from support.paths import ROOT
from support.selection import thinned
from tokverify.case import Case
from tokverify.cases.loading import load_cases
from tokverify.commands.tasks.run import verify_model
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.diff.compare import add_examples
from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions
from tokverify.repair.repair import add_repairs
from tokverify.report.canonical import CanonicalReport
from tokverify.report.corpus import CorpusReport
from tokverify.report.diff import ChangeReport, Part, PartChange
from tokverify.report.fuzz import FuzzReport, GeneratorTally
from tokverify.report.run import Report
from tokverify.report.vocabulary_difference import PieceDifference, VocabularyDifference
from tokverify.texts.alignment import compare_decoded

SAMPLE = ROOT / "tokverify/sample"
INJECTIONS = ["<script>hacked = 1</script>", "</script><script>hacked = 1</script>", '<img src=x onerror="hacked = 1">']


KINDS = ("hostile", "audit", "fuzz", "change", "chat", "check", "stats", "corpus", "stream", "canonical")
"""Pages of each kind of report in which every text is an attack."""


@cache
def broken() -> Report:
    reference = str(SAMPLE / "sample.tokenizer.model")
    return verify_model(SAMPLE / "sample-broken.gguf", reference, load_cases(), diagnose=True)


def short() -> Report:
    """Return part of the report: axe takes ten seconds with hundreds of cases, which are all alike."""
    matches, others = ([one for one in broken().results if one.fails == fails][:20] for fails in (False, True))
    return replace(broken(), results=(*others, *matches))


def injecting_report() -> Report:
    """Make the hostile report more so."""
    return inject(hostile_report())


def inject(report: Report) -> Report:
    """Put an attack into every text that a page copies from a case."""
    attack = " ".join(INJECTIONS)
    results = [
        replace(
            result, message=attack, case=replace(result.case, note=attack, suite=attack, tags=(attack,), file=attack)
        )
        for result in report.results
    ]
    return replace(report, results=tuple(results), actual=replace(report.actual, name=attack, source=attack))


def injecting_fuzz() -> FuzzReport:
    """Make a fuzzing run more hostile."""
    fuzzed = hostile_fuzz()
    generators = {" ".join(INJECTIONS): GeneratorTally(5, 3)}
    return replace(fuzzed, generators=generators, notes=INJECTIONS, report=inject(fuzzed.report))


def injecting_corpus() -> CorpusReport:
    """Make a corpus more hostile, in every text that a page takes from one."""
    attack = " ".join(INJECTIONS)
    report = hostile_corpus()
    return replace(
        report,
        report=inject(report.report),
        causes=tuple(replace(cause, meaning=attack) for cause in report.causes),
        examples=tuple(replace(example, place=attack, judgment=attack) for example in report.examples),
        sources=tuple(replace(group, name=f"{attack} {group.name}") for group in report.sources),
        scripts=tuple(replace(group, name=f"{attack} {group.name}") for group in report.scripts),
        unreadable_groups=tuple(replace(group, reason=attack, places=(attack,)) for group in report.unreadable_groups),
        notes=(attack,),
    )


def injecting_canonical() -> CanonicalReport:
    """Make a check of a log more hostile."""
    report = hostile_canonical()
    return replace(report, report=inject(report.report))


def injecting_change() -> ChangeReport:
    """Make a comparison more hostile, in every text that a page takes from a part."""
    attack = " ".join(INJECTIONS)
    part = Part(attack, (PartChange(attack, attack, attack, None),))
    report = hostile_change()
    # axe takes a minute with more than a thousand rows, which are all alike.
    parts = [replace(long, changes=long.changes[:20]) for long in report.parts]
    changed = replace(report, parts=(*parts, part), not_compared=(attack,), options={attack: attack})
    return add_examples(replace(changed, report=injecting_report(), fuzzed=injecting_fuzz()))


def decoded_differently() -> Report:
    """Make a report in which the ids match, one text decodes differently, and one side has padding tokens."""
    tokenizer = FakeTokenizer("a", "b", "c")
    report = verify_tokenizers(tokenizer, tokenizer, [Case(id="spaces", suite="decoding", text="abc")])
    results = [replace(result, decode_difference=compare_decoded(b"abc", b"a c")) for result in report.results]
    padding = tuple(PieceDifference(id, f"[PAD{id}]", None) for id in range(3, 53))
    return replace(report, results=tuple(results), vocabulary=VocabularyDifference(53, 3, padding))


def wide_report() -> Report:
    """Make a report of one block of 250 tokens opposite a single one, and of 400 blocks."""
    run = "a" * 250
    texts = {"block": run, "columns": "bc" * 400}
    cases = [Case(id=id, suite="wide", text=text) for id, text in texts.items()]
    return verify_tokenizers(FakeTokenizer("a", "b", "c"), FakeTokenizer("a", "b", "c", "bc", run), cases)


ATTACK = " ".join(INJECTIONS)
PAGES: dict[str, tuple[str, Callable[[], object]]] = {
    "broken": ("run", broken),
    "short": ("run", short),
    "spaced": ("run", lambda: add_repairs(replace(broken(), options={"model": "two  spaces .gguf"}))),
    "hostile": ("run", injecting_report),
    "decoded": ("run", decoded_differently),
    "wide": ("run", wide_report),
    "audit": ("audit", hostile_audit),
    "fuzz": ("fuzz", injecting_fuzz),
    "change": ("diff", injecting_change),
    "chat": ("chat", lambda: hostile_chat(f"{HOSTILE} {ATTACK}")),
    "check": ("check", lambda: hostile_check(f"{HOSTILE} {ATTACK}")),
    "stats": ("stats", lambda: hostile_stats(ATTACK)),
    "corpus": ("corpus", injecting_corpus),
    "stream": ("stream", lambda: hostile_stream(f"{HOSTILE} {ATTACK}")),
    "canonical": ("canonical", injecting_canonical),
}
"""Name of a page -> the kind of its report, and what makes that."""


@pytest.fixture(scope="module")
def address_of(tmp_path_factory) -> Callable[[str], str]:
    """Return a function that makes a page when it is first opened, and returns its address."""
    directory = tmp_path_factory.mktemp("pages")

    @cache
    def make(name: str) -> str:
        kind, report = PAGES[name]
        path = directory / f"{name}.html"
        path.write_text(FORMATS[kind]["html"](report(), RenderOptions()), encoding="utf-8")
        return path.as_uri()

    return make


@pytest.fixture
def open_page(open_address, requests, address_of):
    """Return a function that opens a page; afterwards, check that pages made no requests and logged no errors."""
    opened: set[str] = set()

    def open_(name: str, **options: object):
        address = address_of(name)
        opened.add(address)
        return open_address(address, **options)

    yield open_
    assert [url for url in requests if url.partition("#")[0] not in opened and not url.startswith("data:")] == []


def shown(page) -> str:
    return page.inner_text("#count")


def focused(page, script: str = "element => element.textContent"):
    return page.locator(":focus").evaluate(script)


def test_failing_cases_are_shown_first_with_their_tokens(open_page):
    page = open_page("broken")
    assert page.inner_text("h1") == "✗ Failed"
    assert shown(page) == "83 of 657 cases shown"
    assert page.locator("#list > .case").count() == 83
    tokens = page.locator(".case", has_text="seed/extra-spaces").first
    tokens.locator("summary").first.click()
    first = tokens.locator(".column.differs").first
    assert first.locator(".text").inner_text() == "···with"
    assert first.locator(".lane.actual .token").all_inner_texts() == ["▁", "▁", "▁with"]
    assert first.locator(".lane.expected .token").all_inner_texts() == ["▁▁▁", "w", "ith"]


def test_a_command_is_copied_with_all_its_spaces(open_page):
    command = open_page("spaced").locator(".explanations code").first.inner_text()
    assert command == "tokverify fix 'two  spaces .gguf' -r REFERENCE -o 'two  spaces -fixed.gguf'"


def test_cases_are_filtered_by_status_suite_tag_and_cause(open_page):
    page = open_page("broken")
    page.click("button[data-status=match]")
    assert shown(page) == "657 of 657 cases shown"
    page.click("button[data-status=mismatch]")
    assert shown(page) == "574 of 657 cases shown"
    page.select_option("#suite", label="tabs (24)")
    assert shown(page) == "12 of 657 cases shown"
    page.click("#clear")
    assert shown(page) == "657 of 657 cases shown"
    tag = page.locator("#tag option").nth(1).inner_text()
    page.select_option("#tag", index=1)
    assert shown(page) == f"{tag.rpartition('(')[2][:-1]} of 657 cases shown"
    page.select_option("#tag", index=0)
    page.select_option("#cause", index=1)
    assert shown(page) == "83 of 657 cases shown"


def test_search_finds_names_texts_and_pieces(open_page):
    page = open_page("broken")
    for wanted, count in (("EXTRA-SPACES", 1), ("word   with   extra", 1), ("word···with", 1), ("no such text", 0)):
        page.fill("#search", wanted)
        assert shown(page) == f"{count} of 657 cases shown"
    page.fill("#search", "▁▁▁▁")
    assert 0 < page.locator("#list > .case").count() < 83


@pytest.mark.slow
def test_an_address_leads_to_the_same_filters(open_page):
    page = open_page("broken")
    page.select_option("#suite", label="tabs (24)")
    page.fill("#search", "→ & test")
    assert shown(page) == "0 of 657 cases shown"
    assert page.inner_text("#nothing") == "No case passes all filters. Show all cases"
    page.fill("#search", "before-word")
    count, address = shown(page), page.url
    page.goto("about:blank")
    page.goto(address)
    assert shown(page) == count
    assert page.input_value("#search") == "before-word"
    page.click("button[data-status=mismatch]")
    page.fill("#search", "no such text")
    page.click("#all")
    assert shown(page) == "657 of 657 cases shown"
    assert not page.locator("#nothing").is_visible()


def test_a_link_leads_to_one_case(open_page):
    page = open_page("broken")
    assert "#" not in page.url
    page.fill("#search", "tabs/only-31")
    page.locator(".case a").click()
    assert page.url.endswith("#case=tabs%2Fonly-31")
    page.evaluate("location.hash = '#case=tabs/only-3'")
    page.locator(".name", has_text=re.compile(r"^tabs/only-3$")).wait_for()
    assert shown(page) == "1 of 657 cases shown"
    assert page.locator(".case[open]").count() == 1
    page.evaluate("location.hash = '#case=&status=nonsense&suite=%00&search=%FF%3Cb%3E&other'")
    page.locator("#count", has_text=re.compile(r"^0 of")).wait_for()


def test_a_repair_command_is_copied(open_page):
    page = open_page("broken")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("button.copy >> nth=0")
    page.wait_for_selector("text=Copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.inner_text("code.command >> nth=0")


def test_a_command_that_cannot_be_copied_is_selected(open_page):
    page = open_page("audit")
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }")
    page.click("button.copy >> nth=0")
    page.wait_for_selector("text=Press Ctrl-C")
    assert page.evaluate("String(getSelection())") == page.inner_text("code.command >> nth=0")


def test_entries_are_filtered_by_label_and_by_text(open_page):
    page = open_page("change")
    entries = page.locator(".entry")
    count = entries.count()
    assert shown(page) == f"{count} of {count} entries shown"
    button = page.locator("button[data-label=ERROR]")
    button.click()
    errors = page.locator(".entry[data-label=ERROR]").count()
    assert 0 < errors < count
    assert button.inner_text() == f"{errors} ERROR"
    assert page.locator(".entry:visible").count() == errors
    button.click()
    page.fill("#search", "no such text")
    assert shown(page) == f"0 of {count} entries shown"
    page.fill("#search", "/LONG")
    assert 0 < page.locator(".entry:visible").count() < count


def test_a_message_says_that_no_case_is_left_and_how_to_show_all(open_page):
    page = open_page("broken")
    page.fill("#search", "no such text")
    assert page.inner_text("#nothing").startswith("No case passes all filters.")
    page.click("#all")
    assert page.locator("#list > .case").count() == 100


def test_a_case_that_only_decodes_differently_shows_what_each_side_decodes_to(open_page):
    page = open_page("decoded")
    page.click("#clear")
    page.evaluate("document.querySelector('#list > .case').open = true")
    for label, decoded in (("actual decodes to", "abc"), ("expected decodes to", "a·c")):
        assert page.locator("#list .facts div", has_text=label).locator("dd").inner_text() == decoded


def test_padding_tokens_are_shown_on_request(open_page):
    page = open_page("decoded", width=390, height=700)
    padding = page.locator("details:not(:has(details)):has(table.pieces)")
    assert padding.count() == 1
    if not padding.locator("summary").is_visible():
        page.locator("details:has(table.pieces)").first.locator("summary").first.click()
    assert not padding.locator("text=[PAD40]").is_visible()
    padding.locator("summary").click()
    assert padding.locator("text=[PAD40]").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_wide_table_shows_that_it_scrolls(open_page):
    table = open_page("stats", width=360).locator(".wide").first
    assert table.evaluate("element => element.scrollWidth > element.clientWidth")
    assert table.evaluate("element => getComputedStyle(element).backgroundAttachment") == "local, local, scroll, scroll"


@pytest.mark.slow
def test_names_of_suites_and_causes_show_their_cases(open_page):
    page = open_page("broken")
    page.click("button.suite >> text=tabs")
    assert shown(page) == "24 of 657 cases shown"
    page.click("text=Show its cases")
    assert shown(page) == "83 of 657 cases shown"


@pytest.mark.slow
def test_long_lists_are_unfolded_on_request(open_page):
    page = open_page("broken")
    page.click("#clear")
    assert page.locator("#list > .case").count() == 100
    page.click("#list > .more")
    assert page.locator("#list > .case").count() == 200
    assert focused(page, "element => element.parentElement === document.querySelectorAll('.case')[100]")


def test_a_match_is_drawn_with_the_tokens_of_both_sides(open_page):
    page = open_page("broken")
    page.fill("#search", "byte-fallback/rare-then-word")
    page.click("button[data-status=mismatch]")
    page.click("button[data-status=match]")
    case = page.locator(".case")
    assert case.locator(".column > .text").all_inner_texts() == ["𓂀", "w", "ord", "·word", "𓂀"]
    rare = ["<0xF0>", "<0x93>", "<0x82>", "<0x80>"]
    for side in ("actual", "expected"):
        assert case.locator(f".token.{side}").all_inner_texts() == [*rare, "w", "ord", "▁word", *rare]
    assert case.locator(".differs, .fold").count() == 0
    case.locator(".token.expected").nth(4).hover()
    tip = " ".join(page.inner_text("#tip").split())
    assert tip == "expected token 1733 piece w bytes 77 span bytes 4 to 5 of the text"
    case.locator("details.ids summary").click()
    assert case.locator("details.ids code").all_inner_texts() == ["[274,181,164,162,1733,409,490,274,181,164,162]"]


def test_pointing_at_a_token_shows_its_details(open_page):
    page = open_page("broken")
    page.fill("#search", "seed/extra-spaces")
    page.locator(".differs .token.expected").first.hover()
    tip = page.locator("#tip")
    tooltip = " ".join(tip.inner_text().split())
    assert tooltip == "expected token 5 piece ▁▁▁ bytes 20 20 20 span bytes 4 to 7 of the text"
    page.mouse.move(1, 1)
    assert not tip.is_visible()


def test_everything_can_be_reached_by_keyboard(open_page):
    page = open_page("broken")
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to the cases"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert focused(page, "element => element.dataset.status") == "match"
    page.focus("#search")
    page.keyboard.type("seed/extra-spaces")
    for _ in range(30):
        page.keyboard.press("Tab")
        if focused(page, "element => element.classList.contains('token')"):
            break
    assert page.inner_text("#tip").split()[:3] == ["actual", "token", "1714"]
    assert focused(page, "element => element.getAttribute('aria-describedby')") == "tip"
    page.keyboard.press("ArrowDown")
    assert page.inner_text("#tip").split()[:3] == ["expected", "token", "5"]
    page.keyboard.press("ArrowRight")
    assert focused(page) == "w"
    page.keyboard.press("ArrowUp")
    assert page.inner_text("#tip").split()[0] == "actual"
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    assert (focused(page), page.locator(".token[tabindex='0']").count()) == ("w", 1)
    page.keyboard.press("Escape")
    assert not page.locator("#tip").is_visible()


def test_a_long_run_of_equal_tokens_is_unfolded_on_request(open_page):
    page = open_page("hostile")
    page.fill("#search", "/long")
    fold = page.locator("button.fold").first
    assert fold.inner_text() == "… 371 equal …"
    fold.click()
    assert fold.inner_text() == "… 71 equal …"
    assert focused(page, "element => element.classList.contains('token')")
    fold.click()
    assert page.locator(".column").count() > 371


@pytest.mark.slow
def test_many_tokens_are_drawn_bit_by_bit(open_page):
    page = open_page("wide", width=360)
    block, columns = page.locator(".case").all()
    block.locator(".lane .more").click()
    assert block.locator(".lane .more").inner_text() == "50 more of 50 tokens"
    block.locator(".lane .more").click()
    assert (block.locator(".token.actual").count(), block.locator(".more").count()) == (250, 0)
    columns.locator(".more").click()
    assert (columns.locator(".column").count(), columns.locator(".more").count()) == (400, 0)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.slow
def test_dark_and_light_follow_the_system_until_chosen(open_page):
    page = open_page("broken", dark=True)
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.click("#theme")
    assert page.evaluate(ground) != dark
    assert page.inner_text("#theme") == "Dark"
    assert open_page("broken").evaluate(ground) == page.evaluate(ground)


@pytest.mark.parametrize("name", thinned(5, ["broken", *KINDS]))
def test_a_phone_needs_no_sideways_scrolling(open_page, name: str):
    page = open_page(name, width=360, height=700)
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")
    page.wait_for_timeout(50)
    for token in page.locator(".token:not(.key)").all()[:20]:
        token.focus()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_words_in_narrow_columns_stay_whole_on_a_phone(open_page):
    page = open_page("change", width=360, height=700)
    cells = page.locator(
        "section:has(h2:text('What the change invalidates')) tbody td:is(:nth-child(1), :nth-child(3))"
    )
    lines = cells.evaluate_all(
        "cells => cells.map(cell => { const range = document.createRange();"
        " range.selectNodeContents(cell.querySelector('span') ?? cell); return range.getClientRects().length; })"
    )
    assert lines
    assert set(lines) == {1}


def test_equal_tokens_are_unfolded_on_request(open_page):
    page = open_page("change")
    page.evaluate("document.querySelectorAll('.entry').forEach(entry => { entry.open = true; })")
    run = page.locator("details.run").first
    assert not run.locator(".token").first.is_visible()
    run.locator("summary").click()
    assert run.locator(".token").first.is_visible()


@pytest.mark.parametrize(
    ("name", "dark", "width"),
    [
        pytest.param("short", True, 360, id="short-dark-phone"),
        pytest.param("chat", False, 1000, id="chat-light"),
        *(
            pytest.param(name, False, 1000, id=f"{name}-light", marks=pytest.mark.slow)
            for name in ("broken", *KINDS)
            if name != "chat"
        ),
        *(pytest.param(name, True, 360, id=f"{name}-dark-phone", marks=pytest.mark.slow) for name in KINDS),
    ],
)
def test_axe_finds_nothing(open_page, name: str, dark: bool, width: int):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs the extra `browser`")
    page = open_page(name, dark=dark, width=width)
    # Folded content is checked, too.
    page.evaluate("[...document.querySelectorAll('details')].slice(0, 20).forEach(details => { details.open = true; })")
    page.wait_for_timeout(50)
    if page.locator(".token:not(.key)").count():
        page.locator(".token:not(.key)").first.focus()
    found = axe.Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("name", thinned(5, KINDS))
def test_hostile_text_stays_text(open_page, name: str):
    page = open_page(name)
    if page.locator("#clear").count():
        page.click("#clear")
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")
    page.wait_for_timeout(50)
    assert page.evaluate("typeof hacked") == "undefined"
    assert page.locator("img, iframe, main script").count() == 0
    text = page.inner_text("body")
    assert (MARKUP.split("\r")[0] if name == "audit" else INJECTIONS[1]) in text
    assert not set("\x1b\x00\u202e") & set(text)


def test_without_scripts_the_failing_cases_are_named(browser, address_of):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address_of("broken"))
    assert page.locator("#list li").count() == 83
    assert not page.locator("#filters").is_visible()
    context.close()
