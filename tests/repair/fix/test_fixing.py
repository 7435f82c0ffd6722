"""Plan repairs of tokenizers small enough to see every fault at a glance."""

import base64
import json
from dataclasses import replace
from pathlib import Path

import pytest

from support.bare_tokenizer import Bare, IdsOnly
from support.faults.values import one_score
from support.limits import added, write_json
from support.made_vocabulary import unigram
from support.mutation import padded, swapped
from support.rule_maker import bpe_json
from support.selection import thinned
from support.sentencepiece_maker import train_model
from support.spec_maker import BYTE, CONTROL, USER_DEFINED, bpe_spec, spm_spec, unigram_spec
from tokverify.case import Case
from tokverify.compare.opened import Opened, OpenedReference
from tokverify.engine.encoder import Encoder
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.engine.settings import resolve
from tokverify.errors import BrokenFileError, TokverifyError
from tokverify.references import open_reference
from tokverify.references.huggingface import from_json
from tokverify.references.rebuilt import build
from tokverify.repair.array_change import models
from tokverify.repair.evidence import Evidence
from tokverify.repair.fix.certain import certain_changes
from tokverify.repair.fix.changed import type_ranges, unverified_ids
from tokverify.repair.fix.fixing import Plan, make_plan, to_report
from tokverify.repair.fix.measure import AFFIXES, ROLES, TEMPLATE, TEXTS, TYPES
from tokverify.report.fix import UNCONFIRMED, FixReport, TypeRange, fix_exit_code, remaining
from tokverify.report.tokenizer_difference import Aspect
from tokverify.sources.gguf.declaration import Declaration
from tokverify.sources.rwkv import escape
from tokverify.sources.sentencepiece.reader import read_spec
from tokverify.sources.tokenizer_file import read_spec as read_tokenizer
from tokverify.spec import TokenizerSpec, TokenType

pytestmark = pytest.mark.process  # takes seconds
NORMAL = TokenType.NORMAL.value
SPM = spm_spec(
    {"▁": -5, "a": -1, "b": -2, "ab": -3, "▁a": -4, "new word": 0, "<x>": 0},
    {"new word": USER_DEFINED, "<x>": CONTROL},
    special_ids={"bos": 1, "eos": 2, "unk": 0},
    chat_template="{{ messages }}",
    named_chat_templates={"tool_use": "{{ tools }}"},
)
BPE = bpe_spec(["a b", "ab c", "Ġ a", "1 2"], {"<x>": CONTROL, "<y>": CONTROL})
CASES = [
    Case(id=f"{text}-{add_special}", suite="s", text=text, add_special=add_special)
    for text in ("ab", "abc 12", " a", "")
    for add_special in (False, True)
]


def planned(wrong: TokenizerSpec, right: TokenizerSpec, *, bare: bool = False) -> Plan:
    expected = Encoder(right, "right")
    facts = Opened(Bare(expected) if bare else expected)
    return make_plan(Path("model.gguf"), Declaration(spec=wrong), facts, CASES)


def ended(spec: TokenizerSpec) -> TokenizerSpec:
    """Give the roles of BOS and EOS to `<x>`."""
    return replace(spec, special_ids=dict.fromkeys(("bos", "eos"), spec.tokens.index("<x>")))


def typed(spec: TokenizerSpec, text: str, type: int) -> TokenizerSpec:
    pairs = zip(spec.tokens, spec.types, strict=True)
    return replace(spec, types=[type if token == text else old for token, old in pairs])


def written(plan: Plan) -> FixReport:
    return to_report(plan, is_written=True)


def test_a_tokenizer_that_agrees_needs_no_repair():
    plan = planned(SPM, SPM)
    assert plan.change is None
    assert fix_exit_code(to_report(plan)) == 0
    assert to_report(plan).not_compared == ()


@pytest.mark.parametrize("bare", [False, True])
def test_a_fault_that_no_case_shows_is_found_by_generated_texts_and_repaired(bare: bool):
    wrong = typed(SPM, "new word", NORMAL)
    plan = planned(wrong, SPM, bare=bare)
    assert plan.before.verification().fail == 0
    assert plan.before.counts[TEXTS] > 0
    assert fix_exit_code(to_report(plan)) == 1
    assert plan.change.transform(wrong).types == SPM.types
    assert (plan.repair.kind, plan.repair.changed_tokens, plan.repair.inferred_tokens) == ("types", 1, 0)
    assert fix_exit_code(written(plan)) == 0


def test_two_faults_are_repaired_in_one_call():
    wrong = replace(typed(SPM, "new word", NORMAL), add_space_prefix=False, special_ids={"bos": 1, "eos": 1, "unk": 0})
    plan = planned(wrong, SPM)
    new = plan.change.transform(wrong)
    assert (new.types, new.add_space_prefix, new.special_ids["eos"]) == (SPM.types, True, 2)
    assert fix_exit_code(written(plan)) == 0


@pytest.mark.parametrize(
    ("fault", "check", "kind"),
    [
        ({"special_ids": {"bos": 1, "eos": 265, "unk": 0}}, ROLES, "eos_id"),
        ({"chat_template": None}, TEMPLATE, "chat_template"),
        ({"chat_template": "{{ other }}"}, TEMPLATE, "chat_template"),
        ({"named_chat_templates": {"tool_use": "{{ other }}"}}, TEMPLATE, "chat_template"),
        ({"named_chat_templates": {"default": "{{ other }}"}}, TEMPLATE, "chat_template"),
    ],
)
def test_metadata_that_no_text_shows_is_repaired_if_the_reference_declares_it(
    fault: dict[str, object], check: str, kind: str
):
    plan = planned(replace(SPM, **fault), SPM)
    assert plan.before.counts[check] > 0
    assert plan.repair.kind == kind
    assert plan.after.is_clean


def test_a_text_that_the_reference_declares_is_verified_although_the_type_stays_another():
    escaped = replace(SPM, tokens=["&lt;x&gt;" if piece == "<x>" else piece for piece in SPM.tokens])
    facts = Opened(Encoder(typed(SPM, "<x>", USER_DEFINED)))
    after = replace(planned(SPM, SPM).after, results=())
    assert unverified_ids(escaped, SPM, facts, after) == []
    assert unverified_ids(typed(escaped, "&lt;x&gt;", NORMAL), SPM, facts, after) == [SPM.tokens.index("<x>")]


def test_a_token_that_is_named_like_a_byte_is_verified_as_one_by_ids_alone():
    wrong = replace(SPM, types=[NORMAL if type == TokenType.BYTE else type for type in SPM.types])
    plan = make_plan(Path("model.gguf"), Declaration(spec=wrong), Opened(IdsOnly(Encoder(SPM))), CASES)
    assert (plan.repair.changed_tokens, plan.repair.inferred_tokens) == (256, 0)


def test_what_ids_cannot_show_is_reported_as_not_compared():
    report = to_report(planned(replace(SPM, chat_template=None, named_chat_templates={}), SPM, bare=True))
    assert fix_exit_code(report) == 0
    assert set(report.not_compared) == {"types of tokens", "ids of special tokens", "chat template"}


def test_special_tokens_that_ranks_do_not_list_are_kept_and_reported_as_not_compared(tmp_path):
    pytest.importorskip("tiktoken", reason="tiktoken is not installed")
    listed = [Encoder(BPE).token_bytes(id) for id, type in enumerate(BPE.types) if type == NORMAL]
    ranks = tmp_path / "model.tiktoken"
    ranks.write_bytes(b"".join(b"%s %d\n" % (base64.b64encode(data), id) for id, data in enumerate(listed)))
    facts = Opened(open_reference(f"{ranks}:gpt2").tokenizer)
    plan = make_plan(Path("model.gguf"), Declaration(spec=ended(BPE)), facts, CASES)
    assert plan.change is None
    assert fix_exit_code(to_report(plan)) == 0
    assert f"2 tokens from id {len(listed)} on" in to_report(plan).not_compared


def test_the_other_model_of_sentencepiece_is_found_by_ids_alone():
    plan = planned(SPM, replace(SPM, scores=[-score for score in SPM.scores], model="t5"), bare=True)
    assert set(plan.repair.kind.split("+")) == {"model", "scores"}
    assert fix_exit_code(written(plan)) == 0


@pytest.mark.parametrize(
    ("roles", "flags"),
    [
        pytest.param({}, [True, False], id="usual-ids"),
        pytest.param({"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3}, [True, False], id="other-ids"),
        pytest.param({"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}, [False, True], id="no-bos"),
    ],
)
def test_a_unigram_model_that_was_written_as_one_of_merges_is_repaired(tmp_path: Path, roles: dict, flags: list[bool]):
    # As llama.cpp's converter writes each tokenizer.model of a Llama: without the charsmap, and with Llama's defaults.
    path = tmp_path / "tokenizer.model"
    path.write_bytes(train_model(vocab_size=90, model_type="unigram", normalization_rule_name="nfkc", **roles))
    found = OpenedReference(open_reference(path))
    right = read_spec(path)
    undeclared = {"charsmap": None, "add_space_prefix": None, "remove_extra_whitespaces": None}
    wrong = replace(right, model="llama", special_ids={}, **undeclared)
    texts = ("the fox", "  nine   hens ", "ﬁx", "héron", "the")
    cases = [Case(id=text, suite="made", text=text) for text in texts]
    plan = make_plan(Path("model.gguf"), Declaration(spec=wrong), Opened(found.tokenizer, found.path), cases)
    repaired = plan.change.transform(wrong)
    assert plan.repair.sentence.startswith("setting the model to t5 instead of llama")
    assert fix_exit_code(written(plan)) == 0
    assert (repaired.charsmap, repaired.special_ids["unk"]) == (right.charsmap, right.special_ids["unk"])
    # The reference does not know what is added around a text; it stays the same if there is a BOS to add.
    assert ("keeping add_bos, add_eos as before" in plan.repair.sentence) is flags[0]
    assert [getattr(resolve(repaired), flag) for flag in ("add_bos", "add_eos")] == flags
    assert Encoder(repaired).encode("the", add_special=True)


def test_a_model_of_merges_that_was_written_as_bert_gets_its_flags_with_its_model():
    # As llama.cpp's converter writes a RoBERTa that has no tokenizer.json: pieces of BERT, and no merges.
    right = replace(ended(BPE), add_bos=True, add_eos=True)
    pieces = [*(f"▁{token}" for token in BPE.tokens[:-2]), *BPE.tokens[-2:]]
    wrong = replace(right, model="bert", tokens=pieces, merges=None, add_bos=None, add_eos=None)
    # The model alone would lose the tokens around a text, which BERT adds without flags.
    (change,) = models(Evidence(wrong, Encoder(wrong), Opened(Encoder(right)), ()))
    assert (change.transform(wrong).add_bos, change.transform(wrong).add_eos) == (True, True)
    plan = planned(wrong, right)
    fixed = plan.change.transform(wrong)
    assert (fixed.model, fixed.merges, fixed.tokens) == (right.model, right.merges, right.tokens)
    assert fix_exit_code(written(plan)) == 0


def test_a_model_of_merges_that_was_written_as_sentencepiece_gets_its_merges_and_says_so():
    # As a converter for SentencePiece writes a byte-level vocabulary, if it reads no merges.
    right = ended(BPE)
    wrong = replace(right, model="llama", pre="default", merges=None, scores=[-1000.0] * len(right.tokens))
    (change,) = models(Evidence(wrong, Encoder(wrong), Opened(Encoder(right)), ()))
    assert f"with the reference's {len(right.merges):,} merges" in change.sentence
    assert change.transform(wrong).merges == right.merges


def test_an_eos_that_a_sentencepiece_model_does_not_name_is_kept(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(train_model(vocab_size=90, model_type="unigram", eos_id=-1, control_symbols="[SEP]"))
    right = read_tokenizer(path)
    declared = replace(right, special_ids={**right.special_ids, "eos": right.tokens.index("[SEP]")}, add_eos=True)
    wrong = replace(declared, charsmap=None, add_space_prefix=not right.add_space_prefix)
    found = open_reference(path)
    plan = make_plan(Path("model.gguf"), Declaration(spec=wrong), Opened(found.tokenizer, found.path), CASES)
    fixed = plan.change.transform(wrong)
    assert (fixed.special_ids, fixed.add_space_prefix) == (declared.special_ids, right.add_space_prefix)


def test_the_defaults_of_a_wrong_model_are_not_declared(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(
        train_model(vocab_size=330, model_type="bpe", normalization_rule_name="identity", byte_fallback=True)
    )
    found = OpenedReference(open_reference(path))
    right = read_spec(path)
    wrong = replace(right, model="t5")
    cases = [Case(id=text, suite="made", text=text) for text in ("the fox", "nine  hens", "the", "zoo")]
    plan = make_plan(Path("model.gguf"), Declaration(spec=wrong), Opened(found.tokenizer, found.path), cases)
    assert plan.repair.sentence.startswith("setting the model to llama instead of t5")
    # By default, t5 adds EOS, which nobody chose for this file.
    repaired = plan.change.transform(wrong)
    assert (repaired.add_bos, repaired.add_eos) == (None, None)
    assert (resolve(repaired).add_bos, resolve(repaired).add_eos) == (True, False)


def test_a_change_is_found_that_makes_a_few_long_texts_much_worse(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(train_model(vocab_size=90, model_type="unigram", add_dummy_prefix=False))
    found = OpenedReference(open_reference(path))
    right = read_spec(path)
    wrong = replace(right, remove_extra_whitespaces=True)
    texts = [*("the fox", "nine hens", "the", "fox", "red", "no", "hen"), f"a{' ' * 60}fox"]
    cases = [Case(id=text, suite="made", text=text) for text in texts]
    plan = make_plan(Path("model.gguf"), Declaration(spec=wrong), Opened(found.tokenizer, found.path), cases)
    assert plan.repair.sentence == "turning remove_extra_whitespaces off"
    assert fix_exit_code(written(plan)) == 0


def test_what_the_reference_declares_itself_is_no_error_of_the_repair(tmp_path: Path):
    # The unknown token of this tokenizer.json is its padding.
    vocabulary = [["<pad>", 0.0], ["</s>", 0.0], ["▁a", -1.0], ["▁", -2.0], ["a", -3.5], ["b", -4.0]]
    document = {
        "version": "1.0",
        "added_tokens": [added(0, "<pad>"), added(1, "</s>")],
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": False},
        "model": {"type": "Unigram", "unk_id": 0, "vocab": vocabulary},
    }
    path = write_json(tmp_path / "tokenizer.json", document)
    (tmp_path / "tokenizer_config.json").write_text('{"pad_token": "<pad>", "eos_token": "</s>"}')
    found = OpenedReference(open_reference(path))
    right = read_tokenizer(path)
    wrong = replace(right, special_ids={**right.special_ids, "unk": 5})
    cases = [Case(id=text, suite="made", text=text) for text in ("a b", "ab", "zebra")]
    plan = make_plan(Path("model.gguf"), Declaration(spec=wrong), Opened(found.tokenizer, found.path), cases)
    assert plan.change is not None
    assert plan.change.transform(wrong).special_ids["unk"] == 0


def test_the_name_of_a_pre_tokenizer_is_chosen_that_decodes_as_the_reference_says(tmp_path):
    right = ended(bpe_spec(["1 2", "a b"], {"<x>": CONTROL}, pre="smollm"))
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    stages = {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level]}
    document = bpe_json(right, merges=right.merges or (), pre_tokenizer=stages)
    path = write_json(tmp_path / "tokenizer.json", document)
    (tmp_path / "tokenizer_config.json").write_text('{"clean_up_tokenization_spaces": false, "eos_token": "<x>"}')
    found = OpenedReference(open_reference(path))
    cases = [Case(id=text, suite="made", text=text) for text in ("12", "a 12 ab", "ab")]
    wrong = replace(right, pre="gpt-2")
    plan = make_plan(Path("model.gguf"), Declaration(spec=wrong), Opened(found.tokenizer, found.path), cases)
    assert PRE_TOKENIZERS[plan.change.transform(wrong).pre] == PRE_TOKENIZERS["smollm"]


def test_nothing_is_claimed_if_a_difference_remains():
    # Ids do not reveal scores without any order.
    plan = planned(SPM, replace(SPM, scores=[-float(id * 37 % 101) for id in range(len(SPM.tokens))]), bare=True)
    report = written(plan) if plan.change else to_report(plan)
    assert fix_exit_code(report) == 1


def test_a_change_that_makes_anything_worse_is_no_improvement():
    plan = planned(typed(SPM, "new word", NORMAL), SPM)
    better = replace(plan.before, compared={**plan.before.compared, TEXTS: 0})
    worse_elsewhere = replace(better, compared={**better.compared, TYPES: better.compared[TYPES] + 1})
    assert better.improves(plan.before)
    assert not worse_elsewhere.improves(plan.before)
    assert not plan.before.improves(plan.before)


def test_bos_stays_on_if_the_template_adds_it_too():
    class Silent(Bare):
        """Does not know which tokens to add."""

        def __init__(self, spec: TokenizerSpec) -> None:
            super().__init__(Encoder(spec))
            self.adds_special = False

    spec = replace(typed(SPM, "new word", NORMAL), add_bos=True, chat_template="<s>{{ messages }}")
    plan = make_plan(Path("model.gguf"), Declaration(spec=spec), Opened(Silent(SPM)), CASES)
    assert plan.change.transform(spec).types == SPM.types
    assert "add_bos" not in plan.change.sentence


def test_a_key_of_another_type_that_the_reference_does_not_declare_is_left_out():
    key = "tokenizer.ggml.eos_token_id"
    declaration = Declaration(
        spec=replace(SPM, special_ids={"unk": 0}, mistyped_keys={key: "ARRAY of UINT32"}),
        refusal=BrokenFileError(f"{key}: is ARRAY of UINT32"),
    )
    plan = make_plan(Path("model.gguf"), declaration, Opened(Bare(Encoder(SPM))), CASES)
    assert plan.change.sentence == f"leaving out {key}, which is ARRAY of UINT32"
    assert plan.values == {key: None}


def test_a_file_that_llama_cpp_refuses_is_repaired():
    wrong = replace(BPE, merges=None)
    declaration = Declaration(spec=wrong, refusal=BrokenFileError("there are no merges"))
    plan = make_plan(Path("model.gguf"), declaration, Opened(Encoder(BPE)), CASES)
    assert plan.before.verification().refusal == "there are no merges"
    assert plan.change.transform(wrong).merges == BPE.merges
    assert fix_exit_code(written(plan)) == 0


def test_pieces_that_were_written_as_raw_bytes_are_repaired_although_no_text_contains_them():
    right = bpe_spec(["Ã Ġ", "ÃĠ a"])
    raw = {"ÃĠ": "\udcc3 ", "ÃĠa": "\udcc3 a"}
    tokens = [raw.get(piece, piece) for piece in right.tokens]
    plan = planned(replace(right, tokens=tokens), right)
    assert plan.change.transform(replace(right, tokens=tokens)).tokens == right.tokens
    assert fix_exit_code(written(plan)) == 0


def test_the_type_of_a_token_is_taken_from_a_reference_that_knows_little_else(tmp_path: Path):
    vocabulary = tmp_path / "rwkv_vocab_v20230424.txt"
    vocabulary.write_text("".join(f"{byte + 1} {bytes([byte])!r} 1\n" for byte in range(256)))
    tokens = ["<s>", *(f"\\x{byte:02x}" for byte in range(256))]
    wrong = TokenizerSpec(model="rwkv", tokens=tokens, types=[NORMAL] * len(tokens))
    cases = [Case(id="s", suite="s", text="a<s>b")]
    facts = Opened(open_reference(vocabulary).tokenizer)
    plan = make_plan(Path("model.gguf"), Declaration(spec=wrong), facts, cases)
    assert plan.change.transform(wrong).types == [CONTROL, *[NORMAL] * 256]
    assert fix_exit_code(written(plan)) == 0


def test_words_of_rwkv_are_written_as_its_vocabulary_has_them_and_are_verified_by_their_bytes(tmp_path: Path):
    words = [bytes([byte]) for byte in range(256)] + [b"\n\n", "caf\u00e9s".encode(), "d\u00e9j\u00e0 vu".encode()]
    vocabulary = tmp_path / "rwkv_vocab_v20230424.txt"
    vocabulary.write_text("".join(f"{id} {word!r} {len(word)}\n" for id, word in enumerate(words, 1)))
    tokens = ["<s>", *map(escape, words)]
    types = [CONTROL, *[NORMAL] * len(words)]
    right = TokenizerSpec(model="rwkv", tokens=tokens, types=types, special_ids={"eot": 257})
    wrong = replace(right, tokens=[token.replace("\\", "\\\\") for token in tokens])
    facts = Opened(open_reference(vocabulary).tokenizer)
    plan = make_plan(Path("model.gguf"), Declaration(spec=wrong), facts, [Case(id="s", suite="s", text="a\n\nb")])
    assert plan.change.transform(wrong) == right
    assert plan.repair.inferred_tokens == 0


def test_what_a_repair_removes_is_counted_whatever_was_tried_before():
    first, second = SPM.tokens.index("▁a"), SPM.tokens.index("ab")
    scores = list(SPM.scores)
    scores[first], scores[second] = scores[second], scores[first]
    wrong = replace(typed(SPM, "new word", NORMAL), scores=scores)
    plan = make_plan(Path("model.gguf"), Declaration(spec=wrong), Opened(Encoder(SPM, "right")), CASES, is_quick=True)
    assert plan.change.transform(wrong) == SPM
    assert {found.aspect for found in plan.before.differences} == {Aspect.TYPES, Aspect.RANKING}
    assert not plan.after.differences


def test_the_report_names_the_checks_that_are_left():
    report = to_report(planned(typed(SPM, "new word", NORMAL), SPM))
    assert {check.name for check in remaining(report)} == {TEXTS, TYPES}


def test_type_ranges_join_neighbors_of_the_same_type():
    types = list(BPE.types)
    types[3:6] = [USER_DEFINED] * 3
    types[8] = CONTROL
    new = replace(BPE, types=types)
    assert type_ranges(BPE, new) == (TypeRange(3, 5, USER_DEFINED), TypeRange(8, 8, CONTROL))
    assert type_ranges(BPE, replace(new, tokens=new.tokens[:-1], types=types[:-1])) == ()


def test_an_error_of_audit_that_the_reference_cannot_refute_is_no_success():
    ordinary = SPM.tokens.index("▁a")
    wrong = replace(SPM, special_ids={"bos": 1, "eos": ordinary, "unk": 0})
    report = to_report(planned(wrong, SPM, bare=True))
    assert fix_exit_code(report) == 1
    assert {check.name for check in remaining(report)} == {ROLES, UNCONFIRMED}
    assert fix_exit_code(to_report(planned(SPM, SPM, bare=True))) == 0


def test_an_ordinary_word_as_eos_is_replaced_by_the_only_control_token():
    right = bpe_spec(["a b", "ab c"], {"<|endoftext|>": CONTROL})
    end = right.tokens.index("<|endoftext|>")
    right = replace(right, special_ids={"bos": end, "eos": end})
    plan = planned(replace(right, special_ids={"bos": end, "eos": 0}), right, bare=True)
    assert plan.repair.kind == "eos_id"
    assert plan.change.transform(right).special_ids == right.special_ids
    assert fix_exit_code(written(plan)) == 0


def test_a_byte_as_eos_is_replaced_by_the_token_named_like_one():
    right = replace(SPM, chat_template=None)
    wrong = replace(right, special_ids={**right.special_ids, "eos": right.tokens.index("<0x00>")})
    plan = planned(wrong, right, bare=True)
    assert plan.repair.kind == "eos_id"
    assert plan.change.transform(wrong).special_ids == right.special_ids


def test_an_ordinary_word_as_eos_is_replaced_by_the_token_that_the_reference_declares():
    right = ended(bpe_spec(["a b", "ab c"], {"<|im_end|>": CONTROL, "<x>": CONTROL}))
    wrong = replace(right, special_ids={**right.special_ids, "eos": 0})
    assert planned(wrong, right, bare=True).change.transform(wrong).special_ids["eos"] != right.special_ids["eos"]
    expected = Bare(Encoder(right, "right"))
    expected.special_ids = right.special_ids
    plan = make_plan(Path("model.gguf"), Declaration(spec=wrong), Opened(expected), CASES)
    assert plan.change.transform(wrong).special_ids == right.special_ids


@pytest.mark.parametrize("add_bos", [False, True])
def test_nothing_is_written_only_for_a_role_of_no_consequence(add_bos):
    right = replace(SPM, add_bos=add_bos, chat_template=None, special_ids={**SPM.special_ids, "pad": 0})
    expected = Bare(Encoder(right, "right"))
    expected.adds_special = False
    expected.special_ids = right.special_ids
    unpadded = replace(right, special_ids=SPM.special_ids)
    plan = make_plan(Path("model.gguf"), Declaration(spec=unpadded), Opened(expected), CASES)
    assert plan.change is None
    assert fix_exit_code(to_report(plan)) == 0
    # Beside a fault, it is written, too; and a GGUF file says of all roles which token has them.
    wrong = replace(unpadded, types=[TokenType.NORMAL.value if type == 4 else type for type in unpadded.types])
    plan = make_plan(Path("model.gguf"), Declaration(spec=wrong), Opened(expected), CASES)
    assert plan.change.transform(wrong) == right
    assert planned(unpadded, right).change.transform(unpadded) == right


@pytest.mark.parametrize(("add_bos", "code"), [(True, 0), (False, 1)])
def test_no_success_is_claimed_if_the_reference_cannot_show_why_bos_is_off(add_bos: bool, code: int):
    right = replace(SPM, add_space_prefix=True, chat_template=None)
    expected = Bare(Encoder(right, "right"))
    expected.adds_special = False
    wrong = replace(right, add_space_prefix=False, add_bos=add_bos)
    plan = make_plan(Path("model.gguf"), Declaration(spec=wrong), Opened(expected), CASES)
    assert plan.repair.kind == "add_space_prefix"
    assert fix_exit_code(written(plan)) == code
    assert [check.name for check in remaining(written(plan))] == ([] if add_bos else [AFFIXES])


def test_a_merge_that_only_one_token_needs_is_restored():
    right = bpe_spec([f"{left} {right}" for left in "abcdefghijklm" for right in "nopqrstuvwxyz"])
    wrong = replace(right, merges=[merge for merge in right.merges if merge != "f q"])
    plan = planned(wrong, right)
    assert plan.repair.kind == "merges"
    assert plan.change.transform(wrong).merges == right.merges
    assert fix_exit_code(written(plan)) == 0


def test_a_repair_that_reaches_its_limit_says_so():
    wrong = replace(BPE, pre="qwen2", merges=BPE.merges[1:])
    facts = Opened(Bare(Encoder(BPE)))
    limited = to_report(make_plan(Path("model.gguf"), Declaration(spec=wrong), facts, CASES, encodings=1))
    assert (limited.stopped_early, fix_exit_code(limited)) == (True, 1)
    assert not to_report(planned(wrong, BPE, bare=True)).stopped_early


def test_a_repair_that_is_complete_does_not_say_that_it_reached_its_limit():
    wrong = replace(BPE, pre="qwen2")
    plan = make_plan(Path("model.gguf"), Declaration(spec=wrong), Opened(Encoder(BPE)), CASES, encodings=1)
    assert plan.change is not None
    assert not to_report(plan).stopped_early


def appended(spec: TokenizerSpec, *texts: str, **roles: int) -> TokenizerSpec:
    return replace(
        spec,
        tokens=[*spec.tokens, *texts],
        types=[*spec.types, *[CONTROL] * len(texts)],
        special_ids={**spec.special_ids, **roles},
    )


def test_run_names_exchanged_tokens_that_no_case_shows():
    right = replace(BPE, tokens=[*BPE.tokens, "zq", "zw"], types=[*BPE.types, NORMAL, NORMAL])
    wrong = replace(right, tokens=[*BPE.tokens, "zw", "zq"])
    facts = Opened(Bare(Encoder(right)))
    plan = make_plan(Path("model.gguf"), Declaration(spec=wrong), facts, CASES, is_quick=True)
    assert plan.change is not None
    assert list(plan.change.transform(wrong).tokens) == right.tokens


def test_lost_tokens_are_added_although_more_cases_can_then_be_decoded_differently():
    class Foreign(Bare):
        """Decodes in a way of its own, as some libraries do."""

        def decode(self, ids):
            return b"?".join(super(Foreign, self).decode([id]) for id in ids)

    right = spm_spec({"▁": -5, "a": -1, "b": -2, "c": -3, "1": -4, "2": -6})
    wrong = replace(right, **{name: getattr(right, name)[:-2] for name in ("tokens", "types", "scores")})
    plan = make_plan(Path("model.gguf"), Declaration(spec=wrong), Opened(Foreign(Encoder(right))), CASES)
    assert plan.change is not None
    assert list(plan.change.transform(wrong).tokens) == list(right.tokens)


def test_tokens_that_the_reference_does_not_have_are_removed_with_their_roles():
    size = len(BPE.tokens)
    right = replace(BPE, special_ids={"eos": size - 1})
    plan = planned(appended(right, "<|im_start|>", "<|im_end|>", eos=size + 1, pad=size), right)
    fixed = plan.change.transform(appended(right, "<|im_start|>", "<|im_end|>", eos=size + 1, pad=size))
    assert list(fixed.tokens) == list(right.tokens)
    assert fixed.special_ids == right.special_ids
    assert plan.repair.sentence == (
        f"removing 2 tokens (ids {size}-{size + 1}) that the reference does not have, and making token {size - 1} "
        '"<y>" the eos token (tokenizer.ggml.eos_token_id), and leaving the role pad without a token '
        "(tokenizer.ggml.padding_token_id)"
    )
    assert fix_exit_code(written(plan)) == 0


@pytest.mark.parametrize("bare", [False, True])
def test_ordinary_tokens_that_the_reference_does_not_have_are_removed_with_their_merges(bare: bool):
    right = ended(BPE)
    merges = [*BPE.merges, "ab 12"]
    wrong = replace(right, tokens=[*BPE.tokens, "ab12"], types=[*BPE.types, NORMAL], merges=merges)
    plan = planned(wrong, right, bare=bare)
    fixed = plan.change.transform(wrong)
    assert (list(fixed.tokens), list(fixed.merges)) == (list(BPE.tokens), list(BPE.merges))
    assert plan.change.sentence == f'removing token {len(BPE.tokens)} "ab12" that the reference does not have'
    assert fix_exit_code(written(plan)) == 0


def test_a_token_that_no_text_contains_is_removed_if_the_reference_has_fewer():
    right = ended(BPE)
    wrong = replace(right, tokens=[*BPE.tokens, "zz"], types=[*BPE.types, NORMAL])
    plan = planned(wrong, right, bare=True)
    assert list(plan.change.transform(wrong).tokens) == list(BPE.tokens)


@pytest.mark.parametrize("declared", [{}, {"eos": "<|end|>"}])
def test_a_role_of_a_removed_token_goes_to_another_token(declared: dict[str, str]):
    right = bpe_spec(["a b", "ab c"], {"<|end|>": CONTROL})
    right = replace(right, special_ids={"eos": len(right.tokens) - 1})
    document = build(right, resolve(right)).to_str().encode()
    facts = Opened(from_json(document, source="right", special_texts=declared, is_file=True).tokenizer)
    wrong = appended(right, "<|im_end|>", eos=len(right.tokens))
    plan = make_plan(Path("model.gguf"), Declaration(spec=wrong), facts, CASES)
    fixed = plan.change.transform(wrong)
    assert (list(fixed.tokens), fixed.special_ids) == (list(right.tokens), right.special_ids)
    assert fix_exit_code(written(plan)) == 0


def test_tokens_with_embeddings_are_replaced_by_padding():
    size = len(BPE.tokens)
    wrong = appended(BPE, "<|pad|>")
    declaration = Declaration(spec=replace(wrong, embedding_rows=size + 1), vocab_size=size + 1)
    plan = make_plan(Path("model.gguf"), declaration, Opened(Encoder(BPE, "right")), CASES)
    fixed = plan.change.transform(wrong)
    assert fixed.tokens[size:] == [f"[PAD{size}]"]
    assert fixed.types[size:] == [TokenType.UNUSED.value]
    removal, padding = plan.repair.sentence.split(", and ")
    assert removal.endswith("that the reference does not have")
    assert padding == f"adding 1 padding token, as the model has {size + 1} embeddings"
    assert fix_exit_code(written(plan)) == 0


def planned_with_embeddings(wrong: TokenizerSpec, right: TokenizerSpec, rows: int, **fields: object) -> Plan:
    declaration = Declaration(spec=replace(wrong, embedding_rows=rows), vocab_size=rows, **fields)
    return make_plan(Path("model.gguf"), declaration, Opened(Encoder(right, "right")), CASES)


def test_tokens_with_embeddings_are_replaced_by_padding_together_with_other_faults():
    wrong = replace(appended(BPE, "<|pad|>"), pre="qwen2", merges=BPE.merges[1:])
    plan = planned_with_embeddings(wrong, BPE, len(wrong.tokens))
    fixed = plan.change.transform(wrong)
    assert (fixed.pre, fixed.merges, len(fixed.tokens)) == (BPE.pre, BPE.merges, len(wrong.tokens))
    assert fix_exit_code(written(plan)) == 0


def test_padding_needs_no_text_that_verifies_it():
    many = appended(BPE, *(f"<|{number}|>" for number in range(2_000)))
    plan = planned_with_embeddings(many, BPE, len(many.tokens))
    assert plan.repair.inferred_tokens == 0
    assert fix_exit_code(written(plan)) == 0
    refused = replace(appended(BPE, "<|pad|>"), merges=None)
    plan = planned_with_embeddings(refused, BPE, len(refused.tokens), refusal=BrokenFileError("there are no merges"))
    assert fix_exit_code(written(plan)) == 0


def test_a_missing_token_is_followed_by_padding_if_the_model_has_more_embeddings():
    cut = replace(BPE, tokens=BPE.tokens[:-1], types=BPE.types[:-1])
    plan = planned_with_embeddings(cut, BPE, len(BPE.tokens) + 2)
    assert len(plan.change.transform(cut).tokens) == len(BPE.tokens) + 2
    assert fix_exit_code(written(plan)) == 0


def test_padding_that_the_reference_does_not_have_is_kept():
    wrong = appended(BPE, f"[PAD{len(BPE.tokens)}]")
    wrong = replace(wrong, types=[*BPE.types, TokenType.UNUSED.value])
    assert planned(wrong, BPE).change is None


def test_tokens_added_to_a_sentencepiece_model_are_kept():
    expected = Encoder(SPM, "right")
    expected.parses_special = False
    wrong = replace(appended(SPM, "<|pad|>"), scores=[*SPM.scores, 0.0])
    plan = make_plan(Path("model.gguf"), Declaration(spec=wrong), Opened(expected), CASES)
    assert plan.change is None or len(plan.change.transform(wrong).tokens) == len(wrong.tokens)


@pytest.mark.parametrize("bare", [False, True])
def test_special_ids_out_of_range_are_corrected(bare: bool):
    right = bpe_spec(["a b", "ab c"], {"<|endoftext|>": CONTROL})
    end = right.tokens.index("<|endoftext|>")
    right = replace(right, special_ids={"bos": end, "eos": end})
    wrong = replace(right, special_ids={"bos": end + 1, "eos": end + 1, "pad": end + 2})
    plan = planned(wrong, right, bare=bare)
    assert plan.repair.kind == "bos_id+eos_id+pad_id"
    assert {"bos": end, "eos": end}.items() <= plan.change.transform(wrong).special_ids.items()
    assert fix_exit_code(written(plan)) == 0


def planned_out_of_range(right: TokenizerSpec, *, bare: bool, **roles: int) -> tuple[Plan, TokenizerSpec]:
    wrong = replace(right, special_ids={**right.special_ids, **roles})
    plan = planned(wrong, right, bare=bare)
    return plan, plan.change.transform(wrong)


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("role", thinned(3, ["unk", "sep", "pad", "mask", "fim_pre"]))
def test_a_role_that_no_token_is_named_like_is_left_without_a_token(role: str, bare: bool):
    right = bpe_spec(["a b", "ab c"], {"<|endoftext|>": CONTROL})
    end = right.tokens.index("<|endoftext|>")
    right = replace(right, special_ids={"bos": end, "eos": end})
    plan, fixed = planned_out_of_range(right, bare=bare, **{role: end + 1})
    assert plan.repair.sentence.startswith(f"leaving the role {role} without a token")
    assert fixed.special_ids == right.special_ids


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("role", thinned(2, ["bos", "eos", "unk"]))
def test_a_role_out_of_range_goes_to_the_token_named_like_it(role: str, bare: bool):
    plan, fixed = planned_out_of_range(SPM, bare=bare, **{role: len(SPM.tokens)})
    assert plan.repair.kind == f"{role}_id"
    assert plan.repair.gguf_command is not None
    assert fixed.special_ids == SPM.special_ids


def test_a_role_out_of_range_is_not_exchanged_with_another():
    right = replace(SPM, chat_template=None)
    plan, fixed = planned_out_of_range(right, bare=True, bos=len(SPM.tokens), eos=1)
    assert fixed.special_ids == right.special_ids
    assert fix_exit_code(written(plan)) == 0


def test_roles_out_of_range_are_corrected_after_another_role():
    wrong = replace(SPM, special_ids={"bos": 2, "eos": 2, "unk": 0, "pad": len(SPM.tokens)})
    (change,) = certain_changes(wrong, None, Opened(None))
    other = replace(wrong, special_ids={**wrong.special_ids, "bos": 1})
    assert change.transform(other).special_ids == {"bos": 1, "eos": 2, "unk": 0}


def test_byte_tokens_are_typed_after_another_change():
    wrong = replace(SPM, types=[NORMAL if type == BYTE else type for type in SPM.types])
    (change,) = certain_changes(wrong, None, Opened(None))
    other = typed(wrong, "new word", NORMAL)
    assert change.transform(other).types == typed(SPM, "new word", NORMAL).types


def test_tokens_without_a_type_are_ordinary_if_the_reference_shows_no_types():
    wrong = replace(SPM, types=[TokenType.UNDEFINED.value if type == NORMAL else type for type in SPM.types])
    (change,) = certain_changes(wrong, None, Opened(None))
    assert change.transform(wrong).types == SPM.types


def test_byte_tokens_and_ordinary_ones_with_each_other_s_type_are_typed():
    other = {NORMAL: BYTE, BYTE: NORMAL}
    wrong = replace(SPM, types=[other.get(type, type) for type in SPM.types])
    plan = planned(wrong, SPM)
    assert plan.change.transform(wrong).types == SPM.types
    assert set(plan.change.kind.split("+")) == {"types"}
    assert fix_exit_code(written(plan)) == 0


def test_a_type_that_a_tokenizer_json_lists_is_repaired_even_if_no_text_shows_it():
    runs = ("\t\t", "\t\t\t")
    right = spm_spec({"a": -1, "\t": -2, **dict.fromkeys(runs, -3)}, dict.fromkeys(runs, USER_DEFINED))
    wrong = typed(typed(right, runs[0], CONTROL), runs[1], CONTROL)
    document = build(right, resolve(right)).to_str().encode()
    facts = Opened(from_json(document, source="tokenizer.json").tokenizer)
    plan = make_plan(Path("model.gguf"), Declaration(spec=wrong), facts, CASES)
    assert plan.before.counts[TYPES] == 2
    assert "types of tokens" not in to_report(plan).not_compared
    assert plan.change.transform(wrong).types == right.types


@pytest.mark.parametrize("roles", [{}, {"bos": len(SPM.tokens)}])
def test_a_file_with_too_few_types_is_repaired(roles: dict[str, int]):
    wrong = replace(SPM, types=SPM.types[:50], special_ids={**SPM.special_ids, **roles})
    declaration = Declaration(spec=wrong, refusal=BrokenFileError("has 50 elements"))
    plan = make_plan(Path("model.gguf"), declaration, Opened(Encoder(SPM, "right")), CASES)
    fixed = plan.change.transform(wrong)
    assert (fixed.types, fixed.special_ids) == (SPM.types, SPM.special_ids)
    assert fix_exit_code(written(plan)) == 0


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("name", thinned(2, ["types", "scores"]))
def test_types_and_scores_after_the_last_token_are_removed(name: str, bare: bool):
    wrong = replace(SPM, **{name: [*getattr(SPM, name), 1, 1]})
    declaration = Declaration(spec=wrong, refusal=BrokenFileError("has too many elements"))
    expected = Encoder(SPM, "right")
    plan = make_plan(Path("model.gguf"), declaration, Opened(Bare(expected) if bare else expected), CASES)
    fixed = plan.change.transform(wrong)
    assert (fixed.types, fixed.scores) == (SPM.types, SPM.scores)
    assert plan.change.kind == name
    assert plan.change.sentence == f"removing the {name} after the last token"
    assert fix_exit_code(written(plan)) == 0


def test_missing_scores_are_counted_as_differing():
    wrong = replace(SPM, scores=SPM.scores[:-3])
    declaration = Declaration(spec=wrong, refusal=BrokenFileError("has too few elements"))
    plan = make_plan(Path("model.gguf"), declaration, Opened(Encoder(SPM, "right")), CASES)
    assert plan.change.sentence == "using the reference's scores (3 differ)"


def test_tokens_that_are_missing_next_to_scores_that_are_not_are_added():
    wrong = replace(SPM, tokens=SPM.tokens[:-2])
    declaration = Declaration(spec=wrong, refusal=BrokenFileError("has too many elements"))
    plan = make_plan(Path("model.gguf"), declaration, Opened(Encoder(SPM, "right")), CASES)
    fixed = plan.change.transform(wrong)
    assert (fixed.tokens, fixed.types, fixed.scores) == (SPM.tokens, SPM.types, SPM.scores)
    assert fix_exit_code(written(plan)) == 0


def test_a_token_that_only_a_refused_file_matches_is_noticed_from_ids_alone():
    wrong = appended(BPE, "ab 12", pad=len(BPE.tokens) + 1)
    wrong = replace(wrong, types=[*BPE.types, USER_DEFINED])
    declaration = Declaration(spec=wrong, refusal=BrokenFileError("out of range"))
    plan = make_plan(Path("model.gguf"), declaration, Opened(Bare(Encoder(BPE, "right"))), [])
    left, right = Encoder(plan.change.transform(wrong)), Encoder(BPE)
    text = "ab 12"
    assert left.encode(text) == right.encode(text)


def test_placeholders_get_the_texts_and_types_that_a_tokenizer_json_lists():
    right = ended(BPE)
    document = build(right, resolve(right)).to_str().encode()
    facts = Opened(from_json(document, source="tokenizer.json").tokenizer)
    wrong = padded("abc", "12")(right)
    plan = make_plan(Path("model.gguf"), Declaration(spec=wrong), facts, CASES)
    fixed = plan.change.transform(wrong)
    assert (fixed.tokens, fixed.types) == (right.tokens, right.types)
    assert fix_exit_code(written(plan)) == 0


def test_an_id_without_a_token_in_the_reference_is_nothing_left_to_repair():
    right = ended(bpe_spec(["a b"], {"<x>": CONTROL, "<gone>": CONTROL, "<y>": CONTROL}))
    document = json.loads(build(right, resolve(right)).to_str())
    document["added_tokens"] = [token for token in document["added_tokens"] if token["content"] != "<gone>"]
    document["model"]["vocab"].pop("<gone>", None)
    facts = Opened(from_json(json.dumps(document).encode(), source="tokenizer.json").tokenizer)
    hole = right.tokens.index("<gone>")
    wrong = replace(right, tokens=[*right.tokens[:hole], "", "<z>"])
    plan = make_plan(Path("model.gguf"), Declaration(spec=wrong), facts, CASES)
    assert list(plan.change.transform(wrong).tokens) == [*right.tokens[:hole], "", "<y>"]
    assert fix_exit_code(written(plan)) == 0


def test_an_unused_token_gets_its_text_by_the_bytes_of_a_reference():
    right = ended(BPE)
    wrong = padded("abc")(right)
    wrong = replace(wrong, tokens=["gone" if token.startswith("[PAD") else token for token in wrong.tokens])
    plan = planned(wrong, right, bare=True)
    fixed = plan.change.transform(wrong)
    assert (fixed.tokens, fixed.types) == (right.tokens, right.types)


def test_placeholders_get_texts_and_types_by_the_bytes_of_a_reference():
    right = ended(BPE)
    wrong = padded("abc", "12", "<y>")(right)
    plan = planned(wrong, right, bare=True)
    fixed = plan.change.transform(wrong)
    assert (fixed.tokens, fixed.types) == (right.tokens, right.types)
    assert fix_exit_code(written(plan)) == 0


def test_types_of_more_tokens_than_a_diagnosis_sees_are_corrected_together():
    added = {"<x>": CONTROL, **{f"[PAD{id}]": USER_DEFINED for id in range(300)}}
    right = ended(bpe_spec([], added, tokens=[f"w{number}" for number in range(3_000)]))
    wrong = replace(right, types=[NORMAL if type == USER_DEFINED else type for type in right.types])
    plan = planned(wrong, right, bare=True)
    assert plan.change.transform(wrong).types == right.types
    assert (
        plan.change.sentence == 'setting the type of 300 tokens (ids 3257-3556, tags such as "[PAD0]") to USER_DEFINED'
    )
    assert fix_exit_code(written(plan)) == 0


def test_the_type_of_the_unknown_token_is_copied_with_those_of_others_but_not_alone():
    alone = typed(SPM, "<unk>", CONTROL)
    assert planned(alone, SPM).change is None
    unknown = TokenType.UNKNOWN.value
    wrong = replace(SPM, types=[unknown if type == CONTROL else type for type in SPM.types])
    right = typed(SPM, "<unk>", CONTROL)
    assert planned(wrong, right).change.transform(wrong).types == right.types


def test_more_types_than_texts_can_show_are_confirmed_by_probing():
    pieces = {f"▁w{number}": -float(number) for number in range(3_000)}
    right = spm_spec(pieces | dict.fromkeys("▁w0123456789", -1e4), special_ids={"bos": 1, "eos": 2, "unk": 0})
    wrong = replace(right, types=[TokenType.UNDEFINED.value if type == NORMAL else type for type in right.types])
    plan = planned(wrong, right, bare=True)
    assert plan.change.transform(wrong).types == right.types
    assert plan.repair.inferred_tokens == 0
    assert fix_exit_code(written(plan)) == 0


def test_a_flag_and_its_role_that_are_both_lost_are_restored_together():
    right = unigram_spec({"▁a": -1.0, "▁": -2.0, "b": -3.0, "<s>": 0.0}, {"<s>": CONTROL})
    ids = {"eos": 1, "unk": 2, "bos": right.tokens.index("<s>")}
    right = replace(right, special_ids=ids, add_bos=True, add_eos=True)
    wrong = replace(right, special_ids={"eos": 1, "unk": 2}, add_bos=None)
    plan = planned(wrong, right, bare=True)
    fixed = plan.change.transform(wrong)
    assert (fixed.add_bos, fixed.special_ids) == (True, ids)
    assert plan.change.kind == "add_bos+bos_id"
    assert fix_exit_code(written(plan)) == 0


@pytest.mark.slow
def test_more_texts_than_one_round_can_show_are_verified_in_further_rounds():
    numbers = [str(number) for number in range(10_000, 12_000)]
    known = [*numbers, *dict.fromkeys(number[:end] for number in numbers for end in range(2, 5))]
    right = ended(bpe_spec([f"{text[:-1]} {text[-1]}" for text in sorted(known, key=len)], {"<x>": CONTROL}))
    wrong = replace(right, tokens=[text.replace("1", "²", 1) if len(text) == 5 else text for text in right.tokens])
    plan = planned(wrong, right, bare=True)
    assert plan.change.transform(wrong).tokens == right.tokens
    assert plan.repair.changed_tokens == len(numbers)
    assert plan.repair.inferred_tokens == 0
    assert fix_exit_code(written(plan)) == 0


def test_a_change_that_further_texts_show_to_be_harmful_is_not_made():
    right = unigram()
    plan = planned(one_score("IM", -5.0)(right), right, bare=True)
    assert plan.before.counts[TEXTS] > 0
    assert plan.change is None
    assert plan.after.counts == plan.before.counts
    assert fix_exit_code(written(plan)) == 1


@pytest.mark.parametrize("role", ["eot", "fim_pad"])
def test_an_ordinary_token_ends_no_generation_besides_eos(role: str):
    right = ended(bpe_spec(["a b"], {"<x>": CONTROL}))
    wrong = replace(right, special_ids={**right.special_ids, role: right.tokens.index("a")})
    plan = planned(wrong, right)
    assert plan.change.transform(wrong).special_ids == right.special_ids
    assert fix_exit_code(written(plan)) == 0


def test_a_marker_that_is_typed_as_an_ordinary_token_keeps_its_role():
    spec = replace(BPE, special_ids={"eos": 256, "eot": BPE.tokens.index("<y>")})
    spec = typed(spec, "<y>", NORMAL)
    assert not [change for change in certain_changes(spec, Encoder(spec), Opened(None)) if change.kind == "eot_id"]


def test_tokens_without_a_type_that_exists_get_that_of_the_reference():
    right = ended(bpe_spec(["a b"], {"<x>": CONTROL}))
    wrong = replace(right, types=[0] * len(right.tokens))
    plan = planned(wrong, right)
    assert list(plan.change.transform(wrong).types) == list(right.types)
    assert fix_exit_code(written(plan)) == 0


def test_all_markers_are_typed_by_ids_alone_and_not_only_those_of_a_sample():
    for pattern in ("<image_{}>", ">>TITLE{}<<", "PI:URL{}", "[unused{}]"):
        added = dict.fromkeys(["<x>", *(pattern.format(number) for number in range(90))], CONTROL)
        right = ended(bpe_spec(["a b"], added))
        types = [
            NORMAL if text.startswith(pattern[:4]) else type
            for text, type in zip(right.tokens, right.types, strict=True)
        ]
        wrong = replace(right, types=types)
        plan = make_plan(Path("model.gguf"), Declaration(spec=wrong), Opened(IdsOnly(Encoder(right))), CASES)
        assert list(plan.change.transform(wrong).types) == list(right.types)
        assert fix_exit_code(written(plan)) == 0


class OtherIds(IdsOnly):
    """Returns other ids than those of its vocabulary, apart from BOS."""

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        ids = super().encode(text, add_special=add_special, parse_special=parse_special)
        return [id if id > 256 else (id * 7 + index + sum(text.encode())) % 200 for index, id in enumerate(ids)]


@pytest.mark.parametrize("hide", [OtherIds, IdsOnly])
def test_nothing_is_repaired_with_ids_that_still_differ_in_nearly_all_texts(hide: type[IdsOnly]):
    texts = [f"{one}{other} {other}{one}" for one in "abcdefghij" for other in "klmnopqrstuv"]
    cases = [Case(id=text, suite="made", text=text) for text in texts]
    right = replace(ended(bpe_spec(["a b"], {"<x>": CONTROL})), add_bos=True)
    wrong = replace(right, add_bos=False)
    arguments = Path("model.gguf"), Declaration(spec=wrong), Opened(hide(Encoder(right))), cases
    if hide is IdsOnly:
        assert make_plan(*arguments).change.transform(wrong).add_bos
    else:
        with pytest.raises(TokverifyError, match="shows only ids, and after the best repair they still differ"):
            make_plan(*arguments)


class Doubling(IdsOnly):
    """Returns the ids of a text with a line end twice, as no file does."""

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        ids = super().encode(text, add_special=add_special, parse_special=parse_special)
        return ids * 2 if "\n" in text else ids


class WithoutLineEnds(IdsOnly):
    """Removes line ends first."""

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        return super().encode(text.replace("\n", ""), add_special=add_special, parse_special=parse_special)


def plan_with_ids(wrong: TokenizerSpec, program: IdsOnly) -> Plan:
    words = [f"{one}{other}" for one in "abcdefghijklmno" for other in "abcdefghijklmno"]
    texts = [f"{word}\n{word}" for word in words] + [f"{word} x" for word in words] + ["yz", "zy"]
    cases = [Case(id=text, suite="made", text=text) for text in texts]
    return make_plan(Path("model.gguf"), Declaration(spec=wrong), Opened(program), cases)


def test_nothing_is_repaired_with_ids_if_nearly_all_differences_are_left():
    right = bpe_spec(["a b"])
    with pytest.raises(TokverifyError, match="differences are left, so something else causes them"):
        plan_with_ids(swapped(("y", "z"))(right), Doubling(Encoder(right)))


def test_a_repair_is_not_doubted_if_the_program_is_known_to_cause_the_rest():
    right = bpe_spec(["a b"])
    plan = plan_with_ids(swapped(("y", "z"))(right), WithoutLineEnds(Encoder(right)))
    assert "swapping back" in plan.repair.sentence


def test_a_repair_that_needs_no_reference_is_not_doubted_for_what_it_leaves():
    right = bpe_spec(["a b"])
    plan = plan_with_ids(replace(right, special_ids={"eos": 99_999}), Doubling(Encoder(right)))
    assert "eos" in plan.repair.sentence.lower()


def test_tokens_get_back_the_merges_that_were_taken_for_comments_and_no_other_type():
    made = bpe_spec(["a b", "# #", "## ##", "# [", "Ġ ##", "b a"], {"<x>": CONTROL}, tokens=["aba"])
    # The order of the tokens does not tell that of the merges.
    right = ended(replace(made, tokens=[*made.tokens[:256], "ab", "#[", "####", "##", "aba", "Ġ##", "ba", "<x>"]))
    wrong = replace(right, merges=[merge for merge in right.merges or () if not merge.startswith("#")])
    for hide in (IdsOnly, Bare):
        plan = make_plan(Path("model.gguf"), Declaration(spec=wrong), Opened(hide(Encoder(right))), CASES)
        assert sorted(plan.change.transform(wrong).merges) == sorted(right.merges)
        assert fix_exit_code(written(plan)) == 0


def test_byte_tokens_are_typed_although_ids_alone_do_not_show_it():
    right = replace(SPM, add_space_prefix=False)
    wrong = replace(right, types=[NORMAL if type == BYTE else type for type in right.types], add_space_prefix=True)
    plan = make_plan(Path("model.gguf"), Declaration(spec=wrong), Opened(IdsOnly(Encoder(right))), CASES)
    fixed = plan.change.transform(wrong)
    assert fixed.add_space_prefix is False
    assert [type for type in fixed.types if type == BYTE] == [BYTE] * 256


def test_an_end_whose_text_is_wrong_keeps_its_role():
    # By its own texts, "</s>" should be the end; but the reference has this text where the end is.
    exchanged = replace(SPM, tokens=[SPM.tokens[0], SPM.tokens[2], SPM.tokens[1], *SPM.tokens[3:]])
    encoder = Encoder(exchanged)
    alike, unlike = (Opened(Bare(Encoder(spec, "right"))) for spec in (exchanged, SPM))
    assert [change.kind for change in certain_changes(exchanged, encoder, alike)] == ["eos_id"]
    assert [*certain_changes(exchanged, encoder, unlike)] == []


def test_padding_that_only_the_file_has_makes_no_difference_in_texts():
    # Converters of 2024 made user-defined tokens of it; nobody writes such a text.
    padded = replace(BPE, tokens=[*BPE.tokens, "[PAD900]"], types=[*(BPE.types or ()), USER_DEFINED])
    plan = planned(padded, BPE, bare=True)
    assert plan.change is None
    assert plan.after.compared[TEXTS] == 0


class Surrounding(IdsOnly):
    """A reference that adds two tokens before a text, and one after it."""

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        ids = super().encode(text, add_special=False, parse_special=parse_special)
        return [0, 1, *ids, 2] if add_special else ids


def test_the_token_after_a_text_is_added_although_llama_cpp_cannot_add_those_before_it():
    right = replace(SPM, add_bos=False, add_eos=True)
    wrong = replace(right, add_eos=False)
    plan = make_plan(Path("model.gguf"), Declaration(spec=wrong), Opened(Surrounding(Encoder(right))), CASES)
    assert plan.change.sentence == "turning add_eos on"
