"""Check a GGUF file's tokenizer with static rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tokverify.commands.tasks.declaration import ModelLocation, open_declaration
from tokverify.commands.tasks.opening import ReferenceSource, open_reference
from tokverify.compare.audit import audit
from tokverify.compare.baseline import Baseline
from tokverify.compare.checks import RULES
from tokverify.compare.opened import OpenedReference, engine_version
from tokverify.compare.repair import add_remedies
from tokverify.compare.rule import Rule
from tokverify.compare.subject import Subject
from tokverify.errors import TokverifyError
from tokverify.report.audit import AuditReport
from tokverify.report.finding import Severity
from tokverify.version import __version__


def audit_model(  # noqa: PLR0913 - the optional ones are keywords
    model: ModelLocation,
    reference: ReferenceSource = None,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    fail_on: Severity | None = Severity.ERROR,
    baseline: Baseline | Path | str | None = None,
    options: Mapping[str, object] | None = None,
) -> AuditReport:
    """Check the tokenizer of a GGUF file with static rules, even if llama.cpp refuses the file.

    Args:
        model: The GGUF file.
        reference: A reference to check against; without one, only the file itself is checked.
        select: Beginnings of the codes of the rules to apply; all by default.
        ignore: Beginnings of the codes of rules to leave out.
        fail_on: The lowest severity that makes the report fail; None if no finding does.
        baseline: Known differences, or the file that lists them.
        options: The options to record in the report.

    Returns:
        The report, with the findings and the rules that could not be evaluated.

    Raises:
        TokverifyError: If a file cannot be read, or no rule is selected.
    """
    rules = _select_rules(tuple(select), tuple(ignore))
    known = Baseline.load(Path(baseline)) if isinstance(baseline, str | Path) else baseline
    opened = open_declaration(model, "gguf")
    found = None if reference is None else open_reference(opened, reference)
    encoder = opened.encoder if opened.is_loaded else None
    subject = Subject(opened.declaration, found, opened.file.name, encoder)
    report = replace(
        audit(subject, rules, known),
        source=opened.file.location,
        fail_on=fail_on,
        fingerprint=subject.fingerprint,
        reference=found.source if found else None,
        reference_sha256=found.found.sha256 if found else None,
        caveat="; ".join(filter(None, [opened.needs and f"needs {opened.needs}", found.found.caveat if found else ""])),
        options=dict(options or {}),
        versions={"tokverify": __version__, **engine_version(), **(found.found.versions if found else {})},
    )
    location = (reference.path or reference.source) if isinstance(reference, OpenedReference) else reference
    repairs_with = None if found is None or found.found.reads_model else str(location)
    return add_remedies(report, repairs_with)


def _select_rules(select: tuple[str, ...], ignore: tuple[str, ...]) -> list[Rule]:
    selected = [rule for code, rule in RULES.items() if code.startswith(select or ("",))]
    rules = [rule for rule in selected if not ignore or not rule.code.startswith(ignore)]
    if not rules:
        raise TokverifyError("no rule selected: --ignore excludes every rule that --select names; drop one of them")
    return rules
