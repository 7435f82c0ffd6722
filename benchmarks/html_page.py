"""Measure how long a large HTML report takes to open and to filter in Chromium: `python benchmarks/html_page.py`.

This needs the extra `browser`, and Chromium.
"""

import argparse
import shutil
import tempfile
import time
from pathlib import Path

from formats import large_report
from playwright.sync_api import sync_playwright

from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions

ACTIONS = {
    "show all": "document.getElementById('clear').click()",
    "show matches": "document.querySelector('[data-status=match]').click()",
    "search": "SEARCH.value = 'case-99'; update()",
    "find nothing": "SEARCH.value = 'no such text'; update()",
    "choose a suite": "clearFilters(); SUITE.value = '3'; update()",
}
DRAWN = "async () => {{ {}; await new Promise((done) => requestAnimationFrame(() => setTimeout(done))); }}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--mismatches", type=int, default=2_000)
    parser.add_argument("--chromium", default=shutil.which("chromium"), help="path of the Chromium executable")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        file = Path(directory) / "report.html"
        report = large_report(arguments.cases, arguments.mismatches)
        file.write_text(FORMATS["run"]["html"](report, RenderOptions()), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        print("| | seconds |\n|---|--:|")
        measure("open", lambda: (page.goto(file.as_uri()), page.inner_text("#count")))
        for name, script in ACTIONS.items():
            measure(name, lambda script=script: page.evaluate(DRAWN.format(script)))
        browser.close()


def measure(name: str, act) -> None:
    start = time.perf_counter()
    act()
    print(f"| {name} | {time.perf_counter() - start:.2f} |", flush=True)


if __name__ == "__main__":
    main()
