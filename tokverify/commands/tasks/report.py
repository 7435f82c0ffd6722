"""Write reports as JSON, read them back, and compare two."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tokverify.cases.loading import load_cases
from tokverify.commands.tasks.opening import ModelSource, ReferenceSource, open_model, open_reference
from tokverify.commands.tasks.run import RunResult, update_baseline
from tokverify.compare.baseline import Baseline
from tokverify.compare.certificate import (
    HEADER,
    AtHand,
    CertificateCheck,
    Resource,
    certify,
    check_certificate,
    describe_reference,
    find_repeated_key,
    parse_certificate,
    write_certificate,
)
from tokverify.compare.opened import OpenedModel, OpenedReference
from tokverify.compare.report_diff import compare_reports
from tokverify.report import codec
from tokverify.report.report_diff import ReportDiff
from tokverify.report.run import Report
from tokverify.sources.gguf.metadata import hash_header
from tokverify.sources.tokenizer_file import kind_of_model
from tokverify.system.input_file import read_bytes
from tokverify.text.wording import quote
from tokverify.version import __version__


def to_json(report: object) -> str:
    """Write a report of any kind as JSON. Equal reports give equal text.

    The document begins with `schema_version`, `kind`, and a `summary` with the exit code.

    Args:
        report: A report, as returned by functions such as `verify_model`.

    Raises:
        TypeError: If the object is not a report.
    """
    if not any(type(report) is kind.type for kind in codec.KINDS.values()):
        raise TypeError(f"a {type(report).__name__} is not a report; pass what a function such as verify_model returns")
    return codec.encode(report)


def read_report(path: str | Path) -> object:
    """Read a report of any kind from a JSON file.

    Args:
        path: The file.

    Returns:
        The report, an instance of the class that the command returns.

    Raises:
        TokverifyError: If the file cannot be read or is not a report. The message names the place in the document.
        UnsupportedError: If another version of tokverify wrote it.
    """
    return codec.read_any(path).report


def apply_baseline(path: Path, baseline: Path, *, update: bool = False, reason: str | None = None) -> RunResult:
    """Read a report of `tokverify run` and apply a baseline to it instead of the one that the run used.

    With `update`, it is a baseline that lists exactly what fails in the report, and writing it is prepared; `reason` is
    that of new entries.

    Raises:
        TokverifyError: If a file cannot be read, or there are new failures and no reason.
    """
    report = codec.read(path, Report)
    return update_baseline(report, baseline, reason) if update else RunResult(Baseline.load(baseline).apply(report), {})


def diff_reports(old: str | Path, new: str | Path) -> ReportDiff:
    """Compare two saved reports of `tokverify run`, case by case.

    Raises:
        TokverifyError: If one of them cannot be read or is not such a report.
    """
    return compare_reports(codec.read(old, Report), codec.read(new, Report))


_MAX_BYTES = 1 << 20


def render_certificate(
    report: Report, model: OpenedModel | OpenedReference, reference: OpenedReference | None
) -> str | None:
    """Return the text of a certificate of a model; None if the run proves nothing."""
    certificate = certify(report, _hash_header(model), _hash_header(reference))
    return None if certificate is None else write_certificate(certificate)


def _hash_header(opened: OpenedModel | OpenedReference | None) -> str | None:
    """Return the SHA-256 digest of everything before the tensor data of a GGUF file; None for anything else."""
    if opened is None:
        return None
    # llama.cpp as a reference only says where it has read the file.
    path = opened.path or Path(opened.source)
    return hash_header(path) if path.is_file() and kind_of_model(path) == "gguf" else None


def verify_certificate(
    certificate: Path | str, model: ModelSource, reference: ReferenceSource = None
) -> CertificateCheck:
    """Check whether a certificate of a run still holds for a model, without encoding any text.

    Without a reference, its digest is not compared.

    Raises:
        TokverifyError: If a file cannot be read, or is no certificate.
    """
    path = Path(certificate)
    data = read_bytes(path, "certificate", _MAX_BYTES)
    content = parse_certificate(data, str(path))
    opened = open_model(model)
    other = None if reference is None else open_reference(opened, reference)
    digests = {HEADER: _hash_header(opened), "sha256": opened.description.sha256}
    found = Resource(opened.path.name, {name: digest for name, digest in digests.items() if digest})
    at_hand = AtHand(
        found,
        opened.encoder.fingerprint,
        None if other is None else describe_reference(other.description, _hash_header(other)),
        {"tokverify": __version__, "llama.cpp": opened.versions["llama.cpp"]},
        load_cases(),
    )
    check = check_certificate(content, at_hand)
    if key := find_repeated_key(data):
        return replace(check, problems=(*check.problems, f"it contradicts itself: it has the key {quote(key)} twice"))
    return check
