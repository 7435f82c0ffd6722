"""A correct Gemma 3 agrees with its own sentencepiece model, also where llama.cpp overrides types.

The model is not in the shared folder, so it is built from the pieces of the GGUF file. Google's own file types more
pieces USER_DEFINED: the unused ones and the markers of a chat. Its four other special pieces are the only ones that are
CONTROL or UNKNOWN.
"""

from collections import Counter
from pathlib import Path

import pytest

from support.sentencepiece_maker import BPE, CONTROL, UNKNOWN, USER_DEFINED, make_model
from tokverify.cases.loading import load_cases
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.opened import Opened
from tokverify.engine.encoder import Encoder
from tokverify.engine.normalizer import escape_spaces
from tokverify.references import open_reference
from tokverify.repair.search import diagnose
from tokverify.report.run import Status
from tokverify.sources.sentencepiece.message import parse
from tokverify.sources.sentencepiece.reader import read_spec
from tokverify.spec import TokenizerSpec

SPECIAL = {"<pad>": CONTROL, "<eos>": CONTROL, "<bos>": CONTROL, "<unk>": UNKNOWN}


def gemma_model(spec: TokenizerSpec) -> bytes:
    """Return the content of the .model file."""
    types = [type_of(text, type) for text, type in zip(spec.tokens, spec.types, strict=True)]
    texts = [
        escape_spaces(text) if type == USER_DEFINED else text for text, type in zip(spec.tokens, types, strict=True)
    ]
    trainer = {3: BPE, 4: len(texts), 35: 1, 40: 3, 41: 2, 42: 1, 43: 0}
    trainer |= {45: b"<unk>", 46: b"<bos>", 47: b"<eos>", 48: b"<pad>"}
    return make_model(zip(texts, spec.scores, types, strict=True), trainer, {3: 0, 4: 0, 5: 1})


def type_of(text: str, type: int) -> int:
    if text in SPECIAL:
        return SPECIAL[text]
    return USER_DEFINED if type in {CONTROL, USER_DEFINED} or text.startswith("<unused") else type


@pytest.fixture(scope="module")
def model_path(spec_of, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("gemma") / "gemma.model"
    path.write_bytes(gemma_model(spec_of("gemma-3")))
    return path


@pytest.fixture(scope="module")
def expected(model_path):
    return open_reference(model_path).tokenizer


def failing(report) -> set[str]:
    return {result.case.name for result in report.results if result.status is not Status.MATCH}


def test_the_model_has_the_types_of_the_published_one(model_path):
    types = Counter(piece.type for piece in parse(model_path.read_bytes()).pieces)
    assert sorted(types.values(), reverse=True) == [255_474, 6_410, 256, 3, 1]


@pytest.mark.process
@pytest.mark.slow
def test_the_model_agrees_with_itself_although_types_are_overridden(model_path, expected):
    report = verify_tokenizers(Encoder(read_spec(model_path), "gemma"), expected, load_cases())
    assert failing(report) == set()
    overridden = {override.split("'")[1] for override in report.actual.overrides if override.startswith("type of")}
    assert overridden == {"<end_of_turn>", "</s>"}


@pytest.mark.process
@pytest.mark.slow
def test_markers_of_the_gguf_file_stay_control_tokens_in_a_repair(model_path, expected, spec_of, encoder_of):
    encoder, spec = encoder_of("gemma-3"), spec_of("gemma-3")
    report = verify_tokenizers(encoder, expected, load_cases())
    unused = {"markers/unused", "markers/unused-as-text", "emoji/toy-gujarati"}
    assert failing(report) == unused
    found = diagnose(spec, Opened(expected, model_path), report.results, encoder=encoder)
    assert found.diagnosis.explanations[0].unexplained == ()
    for change in found.changes:
        changed = change.transform(spec)
        markers = [id for id, type in enumerate(changed.types) if type != spec.types[id]]
        assert all(spec.tokens[id].startswith("<unused") for id in markers)
