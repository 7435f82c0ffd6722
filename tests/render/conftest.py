"""A real Chromium for the tests of pages, and pages in it."""

import shutil

import pytest

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the extra `browser`")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("needs Chromium: `apt-get install chromium`")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=chromium, headless=True, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture
def requests() -> list[str]:
    """The addresses that the pages of `open_address` request."""
    return []


@pytest.fixture
def open_address(browser, requests):
    """Return a function that opens a page; afterwards, check that pages logged nothing but what is `expected`."""
    contexts, complaints = [], []

    def open_(address: str, *, width=1000, height=800, dark=False, expected: str | None = None, **options: object):
        size = {"width": width, "height": height}
        scheme = "dark" if dark else "light"
        context = browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce", **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: (expected and expected in message.text) or complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(address)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []
