"""Find what only a newer build of llama.cpp may read, and then with other ids."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.digest import make_difference
from tokverify.engine.build import known_since, newest_build
from tokverify.engine.encoder import Encoder
from tokverify.report.finding import WARNING
from tokverify.report.tokenizer_difference import Aspect, Origin, TokenizerDifference
from tokverify.spec import TokenizerSpec
from tokverify.text.visible import visible
from tokverify.text.wording import list_items
from tokverify.tokenizer import Tokenizer

_ARCHITECTURE = "general.architecture"


def describe_unread(spec: TokenizerSpec) -> str:
    """Describe the keys of a tokenizer that no known build reads."""
    keys, build = list_items(spec.unread_keys, show=visible), newest_build()
    return f"llama.cpp b{build} does not read {keys}; a newer build or a fork may, and then ids may not be predicted"


def find_unread(actual: Tokenizer) -> Iterator[TokenizerDifference]:
    """Yield the differences that a file has an architecture that no known build loads, or keys that none reads."""
    spec = actual.spec if isinstance(actual, Encoder) else None
    architecture = spec.general.get("architecture") if spec else None
    if architecture and architecture not in known_since("architectures"):
        message = f"llama.cpp b{newest_build()} does not load the architecture {visible(architecture)}"
        yield make_difference(
            Aspect.RULES, WARNING, message, facts=architecture, origin=Origin.FILE, keys=[_ARCHITECTURE], code="TV130"
        )
    if spec and spec.unread_keys:
        keys = spec.unread_keys
        yield make_difference(
            Aspect.KEYS, WARNING, describe_unread(spec), facts=sorted(keys), origin=Origin.FILE, keys=keys
        )
