"""Compare two versions of a tokenizer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tokverify.case import Case
from tokverify.cases.loading import cases_or_shipped
from tokverify.commands.tasks.opening import open_tokenizer
from tokverify.compare.diff.compare import compare_versions
from tokverify.compare.diff.revision import path_here, revision_of
from tokverify.compare.diff.version import Version
from tokverify.compare.fuzz.plan import FuzzPlan
from tokverify.compare.opened import OpenedModel, engine_version
from tokverify.compare.side import side_of
from tokverify.errors import TokverifyError
from tokverify.report.diff import ChangeReport, Level, Use
from tokverify.report.fuzz import FuzzProgress
from tokverify.sources.huggingface.tables import tables_of
from tokverify.sources.location import file_and_rest, find_existing
from tokverify.sources.stores.location import is_stored
from tokverify.sources.tokenizer_file import read_spec
from tokverify.spec import TokenizerSpec
from tokverify.system.input_file import read_verbatim
from tokverify.tokenizer import DocumentHolding, Tokenizer
from tokverify.version import __version__


def diff_tokenizers(  # noqa: PLR0913 - the optional ones are keywords
    old: str | Path,
    new: str | Path,
    cases: Iterable[Case] | None = None,
    *,
    fuzz_seconds: float | None = None,
    seed: int = 0,
    corpus: Sequence[Path] = (),
    behavior_only: bool = False,
    breaking: Sequence[Level] = (),
    uses: Sequence[Use] = (),
    options: Mapping[str, object] | None = None,
    on_progress: Callable[[FuzzProgress], None] = lambda _: None,
) -> ChangeReport:
    """Compare two tokenizers, such as a new version with an old one: their parts, and their ids.

    Args:
        old: A file, a directory, a hub id, a server or `REVISION:PATH` of a git repository.
        new: The same for the other tokenizer.
        cases: The texts to encode; the shipped cases by default.
        fuzz_seconds: How long to fuzz in addition; None for not at all.
        seed: The seed of the fuzzer.
        corpus: Text files; the share of their lines that are encoded differently is measured.
        behavior_only: Accept parts that differ as long as all texts get the same ids.
        breaking: The only consequences that count as a difference; empty to count every difference.
        uses: What A and B are used for together, such as a target and its draft; only this counts then.
        options: The options to record in the report.
        on_progress: Called after each batch of the fuzzer.

    Returns:
        The report, with the parts that differ and the results of the cases.

    Raises:
        TokverifyError: If one of them cannot be read, or both are the same.
    """
    cases = cases_or_shipped(cases)
    plan = None if fuzz_seconds is None else FuzzPlan(seed=seed, seconds=fuzz_seconds)
    lines = _lines(corpus) if corpus else None
    with TemporaryDirectory() as directory:
        old_version = open_version(str(old), Path(directory, "old"))
        new_version = open_version(str(new), Path(directory, "new"))
        _require_two(old, new)
        report = compare_versions(
            old_version,
            new_version,
            cases,
            plan=plan,
            corpus=lines,
            behavior_only=behavior_only,
            breaking=breaking,
            uses=uses,
            on_fuzz=on_progress,
        )
    return replace(report, options=dict(options or {}), versions={"tokverify": __version__, **engine_version()})


def _require_two(old: str | Path, new: str | Path) -> None:
    """Reject a comparison of a tokenizer with itself, in which nothing could differ.

    Two names of one file are accepted, because the question may be whether they are: two revisions, or two links.
    """
    if Path(old).absolute() == Path(new).absolute():
        raise TokverifyError(f"{old}: A and B are the same tokenizer, so nothing can differ; name another one")


def _lines(corpus: Sequence[Path]) -> Iterator[str]:
    """Read all files, then yield their lines without the empty ones."""
    texts = [read_verbatim(Path(path)) for path in corpus]
    return (line for text in texts for line in text.split("\n") if line.strip())


def open_version(location: str, directory: Path) -> Version:
    """Open the tokenizer at a location: whatever a model or a reference can be, or `REVISION:PATH` as for `git show`.

    A file of a revision is written to `directory`, which is created and must exist as long as the version is used.

    Raises:
        TokverifyError: If nothing is there.
    """
    revision = None if _is_file(location) or is_stored(location) else revision_of(location)
    if revision is None:
        return _open(location)
    name = location.removeprefix(f"{revision.name}:")
    directory.mkdir(exist_ok=True)
    from_git = revision.write(name, directory)
    try:
        version = _open(str(from_git))
    except TokverifyError as error:
        # The directory means nothing to the user, and is gone by the time the message is read.
        raise type(error)(str(error).replace(str(from_git), location)) from error
    return replace(version, side=replace(version.side, source=location), file=path_here(name))


def _is_file(location: str) -> bool:
    path = find_existing(location)
    return path is not None and path.is_file()


def _open(location: str) -> Version:
    opened = open_tokenizer(location)
    if isinstance(opened, OpenedModel):
        side = replace(side_of(opened.encoder), source=location)
        return Version(opened.encoder, side, opened.spec, path=opened.path, file=location)
    file_of_pattern = file_and_rest(location)
    path = file_of_pattern[0] if file_of_pattern else opened.path
    spec, unread = _read(location if file_of_pattern else path, opened.tokenizer)
    is_named = find_existing(location) or file_of_pattern
    return Version(opened.tokenizer, opened.description, spec, unread, path, str(path) if path and is_named else "")


def _read(location: Path | str | None, tokenizer: Tokenizer) -> tuple[TokenizerSpec | None, str]:
    """Read what a tokenizer declares; None and the reason if that is unknown."""
    if location is None:
        return None, f"{tokenizer.name} exposes nothing else of what it encodes with"
    try:
        spec = _convert(location, tokenizer) if isinstance(tokenizer, DocumentHolding) else read_spec(location)
    except TokverifyError as error:
        # Its own library can read it, otherwise this would not be reached.
        return None, str(error)
    return spec, "; ".join(spec.left_out)


def _convert(location: Path | str, tokenizer: DocumentHolding) -> TokenizerSpec:
    """Convert the tokenizer.json from which a tokenizer was made, without reading its large tables again."""
    from tokverify.sources.huggingface.conversion import convert_content

    return convert_content(Path(location), tokenizer.tokenizer_json(), tables_of(tokenizer))
