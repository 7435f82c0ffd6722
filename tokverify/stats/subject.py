"""Open the tokenizers to measure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.engine.attribute import Attribute
from tokverify.engine.settings import resolve
from tokverify.errors import TokverifyError
from tokverify.files.load import load_model
from tokverify.files.tokenizer_file import kind_of_model, read_spec
from tokverify.references import is_kind, open_reference

if TYPE_CHECKING:
    from tokverify.engine.family import Settings
    from tokverify.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class StatsSubject:
    """A tokenizer to measure."""

    name: str
    source: str
    tokenizer: Tokenizer

    attributes: Sequence[int] | None = None
    """The attributes of each token; None if they are not known."""

    unknown: frozenset[int] = frozenset()
    """Ids that represent text for which there is no token."""

    fingerprint: str | None = None
    """Set for an encoder of ours."""

    sha256: str | None = None
    """The digest of a reference's file."""

    versions: Mapping[str, str] = field(default_factory=dict)
    """The versions of the libraries involved."""


def open_subjects(locations: Iterable[str]) -> list[StatsSubject]:
    """Open GGUF files and anything that can be a reference; each gets a unique name.

    Raises:
        TokverifyError: As `load_model` and `open_reference` do.
    """
    subjects: list[StatsSubject] = []
    for location in locations:
        subject = _open(location)
        namesakes = sum(other.name.partition(" (")[0] == subject.name for other in subjects)
        subjects.append(replace(subject, name=f"{subject.name} ({namesakes + 1})") if namesakes else subject)
    return subjects


def _open(location: str) -> StatsSubject:
    path = Path(location)
    is_path = not is_kind(location.partition(":")[0])
    if is_path and (path.suffix == ".gguf" or (path.is_file() and kind_of_model(path) == "gguf")):
        encoder = load_model(path)
        subject = _make_subject(encoder.name, location, encoder, encoder.settings)
        return replace(subject, fingerprint=encoder.fingerprint)
    found = open_reference(location)
    name = found.path.name if found.path else location
    subject = _make_subject(name, found.source, found.tokenizer, _read_settings(found.path))
    return replace(subject, sha256=found.sha256, versions=found.versions)


def _read_settings(path: Path | None) -> Settings | None:
    """Read the types of the tokens from a file, as its library does not provide them."""
    try:
        return resolve(read_spec(path)) if path else None
    except TokverifyError:
        return None


def _make_subject(name: str, source: str, tokenizer: Tokenizer, declared: Settings | None) -> StatsSubject:
    if declared is None or len(declared.attributes) != tokenizer.vocab_size:
        unknown = tokenizer.special_ids.get("unk")
        return StatsSubject(name, source, tokenizer, unknown=frozenset() if unknown is None else frozenset([unknown]))
    unknown_ids = {id for id, attribute in enumerate(declared.attributes) if attribute & Attribute.UNKNOWN.value}
    if "unk" in declared.special_ids:
        unknown_ids.add(declared.special_ids["unk"])
    return StatsSubject(name, source, tokenizer, declared.attributes, frozenset(unknown_ids))
