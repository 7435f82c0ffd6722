"""Changes that follow from the order of the ids, for references that return only ids and bytes."""

from dataclasses import replace
from math import exp

import pytest

from support import spec_maker
from support.bare_tokenizer import Bare
from support.spec_maker import CONTROL, USER_DEFINED, bpe_spec, spm_spec, unigram_spec
from tokverify.case import Case
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.opened import Opened
from tokverify.engine.encoder import Encoder
from tokverify.errors import TokverifyError
from tokverify.repair import added_token_change, convention_change
from tokverify.repair.change import TokenizerChange
from tokverify.repair.evidence import Evidence
from tokverify.repair.search import diagnose
from tokverify.report.run import Status
from tokverify.sources.sentencepiece.message import parse
from tokverify.spec import TokenizerSpec, TokenType

BPE = bpe_spec(["a b", "ab c", "b c", "Ġ abc", "c d"], {"<x>": CONTROL})
SPM = spm_spec({"ab": -0, "▁a": -1, "▁▁": -9, "bc": -2, "▁abc": -3, **dict.fromkeys("▁abc", -7)})
UNIGRAM = unigram_spec({"▁a": -1.0, "▁": -2.0, "bc": -2.5, "ab": -3.0, "a": -3.5, "b": -4.0, "c": -5.0})
GEMMA = spec_maker.spec_of(
    "gemma4",
    ["<unk>", "<bos>", *"▁abc", "ab", "▁a", "abc", "▁abc"],
    {"<bos>": CONTROL},
    merges=["a b", "▁ a", "a bc", "ab c", "▁ abc", "▁a bc"],
    special_ids={"unk": 0, "bos": 1},
)
TEXTS = ("abc", "abcd", "a abc", "bcd", "  abc", "ab", "bc abc", "a<x>bc")


def best(wrong: TokenizerSpec, right: TokenizerSpec, *texts: str) -> TokenizerChange:
    """Return the best change for a reference that only gives ids; a refused file fails every case."""
    expected = Bare(Encoder(right, "right"))
    cases = [Case(id=text, suite="s", text=text) for text in texts or TEXTS]
    try:
        actual = Encoder(wrong)
    except TokverifyError:
        actual = None
    results = verify_tokenizers(actual or expected, expected, cases).results
    if actual is None:
        results = [replace(result, status=Status.ERROR, actual=()) for result in results]
    result = diagnose(wrong, Opened(expected), results, encoder=actual)
    found = result.diagnosis.explanations[0]
    assert (found.explained, found.unexplained, found.expressible) == (found.failing, (), True)
    changed, intact = Encoder(result.changes[0].transform(wrong)), Encoder(right)
    assert [changed.encode(text) for text in TEXTS] == [intact.encode(text) for text in TEXTS]
    return result.changes[0]


@pytest.mark.parametrize(
    ("merges", "comparison"),
    [
        (None, "5 missing, 0 extra"),
        (BPE.merges[:2], "3 missing, 0 extra"),
        (BPE.merges[2:], "2 missing, 0 extra"),
        (BPE.merges[::-1], "the same merges, in another order from rank 0"),
    ],
)
def test_merges_follow_the_order_of_the_tokens(merges, comparison):
    found = best(replace(BPE, merges=merges), BPE)
    assert found.sentence == f"using the 5 merges implied by the order of the tokens ({comparison})"
    assert found.transform(replace(BPE, merges=merges)).merges == list(BPE.merges)


def test_escaped_pieces_imply_all_their_splits_as_merges():
    found = best(replace(GEMMA, merges=["ab c"]), GEMMA)
    assert found.sentence.startswith("using the 4 merges implied by the order of the tokens (3 missing")
    assert found.transform(GEMMA).merges == ["a b", "▁ a", "ab c", "▁ abc"]


def test_more_merges_than_tokens_imply_all_splits_of_byte_level_pieces():
    parts = ["abcde"[start : start + length] for length in range(1, 6) for start in range(6 - length)]
    splits = [(part[:end], part[end:]) for part in parts for end in range(1, len(part))]
    splits.sort(key=lambda pair: (parts.index("".join(pair)), parts.index(pair[0])))
    right = spec_maker.spec_of("gpt2", parts, pre="gpt-2", merges=list(map(" ".join, splits)))
    wrong = replace(right, merges=right.merges[:-4])
    found = best(wrong, right, "abcde", "abcdeabcde")
    assert found.sentence == "using the 20 merges implied by the order of the tokens (4 missing, 0 extra)"
    assert found.transform(wrong).merges == right.merges


def test_unused_tokens_imply_merges_unless_they_are_placeholders():
    unused = TokenType.UNUSED.value
    types = [unused if piece == "abc" else type for piece, type in zip(GEMMA.tokens, GEMMA.types, strict=True)]
    wrong = replace(GEMMA, merges=GEMMA.merges[::-1], types=types)
    padded = replace(wrong, tokens=[*GEMMA.tokens, "[PAD9]"], types=[*types, unused])
    for spec in (wrong, padded):
        assert best(spec, GEMMA).sentence.startswith("using the 4 merges implied by the order of the tokens")


def test_missing_merges_are_appended_if_the_others_follow_another_order():
    right = bpe_spec(["a b", "b c", "c d"])
    right = replace(right, merges=["b c", "a b", "c d"])
    found = best(replace(right, merges=right.merges[:2]), right, "abc", "xcd")
    assert found.sentence == "adding 1 merge implied by the order of the tokens"


@pytest.mark.parametrize("scores", [None, [0.0] * len(SPM.tokens), list(SPM.scores)[::-1], SPM.scores[:-3]])
def test_scores_follow_the_order_of_the_tokens(scores):
    found = best(replace(SPM, scores=scores), SPM)
    ordered = "ranking the scores in the order of the ids, as trainers do"
    assert found.sentence in {ordered, f"{ordered}, with 1 run of spaces last"}


class Partial(Bare):
    """A reference that agrees with the right tokenizer about one text."""

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        ids = super().encode(text, add_special=add_special, parse_special=parse_special)
        return ids if text == "bc abc" else [*ids, 0, *ids]


def test_an_order_of_scores_that_leaves_most_cases_is_no_explanation():
    wrong = replace(SPM, scores=SPM.scores[::-1])
    cases = [Case(id=text, suite="s", text=text) for text in TEXTS]
    sentences = []
    for expected in (Bare(Encoder(SPM)), Partial(Encoder(SPM))):
        results = verify_tokenizers(Encoder(wrong), expected, cases).results
        found = diagnose(wrong, Opened(expected), results, encoder=Encoder(wrong))
        sentences.append([each.sentence for each in found.diagnosis.explanations])
    ordered = "ranking the scores in the order of the ids, as trainers do"
    assert [any(sentence.startswith(ordered) for sentence in each) for each in sentences] == [True, False]


def test_runs_of_spaces_that_were_added_later_come_last():
    spec = spm_spec({"▁▁": -1e9, "▁a": -1, "▁": -2, "a": -3})
    found = best(replace(spec, scores=[0.0] * len(spec.tokens)), spec, "a", " a", "   ")
    assert found.sentence.endswith("as trainers do, with 1 run of spaces last")


@pytest.mark.parametrize("lost", [[0.0, 0.0], [-2.5, -1.5]])
def test_scores_of_a_part_that_is_out_of_order_are_put_between_its_neighbors(lost):
    """Tokens that a fine-tune added last, with the score 0, keep it."""
    pieces = ["ab", "bc", "▁a", "abc", "cd", "bcd", "dd", "ddd", "de", "ee", *"▁abcde"]
    added = {"ce": 0.0}
    right = spm_spec({piece: float(-rank) for rank, piece in enumerate(pieces)} | added)
    start = right.tokens.index("cd")
    scores = list(right.scores)
    scores[start : start + 2] = lost
    found = best(replace(right, scores=scores), right, "abcd", "bcdd", "cddd", "ddde", "deee", "abcdde", "cde", "bce")
    assert found.sentence.startswith("putting the scores of")


def test_unigram_scores_are_sorted_in_falling_order():
    start = len(UNIGRAM.tokens) - 7
    wrong = replace(UNIGRAM, scores=[*UNIGRAM.scores[:start], *UNIGRAM.scores[start:][::-1]])
    found = best(wrong, UNIGRAM)
    assert found.sentence == "sorting the scores in the order of the ids, as trainers do"
    assert found.transform(wrong).scores == list(UNIGRAM.scores)


def test_scores_stored_as_probabilities_become_logarithms_again():
    right = unigram_spec({"▁": -1.0, "a": -2.0, "b": -2.0, "ab": -3.0, "c": -4.0})
    wrong = replace(right, scores=list(map(exp, right.scores)))
    found = best(wrong, right, "ab", "abc")
    assert found.sentence == "using the logarithms of the scores, which are probabilities"
    assert found.transform(wrong).scores == pytest.approx(right.scores)


def test_scores_stored_with_the_wrong_sign_are_negated():
    wrong = replace(UNIGRAM, scores=[-score for score in UNIGRAM.scores])
    found = best(wrong, UNIGRAM)
    assert found.sentence == "negating the scores, most of which are positive"
    assert found.transform(wrong).scores == list(UNIGRAM.scores)


@pytest.mark.process  # takes seconds
@pytest.mark.parametrize("wrong", [None, "identity", "nfkc"])
def test_a_charsmap_of_sentencepiece_is_found(wrong: str | None):
    import sentencepiece

    def charsmap(rule: str) -> bytes:
        message = parse(sentencepiece.SentencePieceNormalizer(rule_name=rule).serialized_model_proto())
        return message.normalizer_spec.precompiled_charsmap

    right = replace(UNIGRAM, charsmap=charsmap("nfkc_cf"))
    broken = replace(UNIGRAM, charsmap=charsmap(wrong) if wrong else None)
    found = best(broken, right, "ＡＢ", "Ab", "abc", "㍑")
    # Of those that make these texts match it is the first.
    assert found.sentence == f"using the charsmap nmt_nfkc_cf of sentencepiece {sentencepiece.__version__}"


def test_a_model_that_uses_the_merges_is_found():
    found = best(replace(GEMMA, model="llama"), GEMMA)
    assert found.sentence.startswith("setting the model to gemma4 instead of llama")


def test_any_model_that_uses_scores_is_tried():
    tokens = ["<unk>", *spec_maker.BYTE_PIECES, "a", "b", "c", " ", "ab", "bc", " a"]
    types = [TokenType.UNKNOWN.value, *[TokenType.BYTE.value] * 256, *[1] * 7]
    scores = [0.0] * 257 + [-5.0] * 4 + [-2.0, -1.0, -3.0]
    plamo = TokenizerSpec(model="plamo2", tokens=tokens, types=types, scores=scores, special_ids={"unk": 0})
    found = best(replace(plamo, model="llama"), plamo)
    assert found.sentence.startswith("setting the model to plamo2 instead of llama")


def test_tokens_beyond_our_last_one_are_added():
    right = bpe_spec(["a b", "Ã ©"], {"<x>": CONTROL, "<y>": USER_DEFINED})
    right = replace(right, tokens=[*right.tokens, "[PAD260]"], types=[*right.types, TokenType.UNUSED.value])
    wrong = replace(right, tokens=right.tokens[:257], types=right.types[:257])
    found = best(wrong, right, "ab<x>", "é<x>", "a é")
    assert found.sentence == "adding 4 tokens (ids 257-260) from the reference"
    made = found.transform(wrong)
    assert made.tokens == right.tokens
    # Nothing shows that `<y>` is not a control token.
    assert made.types[257:] == [TokenType.NORMAL, CONTROL, CONTROL, TokenType.UNUSED]


@pytest.mark.parametrize("spec", [BPE, spm_spec({"ab": -1, "a": -2, "b": -3}), UNIGRAM])
def test_nothing_is_tried_if_the_order_of_the_ids_is_already_followed(spec):
    evidence = Evidence(spec, Encoder(spec), Opened(Bare(Encoder(spec))), ())
    assert not [
        *convention_change.merges(evidence),
        *convention_change.scores(evidence),
        *added_token_change.tokens_by_bytes(evidence),
    ]


def test_merges_are_not_taken_for_those_that_the_ids_imply_if_others_of_the_same_tokens_were_kept():
    right = bpe_spec(["a b", "b c", "ab c"])
    wrong = replace(right, merges=["a b", "b c", "a bc"])
    change, *_ = convention_change.merges(Evidence(wrong, None, Opened(Bare(Encoder(right))), ()))
    assert change.transform(wrong) == right


@pytest.mark.parametrize("name", ["gpt-2", "mpt"])
def test_the_order_of_real_tokens_implies_their_merges(spec_of, name):
    spec = spec_of(name)
    evidence = Evidence(replace(spec, merges=None), None, Opened(Bare(Encoder(spec))), ())
    (change,) = convention_change.merges(evidence)
    assert change.transform(spec).merges == list(spec.merges)


def test_scores_that_a_sum_needs_are_left_alone_if_some_are_missing():
    wrong = replace(UNIGRAM, scores=UNIGRAM.scores[:-2])
    assert list(convention_change.scores(Evidence(wrong, None, Opened(Bare(Encoder(UNIGRAM))), ()))) == []
