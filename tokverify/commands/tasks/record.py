"""Record the ids of a reference in suites, as what the cases expect of a model, so that a run needs no reference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.case import SHIPPED, Case, Expect, Suite, SuiteSource
from tokverify.cases.loading import load_suites, select, shipped_suites
from tokverify.cases.suite import MAX_FILE_BYTES, parse_suite
from tokverify.commands.tasks.opening import ModelSource, ReferenceSource, open_model, open_reference
from tokverify.compare.expectation import agrees, is_name_of
from tokverify.errors import EncodeError, TokverifyError, UnsupportedError
from tokverify.report.record import RecordedCase, RecordedChange, Recording
from tokverify.system.output_file import require_outside_git, write_files
from tokverify.texts.batch import encode_one
from tokverify.texts.mode import Modes, mode_of
from tokverify.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokverify.commands.tasks.run import OnProgress

MAX_IDS = 100_000
"""The ids that are recorded for one text. More can be compared with a reference instead."""


def record_expectations(  # noqa: PLR0913 - the optional ones are keywords
    model: ModelSource,
    reference: ReferenceSource = None,
    *,
    cases: Sequence[SuiteSource] = (),
    suites: Sequence[str] = (),
    tags: Sequence[str] = (),
    patterns: Sequence[str] = (),
    name: str | None = None,
    output: Path | None = None,
    on_progress: OnProgress | None = None,
) -> Recording:
    """Encode cases with the reference of a model, and record the ids in their suites as what they expect of the model.

    Everything else in the suites stays as it is. All suites are written, or none.

    Args:
        model: The model.
        reference: The reference whose ids to record; None to look for one.
        cases: The suites; the shipped ones by default.
        suites: Names of suites to select.
        tags: Tags to select.
        patterns: Patterns of case ids to select.
        name: The name to record the ids under; by default the name of the model.
        output: A directory for copies of the suites; None to change the suites themselves.
        on_progress: Called after each case.

    Returns:
        What was recorded for each case, and the files that were written.

    Raises:
        TokverifyError: If a file cannot be read or written.
    """
    # From their files, the shipped ones too, so that they can be copied.
    loaded = load_suites(shipped_suites() if source == SHIPPED else source for source in cases or [SHIPPED])
    every_case = [case for suite in loaded for case in suite.cases]
    selected = select(every_case, suites=suites, tags=tags, patterns=patterns)
    files = {case.file for case in selected}
    targets = _map_targets([suite for suite in loaded if suite.file in files], output)
    opened = open_model(model)
    found = open_reference(opened, reference)
    key = name or opened.encoder.name
    results = record_cases(opened.encoder, found.tokenizer, selected, key, on_progress=on_progress)
    written, untouched = _write_suites(targets, results, key)
    names_model = is_name_of(key, opened.description)
    return Recording(
        opened.description,
        found.description,
        key,
        names_model,
        tuple(results),
        tuple(map(str, written)),
        tuple(map(str, untouched)),
    )


def record_cases(
    actual: Tokenizer,
    expected: Tokenizer,
    cases: Sequence[Case],
    key: str,
    *,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[RecordedCase]:
    """Encode cases with a reference, to be expected of the model under the name `key`.

    An expectation under this name that still holds is left as it is.
    """
    modes = Modes(actual, expected)
    results: list[RecordedCase] = []
    for case in cases:
        results.append(_record(modes, actual, expected, case, key))
        if on_progress:
            on_progress(len(results), len(cases))
    return results


def _record(modes: Modes, actual: Tokenizer, expected: Tokenizer, case: Case, key: str) -> RecordedCase:
    try:
        ids = _reference_ids(modes, expected, case)
    except (EncodeError, UnsupportedError) as error:
        return RecordedCase(case, RecordedChange.NOT_RECORDED, message=f"{expected.name}: {error}")
    agreed = encode_one(actual, case.text, **mode_of(case)._asdict()) == list(ids)
    return RecordedCase(case, _change(case.expect.get(key), actual, ids), ids, model_agrees=agreed)


def _change(before: Expect | None, actual: Tokenizer, ids: tuple[int, ...]) -> RecordedChange:
    if before is None:
        return RecordedChange.ADDED
    return RecordedChange.UNCHANGED if agrees(before, actual, ids) else RecordedChange.CHANGED


def _reference_ids(modes: Modes, expected: Tokenizer, case: Case) -> tuple[int, ...]:
    """Encode a case with the reference, in another mode than the case's if that makes no difference to the model."""
    mode = modes.choose(case.text, mode_of(case))
    if decisive := modes.decisive_options(case.text, mode_of(case), mode):
        raise UnsupportedError(f"does not support {' and '.join(decisive)}, which changes the ids of this text")
    ids = tuple(expected.encode(case.text, **mode._asdict()))
    if len(ids) > MAX_IDS:
        raise EncodeError(f"the text becomes {len(ids):,} tokens, more than the {MAX_IDS:,} that can be recorded")
    return ids


def _map_targets(suites: Sequence[Suite], directory: Path | None) -> dict[Path, Suite]:
    """Map each file to write to the suite it is made from."""
    for suite in suites:
        if not Path(suite.file).is_file():
            raise TokverifyError(f"{suite.file}: not a regular file, so nothing can be recorded in it; save it first")
    if directory is None:
        return {Path(suite.file): suite for suite in suites}
    if directory.exists() and not directory.is_dir():
        raise TokverifyError(f"{directory}: not a directory; name one for the copies of the suites")
    targets: dict[Path, Suite] = {}
    for suite in suites:
        other = targets.setdefault(directory / Path(suite.file).name, suite)
        if other is not suite:
            raise TokverifyError(
                f"{suite.file}: would be copied to the same file as {other.file}; record one at a time"
            )
    return targets


def _write_suites(
    targets: Mapping[Path, Suite], results: Sequence[RecordedCase], key: str
) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Write all suites or none; return the files that were written and those that were up to date."""
    texts = {target: _edit_suite(suite, results, key) for target, suite in targets.items()}
    untouched = [target for target, text in texts.items() if target.exists() and target.read_bytes() == text.encode()]
    written = {target: text for target, text in texts.items() if target not in untouched}
    for target in written:
        if target.exists() and target != Path(targets[target].file):
            raise TokverifyError(
                f"{target}: already exists, and differs from the copy that would be written;"
                f" record into it with --cases {target.parent}, or name another directory"
            )
        require_outside_git(target)
        target.parent.mkdir(exist_ok=True)
    write_files(written)
    return tuple(written), tuple(untouched)


def _edit_suite(suite: Suite, results: Sequence[RecordedCase], key: str) -> str:
    """Insert the new ids into the text of a suite."""
    from tokverify.cases.suite_writer import insert_expected

    text = Path(suite.file).read_bytes().decode()
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    ids = ids_to_write(result for result in results if result.case.file == suite.file)
    edited = insert_expected(text.removeprefix(mark), key, ids)
    check_edit(suite, edited, key, ids)
    return mark + edited


def ids_to_write(results: Iterable[RecordedCase]) -> dict[str, tuple[int, ...]]:
    """Collect the ids that are not in the suite yet, by the id of their case."""
    return {
        result.case.id: result.ids
        for result in results
        if result.change in {RecordedChange.ADDED, RecordedChange.CHANGED}
    }


def check_edit(suite: Suite, text: str, key: str, ids: Mapping[str, tuple[int, ...]]) -> None:
    """Make sure that the edited text of a suite expects `ids` under `key`, and is otherwise equivalent.

    Raises:
        TokverifyError: If it is not.
    """
    if len(text.encode()) > MAX_FILE_BYTES:
        raise TokverifyError(f"{suite.file}: would become larger than {MAX_FILE_BYTES >> 20} MiB; split it")
    edited = parse_suite(text, suite.file, suite.name)
    intended = [
        replace(case, line=0, expect={**case.expect, key: ids[case.id]} if case.id in ids else case.expect)
        for case in suite.cases
    ]
    if edited.complaints or [replace(case, line=0) for case in edited.cases] != intended:
        raise TokverifyError(
            f"{suite.file}: cannot be edited without changing anything else; write out aliases (*name) and keys"
            " after `?`, and end each line with a newline, including the last one"
        )
