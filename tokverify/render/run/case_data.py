"""Prepare the cases of a report for the page's scripts; all strings have passed `visible`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from tokverify.render.case_text import description, headline, known_text
from tokverify.report.diagnosis import Diagnosis
from tokverify.report.difference import NO_TOKEN, Block
from tokverify.report.run import CaseResult, Report, Status, can_match, other_side
from tokverify.text.visible import code_points, visible, visible_message
from tokverify.text.wording import plural
from tokverify.tokenizer import Token, join_bytes

Causes: TypeAlias = "Mapping[str, Sequence[str]]"
"""Name of a case -> its causes."""


def causes(report: Report) -> Causes:
    """Return the causes of each case that did not simply match, by suite/id, as texts that have passed `visible`."""
    explained = _explained(report)
    found: dict[str, list[str]] = {}
    for result in report.results:
        own = [*explained.get(result.case.name, ()), *_own_causes(result)]
        if own:
            found[result.case.name] = own
    return found


def _own_causes(result: CaseResult) -> Iterator[str]:
    """Yield the causes that follow from the result of the case itself."""
    yield from (f"limit {code}" for code in result.explained_by)
    if result.known:
        yield f"known: {visible_message(known_text(result.known))}"
    elif result.status is Status.SKIPPED:
        yield f"skipped: {visible_message(result.message or '')}"
    elif result.status is Status.ERROR:
        yield "cannot be encoded"
    elif result.status is Status.MISMATCH and result.difference and result.actual == result.expected:
        yield "both sides agree, but not with the case"
    elif result.status is Status.MISMATCH and not can_match(result):
        yield "the reference does not agree with the case"
    if result.decode_difference or (result.status is Status.MISMATCH and not result.difference):
        yield "decoded differently"


def _explained(report: Report) -> dict[str, list[str]]:
    """Return the explanations of the diagnosis for each case that it tried to explain."""
    if not report.diagnosis:
        return {}
    explanations = [(visible_message(item.sentence), set(item.unexplained)) for item in report.diagnosis.explanations]
    found: dict[str, list[str]] = {}
    for name in _diagnosed(report, report.diagnosis):
        sentences = [sentence for sentence, unexplained in explanations if name not in unexplained]
        found[name] = sentences or ["no explanation found"]
    return found


def _diagnosed(report: Report, diagnosis: Diagnosis) -> list[str]:
    """Name the cases that the diagnosis tried to explain."""
    if diagnosis.decoding:
        return [result.case.name for result in report.results if result.decode_difference and not result.known]
    mismatches = [result for result in report.results if result.status is Status.MISMATCH]
    differing = [result.case.name for result in mismatches if result.actual != result.expected and can_match(result)]
    errors = [result.case.name for result in report.results if result.status is Status.ERROR]
    # subtle: the diagnosis includes only errors for which the reference has ids, and the report does not say which.
    return differing + errors if len(differing) + len(errors) == diagnosis.failing else differing


Pairs = Mapping[int, tuple[Token, Token]]
Column = int | tuple[int, list[int], list[int], str | None]

_CODE_POINTS = 4


class Numbering(dict[str, int]):
    """Numbers strings in the order of their first use."""

    def __missing__(self, text: str) -> int:
        return self.setdefault(text, len(self))


class TokenTable:
    """Holds each token once, as (id, piece, bytes in hexadecimal, text), so that cases refer to it by row.

    The text is that of a column in which both sides have this token only.
    """

    def __init__(self) -> None:
        self.rows: list[tuple[int | None, str, str, str]] = []
        self._numbers: dict[Token, int] = {}

    def number(self, token: Token) -> int:
        """Return the row of a token."""
        number = self._numbers.get(token)
        if number is None:
            number = self._numbers[token] = len(self.rows)
            id = None if token.id == NO_TOKEN else token.id
            self.rows.append((id, visible(token.piece), token.token_bytes.hex(), visible(token.token_bytes)))
        return number

    def numbers(self, tokens: Sequence[Token]) -> list[int]:
        """Return the rows of tokens."""
        return list(map(self.number, tokens))


def cases_data(reports: Iterable[tuple[Report, Causes]]) -> dict[str, object]:
    """Return the cases of reports, and the suites, tags, causes and tokens to which they refer by number."""
    suites, tags, cause_numbers, tokens = Numbering(), Numbering(), Numbering(), TokenTable()
    cases = []
    # subtle: two reports can have cases with the same name, each with its own causes.
    every_result = ((result, causes, report.tokens) for report, causes in reports for result in report.results)
    for result, causes, pairs in every_result:
        shown: dict[str, object] = {
            "name": visible_message(result.case.name),
            "status": str(result.status),
            "suite": suites[visible_message(result.case.suite)],
            "tags": [tags[visible_message(tag)] for tag in result.case.tags],
            "causes": [cause_numbers[cause] for cause in causes.get(result.case.name, ())],
        }
        cases.append(shown | _case(result, _blocks(result, pairs), tokens))
    return {
        "suites": list(suites),
        "tags": list(tags),
        "causes": list(cause_numbers),
        "tokens": tokens.rows,
        "cases": cases,
    }


def _blocks(result: CaseResult, pairs: Pairs) -> Sequence[Block]:
    """Return both tokenizations of a case; nothing if the report lacks the tokens of its ids."""
    if result.difference:
        return result.difference.blocks
    if not result.actual or not all(id in pairs for id in result.actual):
        return ()
    actual, expected = zip(*(pairs[id] for id in result.actual), strict=True)
    return (Block(True, actual, expected),)


def _case(result: CaseResult, blocks: Sequence[Block], tokens: TokenTable) -> dict[str, object]:
    case = result.case
    shown: dict[str, object] = {
        "text": visible(case.text),
        "place": visible_message(f"{case.file}:{case.line}") if case.file else "",
        "headline": "" if result.status is Status.MATCH else headline(result),
        "facts": list(_facts(result, blocks)),
    }
    if blocks:
        shown["other"] = other_side(result)
        shown["columns"] = [column for block in blocks for column in _columns(block, tokens)]
        shown["exact"] = _decodes_to(blocks, case.text)
    elif result.status is Status.MATCH:
        shown["ids"] = list(result.actual)
    if result.decode_difference:
        difference = result.decode_difference
        shown["decoded"] = [visible(data) for data in (difference.actual, difference.expected)]
    return shown


def _facts(result: CaseResult, blocks: Sequence[Block]) -> Iterator[tuple[str, str]]:
    for line in description(result):
        label, _, value = line.partition(": ")
        if label != "text":
            yield label, value
    if result.difference:
        around = result.difference.excerpt
        if around.expected and around.actual == around.expected:
            yield "characters", ", ".join(code_points(around.expected[:_CODE_POINTS]))
    if blocks:
        yield "tokens", f"{_token_counts(result, blocks)}, for {plural(len(result.case.text), 'character')}"


def _token_counts(result: CaseResult, blocks: Sequence[Block]) -> str:
    actual, expected = map(len, _sides(blocks))
    if result.difference is None:
        return f"{actual:,} on both sides"
    return f"{actual:,} in actual, {expected:,} in {other_side(result)}"


def _sides(blocks: Sequence[Block]) -> tuple[list[Token], list[Token]]:
    """Return all tokens of both sides."""
    return (
        [token for block in blocks for token in block.actual],
        [token for block in blocks for token in block.expected],
    )


def _decodes_to(blocks: Sequence[Block], text: str) -> list[bool]:
    """Check for each side whether its tokens represent exactly the text, so that spans count the text's bytes."""
    data = text.encode("utf-8", "surrogatepass")
    return [join_bytes(side) == data for side in _sides(blocks)]


def _columns(block: Block, tokens: TokenTable) -> Iterator[Column]:
    """Split a block into columns.

    A column is (is equal, tokens of actual, tokens of expected, text, if it is the same). Most columns hold the same
    token on both sides; such a column is the row of the token, which keeps the page small.
    """
    if not block.equal:
        yield _column(block.equal, block.actual, block.expected, tokens)
        return
    start = 0
    for end in _character_ends(block.actual):
        actual, expected = block.actual[start:end], block.expected[start:end]
        is_one = len(actual) == 1 and actual == expected
        yield tokens.number(actual[0]) if is_one else _column(block.equal, actual, expected, tokens)
        start = end


def _character_ends(tokens: Sequence[Token]) -> Iterator[int]:
    """Yield the indexes after which no character is incomplete, and the last one."""
    pending = b""
    for index, token in enumerate(tokens, 1):
        pending += token.token_bytes
        if index == len(tokens) or not _is_cut(pending):
            yield index
            pending = b""


def _is_cut(data: bytes) -> bool:
    """Check whether UTF-8 ends within a character."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return False


def _column(equal: bool, actual: Sequence[Token], expected: Sequence[Token], tokens: TokenTable) -> Column:
    data = join_bytes(actual)
    text = visible(data) if data == join_bytes(expected) else None
    return int(equal), tokens.numbers(actual), tokens.numbers(expected), text
