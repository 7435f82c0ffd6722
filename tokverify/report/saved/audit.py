"""Read a JSON report of `tokverify audit` back; of its waivers there is only what is told of them."""

from __future__ import annotations

import re

from tokverify.audit.waiver import Waiver
from tokverify.report.audit import AuditReport, NotEvaluated, Waived
from tokverify.report.finding import Finding, Severity
from tokverify.report.saved.json_node import JsonNode
from tokverify.report.saved.run import restore_digest

_CODE = re.compile("[A-Z]+[0-9]+")
_NAME = re.compile("[a-z0-9]+(-[a-z0-9]+)*")


def restore_audit(root: JsonNode) -> AuditReport:
    """Return an audit."""
    return AuditReport(
        findings=tuple(root.get("findings").items(_finding)),
        waived=tuple(root.get("waived").items(_waived)),
        unused_waivers=tuple(root.get("unused_waivers").items(_waiver)),
        not_evaluated=tuple(root.get("not_evaluated").items(_not_evaluated)),
        codes=tuple(root.get("codes").items(_code)),
        source=root.get("model").string(),
        fingerprint=root.get("fingerprint").optional(restore_digest),
        reference=root.get("reference").optional(JsonNode.string),
        reference_sha256=root.get("reference_sha256").optional(restore_digest),
        caveat=root.get("caveat").string(),
        fail_on=_severity(root.get("options").get("fail_on")),
        options=root.get("options").mapping(),
        versions=root.get("versions").entries(JsonNode.string),
    )


def _finding(node: JsonNode) -> Finding:
    return Finding(
        severity=_severity(node.get("severity")),
        message=node.get("message").string(),
        ids=node.get("ids").integers(),
        keys=tuple(node.get("keys").items(JsonNode.string)),
        repair=node.get("repair").string(),
        code=_code(node.get("code")),
        name=_name(node.get("name")),
    )


def _waived(node: JsonNode) -> Waived:
    return Waived(_finding(node.get("finding")), _waiver(node.get("waiver")))


def _waiver(node: JsonNode) -> Waiver:
    return Waiver(code=_code(node.get("code")), place=node.get("place").string(), reason=node.get("reason").string())


def _not_evaluated(node: JsonNode) -> NotEvaluated:
    return NotEvaluated(_code(node.get("code")), _name(node.get("name")), node.get("reason").string())


def _code(node: JsonNode) -> str:
    code = node.string()
    if not _CODE.fullmatch(code):
        raise node.error("the code of a rule, such as TV101")
    return code


def _name(node: JsonNode) -> str:
    name = node.string()
    if not _NAME.fullmatch(name):
        raise node.error("the name of a rule, such as broken-byte-tokens")
    return name


def _severity(node: JsonNode) -> Severity:
    name = node.string()
    if name not in Severity.__members__:
        raise node.error(" or ".join(Severity.__members__))
    return Severity[name]
