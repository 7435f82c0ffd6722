"""Which differences are the fault of a reference whose own files contradict each other."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from support.rule_maker import CHATML, bert_json, bpe_json, good_bert, good_bpe
from support.sentencepiece_maker import WORDS, train_model
from support.spec_maker import CONTROL, bpe_spec
from tokverify.case import Case
from tokverify.commands.tasks.audit import audit_model
from tokverify.commands.tasks.fix import fix_model
from tokverify.commands.tasks.run import verify_model
from tokverify.compare.blame import drop_blamed, explain_blame
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.contradiction import adds_space, find_contradictions
from tokverify.compare.opened import Opened, OpenedReference
from tokverify.engine.encoder import Encoder
from tokverify.errors import TokverifyError
from tokverify.references import open_reference
from tokverify.repair.declared_change import declared_changes
from tokverify.repair.evidence import Evidence, Target
from tokverify.repair.search import diagnose
from tokverify.repair.setting_change import flags
from tokverify.report.finding import ERROR, WARNING
from tokverify.report.run import Report
from tokverify.report.tokenizer_difference import Aspect, Origin, TokenizerDifference, Verdict
from tokverify.sources.gguf.declaration import read_declaration
from tokverify.sources.gguf.writer import write_gguf
from tokverify.sources.sentencepiece.reader import read_spec
from tokverify.spec import TokenizerSpec, TokenType

BOS = 260
BPE = replace(good_bpe(), special_ids={"bos": BOS, "eos": 261}, add_bos=True)
OWN_EOS = {"eos_token": "<|im_end|>"}
TURN_END = {"eos_token": "<|turn_end|>"}
OTHER_EOS = {"eos_token": "<think>"}
OTHERS = {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}
FOREIGN_EOS = {"eos_token": "</s>"}
TEMPLATE = "{% set content = bos_token + text %}{{ content }}"
CASES = [
    Case(id="plain", suite="made", text="ab ab", add_special=False),
    Case(id="around", suite="made", text="ab ab", add_special=True),
]


def reference(directory: Path, document: dict | None = None, **config: object) -> Opened:
    """Open a tokenizer.json whose post-processor adds nothing, with a tokenizer_config.json beside it."""
    (directory / "tokenizer.json").write_text(json.dumps(document or bpe_json(BPE)))
    (directory / "tokenizer_config.json").write_text(json.dumps(config))
    found = OpenedReference(open_reference(directory / "tokenizer.json"))
    return Opened(found.tokenizer, found.path)


def verify(spec: TokenizerSpec, facts: Opened) -> Report:
    return verify_tokenizers(Encoder(spec), facts.tokenizer, CASES)


def difference(report: Report, aspect: Aspect) -> TokenizerDifference:
    (found,) = (each for each in report.differences if each.aspect is aspect)
    return found


@pytest.mark.parametrize(
    "config",
    [
        {"bos_token": "<|im_start|>", "chat_template": TEMPLATE},
        {"bos_token": {"content": "<|im_start|>"}, "chat_template": "<|im_start|>x"},
        {"add_bos_token": True},
    ],
)
def test_a_reference_that_contradicts_itself_about_bos_is_at_fault(tmp_path, config):
    facts = reference(tmp_path, **config)
    report = verify(BPE, facts)
    found = difference(report, Aspect.AFFIXES)
    assert (found.severity, found.origin) == (ERROR, Origin.REFERENCE)
    assert "tokenizer_config.json has" in found.message
    assert "but the tokenizer adds none" in found.message
    assert [result.case.id for result in drop_blamed(report)] == ["plain"]
    assert "leave the model as it is" in explain_blame(report.differences)


@pytest.mark.parametrize(
    "config",
    [
        {"bos_token": "<|im_start|>"},
        {"bos_token": "<|im_start|>", "chat_template": "{{ messages }}"},
        {"bos_token": "<|im_start|>", "chat_template": TEMPLATE, "add_bos_token": False},
        {"bos_token": "<|im_start|>", "chat_template": "{# bos_token #}x"},
        {"bos_token": "<|im_start|>", "chat_template": CHATML},
        {"bos_token": "<|im_start|>", "chat_template": f"{{{{ '<|im_start|>system' }}}}{CHATML}"},
    ],
)
def test_a_reference_that_agrees_with_itself_is_not_at_fault(tmp_path, config):
    facts = reference(tmp_path, **config)
    report = verify(BPE, facts)
    assert find_contradictions(facts.tokenizer) == []
    assert difference(report, Aspect.AFFIXES).origin is Origin.UNKNOWN
    assert drop_blamed(report) == report.results


def test_the_model_is_not_turned_to_a_reference_that_is_in_doubt(tmp_path):
    for config, expected in (({"add_bos_token": True}, False), ({"add_bos_token": False}, True)):
        facts = reference(tmp_path, **config)
        evidence = Evidence(BPE, Encoder(BPE), facts, [Target("around", "ab", True, True, (256,))])
        for changes in (declared_changes(BPE, evidence.encoder, facts), flags(evidence)):
            assert ("add_bos" in {change.kind for change in changes}) is expected


def test_two_names_for_the_token_after_a_text_are_no_doubt_that_there_is_one(tmp_path):
    """As in the files of Qwen3-Embedding (ggml-org/llama.cpp#14314)."""
    end = {"SpecialToken": {"id": "<think>", "type_id": 0}}
    template = {
        "type": "TemplateProcessing",
        "single": [{"Sequence": {"id": "A", "type_id": 0}}, end],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<think>": {"id": "<think>", "ids": [BPE.tokens.index("<think>")], "tokens": ["<think>"]}},
    }
    facts = reference(tmp_path, bpe_json(BPE, post_processor=template), **OWN_EOS)
    assert [each.subject for each in facts.contradictions] == ["eos"]
    wrong = replace(BPE, add_bos=False, add_eos=False)
    result = diagnose(wrong, facts, verify(wrong, facts).results, encoder=Encoder(wrong))
    best = result.diagnosis.explanations[0]
    assert best.unexplained == ()
    assert best.sentence.startswith("turning add_eos on, and making token")


def test_roles_that_were_exchanged_beside_a_tokenizer_that_adds_bos_are_the_fault_of_the_reference(tmp_path):
    spec = replace(BPE, add_eos=True)
    around = {"type": "BertProcessing", "sep": [BPE.tokens[261], 261], "cls": [BPE.tokens[BOS], BOS]}
    exchanged = {"bos_token": BPE.tokens[261], "eos_token": BPE.tokens[BOS]}
    facts = reference(tmp_path, bpe_json(spec, post_processor=around), **exchanged)
    found = [each for each in verify(spec, facts).differences if each.aspect is Aspect.SPECIAL_IDS]
    assert [each.origin for each in found] == [Origin.REFERENCE, Origin.REFERENCE]
    path = tmp_path / "model.gguf"
    write_gguf(path, spec)
    with pytest.raises(TokverifyError, match=r'at fault.* has eos_token "<\|im_start\|>", but the tokenizer adds 261'):
        fix_model(path, reference=facts.path)


@pytest.mark.parametrize(
    ("config", "roles"),
    [
        ({"sep_token": "[CLS]", "unk_token": "[PAD]"}, {"sep", "unk"}),
        ({"sep_token": "a", "unk_token": "[UNK]", "pad_token": "[UNK]"}, set()),
        ({"eos_token": "[SEP]", "unk_token": "[SEP]"}, set()),
    ],
    ids=["named-as-others", "neutral-right-and-unchecked", "one-for-all"],
)
def test_a_role_of_a_token_that_is_named_otherwise_is_the_fault_of_the_reference(tmp_path, config, roles):
    reference(tmp_path, bert_json(good_bert(), lowercase=True), **config)
    write_gguf(tmp_path / "model.gguf", good_bert())
    report = verify_model(tmp_path / "model.gguf", tmp_path / "tokenizer.json", cases=CASES)
    blamed = [each for each in report.differences if each.origin is Origin.REFERENCE]
    assert {each.message.partition(" ")[0] for each in blamed} == roles
    assert all(", although the vocabulary has" in each.message for each in blamed)


@pytest.mark.parametrize("kind", ["TemplateProcessing", "RobertaProcessing"])
def test_a_post_processor_with_a_stale_id_is_at_fault(tmp_path, kind):
    """As a trimmed vocabulary leaves it (stephantul/skeletoken#93)."""
    name, stale = BPE.tokens[BOS], BOS - 1
    stage = {
        "TemplateProcessing": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": name, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {name: {"id": name, "ids": [stale], "tokens": [name]}},
        },
        "RobertaProcessing": {
            "type": "RobertaProcessing",
            "sep": [BPE.tokens[261], 261],
            "cls": [name, stale],
            "trim_offsets": False,
            "add_prefix_space": False,
        },
    }[kind]
    processors = {"type": "Sequence", "processors": [stage]}
    facts = reference(tmp_path, bpe_json(BPE, post_processor=processors))
    (contradiction,) = facts.contradictions
    assert f'adds "{name}" with the id {stale}, which is' in contradiction.sentence
    found = [each for each in verify(BPE, facts).differences if BOS in each.ids and each.aspect is Aspect.AFFIXES]
    assert [each.origin for each in found] == [Origin.REFERENCE]


def test_a_post_processor_with_an_id_beyond_the_vocabulary_is_at_fault(tmp_path):
    """As of a tokenizer that was trained anew from another one, whose BOS is named by tokenizer_config.json."""
    name = BPE.tokens[BOS]
    stage = template_processing(name, None, BPE)
    stage["special_tokens"] = {name: {"id": name, "ids": [128_000], "tokens": [name]}}
    facts = reference(tmp_path, bpe_json(BPE, post_processor=stage), bos_token=name)
    assert f'adds "{name}" with the id 128000, which has no token' in facts.contradictions[0].sentence
    found = [each for each in verify(BPE, facts).differences if each.aspect is Aspect.AFFIXES]
    assert [each.origin for each in found] == [Origin.REFERENCE]


@pytest.mark.parametrize(
    "tokens",
    [
        pytest.param({"<old>": {"id": "<old>", "ids": [BOS], "tokens": ["<old>"]}}, id="renamed"),
        pytest.param({"<old>": {"id": "<old>", "ids": [BOS], "tokens": []}}, id="without texts"),
        pytest.param(
            {
                "<old>": {"id": "<old>", "ids": [BOS], "tokens": [BPE.tokens[BOS]]},
                "unused": {"id": "unused", "ids": [BOS], "tokens": [BPE.tokens[261]]},
            },
            id="unused",
        ),
    ],
)
def test_a_post_processor_with_the_right_id_is_not_at_fault(tmp_path, tokens):
    template = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<old>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": tokens,
        "cls": None,
        "processors": None,
    }
    assert not reference(tmp_path, bpe_json(BPE, post_processor=template)).contradictions


def test_no_repair_is_offered_if_the_reference_is_at_fault(tmp_path):
    reference(tmp_path, add_bos_token=True)
    write_gguf(tmp_path / "model.gguf", BPE)
    with pytest.raises(TokverifyError, match=r"not repaired: .* the reference is at fault"):
        fix_model(tmp_path / "model.gguf", None, tmp_path / "tokenizer.json", CASES)


def test_no_repair_is_offered_for_an_eos_about_which_the_files_of_the_reference_disagree(tmp_path):
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": 261}))
    reference(tmp_path, **OTHER_EOS)
    write_gguf(tmp_path / "model.gguf", replace(BPE, add_bos=False))
    with pytest.raises(TokverifyError, match=r"not repaired: eos is 261 .* the reference is at fault"):
        fix_model(tmp_path / "model.gguf", None, tmp_path / "tokenizer.json", CASES)


END_AFTER_TEXT = {
    "type": "TemplateProcessing",
    "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<|im_end|>", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"<|im_end|>": {"id": "<|im_end|>", "ids": [261], "tokens": ["<|im_end|>"]}},
}


@pytest.mark.parametrize(
    ("template", "others", "origin"),
    [
        pytest.param("{{ text }}<|im_end|>", {}, Origin.REFERENCE, id="its-text"),
        pytest.param("{{ text + eos_token }}", {}, Origin.REFERENCE, id="its-role"),
        pytest.param("{{ text }}</s>", {}, Origin.UNKNOWN, id="another-end"),
        pytest.param("{{ text + eos_token }}", {"modules.json": "[]"}, Origin.UNKNOWN, id="embeddings"),
        pytest.param("<|im_end|>", {"config.json": '{"architectures": ["Qwen3Model"]}'}, Origin.UNKNOWN, id="no-head"),
        pytest.param("<|im_end|>", {"config.json": '{"model_type": "roberta"}'}, Origin.UNKNOWN, id="class-adds-it"),
    ],
)
def test_an_end_of_answers_after_each_text_is_the_fault_of_the_reference(tmp_path, template, others, origin):
    for name, content in others.items():
        (tmp_path / name).write_text(content)
    document = bpe_json(BPE, post_processor=END_AFTER_TEXT)
    facts = reference(tmp_path, document, chat_template=template, add_eos_token=True, **OWN_EOS)
    report = verify(replace(BPE, add_bos=False, add_eos=False), facts)
    assert difference(report, Aspect.AFFIXES).origin is origin


def test_a_limit_is_no_cause_beside_the_fault_of_a_reference(tmp_path):
    document = bpe_json(BPE, post_processor=END_AFTER_TEXT)
    for token in document["added_tokens"]:
        token["lstrip"] = True
    reference(tmp_path, document, chat_template="{{ text }}<|im_end|>", **OWN_EOS)
    write_gguf(tmp_path / "model.gguf", replace(BPE, add_bos=False, add_eos=False))
    cases = [*CASES, Case(id="space", suite="made", text="a <think>", add_special=True)]
    report = verify_model(tmp_path / "model.gguf", str(tmp_path / "tokenizer.json"), cases, diagnose=True)
    assert (report.diagnosis, report.undiagnosed.endswith("leave the model as it is")) == (None, True)


def test_a_model_that_agrees_with_neither_place_is_at_fault(tmp_path):
    facts = reference(tmp_path, add_bos_token=True)
    wrong = replace(BPE, add_bos=False, add_eos=True)
    assert difference(verify(wrong, facts), Aspect.AFFIXES).origin is Origin.UNKNOWN


def test_a_flag_for_bos_says_nothing_of_other_tokens_before_a_text(tmp_path):
    # Whisper's files have add_bos_token false, and a template that adds other tokens than BOS.
    template = {
        "type": "TemplateProcessing",
        "single": [
            {"SpecialToken": {"id": "<|im_end|>", "type_id": 0}},
            {"SpecialToken": {"id": "<think>", "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}},
        ],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {
            text: {"id": text, "ids": [BPE.tokens.index(text)], "tokens": [text]} for text in ("<|im_end|>", "<think>")
        },
    }
    document = bpe_json(BPE, post_processor=template)
    config = {"bos_token": "<|im_start|>", "add_bos_token": False}
    assert find_contradictions(reference(tmp_path, document, **config).tokenizer) == []


@pytest.mark.parametrize(("special", "origin"), [(True, Origin.REFERENCE), (False, Origin.UNKNOWN)])
def test_a_type_that_the_configuration_declares_is_the_fault_of_the_reference(tmp_path, special, origin):
    declared = {"262": {"content": "<think>", "special": special}}
    facts = reference(tmp_path, added_tokens_decoder=declared, add_bos_token=False)
    types = [TokenType.CONTROL.value if id == 262 else type for id, type in enumerate(BPE.types)]
    found = difference(verify(replace(BPE, types=types), facts), Aspect.TYPES)
    assert (found.severity, found.origin) == (ERROR, origin)
    changed = [change for change in declared_changes(replace(BPE, types=types), None, facts) if change.kind == "types"]
    assert bool(changed) is (origin is Origin.UNKNOWN)


def test_a_special_token_that_a_tokenizer_json_has_as_an_ordinary_one_is_the_fault_of_the_reference(tmp_path):
    document = bpe_json(BPE)
    document["added_tokens"] = [token for token in document["added_tokens"] if token["content"] == "<think>"]
    document["model"]["vocab"] |= {BPE.tokens[id]: id for id in (260, 261)}
    declared = {str(id): {"content": BPE.tokens[id], "special": True} for id in (260, 261)}
    facts = reference(tmp_path, document, added_tokens_decoder=declared)
    write_gguf(tmp_path / "model.gguf", replace(BPE, add_bos=False))
    cases = [Case(id="markers", suite="made", text="a<|im_end|>", add_special=False)]
    report = verify_model(tmp_path / "model.gguf", str(facts.path), cases, diagnose=True)
    blamed = [each for each in report.differences if each.origin is Origin.REFERENCE]
    assert [(each.aspect, each.ids) for each in blamed] == [(Aspect.TYPES, (260, 261))]
    assert "leave the model as it is" in report.undiagnosed
    with pytest.raises(TokverifyError, match=r"not repaired: .*the reference is at fault"):
        fix_model(tmp_path / "model.gguf", None, str(facts.path), cases)


@pytest.mark.parametrize(
    ("config", "origins"),
    [
        ({"tokenizer_class": "RobertaTokenizer", "cls_token": "<|im_start|>", "sep_token": "<|im_end|>"}, "RR"),
        ({"tokenizer_class": "T5Tokenizer", "eos_token": "<|im_end|>"}, "UR"),
        ({"tokenizer_class": "BertTokenizer"}, "UU"),  # which adds [CLS] and [SEP]
        ({"tokenizer_class": "GPT2Tokenizer", "cls_token": "<|im_start|>", "sep_token": "<|im_end|>"}, "UU"),
    ],
)
def test_tokens_that_a_class_always_adds_are_missing_by_a_fault_of_the_reference(tmp_path, config: dict, origins: str):
    report = verify(replace(BPE, add_eos=True), reference(tmp_path, **config))
    affixes = [each for each in report.differences if each.aspect is Aspect.AFFIXES]
    found = {each.ids: each.origin.name[0] for each in affixes}
    assert "".join(found[ids] for ids in ((BOS,), (261,))) == origins


def test_a_class_that_adds_one_token_on_both_sides_says_which_is_missing_where(tmp_path):
    config = {"tokenizer_class": "RobertaTokenizer", "cls_token": "<|im_end|>", "sep_token": "<|im_end|>"}
    found = find_contradictions(reference(tmp_path, **config).tokenizer)
    places = [each.sentence.split('which adds "<|im_end|>" ')[1].split(",")[0] for each in found]
    assert places == ["before a text", "after a text"]


@pytest.mark.parametrize(("name", "origin"), [(None, Origin.REFERENCE), ("PreTrainedTokenizerFast", Origin.UNKNOWN)])
def test_the_type_of_a_model_implies_a_class_that_always_adds_tokens(tmp_path, name: str | None, origin: Origin):
    config = {"cls_token": "<|im_start|>", "sep_token": "<|im_end|>", **({"tokenizer_class": name} if name else {})}
    facts = reference(tmp_path, **config)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    report = verify(replace(BPE, add_eos=True), facts)
    affixes = [each for each in report.differences if each.aspect is Aspect.AFFIXES]
    assert {each.origin for each in affixes} == {origin}


def test_roles_of_which_two_files_say_different_things_are_the_fault_of_the_reference(tmp_path):
    (tmp_path / "special_tokens_map.json").write_text(json.dumps({"eos_token": "<|im_end|>"}))
    facts = reference(tmp_path, **OTHER_EOS)
    assert difference(verify(BPE, facts), Aspect.SPECIAL_IDS).origin is Origin.REFERENCE


@pytest.mark.parametrize(
    ("generation", "origin"),
    [
        ({"eos_token_id": [BPE.tokens.index("<think>")]}, Origin.UNKNOWN),
        ({"eos_token_id": [BPE.tokens.index("<think>"), 261]}, Origin.REFERENCE),
        ({"eos_token_id": BPE.tokens.index("<think>"), "_from_model_config": True}, Origin.REFERENCE),
    ],
)
def test_an_end_that_two_files_name_and_a_third_one_does_not_is_no_contradiction(tmp_path, generation, origin):
    # NuExtract, a fine-tune of Qwen, has a special_tokens_map.json that still names the EOS of its base.
    (tmp_path / "special_tokens_map.json").write_text(json.dumps({"eos_token": "<|im_end|>"}))
    (tmp_path / "generation_config.json").write_text(json.dumps(generation))
    facts = reference(tmp_path, **OTHER_EOS)
    assert difference(verify(BPE, facts), Aspect.SPECIAL_IDS).origin is origin


def test_an_end_that_only_the_chat_template_knows_contradicts_a_special_tokens_map(tmp_path):
    (tmp_path / "special_tokens_map.json").write_text(json.dumps(OWN_EOS))
    template = "{% for message in messages %}{{ message.content }}<|turn_end|>{% endfor %}"
    facts = reference(tmp_path, **TURN_END, chat_template=template)
    assert any("special_tokens_map.json" in each.sentence for each in find_contradictions(facts.tokenizer))


def test_an_end_that_the_chat_template_writes_is_no_contradiction_to_an_older_special_tokens_map(tmp_path):
    (tmp_path / "special_tokens_map.json").write_text(json.dumps(OTHER_EOS))
    template = "{% for message in messages %}{{ message.content }}<|im_end|>{% endfor %}"
    facts = reference(tmp_path, **OWN_EOS, chat_template=template)
    spec = replace(BPE, special_ids={**BPE.special_ids, "eos": BPE.tokens.index("<think>")})
    assert difference(verify(spec, facts), Aspect.SPECIAL_IDS).origin is Origin.UNKNOWN


def test_an_end_that_the_reference_does_not_have_is_that_of_another_model(tmp_path):
    found = difference(verify(BPE, reference(tmp_path, **FOREIGN_EOS)), Aspect.SPECIAL_IDS)
    assert (found.severity, found.origin) == (WARNING, Origin.REFERENCE)
    assert 'but "</s>" beside the reference, which has no such token' in found.message
    displaced = {"0": {"content": "</s>", "special": True}}
    again = verify(BPE, reference(tmp_path, added_tokens_decoder=displaced, **FOREIGN_EOS))
    assert found.message in [each.message for each in again.differences]
    # It may be listed by another of these files.
    (tmp_path / "added_tokens.json").write_text(json.dumps({"</s>": len(BPE.tokens)}))
    report = verify(BPE, reference(tmp_path, **FOREIGN_EOS))
    assert all("no such token" not in each.message for each in report.differences)


@pytest.mark.parametrize(("unknown", "origin"), [("<think>", Origin.REFERENCE), ("a", Origin.UNKNOWN)])
def test_an_end_that_only_generation_config_names_is_a_fault_of_the_reference_if_it_has_another_role(
    tmp_path, unknown, origin
):
    # Otherwise it may be the end of turns, which the configuration of the base model does not name.
    config = {"eos_token": "<|im_end|>", "unk_token": unknown}
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": BPE.tokens.index("<think>")}))
    found = difference(verify(BPE, reference(tmp_path, **config)), Aspect.ENDS)
    assert (found.severity, found.origin) == (ERROR, origin)


@pytest.mark.parametrize(("end", "origin"), [("ab", Origin.REFERENCE), ("Ċ", Origin.UNKNOWN)])
def test_an_end_that_only_generation_config_names_is_a_fault_of_the_reference_if_it_is_a_word(tmp_path, end, origin):
    # As with the ids that another model has for its ends; some models end an answer at a line break.
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": BPE.tokens.index(end)}))
    found = difference(verify(BPE, reference(tmp_path, **OWN_EOS)), Aspect.ENDS)
    assert (found.severity, found.origin) == (ERROR, origin)


@pytest.mark.parametrize(
    ("end", "config", "origin"),
    [
        pytest.param("<intro>", {}, Origin.REFERENCE, id="default"),
        pytest.param("<intro>", {"chat_template": "{{ text }}<intro>"}, Origin.UNKNOWN, id="written"),
        pytest.param("<|endoftext|>", {}, Origin.UNKNOWN, id="called-an-end"),
    ],
)
def test_an_end_that_only_the_model_configuration_names_is_a_fault_of_the_reference(tmp_path, end, config, origin):
    index = BPE.tokens.index("<think>")
    model = replace(BPE, tokens=[*BPE.tokens[:index], end, *BPE.tokens[index + 1 :]])
    generation = {"_from_model_config": True, "eos_token_id": index}
    (tmp_path / "generation_config.json").write_text(json.dumps(generation))
    facts = reference(tmp_path, bpe_json(model), **OWN_EOS, **config)
    # llama.cpp would end a generation at <|endoftext|>, too.
    assert difference(verify(BPE, facts), Aspect.ENDS).origin is origin
    write_gguf(tmp_path / "model.gguf", BPE)
    kinds = [change.kind for change in declared_changes(BPE, Encoder(BPE), facts)]
    assert any(kind.startswith("eot") for kind in kinds) is (origin is Origin.UNKNOWN)


def template_processing(before: str, after: str | None, spec: TokenizerSpec) -> dict[str, object]:
    texts = [text for text in (before, after) if text]
    ids = {text: {"id": text, "ids": [spec.tokens.index(text)], "tokens": [text]} for text in texts}
    first, *last = ({"SpecialToken": {"id": text, "type_id": 0}} for text in texts)
    single = [first, {"Sequence": {"id": "A", "type_id": 0}}, *last]
    return {"type": "TemplateProcessing", "single": single, "pair": single, "special_tokens": ids}


@pytest.mark.parametrize(
    ("around", "config", "model", "origin"),
    [
        pytest.param(("</s>", "<s>"), {}, {"add_bos": True, "add_eos": True}, Origin.REFERENCE, id="exchanged"),
        pytest.param(("</s>", "<s>"), {}, {"add_bos": False}, Origin.UNKNOWN, id="exchanged-beside-none"),
        pytest.param(("<s>", "</s>"), OTHERS, {"add_bos": False}, Origin.REFERENCE, id="of-another-model"),
        pytest.param(("<s>", "</s>"), OTHERS | {"cls_token": "<s>"}, {"add_bos": False}, Origin.UNKNOWN, id="named"),
        # The configuration can be the one that is wrong, as of a fine-tuned Llama 3 with `<|endoftext|>` for BOS.
        pytest.param(("<s>", None), OTHERS, {"add_bos": False}, Origin.UNKNOWN, id="one-of-another-model"),
    ],
)
def test_tokens_around_a_text_with_the_names_of_others_are_a_fault_of_the_reference(
    tmp_path, around, config, model, origin
):
    """As of BERT with `[SEP]` before each text, and of GPT-2 with a post-processor of RoBERTa."""
    spec = bpe_spec([], dict.fromkeys(("<s>", "</s>", "<|endoftext|>"), CONTROL))
    document = bpe_json(spec, merges=[]) | {"post_processor": template_processing(*around, spec)}
    spec = replace(spec, special_ids={"bos": spec.tokens.index("<s>"), "eos": spec.tokens.index("</s>")}, **model)
    report = verify(spec, reference(tmp_path, document, **config))
    found = [each for each in report.differences if each.aspect is Aspect.AFFIXES]
    assert found[0].origin is origin


def test_the_diagnosis_blames_the_reference_if_nothing_else_fails(tmp_path):
    write_gguf(tmp_path / "model.gguf", replace(BPE, add_bos=False))
    unknown = BPE.tokens.index("<think>")
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": unknown}))
    config = {"eos_token": "<|im_end|>", "unk_token": "<think>"}
    reference(tmp_path, **config)
    report = verify_model(tmp_path / "model.gguf", tmp_path / "tokenizer.json", cases=CASES, diagnose=True)
    assert report.exit_code == 1
    assert "the reference is at fault" in report.undiagnosed
    assert report.undiagnosed.endswith("leave the model as it is")


IDENTITY = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}


def llama_model(
    directory: Path, *, prefix: bool, rules: dict[str, object] = IDENTITY, kind: str = "bpe", **config: object
) -> tuple[Path, TokenizerSpec]:
    """Train a sentencepiece model, with the configuration of Llama's class beside it."""
    path = directory / "tokenizer.model"
    options = {"byte_fallback": True, "vocab_size": 320, **rules}
    path.write_bytes(train_model(model_type=kind, add_dummy_prefix=prefix, **options))
    (directory / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "LlamaTokenizer", **config}))
    return path, read_spec(path)


AMBIGUOUS_SPACE = [
    pytest.param(False, {"add_prefix_space": True}, id="only-configuration"),
    pytest.param(True, {"add_prefix_space": False}, id="only-model"),
    # transformers has turned the model's own flag off, and saved it.
    pytest.param(False, {"legacy": False}, id="saved-by-transformers"),
    pytest.param(False, {"legacy": False, "rules": {}}, id="default-rules"),
    pytest.param(False, {"add_bos_token": True, "add_prefix_space": True}, id="another-contradiction"),
]


@pytest.mark.parametrize(("prefix", "config"), AMBIGUOUS_SPACE)
def test_a_space_about_which_two_files_disagree_is_the_fault_of_the_reference(tmp_path, prefix, config):
    path, spec = llama_model(tmp_path, prefix=prefix, **config)
    model = tmp_path / "model.gguf"
    write_gguf(model, replace(spec, add_space_prefix=not prefix))
    report = verify_model(model, path, cases=CASES, diagnose=True)
    found = difference(report, Aspect.AFFIXES)
    assert (found.severity, found.origin, found.code, report.exit_code) == (ERROR, Origin.REFERENCE, "TV207", 1)
    assert path.name in found.message
    assert report.undiagnosed.endswith("leave the model as it is")
    with pytest.raises(TokverifyError, match=r"not repaired: .* the reference is at fault"):
        fix_model(model, None, path, CASES)
    rankings = [each for each in audit_model(model, path).findings if "add_space_prefix" in each.message]
    assert [(each.code, each.repair) for each in rankings] == [("TV207", "")]


@pytest.mark.parametrize(("prefix", "config"), AMBIGUOUS_SPACE)
def test_a_model_that_agrees_with_such_a_reference_is_equal_to_it(tmp_path, prefix, config):
    path, spec = llama_model(tmp_path, prefix=prefix, **config)
    write_gguf(tmp_path / "model.gguf", spec)
    assert verify_model(tmp_path / "model.gguf", path, cases=CASES).verdict is Verdict.EQUAL


def bert_reference(directory: Path, *, lowercase: bool, **config: object) -> Path:
    """Write a WordPiece tokenizer.json, and a tokenizer_config.json beside it."""
    (directory / "tokenizer.json").write_text(json.dumps(bert_json(good_bert(), lowercase=lowercase)))
    (directory / "tokenizer_config.json").write_text(json.dumps(config))
    return directory / "tokenizer.json"


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize(
    "config",
    [{"tokenizer_class": "BertTokenizer"}, {"tokenizer_class": "RobertaTokenizer", "tokenize_chinese_chars": True}],
)
def test_lowercasing_about_which_two_files_disagree_is_the_fault_of_the_reference(
    tmp_path, lowercase: bool, config: dict
):
    path = bert_reference(tmp_path, lowercase=lowercase, do_lower_case=not lowercase, **config)
    model = tmp_path / "model.gguf"
    write_gguf(model, good_bert(lowercase=not lowercase))
    cases = [Case(id="upper", suite="made", text="A B", add_special=False)]
    report = verify_model(model, path, cases=cases, diagnose=True)
    found = difference(report, Aspect.NORMALIZATION)
    assert (found.severity, found.origin, found.code, report.exit_code) == (ERROR, Origin.REFERENCE, "TV205", 1)
    assert report.undiagnosed.endswith("leave the model as it is")
    with pytest.raises(TokverifyError, match=r"not repaired: .* the reference is at fault"):
        fix_model(model, None, path, cases)
    (finding,) = (each for each in audit_model(model, path).findings if each.message.startswith("lowercase"))
    assert finding.repair == ""


@pytest.mark.parametrize(
    "config",
    [
        {"do_lower_case": False, "tokenizer_class": "BertTokenizer"},
        {"do_lower_case": True},
        {"do_lower_case": True, "tokenizer_class": "PreTrainedTokenizerFast"},
    ],
)
def test_lowercasing_is_a_fault_of_the_model_if_no_file_speaks_for_it(tmp_path, config: dict):
    path = bert_reference(tmp_path, lowercase=False, **config)
    write_gguf(tmp_path / "model.gguf", good_bert())
    cases = [Case(id="upper", suite="made", text="A B", add_special=False)]
    report = verify_model(tmp_path / "model.gguf", path, cases=cases, diagnose=True)
    assert not any(each.aspect is Aspect.NORMALIZATION for each in report.differences)
    assert "lowercase off" in report.diagnosis.explanations[0].sentence


@pytest.mark.parametrize(("name", "origin"), [("GPT2Tokenizer", Origin.REFERENCE), ("Unknown", Origin.RUNTIME)])
def test_a_space_that_only_one_file_of_a_byte_level_reference_adds_is_the_fault_of_the_reference(
    tmp_path, name: str, origin: Origin
):
    stage = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    spec = replace(BPE, pre="gpt-2", add_bos=False)
    config = {"tokenizer_class": name, "add_prefix_space": False}
    facts = reference(tmp_path, bpe_json(spec, pre_tokenizer=stage), **config)
    found = difference(verify(spec, facts), Aspect.AFFIXES)
    assert (found.origin, found.severity) == (origin, ERROR)
    assert ("has add_prefix_space false, but tokenizer.json adds one" in found.message) is (origin is Origin.REFERENCE)


def test_another_fault_is_found_behind_a_space_about_which_two_files_disagree(tmp_path):
    path, spec = llama_model(tmp_path, prefix=False, add_prefix_space=True)
    scores = [-1000.0] * len(spec.tokens)
    write_gguf(tmp_path / "model.gguf", replace(spec, add_space_prefix=True, scores=scores))
    cases = [Case(id=f"case-{index}", suite="made", text=text) for index, text in enumerate(WORDS)]
    report = verify_model(tmp_path / "model.gguf", path, cases=cases, diagnose=True)
    sentences = [each.sentence for each in report.diagnosis.explanations]
    assert "using the reference's scores" in sentences[0]
    assert not any("add_space_prefix" in sentence for sentence in sentences)


def test_a_change_of_the_model_leaves_such_a_space_as_it_is(tmp_path):
    path, spec = llama_model(tmp_path, prefix=False, kind="unigram", legacy=False)
    model, fixed = tmp_path / "model.gguf", tmp_path / "fixed.gguf"
    flags = {"add_space_prefix": None, "remove_extra_whitespaces": None}
    write_gguf(model, replace(spec, model="llama", special_ids={}, **flags))
    cases = [Case(id=f"case-{index}", suite="made", text=text) for index, text in enumerate(WORDS)]
    fix_model(model, fixed, path, cases)
    assert (read_declaration(fixed).spec.model, read_declaration(fixed).spec.add_space_prefix) == ("t5", True)


def test_a_model_that_cannot_encode_the_probe_contradicts_its_configuration_as_well(tmp_path):
    rules = {**IDENTITY, "byte_fallback": False, "vocab_size": 60}
    path, spec = llama_model(tmp_path, prefix=False, rules=rules, kind="unigram", legacy=False)
    tokens = [piece.replace("a", "ก") for piece in spec.tokens]
    found = list(find_contradictions(open_reference(path).tokenizer))
    assert [each.subject for each in found] == ["space_prefix"]
    assert adds_space(Encoder(replace(spec, tokens=tokens))) is False


@pytest.mark.parametrize("config", [{"legacy": True}, {}, {"legacy": False, "tokenizer_class": "T5Tokenizer"}])
def test_a_missing_space_is_a_fault_of_the_model_if_no_file_speaks_for_it(tmp_path, config):
    path, spec = llama_model(tmp_path, prefix=False, **config)
    write_gguf(tmp_path / "model.gguf", replace(spec, add_space_prefix=True))
    report = verify_model(tmp_path / "model.gguf", path, cases=CASES, diagnose=True)
    assert [each.sentence for each in report.diagnosis.explanations] == ["turning add_space_prefix off"]


def test_a_byte_level_reference_says_nothing_of_such_a_space(tmp_path):
    facts = reference(tmp_path, tokenizer_class="LlamaTokenizerFast", add_prefix_space=True)
    assert find_contradictions(facts.tokenizer) == []
