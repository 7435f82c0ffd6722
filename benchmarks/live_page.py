"""Measure how long the live page takes to answer a keystroke.

Run as `python benchmarks/live_page.py MODEL REFERENCE`. It needs Chromium and the extra `browser`. Two times are
printed, in milliseconds: that of the program alone, and that from the keystroke until the browser has laid out the
answer.
"""

import argparse
import json
import shutil
import statistics
import threading
import time

from playwright.sync_api import Page, sync_playwright

from tokverify.commands.tasks.opening import open_model, open_reference
from tokverify.commands.tasks.view import View
from tokverify.system.local_server import LocalServer

TEXT = "The quick brown fox   jumps over\tthe lazy dog. print(x[1:])  # Größe 日本語 🦙\n"
LETTERS = "abcdefghijklmnopqrstuvwxyz" * 2
FIRST = 3
"""So many first requests fill caches and are not counted."""

OBSERVE = """() => {
  window.times = [];
  let typed = 0;
  document.getElementById("text").addEventListener("input", (event) => { typed = event.timeStamp; }, true);
  new MutationObserver(() => {
    document.body.getBoundingClientRect();  // lays the page out
    window.times.push(performance.now() - typed);
  }).observe(document.getElementById("list"), { childList: true, subtree: true });
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("reference")
    parser.add_argument("--characters", type=int, default=2000)
    arguments = parser.parse_args()
    opened = open_model(arguments.model)
    view = View(opened, open_reference(opened, arguments.reference))
    text = (TEXT * (arguments.characters // len(TEXT) + 1))[: arguments.characters]
    show("program", [measure_program(view, text.replace("x[1:]", f"{letter}[1:]")) for letter in LETTERS])
    for place in (0, len(text) // 2, len(text)):
        show(f"keystroke at character {place:,}", measure_browser(view, text, place))


def show(name: str, times: list[float]) -> None:
    """Print the median and the tail of times in milliseconds."""
    rest = sorted(times[FIRST:])
    tail = rest[len(rest) * 19 // 20]
    print(f"{name}: median {statistics.median(rest):.0f} ms, 95 % within {tail:.0f} ms, slowest {rest[-1]:.0f} ms")


def measure_program(view: View, text: str) -> float:
    """Return how long an answer takes, in milliseconds."""
    body = json.dumps({"text": text}).encode()
    start = time.perf_counter()
    assert view.respond("POST", "tokens", body)
    return 1000 * (time.perf_counter() - start)


def measure_browser(view: View, text: str, place: int) -> list[float]:
    """Type letters at a place, in characters, and return how long each answer takes, in milliseconds."""
    server = LocalServer(view.respond)
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        with sync_playwright() as started:
            browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            return type_letters(browser.new_page(), server.url, text, place)
    finally:
        server.stop()
        thread.join()


def type_letters(page: Page, url: str, text: str, place: int) -> list[float]:
    """Open the page, and type; see `measure_browser`."""
    page.goto(url)
    page.fill("#text", text)
    page.wait_for_timeout(1000)
    page.evaluate(OBSERVE)
    page.evaluate(
        "place => { const text = document.getElementById('text'); text.setSelectionRange(place, place); }", place
    )
    for letter in LETTERS:
        before = page.evaluate("times.length")
        page.keyboard.type(letter)
        page.wait_for_function("before => times.length > before", arg=before)
    times: list[float] = page.evaluate("times")
    return times


if __name__ == "__main__":
    main()
