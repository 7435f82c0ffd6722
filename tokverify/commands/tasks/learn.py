"""Reconstruct a tokenizer from what a reference answers, and write it as a GGUF file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokverify.compare.convert.special_tokens import warn_of_ends
from tokverify.compare.opened import python_version
from tokverify.compare.side import reference_side
from tokverify.engine.encoder import Encoder
from tokverify.errors import TokverifyError
from tokverify.references import FoundReference, open_location
from tokverify.repair.probe import learn
from tokverify.repair.probe.ids_only import IdsOnly
from tokverify.repair.probe.summary import describe_declared, describe_learned, list_added_tokens, list_hidden
from tokverify.report.learn import LearnedDifference, LearnedFact, LearnedToken, Learning
from tokverify.sources.gguf.writer import write_gguf
from tokverify.sources.stores.location import locate
from tokverify.sources.tokenizer_file import read_spec
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.system.output_file import check_new_file, move_into_place, sync, temporary_beside
from tokverify.texts.batch import encode_all, ids_or_none
from tokverify.texts.generator import MODES, make_samples
from tokverify.texts.mode import Mode
from tokverify.texts.sample import Sample
from tokverify.tokenizer import Declaring, Tokenizer
from tokverify.version import __version__

TEXTS = 1000
"""The default number of generated texts that verify the result."""

_EXAMPLES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Learned:
    spec: TokenizerSpec
    facts: tuple[LearnedFact, ...]
    added_tokens: tuple[LearnedToken, ...] = ()
    alike: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    encodings: int = 0


def learn_tokenizer(  # noqa: PLR0913 - the optional ones are keywords
    reference: str | Path,
    target: str | Path,
    *,
    vocabulary: str | Path | None = None,
    ids_only: bool = False,
    force: bool = False,
    count: int = TEXTS,
    seed: int = 0,
    on_progress: Callable[[str], None] = lambda _: None,
) -> Learning:
    """Reconstruct the tokenizer of a reference, write it as a GGUF file, and verify it on generated texts.

    The file is written even if some texts have other ids; the report counts them.

    Args:
        reference: A location as for `tokverify run -r`.
        target: The GGUF file to write. It appears whole or not at all.
        vocabulary: A tokenizer file with the stored strings of the same tokens, for a reference that gives only bytes.
        ids_only: Use nothing that the reference declares: only its ids, and the bytes and pieces of its tokens.
        force: Overwrite an existing file.
        count: The number of generated texts to verify with.
        seed: The seed of these texts.
        on_progress: Called with a short description of each step.

    Returns:
        What was learned and how, what was not revealed, and how many texts have the same ids.

    Raises:
        TokverifyError: If the reference or the vocabulary cannot be read, no family encodes like the reference, or the
            file cannot be written.
    """
    target = Path(target)
    check_new_file(target, force=force)
    stored = read_spec(Path(vocabulary)).tokens if vocabulary else None
    found = open_location(locate(reference))
    tokenizer: Tokenizer = IdsOnly(found.tokenizer) if ids_only else found.tokenizer
    learned = None if ids_only or stored else _read_declared(found)
    learned = learned or _learn(tokenizer, stored, on_progress)
    on_progress("verifying the result")
    encoder = Encoder(learned.spec, target.stem)
    texts, differences = _compare_on_generated_texts(encoder, tokenizer, count=count, seed=seed)
    with temporary_beside(target) as temporary:
        write_gguf(temporary, learned.spec)
        sync(temporary)
        move_into_place(temporary, target)
    return Learning(
        reference=reference_side(found),
        target=str(target),
        size=len(learned.spec.tokens),
        encodings=learned.encodings,
        facts=learned.facts,
        types=_count_types(learned.spec),
        added_tokens=learned.added_tokens,
        alike=learned.alike,
        hidden=(*learned.hidden, *warn_of_ends(learned.spec)),
        texts=texts,
        differing=len(differences),
        examples=tuple(differences[:_EXAMPLES]),
        versions={"tokverify": __version__, **python_version(), **found.versions},
    )


def _read_declared(found: FoundReference) -> _Learned | None:
    """Return the specification that the reference declares; None if it declares none, or GGUF cannot express it."""
    try:
        if isinstance(found.tokenizer, Declaring):
            spec = found.tokenizer.declared_spec()
        elif found.path is not None:
            spec = read_spec(found.path)
        else:
            return None
    except TokverifyError:
        return None
    return _Learned(spec=spec, facts=describe_declared(spec))


def _learn(tokenizer: Tokenizer, stored: Sequence[str] | None, on_progress: Callable[[str], None]) -> _Learned:
    learned = learn(tokenizer, stored, on_progress)
    return _Learned(
        spec=learned.spec,
        facts=describe_learned(learned),
        added_tokens=list_added_tokens(learned),
        alike=learned.alike,
        hidden=tuple(list_hidden(learned, parses_special=tokenizer.parses_special)),
        encodings=learned.encodings,
    )


def _count_types(spec: TokenizerSpec) -> Mapping[str, int]:
    counts = Counter(spec.types or [TokenType.NORMAL.value] * len(spec.tokens))
    return {type.name: counts[type.value] for type in TokenType if counts[type.value]}


def _compare_on_generated_texts(
    actual: Tokenizer, expected: Tokenizer, *, count: int, seed: int
) -> tuple[int, list[LearnedDifference]]:
    """Compare the ids of `count` generated texts; return how many there were, and those that differ, shortest first.

    The same seed generates the same texts for the same vocabulary.
    A mode in which the reference cannot encode is left out: parsing special tokens, or adding some.
    """
    samples = [_adapt(sample, expected) for sample in make_samples(actual, count, seed)]
    differences = [difference for mode in MODES for difference in _compare(actual, expected, samples, Mode(*mode))]
    differences.sort(key=lambda difference: (len(difference.text), difference.text))
    return len(samples), differences


def _adapt(sample: Sample, expected: Tokenizer) -> Sample:
    return sample._replace(
        add_special=sample.add_special and expected.adds_special,
        parse_special=sample.parse_special and expected.parses_special,
    )


def _compare(
    actual: Tokenizer, expected: Tokenizer, samples: Sequence[Sample], mode: Mode
) -> Iterator[LearnedDifference]:
    texts = [sample.text for sample in samples if sample.mode == mode]
    modes = [mode] * len(texts)
    ours, theirs = (map(ids_or_none, encode_all(side, texts, modes)) for side in (actual, expected))
    for text, our_ids, their_ids in zip(texts, ours, theirs, strict=True):
        if our_ids != their_ids:
            yield LearnedDifference(text, *mode, their_ids, our_ids)
