"""The way from a corpus to a directory with a tokenizer, its GGUF, and a report that compares the two."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.convert import convert
from tokverify.diagnosis import diagnose, facts_of
from tokverify.diagnosis.repair import with_repairs
from tokverify.files.load import load_gguf
from tokverify.references import open_reference
from tokverify.render import FORMATS, RenderOptions
from tokverify.train import TRAINERS
from tokverify.train.child import train_in_child
from tokverify.train.corpus import check_corpus
from tokverify.train.output import check_output, staged

if TYPE_CHECKING:
    from tokverify.report.run import Report
    from tokverify.train.trainer import Trained, TrainingPlan

GGUF_NAME = "tokenizer.gguf"
REPORT_NAME = "report.json"
CONFIG_NAME = "tokenizer_config.json"


@dataclass(frozen=True, slots=True)
class Training:
    """What came out.

    `names` are those of the files written, `size` is the number of tokens, `notes` tell the rest. `report` holds the
    cases, what `strings` made-up texts showed, and why the two sides differ, if they do.
    """

    report: Report
    names: tuple[str, ...]
    size: int
    strings: int
    notes: tuple[str, ...]


def train(algorithm: str, plan: TrainingPlan, output: Path, *, force: bool = False) -> Training:
    """Train, convert and verify, and put the results into the directory `output`.

    With `force` it may hold files already, which are written over if they have the same names. The same plan gives the
    same bytes. A GGUF that differs from the tokenizer is written too; the report tells.

    Raises:
        TokverifyError: If the corpus or the vocabulary size will not do, or something cannot be written; nothing is
            written then.
    """
    check_output(output, force=force, inputs=plan.corpus)
    _tell(plan, "reading the corpus")
    check_corpus(plan.corpus)
    with staged(output) as directory:
        _tell(plan, f"training {algorithm}")
        trained = train_in_child(algorithm, plan)
        _write(trained, directory)
        conversion = convert(
            directory / trained.name,
            directory / GGUF_NAME,
            force=True,
            on_progress=lambda done, total: _tell(plan, f"verifying {done:,} of {total:,} texts"),
            seed=plan.seed,
        )
        report = _diagnosed(conversion.report, directory / trained.name, directory / GGUF_NAME)
        report = with_repairs(_described(report, algorithm, trained.name, plan))
        (directory / REPORT_NAME).write_text(FORMATS["json"](report, RenderOptions()), encoding="utf-8")
        names = tuple(sorted(path.name for path in directory.iterdir()))
    # What the GGUF lacks matters only where it shows.
    losses = conversion.untransportable if conversion.differing else ()
    return Training(report, names, conversion.size, conversion.strings, (*trained.notes, *losses))


def _tell(plan: TrainingPlan, doing: str) -> None:
    if plan.on_progress:
        plan.on_progress(doing)


def _write(trained: Trained, directory: Path) -> None:
    (directory / trained.name).write_bytes(trained.data)
    if trained.config:
        config = json.dumps(dict(trained.config), indent=2, ensure_ascii=False)
        (directory / CONFIG_NAME).write_text(config + "\n", encoding="utf-8")


def _diagnosed(report: Report, trained: Path, made: Path) -> Report:
    """Tell why the two sides differ, if they do."""
    if not report.exit_code and not report.decode_differences:
        return report
    encoder, found = load_gguf(made), open_reference(trained)
    facts = facts_of(found.tokenizer, found.path)
    result = diagnose(encoder.spec, facts, report.results, encoder=encoder)
    return replace(report, diagnosis=result.diagnosis) if result else report


def _described(report: Report, algorithm: str, name: str, plan: TrainingPlan) -> Report:
    """Name the two sides as they lie beside the report, and tell what was asked for."""
    return replace(
        report,
        actual=replace(report.actual, source=GGUF_NAME),
        expected=replace(report.expected, source=name),
        options={
            "algorithm": algorithm,
            "corpus": [str(path) for path in plan.corpus],
            "vocab_size": plan.vocab_size,
            "seed": plan.seed,
            "min_frequency": plan.min_frequency if TRAINERS[algorithm].counts else None,
            "preset": plan.preset,
        },
    )
