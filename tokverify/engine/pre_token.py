"""Show how a pre-tokenizer cuts a text: the pre-tokens, and which alternative of which pattern made each of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from tokverify.engine import pre_pattern
from tokverify.engine.pre_tokenizer import cut_digit_groups, fold_spaces
from tokverify.engine.trace import Hit, PreToken
from tokverify.engine.unicode_version import blank_unassigned, has_unassigned

if TYPE_CHECKING:
    from tokverify.engine.pre_tokenizer import Cutter, PreTokenizer

Chunk = tuple[str, Hit | None]


def trace_pre_tokens(pre_tokenizer: PreTokenizer, text: str) -> list[tuple[str, PreToken]]:
    """Cut `text` as `pre_tokenizer.splitter` does; spans are bytes of the pre-tokens put together."""
    chunks: list[Chunk] = [(text, None)] if text else []
    careful = has_unassigned(text)
    for index, rule in enumerate(pre_tokenizer.patterns):
        chunks = [part for chunk in chunks for part in _cut(chunk, index, rule, careful)]
    found = []
    start = 0
    for chunk, hit in chunks:
        end = start + len(chunk.encode())
        found.append((chunk, PreToken(start, end, hit)))
        start = end
    return found


def _cut(chunk: Chunk, index: int, rule: str | Cutter, careful: bool) -> list[Chunk]:
    text, hit = chunk
    parts: list[Chunk] = list(_parts(text, index, rule, careful))
    # What a pattern neither matches nor cuts keeps what an earlier pattern made of it.
    return [(parts[0][0], hit)] if len(parts) == 1 and _left_alone(parts[0][1]) else parts


def _left_alone(hit: Hit | None) -> bool:
    return hit is None or hit.alternative_index is None


def _parts(text: str, index: int, rule: str | Cutter, careful: bool) -> Iterator[tuple[str, Hit]]:
    if not isinstance(rule, str):
        yield from _parts_of_function(text, index, rule, careful)
        return
    between = Hit(index, rule)
    done = 0
    for match in _named(rule).finditer(_view(text, rule, careful)):
        if done < match.start():
            yield text[done : match.start()], between
        if match.end() > match.start():
            number = int(match.lastgroup.removeprefix("a"))
            yield text[match.start() : match.end()], Hit(index, rule, number, alternatives(rule)[number])
        done = match.end()
    if done < len(text):
        yield text[done:], between


def _parts_of_function(text: str, index: int, rule: Cutter, careful: bool) -> Iterator[tuple[str, Hit]]:
    name = getattr(rule, "__name__", "function").replace("_", " ")
    # Only the one that cuts numbers looks at Unicode categories.
    parts = rule(blank_unassigned(text)) if careful and rule is cut_digit_groups else rule(text)
    start = 0
    tiles = sum(map(len, parts)) == len(text)
    for part in parts:
        end = start + len(part)
        yield text[start:end] if tiles else part, Hit(index, name, *((0, name) if len(parts) > 1 else ()))
        start = end


def _view(text: str, rule: str, careful: bool) -> str:
    """Return what llama.cpp matches a pattern against; it has the length of the text."""
    if r"\p{" in rule:
        return blank_unassigned(text) if careful else text
    return text if rule.isascii() or rule in pre_pattern.COVERING else fold_spaces(text)


@cache
def _named(rule: str) -> Any:  # noqa: ANN401 - the regex library has no types
    """Compile a pattern with a group around each alternative, so that a match tells which one it was."""
    import regex

    groups = (f"(?P<a{number}>{alternative})" for number, alternative in enumerate(alternatives(rule)))
    return regex.compile("|".join(groups), regex.V1)


@cache
def alternatives(pattern: str) -> tuple[str, ...]:
    """Return the alternatives of a pattern, cut at each `|` that stands outside of groups and classes."""
    found, depth, in_class, start, index = [], 0, 0, 0, 0
    while index < len(pattern):
        character = pattern[index]
        if character == "\\":
            index += 1
        elif character == "[":
            in_class += 1
        elif character == "]":
            in_class -= 1
        elif not in_class:
            depth += {"(": 1, ")": -1}.get(character, 0)
            if character == "|" and not depth:
                found.append(pattern[start:index])
                start = index + 1
        index += 1
    return (*found, pattern[start:])
