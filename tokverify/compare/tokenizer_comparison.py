"""Compare two tokenizers themselves, by everything that they expose besides the ids of texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from tokverify.compare.affix import find_affix_differences
from tokverify.compare.blame import blame_reference
from tokverify.compare.contradiction import Contradiction, contradicted_tokens
from tokverify.compare.digest import make_difference
from tokverify.compare.normalized_match import find_normalized_matches
from tokverify.compare.opened import Opened
from tokverify.compare.piece_difference import find_exchanged_pieces, find_piece_differences
from tokverify.compare.ranking_difference import find_ranking_differences
from tokverify.compare.role_difference import find_end_differences, find_role_differences
from tokverify.compare.template_difference import find_template_difference
from tokverify.compare.type_difference import find_left_out_types, find_type_differences, find_unmatched_tokens
from tokverify.compare.unread_key import find_unread
from tokverify.errors import GoneError, NotComparedError, TokverifyError
from tokverify.report.finding import WARNING
from tokverify.report.run import CaseResult
from tokverify.report.tokenizer_difference import Aspect, Origin, TokenizerDifference
from tokverify.report.vocabulary_difference import VocabularyDifference
from tokverify.text.wording import plural
from tokverify.tokenizer import OpenLeaving, Tokenizer, why_hidden


class TokenizerComparison(NamedTuple):
    """How two tokenizers differ, and what could not be compared."""

    differences: Sequence[TokenizerDifference]
    """The most severe first."""
    not_compared: Sequence[str]


def compare_tokenizers(
    actual: Tokenizer,
    expected: Tokenizer,
    vocabulary: VocabularyDifference | None,
    *,
    facts: Opened | None = None,
    ranking: bool = True,
) -> TokenizerComparison:
    """Compare two tokenizers in all aspects that both sides expose.

    Args:
        actual: The tokenizer under test.
        expected: The reference.
        vocabulary: How their vocabularies differ; None if one side does not list its tokens.
        facts: What is known about the reference; by default, as much as it says itself.
        ranking: Whether to compare the order of merges or scores, which takes as long as everything else together.
    """
    facts = facts or Opened(expected)
    contradictions = facts.contradictions
    contradicted = contradicted_tokens(contradictions)
    steps: list[Callable[[], Iterator[TokenizerDifference]]] = [
        partial(find_end_differences, actual, expected),
        partial(find_affix_differences, actual, expected),
        partial(find_unread, actual),
        partial(find_template_difference, actual, expected),
    ]
    if vocabulary:
        steps = [
            partial(find_piece_differences, vocabulary, actual, expected, facts),
            partial(find_type_differences, actual, expected, contradicted),
            partial(find_left_out_types, actual, expected),
            partial(find_normalized_matches, actual, expected),
            *([partial(find_ranking_differences, actual, expected)] if ranking else []),
            partial(find_role_differences, actual, expected, vocabulary.special_ids),
            *steps,
        ]
    else:
        steps[:0] = [
            partial(_miss_vocabulary, why_hidden(actual, expected)),
            partial(find_exchanged_pieces, actual, expected),
        ]
    steps += [partial(find_unmatched_tokens, actual, expected), partial(_miss_left_open, expected)]
    differences: list[TokenizerDifference] = []
    not_compared: list[str] = []
    for step in steps:
        try:
            differences.extend(step())
        except GoneError:
            raise
        except (NotComparedError, TokverifyError) as error:
            not_compared.append(str(error))
    differences = blame_reference(differences, contradictions, actual, expected)
    differences += _contradicted_roles(contradictions, differences)
    return TokenizerComparison(sort_by_severity(differences), not_compared)


def _contradicted_roles(
    contradictions: Iterable[Contradiction], differences: Sequence[TokenizerDifference]
) -> Iterator[TokenizerDifference]:
    """Yield the roles about which the files of a reference contradict each other, although it and the model agree."""
    for each in contradictions:
        if each.subject.endswith(" token") and not any(each.sentence in found.message for found in differences):
            yield make_difference(
                Aspect.SPECIAL_IDS, WARNING, each.sentence, each.ids, facts=each.subject, origin=Origin.REFERENCE,
                code="TV208",
            )  # fmt: skip


def _miss_left_open(expected: Tokenizer) -> Iterator[TokenizerDifference]:
    if isinstance(expected, OpenLeaving) and expected.left_open:
        raise NotComparedError(f"{expected.left_open}: no file of the reference says it, so the model's is taken")
    return iter(())


def _miss_vocabulary(reason: str) -> Iterator[TokenizerDifference]:
    raise NotComparedError(f"the vocabularies were not compared: {reason}")


def describe_decoding(results: Iterable[CaseResult]) -> TokenizerDifference | None:
    """Describe that the two sides decode the ids of cases differently; None if they do not."""
    found = [(result.case.name, result.decode_difference) for result in results if result.decode_difference]
    if not found:
        return None
    message = f"the two sides decode the ids of {plural(len(found), 'case')} differently"
    facts = [(name, difference.actual.hex(), difference.expected.hex()) for name, difference in found]
    return make_difference(Aspect.DECODING, WARNING, message, facts=facts)


def sort_by_severity(differences: Iterable[TokenizerDifference]) -> list[TokenizerDifference]:
    """Return differences with the most severe first."""
    return sorted(differences, key=lambda difference: difference.severity, reverse=True)
