"""A real Chromium for the tests of pages."""

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
