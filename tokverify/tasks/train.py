"""Train a tokenizer into a directory, which appears whole or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.system.output_directory import check_output, staged
from tokverify.train.corpus import check_corpus
from tokverify.train.run import Training, train_into

if TYPE_CHECKING:
    from tokverify.train import TrainingPlan

REPORT_NAME = "report.json"


def train(algorithm: str, plan: TrainingPlan, output: Path, *, force: bool = False) -> Training:
    """Train, convert and verify a tokenizer, and write the results to the directory `output`.

    With `force` the directory may contain files; those of the same names are overwritten. A GGUF file that differs from
    the tokenizer is written, too; see the report.

    Raises:
        TokverifyError: If the corpus or the vocabulary size is unsuitable, or something cannot be written. Nothing is
            written then.
    """
    from tokverify.render import FORMATS, RenderOptions

    check_output(output, force=force, inputs=plan.corpus)
    plan.report_progress("reading the corpus")
    check_corpus(plan.corpus)
    with staged(output) as directory:
        training = train_into(directory, algorithm, plan)
        (directory / REPORT_NAME).write_text(FORMATS["json"](training.report, RenderOptions()), encoding="utf-8")
    return replace(training, names=tuple(sorted((*training.names, REPORT_NAME))))
