"""Rules on the GGUF file alone: for each, what triggers it, and what comes close and does not."""

from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest

from support.rule_maker import CHATML, findings, good_bert, good_bpe, good_spm, good_t5
from support.spec_maker import BYTE, BYTE_PIECES, CONTROL, USER_DEFINED, bpe_spec
from tokverify.compare.checks import RULES
from tokverify.compare.marker_type import FAMILIES
from tokverify.compare.opened import OpenedReference
from tokverify.compare.subject import Subject
from tokverify.engine.joined_strings import JoinedStrings
from tokverify.engine.special_text import EOG_TEXTS, FIM_TEXTS
from tokverify.errors import BrokenFileError
from tokverify.references import open_reference
from tokverify.report.finding import ERROR, INFO, WARNING
from tokverify.sources.gguf.declaration import Declaration
from tokverify.sources.gguf.writer import write_gguf
from tokverify.spec import TokenizerSpec

BPE, SPM, BERT, T5 = good_bpe(), good_spm(), good_bert(), good_t5()
# llama.cpp's default for BOS is the token 1.
UNKNOWN_SECOND = replace(
    SPM, tokens=["<s>", "<unk>", *SPM.tokens[2:]], special_ids={"eos": 2, "unk": 1}, add_bos=False, chat_template=None
)


def qwen_markers(type: int) -> dict[str, int]:
    return {"<|im_start|>": 3, "<|im_end|>": 3, "<tool_call>": type, "</tool_call>": type}


def qwen(opening: int, closing: int) -> TokenizerSpec:
    return bpe_spec([], qwen_markers(opening) | {"</tool_call>": closing})


def mistral(type: int) -> TokenizerSpec:
    return bpe_spec([], {"[INST]": 3, "[/INST]": 3, "[TOOL_CALLS]": type, "[AVAILABLE_TOOLS]": 3})


def tokens(spec, **changed):
    """Replace some texts with others."""
    return [changed.get(f"id{id}", token) for id, token in enumerate(spec.tokens)]


def types(spec, **changed):
    return [changed.get(f"id{id}", type) for id, type in enumerate(spec.types)]


def declared(spec, **facts):
    return Subject(Declaration(spec=spec, **facts))


PHI3 = bpe_spec(
    [], dict.fromkeys(["<|user|>", "<|assistant|>", "<|system|>", "<|end|>", "<|placeholder1|>", "</s>"], 3)
)
PHI3 = replace(PHI3, tokens=[*PHI3.tokens, "<unk>", "<s>", "<|endoftext|>"], types=[*PHI3.types, 3, 3, 3])
GEMMA4 = TokenizerSpec(
    model="gemma4", tokens=[*BYTE_PIECES, "▁", "a", "▁a"], types=[BYTE] * 256 + [1] * 3, merges=["▁ a"]
)


def marked_t5(*, score: float) -> TokenizerSpec:
    """A unigram model that also has the characters of its marker, which is NORMAL, as pieces."""
    more = ["<extra_id_0>", *sorted(set("<extra_id_0>") - {"a"})]
    scores = [*T5.scores, score, *[-3.0] * (len(more) - 1)]
    return replace(T5, tokens=[*T5.tokens, *more], scores=scores, types=[*T5.types, *[1] * len(more)])


# code, what triggers it, the severity, a part of the message
TRIGGERS = [
    ("TV100", replace(BPE, tokens=tokens(BPE, id0="b")), ERROR, "llama.cpp refuses the tokenizer"),
    ("TV100", replace(BPE, general={"name": "phi-3"}), ERROR, "which is missing; unless it is a Phi-3 model"),
    ("TV100", declared(BPE, refusal=BrokenFileError("eos")), ERROR, "the file contradicts itself: eos"),
    ("TV101", replace(BPE, pre=None), ERROR, "tokenizer.ggml.pre is missing"),
    ("TV101", replace(BPE, pre="default"), ERROR, "is default"),
    ("TV102", replace(BPE, pre="qwen22"), ERROR, 'is "qwen22", which llama.cpp does not know; did you mean qwen2'),
    ("TV102", replace(BPE, model="gpt3"), ERROR, 'tokenizer.ggml.model is "gpt3"'),
    ("TV103", replace(SPM, types=types(SPM, id264=1)), WARNING, "declared NORMAL, effective NORMAL|CONTROL"),
    (
        "TV103",
        replace(SPM, tokens=tokens(SPM, id260="<|eot_id|>"), types=types(SPM, id260=1, id264=1)),
        WARNING,
        "types of 2 tokens: declared NORMAL, effective NORMAL|CONTROL",
    ),
    ("TV103", replace(SPM, add_bos=None), INFO, "add_bos: not declared, effective True"),
    ("TV104", replace(SPM, tokens=tokens(SPM, id261="a")), ERROR, '"a" as 260 (type 1), 261 (type 1)'),
    ("TV104", replace(SPM, tokens=tokens(SPM, id261="a\0b")), ERROR, "1 text stands for more than one token"),
    ("TV104", replace(SPM, tokens=tokens(SPM, id261="")), WARNING, "renamed by llama.cpp: [EMPTY_261]"),
    ("TV105", replace(SPM, scores=[0.0]), ERROR, "tokenizer.ggml.scores has 1 element for 265 tokens"),
    ("TV105", replace(SPM, types=[1, 1]), ERROR, "tokenizer.ggml.token_type has 2 elements"),
    ("TV105", declared(replace(SPM, embedding_rows=300)), ERROR, "token_embd.weight has 300 rows for 265 tokens"),
    ("TV105", declared(SPM, vocab_size=300), WARNING, "vocab_size is 300"),
    (
        "TV105",
        replace(SPM, tokens=tokens(SPM, id263="[PAD0]", id264="[PAD1]")),
        INFO,
        "2 tokens at the end are padding",
    ),
    ("TV106", replace(SPM, special_ids={"bos": 1, "eos": 260}), ERROR, 'is the ordinary token "a": a generation ends'),
    (
        "TV106",
        replace(SPM, special_ids={"bos": 1, "eos": 264}, tokens=tokens(SPM, id264="<|reserved_1|>")),
        WARNING,
        'is "<|reserved_1|>", which is reserved',
    ),
    (
        "TV106",
        replace(SPM, special_ids={"bos": 1, "eos": 13}),
        ERROR,
        'is the ordinary token "<0x0A>": a generation ends',
    ),
    *(
        (
            "TV106",
            replace(SPM, special_ids={"bos": 1, "eos": 2, role: 13}),
            ERROR,
            f"{role}_token_id, 13, is the ordinary",
        )
        for role in ("fim_pad", "fim_rep", "fim_sep", "fim_pre", "fim_suf", "fim_mid")
    ),
    (
        "TV106",
        bpe_spec(
            [], dict.fromkeys(["<|fim_prefix|>", "<tool>", "</s>"], CONTROL), special_ids={"eos": 258, "fim_pre": 257}
        ),
        WARNING,
        'is "<tool>", but 256 "<|fim_prefix|>" has the name of this role',
    ),
    ("TV106", replace(SPM, special_ids={"bos": 260, "eos": 2}), ERROR, "it is added to every text"),
    ("TV106", replace(SPM, special_ids={"bos": 999}), ERROR, "is 999, but there are only"),
    ("TV106", replace(BPE, special_ids={}), ERROR, "llama.cpp's default for tokenizer.ggml.eos_token_id, 11,"),
    (
        "TV106",
        replace(BPE, special_ids={"eos": 261}, chat_template=None),
        INFO,
        "chat templates that begin with bos_token",
    ),
    ("TV106", replace(BPE, special_ids={"eos": 261}, chat_template="{{ bos_token }}"), WARNING, "bos_token contain it"),
    (
        "TV106",
        replace(BPE, special_ids={"bos": 12, "eos": 261}, chat_template=None),
        WARNING,
        "bos_token_id, 12, is the",
    ),
    ("TV106", replace(BERT, special_ids={"bos": 2, "sep": 6}), ERROR, '"▁b": it is added to every text'),
    ("TV106", replace(BERT, special_ids={"sep": 3}), ERROR, "the bos token is added to every text"),
    ("TV107", replace(BPE, merges=None), ERROR, "texts are never merged"),
    ("TV107", replace(BPE, merges=[*BPE.merges, "x y"]), WARNING, "no tested text shows a difference"),
    ("TV107", replace(BPE, merges=["x a", *BPE.merges]), ERROR, 'not a token: "x a"; "xab" is encoded as'),
    ("TV107", replace(BPE, merges=["#version: 0.2", *BPE.merges]), WARNING, "1 merge of no effect"),
    ("TV107", replace(BPE, merges=[*BPE.merges, "xy"]), ERROR, 'without two parts: "xy"'),
    ("TV107", replace(BPE, merges=[]), ERROR, "texts are never merged"),
    ("TV107", replace(BPE, merges=BPE.merges[:1]), ERROR, "no merge produces 3 ordinary tokens"),
    ("TV107", replace(BPE, merges=BPE.merges[:3]), INFO, '259 "12"'),
    ("TV108", replace(SPM, scores=[0.0] * 265), ERROR, "the same score, 0, so nothing ranks them"),
    ("TV106", replace(T5, model="plamo2", special_ids={"bos": 4}, add_bos=True), ERROR, "it is added to every text"),
    ("TV108", replace(T5, model="plamo3", scores=None), ERROR, "nothing ranks the tokens"),
    ("TV108", replace(T5, scores=None), ERROR, "nothing ranks the tokens"),
    ("TV109", replace(SPM, tokens=tokens(SPM, id13="x")), ERROR, "1 byte token missing (<0x0A>): llama.cpp stops"),
    ("TV109", replace(SPM, types=types(SPM, id13=1)), ERROR, "and therefore decoded as text"),
    ("TV109", replace(SPM, types=types(SPM, id260=BYTE)), ERROR, "typed BYTE but not named like one"),
    ("TV109", replace(GEMMA4, tokens=["x", *GEMMA4.tokens[1:]]), ERROR, "drops the character"),
    (
        "TV109",
        replace(
            T5, tokens=[*T5.tokens, *BYTE_PIECES], types=[*T5.types, *[BYTE] * 256], scores=[*T5.scores, *[-9.0] * 256]
        ),
        WARNING,
        "never used",
    ),
    ("TV110", replace(SPM, types=None), WARNING, "token_type is missing"),
    (
        "TV110",
        replace(SPM, types=types(SPM, id260=0)),
        ERROR,
        '1 token of no type that exists, which are decoded to nothing: 260 "a"',
    ),
    ("TV111", replace(BPE, types=types(BPE, id260=1)), ERROR, "the chat template contains 1 token that looks special"),
    ("TV111", replace(BPE, types=types(BPE, id260=1), chat_template=None), WARNING, "split into pieces"),
    (
        "TV111",
        bpe_spec(["< s", "<s >"]),
        INFO,
        'typed NORMAL; merges make it, so it was probably learned from texts: 257 "<s>"',
    ),
    ("TV111", bpe_spec(["< s", "<s >"], chat_template="<s>"), ERROR, "the chat template contains 1 token"),
    ("TV111", marked_t5(score=-99.0), WARNING, 'typed NORMAL, so it is split into pieces: 6 "<extra_id_0>'),
    ("TV112", replace(BPE, tokens=tokens(BPE, id260="<|other|>")), ERROR, '"<|im_start|>"'),
    ("TV112", replace(SPM, chat_template=CHATML), WARNING, "for which there is no token"),
    ("TV112", replace(BPE, chat_template=f"{CHATML}{{{{ '<|media_pad|>' }}}}"), WARNING, '"<|media_pad|>"'),
    ("TV112", replace(BPE, chat_template=f"{CHATML}{{{{ '<|tool_sep|>' }}}}"), WARNING, '"<|tool_sep|>"'),
    ("TV112", replace(BPE, chat_template=f"{CHATML}{{{{ '<|tool_sep|>' }}}}<|sep|>"), ERROR, '"<|tool_sep|>"'),
    (
        "TV113",
        bpe_spec(
            [],
            {"<|stop|>": 3, "<|END_OF_TURN_TOKEN|>": 3},
            special_ids={"eos": 256},
            chat_template="<|END_OF_TURN_TOKEN|>",
        ),
        ERROR,
        "which does not end a generation",
    ),
    ("TV114", replace(SPM, chat_template="{% if x %}{% endif %}\n{{- bos_token }}"), INFO, "BOS is added to texts"),
    ("TV114", replace(SPM, chat_template="{{ '<s>[INST]' }}"), INFO, "BOS is added to texts"),
    ("TV114", replace(SPM, chat_template="<s>{{ messages }}"), INFO, "BOS is added to texts"),
    ("TV114", replace(SPM, chat_template="{{ bos_token }}{{ '<s>' }}"), WARNING, "itself begins with BOS twice"),
    ("TV114", replace(SPM, chat_template="<s><s>", add_bos=False), WARNING, "itself begins with BOS twice"),
    ("TV121", replace(SPM, special_ids={"bos": 1, "eos": 1}), ERROR, "already the token of bos"),
    (
        "TV121",
        replace(SPM, special_ids={"bos": 2, "eos": 1}),
        ERROR,
        '2 "</s>", which is usually the name of the eos token',
    ),
    ("TV121", replace(BPE, special_ids={"eos": 260}), ERROR, 'eos is 260 "<|im_start|>", which begins a turn'),
    ("TV121", replace(SPM, special_ids={"bos": 2, "eos": 1}), ERROR, 'eos is 1 "<s>", which is usually the name'),
    (
        "TV121",
        replace(SPM, special_ids={"bos": 2, "eos": 1, "pad": 2}),
        ERROR,
        "eos token and already the token of pad",
    ),
    (
        "TV121",
        replace(T5, special_ids={"eos": 0, "unk": 2}),
        ERROR,
        'eos is 0 "<pad>", which is already the token of pad',
    ),
    ("TV121", replace(T5, special_ids={"eos": 1, "unk": 0}), ERROR, 'unk is 0 "<pad>"'),
    (
        "TV121",
        replace(BPE, special_ids={"eos": 261, "eot": 260}, chat_template=None),
        ERROR,
        'eot is 260 "<|im_start|>", which begins a turn',
    ),
    ("TV106", replace(BPE, special_ids={"eos": 261, "eot": 260}), ERROR, "which stands before or inside an answer"),
    ("TV121", replace(SPM, special_ids={"bos": 1, "eos": 2, "pad": 2}), INFO, 'pad is 2 "</s>"'),
    ("TV121", UNKNOWN_SECOND, WARNING, 'bos is 1 "<unk>"'),
    ("TV121", replace(UNKNOWN_SECOND, add_bos=True), ERROR, 'bos is 1 "<unk>"'),
    ("TV121", replace(UNKNOWN_SECOND, chat_template="{{ bos_token }}"), ERROR, 'bos is 1 "<unk>"'),
    ("TV121", replace(UNKNOWN_SECOND, special_ids={"bos": 1, "eos": 2, "unk": 1}), WARNING, 'bos is 1 "<unk>"'),
    (
        "TV121",
        replace(SPM, special_ids={"bos": 2, "eos": 2}, add_bos=False, chat_template="{{ eos_token }}"),
        WARNING,
        'bos is 2 "</s>", which is already the token of eos',
    ),
    ("TV122", qwen(USER_DEFINED, 1), ERROR, "typed NORMAL, but USER_DEFINED if converted from Qwen/"),
    ("TV122", qwen(CONTROL, CONTROL), WARNING, "typed CONTROL, but USER_DEFINED"),
    ("TV122", mistral(USER_DEFINED), ERROR, "typed USER_DEFINED, but CONTROL if converted from mistralai/"),
    ("TV122", mistral(1), ERROR, "typed NORMAL, but CONTROL if converted from mistralai/"),
    ("TV123", bpe_spec([], {"!": CONTROL}, special_ids={"pad": 33}), WARNING, '33 "!", which has the role pad'),
    ("TV123", bpe_spec([], {"Ġthe": CONTROL, "of": CONTROL}), WARNING, "2 ordinary tokens are typed CONTROL"),
    ("TV124", replace(BPE, chat_template="{% for m in messages %}{{ m }}{% end"), ERROR, "line 1: "),
    (
        "TV124",
        replace(BPE, chat_template='[{"name": "default", "template": "{{ messages }}"}]'),
        ERROR,
        "it is JSON, such as",
    ),
    ("TV124", replace(BPE, chat_template="{{ .Prompt }}"), ERROR, "cannot be read: line 1: unexpected '.'"),
    ("TV124", replace(BPE, chat_template="{% endif %}"), ERROR, "Encountered unknown tag 'endif'"),
    (
        "TV124",
        replace(BPE, named_chat_templates={"rag": "\n{{"}),
        ERROR,
        "the chat template rag cannot be read: line 2",
    ),
    ("TV130", replace(BPE, general={"architecture": "no-such-architecture"}), WARNING, "no-such-architecture"),
    ("TV131", replace(SPM, suppressed=[1, 400, -1]), WARNING, "lists 400, -1, out of range for 265 tokens"),
    ("TV131", replace(SPM, suppressed=[*range(len(SPM.tokens))]), ERROR, "no token is left that ends a generation"),
    ("TV131", replace(PHI3, suppressed=[PHI3.tokens.index("</s>")]), WARNING, "which end a generation"),
    ("TV132", replace(BPE, unread_keys=("tokenizer.ggml.normalizer.nfkd",)), WARNING, "does not read tokenizer.ggml."),
    ("TV115", replace(T5, general={"architecture": "nomic-bert-moe"}), WARNING, "add_bos_token does not declare"),
    ("TV115", declared(BPE, pooling=True), WARNING, "add_eos_token does not declare"),
    ("TV116", replace(PHI3, general={"name": "My Phi-3 tune"}), WARNING, "makes added tokens strip whitespace"),
    ("TV116", replace(PHI3, general={"name": "My tune"}), WARNING, "looks like Phi-3's"),
    ("TV117", replace(T5, charsmap=None), WARNING, "texts are not normalized"),
    ("TV117", replace(T5, charsmap=b"ab"), ERROR, "2 bytes"),
    ("TV117", replace(T5, charsmap=b"\x40\0\0\0ab"), ERROR, "truncated"),
    ("TV117", replace(SPM, charsmap=b"\0\0\0\0\0"), WARNING, "which llama.cpp ignores for the model llama"),
    (
        "TV118",
        replace(BPE, tokens=tokens(BPE, **{f"id{id}": f"▁{id}" for id in range(4)})),
        ERROR,
        "4 tokens begin with ▁",
    ),
    ("TV118", replace(SPM, tokens=tokens(SPM, id259="Ġa", id260="Ġb", id261="Ġc")), ERROR, "3 tokens begin with Ġ"),
    ("TV118", replace(BERT, tokens=[*BERT.tokens[:5], "a", "b", "##a", "##b", "##c"]), ERROR, "3 tokens begin with ##"),
    ("TV119", replace(SPM, tokens=tokens(SPM, id261="\udcff\udcfe")), WARNING, "1 ordinary token that is not UTF-8"),
    ("TV119", bpe_spec([], {"Ċ": USER_DEFINED}, tokens=["Ċ"]), WARNING, "1 added token written in the byte alphabet"),
    ("TV119", bpe_spec([], tokens=["\n"]), WARNING, "outside the byte alphabet"),
    ("TV119", bpe_spec([], {"<|a|>": CONTROL, "x<|a|>": CONTROL}), INFO, '"<|a|>" in "x<|a|>"'),
    ("TV120", replace(SPM, tokens=tokens(SPM, id262="  ")), ERROR, "1 ordinary token with a real space"),
    ("TV120", replace(SPM, tokens=tokens(SPM, id262=" ")), WARNING, "1 ordinary token with a real space"),
    (
        "TV120",
        replace(SPM, tokens=tokens(SPM, id262="▁▁"), types=types(SPM, id262=USER_DEFINED)),
        WARNING,
        "with ▁, which",
    ),
]

# code, what comes close and does not trigger it
# What llama.cpp's converter writes.
RWKV = TokenizerSpec(
    model="rwkv", tokens=["<s>", "a", "\\n\\n"], types=[3, 1, 1], special_ids={"bos": 0, "eos": 0, "eot": 2}
)

CLEAN = [
    ("TV100", BPE),
    ("TV100", replace(BPE, pre="unknown")),
    ("TV101", BPE),
    ("TV101", replace(SPM, pre="default")),
    ("TV102", BPE),
    ("TV102", replace(SPM, pre="anything")),
    ("TV103", SPM),
    ("TV104", SPM),
    ("TV105", declared(replace(SPM, embedding_rows=265), vocab_size=265)),
    ("TV106", BPE),
    ("TV106", SPM),
    ("TV106", BERT),
    ("TV107", BPE),
    ("TV107", replace(BPE, merges=BPE.merges[:1], pre="llama-bpe")),
    ("TV107", replace(SPM, merges=None)),
    ("TV107", GEMMA4),
    ("TV108", SPM),
    ("TV108", GEMMA4),
    ("TV109", replace(GEMMA4, tokens=tokens(GEMMA4, id9="\t"), types=None)),
    ("TV109", SPM),
    ("TV109", GEMMA4),
    ("TV109", T5),
    ("TV110", SPM),
    ("TV110", replace(SPM, types=None, mistyped_keys={"tokenizer.ggml.token_type": "ARRAY of UINT32"})),
    ("TV111", BPE),
    ("TV111", replace(BPE, types=types(BPE, id261=1))),
    ("TV111", marked_t5(score=0.0)),
    ("TV111", replace(marked_t5(score=0.0), chat_template="<extra_id_0>")),
    ("TV112", BPE),
    ("TV112", replace(BPE, chat_template="{{ '<tools>[INST]' }}{# <|comment|> #}")),
    ("TV113", BPE),
    (
        "TV113",
        bpe_spec([], {"<|END_OF_TURN_TOKEN|>": 3}, special_ids={"eos": 256}, chat_template="<|END_OF_TURN_TOKEN|>"),
    ),
    ("TV114", replace(SPM, chat_template="{{ messages }}{{ bos_token }}")),
    ("TV114", replace(SPM, chat_template="{{ bos_token }}", add_bos=False)),
    ("TV121", BPE),
    ("TV121", SPM),
    ("TV121", BERT),
    ("TV121", T5),
    ("TV121", bpe_spec([], {"<|endoftext|>": 3}, special_ids={"bos": 256, "eos": 256, "pad": 256})),
    ("TV122", BPE),
    ("TV122", qwen(USER_DEFINED, USER_DEFINED)),
    ("TV122", mistral(CONTROL)),
    ("TV123", BPE),
    ("TV123", bpe_spec([], {"EOT": CONTROL, "<s>": CONTROL, ">>TITLE<<": CONTROL, "12": CONTROL})),
    ("TV130", replace(BPE, general={"architecture": "llama"})),
    ("TV130", replace(BPE, general={"architecture": "beam"})),
    ("TV131", SPM),
    ("TV131", replace(SPM, suppressed=[0])),
    ("TV132", BPE),
    ("TV115", replace(T5, general={"architecture": "nomic-bert-moe"}, add_bos=True)),
    ("TV115", replace(BERT, general={"architecture": "bert"})),
    ("TV116", BPE),
    ("TV116", replace(SPM, general={"name": "gemma"})),
    ("TV117", T5),
    ("TV118", BPE),
    ("TV118", SPM),
    ("TV118", BERT),
    (
        "TV124",
        replace(BPE, chat_template="{% generation %}{% for m in x %}{% break %}{% endfor %}{%- endgeneration -%}"),
    ),
    ("TV124", replace(BPE, chat_template="{% new %}{% endnew %}")),
    ("TV124", replace(BPE, chat_template=None)),
    ("TV119", BPE),
    ("TV119", SPM),
    ("TV120", SPM),
    ("TV120", replace(SPM, tokens=tokens(SPM, id262="  "), types=types(SPM, id262=USER_DEFINED))),
    ("TV120", bpe_spec([], tokens=["a b"])),
    ("TV120", TokenizerSpec(model="rwkv", tokens=["a b", "\\n"], types=[1, 1])),
    ("TV106", RWKV),
    ("TV121", RWKV),
]


@pytest.mark.parametrize(("code", "subject", "severity", "fragment"), TRIGGERS)
def test_trigger(code, subject, severity, fragment):
    found = findings_so_far(code, subject)
    matching = [finding for finding in found if fragment in finding.message]
    assert matching, [finding.message for finding in found]
    assert matching[0].severity == severity <= RULES[code].severity
    assert matching[0].code == code


@pytest.mark.parametrize(("code", "subject"), CLEAN)
def test_clean(code, subject):
    assert findings_so_far(code, subject) == []


def findings_so_far(code, subject):
    """Collect the findings of a rule up to where it lacks something, such as a chat template."""
    from tokverify.compare.audit import audit

    if isinstance(subject, TokenizerSpec):
        subject = declared(subject)
    return list(audit(subject, [RULES[code]]).findings)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_type_of_each_marker_is_checked_unless_llama_cpp_determines_it(family):
    intact = {**dict.fromkeys(family.sign, CONTROL), **family.types}
    assert findings("TV122", bpe_spec([], intact)) == []
    determined = {*EOG_TEXTS, *chain.from_iterable(FIM_TEXTS.values())}
    for text, type in family.types.items():
        spec = bpe_spec([], intact | {text: CONTROL + USER_DEFINED - type})
        found = {id for each in findings("TV122", spec) for id in each.ids}
        assert found == (set() if text in determined else {spec.tokens.index(text)}), text


def test_markers_of_infilling_are_checked_if_the_file_declares_their_roles():
    spec = bpe_spec([], {**qwen_markers(USER_DEFINED), "<|fim_pad|>": USER_DEFINED, "<|fim_middle|>": USER_DEFINED})
    roles = {"fim_pad": spec.tokens.index("<|fim_pad|>"), "fim_mid": spec.tokens.index("<|fim_middle|>")}
    [found] = findings("TV122", replace(spec, special_ids=roles))
    assert set(found.ids) == set(roles.values())
    assert findings("TV122", replace(spec, special_ids={})) == []


def test_every_rule_has_both():
    codes = {code for code in RULES if code < "TV200"}
    assert {row[0] for row in TRIGGERS} == codes
    assert {row[0] for row in CLEAN} == codes


def test_ids_keys_and_repair():
    [found] = findings("TV106", replace(SPM, special_ids={"bos": 1, "eos": 260}))
    assert found.ids == (260,)
    assert found.keys == ("tokenizer.ggml.eos_token_id",)
    assert found.repair == "gguf-new-metadata --special-token-by-id eos ID MODEL FIXED"


def test_the_repair_of_an_infilling_role_names_its_token():
    spec = bpe_spec([], {"<|im_end|>": 3, "<|fim_pad|>": 3})
    spec = replace(spec, special_ids={"eos": spec.tokens.index("<|im_end|>"), "fim_pad": 10})
    [found] = [each for each in findings("TV106", spec) if each.ids == (10,)]
    assert "a generation ends wherever the model writes it" in found.message
    padding = spec.tokens.index("<|fim_pad|>")
    assert found.repair == f"gguf-new-metadata --special-token-by-id fim_pad {padding} MODEL FIXED"


@pytest.mark.parametrize("type", [3, 1])
def test_only_a_token_that_is_special_in_the_file_is_suggested_as_eos(type):
    spec = bpe_spec([], {"<|im_start|>": 3, "</s>": type, "[PAD1]": 3})
    end, start = spec.tokens.index("</s>"), spec.tokens.index("<|im_start|>")
    spec = replace(spec, special_ids={"bos": 3, "eos": spec.tokens.index("[PAD1]")})
    repairs = [found.repair for found in findings("TV106", spec)]
    assert any(f"by-id eos {end if type == 3 else 'ID'} " in repair for repair in repairs)
    assert not any(f"by-id bos {start}" in repair for repair in repairs)


@pytest.mark.parametrize("text", ["<|endoftext|>", "<|end_of_text|>", "</s>"])
def test_a_default_eos_is_an_error_unless_no_token_can_be_it(text):
    for spec, severity in ((bpe_spec(["a b"], {text: 3}), ERROR), (bpe_spec(["a b"], {"<x>": 3}), WARNING)):
        (found,) = (each for each in findings("TV106", spec) if each.keys == ("tokenizer.ggml.eos_token_id",))
        assert (found.severity, found.ids) == (severity, (11,))


def test_out_of_range_id_is_found_in_a_file_that_is_refused():
    from tokverify.compare.audit import audit

    subject = declared(replace(SPM, special_ids={"eos": 999}), refusal=BrokenFileError("eos is out of range"))
    report = audit(subject, RULES.values())
    [found] = [finding for finding in report.findings if finding.code == "TV106"]
    assert found.message.startswith("tokenizer.ggml.eos_token_id is 999, but there are only 265 tokens")
    assert "TV111" in {rule.code for rule in report.not_evaluated}


@pytest.mark.parametrize("has_name", [True, False])
def test_an_out_of_range_id_is_repaired_only_if_a_token_is_named_like_the_role(has_name):
    name = "<|im_end|>" if has_name else "other"
    spec = replace(bpe_spec([], {name: 3}), special_ids={"eos": 999})
    [found] = findings_so_far("TV106", declared(spec, refusal=BrokenFileError("eos is out of range")))
    assert ("--special-token-by-id eos" in found.repair) is has_name
    assert found.message.endswith("; if tokens are missing, convert the model again") is not has_name


def test_phi3_shows_both_encodings():
    [found] = findings("TV116", replace(PHI3, general={"name": "My tune"}))
    user, end = PHI3.tokens.index("<|user|>"), PHI3.tokens.index("<|end|>")
    h, i, newline = (PHI3.tokens.index(piece) for piece in ("H", "i", "Ċ"))
    assert str([user, newline, h, i, end, newline]) in found.message
    assert str([user, h, i, end]) in found.message
    assert found.repair == "gguf-new-metadata --general-name 'My tune phi-3' MODEL FIXED"


def test_a_piece_with_a_real_space_is_no_error_if_the_reference_has_it(tmp_path: Path):
    spaced = replace(SPM, tokens=tokens(SPM, id262="  "))
    write_gguf(tmp_path / "reference.gguf", spaced)
    given = OpenedReference(open_reference(tmp_path / "reference.gguf"))
    (finding,) = findings("TV120", Subject(Declaration(spec=spaced), given=given))
    assert (finding.severity, finding.repair) == (INFO, "")
    assert finding.message.endswith("; so it is in the reference")


@pytest.mark.parametrize(
    "merges",
    [["a b", "ab c"], ["a b", "a bc"], ["a b", "ab  c"], ["a b", " ab"], ["a b", "ab"], ["a a"], ["a b"]],
    ids=["plain", "unknown part", "two spaces", "empty part", "no space", "unknown result", "unmade token"],
)
def test_merges_as_files_store_them_are_judged_as_lists_are(merges):
    tokens = [*dict.fromkeys([*BPE.tokens, "ab", "abc"])]
    spec = replace(BPE, tokens=tokens, types=None, merges=merges)
    joined = [JoinedStrings("\0".join(strings).encode(), len(strings)) for strings in (tokens, merges)]
    stored = replace(spec, tokens=joined[0], merges=joined[1])
    assert findings("TV107", stored) == findings("TV107", spec)
