"""A program for the reference `command` that misbehaves: `hostile_program.py MODEL.gguf SEED_FILE`.

Each start of it has other faults. It writes the requests that it has answered rightly to a file beside the seed's.
"""

import json
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

from hostile.values import damage, flip  # noqa: E402
from tokverify import load_gguf  # noqa: E402

STARTS, RIGHT = ".starts", ".right"
_LASTING = 20.0


def main(model: str, seed_file: str) -> None:
    starts = Path(seed_file + STARTS)
    with starts.open("ab") as file:
        file.write(b".")
    source = random.Random(f"{Path(seed_file).read_text()}-{starts.stat().st_size}")  # noqa: S311 - not for secrets
    share = source.choice((0.02, 0.1, 0.5))
    encoder = load_gguf(model)
    for line in sys.stdin:
        request = json.loads(line)
        right = json.dumps({"id": request["id"], **_OPERATIONS[request["op"]](encoder, request)}).encode() + b"\n"
        _notes[:] = [(seed_file + RIGHT, line, right)]
        if source.random() < share:
            source.choice(_FAULTS)(source, right)
        else:
            _send(right)


def _hello(encoder, _):
    capabilities = ["add_special", "parse_special", "decode"]
    return {"protocol": 1, "name": "x", "version": "1", "vocab_size": encoder.vocab_size, "capabilities": capabilities}


def _encode(encoder, request):
    modes = {name: request[name] for name in ("add_special", "parse_special")}
    return {"ids": [encoder.encode(text, **modes) for text in request["texts"]]}


def _decode(encoder, request):
    return {"decoded": [encoder.decode(ids).decode(errors="replace") for ids in request["ids"]]}


_OPERATIONS = {"hello": _hello, "encode": _encode, "decode": _decode}


_notes: list[tuple[str, str, bytes]] = []
"""The file for requests that are answered rightly, the one that is answered now, and the right response."""


def _send(data: bytes) -> None:
    file, request, right = _notes[0]
    if _ids(data) == _ids(right):
        with Path(file).open("a") as notes:
            notes.write(request)
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _ids(data: bytes) -> object:
    """Return the ids in the first line of a response; it may still be right."""
    try:
        return json.loads(data.partition(b"\n")[0])["ids"]
    except (ValueError, TypeError, LookupError, RecursionError):
        return None


def _damage(source: random.Random, right: bytes) -> None:
    _send(json.dumps(damage(source, json.loads(right), 1)).encode("utf-8", "replace") + b"\n")


def _flip(source: random.Random, right: bytes) -> None:
    _send(flip(source, right))


def _exit(source: random.Random, right: bytes) -> None:
    _send(right[: source.randrange(len(right))])
    sys.stderr.write("\x1b[31m::error::x\n" * source.choice((0, 1, 100_000)))
    sys.stderr.flush()
    os._exit(source.randrange(4))


def _wait(source: random.Random, right: bytes) -> None:
    _send(right[: source.randrange(len(right))])
    time.sleep(_LASTING)


def _close(_: random.Random, __: bytes) -> None:
    os.close(1)
    time.sleep(_LASTING)


def _say_more(source: random.Random, right: bytes) -> None:
    _send(right * source.choice((2, 1000)))


def _leave_daemon(_: random.Random, __: bytes) -> None:
    if not os.fork():
        os.setsid()
        time.sleep(_LASTING)
    os._exit(0)


def _never_end_line(_: random.Random, __: bytes) -> None:
    for _ in range(1 << 11):
        sys.stdout.buffer.write(b" " * (1 << 20))


_FAULTS: tuple[Callable[[random.Random, bytes], None], ...] = (
    *(_damage, _damage, _damage, _flip, _exit, _exit, _wait, _close, _say_more, _leave_daemon, _never_end_line),
)

if __name__ == "__main__":
    main(*sys.argv[1:])
