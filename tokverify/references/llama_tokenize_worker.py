"""The program behind `-r llama.cpp@/path/to/llama-tokenize`: runs it once for each text.

It speaks the protocol of docs/programs.md, and is run by its path, so it needs only the standard library. Its arguments
are llama-tokenize, the model, how many tokens that has, and whether llama-tokenize adds tokens around a text.

llama-tokenize adds EOS only where it also adds BOS, so that of other models only the text itself can be compared.
Source: llama.cpp's `tools/tokenize/tokenize.cpp`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

_SECONDS = 120.0
"""The limit for one text; most of the time is spent on loading the vocabulary."""
_BUILD = re.compile(rb"^version: (?:.*\(build )?([0-9]{4,})\b", re.MULTILINE)


class Tokenize:
    """llama-tokenize and its arguments for a model."""

    def __init__(self, program: str, model: str, size: str, adds_special: str) -> None:
        self._program, self._model, self._size = program, model, int(size)
        self._adds_special = adds_special == "yes"

    def hello(self) -> dict[str, object]:
        """Describe the program; the version is the number of its build, if it knows that."""
        done = subprocess.run([self._program, "--version"], capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603
        build = _BUILD.search(done.stdout + b"\n" + done.stderr)
        return {
            "protocol": 1,
            "name": "llama-tokenize",
            "version": build[1].decode() if build else "unknown",
            "vocab_size": self._size,
            "capabilities": ["parse_special", *(["add_special"] if self._adds_special else [])],
        }

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> object:
        """Return the ids of a text, or an error."""
        command = [self._program, "-m", self._model, "--ids", "--stdin", "--no-escape"]
        command += [] if add_special else ["--no-bos"]
        command += [] if parse_special else ["--no-parse-special"]
        try:
            done = subprocess.run(command, input=text.encode(), capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603
        except subprocess.TimeoutExpired:
            return {"error": f"no answer in {_SECONDS:.0f} seconds"}
        listed = [line for line in done.stdout.splitlines() if line.startswith(b"[") and line.endswith(b"]")]
        if done.returncode == 0 and listed:
            return json.loads(listed[-1])
        said = done.stderr.decode(errors="replace").strip().splitlines()
        return {"error": said[-1] if said else f"it ended with exit code {done.returncode}"}


def main(*arguments: str) -> None:
    """Answer requests until there are no more."""
    tokenize = Tokenize(*arguments)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for line in sys.stdin:
            request = json.loads(line)
            if request["op"] == "hello":
                response = tokenize.hello()
            else:
                modes = {name: request[name] for name in ("add_special", "parse_special")}
                asked = [pool.submit(tokenize.encode, text, **modes) for text in request["texts"]]
                response = {"ids": [each.result() for each in asked]}
            sys.stdout.write(json.dumps({"id": request["id"], **response}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
