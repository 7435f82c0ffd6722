"""Subjects: the tokenizers to measure, opened from wherever they are."""

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
class Subject:
    """A tokenizer to measure.

    `attributes` are those of each token, None where they are not known; `unknown` are the ids that stand for text
    without a token of its own. `fingerprint` is that of an encoder of ours, `sha256` that of a reference's file;
    `versions` names the libraries that do the work.
    """

    name: str
    source: str
    tokenizer: Tokenizer
    attributes: Sequence[int] | None = None
    unknown: frozenset[int] = frozenset()
    fingerprint: str | None = None
    sha256: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)


def open_subjects(locations: Iterable[str]) -> list[Subject]:
    """Open tokenizers: GGUF files, and whatever can be a reference; no two get one name.

    Raises:
        TokverifyError: As `load_model` and `open_reference` do.
    """
    subjects: list[Subject] = []
    for location in locations:
        subject = _open(location)
        namesakes = sum(other.name.partition(" (")[0] == subject.name for other in subjects)
        subjects.append(replace(subject, name=f"{subject.name} ({namesakes + 1})") if namesakes else subject)
    return subjects


def _open(location: str) -> Subject:
    path = Path(location)
    is_path = not is_kind(location.partition(":")[0])
    if is_path and (path.suffix == ".gguf" or (path.is_file() and kind_of_model(path) == "gguf")):
        encoder = load_model(path)
        subject = _subject(encoder.name, location, encoder, encoder.settings)
        return replace(subject, fingerprint=encoder.fingerprint)
    found = open_reference(location)
    name = found.path.name if found.path else location
    subject = _subject(name, found.source, found.tokenizer, _declared(found.path))
    return replace(subject, sha256=found.sha256, versions=found.versions)


def _declared(path: Path | None) -> Settings | None:
    """Read from a file what its library does not tell: the kinds of its tokens."""
    try:
        return resolve(read_spec(path)) if path else None
    except TokverifyError:
        return None


def _subject(name: str, source: str, tokenizer: Tokenizer, declared: Settings | None) -> Subject:
    if declared is None or len(declared.attributes) != tokenizer.vocab_size:
        unknown = tokenizer.special_ids.get("unk")
        return Subject(name, source, tokenizer, unknown=frozenset() if unknown is None else frozenset([unknown]))
    unknown_ids = {id for id, attribute in enumerate(declared.attributes) if attribute & Attribute.UNKNOWN.value}
    if "unk" in declared.special_ids:
        unknown_ids.add(declared.special_ids["unk"])
    return Subject(name, source, tokenizer, declared.attributes, frozenset(unknown_ids))
