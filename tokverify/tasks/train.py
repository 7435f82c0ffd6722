"""Train a tokenizer, convert it to GGUF, and verify the result."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.convert import convert
from tokverify.diagnosis import diagnose, facts_of
from tokverify.diagnosis.repair import with_repairs
from tokverify.errors import TokverifyError
from tokverify.files.load import load_gguf
from tokverify.references import open_reference
from tokverify.render import FORMATS, RenderOptions
from tokverify.train import TRAINERS, TrainingPlan
from tokverify.train.child import train_in_child
from tokverify.train.corpus import check_corpus
from tokverify.train.output import check_output, staged
from tokverify.train.trainer import DEFAULT_MIN_FREQUENCY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokverify.report.run import Report
    from tokverify.train.trainer import Trained

GGUF_NAME = "tokenizer.gguf"
REPORT_NAME = "report.json"
CONFIG_NAME = "tokenizer_config.json"


@dataclass(frozen=True, slots=True)
class Training:
    """The outcome of training."""

    report: Report
    """The comparison of the GGUF file with the tokenizer, and the cause of differences."""

    names: tuple[str, ...]
    """The names of the files written."""

    size: int
    """The number of tokens."""

    strings: int
    """The number of generated texts that the two were compared on, besides the cases."""

    notes: tuple[str, ...]
    """Remarks for the user."""


def train_tokenizer(  # noqa: PLR0913 - the optional ones are keywords
    algorithm: str,
    corpus: Sequence[str | Path],
    output: str | Path,
    *,
    vocab_size: int | None = None,
    seed: int = 0,
    min_frequency: int = DEFAULT_MIN_FREQUENCY,
    preset: str | None = None,
    force: bool = False,
    on_progress: Callable[[str], None] | None = None,
) -> Training:
    """Train a tokenizer, convert it to GGUF, verify that file, and put the results into a directory.

    The same arguments give the same bytes. A GGUF file that differs from the tokenizer is written too; the report
    contains the differences.

    Args:
        algorithm: One of `TRAINERS`, such as `bpe`.
        corpus: The text files to train on.
        output: The directory to write.
        vocab_size: The number of tokens; the default depends on the algorithm and the preset.
        seed: The seed of the generated texts to verify with. Training itself is not random.
        min_frequency: Pairs of pieces that occur less often are not merged.
        preset: A variant of the algorithm.
        force: Overwrite files of the same names in the directory.
        on_progress: Called with a short description of each step.

    Raises:
        TokverifyError: If the corpus or the vocabulary size is unsuitable, or something cannot be written. Nothing is
            written then.
    """
    if algorithm not in TRAINERS:
        raise TokverifyError(f"there is no algorithm {algorithm!r}; choose one of {', '.join(TRAINERS)}")
    trainer = TRAINERS[algorithm]
    plan = TrainingPlan(
        corpus=tuple(map(Path, corpus)),
        vocab_size=vocab_size or trainer.presets.get(preset or "", trainer.vocab_size),
        seed=seed,
        min_frequency=min_frequency,
        preset=preset,
        on_progress=on_progress,
    )
    return _train(algorithm, plan, Path(output), force=force)


def _train(algorithm: str, plan: TrainingPlan, output: Path, *, force: bool) -> Training:
    check_output(output, force=force, inputs=plan.corpus)
    _announce(plan, "reading the corpus")
    check_corpus(plan.corpus)
    with staged(output) as directory:
        _announce(plan, f"training {algorithm}")
        trained = train_in_child(algorithm, plan)
        _write(trained, directory)
        conversion = convert(
            directory / trained.name,
            directory / GGUF_NAME,
            force=True,
            on_progress=lambda done, total: _announce(plan, f"verifying {done:,} of {total:,} texts"),
            seed=plan.seed,
        )
        report = _diagnose(conversion.report, directory / trained.name, directory / GGUF_NAME)
        report = with_repairs(_describe(report, algorithm, trained.name, plan))
        (directory / REPORT_NAME).write_text(FORMATS["json"](report, RenderOptions()), encoding="utf-8")
        names = tuple(sorted(path.name for path in directory.iterdir()))
    # What GGUF cannot express matters only if something differs.
    losses = conversion.untransportable if conversion.differing else ()
    return Training(report, names, conversion.size, conversion.strings, (*trained.notes, *losses))


def _announce(plan: TrainingPlan, step: str) -> None:
    if plan.on_progress:
        plan.on_progress(step)


def _write(trained: Trained, directory: Path) -> None:
    (directory / trained.name).write_bytes(trained.data)
    if trained.config:
        config = json.dumps(dict(trained.config), indent=2, ensure_ascii=False)
        (directory / CONFIG_NAME).write_text(config + "\n", encoding="utf-8")


def _diagnose(report: Report, trained: Path, gguf: Path) -> Report:
    """Search for the cause if the two sides differ."""
    if not report.exit_code and not report.decode_differences:
        return report
    encoder, found = load_gguf(gguf), open_reference(trained)
    facts = facts_of(found.tokenizer, found.path)
    result = diagnose(encoder.spec, facts, report.results, encoder=encoder)
    return replace(report, diagnosis=result.diagnosis) if result else report


def _describe(report: Report, algorithm: str, name: str, plan: TrainingPlan) -> Report:
    """Name the two sides as files beside the report, and record the options."""
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
