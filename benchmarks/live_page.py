"""Measure how long the live page waits for the answer to a keystroke.

Run as `python benchmarks/live_page.py MODEL REFERENCE`. The time is that of the program on one request, in
milliseconds, to which the browser adds a few to draw the answer.
"""

import argparse
import json
import statistics
import time

from tokverify.tasks.opening import open_model, open_reference
from tokverify.tasks.view import View

TEXT = "The quick brown fox   jumps over\tthe lazy dog. print(x[1:])  # Größe 日本語 🦙\n"
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("reference")
    parser.add_argument("--characters", type=int, default=2000)
    arguments = parser.parse_args()
    opened = open_model(arguments.model)
    view = View(opened, open_reference(opened, arguments.reference))
    text = (TEXT * (arguments.characters // len(TEXT) + 1))[: arguments.characters]
    times = [measure(view, text.replace("x[1:]", f"{letter}[1:]")) for letter in LETTERS]
    # The first requests fill caches.
    rest = sorted(times[3:])
    print(f"{len(text):,} characters: median {statistics.median(rest):.0f} ms, slowest {rest[-1]:.0f} ms")


def measure(view: View, text: str) -> float:
    """Return how long an answer takes, in milliseconds."""
    body = json.dumps({"text": text}).encode()
    start = time.perf_counter()
    assert view.respond("POST", "tokens", body)
    return 1000 * (time.perf_counter() - start)


if __name__ == "__main__":
    main()
