"""Certify what a run has proven, and check whether a certificate still holds for a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.cases.loading import load_cases
from tokverify.commands.tasks.opening import ModelSource, ReferenceSource, open_model, open_reference
from tokverify.compare.certificate import (
    HEADER,
    AtHand,
    CertificateCheck,
    Resource,
    certify,
    check_certificate,
    describe_reference,
    parse_certificate,
    write_certificate,
)
from tokverify.compare.digest import digest_suites
from tokverify.compare.opened import OpenedModel, OpenedReference
from tokverify.sources.gguf.metadata import hash_header
from tokverify.system.input_file import read_bytes
from tokverify.version import __version__

if TYPE_CHECKING:
    from tokverify.report.run import Report

_MAX_BYTES = 1 << 20


def render_certificate(report: Report, model: OpenedModel | OpenedReference) -> str | None:
    """Return the text of a certificate of a model; None if the run proves nothing."""
    certificate = certify(report, _hash_header(model) if isinstance(model, OpenedModel) else None)
    return None if certificate is None else write_certificate(certificate)


def _hash_header(model: OpenedModel) -> str | None:
    """Return the SHA-256 digest of everything before the tensor data of a GGUF file; None for any other file."""
    return hash_header(model.path) if model.kind == "gguf" else None


def verify_certificate(
    certificate: Path | str, model: ModelSource, reference: ReferenceSource = None
) -> CertificateCheck:
    """Check whether a certificate of a run still holds for a model, without encoding any text.

    Without a reference, its digest is not compared.

    Raises:
        TokverifyError: If a file cannot be read, or is no certificate.
    """
    path = Path(certificate)
    content = parse_certificate(read_bytes(path, "certificate", _MAX_BYTES), str(path))
    opened = open_model(model)
    digests = {HEADER: _hash_header(opened), "sha256": opened.description.sha256}
    found = Resource(opened.path.name, {name: digest for name, digest in digests.items() if digest})
    at_hand = AtHand(
        found,
        opened.encoder.fingerprint,
        None if reference is None else describe_reference(open_reference(opened, reference).description),
        {"tokverify": __version__, "llama.cpp": opened.versions["llama.cpp"]},
        digest_suites(load_cases()),
    )
    return check_certificate(content, at_hand)
