"""Rules against a reference: for each, what triggers it, and the agreeing pair that does not."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from support.rule_maker import CHATML, MERGES, against, bert_json, bpe_json, findings, good_bert, good_bpe
from support.sentencepiece_maker import UNIGRAM, make_model, train_model
from tokverify.compare.audit import audit
from tokverify.compare.checks import RULES
from tokverify.compare.opened import OpenedReference
from tokverify.compare.subject import NotEvaluatedError, Subject
from tokverify.errors import TokverifyError
from tokverify.references import open_reference
from tokverify.report.finding import ERROR, INFO, WARNING, Severity
from tokverify.sources.gguf.declaration import Declaration
from tokverify.sources.original_pattern import ORIGINALS
from tokverify.sources.sentencepiece.reader import read_spec as read_sentencepiece
from tokverify.spec import TokenType

BPE = good_bpe()
DIGITS = {
    "type": "Sequence",
    "pretokenizers": [
        {"type": "Digits", "individual_digits": True},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    ],
}
ROBERTA = {
    "type": "RobertaProcessing",
    "cls": ["<|im_start|>", 260],
    "sep": ["<|im_end|>", 261],
    "trim_offsets": True,
    "add_prefix_space": False,
}
WRITES_BOS = {"bos_token": "<|im_start|>", "chat_template": "{% set x = bos_token + content %}{{ x }}"}
TRUNCATION = {"direction": "Right", "strategy": "LongestFirst", "stride": 0}
LLAMA_CONFIG = {"tokenizer_class": "LlamaTokenizer"}
Change = Callable[[Path], Subject]


def gguf(document: dict | None = None, beside: dict | None = None, **changed: object) -> Change:
    """Make a subject whose GGUF side differs from its reference by `changed`."""
    spec = replace(BPE, **changed)
    return lambda directory: against(spec, document or bpe_json(BPE), directory, **beside or {})


def reference(**changed: object) -> Change:
    """Make a subject whose reference differs from the GGUF side by `changed`."""
    return lambda directory: against(BPE, bpe_json(BPE, **changed), directory)


def config(**content: object) -> Change:
    return gguf(beside={"tokenizer_config": content})


def bert(lowercase: bool, **config: object) -> Change:
    spec = good_bert(lowercase=lowercase)
    beside = {"tokenizer_config": config} if config else {}
    return lambda directory: against(spec, bert_json(spec, lowercase=False), directory, **beside)


def typed(**types: int) -> list[int]:
    return [types.get(f"id{id}", type) for id, type in enumerate(BPE.types)]


SWAPPED = [*BPE.tokens[:256], BPE.tokens[257], BPE.tokens[256], *BPE.tokens[258:]]
PADDED = {"tokens": [*BPE.tokens, "[PAD263]"], "types": [*BPE.types, TokenType.UNUSED.value]}
MORE = {"tokens": [*BPE.tokens, "extra"], "types": [*BPE.types, TokenType.USER_DEFINED.value]}
FEWER = {"tokens": BPE.tokens[:-1], "types": BPE.types[:-1]}

TRIGGERS: list[tuple[str, Change, Severity, str]] = [
    (
        "TV201",
        gguf(tokens=SWAPPED),
        ERROR,
        '2 ids represent different tokens: 256 "Ġa", not "ab"',
    ),
    ("TV201", gguf(**PADDED), INFO, "1 id is padding that only one side has"),
    ("TV201", gguf(**MORE), ERROR, '1 id has a token in the model only: 263 "extra"'),
    ("TV201", gguf(**FEWER), ERROR, '1 id has a token in the reference only: 262 "<think>"'),
    ("TV211", gguf(**FEWER), ERROR, '1 marker of the reference with no token in the file: 262 "<think>"'),
    (
        "TV201",
        gguf(beside={"tokenizer_config": {"eos_token": "<|im_start|>"}}),
        ERROR,
        'eos is 261 "<|im_end|>" in the model, but 260 "<|im_start|>" in the reference',
    ),
    (
        "TV201",
        gguf(beside={"tokenizer_config": {"pad_token": "<|im_end|>"}}, special_ids={"pad": 5}),
        INFO,
        "pad is 5",
    ),
    (
        "TV202",
        gguf(types=typed(id262=1)),
        ERROR,
        "1 token is an ordinary token in the model, but a user-defined token in the reference: 262",
    ),
    ("TV202", gguf(types=typed(id260=4)), ERROR, "a user-defined token in the model, but a control token"),
    ("TV202", gguf(types=typed(id262=3)), ERROR, "a control token in the model, but a user-defined token"),
    ("TV202", gguf(types=typed(id256=4)), ERROR, "a user-defined token in the model, but an ordinary token"),
    ("TV203", reference(flags={"rstrip": ["<|im_end|>"]}), WARNING, "1 token with rstrip in the reference"),
    ("TV203", reference(flags={"lstrip": ["<|im_end|>"]}), WARNING, "1 token with lstrip in the reference"),
    ("TV203", reference(flags={"single_word": ["<think>"]}), WARNING, "1 token with single_word in the reference"),
    (
        "TV203",
        reference(
            flags={"normalized": ["<think>"]},
            normalizer={"type": "Replace", "pattern": {"String": "<THINK>"}, "content": "<think>"},
        ),
        WARNING,
        "1 token with normalized in the reference, which GGUF cannot express",
    ),
    ("TV204", gguf(document=bpe_json(BPE, pre_tokenizer=DIGITS)), ERROR, "names that split the same way: starcoder"),
    (
        "TV204",
        gguf(document=bpe_json(BPE, pre_tokenizer=DIGITS, merges=MERGES[:3]), merges=MERGES[:3]),
        INFO,
        "with the same ids",
    ),
    ("TV205", reference(normalizer={"type": "Lowercase"}), WARNING, "the reference normalizes texts (Lowercase)"),
    (
        "TV205",
        reference(normalizer={"type": "Replace", "pattern": {"String": "never there"}, "content": ""}),
        INFO,
        "no probe text shows a difference",
    ),
    ("TV205", bert(lowercase=True), ERROR, "lowercase is True, but False in the reference"),
    ("TV206", gguf(add_bos=True), ERROR, 'the model adds 260 "<|im_start|>" before a text, the reference nothing'),
    (
        "TV206",
        reference(post_processor=ROBERTA),
        ERROR,
        'the model adds nothing after a text, the reference 261 "<|im_end|>"',
    ),
    (
        "TV212",
        gguf(beside={"generation_config": {"eos_token_id": [261, 262]}}),
        ERROR,
        '1 token ends a generation in the reference only: 262 "<think>"',
    ),
    ("TV213", reference(decoder=None), WARNING, "its tokenizer.json has no decoder"),
    ("TV207", gguf(merges=[MERGES[1], MERGES[0], *MERGES[2:]]), ERROR, "1 in another place"),
    ("TV207", gguf(merges=MERGES[:3]), ERROR, "1 missing ("),
    ("TV207", gguf(document=bpe_json(BPE, merges=MERGES[:3])), ERROR, f'1 extra ("{MERGES[3]}")'),
    (
        "TV207",
        gguf(document=bpe_json(BPE, merges=MERGES[:3]), merges=MERGES[:3], pre="llama-bpe"),
        ERROR,
        "ignore_merges is True",
    ),
    (
        "TV207",
        gguf(
            document=bpe_json(BPE, normalizer={"type": "Replace", "pattern": {"String": "ab"}, "content": "ba"}),
            pre="llama-bpe",
        ),
        INFO,
        "ignore_merges is True for the pre-tokenizer llama-bpe, but False in the reference; no tested text",
    ),
    ("TV208", config(add_eos_token=True), WARNING, "add_eos_token true, but the tokenizer adds none"),
    (
        "TV208",
        bert(lowercase=False, do_lower_case=True, tokenizer_class="BertTokenizer"),
        WARNING,
        "does not lowercase",
    ),
    (
        "TV208",
        gguf(document=bpe_json(BPE, post_processor=ROBERTA), beside={"tokenizer_config": {"eos_token": "<think>"}}),
        WARNING,
        'the tokenizer adds 261 "<|im_end|>"',
    ),
    (
        "TV208",
        config(**WRITES_BOS),
        WARNING,
        'bos_token "<|im_start|>", and the chat template writes it, but the tokenizer adds none',
    ),
    (
        "TV208",
        gguf(
            beside={
                "tokenizer_config": {"eos_token": "<|im_end|>"},
                "special_tokens_map": {"eos_token": {"content": "<think>"}},
            }
        ),
        WARNING,
        'eos_token "<|im_end|>", but special_tokens_map.json "<think>"',
    ),
    (
        "TV208",
        gguf(
            beside={
                "tokenizer_config": {"eos_token": "<|im_end|>"},
                "generation_config": {"eos_token_id": [260]},
            }
        ),
        WARNING,
        'generation_config.json ends a generation at 260 "<|im_start|>"',
    ),
    (
        "TV208",
        config(added_tokens_decoder={"262": {"content": "<think>", "special": True}}),
        WARNING,
        'disagree on whether 1 added token is special: 262 "<think>"',
    ),
    (
        "TV208",
        config(added_tokens_decoder={"260": {"content": "<|im_start|>", "rstrip": True, "lstrip": False}}),
        WARNING,
        'disagree about `rstrip` of 1 added token: 260 "<|im_start|>"',
    ),
    (
        "TV208",
        gguf(
            document=bpe_json(BPE, truncation={**TRUNCATION, "max_length": 128}),
            beside={"tokenizer_config": {"model_max_length": 512}},
        ),
        WARNING,
        "cuts a text off after 128 tokens, but tokenizer_config.json has model_max_length 512",
    ),
    (
        "TV208",
        gguf(
            document=bpe_json(BPE, normalizer={"type": "Prepend", "prepend": "▁"}),
            beside={"tokenizer_config": {"legacy": False}},
        ),
        WARNING,
        "legacy false, but tokenizer.json adds a space after each added token, too",
    ),
    (
        "TV208",
        gguf(
            document=(whole := bpe_json(BPE)) | {"model": whole["model"] | {"dropout": 0.1}},
            beside={"tokenizer_config": {"model_max_length": 512}},
        ),
        WARNING,
        "has dropout 0.1, with which programs that load it encode each text at random",
    ),
    ("TV209", config(**LLAMA_CONFIG), WARNING, "replaces ByteLevel by Metaspace"),
    ("TV209", config(fix_mistral_regex=True), WARNING, "fix_mistral_regex is set"),
    ("TV210", config(chat_template="{{ messages }}"), WARNING, "first in line 1"),
    ("TV210", config(chat_template=CHATML.replace("{% for", "{%  for")), INFO, "only in whitespace"),
    ("TV210", config(chat_template=f"/{CHATML}"), WARNING, 'but "/{% for'),
    # The line is quoted from a little before the place where it differs.
    ("TV210", config(chat_template=CHATML.replace("<|im_end|>", "<|end|>")), WARNING, "<|end|>"),
    ("TV210", config(chat_template=[{"name": "default", "template": "x"}]), WARNING, 'but "x" in the reference'),
    (
        "TV210",
        gguf(beside={"tokenizer_config": {"chat_template": "x"}}, chat_template=None),
        WARNING,
        "but the file has none",
    ),
]

AGREEING = gguf(
    beside={
        "tokenizer_config": {
            "chat_template": CHATML,
            "add_eos_token": False,
            "tokenizer_class": "X",
            "bos_token": "<|im_start|>",
            "eos_token": "<|im_end|>",
        },
        "generation_config": {"eos_token_id": 261},
    }
)


@pytest.mark.parametrize(("code", "change", "severity", "fragment"), TRIGGERS)
def test_trigger(tmp_path, code, change, severity, fragment):
    # A rule may find something, and then miss something else that the reference does not tell.
    found = audit(change(tmp_path), [RULES[code]]).findings
    matching = [finding for finding in found if fragment in finding.message]
    assert matching, [finding.message for finding in found]
    assert matching[0].severity == severity <= RULES[code].severity


@pytest.mark.parametrize("code", [code for code in RULES if code > "TV200"])
def test_agreeing_pair(tmp_path, code):
    assert findings(code, AGREEING(tmp_path)) == []


def test_every_rule_is_triggered():
    assert {row[0] for row in TRIGGERS} == {code for code in RULES if code > "TV200"}


@pytest.mark.parametrize("code", [code for code in RULES if code > "TV200"])
@pytest.mark.parametrize("location", [None, "rebuilt"])
def test_a_real_reference_is_required(code, location):
    found = OpenedReference(open_reference(location, spec=BPE)) if location else None
    with pytest.raises(NotEvaluatedError, match=r"name one with -r|rebuilt from the file"):
        findings(code, Subject(Declaration(spec=BPE), found))


def test_a_bert_normalizer_is_reduced_to_what_llama_cpp_does_differently(tmp_path):
    [found] = findings("TV205", bert(lowercase=False)(tmp_path))
    assert "the reference normalizes texts (BertNormalizer) and llama.cpp does not" in found.message


def test_broken_config_is_reported_as_not_evaluated(tmp_path):
    subject = AGREEING(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text("{")
    with pytest.raises(TokverifyError, match="cannot be read as JSON"):
        findings("TV210", subject)
    [skipped] = audit(subject, [RULES["TV210"]]).not_evaluated
    assert "cannot be read as JSON" in skipped.reason


def test_a_template_file_next_to_the_model_is_read(tmp_path):
    subject = gguf(chat_template="y")(tmp_path)
    (tmp_path / "chat_template.jinja").write_text("x")
    [found] = findings("TV210", subject)
    assert '"y", but "x" in the reference' in found.message


def test_an_unreadable_template_next_to_the_model_is_reported(tmp_path):
    subject = gguf()(tmp_path)
    (tmp_path / "chat_template.jinja").write_bytes(b"\xff")
    [skipped] = audit(subject, [RULES["TV210"]]).not_evaluated
    assert "chat_template.jinja: byte 0xFF on line 1 is not UTF-8" in skipped.reason


def test_of_names_that_split_alike_the_usual_one_is_the_repair(tmp_path):
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    split = {"type": "Split", "pattern": {"Regex": ORIGINALS["qwen2"]}, "behavior": "Isolated", "invert": False}
    document = bpe_json(BPE, pre_tokenizer={"type": "Sequence", "pretokenizers": [split, byte_level]})
    [found] = findings("TV204", gguf(document=document, pre="gpt-2")(tmp_path))
    assert found.repair.startswith("gguf-new-metadata --pre-tokenizer qwen2")


def test_plain_text_in_the_reference_too_is_no_error(tmp_path):
    """Zephyr's markers, for example, never were tokens."""
    template = CHATML + "<|assistant|>"
    subject = gguf(chat_template=template)(tmp_path)
    [found] = findings("TV112", subject)
    assert (found.severity, "here and in the reference" in found.message) == (INFO, True)
    [alone] = findings("TV112", replace(BPE, chat_template=template))
    assert alone.severity == ERROR
    rebuilt = Subject(subject.declaration, OpenedReference(open_reference("rebuilt", spec=subject.spec)))
    assert findings("TV112", rebuilt)[0].severity == ERROR


def test_unmatched_tokens_of_the_reference_are_no_warning(tmp_path):
    """Command R's vocabulary has 1,403 signs that are not written in the byte alphabet, in its tokenizer.json, too."""
    raw = replace(BPE, tokens=[*BPE.tokens[:200], "‼", *BPE.tokens[201:]])
    [found] = findings("TV119", against(raw, bpe_json(raw), tmp_path))
    assert (found.severity, "so it is in the reference" in found.message) == (INFO, True)
    [found] = findings("TV119", against(raw, bpe_json(BPE), tmp_path))
    assert found.severity == WARNING


@pytest.mark.parametrize(
    ("wrong", "beside"),
    [
        (CHATML + "<|assistant|>", {"tokenizer_config": {"chat_template": CHATML}}),
        (CHATML + "<｜im_start｜>", {}),
    ],
    ids=["another template", "a look-alike"],
)
def test_a_reference_does_not_confirm_a_template_that_it_does_not_have(wrong, beside, tmp_path):
    [found] = findings("TV112", gguf(chat_template=wrong, beside=beside)(tmp_path))
    assert found.severity == ERROR
    own = {"tokenizer_config": {"chat_template": wrong}}
    [found] = findings("TV112", gguf(chat_template=wrong, beside=own)(tmp_path))
    assert found.severity == INFO


def test_ordinary_in_the_reference_too_is_no_warning(tmp_path):
    plain = replace(BPE, types=[*BPE.types[:260], 1, *BPE.types[261:]], chat_template=None)
    [found] = findings("TV111", against(plain, bpe_json(plain), tmp_path))
    assert (found.severity, "typed NORMAL, as in the reference" in found.message) == (INFO, True)


def test_missing_pre_tokenizer_that_cuts_alike_is_only_a_warning(tmp_path):
    patterns = ("[\\p{P}$+<=>^~|]+", None, "\\p{N}+", "[0-9][0-9][0-9]")
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    splits = [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
        for pattern in patterns
        if pattern
    ]
    words = {
        **splits[0],
        "pattern": {"Regex": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"},
    }
    stages = [splits[0], words, *splits[1:], {**byte_level, "use_regex": False}]
    document = bpe_json(BPE, pre_tokenizer={"type": "Sequence", "pretokenizers": stages})
    [found] = findings("TV101", against(replace(BPE, pre=None), document, tmp_path))
    assert found.severity == WARNING


def test_extra_whitespace_that_llama_cpp_never_removes_is_a_limit(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(train_model(vocab_size=330, model_type="bpe", byte_fallback=True))
    spec = read_sentencepiece(path)
    (found,) = findings("TV207", Subject(Declaration(spec=spec), OpenedReference(open_reference(path))))
    assert (found.severity, found.keys) == (WARNING, ("tokenizer.ggml.remove_extra_whitespaces",))
    assert "TL003" in found.message
    path.write_bytes(train_model(vocab_size=90, model_type="unigram"))
    kept = replace(read_sentencepiece(path), remove_extra_whitespaces=False)
    (found,) = findings("TV207", Subject(Declaration(spec=kept), OpenedReference(open_reference(path))))
    assert found.severity is ERROR


def test_markers_that_a_sentencepiece_model_declares_user_defined_are_no_error(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    markers = "<|user|>,<|assistant|>,<|system|>,<|end|>"
    path.write_bytes(train_model(vocab_size=330, model_type="bpe", byte_fallback=True, user_defined_symbols=markers))
    spec = read_sentencepiece(path)
    (alone,) = findings("TV122", Subject(Declaration(spec=spec)))
    (found,) = findings("TV122", Subject(Declaration(spec=spec), OpenedReference(open_reference(path))))
    assert (alone.severity, found.severity) == (ERROR, INFO)
    assert found.message.endswith("; so they are in the reference")


def test_scores_that_are_all_the_same_in_the_reference_too_are_no_error(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    pieces = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3), *((piece, 0.0, 1) for piece in "▁ab")]
    path.write_bytes(make_model(pieces, {3: UNIGRAM}))
    spec = read_sentencepiece(path)
    (alone,) = findings("TV108", Subject(Declaration(spec=spec)))
    (found,) = findings("TV108", Subject(Declaration(spec=spec), OpenedReference(open_reference(path))))
    assert (alone.severity, found.severity) == (ERROR, INFO)


def test_bos_that_the_reference_adds_without_naming_it_is_no_error(tmp_path: Path):
    spec = replace(BPE, special_ids={"bos": 261, "eos": 261, "eot": 261}, add_bos=True)
    subject = against(spec, bpe_json(BPE, post_processor={**ROBERTA, "cls": ["<|im_end|>", 261]}), tmp_path)
    (found,) = (each for each in findings("TV121", subject) if each.keys == ("tokenizer.ggml.bos_token_id",))
    assert found.severity is INFO


def test_a_piece_that_a_sentencepiece_model_defines_is_tried_in_texts(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    rules = {
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
        "user_defined_symbols": "[x],[y]",
    }
    path.write_bytes(train_model(vocab_size=330, model_type="bpe", byte_fallback=True, **rules))
    subject = Subject(Declaration(spec=read_sentencepiece(path)), OpenedReference(open_reference(path)))
    (found,) = findings("TV202", subject)
    assert (found.severity, found.ids) == (WARNING, (3, 4))
    assert 'encoded differently: 3 "[x]", 4 "[y]"; "[x]" is [3]' in found.message
    assert found.message.endswith("before it normalizes them (TL013)")


def test_a_token_that_another_one_overlaps_is_tried_in_texts(tmp_path: Path):
    """llama.cpp matches the longest token of a text first, and the reference the one that begins first."""
    spec = replace(BPE, tokens=[*BPE.tokens, "a<"], types=[*BPE.types, TokenType.USER_DEFINED.value])
    (found,) = findings("TV202", against(spec, bpe_json(spec), tmp_path))
    assert (found.severity, found.ids) == (INFO, (260, 261, 262))
    assert "3 tokens added on both sides but matched differently in a text" in found.message
    assert "(TL008)" in found.message


def test_a_space_that_only_the_sentencepiece_model_beside_a_reference_adds_is_reported(tmp_path: Path):
    (tmp_path / "tokenizer.model").write_bytes(train_model(vocab_size=330, model_type="bpe", byte_fallback=True))
    messages = [found.message for found in findings("TV208", against(BPE, bpe_json(BPE), tmp_path))]
    assert "tokenizer.model has add_dummy_prefix true, but tokenizer.json does the opposite" in messages


def test_a_reference_that_splits_texts_although_its_model_does_not_is_an_error(tmp_path: Path):
    spec = good_bert()
    stages = [{"type": "BertPreTokenizer"}, {"type": "Digits", "individual_digits": True}]
    splitting = {**bert_json(spec, lowercase=False), "pre_tokenizer": {"type": "Sequence", "pretokenizers": stages}}
    (found,) = findings("TV204", against(spec, splitting, tmp_path))
    assert found.severity is ERROR
    assert "the reference splits texts (Digits) and the model bert does not" in found.message


def test_tokens_around_a_text_are_repaired_by_a_flag_or_an_id(tmp_path: Path):
    begins_with_261 = bpe_json(BPE, post_processor={**ROBERTA, "cls": ["<|im_end|>", 261]})
    begins_with_260 = replace(BPE, special_ids={"bos": 260, "eos": 261}, add_bos=True, add_eos=True)
    (flag,) = findings("TV206", gguf(add_bos=True)(tmp_path))
    (id,) = findings("TV206", against(begins_with_260, begins_with_261, tmp_path))
    assert flag.repair == "gguf-set-metadata --force MODEL tokenizer.ggml.add_bos_token ''"
    assert id.repair == "gguf-new-metadata --special-token-by-id bos 261 MODEL FIXED"
