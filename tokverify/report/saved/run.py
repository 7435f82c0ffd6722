"""Read a JSON report of `tokverify run` back into the Report that it was written of.

Only what the changes in a diagnosis do is not in the file: they can be told, but no more be made.
"""

from __future__ import annotations

import shlex
from contextlib import suppress
from dataclasses import replace
from datetime import date
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.cases.case import Case
from tokverify.report.difference import Block, DecodeDifference, Difference, Divergence
from tokverify.report.run import (
    BaselineOutcome,
    CaseResult,
    KnownDifference,
    PieceDifference,
    Report,
    Side,
    Status,
    VocabularyDifference,
)
from tokverify.report.saved import open_saved
from tokverify.report.saved.json_node import JsonNode
from tokverify.tokenizer import Token
from tokverify.verify.alignment import compare_decoded, cut_excerpt

if TYPE_CHECKING:
    from tokverify.cases.case import Expect
    from tokverify.report.diagnosis import Diagnosis, Explanation

_COMMANDS = ("gguf-new-metadata ", "gguf-set-metadata ")


def read_report(path: Path | str) -> Report:
    """Read the report of a `tokverify run -f json`.

    Raises:
        TokverifyError: If it cannot be read, or is no such report; the message says where.
        UnsupportedError: If another version of tokverify or another command wrote it.
    """
    return restore_report(open_saved(path, ["run"]))


def restore_report(root: JsonNode) -> Report:
    """Return the report of a run.

    Raises:
        TokverifyError: If a part of it is not as it should be.
    """
    return replace(restore_comparison(root), stopped_early=root.get("summary").get("stopped_early").boolean())


def restore_comparison(root: JsonNode) -> Report:
    """Return a report without what its summary tells; a report of `tokverify fuzz` has the same keys for the rest.

    Raises:
        TokverifyError: If a part of it is not as it should be.
    """
    return Report(
        actual=restore_side(root.get("actual")),
        expected=restore_side(root.get("expected")),
        vocabulary=root.get("vocabulary").optional(_vocabulary),
        results=tuple(root.get("cases").items(_result)),
        options=root.get("options").mapping(),
        versions=root.get("versions").entries(JsonNode.string),
        diagnosis=root.get("diagnosis").optional(_diagnosis),
        baseline=root.get("baseline").optional(_baseline),
        tokens=dict(root.get("tokens").items(_pair)),
    )


def restore_side(node: JsonNode) -> Side:
    """Return a side."""
    return Side(
        name=node.get("name").string(),
        source=node.get("source").string(),
        reason=node.get("reason").string(),
        caveat=node.get("caveat").string(),
        aliases=tuple(node.get("aliases").items(JsonNode.string)),
        family=node.get("family").optional(JsonNode.string),
        sha256=node.get("sha256").optional(restore_digest),
        fingerprint=node.get("fingerprint").optional(restore_digest),
        settings=node.get("settings").mapping(),
        overrides=tuple(node.get("overrides").items(JsonNode.string)),
    )


def restore_digest(node: JsonNode) -> str:
    """Return a digest, which is hexadecimal."""
    return node.hex_bytes().hex()


def _vocabulary(node: JsonNode) -> VocabularyDifference:
    sizes = node.get("sizes")
    return VocabularyDifference(
        actual_size=sizes.get("actual").count(),
        expected_size=sizes.get("expected").count(),
        pieces=tuple(node.get("pieces").items(_piece)),
        respelled=node.get("respelled").count(),
        special_ids=node.get("special_ids").entries(
            lambda pair: (pair.get("actual").integer(), pair.get("expected").integer())
        ),
    )


def _piece(node: JsonNode) -> PieceDifference:
    sides = (node.get(role).optional(JsonNode.string) for role in ("actual", "expected"))
    return PieceDifference(node.get("id").integer(), *sides)


def _diagnosis(node: JsonNode) -> Diagnosis:
    from tokverify.report.diagnosis import Diagnosis

    failing = node.get("failing").count()
    return Diagnosis(
        explanations=tuple(node.get("explanations").items(lambda item: _explanation(item, failing))),
        failing=failing,
        tried=node.get("tried").count(),
        stopped_early=node.get("stopped_early").boolean(),
        decoding=node.get("decoding").boolean(),
    )


def _explanation(node: JsonNode, failing: int) -> Explanation:
    from tokverify.report.diagnosis import Explanation

    return Explanation(
        kind=node.get("kind").string(),
        sentence=node.get("sentence").string(),
        explained=node.get("explained").count(),
        failing=failing,
        unexplained=tuple(node.get("unexplained").items(JsonNode.string)),
        expressible=node.get("expressible").boolean(),
        gguf_command=node.get("repair").optional(_repair),
    )


def _repair(node: JsonNode) -> str:
    """Return a command that is shown to be pasted: of the `gguf` package, and no other."""
    command = node.string()
    with suppress(ValueError):
        if command.startswith(_COMMANDS) and shlex.join(shlex.split(command)) == command:
            return command
    raise node.error(f"a command line of {' or '.join(map(str.strip, _COMMANDS))}, quoted for a shell")


def _baseline(node: JsonNode) -> BaselineOutcome:
    return BaselineOutcome(
        source=node.get("source").string(),
        fixed=tuple(node.get("fixed").items(_known)),
        not_run=tuple(node.get("not_run").items(_known)),
    )


def _known(node: JsonNode) -> KnownDifference:
    return KnownDifference(
        case=node.get("case").string(),
        difference=node.get("difference").string(),
        reason=node.get("reason").string(),
        expires=node.get("expires").optional(_date),
        model=node.get("model").optional(JsonNode.string),
        about=node.get("about").string(),
        place=node.get("place").string(),
    )


def _date(node: JsonNode) -> date:
    try:
        return date.fromisoformat(node.string())
    except ValueError:
        raise node.error("a date, such as 2027-01-31") from None


def _result(node: JsonNode) -> CaseResult:
    ids = node.get("ids")
    result = CaseResult(
        case=_case(node),
        status=node.get("status").one_of(Status),
        actual=ids.get("actual").integers(),
        expected=ids.get("expected").integers(),
        difference=node.get("difference").optional(restore_difference) if node.has("difference") else None,
        message=node.get("message").optional(JsonNode.string),
        notes=tuple(node.get("notes").items(JsonNode.string)),
        refusals=tuple(node.get("refusals").items(JsonNode.string)),
        add_special=node.get("add_special").boolean(),
        parse_special=node.get("parse_special").boolean(),
        expect=node.get("expect").optional(_expect),
        decode_difference=_decoded(node.get("decoded")) if node.has("decoded") else None,
        known=node.get("known").optional(_known),
    )
    _check_consistent(node, result)
    return result


def _check_consistent(node: JsonNode, result: CaseResult) -> None:
    """Check what the formats rely on."""
    if result.status is Status.MISMATCH and result.difference is None and result.message is None:
        raise node.error("an object with a `difference` or a message, as its status is mismatch")
    if (result.status is Status.KNOWN) != (result.known is not None):
        raise node.error("an object with `known` if, and only if, its status is known")


def _case(node: JsonNode) -> Case:
    asked = node.get("asked")
    return Case(
        id=node.get("id").string(),
        suite=node.get("suite").string(),
        text=node.get("text").string(),
        tags=tuple(node.get("tags").items(JsonNode.string)),
        note=node.get("note").string(),
        add_special=asked.get("add_special").boolean(),
        parse_special=asked.get("parse_special").boolean(),
        expect=node.get("expectations").entries(_expect),
        file=node.get("file").string(),
        line=node.get("line").count(),
    )


def _expect(node: JsonNode) -> Expect:
    items = node.items(lambda item: item)
    if items and all(isinstance(item.value, str) for item in items):
        return tuple(item.string() for item in items)
    return node.integers()


def restore_difference(node: JsonNode) -> Difference:
    """Return where two tokenizations part."""
    blocks = tuple(node.get("blocks").items(_block))
    first = node.get("first")
    index = first.get("token_index").integer()
    actual = list(chain.from_iterable(block.actual for block in blocks))
    expected = list(chain.from_iterable(block.expected for block in blocks))
    if not 0 <= index < max(len(actual), len(expected)):
        raise first.get("token_index").error("the index of a token")
    byte_offset = first.get("byte_offset").count()
    return Difference(
        blocks=blocks,
        excerpt=cut_excerpt(actual, expected, byte_offset),
        first=Divergence(
            token_index=index,
            byte_offset=byte_offset,
            actual=actual[index] if index < len(actual) else None,
            expected=expected[index] if index < len(expected) else None,
        ),
    )


def _block(node: JsonNode) -> Block:
    block = Block(
        node.get("equal").boolean(),
        tuple(node.get("actual").items(restore_token)),
        tuple(node.get("expected").items(restore_token)),
    )
    if block.equal and len(block.actual) != len(block.expected):
        raise node.error("an object with as many tokens on both sides, as it is equal")
    return block


def restore_token(node: JsonNode) -> Token:
    """Return a token."""
    return Token(node.get("id").integer(), node.get("piece").string(), node.get("bytes").hex_bytes())


def _pair(node: JsonNode) -> tuple[int, tuple[Token, Token]]:
    actual = restore_token(node)
    return actual.id, (actual, restore_token(node.get("expected")) if node.has("expected") else actual)


def _decoded(node: JsonNode) -> DecodeDifference | None:
    return compare_decoded(node.get("actual").get("bytes").hex_bytes(), node.get("expected").get("bytes").hex_bytes())
