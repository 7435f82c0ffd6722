"""What can be wrong with the response of a server: each fault turns the right response into parts to send instead."""

import json
import random
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat

from hostile.values import damage, flip, number, short_text

Part = bytes | float
"""Bytes to send, or how many seconds to wait."""

_END_OF_HEADERS = b"\r\n\r\n"
_STATUSES = (0, 100, 199, 201, 204, 206, 301, 304, 307, 401, 403, 404, 416, 429, 500, 502, 503, 504, 599, 999)
_HEADERS = (
    "Content-Length",
    "Content-Range",
    "Transfer-Encoding",
    "Content-Encoding",
    "Retry-After",
    "ETag",
    "Location",
)


def damaged_json(source: random.Random, response: bytes, _: str) -> Iterable[Part]:
    """Change a value, at any depth."""
    head, _, body = response.partition(_END_OF_HEADERS)
    try:
        document = json.loads(body)
    except ValueError:
        return flipped_body(source, response, "")
    return [_join(head, json.dumps(damage(source, document, 1)).encode("utf-8", "replace"))]


def flipped_body(source: random.Random, response: bytes, _: str) -> Iterable[Part]:
    """Change a few bytes of the content."""
    head, _, body = response.partition(_END_OF_HEADERS)
    return [_join(head, flip(source, body))]


def flipped(source: random.Random, response: bytes, _: str) -> Iterable[Part]:
    """Change a few bytes anywhere."""
    return [flip(source, response)]


def cut_off(source: random.Random, response: bytes, _: str) -> Iterable[Part]:
    """Close the connection midway, or at once."""
    return [response[: source.randrange(len(response))]]


def other_status(source: random.Random, response: bytes, _: str) -> Iterable[Part]:
    """Answer with another status, which may ask for a pause."""
    _, _, rest = response.partition(b"\r\n")
    pause = f"Retry-After: {number(source)}\r\n" if source.random() < 0.5 else ""
    return [f"HTTP/1.1 {source.choice(_STATUSES)} x\r\n{pause}".encode(), rest]


def redirect(source: random.Random, _: bytes, trap: str) -> Iterable[Part]:
    """Lead to another server, to a file, or in a circle."""
    place = source.choice((trap, "/", "file:///etc/hostname", "//0", "http://[", f"{trap}/\r\nX: y", "x" * 100_000))
    return [
        f"HTTP/1.1 {source.choice((301, 302, 307, 308))} x\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n".encode()
    ]


def other_header(source: random.Random, response: bytes, _: str) -> Iterable[Part]:
    """Add a header that contradicts the response."""
    value = source.choice((str(number(source)), "chunked", "gzip", f"bytes 0-{number(source)}/*", short_text(source)))
    line, _, rest = response.partition(b"\r\n")
    header = f"{source.choice(_HEADERS)}: {value}\r\n".encode("utf-8", "replace")
    return [line + b"\r\n" + header + rest]


def slow(source: random.Random, response: bytes, _: str) -> Iterator[Part]:
    """Send one byte at a time."""
    pause = source.choice((0.001, 0.05))
    for byte in response:
        yield bytes([byte])
        yield pause


def silent(*_: object) -> Iterable[Part]:
    """Never answer."""
    return [600.0]


def endless(source: random.Random, response: bytes, _: str) -> Iterable[Part]:
    """Send a body, or headers, without an end."""
    line, _, _ = response.partition(b"\r\n")
    body, headers = line + b"\r\n\r\n", line + b"\r\n"
    return source.choice((_then(body, b" " * (1 << 20)), _then(headers, b"X: y\r\n" * 1000)))


def twice(_: random.Random, response: bytes, __: str) -> Iterable[Part]:
    """Answer a request that nobody has sent, too."""
    return [response * 2]


FAULTS: tuple[Callable[[random.Random, bytes, str], Iterable[Part]], ...] = (
    *(damaged_json, damaged_json, damaged_json, flipped_body, flipped, cut_off, other_status, redirect),
    *(other_header, slow, silent, endless, twice),
)


def _then(first: bytes, rest: bytes) -> Iterator[bytes]:
    yield first
    yield from repeat(rest)


def _join(head: bytes, body: bytes) -> bytes:
    length = f"Content-Length: {len(body)}".encode()
    return re.sub(rb"(?i)content-length: *\d+", length, head) + _END_OF_HEADERS + body
