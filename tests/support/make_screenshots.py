"""Make the pictures of README.md and docs/html-report.md, except run.svg.

Run `python tests/support/make_screenshots.py` in the root of the checkout. It needs the extra `browser` and Chromium.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

IMAGES = Path(__file__).parents[2] / "docs/images"
SAMPLE = "tokverify/sample"
MODEL, REFERENCE = f"{SAMPLE}/sample-broken.gguf", f"{SAMPLE}/sample.tokenizer.model"
JSON_REFERENCE = f"{SAMPLE}/sample.tokenizer.json"
ADDRESS = re.compile(r"http://127\.0\.0\.1\S+")
COMMANDS = {
    "run": ["run", MODEL, "-r", REFERENCE],
    "audit": ["audit", MODEL, "-r", REFERENCE],
    "fuzz": ["fuzz", MODEL, "-r", REFERENCE, "--texts", "3000"],
    "diff": ["diff", f"{SAMPLE}/sample.gguf", MODEL, "--lines", "tests/data/sample_text.txt"],
}


def take_summary(page: Page) -> None:
    page.screenshot(path=IMAGES / "html-summary.png")


def take_cases(page: Page) -> None:
    page.select_option("#suite", label="code (44)")
    page.evaluate("document.getElementById('cases').scrollIntoView()")
    page.locator(".differs .token.expected").first.focus()
    page.screenshot(path=IMAGES / "html-cases.png")


def take_phone(page: Page) -> None:
    page.fill("#search", "seed/extra-spaces")
    page.evaluate("document.getElementById('list').scrollIntoView()")
    page.locator(".differs .token.expected").first.focus()
    page.screenshot(path=IMAGES / "html-phone.png")


def take_audit(page: Page) -> None:
    page.locator(".entry details").first.evaluate("details => { details.open = true; }")
    page.screenshot(path=IMAGES / "html-audit.png")


def take_fuzz(page: Page) -> None:
    page.screenshot(path=IMAGES / "html-fuzz.png")


def take_diff(page: Page) -> None:
    page.screenshot(path=IMAGES / "html-diff.png")


PICTURES = [
    ("run", take_summary, 1000, 1020, "light"),
    ("run", take_cases, 1000, 900, "dark"),
    ("run", take_phone, 360, 640, "light"),
    ("audit", take_audit, 1000, 860, "light"),
    ("fuzz", take_fuzz, 1000, 860, "dark"),
    ("diff", take_diff, 1000, 1000, "light"),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chromium", default=shutil.which("chromium"), help="the program")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        for name, command in COMMANDS.items():
            # The exit code is 1, as the sample is broken.
            output = ["-o", f"{directory}/{name}.html"]
            subprocess.run([sys.executable, "-m", "tokverify", *command, *output], check=False)
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=["--no-sandbox", "--disable-gpu"])
        for command, take, width, height, scheme in PICTURES:
            take(open_page(browser, Path(directory) / f"{command}.html", width, height, scheme))
        take_live_page(browser)
        browser.close()


def take_live_page(browser: Browser) -> None:
    """Take a picture of what the live page shows while one types."""
    command = [sys.executable, "-m", "tokverify", "view", MODEL, "-r", JSON_REFERENCE, "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        address = next(filter(None, (ADDRESS.search(line) for line in server.stdout)))[0]
        page = browser.new_page(viewport={"width": 1000, "height": 570}, color_scheme="light")
        page.goto(address)
        page.locator("textarea").first.fill("word   with   extra   spaces")
        page.wait_for_timeout(2000)
        page.screenshot(path=IMAGES / "live-page.png")
        server.terminate()


def open_page(browser: Browser, file: Path, width: int, height: int, scheme: str) -> Page:
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.goto(file.as_uri())
    return page


if __name__ == "__main__":
    main()
