"""Read a JSON report of `tokverify audit` back; of its waivers there is only what is told of them."""

from __future__ import annotations

from tokverify.audit.finding import Finding, Severity
from tokverify.audit.report import AuditReport, NotEvaluated, Waived
from tokverify.audit.waiver import Waiver
from tokverify.saved.json_node import JsonNode


def restore_audit(root: JsonNode) -> tuple[AuditReport, Severity]:
    """Return an audit, with the severity that decides its exit code."""
    report = AuditReport(
        findings=tuple(root.get("findings").items(_finding)),
        waived=tuple(root.get("waived").items(_waived)),
        unused_waivers=tuple(root.get("unused_waivers").items(_waiver)),
        not_evaluated=tuple(root.get("not_evaluated").items(_not_evaluated)),
        codes=tuple(root.get("codes").items(JsonNode.string)),
        source=root.get("model").string(),
        fingerprint=root.get("fingerprint").optional(JsonNode.string),
        reference=root.get("reference").optional(JsonNode.string),
        reference_sha256=root.get("reference_sha256").optional(JsonNode.string),
        caveat=root.get("caveat").string(),
        options=root.get("options").mapping(),
        versions=root.get("versions").entries(JsonNode.string),
    )
    return report, _severity(root.get("options").get("fail_on"))


def _finding(node: JsonNode) -> Finding:
    return Finding(
        severity=_severity(node.get("severity")),
        message=node.get("message").string(),
        ids=node.get("ids").integers(),
        keys=tuple(node.get("keys").items(JsonNode.string)),
        repair=node.get("repair").string(),
        code=node.get("code").string(),
        name=node.get("name").string(),
    )


def _waived(node: JsonNode) -> Waived:
    return Waived(_finding(node.get("finding")), _waiver(node.get("waiver")))


def _waiver(node: JsonNode) -> Waiver:
    return Waiver(code=node.get("code").string(), place=node.get("place").string(), reason=node.get("reason").string())


def _not_evaluated(node: JsonNode) -> NotEvaluated:
    return NotEvaluated(node.get("code").string(), node.get("name").string(), node.get("reason").string())


def _severity(node: JsonNode) -> Severity:
    name = node.string()
    if name not in Severity.__members__:
        raise node.error(" or ".join(Severity.__members__))
    return Severity[name]
