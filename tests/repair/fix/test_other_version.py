"""A reference that a tokenizer beside it contradicts, with which the file agrees."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from support.rule_maker import CHATML, MERGES, bpe_json, gemma_json, good_bpe
from support.spec_maker import CONTROL, bpe_spec, spm_spec
from tokverify.case import Case
from tokverify.commands.tasks.fix import fix_model
from tokverify.commands.tasks.run import verify_model
from tokverify.compare.opened import Opened, OpenedReference
from tokverify.engine.encoder import Encoder
from tokverify.references import open_reference
from tokverify.repair.evidence import Evidence
from tokverify.repair.fix.other_reference import find_other_version
from tokverify.repair.setting_change import declared_special_ids
from tokverify.report.finding import ERROR, WARNING
from tokverify.report.tokenizer_difference import Aspect, Origin
from tokverify.sources.gguf.writer import write_gguf
from tokverify.spec import TokenizerSpec

BPE = replace(good_bpe(), add_bos=False)
CHAT = {"<|im_end|>": CONTROL, "<|endoftext|>": CONTROL, "<|im_start|>": CONTROL}
CASES = [Case(id="merged", suite="made", text="abab ab", add_special=False)]


def written(path: Path, spec: TokenizerSpec, **options: object) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(bpe_json(spec, **options)))
    return path


def test_a_reference_that_a_file_beside_it_contradicts_is_at_fault(tmp_path: Path):
    reference = OpenedReference(open_reference(written(tmp_path / "ref" / "tokenizer.json", BPE, merges=MERGES[1:])))
    other = open_reference(written(tmp_path / "ref" / "other.json", BPE))
    model = tmp_path / "model.gguf"
    found = find_other_version(model, Encoder(BPE), reference, [other], CASES)
    assert found.startswith("the files of the reference contradict each other: the file agrees with")
    assert "disagrees about 1 of 1 case" in found
    # The file may be what is wrong, as the other one is that of its base model.
    base = replace(BPE, tokens=BPE.tokens[:-1], types=BPE.types[:-1])
    lacking = open_reference(written(tmp_path / "ref" / "base.json", base))
    assert find_other_version(model, Encoder(base), reference, [lacking], CASES) == ""
    # Nothing is known of a file elsewhere.
    elsewhere = open_reference(written(tmp_path / "elsewhere" / "tokenizer.json", BPE))
    assert find_other_version(model, Encoder(BPE), reference, [elsewhere], CASES) == ""


def test_a_reference_with_which_a_file_agrees_but_for_limits_is_not_contradicted(tmp_path: Path):
    """So an EOS is repaired although the library for a .model beside a tokenizer.json encodes some texts otherwise."""
    path = written(tmp_path / "ref" / "tokenizer.json", BPE)
    path.write_text(json.dumps({**json.loads(path.read_text()), "normalizer": {"type": "NFC"}}))
    reference, other = OpenedReference(open_reference(path)), open_reference(written(path.with_name("o.json"), BPE))
    cases = [Case(id="nfd", suite="made", text="e\u0301", add_special=False)]
    assert find_other_version(tmp_path / "model.gguf", Encoder(BPE), reference, [other], cases) == ""


@pytest.mark.parametrize("strips", [True, False])
def test_a_reference_that_adds_no_space_is_doubted_if_its_decoder_removes_one(strips: bool, tmp_path: Path):
    """As a Llama 2 that has lost `Prepend`, with its tokenizer.model beside it."""
    spec = spm_spec({"▁": -1.0, "a": -2.0, "b": -2.0, "▁a": -1.5})
    parts: list[dict] = [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "Fuse"}]
    parts += [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if strips else []
    writes = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    prepends = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, writes]}
    paths = tmp_path / "tokenizer.json", tmp_path / "other.json"
    for path, normalizer in zip(paths, (writes, prepends), strict=True):
        document = gemma_json(spec.tokens, ["▁ a"], []) | {"normalizer": normalizer}
        path.write_text(json.dumps(document | {"decoder": {"type": "Sequence", "decoders": parts}}))
    reference, other = OpenedReference(open_reference(paths[0])), open_reference(paths[1])
    found = find_other_version(tmp_path / "ref" / "model.gguf", Encoder(spec), reference, [other], CASES)
    assert found.startswith("the files of the reference contradict each other:") is strips


@pytest.mark.parametrize(("template", "is_changed"), [(CHATML, False), ("{{ content }}{{ eos_token }}", True)])
def test_an_eos_is_kept_if_generations_end_at_that_of_the_reference_anyway(template: str, is_changed: bool):
    """As in chat models with the EOS of the base model; a template that writes EOS needs the right one."""
    ends = {"<|im_end|>": CONTROL, "<|endoftext|>": CONTROL}
    spec, reference = (bpe_spec([], ends, special_ids={"eos": id}, chat_template=template) for id in (256, 257))
    assert moves_eos(spec, reference) is is_changed


def test_an_eos_that_ends_no_turn_is_moved_if_a_gguf_file_says_so(tmp_path: Path):
    ends = {"<|im_end|>": CONTROL, "<|endoftext|>": CONTROL}
    spec, reference = (bpe_spec([], ends, special_ids={"eos": id}, chat_template=CHATML) for id in (257, 256))
    assert moves_eos(spec, reference)
    (tmp_path / "ref").mkdir()
    (tmp_path / "ref" / "tokenizer_config.json").write_text('{"eos_token": "<|im_end|>"}')
    # llama.cpp's converter gives Gemma 4 another EOS than its tokenizer_config.json.
    document = OpenedReference(open_reference(written(tmp_path / "ref" / "tokenizer.json", reference, merges=())))
    changes = declared_special_ids(Evidence(spec, Encoder(spec), document, ()))
    assert document.special_ids == {"eos": 256}
    assert not list(changes)


@pytest.mark.parametrize(
    ("named", "template", "is_error"),
    [([257], CHATML, True), ([257, 258], CHATML, False), (None, CHATML, False), ([257], "{{ content }}", False)],
)
def test_the_eos_of_the_base_model_is_repaired_if_the_reference_ends_nothing_there(named, template, is_error, tmp_path):
    """As after fine-tuning with ChatML: llama.cpp ends a generation at both, but other programs only at EOS."""
    spec = bpe_spec(["a b"], CHAT, special_ids={"eos": 258}, chat_template=template)
    reference = written(tmp_path / "tokenizer.json", spec, merges=["a b"])
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "<|im_end|>"}')
    if named:
        (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": named}))
    write_gguf(tmp_path / "model.gguf", spec)
    report = verify_model(tmp_path / "model.gguf", reference, CASES)
    (eos,) = (each for each in report.differences if each.aspect is Aspect.SPECIAL_IDS and "eos" in each.message)
    assert eos.severity is (ERROR if is_error else WARNING)
    assert ('the chat template ends turns with "<|im_end|>", and nothing' in eos.message) is is_error
    repair = fix_model(tmp_path / "model.gguf", None, reference, CASES).repair
    assert ("tokenizer.ggml.eos_token_id" in repair.keys if repair else False) is is_error


@pytest.mark.parametrize(
    ("eos", "named", "template", "is_kept"),
    [
        ("<|endoftext|>", [258], CHATML + "!", True),
        # It ends turns as the model does, or answers with its own EOS, or does not say where it ends.
        ("<|endoftext|>", [257, 258], CHATML + "!", False),
        ("<|endoftext|>", None, CHATML + "!", False),
        ("<|im_end|>", None, CHATML + "!", False),
    ],
)
def test_the_template_of_the_base_model_is_not_written(eos, named, template, is_kept, tmp_path):
    spec = bpe_spec(["a b"], CHAT, special_ids={"eos": 257}, chat_template=CHATML)
    reference = written(tmp_path / "tokenizer.json", spec, merges=["a b"])
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": eos, "chat_template": template}))
    if named:
        (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": named}))
    write_gguf(tmp_path / "model.gguf", spec)
    report = verify_model(tmp_path / "model.gguf", reference, CASES)
    (found,) = (each for each in report.differences if each.aspect is Aspect.TEMPLATE)
    assert ("the reference's EOS ends the turns of neither" in found.message) is is_kept
    repair = fix_model(tmp_path / "model.gguf", None, reference, CASES).repair
    assert ("tokenizer.chat_template" in repair.keys if repair else False) is not is_kept


@pytest.mark.parametrize(
    ("ours", "theirs", "is_foreign"),
    [
        (CHATML, "<|user|>{{ content }}<|answer|>", True),
        # Its markers are tokens, or it has none; a file without a template, or one with plain texts, says nothing.
        (CHATML, "<|im_start|>{{ content }}<|im_end|>", False),
        (CHATML, "USER: {{ content }}", False),
        (None, "<|user|>{{ content }}<|answer|>", False),
        ("<|human|>{{ content }}", "<|user|>{{ content }}<|answer|>", False),
    ],
)
def test_the_template_of_another_vocabulary_is_blamed_and_not_written(ours, theirs, is_foreign, tmp_path):
    """As of a tokenizer_config.json that was copied from another model beside the right tokenizer.json."""
    spec = bpe_spec(["a b"], CHAT, special_ids={"eos": 257}, chat_template=ours)
    reference = written(tmp_path / "tokenizer.json", spec, merges=["a b"])
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|im_end|>", "chat_template": theirs}))
    write_gguf(tmp_path / "model.gguf", spec)
    report = verify_model(tmp_path / "model.gguf", reference, CASES)
    (found,) = (each for each in report.differences if each.aspect is Aspect.TEMPLATE)
    blame = 'at fault: none of the markers of its template, such as "<|user|>", "<|answer|>", is a token of it'
    assert (blame in found.message, found.origin is Origin.REFERENCE) == (is_foreign, is_foreign)
    repair = fix_model(tmp_path / "model.gguf", None, reference, CASES).repair
    assert ("tokenizer.chat_template" in repair.keys if repair else False) is not is_foreign


@pytest.mark.parametrize("role", ["bos", "eot"])
def test_an_eos_that_is_exchanged_with_another_role_is_moved_with_it(role: str):
    ends = {"<|im_end|>": CONTROL, "<|endoftext|>": CONTROL}
    ids = {"eos": 256, role: 257}, {"eos": 257, role: 256}
    spec, reference = (bpe_spec([], ends, special_ids=roles, chat_template=CHATML) for roles in ids)
    assert moves_eos(spec, reference)


def moves_eos(spec: TokenizerSpec, reference: TokenizerSpec) -> bool:
    changes = declared_special_ids(Evidence(spec, Encoder(spec), Opened(Encoder(reference)), ()))
    return any(change.kind == "eos_id" for change in changes)
