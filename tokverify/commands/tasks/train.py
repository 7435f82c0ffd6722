"""Train a tokenizer, convert it to GGUF, verify the result, and write all of it to a directory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from tokverify.errors import TokverifyError
from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions
from tokverify.report.train import Training
from tokverify.system.output_file import check_output, stage_output
from tokverify.train import TRAINERS, TrainingPlan
from tokverify.train.corpus import Preparation, open_corpus
from tokverify.train.merge_learner import Ties
from tokverify.train.run import train_into
from tokverify.train.trainer import DEFAULT_MIN_FREQUENCY

REPORT_NAME = "report.json"


def train_tokenizer(  # noqa: PLR0913 - the optional ones are keywords
    algorithm: str,
    corpus: Sequence[str | Path],
    output: str | Path,
    *,
    vocab_size: int | None = None,
    seed: int = 0,
    min_frequency: int = DEFAULT_MIN_FREQUENCY,
    preset: str | None = None,
    ties: str = Ties.IDS,
    trace: int = 0,
    prepare: Sequence[str] = (),
    force: bool = False,
    on_progress: Callable[[str], None] | None = None,
) -> Training:
    """Train a tokenizer, convert it to GGUF, verify that file, and put the results into a directory.

    The same arguments give the same bytes. A GGUF file that differs from the tokenizer is written too; the report
    contains the differences.

    Args:
        algorithm: One of `TRAINERS`, such as `bpe`.
        corpus: The text files to train on; `.gz` files are decompressed. A directory means all text files below it, and
            `-` is stdin.
        output: The directory to write.
        vocab_size: The number of tokens; the default depends on the algorithm and the preset.
        seed: The seed of the generated texts to verify with. Training itself is not random.
        min_frequency: Pairs of pieces that occur less often are not merged.
        preset: A variant of the algorithm.
        ties: Which of several equally frequent pairs is merged: the one with the lowest `ids`, or the `first` one in
            the corpus. Only for `bpe`.
        trace: How many of the first merges to trace; only for `bpe`.
        prepare: What to do to the files first; only for `cpp`: `indentation`, `licenses`, `diffs`.
        force: Overwrite files of the same names in the directory.
        on_progress: Called with a short description of each step.

    Returns:
        The report on the trained tokenizer, and the names of the files written.

    Raises:
        TokverifyError: If the corpus or the vocabulary size is unsuitable, or something cannot be written. Nothing is
            written then.
    """
    if algorithm not in TRAINERS:
        raise TokverifyError(f"there is no algorithm {algorithm!r}; choose one of {', '.join(TRAINERS)}")
    trainer = TRAINERS[algorithm]
    unknown = set(prepare) - set(trainer.preparations)
    if unknown:
        raise TokverifyError(f"{algorithm} cannot prepare a corpus by {', '.join(sorted(unknown))}")
    sources = tuple(map(Path, corpus))
    plan = TrainingPlan(
        corpus=sources,
        sources=tuple(map(str, sources)),
        preparations=tuple(prepare),
        vocab_size=vocab_size or trainer.presets.get(preset or "", trainer.vocab_size),
        seed=seed,
        min_frequency=min_frequency,
        preset=preset,
        ties=Ties(ties),
        trace=trace,
        on_progress=on_progress,
    )
    check_output(Path(output), force=force, inputs=sources)
    plan.report_progress("reading the corpus")
    with open_corpus(sources, [Preparation(name) for name in prepare]) as opened:
        check_output(Path(output), force=force, inputs=opened.files)
        with stage_output(Path(output)) as directory:
            training = train_into(directory, algorithm, replace(plan, corpus=opened.files))
            report = FORMATS["run"]["json"](training.report, RenderOptions())
            (directory / REPORT_NAME).write_text(report, encoding="utf-8")
    names = tuple(sorted((*training.names, REPORT_NAME)))
    return replace(training, names=names, notes=(*training.notes, *opened.notes))
