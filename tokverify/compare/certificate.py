"""Write what a run has proven as a certificate, and check whether one still holds.

A certificate is an in-toto statement with the predicate `test-result`, so that existing tools sign and verify it:
https://github.com/in-toto/attestation/blob/main/spec/predicates/test-result.md
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated

import msgspec

from tokverify.case import Case
from tokverify.cases.loading import select
from tokverify.compare.digest import digest_suites
from tokverify.errors import BrokenFileError, TokverifyError
from tokverify.report.run import Report, Status, count_explained, count_status
from tokverify.report.side import Side
from tokverify.report.tokenizer_difference import Verdict
from tokverify.text.wording import plural

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"
HEADER = "gguf_header_sha256"
"""The name of the digest of everything before the tensor data of a GGUF file, quick to compute for any size."""
_OWN = "tokverify"
_FILTERS = ("suites", "tags", "patterns")
"""The options of a run that select cases."""
_RESULTS: Mapping[str, str] = {
    Verdict.EQUAL: "PASSED",
    Verdict.FAITHFUL: "WARNED",
    Verdict.ACCEPTED: "WARNED",
    Verdict.DIFFERENT: "FAILED",
}
_PASSING = frozenset({Verdict.EQUAL, Verdict.FAITHFUL, Verdict.ACCEPTED})
_Hex = Annotated[str, msgspec.Meta(pattern="^[0-9a-fA-F]{64}$")]
_Count = Annotated[int, msgspec.Meta(ge=0)]


class Resource(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file, by its name and its digests."""

    name: str
    digest: dict[str, str] = {}
    annotations: dict[str, str] = {}


class CertifiedLimit(msgspec.Struct, frozen=True):
    """A limit of llama.cpp, and how many cases it explains."""

    code: str
    name: str
    cases: _Count


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """What tokverify adds to the fields of a test result."""

    verdict: str
    fingerprint: _Hex | None
    """The hash of everything that determines ids; None for a tokenizer of another library."""
    cases: _Count
    texts: _Count
    """How many different texts the cases have."""
    match: _Count
    explained: _Count
    accepted: _Count
    skipped: _Count
    limits: tuple[CertifiedLimit, ...]
    suites: dict[str, str]
    selection: dict[str, tuple[str, ...]] = {}
    """The options that select cases, and their values; empty if all cases were compared."""
    not_compared: tuple[str, ...]
    caveat: str
    versions: dict[str, str]


class TestResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The predicate."""

    result: str
    configuration: tuple[Resource, ...]
    """The reference."""
    passed_tests: tuple[str, ...]
    """The suites in which every case matches."""
    warned_tests: tuple[str, ...]
    """The suites of which limits explain cases, or a baseline accepts some."""
    failed_tests: tuple[str, ...]
    tokverify: Proof


class Certificate(
    msgspec.Struct, frozen=True, kw_only=True, rename={"type": "_type", "predicate_type": "predicateType"}
):
    """The statement."""

    type: str
    subject: tuple[Resource, ...]
    predicate_type: str
    predicate: TestResult


@dataclass(frozen=True, slots=True)
class CertificateCheck:
    """Whether a certificate holds for a file."""

    problems: tuple[str, ...]
    """Why it does not hold."""
    notes: tuple[str, ...]
    """What has changed around it, although it holds."""
    summary: str
    """What it says, in a line for a model card."""

    @property
    def exit_code(self) -> int:
        """Return 1 if the certificate does not hold."""
        return 1 if self.problems else 0


@dataclass(frozen=True, slots=True)
class AtHand:
    """What a certificate is compared with."""

    file: Resource
    fingerprint: str | None
    """That of the tokenizer in the file."""
    reference: Resource | None
    """The file of the reference, if that was named."""
    versions: Mapping[str, str]
    """The versions in use, of what changes ids."""
    cases: Sequence[Case]
    """The shipped cases."""


def certify(report: Report, header: str | None, reference_header: str | None) -> Certificate | None:
    """Return the certificate of a run; None if something ended it early, or nothing was compared.

    Args:
        report: The result of the run.
        header: The SHA-256 digest of the header of the file under test, if that is a GGUF file.
        reference_header: The same for the reference.
    """
    if report.verdict not in _RESULTS:
        return None
    actual = report.actual
    statuses = {suite: _result_of(report, suite) for suite in sorted(report.suites)}
    by_result = {
        result: tuple(suite for suite, each in statuses.items() if each == result) for result in _RESULTS.values()
    }
    return Certificate(
        type=STATEMENT,
        subject=(Resource(_file_name(actual), _list_digests(actual, header)),),
        predicate_type=PREDICATE,
        predicate=TestResult(
            result=_RESULTS[report.verdict],
            configuration=(describe_reference(report.expected, reference_header),),
            passed_tests=by_result["PASSED"],
            warned_tests=by_result["WARNED"],
            failed_tests=by_result["FAILED"],
            tokverify=_prove(report),
        ),
    )


def _prove(report: Report) -> Proof:
    return Proof(
        verdict=str(report.verdict),
        fingerprint=report.actual.fingerprint,
        cases=len(report.results),
        texts=len({result.case.text for result in report.results}),
        match=count_status(report, Status.MATCH),
        explained=count_explained(report),
        accepted=count_status(report, Status.KNOWN),
        skipped=count_status(report, Status.SKIPPED),
        limits=tuple(CertifiedLimit(limit.code, limit.name, limit.cases) for limit in report.limits),
        suites=dict(report.suites),
        selection=_read_selection(report.options),
        not_compared=report.not_compared,
        caveat=report.expected.caveat,
        versions=dict(report.versions),
    )


def _result_of(report: Report, suite: str) -> str:
    results = [result for result in report.results if result.case.suite == suite]
    if any(result.fails for result in results):
        return "FAILED"
    is_noted = any(result.explained_by or result.status is Status.KNOWN for result in results)
    return "WARNED" if is_noted else "PASSED"


def _read_selection(options: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    given = {name: options.get(name) for name in _FILTERS}
    return {name: tuple(map(str, values)) for name, values in given.items() if values and isinstance(values, list)}


def describe_reference(side: Side, header: str | None) -> Resource:
    """Return the name of a reference, its digests, and the library that loaded it."""
    is_encoded_here = side.fingerprint is not None
    return Resource(_file_name(side), _list_digests(side, header), {"library": _OWN if is_encoded_here else side.name})


def _list_digests(side: Side, header: str | None) -> dict[str, str]:
    digests = {"sha256": side.sha256, HEADER: header}
    return {name: value for name, value in digests.items() if value}


def _file_name(side: Side) -> str:
    """Return the name of a side without the directories of this machine."""
    return Path(side.source).name if Path(side.source).exists() else side.source


def write_certificate(certificate: Certificate) -> str:
    """Return the canonical form of a certificate: sorted keys, no spaces, and a line feed at the end."""
    return json.dumps(msgspec.to_builtins(certificate), sort_keys=True, separators=(",", ":")) + "\n"


def parse_certificate(data: bytes, name: str) -> Certificate:
    """Read a certificate; errors mention `name`.

    Raises:
        BrokenFileError: If it is not one.
    """
    try:
        certificate = msgspec.json.decode(data, type=Certificate)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BrokenFileError(f"{name}: not a certificate of `tokverify run`: {error}") from None
    if certificate.type != STATEMENT or certificate.predicate_type != PREDICATE:
        raise BrokenFileError(f"{name}: not an in-toto statement about a test result; name the file of --certificate")
    if (len(certificate.subject), len(certificate.predicate.configuration)) != (1, 1):
        raise BrokenFileError(f"{name}: a certificate of `tokverify run` is about one file and one reference")
    return certificate


def find_repeated_key(data: bytes) -> str | None:
    """Return a key that an object of a certificate has twice, of which each reader takes another one."""
    repeated: list[str] = []

    def check(pairs: list[tuple[str, object]]) -> None:
        counts = Counter(key for key, _ in pairs)
        repeated.extend(key for key, count in counts.items() if count > 1)

    # `parse_certificate` reads no number of that many digits, and hardly anything that nests that deep.
    with suppress(RecursionError):
        json.loads(data, object_pairs_hook=check, parse_int=str)
    return next(iter(repeated), None)


def check_certificate(certificate: Certificate, at_hand: AtHand) -> CertificateCheck:
    """Compare a certificate with what can be found out about a file without encoding texts."""
    proof = certificate.predicate.tokverify
    is_same = _is_same(proof.fingerprint, at_hand.fingerprint)
    problems = [
        *_check_subject(certificate.subject[0], at_hand.file, is_same=is_same),
        *_check_reference(certificate.predicate.configuration[0], at_hand.reference),
        *(f"it contradicts itself: {reason}" for reason in islice(_find_contradictions(certificate.predicate), 1)),
    ]
    other_versions = {
        name: version for name, version in at_hand.versions.items() if proof.versions.get(name, version) != version
    }
    if not problems and not is_same and at_hand.fingerprint and not other_versions:
        problems.append("it contradicts itself: its fingerprint is not that of the file")
    if proof.verdict not in _PASSING:
        problems.append(f"the run failed: its verdict is {proof.verdict}")
    notes = [
        f"made with {name} {proof.versions[name]}; this is {version}, so run it again to be sure"
        for name, version in other_versions.items()
    ]
    shipped = _digest_selected(at_hand.cases, proof.selection)
    changed = [suite for suite, digest in proof.suites.items() if shipped.get(suite, digest) != digest]
    if changed:
        notes.append(f"other cases are shipped now in {', '.join(sorted(changed))}")
    return CertificateCheck(tuple(problems), tuple(notes), summarize(certificate))


def _digest_selected(cases: Sequence[Case], selection: Mapping[str, Sequence[str]]) -> Mapping[str, str]:
    """Return the digests of the suites of the cases that a run would select now."""
    try:
        return digest_suites(select(cases, **{name: selection.get(name, ()) for name in _FILTERS}))
    except TokverifyError:
        # It has selected cases that are not shipped.
        return {}


def _find_contradictions(result: TestResult) -> Iterator[str]:
    """Yield what parts of a certificate say that others exclude, in which case it was not written by a run."""
    proof = result.tokverify
    tests = [*result.passed_tests, *result.warned_tests, *result.failed_tests]
    noted = len(proof.limits) + proof.explained + proof.accepted + len(result.warned_tests)
    compared = proof.match + proof.explained + proof.accepted
    is_passed = proof.verdict in _PASSING
    if result.result != _RESULTS.get(proof.verdict):
        yield f"its result is {result.result}, but its verdict {proof.verdict}"
    if is_passed and result.failed_tests:
        yield f"its verdict is {proof.verdict}, but {plural(len(result.failed_tests), 'suite')} failed"
    if proof.verdict == Verdict.EQUAL and noted:
        yield "its verdict is equal, but limits or a baseline explain cases"
    if sorted(tests) != sorted(proof.suites):
        yield "its passed, warned and failed tests are not its suites"
    if not compared or not proof.texts:
        yield "no case was compared"
    elif proof.texts > proof.cases:
        yield f"{plural(proof.cases, 'case')} cannot have {plural(proof.texts, 'text')}"
    counted = compared + proof.skipped
    if counted > proof.cases or (is_passed and counted < proof.cases):
        yield f"the results of {plural(counted, 'case')} are counted, but there are {proof.cases:,}"


def _is_same(one: str | None, other: str | None) -> bool:
    """Check whether two digests are known, and the same."""
    return one is not None and other is not None and one.lower() == other.lower()


def _check_subject(certified: Resource, found: Resource, *, is_same: bool) -> Iterable[str]:
    names = [name for name in (HEADER, "sha256") if name in certified.digest]
    if not names:
        yield "it names no digest of the file, so nothing shows that it is about this one"
    # The header alone is compared if the file is too large for the digest of all of it.
    compared = names[:1] + [name for name in names[1:] if name in found.digest]
    differing = next((name for name in compared if not _is_same(certified.digest[name], found.digest.get(name))), None)
    if differing:
        same = "; what determines ids is the same, but the rest of the file may not be" if is_same else ""
        yield f"{found.name} is another file than the one that was verified ({differing} differs{same})"


def _check_reference(certified: Resource, found: Resource | None) -> Iterable[str]:
    if found is None:
        return
    common = [name for name in certified.digest if name in found.digest]
    if not common:
        yield f"it names no digest of its reference, {certified.name}, so {found.name} may be another one"
    elif not all(_is_same(certified.digest[name], found.digest[name]) for name in common):
        yield f"{found.name} is another file than the reference of the run, {certified.name}"


def summarize(certificate: Certificate) -> str:
    """Say in one line what a certificate says, for a model card."""
    proof, reference = certificate.predicate.tokverify, certificate.predicate.configuration[0]
    limits = f" (limits of llama.cpp: {', '.join(limit.code for limit in proof.limits)})" if proof.limits else ""
    library = f" ({reference.annotations['library']})" if "library" in reference.annotations else ""
    versions = " and ".join(
        f"{name} {proof.versions[name]}" for name in ("tokverify", "llama.cpp") if name in proof.versions
    )
    kind = "selected case" if proof.selection else "case"
    counts = f"{proof.match:,} of {plural(proof.cases, kind)} match"
    caveat = f", but {proof.caveat.partition(':')[0]}" if proof.caveat else ""
    return f"Tokenizer: {proof.verdict}{limits}, compared with {reference.name}{library}: {counts}{caveat}; {versions}"
