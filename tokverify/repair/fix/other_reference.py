"""Compare what a repair leaves with other tokenizers at hand, which may contradict the reference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from tokverify.case import Case
from tokverify.compare.comparison import compare_cases
from tokverify.compare.limits.explaining import explainer_of
from tokverify.compare.opened import Opened, OpenedReference
from tokverify.engine.encoder import Encoder
from tokverify.errors import EncodeError, UnsupportedError
from tokverify.references import FoundReference
from tokverify.report.fix import OtherReference
from tokverify.report.run import FAILING
from tokverify.text.sequence import thin_out
from tokverify.text.wording import plural
from tokverify.texts.batch import encode_plain
from tokverify.tokenizer import Tokenizer, pieces_of, why_hidden

_SPACED = " a"
_SAMPLE = 200
"""So many tokens tell whether two tokenizers are related."""


def compare_with_others(
    left: Tokenizer, reference: Tokenizer, others: Iterable[FoundReference], cases: Sequence[Case]
) -> Iterator[OtherReference]:
    """Yield the other tokenizers that contradict the reference; what agrees with it says nothing new about the file."""
    for other in others:
        if not _is_related(other.tokenizer, reference):
            continue
        if disputed := _count_differing(other.tokenizer, reference, cases):
            differing = _count_differing(left, other.tokenizer, cases)
            yield OtherReference(other.source, len(cases), disputed, differing)


def find_other_version(
    model: Path, encoder: Encoder, reference: OpenedReference, others: Iterable[FoundReference], cases: Sequence[Case]
) -> str:
    """Say that a reference contradicts a tokenizer beside it, or is another version's; empty if nothing says so.

    If the file agrees with a tokenizer beside it, limits aside, nothing is wrong with the file. If it agrees with one
    beside the reference, that can also be the right one of the two, unless it is a base model, which lacks what was
    added later, or a flag that the reference declares differs and its decoder undoes what its encoder does.
    """
    own = reference.found.home
    # If the file differs from the reference only by limits, no text is to be repaired.
    is_right = cache(lambda: _agrees(encoder, reference, cases))
    for other in others:
        place = other.path.parent if other.path else None
        if place is None or place not in {own, model.parent}:
            continue
        # A library that reads a directory has read the other one, too, and may have added tokens to it.
        is_loaded = reference.path is None and other.path == reference.place
        if place == own and not is_loaded and not _have_same_tokens(encoder, reference, other.tokenizer):
            continue
        if not _is_related(other.tokenizer, reference.tokenizer):
            continue
        disputed = _count_differing(other.tokenizer, reference.tokenizer, cases)
        # To look for limits takes longer than everything else.
        if disputed and _agrees(encoder, Opened(other.tokenizer, other.path), cases) and not is_right():
            agrees = (
                f"the file agrees with {other.source}, with which the reference ({reference.source}) disagrees about "
                f"{disputed} of {plural(len(cases), 'case')}"
            )
            if is_loaded:
                return (
                    f"{reference.tokenizer.name} does not encode as the tokenizer that it loaded: {agrees}; name that"
                    " file with -r, unless the model was trained with this version of the library"
                )
            if place == own:
                return (
                    f"the files of the reference contradict each other: {agrees}; find out with which of them the model"
                    " was trained, and name that one with -r"
                )
            return (
                f"{agrees}, so this is the reference of another version of the model; name the right one with -r, or"
                " move the other one to another directory"
            )
    return ""


def _have_same_tokens(encoder: Encoder, reference: OpenedReference, other: Tokenizer) -> bool:
    """Whether the file has the tokens and sound flags of its reference, and the other tokenizer as many tokens."""
    if not encoder.vocab_size == reference.tokenizer.vocab_size == other.vocab_size:
        return False
    declared = reference.spec.add_space_prefix if reference.spec else None
    has_same_flag = declared is None or declared is encoder.settings.add_space_prefix
    # A decoder that removes a space which nothing adds shows that the flag, and not the file, is what changed.
    is_trusted = has_same_flag or (declared is False and _loses_space(reference.tokenizer))
    return is_trusted and list(pieces_of(encoder)) == list(pieces_of(reference.tokenizer))


def _loses_space(tokenizer: Tokenizer) -> bool:
    """Whether a tokenizer decodes a text without the space that it begins with."""
    (ids,) = encode_plain(tokenizer, [_SPACED])
    with suppress(EncodeError, UnsupportedError):
        return ids is not None and tokenizer.decode(ids) == _SPACED.lstrip().encode()
    return False


def _agrees(original: Encoder, other: Opened, cases: Sequence[Case]) -> bool:
    if other.tokenizer is None:
        return False
    explainer = explainer_of(original, other)
    results = compare_cases(original, other.tokenizer, cases)
    return not any(explainer.explain(result).fails for result in results if result.fails)


def _is_related(other: Tokenizer, reference: Tokenizer) -> bool:
    """Whether two tokenizers have most tokens in common, so that one is not just another file in the same folder."""
    if why_hidden(other, reference):
        return True
    ids = thin_out(range(min(other.vocab_size, reference.vocab_size)), _SAMPLE)
    return 2 * sum(other.token_bytes(id) == reference.token_bytes(id) for id in ids) > len(ids)


def _count_differing(actual: Tokenizer, expected: Tokenizer, cases: Sequence[Case]) -> int:
    return sum(result.status in FAILING for result in compare_cases(actual, expected, cases))
