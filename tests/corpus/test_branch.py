import random
from dataclasses import replace

import pytest

from support import made_vocabulary
from tokverify.corpus.coverage import UNMATCHED, BranchRecorder, find_branches, is_sampled, pre_tokenizer_of
from tokverify.corpus.document import Document
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import NATIVE, VARIABLE, available_engine
from tokverify.engine.pre_search import PROBES
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, PreTokenizer

WORDS = """
a b Z word Caps UPPER camelCase é Ω ДA 漢 字 か カ 한 ㄅ ก \u0301 5 12 123456 ٣ ½ . , ! ' '' 's 'LL 'ſ ’ — $ + @ / //
` | © 😀 \u200d \u200b \x00 \x7f \ue000 <sentinel:12> IMGIMGABZ ▁ ꟲ \U0001f1e6
"""
SPACES = [" ", "  ", "    ", " " * 9, " " * 600, "\n", "\n\n", "\r\n", "\t", "\v", "\u00a0", "\u2003", "\u3000", "\x85"]
PARTS = [*WORDS.split(), *SPACES]
DISTINCT = {pre_tokenizer.patterns: name for name, pre_tokenizer in PRE_TOKENIZERS.items()}
needs_native = pytest.mark.skipif(available_engine().name != NATIVE, reason="the native engine is not installed")


def make_texts(seed: str) -> list[str]:
    chosen = random.Random(seed)  # noqa: S311 - not for cryptography
    return ["".join(chosen.choices(PARTS, k=chosen.randrange(1, 12))) for _ in range(150)]


def make_encoder(pre: str) -> Encoder:
    return Encoder(replace(made_vocabulary.bpe(), pre=pre))


def make_recorder(pre: str) -> BranchRecorder:
    return BranchRecorder(make_encoder(pre), "row")


def names(recorder: BranchRecorder, *texts: str) -> list[str]:
    return [branch.name for branch in recorder.add([Document(row, text) for row, text in enumerate(texts)])]


def test_branches_are_the_alternatives_that_match():
    branches = find_branches(PRE_TOKENIZERS["gpt-2"], "it's 12")
    assert branches == {"'(?:[stmd]|re|ve|ll)", r" ?\p{L}+", r" ?\p{N}+"}


def test_the_alternatives_of_every_pattern_are_branches():
    assert find_branches(PRE_TOKENIZERS["starcoder"], "a1") == {r"\p{N}", r" ?\p{L}+", r" ?\p{N}+"}
    assert find_branches(PRE_TOKENIZERS["mmbert"], "two words\n") == {r"[^\n]+", r"\n+", "split spaced words"}


def test_text_that_no_pattern_matches_is_a_branch():
    assert find_branches(PRE_TOKENIZERS["bloom"], "a,") == {r" ?[^(\s|.,!?…。，、।۔،)]+", UNMATCHED}
    assert find_branches(PreTokenizer((r"\p{N}",)), "a") == {UNMATCHED}


def test_only_tokenizers_with_a_pre_tokenizer_have_branches():
    assert pre_tokenizer_of(Encoder(made_vocabulary.bpe())) == PRE_TOKENIZERS["qwen2"]
    spm = Encoder(made_vocabulary.spm())
    assert pre_tokenizer_of(spm) is None
    recorder = BranchRecorder(spm, "row")
    assert names(recorder, "it's") == []
    assert recorder.examined == 0


@needs_native
@pytest.mark.parametrize("name", DISTINCT.values())
def test_the_native_engine_finds_the_branches_of_every_text(name: str):
    encoder = make_encoder(name)
    for text in (*PROBES, *make_texts(name)):
        recorder = BranchRecorder(encoder, "row")
        assert not recorder.examines_sample
        assert set(names(recorder, text)) == find_branches(PRE_TOKENIZERS[name], text), text


@pytest.fixture(params=["auto", "python"])
def recorder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> BranchRecorder:
    monkeypatch.setenv(VARIABLE, request.param)
    return make_recorder("gpt-2")


def test_each_branch_is_found_once_with_the_text_around_it(recorder: BranchRecorder):
    found = recorder.add([Document(0, "é" * 90 + "'s"), Document(1, None), Document(2, "it's 1" + "2" * 300)])
    assert {(branch.document, branch.name): branch.excerpt for branch in found} == {
        (0, r" ?\p{L}+"): "é" * 90 + "'s",
        (0, "'(?:[stmd]|re|ve|ll)"): "é" * 32 + "'s",
        (2, r" ?\p{N}+"): "it's 1" + "2" * 300,
    }
    assert names(recorder, "it's 12") == []
    assert recorder.found == {branch.name for branch in found}
    assert recorder.examined == 3


def test_all_branches_can_be_found(recorder: BranchRecorder):
    texts = ("it's 1 .", "a  b", "1\t2")
    assert len(names(recorder, *texts)) == 6
    assert names(recorder, *texts) == []


@needs_native
def test_the_native_engine_examines_all_documents_to_their_end():
    recorder = make_recorder("gpt-2")
    documents = (Document(600, f"{row} {'a' * 2000}'s") for row in range(100))
    document = next(document for document in documents if not is_sampled(document, 64))
    assert "'(?:[stmd]|re|ve|ll)" in {branch.name for branch in recorder.add([document])}
    assert recorder.examined == 1


def test_the_python_engine_examines_a_sample(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(VARIABLE, "python")
    recorder = make_recorder("gpt-2")
    text = next(text for text in map(str, range(100)) if not is_sampled(Document(600, text), 64))
    assert recorder.add([Document(600, text)]) == []
    assert recorder.examined == 0
    assert names(recorder, text) == [r" ?\p{N}+"]


def test_which_documents_are_sampled_depends_on_the_document_alone():
    beginning = [is_sampled(Document(row, "x"), 512) for row in (0, 511, 512)]
    assert beginning == [True, True, False]
    sampled = [row for row in range(10_000, 30_000) if is_sampled(Document(row, f"text {row}"), 512)]
    assert 8 < len(sampled) < 40
