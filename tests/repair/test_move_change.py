"""Tokens in another order than in the reference move back together with their types and scores."""

from dataclasses import replace

import pytest

from support.bare_tokenizer import Bare, IdsOnly
from support.faults.tokens import extra_ids_first, inserted, reordered
from support.made_vocabulary import bpe, plamo, unigram
from support.mutation import swapped
from support.spec_maker import CONTROL, bpe_spec, spec_of
from tokverify.case import Case
from tokverify.cases.loading import load_cases
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.opened import Opened
from tokverify.engine.encoder import Encoder
from tokverify.repair.evidence import Evidence, Target
from tokverify.repair.move_change import moves, moves_by_ids
from tokverify.repair.piece_change import reference_texts
from tokverify.repair.search import diagnose
from tokverify.spec import TokenizerSpec, TokenType


def last_half_first(spec: TokenizerSpec) -> list[int]:
    ids = range(3, len(spec.tokens))
    return [0, 1, 2, *ids[len(ids) // 2 :], *ids[: len(ids) // 2]]


@pytest.mark.process  # takes seconds
@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("order", [extra_ids_first, last_half_first])
def test_tokens_move_back_with_types_and_scores(order, bare: bool):
    right = unigram()
    wrong = reordered(order)(right)
    expected = Encoder(right, "right")
    facts, actual = Opened(Bare(expected) if bare else expected), Encoder(wrong)
    result = diagnose(wrong, facts, verify_tokenizers(actual, expected, load_cases()).results, encoder=actual)
    best = result.diagnosis.explanations[0]
    assert (best.kind, best.unexplained) == ("shift", ())
    assert best.sentence.endswith("to their ids in the reference, with types and scores")
    fixed = result.changes[0].transform(wrong)
    assert (fixed.tokens, fixed.types, fixed.scores) == (list(right.tokens), list(right.types), list(right.scores))


@pytest.mark.parametrize(("count", "expected"), [(1, "(274 of the ids are 1 too low)"), (60, "types and scores")])
def test_the_sentence_says_how_far_most_ids_are_off(count: int, expected: str):
    """As in a file made of a tekken.json whose special tokens stand behind the others."""
    right = bpe_spec((), tokens=[f"w{number}" for number in range(18)])
    special = [f"<s{number}>" for number in range(count)]
    tokens, types = [*special, *right.tokens], [*[CONTROL] * count, *right.types]
    wrong = replace(right, tokens=[*tokens[count:], *special], types=[*types[count:], *types[:count]])
    reference = Opened(Encoder(replace(right, tokens=tokens, types=types)))
    (change,) = moves(Evidence(wrong, Encoder(wrong), reference, ()))
    assert change.sentence.endswith(expected)


@pytest.mark.parametrize(("named", "moved"), [("bos", True), (None, True), ("stale", False)])
def test_a_role_goes_with_its_token_unless_it_has_the_right_number_already(named: str | None, moved: bool):
    right = bpe_spec((), tokens=[f"w{number}" for number in range(18)])
    tokens, types = ["<s>", *right.tokens], [CONTROL, *right.types]
    at_end = {"bos": len(right.tokens)}
    wrong = replace(right, tokens=[*right.tokens, "<s>"], types=[*right.types, CONTROL], special_ids=at_end)
    roles = {"bos": {"bos": 0}, None: {}, "stale": at_end}[named]
    expected = Encoder(replace(right, tokens=tokens, types=types, special_ids=roles))
    reference = Opened(expected if named else Bare(expected))
    (change,) = moves(Evidence(wrong, Encoder(wrong), reference, ()))
    assert change.transform(wrong).special_ids == ({"bos": 0} if moved else at_end)
    assert ("types, scores and roles" in change.sentence) is moved


def test_roles_go_with_control_tokens_that_only_change_places():
    special = {f"<{letter}>": CONTROL for letter in "abcdefgh"}
    right = bpe_spec((), special, special_ids={"bos": 256})
    wrong = replace(right, tokens=[*right.tokens[:256], *right.tokens[:255:-1]], special_ids={"bos": 263})
    (change,) = moves(Evidence(wrong, Encoder(wrong), Opened(Encoder(right)), ()))
    fixed = change.transform(wrong)
    assert (list(fixed.tokens), fixed.special_ids) == (list(right.tokens), {"bos": 256})


@pytest.mark.process  # takes seconds
def test_a_token_that_shares_its_bytes_with_a_moved_one_stays_with_its_neighbors():
    right = plamo()
    wrong = reordered(lambda spec: [*range(60), *range(61, len(spec.tokens)), 60])(right)
    assert [right.tokens[60], "8" in right.tokens] == ["<0x38>", True]
    (change,) = moves(Evidence(wrong, Encoder(wrong), Opened(Bare(Encoder(right))), ()))
    assert change.transform(wrong) == right


@pytest.mark.process  # takes seconds
@pytest.mark.parametrize("bare", [False, True])
def test_tokens_move_back_even_if_some_of_them_have_other_texts(bare: bool):
    right = unigram()
    moved = reordered(last_half_first)(right)
    texts = [f"{text}~{id}" if id in {100, 700} else text for id, text in enumerate(moved.tokens)]
    wrong = replace(moved, tokens=texts)
    (change,) = moves(Evidence(wrong, Encoder(wrong), Opened(Bare(Encoder(right)) if bare else Encoder(right)), ()))
    fixed = change.transform(wrong)
    assert sum(left != right for left, right in zip(fixed.tokens, right.tokens, strict=True)) == 2
    assert (fixed.types, fixed.scores) == (list(right.types), list(right.scores))


def test_tokens_without_other_values_are_only_rewritten():
    right = bpe()
    wrong = reordered(lambda spec: [*range(100, 200), *range(100), *range(200, len(spec.tokens))])(right)
    assert list(moves(Evidence(wrong, Encoder(wrong), Opened(Encoder(right)), ()))) == []


@pytest.mark.parametrize("fault", [swapped(("▁the", "▁and")), inserted(5, "<new>")])
def test_few_tokens_and_other_ones_do_not_move(fault):
    wrong = fault(unigram())
    assert list(moves(Evidence(wrong, Encoder(wrong), Opened(Encoder(unigram())), ()))) == []


def exchanged_texts(spec: TokenizerSpec, *ids: int) -> TokenizerSpec:
    """Give each of these tokens the text of the next one, and the last one that of the first."""
    texts = {id: spec.tokens[other] for id, other in zip(ids, [*ids[1:], ids[0]], strict=True)}
    return replace(spec, tokens=[texts.get(id, text) for id, text in enumerate(spec.tokens)])


@pytest.mark.parametrize("ids", [(256, 257), (256, 258, 257), (260, 259)])
def test_texts_that_were_exchanged_are_found_by_ids_alone(ids: tuple[int, ...]):
    right = bpe_spec(["a b", "c d"], dict.fromkeys(["<|im_start|>", "<|im_end|>", "<|pad|>"], CONTROL))
    wrong = exchanged_texts(right, *ids)
    texts = ["ab", "cd", "<|im_start|>ab", "<|im_end|>", "<|pad|>"]
    cases = [Case(id=text, suite="made", text=text, add_special=False) for text in texts]
    actual, expected = Encoder(wrong), IdsOnly(Encoder(right))
    results = verify_tokenizers(actual, expected, cases).results
    result = diagnose(wrong, Opened(expected), results, encoder=actual)
    best = result.diagnosis.explanations[0]
    assert best.sentence.startswith(f"swapping back the texts of {len(ids)} tokens: ")
    assert (best.unexplained, best.broken) == ((), 0)
    assert list(result.changes[0].transform(wrong).tokens) == list(right.tokens)


def test_a_token_whose_text_no_failing_text_contains_takes_part_in_an_exchange():
    right = bpe_spec(["a b"], dict.fromkeys(["<|im_start|>", "<|im_end|>"], CONTROL))
    wrong = exchanged_texts(right, 257, 258)
    targets = [Target("made/start", "<|im_start|>", False, True, (257,))]
    (change,) = moves_by_ids(Evidence(wrong, Encoder(wrong), Opened(IdsOnly(Encoder(right))), targets))
    assert list(change.transform(wrong).tokens) == list(right.tokens)


def test_an_exchange_is_found_although_its_scores_split_other_words_elsewhere():
    tokens = ["<unk>", "▁Haus", "▁house", "▁Hause", "ell", "ll", "▁houses", "hot", "shot"]
    scores = [0.0, -6.0, -4.0, -5.0, -3.0, -3.0, -4.0, -5.0, -4.0]
    right = spec_of("t5", tokens, {"<unk>": TokenType.UNKNOWN.value}, scores=scores, add_space_prefix=True)
    wrong = exchanged_texts(right, 1, 2)
    actual, expected = Encoder(wrong), Encoder(right)
    texts = ("Haus", "house", "Hausell", "houseshot")
    targets = [Target(text, text, False, False, tuple(expected.encode(text))) for text in texts]
    changes = list(moves_by_ids(Evidence(wrong, actual, Opened(IdsOnly(expected)), targets)))
    assert list(changes[0].transform(wrong).tokens) == tokens


def block_with_one_id_less() -> tuple[TokenizerSpec, TokenizerSpec]:
    """Return a vocabulary with markers in the middle, and one in which the first of them stands behind the others."""
    right = bpe_spec(["a b", "c d"], {f"<m{number}>": CONTROL for number in range(30)})
    return right, exchanged_texts(right, *range(260, 280))


def test_a_block_of_tokens_with_ids_that_are_off_by_one_is_moved_as_one():
    """Failing texts show some of its tokens, and the reference is asked for the others."""
    right, wrong = block_with_one_id_less()
    targets = [Target(text, text, False, True, (id + 1,)) for id in (265, 270, 275) for text in [wrong.tokens[id]]]
    reference = Opened(IdsOnly(Encoder(right)))
    (change,) = moves_by_ids(Evidence(wrong, Encoder(wrong), reference, targets))
    assert list(change.transform(wrong).tokens) == list(right.tokens)
    assert change.sentence.startswith("moving the texts of 20 tokens (ids 260-279)")
    assert change.sentence.endswith(" (19 of the ids are 1 too low)")


def test_a_block_of_tokens_in_reverse_order_is_moved_as_one():
    """Tokens that no text shows alone, here the unused ones in the middle, continue those beside them."""
    names = [f"<m{number}>" for number in range(20)]
    right = bpe_spec(["a b"], {name: TokenType.UNUSED.value if name in names[9:11] else CONTROL for name in names})
    wrong = replace(right, tokens=[*right.tokens[:-20], *names[::-1]])
    targets = [Target(text, text, False, True, (right.tokens.index(text),)) for text in ("<m1>", "<m3>", "<m7>")]
    (change,) = moves_by_ids(Evidence(wrong, Encoder(wrong), Opened(IdsOnly(Encoder(right))), targets))
    assert list(change.transform(wrong).tokens) == list(right.tokens)
    assert change.sentence.endswith(" to their ids in the reference (they are in reverse order)")


def test_rewriting_tokens_says_that_their_ids_are_off_by_one():
    right, wrong = block_with_one_id_less()
    (change,) = reference_texts(Evidence(wrong, Encoder(wrong), Opened(Encoder(right)), ()))
    assert change.sentence == "rewriting 20 tokens (ids 260-279) as in the reference (19 of the ids are 1 too low)"


def test_a_reference_that_lists_its_tokens_needs_no_such_guess():
    right = bpe_spec(["a b"], dict.fromkeys(["<|im_start|>", "<|im_end|>"], CONTROL))
    wrong = exchanged_texts(right, 257, 258)
    targets = [Target("made/start", "<|im_start|>", False, True, (257,))]
    assert not [*moves_by_ids(Evidence(wrong, Encoder(wrong), Opened(Encoder(right)), targets))]
