"""Say of which differences a reference is at fault, since its own files contradict each other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from tokverify.compare.affix import affixes_of, find_affix_differences
from tokverify.compare.contradiction import (
    LOWERCASE,
    SPACE_PREFIX,
    Contradiction,
    adds_space,
    contradicted_tokens,
    contradictions_of,
    find_false_ends,
    find_other_vocabularies,
    lowers_case,
)
from tokverify.compare.digest import make_difference
from tokverify.compare.role_difference import find_end_differences, find_role_differences
from tokverify.compare.type_difference import find_type_differences
from tokverify.errors import NotComparedError, answer_or
from tokverify.report.finding import ERROR, WARNING
from tokverify.report.run import CaseResult, Report
from tokverify.report.tokenizer_difference import BLAME, Aspect, Origin, TokenizerDifference
from tokverify.report.vocabulary_difference import NEARLY_ALL
from tokverify.sources.gguf import keys
from tokverify.texts.vocabulary import find_other_roles
from tokverify.tokenizer import Tokenizer, pieces_of

ADVICE = "name another reference with -r, and leave the model as it is"
"""What to do about a reference that is at fault."""
_FAULT = f"{BLAME}, as its files contradict each other: "
_OF_TOKENS = frozenset({Aspect.EXTRA, Aspect.TYPES})
"""If a reference is at fault in one of these, it is wrong about each text in which one of the tokens is found."""
_OF_VOCABULARIES = frozenset({Aspect.BYTES, Aspect.MISSING, Aspect.EXTRA, Aspect.SPECIAL_IDS})


class _Setting(NamedTuple):
    """A flag of a file that says what is done to texts."""

    field: str
    """That of `TokenizerSpec`."""
    key: str
    of: Callable[[Tokenizer], bool | None]
    """Whether a tokenizer does it."""
    aspect: Aspect
    code: str
    """The rule that reports the same."""
    only_model: str
    """What differs if only the model does it."""
    only_reference: str
    """What differs if only the reference does."""


_SETTINGS = {
    SPACE_PREFIX: _Setting(
        "add_space_prefix",
        keys.ADD_SPACE_PREFIX,
        adds_space,
        Aspect.AFFIXES,
        "TV207",
        "the model adds a space before a text, the reference none",
        "the model adds no space before a text, the reference one",
    ),
    LOWERCASE: _Setting(
        "lowercase",
        keys.LOWERCASE,
        lowers_case,
        Aspect.NORMALIZATION,
        "TV205",
        "the model lowercases texts, the reference does not",
        "the reference lowercases texts, the model does not",
    ),
}


def blame_reference(
    differences: Iterable[TokenizerDifference],
    contradictions: Sequence[Contradiction],
    actual: Tokenizer,
    expected: Tokenizer,
) -> list[TokenizerDifference]:
    """Return differences, with the reference as the origin of those in which the model agrees with its other place."""
    around = compare_around(contradictions, actual, expected)
    blamed = {tuple(dict.fromkeys([*ours, *theirs])): blame for ours, theirs, blame in around if blame}
    differences = list(differences)
    # A sentencepiece model takes long to read.
    is_other = any(each.aspect in _OF_VOCABULARIES for each in differences)
    vocabulary = find_wrong_vocabulary(pieces_of(actual), expected) if is_other else None
    found: list[TokenizerDifference] = []
    for difference in differences:
        if vocabulary and difference.ids and set(difference.ids) <= set(vocabulary.ids):
            contradiction: Contradiction | None = vocabulary
        elif difference.keys == (keys.ADD_SPACE_PREFIX,):
            # Only of BPE, for which llama.cpp adds none, whatever the file says.
            about = (each for each in contradictions if each.subject == SPACE_PREFIX and each.is_done is False)
            contradiction = next(about, None)
        elif difference.aspect is Aspect.AFFIXES:
            contradiction = blamed.get(difference.ids)
        elif difference.aspect is Aspect.SPECIAL_IDS:
            contradiction = next((each for each in contradictions if _concerns(each, difference)), None)
        elif difference.aspect is Aspect.ENDS:
            is_false = set(difference.ids) <= find_false_ends(expected, contradictions)
            about = (each for each in contradictions if each.subject == "eos token")
            contradiction = next((each for each in about if is_false and set(difference.ids) <= set(each.ids)), None)
        else:
            contradiction = None
        found.append(_blame(difference, contradiction) if contradiction else difference)
    return [*found, *_find_setting_differences(contradictions, actual)]


def _find_setting_differences(
    contradictions: Iterable[Contradiction], actual: Tokenizer
) -> Iterator[TokenizerDifference]:
    """Yield that only the model does something to texts, or only the reference, if a contradiction explains it."""
    for each in contradictions:
        setting = _SETTINGS.get(each.subject)
        if setting and setting.of(actual) is each.is_done:
            message = setting.only_model if each.is_done else setting.only_reference
            found = make_difference(
                setting.aspect, ERROR, message, facts=each.subject, keys=(setting.key,), code=setting.code
            )
            yield _blame(found, each)


def blamed_settings(differences: Iterable[TokenizerDifference]) -> list[str]:
    """Return the flags of a file about which the reference is at fault, as fields of `TokenizerSpec`."""
    blamed = {key for each in differences if each.origin is Origin.REFERENCE for key in each.keys}
    return [setting.field for setting in _SETTINGS.values() if setting.key in blamed]


def compare_around(
    contradictions: Iterable[Contradiction], actual: Tokenizer, expected: Tokenizer
) -> list[tuple[list[int], list[int], Contradiction | None]]:
    """Return what both add before a text, and after it, each with the contradiction in which the model is right.

    The list is empty if there is no contradiction about these tokens, or they are not known.
    """
    about = {each.subject: each for each in contradictions if each.is_done is not None}
    left, right = (answer_or(None, affixes_of, side) if about else None for side in (actual, expected))
    if left is None or right is None:
        return []
    found: list[tuple[list[int], list[int], Contradiction | None]] = []
    for role, ours, theirs in zip(("bos", "eos"), left, right, strict=True):
        blame = about.get(role)
        found.append((ours, theirs, blame if blame and _agrees(actual, ours, blame) else None))
    return found


def _agrees(actual: Tokenizer, ids: Sequence[int], contradiction: Contradiction) -> bool:
    """Whether a model adds what the other place says, and no other token."""
    if bool(ids) is not contradiction.is_done:
        return False
    return not ids or contradiction.text is None or [actual.piece(id) for id in ids] == [contradiction.text]


def _concerns(contradiction: Contradiction, difference: TokenizerDifference) -> bool:
    """Whether two places name the two tokens that have a role on the two sides."""
    role = difference.message.partition(" ")[0]
    return contradiction.subject == f"{role} token" and set(difference.ids) <= set(contradiction.ids)


def _blame(difference: TokenizerDifference, contradiction: Contradiction) -> TokenizerDifference:
    message = f"{difference.message}; {_FAULT}{contradiction.sentence}"
    if difference.aspect is not Aspect.AFFIXES:
        severity = difference.severity
    else:
        # Whatever else explains it: a reference that contradicts itself is no standard, unless its class is one.
        severity = WARNING if contradiction.is_settled else ERROR
    return replace(difference, message=message, origin=Origin.REFERENCE, severity=severity)


def find_wrong_vocabulary(pieces: Sequence[str], expected: Tokenizer | None) -> Contradiction | None:
    """Return where a tokenizer.json has other tokens than a file beside it with which the model agrees.

    Or where it gives one id to several tokens, of which the model has another one there than the library.

    Args:
        pieces: The tokens of the model.
        expected: The reference.
    """
    if expected is None:
        return None
    for each in find_other_vocabularies(expected):
        differs = any(id < len(pieces) and pieces[id] != expected.piece(id) for id in each.ids)
        if differs and (not each.texts or _agrees_about_ids(pieces, each)):
            return each
    return None


def explain_wrong_vocabulary(pieces: Sequence[str], expected: Tokenizer | None) -> str:
    """Say what `find_wrong_vocabulary` finds, and what to do; empty if it finds nothing."""
    found = find_wrong_vocabulary(pieces, expected)
    if found is None:
        return ""
    fault = _FAULT if found.texts else f"{BLAME}: "
    return f"{fault}{found.sentence}; {ADVICE}"


def _agrees_about_ids(pieces: Sequence[str], contradiction: Contradiction) -> bool:
    ids = zip(contradiction.ids, contradiction.texts, strict=True)
    same = sum(id < len(pieces) and pieces[id] == text for id, text in ids)
    return same >= NEARLY_ALL * len(contradiction.ids)


def drop_blamed(report: Report) -> tuple[CaseResult, ...]:
    """Return the results of a report without the failing cases that contain tokens for which the reference is at fault.

    No change of the model must make these match.
    """
    blamed = {difference.aspect for difference in report.differences if difference.origin is Origin.REFERENCE}
    results = report.results
    if Aspect.SPLITTING in blamed:
        results = tuple(result for result in results if not result.fails)
    named = _blamed_ids(report, _OF_TOKENS)
    results = tuple(each for each in results if not each.fails or named.isdisjoint((*each.actual, *each.expected)))
    around = _blamed_ids(report, {Aspect.AFFIXES})
    return tuple(result for result in results if not _differs_only_around(result, around))


def _blamed_ids(report: Report, aspects: Collection[Aspect]) -> frozenset[int]:
    """Return the tokens in differences of some aspects for which the reference is at fault."""
    found = (each for each in report.differences if each.origin is Origin.REFERENCE and each.aspect in aspects)
    return frozenset(id for each in found for id in each.ids)


def _differs_only_around(result: CaseResult, ids: frozenset[int]) -> bool:
    if not ids or not result.add_special or result.actual == result.expected:
        return False
    actual, expected = (_strip(side, ids) for side in (result.actual, result.expected))
    return actual == expected


def _strip(ids: Sequence[int], around: frozenset[int]) -> Sequence[int]:
    start, end = 0, len(ids)
    while start < end and ids[start] in around:
        start += 1
    while end > start and ids[end - 1] in around:
        end -= 1
    return ids[start:end]


def explain_blame(differences: Iterable[TokenizerDifference]) -> str:
    """Say that a reference is at fault, and where its files contradict each other; empty if it is not."""
    blamed = [each.message for each in differences if each.origin is Origin.REFERENCE]
    return f"{'; '.join(blamed)}; {ADVICE}" if blamed else ""


def find_blame(actual: Tokenizer, expected: Tokenizer) -> str:
    """Say that a reference is at fault about added or special tokens, or what is added around a text; else empty."""
    contradictions = contradictions_of(expected)
    differences: list[TokenizerDifference] = []
    find_types = partial(find_type_differences, contradicted=contradicted_tokens(contradictions))
    find_roles = partial(find_role_differences, differing=find_other_roles(actual.special_ids, expected.special_ids))
    for find in (find_affix_differences, find_end_differences, find_types, find_roles):
        with suppress(NotComparedError):
            differences += find(actual, expected)
    blamed = blame_reference(differences, contradictions, actual, expected)
    return explain_blame(each for each in blamed if each.severity is ERROR)
