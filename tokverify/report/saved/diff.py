"""Read a JSON report of `tokverify diff` back."""

from __future__ import annotations

from tokverify.report.diff import ChangeReport, Effect, Part, PartChange
from tokverify.report.saved import check_kind
from tokverify.report.saved.fuzz import restore_fuzz
from tokverify.report.saved.json_node import JsonNode
from tokverify.report.saved.run import restore_report


def restore_change(root: JsonNode) -> ChangeReport:
    """Return what changed from one version of a tokenizer to the next.

    Raises:
        TokverifyError: If a part of it is not as it should be.
        UnsupportedError: If another version of tokverify wrote it.
    """
    run, fuzz = root.get("run"), root.get("fuzz")
    check_kind(run, ["run"])
    if fuzz.value is not None:
        check_kind(fuzz, ["fuzz"])
    return ChangeReport(
        parts=tuple(root.get("parts").items(_part)),
        report=restore_report(run),
        fuzzed=fuzz.optional(restore_fuzz),
        effect=root.get("effect").optional(_effect),
        not_compared=tuple(root.get("not_compared").items(JsonNode.string)),
        behavior_only=root.get("behavior_only").boolean(),
        file=root.get("file").string(),
        options=root.get("options").mapping(),
        versions=root.get("versions").entries(JsonNode.string),
    )


def _part(node: JsonNode) -> Part:
    return Part(node.get("name").string(), tuple(node.get("changes").items(_change)))


def _change(node: JsonNode) -> PartChange:
    return PartChange(
        kind=node.get("kind").string(),
        what=node.get("what").string(),
        old=node.get("old").optional(JsonNode.string),
        new=node.get("new").optional(JsonNode.string),
    )


def _effect(node: JsonNode) -> Effect:
    names = ("lines", "changed_lines", "bytes", "changed_bytes", "old_tokens", "new_tokens")
    return Effect(*(node.get(name).count() for name in names))
