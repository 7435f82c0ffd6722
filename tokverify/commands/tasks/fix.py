"""Repair the tokenizer of a GGUF file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from tokverify.case import Case
from tokverify.cases.loading import cases_or_shipped
from tokverify.commands.tasks.declaration import open_declaration
from tokverify.commands.tasks.opening import ReferenceSource, open_reference
from tokverify.compare.blame import find_blame
from tokverify.compare.opened import OpenedModel
from tokverify.engine.encoder import Encoder
from tokverify.errors import BrokenFileError, TokverifyError, UnsupportedError
from tokverify.references.discovery import find_others
from tokverify.repair.budget import ENCODINGS, THOROUGH
from tokverify.repair.corrected_reference import correct_around
from tokverify.repair.fix.fixing import make_plan, require_fixable, to_report, write_fixed
from tokverify.repair.fix.measure import AROUND
from tokverify.repair.fix.other_reference import compare_with_others, find_other_version
from tokverify.repair.other_model import doubt_reference
from tokverify.report.fix import FixReport
from tokverify.sources.stores.location import find_model, locate
from tokverify.system.output_file import check_new_file


def fix_model(  # noqa: PLR0913 - the optional ones are keywords
    model: str | Path,
    output: str | Path | None = None,
    reference: ReferenceSource = None,
    cases: Iterable[Case] | None = None,
    *,
    force: bool = False,
    thorough: bool = False,
) -> FixReport:
    """Find out how to make a GGUF file agree with its reference, and write a repaired copy.

    Args:
        model: The GGUF file; it is never changed. To plan a repair, the metadata of a remote file is enough.
        output: The file to write; None to only plan the repair.
        reference: The tokenizer to agree with; None to look for one.
        cases: The texts to verify with; the shipped cases by default.
        force: Overwrite the output.
        thorough: Let each diagnosis try much more before it gives up.

    Returns:
        The plan, and the verification of the repaired file.

    Raises:
        TokverifyError: If a file cannot be read or written, the reference belongs to another model or is at fault
            itself, or the repair does not improve anything.
    """
    file = find_model(locate(model))
    path = file.path
    target = None if output is None else Path(output)
    if target is not None:
        file.require_complete()
        _check_output(target, path, force=force)
    cases = cases_or_shipped(cases)
    opened = open_declaration(file, "gguf")
    found = open_reference(opened, reference)
    if reference is None and found.is_rebuilt:
        raise TokverifyError(
            f"{path}: not repaired: no tokenizer was found to compare it with, and one that is rebuilt from its own"
            " data cannot show what is wrong in it; name a reference with -r"
        )
    if doubt := doubt_reference(opened.declaration, found):
        raise TokverifyError(f"{path}: not repaired: {doubt}")
    encodings = THOROUGH if thorough else ENCODINGS
    encoder = _open_encoder(opened)
    at_hand = list(find_others(opened.file, opened.spec, found.found))
    if encoder and (doubt := find_other_version(path, encoder, found, at_hand, cases)):
        raise TokverifyError(f"{path}: not repaired: {doubt}")
    corrected = correct_around(found, encoder) if encoder else None
    plan = make_plan(path, opened.declaration, corrected or found, cases, encoder=encoder, encodings=encodings)
    if plan.change is not None:
        require_fixable(path)
    # It is not left at "not repaired" if it is the reference that should be.
    if plan.change is None and plan.after.encoder and (blame := find_blame(plan.after.encoder, found.tokenizer)):
        raise TokverifyError(f"{path}: not repaired: {blame}")
    left = plan.after.encoder
    others = tuple(compare_with_others(left, found.tokenizer, at_hand, cases)) if left else ()
    is_written = plan.change is not None and target is not None
    if is_written and target is not None:
        write_fixed(path, target, plan)
    report = to_report(plan, is_written=is_written)
    contradicted = [f"{AROUND} (its files contradict each other)"] if corrected else []
    return replace(
        report,
        not_compared=(*report.not_compared, *contradicted),
        others=others,
        is_thorough=thorough,
        source=str(model),
        target=str(target) if target else "",
    )


def _open_encoder(model: OpenedModel) -> Encoder | None:
    """Return the tokenizer of a file; None if llama.cpp refuses it, which a repair may change."""
    try:
        return model.encoder
    except (BrokenFileError, UnsupportedError):
        return None


def _check_output(output: Path, model: Path, *, force: bool) -> None:
    if output.is_dir():
        raise TokverifyError(f"{output}: cannot be written: it is a directory; name a file in it")
    if output.exists() and model.exists() and output.samefile(model):
        raise TokverifyError(f"{output}: this is MODEL itself, which is never changed; name another file")
    check_new_file(output, force=force)
