"""A tokenizer.json in which tokens have other ids than in a file beside it is no standard for such a model."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from support.rule_maker import bpe_json, findings, good_bpe
from support.sentencepiece_maker import train_model
from tokverify.case import Case
from tokverify.commands.tasks.fix import fix_model
from tokverify.commands.tasks.run import verify_model
from tokverify.compare.blame import find_wrong_vocabulary
from tokverify.compare.convert.json_writer import write_json
from tokverify.compare.opened import OpenedReference
from tokverify.compare.subject import Subject
from tokverify.errors import TokverifyError
from tokverify.references import open_reference as find_reference
from tokverify.report.run import failing_differences
from tokverify.report.tokenizer_difference import Origin
from tokverify.sources.gguf.declaration import Declaration, read_declaration
from tokverify.sources.gguf.writer import write_gguf
from tokverify.sources.sentencepiece.reader import read_spec
from tokverify.spec import TokenizerSpec

CASES = [Case(id="1", suite="made", text="ab<|im_end|>", parse_special=True)]
ADDED = ("<|im_start|>", "<|im_end|>", "<think>")


def write_bpe(folder: Path) -> tuple[Path, Path]:
    """Write a file, and a tokenizer.json that lost an added token, so that the library numbers the others anew."""
    model, document = folder / "model.gguf", bpe_json(good_bpe())
    document["added_tokens"] = [token for token in document["added_tokens"] if token["content"] != "<|im_start|>"]
    write_gguf(model, good_bpe())
    (folder / "ref").mkdir()
    (folder / "ref" / "tokenizer.json").write_text(json.dumps(document))
    added = {str(id): {"content": text} for id, text in enumerate(ADDED, 260)}
    config = {"added_tokens_decoder": added, "eos_token": "<|im_end|>"}
    (folder / "ref" / "tokenizer_config.json").write_text(json.dumps(config))
    return model, folder / "ref"


def write_spm(folder: Path) -> tuple[Path, Path]:
    """Write a sentencepiece model, a file that was made from it, and a tokenizer.json with other first tokens."""
    (folder / "ref").mkdir()
    source = folder / "ref" / "tokenizer.model"
    source.write_bytes(train_model(model_type="bpe", byte_fallback=True, vocab_size=320))
    spec = read_spec(source)
    model = folder / "model.gguf"
    write_gguf(model, spec)
    write_json(folder / "ref" / "tokenizer.json", exchanged(spec))
    return model, folder / "ref"


def exchanged(spec: TokenizerSpec) -> TokenizerSpec:
    """Return a tokenizer in which BOS and EOS have each other's ids."""
    bos, eos = spec.special_ids["bos"], spec.special_ids["eos"]
    tokens = list(spec.tokens)
    tokens[bos], tokens[eos] = tokens[eos], tokens[bos]
    return replace(spec, tokens=tokens, special_ids={**spec.special_ids, "bos": eos, "eos": bos})


@pytest.mark.parametrize(("write", "place"), [(write_bpe, "tokenizer_config.json"), (write_spm, "tokenizer.model")])
def test_the_reference_is_at_fault_and_nothing_is_repaired(tmp_path: Path, write, place: str):
    model, reference = write(tmp_path)
    report = verify_model(model, reference, CASES, diagnose=True)
    failing = failing_differences(report)
    assert failing
    assert {each.origin for each in failing} == {Origin.REFERENCE}
    assert place in report.undiagnosed
    assert report.diagnosis is None
    with pytest.raises(TokverifyError, match=f"the reference is at fault, .* of {place} have another token"):
        fix_model(model, tmp_path / "fixed.gguf", reference, CASES)


def test_a_reference_that_has_lost_all_added_tokens_is_at_fault(tmp_path: Path):
    model, reference = write_bpe(tmp_path)
    document = bpe_json(good_bpe()) | {"added_tokens": []}
    for text in ADDED:
        document["model"]["vocab"].pop(text, None)
    (reference / "tokenizer.json").write_text(json.dumps(document))
    cases = [Case(id="1", suite="made", text="ab<think>", parse_special=False)]
    report = verify_model(model, reference, cases, diagnose=True)
    assert [result.fails for result in report.results] == [True]
    message = "3 added tokens of tokenizer_config.json, with BOS or EOS, are not in tokenizer.json"
    assert message in report.undiagnosed
    assert report.diagnosis is None
    with pytest.raises(TokverifyError, match=message):
        fix_model(model, tmp_path / "fixed.gguf", reference, cases)


def test_a_tokenizer_json_that_contradicts_the_vocab_json_beside_it_is_at_fault(tmp_path: Path):
    model, reference = write_bpe(tmp_path)
    right = good_bpe()
    tokens = list(right.tokens)
    tokens[256], tokens[257] = tokens[257], tokens[256]
    (reference / "tokenizer.json").write_text(json.dumps(bpe_json(replace(right, tokens=tokens))))
    (reference / "tokenizer_config.json").write_text("{}")
    (reference / "vocab.json").write_text(json.dumps({text: id for id, text in enumerate(right.tokens[:260])}))
    with pytest.raises(TokverifyError, match=r"2 ids of vocab\.json have another token in tokenizer\.json"):
        fix_model(model, tmp_path / "fixed.gguf", reference, CASES)
    (reference / "vocab.json").write_text(json.dumps({text: id for id, text in enumerate(tokens[:260])}))
    assert find_wrong_vocabulary(right.tokens, find_reference(reference).tokenizer) is None


def test_a_tokenizer_json_that_gives_an_id_to_two_tokens_is_at_fault(tmp_path: Path):
    model, reference = write_bpe(tmp_path)
    document = bpe_json(good_bpe())
    vocab, (right, other) = document["model"]["vocab"], good_bpe().tokens[257:259]
    vocab[other] = vocab[right]
    (reference / "tokenizer.json").write_text(json.dumps(document))
    (reference / "tokenizer_config.json").write_text("{}")
    with pytest.raises(TokverifyError, match=r"tokenizer\.json gives 1 id to several tokens: 257 to "):
        fix_model(model, tmp_path / "fixed.gguf", reference, CASES)


def test_a_reference_that_lacks_other_added_tokens_is_not_at_fault(tmp_path: Path):
    _, reference = write_bpe(tmp_path)
    (reference / "tokenizer.json").write_text(json.dumps(bpe_json(good_bpe())))
    size = len(good_bpe().tokens)
    config = {
        "added_tokens_decoder": {str(size): {"content": "[PAD]"}},
        "pad_token": "[PAD]",
        "eos_token": "<|im_end|>",
    }
    (reference / "tokenizer_config.json").write_text(json.dumps(config))
    tokens = [*good_bpe().tokens, "[PAD]"]
    assert find_wrong_vocabulary(tokens, find_reference(reference / "tokenizer.json").tokenizer) is None


def test_a_file_beside_it_that_cannot_be_read_hides_no_contradiction(tmp_path: Path):
    model, reference = write_bpe(tmp_path)
    (reference / "tokenizer.model").write_bytes(b"IQ== 0\n")
    found = find_reference(reference)
    assert find_wrong_vocabulary(good_bpe().tokens, found.tokenizer) is not None
    with pytest.raises(TokverifyError, match="contradict each other"):
        fix_model(model, None, reference, CASES)


def test_the_places_are_quoted(tmp_path: Path):
    _, reference = write_bpe(tmp_path)
    found = find_wrong_vocabulary(good_bpe().tokens, find_reference(reference / "tokenizer.json").tokenizer)
    assert found is not None
    assert found.ids == (260, 261, 262)
    assert found.sentence == (
        "3 ids of tokenizer_config.json have another token in tokenizer.json, the first of them 260:"
        ' "<|im_start|>" there, "<|im_end|>" here'
    )
    subject = Subject(Declaration(spec=good_bpe()), OpenedReference(find_reference(reference / "tokenizer.json")))
    assert found.sentence in [each.message for each in findings("TV208", subject)]


@pytest.mark.parametrize(("write", "place"), [(write_bpe, "tokenizer_config.json"), (write_spm, "tokenizer.model")])
def test_a_rule_quotes_the_places(tmp_path: Path, write, place: str):
    model, reference = write(tmp_path)
    subject = Subject(read_declaration(model), OpenedReference(find_reference(reference / "tokenizer.json")))
    (message,) = [each.message for each in findings("TV208", subject) if place in each.message]
    assert f"of {place} have another token in tokenizer.json" in message


def test_a_model_that_agrees_with_the_tokenizer_json_is_right(tmp_path: Path):
    _, reference = write_bpe(tmp_path)
    tokens = [text for text in good_bpe().tokens if text != "<|im_start|>"]
    assert find_wrong_vocabulary(tokens, find_reference(reference / "tokenizer.json").tokenizer) is None


def test_what_was_renamed_on_purpose_does_not_count(tmp_path: Path):
    """Gemma's tokenizer.json has `<start_of_turn>` where its sentencepiece model has `<unused99>`."""
    (tmp_path / "ref").mkdir()
    source = tmp_path / "ref" / "tokenizer.model"
    texts = ["<unused1>", "<old>"]
    source.write_bytes(train_model(model_type="bpe", byte_fallback=True, vocab_size=320, user_defined_symbols=texts))
    spec = read_spec(source)
    renamed = [{"<unused1>": "<start_of_turn>", "<old>": "<new>"}.get(token, token) for token in spec.tokens]
    write_json(tmp_path / "ref" / "tokenizer.json", replace(spec, tokens=renamed))
    config = {"added_tokens_decoder": {str(renamed.index("<new>")): {"content": "<new>"}}}
    (tmp_path / "ref" / "tokenizer_config.json").write_text(json.dumps(config))
    found = find_reference(tmp_path / "ref" / "tokenizer.json")
    assert find_wrong_vocabulary(spec.tokens, found.tokenizer) is None
    assert findings("TV208", Subject(Declaration(spec=spec), OpenedReference(found))) == []


@pytest.mark.parametrize("keeps_model", [True, False])
def test_tokens_that_a_reference_omits_of_the_model_beside_it_are_right(tmp_path: Path, keeps_model: bool):
    reference = tmp_path / "ref"
    reference.mkdir()
    source, names = reference / "tokenizer.model", [f"<|role{number}|>" for number in range(8)]
    options = {"control_symbols": names, "byte_fallback": True, "vocab_size": 330}
    source.write_bytes(train_model(model_type="bpe", **options))
    spec = read_spec(source)
    write_gguf(tmp_path / "model.gguf", spec)
    write_json(reference / "tokenizer.json", spec)
    document = json.loads((reference / "tokenizer.json").read_text())
    for name in names:
        document["model"]["vocab"].pop(name, None)
    document["added_tokens"] = [token for token in document["added_tokens"] if token["content"] not in names]
    (reference / "tokenizer.json").write_text(json.dumps(document))
    if not keeps_model:
        source.unlink()
    report = verify_model(tmp_path / "model.gguf", reference / "tokenizer.json", CASES, diagnose=True)
    assert report.ok is keeps_model
    assert ("belongs to another model" in report.undiagnosed) is not keeps_model
