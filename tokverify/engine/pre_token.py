"""Trace how a pre-tokenizer splits a text: the pre-tokens, and the pattern and alternative that produced each.

`match_alternatives` lists all matches instead, also those that later patterns split or match again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

from tokverify.engine import pre_pattern
from tokverify.engine.normalizer import escape_spaces
from tokverify.engine.pre_tokenizer import PreTokenizer, Splitter, fold_spaces, split_digit_groups
from tokverify.engine.trace import PreToken
from tokverify.engine.unicode_version import blank_unassigned, has_unassigned
from tokverify.report.explain import PatternMatch

Chunk = tuple[str, PatternMatch | None]


def trace_pre_tokens(pre_tokenizer: PreTokenizer, text: str) -> list[tuple[str, PreToken]]:
    """Split `text` as `pre_tokenizer.splitter` does; spans are byte offsets in the concatenated pre-tokens."""
    chunks: list[Chunk] = [(text, None)] if text else []
    careful = has_unassigned(text)
    for index, rule in enumerate(pre_tokenizer.patterns):
        parts = (_split(chunk, index, rule, careful) for chunk in chunks)
        chunks = list(chain.from_iterable(parts))
    pre_tokens = []
    start = 0
    for chunk, hit in chunks:
        end = start + len(chunk.encode())
        pre_tokens.append((chunk, PreToken(start, end, hit)))
        start = end
    return pre_tokens


class AlternativeMatch(NamedTuple):
    """A match of an alternative of a pattern, or text that no pattern matches."""

    alternative: str
    """As in `PatternMatch`; empty if no pattern matches."""
    start: int
    """Where it is in the text, in characters."""
    end: int


def match_alternatives(pre_tokenizer: PreTokenizer, text: str) -> Iterator[AlternativeMatch]:
    """Yield the matches of each pattern in the chunks that the patterns before it produce."""
    if text:
        view = escape_spaces(text) if pre_tokenizer.escape_whitespaces else text
        yield from _match_rules(tuple(enumerate(pre_tokenizer.patterns)), view, 0, False, has_unassigned(text))


def _match_rules(
    rules: Sequence[tuple[int, str | Splitter]], text: str, start: int, is_matched: bool, careful: bool
) -> Iterator[AlternativeMatch]:
    if not rules:
        if not is_matched:
            yield AlternativeMatch("", start, start + len(text))
        return
    (index, rule), *rest = rules
    for part, hit in _split_text(text, index, rule, careful):
        if hit.alternative:
            yield AlternativeMatch(hit.alternative, start, start + len(part))
        yield from _match_rules(rest, part, start, is_matched or bool(hit.alternative), careful)
        start += len(part)


def _split(chunk: Chunk, index: int, rule: str | Splitter, careful: bool) -> list[Chunk]:
    text, hit = chunk
    parts: list[Chunk] = list(_split_text(text, index, rule, careful))
    # A chunk that a pattern neither matches nor splits keeps the hit of an earlier pattern.
    return [(parts[0][0], hit)] if len(parts) == 1 and _is_unmatched(parts[0][1]) else parts


def _is_unmatched(hit: PatternMatch | None) -> bool:
    return hit is None or hit.alternative_index is None


def _split_text(text: str, index: int, rule: str | Splitter, careful: bool) -> Iterator[tuple[str, PatternMatch]]:
    if not isinstance(rule, str):
        yield from _split_by_function(text, index, rule, careful)
        return
    between = PatternMatch(index, rule, None, "")
    done = 0
    for match in _compile(rule).finditer(_view(text, rule, careful)):
        if done < match.start():
            yield text[done : match.start()], between
        if match.end() > match.start():
            number = int(match.lastgroup.removeprefix("a"))
            yield text[match.start() : match.end()], PatternMatch(index, rule, number, alternatives(rule)[number])
        done = match.end()
    if done < len(text):
        yield text[done:], between


def _split_by_function(text: str, index: int, rule: Splitter, careful: bool) -> Iterator[tuple[str, PatternMatch]]:
    name = function_name(rule)
    # Only the function for numbers depends on Unicode categories.
    parts = rule(blank_unassigned(text)) if careful and rule is split_digit_groups else rule(text)
    start = 0
    covers_text = sum(map(len, parts)) == len(text)
    for part in parts:
        end = start + len(part)
        match = PatternMatch(index, name, 0, name) if len(parts) > 1 else PatternMatch(index, name, None, "")
        yield text[start:end] if covers_text else part, match
        start = end


def function_name(rule: Splitter) -> str:
    """Return the name of a function in words, as it stands for a pattern."""
    return getattr(rule, "__name__", "function").replace("_", " ")


def _view(text: str, rule: str, careful: bool) -> str:
    """Return the text of the same length that llama.cpp matches a pattern against."""
    if r"\p{" in rule:
        return blank_unassigned(text) if careful else text
    return text if rule.isascii() or rule in pre_pattern.COVERING else fold_spaces(text)


@cache
def _compile(rule: str) -> Any:  # noqa: ANN401 - the regex library has no types
    """Compile a pattern with a group around each alternative, so that a match identifies its alternative."""
    import regex

    groups = (f"(?P<a{number}>{alternative})" for number, alternative in enumerate(alternatives(rule)))
    return regex.compile("|".join(groups), regex.V1)


@cache
def alternatives(pattern: str) -> tuple[str, ...]:
    """Split a pattern at each `|` outside of groups and classes."""
    parts, depth, in_class, start, index = [], 0, 0, 0, 0
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
                parts.append(pattern[start:index])
                start = index + 1
        index += 1
    return (*parts, pattern[start:])
