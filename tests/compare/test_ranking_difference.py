"""Tokens that rank in another order: an error with a text as proof if that matters, and no work if nothing differs."""

import json
from array import array
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from support.fake_tokenizer import FakeTokenizer
from support.rule_maker import bpe_json
from support.spec_maker import CONTROL, USER_DEFINED, bpe_spec, spm_spec, unigram_spec
from tokverify import load_gguf, load_reference
from tokverify.compare.checks import RULES
from tokverify.compare.ranking_difference import compare_rankings, find_ranking_differences
from tokverify.compare.reference_ranking import descends, ranks_alike
from tokverify.compare.subject import Subject
from tokverify.engine.byte_level import from_byte_level
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import AUTO, PYTHON, VARIABLE
from tokverify.references.tiktoken import TiktokenTokenizer
from tokverify.report.finding import ERROR, INFO
from tokverify.sources.gguf.declaration import Declaration
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.texts.competing_text import CompetingTexts

LETTERS = {"a": -9.0, "b": -9.1, "c": -9.2, "d": -11.0, "x": -12.0}
SPM = spm_spec({"ab": -1.0, "bc": -2.0, "dx": -3.0, **LETTERS}, add_space_prefix=False)
BPE = bpe_spec(["b c", "a b", "d x"])
UNIGRAM = unigram_spec({**LETTERS, "▁": -9.0, "ab": -2.0, "bc": -1.0, "dx": -3.0})


def swap_scores(spec: TokenizerSpec, first: str, second: str) -> TokenizerSpec:
    scores, ids = list(spec.scores or ()), {piece: id for id, piece in enumerate(spec.tokens)}
    scores[ids[first]], scores[ids[second]] = scores[ids[second]], scores[ids[first]]
    return replace(spec, scores=scores)


def differences(actual: TokenizerSpec, expected: TokenizerSpec) -> list[tuple[object, str]]:
    found = find_ranking_differences(Encoder(actual), Encoder(expected))
    return [(difference.severity, difference.message) for difference in found]


@pytest.mark.parametrize(
    ("wrong", "right", "message"),
    [
        (
            swap_scores(SPM, "ab", "bc"),
            SPM,
            '1 token ranks in another order than in the reference: 259 "ab"; '
            '"abc" is encoded as [262, 260], not [259, 264]',
        ),
        (
            swap_scores(UNIGRAM, "ab", "bc"),
            UNIGRAM,
            '2 tokens have another score than in the reference: 9 "ab", 10 "bc"; '
            '"abc" is encoded as [9, 5], not [3, 10]',
        ),
        (
            replace(BPE, merges=["a b", "b c", "d x"]),
            BPE,
            'the merges differ from the reference\'s: 1 in another place ("a b"); '
            '"abc" is encoded as [257, 99], not [97, 256]',
        ),
        (
            replace(BPE, merges=["b c", "a b"]),
            BPE,
            'the merges differ from the reference\'s: 1 missing ("d x"); "dx" is encoded as [100, 120], not [258]',
        ),
    ],
    ids=["scores", "sums of scores", "order of merges", "missing merge"],
)
def test_an_order_that_changes_ids_is_an_error_with_the_shortest_text_as_proof(wrong, right, message):
    assert differences(wrong, right) == [(ERROR, message)]


def test_a_merge_that_comes_too_late_for_the_next_one_is_an_error():
    # `a b` competes with nothing; but `c d` comes before `ab c` if `ab` is made last.
    right = bpe_spec(["a b", "ab c", "c d"])
    ((severity, message),) = differences(replace(right, merges=["ab c", "c d", "a b"]), right)
    assert severity is ERROR
    assert message.endswith('"abcd" is encoded as [256, 258], not [257, 100]')


def test_an_order_of_tokens_that_never_compete_is_only_shown():
    ((severity, message),) = differences(swap_scores(SPM, "bc", "dx"), SPM)
    assert severity is INFO
    assert message.endswith("; no tested text shows a difference")


def test_other_scores_in_the_same_order_are_no_difference():
    assert differences(replace(SPM, scores=[2 * score for score in SPM.scores]), SPM) == []
    assert differences(SPM, SPM) == []


def test_a_text_that_another_fault_changes_is_no_proof():
    wrong = replace(swap_scores(SPM, "bc", "dx"), add_space_prefix=True)
    ((severity, _),) = differences(wrong, SPM)
    assert severity is INFO


def test_tokens_of_other_types_are_not_ranked():
    right = spm_spec({"ab": -1.0, "bc": -2.0, "dx": 0.0, **LETTERS}, {"dx": USER_DEFINED}, add_space_prefix=False)
    typed = replace(right, types=[TokenType.NORMAL] * len(right.tokens))
    scores = [-20.0 if piece == "dx" else score for piece, score in zip(right.tokens, right.scores, strict=True)]
    wrong = replace(typed, scores=scores)
    assert differences(wrong, right) == []


class Documented(FakeTokenizer):
    """A reference that was made from a tokenizer.json, and encodes like another one."""

    def __init__(self, encoder: Encoder, document: dict[str, object]) -> None:
        super().__init__(*encoder.spec.tokens)
        self.encoder = encoder
        self.document = json.dumps(document).encode()

    def tokenizer_json(self) -> bytes:
        return self.document

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        return self.encoder.encode(text, add_special=add_special, parse_special=parse_special)


def test_scores_are_compared_with_the_merges_of_a_tokenizer_json_if_they_do_not_descend_with_the_ids():
    document = {"model": {"type": "BPE", "vocab": {}, "merges": ["a b", "b c", "d x"]}, "added_tokens": []}
    expected = Documented(Encoder(SPM), document)
    assert ranks_alike(Encoder(SPM), expected)
    assert not ranks_alike(Encoder(SPM), expected, thorough=True)
    assert compare_rankings(Encoder(SPM), expected) is None
    wrong = Encoder(swap_scores(SPM, "ab", "bc"))
    assert not ranks_alike(wrong, expected)
    found = compare_rankings(wrong, expected)
    assert found is not None
    assert found.proof == '"abc" is encoded as [262, 260], not [259, 264]'


def test_one_score_for_all_tokens_ranks_none_of_them_as_the_merges_of_a_tokenizer_json_do():
    document = {"model": {"type": "BPE", "vocab": {}, "merges": ["a b", "b c", "d x", "c d"]}, "added_tokens": []}
    right = spm_spec({"ab": -1.0, "bc": -2.0, "dx": -3.0, "cd": -4.0, **LETTERS}, add_space_prefix=False)
    constant = Encoder(replace(right, scores=[-1000.0] * len(right.tokens)))
    (difference,) = find_ranking_differences(constant, Documented(Encoder(right), document))
    assert difference.severity is ERROR
    assert difference.message.startswith("4 tokens all have the same score, -1000, so that nothing ranks them: ")
    assert '"cdx" is encoded as' in difference.message


@pytest.mark.parametrize(("scores", "expected"), [({"ab": -1.0, "bc": -1.0}, False), ({"ab": -1.0}, True)])
def test_one_score_descends_only_if_one_token_has_it_whatever_the_scores_of_other_tokens(scores, expected):
    model = Encoder(spm_spec(scores, byte_pieces=False))
    assert descends(model, model.spec.scores) is expected


def test_merges_are_compared_with_the_ranks_of_a_tiktoken_vocabulary():
    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is not installed")
    spec = bpe_spec(["b c", "a b", "d d", "dd d"], {"<x>": CONTROL})
    ranks = {from_byte_level(piece): id for id, piece in enumerate(spec.tokens[:260])}
    library = tiktoken.Encoding("own", pat_str=r"\S+|\s+", mergeable_ranks=ranks, special_tokens={"<x>": 260})

    def find(*merges: str) -> list[str]:
        found = find_ranking_differences(Encoder(replace(spec, merges=merges)), TiktokenTokenizer(library))
        return [difference.message for difference in found]

    # Which of the two merges that make `ddd` come first does not matter, nor whether both are listed.
    assert find("b c", "a b", "d d", "dd d", "d dd") == find("b c", "a b", "d d", "dd d") == []
    [moved] = find("a b", "b c", "d d", "d dd", "dd d")
    assert '1 in another place ("a b"); "abc" is encoded as [257, 99], not [97, 256]' in moved
    [missing] = find("b c", "a b", "d d")
    assert '2 missing ("d dd", "dd d"); "ddd" is encoded as [258, 100], not [259]' in missing


def test_equal_rankings_make_no_texts(monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(CompetingTexts, "make_around", fail)
    expected = Documented(Encoder(BPE), bpe_json(BPE, merges=BPE.merges))
    assert list(find_ranking_differences(Encoder(BPE), expected)) == []
    with pytest.raises(AssertionError):
        list(find_ranking_differences(Encoder(replace(BPE, merges=["a b", "b c", "d x"])), expected))


def test_a_file_that_encodes_no_text_makes_no_texts(monkeypatch: pytest.MonkeyPatch):
    """As of a byte-level vocabulary that is declared as SentencePiece's, without merges: the search takes long."""
    right = bpe_spec(["a b", "b c"])
    wrong = replace(right, model="llama", pre="default", merges=None, scores=[-1000.0] * len(right.tokens))
    monkeypatch.setattr(CompetingTexts, "make_around", lambda *_: pytest.fail("texts were made"))
    (found,) = find_ranking_differences(Encoder(wrong), Encoder(right))
    assert found.severity is INFO


@pytest.mark.parametrize(
    ("pieces", "severity", "proof"),
    [(("er", "re"), ERROR, '"rer" is encoded as [337, 29878], not [364, 261]'), (("▁t", "▁c"), INFO, "")],
)
def test_swapped_scores_of_a_real_vocabulary(pieces, severity, proof, vocabs: Path):
    right = load_gguf(vocabs / "llama-spm.gguf")
    expected = load_reference(vocabs / "llama-spm.tokenizer.json")
    wrong = Encoder(swap_scores(right.spec, *pieces))
    (difference,) = find_ranking_differences(wrong, expected)
    assert difference.severity is severity
    assert proof in difference.message
    assert list(find_ranking_differences(right, expected)) == []


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0.0, -1.0, -1.0, -2.0], True),
        ([0.0, -2.0, -1.0], False),
        ([0.0, *[-9.0] * 8, -1.0, -2.0, *[5.0] * 9, -3.0], True),
        ([0.0, *[-9.0] * 7, -1.0], False),
        ([-1.0, *[0.0, -0.0] * 4, -2.0], True),
        ([-1.0, *[0.0] * 8, -2.0, -1.5], False),
        ([-1000.0] * 9, False),
    ],
)
@pytest.mark.parametrize("kind", [list, partial(array, "f")])
@pytest.mark.parametrize("requested", [AUTO, PYTHON])
def test_scores_that_descend_apart_from_shared_ones(monkeypatch, scores, expected, kind, requested):
    monkeypatch.setenv(VARIABLE, requested)
    size = len(scores)
    tokens = [*map(str, range(size)), "<s>"]
    spec = TokenizerSpec(model="llama", tokens=tokens, scores=kind([*scores, 7.0]), types=[1] * size + [3])
    assert ranks_alike(Encoder(spec), Documented(Encoder(SPM), {})) is expected


def test_a_merge_that_makes_no_token_is_an_error_only_if_a_text_shows_it():
    """Both the comparison and the static rule ask the same texts, also for bytes that are no whole character."""
    right = bpe_spec(["a b", "å Ģ"], pre="gpt-2")
    never, cut = ([*(right.merges or ()), merge] for merge in ("ab .", "ab åĢ"))
    for merges, severity, proof in ((never, INFO, "no tested text"), (cut, ERROR, '"ab倀" is encoded as [97, 98, ')):
        wrong = replace(right, merges=merges)
        [(found, message)] = differences(wrong, right)
        assert (found, proof in message) == (severity, True), message
        [finding] = RULES["TV107"].findings(Subject(Declaration(spec=wrong)))
        assert (finding.severity is ERROR, proof in finding.message) == (severity is ERROR, True), finding.message
