"""Learn a tokenizer from a reference and write it."""

from pathlib import Path

import pytest

import tokverify
from support.stand_in import StandIn
from tokverify.commands.tasks.learn import learn_tokenizer
from tokverify.errors import TokverifyError
from tokverify.report.learn import Origin
from tokverify.sources.gguf.declaration import read_spec
from tokverify.tokenizer import Tokenizer

SAMPLE = Path(tokverify.__file__).parent / "sample"


def same_ids(left: Tokenizer, right: Tokenizer, *texts: str) -> bool:
    modes = {"add_special": True, "parse_special": True}
    return all(left.encode(text, **modes) == right.encode(text, **modes) for text in texts)


def test_a_reference_that_declares_its_tokenizer_is_read(tmp_path):
    learning = learn_tokenizer(SAMPLE / "sample.tokenizer.model", tmp_path / "x.gguf", count=50)
    assert learning.encodings == 0
    assert {fact.origin for fact in learning.facts} == {Origin.DECLARED}
    assert read_spec(tmp_path / "x.gguf").model == "llama"


@pytest.mark.process
def test_a_server_reveals_its_tokenizer_with_few_requests(tmp_path):
    encoder = tokverify.load_gguf(SAMPLE / "sample.gguf")
    with StandIn(encoder) as server:
        learning = learn_tokenizer(server.address, tmp_path / "x.gguf", count=100)
    assert learning.differing == 0
    assert learning.encodings < 1_500
    learned = tokverify.load_gguf(tmp_path / "x.gguf")
    assert learned.added_tokens() == encoder.added_tokens()
    assert same_ids(learned, encoder, "Hello  world \N{LLAMA}", "<start_of_turn>\n\n\n\t\t\t", "")
    origins = {fact.name: fact.origin for fact in learning.facts}
    assert (origins["bos"], origins["scores"]) == (Origin.IDS, Origin.CONVENTION)


@pytest.mark.process
def test_ids_only_ignores_what_the_reference_declares(tmp_path):
    reference = SAMPLE / "sample.tokenizer.model"
    learning = learn_tokenizer(reference, tmp_path / "x.gguf", ids_only=True, count=20)
    assert learning.encodings > 0
    assert Origin.DECLARED not in {fact.origin for fact in learning.facts}
    assert any("control tokens" in line for line in learning.hidden)


def test_an_existing_file_is_kept(tmp_path):
    target = tmp_path / "x.gguf"
    target.write_text("old")
    with pytest.raises(TokverifyError, match=r"already exists; name another file or overwrite it with --force"):
        learn_tokenizer(SAMPLE / "sample.tokenizer.model", target)
    learn_tokenizer(SAMPLE / "sample.tokenizer.model", target, force=True, count=0)
    assert target.read_bytes().startswith(b"GGUF")
    assert list(tmp_path.iterdir()) == [target]


def test_a_missing_vocabulary_leaves_no_file(tmp_path):
    with pytest.raises(TokverifyError, match=r"absent\.gguf"):
        learn_tokenizer(SAMPLE / "sample.tokenizer.model", tmp_path / "x.gguf", vocabulary=tmp_path / "absent.gguf")
    assert not list(tmp_path.iterdir())
