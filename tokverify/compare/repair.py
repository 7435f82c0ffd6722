"""Command lines that repair a finding.

Rules write MODEL, REFERENCE and FIXED for the files; `add_remedies` fills in the files of a report.
"""

from __future__ import annotations

import shlex
from dataclasses import replace

from tokverify.report.audit import AuditReport
from tokverify.report.diagnosis import Command, Repair
from tokverify.report.finding import Finding
from tokverify.sources.gguf.keys import KEYS_BY_ROLE
from tokverify.sources.stores.location import is_stored
from tokverify.text.command_line import fill_in, fixed_name

FIX = "tokverify fix MODEL -r REFERENCE -o FIXED"
"""Applies if the reference has the right types, texts, scores or merges, and cases reveal the fault."""

_REMARKS = {
    "tokverify fix": "this repairs what the shipped cases reveal; add your own with --cases",
    "gguf-new-metadata": "",
    "gguf-set-metadata": "modifies the file in place",
}
"""Beginning of a command -> what to know about it."""


def new_metadata(*arguments: str) -> str:
    """Return the command that writes a changed copy of the file."""
    return shlex.join(["gguf-new-metadata", *arguments, "MODEL", "FIXED"])


def set_pre_tokenizer(name: str) -> str:
    """Return the command that sets the pre-tokenizer."""
    return new_metadata("--pre-tokenizer", name)


def set_special_id(role: str, id: int | None = None) -> str:
    """Return the command that sets the token of a role; without an id, the user has to fill it in."""
    name = KEYS_BY_ROLE[role].removeprefix("tokenizer.ggml.").removesuffix("_token_id")
    return new_metadata("--special-token-by-id", name, "ID" if id is None else str(id))


def remove_special_id(role: str) -> str:
    """Return the command that leaves a role without a token."""
    return new_metadata("--remove-metadata", KEYS_BY_ROLE[role])


def set_flag(key: str, *, value: bool, declared: bool) -> str:
    """Describe how to set a flag: in the file if it is declared there, or else when running llama.cpp."""
    if not declared:
        return f"llama.cpp's --override-kv {key}=bool:{str(value).lower()}, or convert again with the flag set"
    # subtle: the script converts the text with bool(), which is True for `false` and `0`, and False only for "".
    # Without --force, it waits for an answer.
    return shlex.join(["gguf-set-metadata", "--force", "MODEL", key, "true" if value else ""])


def key_of(role: str) -> str:
    """Return the GGUF key that declares the token of a role."""
    return KEYS_BY_ROLE[role]


def add_remedies(report: AuditReport, reference: str | None) -> AuditReport:
    """Store in an audit how each of its findings can be repaired, with its files named.

    `reference` is the location of a reference to repair the file with; None if there is none.
    """

    def add_remedy(finding: Finding) -> Finding:
        return replace(finding, remedy=find_remedy(finding.repair, report.source or None, reference))

    findings = tuple(map(add_remedy, report.findings))
    waived = tuple(replace(each, finding=add_remedy(each.finding)) for each in report.waived)
    return replace(report, findings=findings, waived=waived)


def find_remedy(repair: str, model: str | None, reference: str | None) -> Repair:
    """Return a repair as a command with the files named, if they are known; as a remark if it is no known command."""
    for beginning, remark in _REMARKS.items():
        if repair.startswith(f"{beginning} "):
            # The programs of the gguf package know only files.
            is_unknown = model is not None and not repair.startswith("tokverify ") and is_stored(model)
            arguments = fill_in(repair, None if is_unknown else model, fixed_name(model), reference)
            return Repair((Command("repair", arguments),), remark)
    return Repair(remark=repair)
