"""Read JSON statistics of `tokverify stats` back: the counts, of which everything else is worked out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tokverify.report.saved.json_node import JsonNode
from tokverify.report.saved.run import restore_digest, restore_token
from tokverify.report.stats import Measured, Row, Stats
from tokverify.stats.probe import Probe
from tokverify.stats.text import ENGLISH, Kind


def restore_stats(root: JsonNode) -> Stats:
    """Return what was measured.

    Raises:
        TokverifyError: If a part of it is not as it should be.
    """
    tokenizers = tuple(root.get("tokenizers").items(_measured))
    names = [measured.name for measured in tokenizers]
    return Stats(
        tokenizers=tokenizers,
        rows=tuple(root.get("texts").items(partial(_row, names=names))),
        files=tuple(root.get("files").items(JsonNode.string)),
        options=root.get("options").mapping(),
        versions=root.get("versions").entries(JsonNode.string),
    )


def _measured(node: JsonNode) -> Measured:
    return Measured(
        name=node.get("name").string(),
        source=node.get("source").string(),
        fingerprint=node.get("fingerprint").optional(restore_digest),
        sha256=node.get("sha256").optional(restore_digest),
        vocab_size=node.get("vocab_size").count(),
        ordinary=node.get("ordinary_tokens").count(),
        excluded=node.get("excluded").entries(JsonNode.count),
        probe=_probe(node),
        long_tokens=node.get("long_tokens").count(),
        longest=node.get("longest").items(restore_token),
        longest_used=node.get("longest_used").items(restore_token),
        unused=node.get("never_used").optional(JsonNode.count),
        unused_examples=node.get("never_used_examples").items(restore_token),
        failures=tuple(node.get("failures").items(JsonNode.string)),
    )


def _probe(node: JsonNode) -> Probe:
    return Probe(
        single_numbers=node.get("single_token_numbers").optional(JsonNode.count),
        long_number_tokens=node.get("long_number_tokens").optional(JsonNode.count),
        indentation=node.get("indentation").optional(_indentation),
        trailing_space=node.get("trailing_space_is_a_token").optional(JsonNode.boolean),
        language_tokens=node.get("language_tokens").optional(_language_tokens),
    )


def _indentation(node: JsonNode) -> dict[int, int]:
    counts = node.entries(_positive)
    if not counts or not all(width.isascii() and width.isdecimal() for width in counts):
        raise node.error("an object with numbers of spaces as keys")
    return {int(width): count for width, count in counts.items()}


def _language_tokens(node: JsonNode) -> dict[str, int]:
    node.get(ENGLISH)
    return node.entries(_positive)


def _positive(node: JsonNode) -> int:
    """Read what is divided by."""
    if not (count := node.count()):
        raise node.error("a whole number from 1 on")
    return count


def _row(node: JsonNode, names: Sequence[str]) -> Row:
    counted = node.get("tokenizers").items(_counted)
    if [name for name, _, _ in counted] != names:
        raise node.get("tokenizers").error("a list with one object for each tokenizer, in order")
    return Row(
        kind=node.get("kind").one_of(Kind),
        name=node.get("name").string(),
        pieces=node.get("pieces").count(),
        bytes=node.get("bytes").count(),
        characters=node.get("characters").count(),
        words=node.get("words").optional(JsonNode.count),
        trailing=node.get("lines_with_trailing_space").count(),
        tokens=tuple(tokens for _, tokens, _ in counted),
        unknown=tuple(unknown for _, _, unknown in counted),
    )


def _counted(node: JsonNode) -> tuple[str, int | None, int]:
    return node.get("name").string(), node.get("tokens").optional(JsonNode.count), node.get("unknown").count()
