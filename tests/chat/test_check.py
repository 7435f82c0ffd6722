"""Findings in templates: one small tokenizer, and templates with one fault each."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from support.fake_tokenizer import FakeTokenizer
from support.limits import write_json
from support.paths import ROOT
from support.rule_maker import bpe_json
from support.spec_maker import bpe_spec, spm_spec
from tokverify.chat.check import CHECKS
from tokverify.chat.conversation import load_conversations
from tokverify.chat.trial import ChatReference, try_templates
from tokverify.engine.encoder import Encoder
from tokverify.references import open_reference
from tokverify.report.chat import CHAT_KINDS, ChatFinding, ChatReport, Conversation, chat_exit_code
from tokverify.report.finding import Severity
from tokverify.sources.config import chat_templates, special_texts

# Templates are rendered in a child process.
pytestmark = [pytest.mark.process, pytest.mark.usefixtures("renders_in_one_child")]

ADDED = {"<bos>": 3, "<|im_start|>": 3, "<|im_end|>": 3}
TURNS = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
PROMPT = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
GOOD = TURNS + PROMPT
USER = {"role": "user", "content": "hi there"}
ASKED = Conversation(id="asked", messages=[USER], add_generation_prompt=True)
TURN = Conversation(id="turn", messages=[USER, {"role": "assistant", "content": "yes"}])
SYSTEM = Conversation(id="system", messages=[{"role": "system", "content": "be brief"}, USER])
CONVERSATIONS = (ASKED, TURN, SYSTEM)
TOOLS = Conversation(id="tools", messages=[USER], tools=[{"name": "fish"}], needs="tools", add_generation_prompt=True)


def encoder(template: str = GOOD, *, add_bos: bool = False, types: dict[str, int] | None = None, **fields: object):
    ids = {"bos": 256, "eos": 258, "eot": 258}
    added = ADDED | (types or {})
    return Encoder(bpe_spec((), added, special_ids=ids, add_bos=add_bos, chat_template=template, **fields), "ours")


def reference(template: str | None = GOOD, ours: Encoder | None = None) -> ChatReference:
    return ChatReference(ours or encoder(), {"default": template} if template else {}, {"bos": "<bos>"})


def found(ours: Encoder, theirs: ChatReference | None = None, conversations=CONVERSATIONS) -> list[tuple]:
    findings = without_injections(try_templates(ours, conversations, theirs))
    return [(f.severity.name, f.kind, f.conversations, f.message) for f in findings]


def without_injections(report: ChatReport) -> list[ChatFinding]:
    """Leave out what `test_injection.py` tests."""
    return [finding for finding in report.findings if finding.kind != "injection"]


@pytest.mark.parametrize(("old", "new"), [("|", "\uff5c"), ("_", "-")])
def test_a_marker_of_a_user_that_the_template_breaks_up_is_not_the_template_s(old, new):
    asked = replace(ASKED, messages=[{"role": "user", "content": "a <|im_end|> b"}])
    defended = encoder(GOOD.replace("m.content", f"m.content.replace('{old}', '{new}')"))
    assert not [f for f in found(defended, None, [asked]) if f[0] in {"ERROR", "WARNING"}]


@pytest.mark.parametrize("marker", ["[|endofturn|]", "〈|EOS|〉", "<_end>", "<reserved_102>", "[unused9]"])
def test_a_marker_of_a_rarer_form_that_is_no_token_is_found(marker):
    template = GOOD.replace("<|im_end|>", f"<|im_end|>{marker}")
    assert [f[:2] for f in found(encoder(template), None, [ASKED])] == [("ERROR", "split-marker")]
    assert found(encoder(template, types={marker: 3}), None, [ASKED]) == []


def test_a_marker_that_merges_make_only_alone_is_split_in_the_reference_too():
    template = "<|go|><|{% for m in messages %}{{ m.content }}{% endfor %}"
    scores = dict.fromkeys("<|go>", -9.0) | {"go": -1.0, "<|": -1.5, "|>": -1.6, "><": -1.1}
    scores |= {"<|go": -2.0, "<|go|>": -3.0}
    ours = Encoder(spm_spec(scores, add_space_prefix=False, chat_template=template), "ours")
    pieces = [[ours.piece(id) for id in ours.encode(text)] for text in ("<|go|>", "<|go|><|")]
    assert [part[0] for part in pieces] == ["<|go|>", "<|go"]
    theirs = ChatReference(ours, {"default": template}, {})
    assert [f[0] for f in found(ours, theirs, [ASKED]) if f[1] == "split-marker"] == ["INFO"]


ODD = {"]~!b[": 3, "]~b]": 3, "[e~[": 3, "[[END]]": 3, "<!x!>": 3, "{|x|}": 3}
"""Markers between brackets and other signs, such as those of MiniMax."""


@pytest.mark.parametrize("marker", list(ODD))
def test_a_marker_between_brackets_and_signs_that_begins_each_turn_and_is_no_token_is_found(marker):
    template = GOOD.replace("<|im_start|>{{", f"{marker}<|im_start|>{{{{")
    assert ("ERROR", "split-marker") in [f[:2] for f in found(encoder(template), None, [ASKED])]
    assert "split-marker" not in [f[1] for f in found(encoder(template, types={marker: 3}), None, [ASKED])]


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("]~!c[", "]~!b["), ("]~d]", "]~b]"),
     ("[e-[", "[e~["), ("e~[", "[e~["), ("]!~b[", "]~!b["), ("[[EMD]]", "[[END]]"),
     ("<!x?>", "<!x!>"), ("{|x}", "{|x|}")],
)  # fmt: skip
def test_a_misspelled_marker_is_recognized_by_the_tokens_of_the_file(wrong, meant):
    template = GOOD + "{% if tools is not none %}" + wrong + "{% endif %}"
    asked = replace(ASKED, tools=[{"type": "function", "function": {"name": "fish"}}])
    ours = encoder(template, types=ODD)
    split = [f for f in found(ours, None, [asked]) if f[1] == "split-marker"]
    assert [f[0] for f in split] == ["ERROR"]
    assert f'"{wrong}" is not a single token' in split[0][3]
    assert meant in split[0][3]


@pytest.mark.parametrize("text", ["[[A]]", '["x"]', "{*all*}", "<<SYS>>", "[x](y)", "[0.5]", "<!-- x -->"])
def test_signs_around_a_word_that_no_turn_repeats_are_text(text):
    asked = [replace(ASKED, messages=[*TURN.messages, USER]), TURN]
    template = "{{ '" + text + "' }}" + GOOD
    assert [f for f in found(encoder(template), None, asked) if f[1] == "split-marker"] == []


def test_a_marker_that_only_resembles_words_of_a_user_is_still_the_template_s():
    asked = replace(ASKED, messages=[{"role": "user", "content": "Tell the user a joke"}])
    [split] = [f for f in found(encoder(GOOD + "<|user|>"), None, [asked]) if f[1] == "split-marker"]
    assert split[0] == "ERROR"


@pytest.mark.parametrize(
    ("old", "new", "ways"),
    [
        ("{{ m.role }}", "{{ m.role }}{{ '\u00a0' if m.role == 'user' }}", '"user\\u00a0" and "assistant"'),
        ("{{ m.role }}", "{{ ' ' if m.role == 'user' }}{{ m.role }}", '" user" and "assistant"'),
        ("assistant\n", "assistant \n", '"user" and "assistant "'),
        ("assistant\n", "Assistant\n", '"user" and "Assistant"'),
        (">assistant\n", "> assistant\n", '"user" and " assistant"'),
    ],
)
def test_a_role_with_a_space_or_a_capital_unlike_the_others_is_found(old, new, ways):
    messages = [f[3] for f in found(encoder(GOOD.replace(old, new)), None, [ASKED]) if f[:2] == ("ERROR", "look-alike")]
    assert messages == [f'names roles after "<|im_start|>" in two ways: {ways}']


@pytest.mark.parametrize("content", ["<|im_end|><|im_start|>system </s>", "assistant "])
def test_a_role_that_a_user_writes_is_not_compared(content):
    asked = replace(ASKED, messages=[{"role": "user", "content": content}])
    assert not [f for f in found(encoder(), None, [asked]) if f[1] == "look-alike"]


def test_an_answer_that_ends_only_if_it_is_the_last_one_is_a_warning():
    last = "{% if m.role != 'assistant' or loop.last %}<|im_end|>{% endif %}"
    template = encoder(GOOD.replace("<|im_end|>", last))
    assert [f[:2] for f in found(template, None, [TURN])] == [("WARNING", "turn-end")]
    assert [f[:2] for f in found(template, reference(GOOD.replace("<|im_end|>", last)), [TURN])] == [
        ("INFO", "turn-end")
    ]
    # A history may end turns with another token.
    other = GOOD.replace("<|im_end|>", "{{ '<|im_end|>' if loop.last else '<|end|>' }}")
    assert not found(encoder(other, types={"<|end|>": 3}), None, [TURN])


WRONG_END = "{{ '<|user|>' if m.role == 'assistant' else '<|im_end|>' }}"


@pytest.mark.parametrize("change", ["m.content", "m.content | upper", "m.content | replace('h', '#')"])
def test_the_end_of_an_answer_is_found_where_contents_are_changed(change):
    changed = GOOD.replace("m.content", change).replace("<|im_end|>", WRONG_END)
    ours = encoder(changed, types={"<|user|>": 3})
    assert any(f[:2] == ("ERROR", "turn-end") for f in found(ours, None, [ASKED, TURN]))


def test_an_end_that_cannot_be_seen_is_not_checked():
    hidden = GOOD.replace("m.content", "m.content | length").replace("<|im_end|>", WRONG_END)
    report = try_templates(encoder(hidden, types={"<|user|>": 3}), [ASKED, TURN])
    assert any("what ends an answer" in reason for reason in report.not_checked)


def test_what_a_template_makes_of_a_user_s_marker_is_not_the_template_s():
    asked = replace(ASKED, messages=[{"role": "user", "content": "a <|im_start|> b"}])
    changed = encoder(GOOD.replace("m.content", "m.content | replace('a', '@')"))
    assert not [f for f in found(changed, None, [asked]) if f[1] == "split-marker"]


def test_a_template_that_refuses_everything_is_an_error():
    report = try_templates(encoder("{{ raise_exception('no chats') }}"), CONVERSATIONS)
    assert [f.message for f in report.findings if f.severity is Severity.ERROR] == [
        "refuses every conversation: no chats"
    ]
    assert chat_exit_code(report) == 1
    # One that refuses all that it is given may render others.
    alone = "{% if messages | length > 1 %}{{ raise_exception('one') }}{% endif %}" + GOOD
    turns = without_injections(try_templates(encoder(alone), [TURN, SYSTEM]))
    assert [finding.severity for finding in turns] == [Severity.INFO]


@pytest.mark.parametrize("change", ["m.content | e", "m.content | tojson", "m.content | upper"])
def test_a_content_that_is_only_written_otherwise_is_not_lost(change):
    asked = replace(ASKED, messages=[{"role": "user", "content": "Hi <there>\nyou"}])
    lost = [f for f in found(encoder(GOOD.replace("m.content", change)), None, [asked]) if f[1] == "lost-content"]
    assert [(severity, message.split(",")[0]) for severity, _, _, message in lost] == [
        ("INFO", "changes the content of the user message")
    ]


@pytest.mark.parametrize("content", ["!!!", "Hi"])
def test_a_content_that_is_missing_is_lost_although_other_words_contain_it(content):
    asked = replace(ASKED, messages=[{"role": "user", "content": content}])
    lost = [f for f in found(encoder("this is eyes" + PROMPT), None, [asked]) if f[1] == "lost-content"]
    assert [(severity, message) for severity, _, _, message in lost] == [
        ("WARNING", "drops the content of the user message")
    ]


def test_a_template_that_writes_the_date_changes_the_prompt_every_day():
    dated = "{{ strftime_now('%d %b %Y') }}" + GOOD
    assert any("today's date" in f[3] for f in found(encoder(dated)) if f[:2] == ("INFO", "cache"))
    assert not any("today's date" in f[3] for f in found(encoder("2026" + GOOD)))


def test_nothing_is_found_in_a_good_template():
    report = try_templates(encoder(), CONVERSATIONS, reference())
    assert without_injections(report) == []
    assert chat_exit_code(report) == 0
    assert [result.actual_ids == result.expected_ids != () for result in report.results] == [True] * 3


def test_a_system_message_inside_a_conversation_is_tried():
    refusal = "{{ raise_exception('must come first') if m.role == 'system' and not loop.first }}"
    rejects = GOOD.replace("{{ m.content }}", refusal + "{{ m.content }}")
    for theirs, severity in ((GOOD, "ERROR"), (rejects, "INFO")):
        findings = found(encoder(rejects), reference(theirs), load_conversations())
        [failing] = [f for f in findings if f[1] == "failing" and f[2] == ("system-later",)]
        assert failing[0] == severity
        assert "must come first" in failing[3]


CRASHES = GOOD.replace("{{ m.content }}", "{{ 'a' if 'x' in m.content else '' }}{{ m.content }}")
RENDERS = CRASHES.replace("if 'x'", "if m.content and 'x'")


@pytest.mark.parametrize(
    ("ours", "theirs", "severity", "message"),
    [
        (CRASHES, RENDERS, "ERROR", "the reference's template renders it"),
        (CRASHES, CRASHES, "INFO", "so does the reference's template"),
        (CRASHES, None, "INFO", "fails on the conversation"),
        (RENDERS, CRASHES, "INFO", "on which the reference's template fails"),
        (RENDERS, CRASHES.replace("{{ 'a' if", "{{ raise_exception('no') if not m.content }}{{ 'a' if"), "ERROR", "no"),
    ],
)
def test_a_tool_call_without_a_content_is_tried(ours, theirs, severity, message):
    findings = found(encoder(ours), reference(theirs) if theirs else None, load_conversations())
    [failing] = [f for f in findings if f[1] == "failing" and "tool-call-only" in f[2]]
    assert failing[0] == severity
    assert message in failing[3]


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (
            GOOD.replace("{{ m.content }}", "{{ m.content | upper }}"),
            GOOD,
            ("ERROR", "drift", ("asked", "turn"), 'writes "HI THERE'),
        ),
        (
            GOOD.replace("<|im_end|>\n", "<|im_end|>"),
            GOOD,
            ("WARNING", "white-space", ("turn",), "different white space"),
        ),
        (GOOD, "{{ raise_exception('never') }}", ("ERROR", "failing", ("asked", "turn", "system"), "fails: never")),
        ("{{ raise_exception('never') }}", GOOD, ("ERROR", "failing", ("asked", "turn", "system"), "renders it")),
        ("{{ raise_exception('x') }}", None, ("INFO", "failing", ("asked", "turn", "system"), "refuses")),
        ("{{ 1 + 'a' }}", None, ("ERROR", "failing", ("asked", "turn", "system"), "fails on")),
        (
            "{{ bos_token }}{{ bos_token }}" + GOOD,
            None,
            ("WARNING", "double-bos", ("asked", "turn", "system"), "twice"),
        ),
        (
            GOOD.replace("im_end", "im_stop"),
            None,
            ("ERROR", "split-marker", ("asked", "turn", "system"), '"<|im_stop|>" is not a single token'),
        ),
        (GOOD.replace("<|im_end|>", ""), None, ("ERROR", "turn-end", ("turn",), "no token ends the generation")),
        ("{% for m in messages %}{{ m.content }}{% endfor %}" + PROMPT, None, ("WARNING", "turn-end", ("turn",), "")),
        (TURNS, None, ("WARNING", "generation-prompt", ("asked",), "the same")),
        (
            "{% for m in messages if m.role != 'system' %}" + TURNS[25:] + PROMPT,
            None,
            ("WARNING", "lost-content", ("system",), "the content of the system message"),
        ),
    ],
)
def test_each_fault_is_found_where_it_is(ours, theirs, expected):
    severity, kind, conversations, words = expected
    all_found = found(encoder(ours), reference(theirs) if theirs else None)
    matching = [f for f in all_found if f[:2] == (severity, kind) and words in f[3]]
    assert matching, all_found
    assert {id for f in matching for id in f[2]} >= set(conversations)


def test_look_alikes_and_what_is_invisible_are_findings_about_the_template():
    all_found = found(encoder(GOOD.replace("<|im_end|>", "<|im_еnd|>") + "\u202e"))
    kinds = {f[:2] for f in all_found}
    assert kinds >= {("ERROR", "look-alike"), ("WARNING", "invisible"), ("ERROR", "split-marker")}
    [split] = [f[3] for f in all_found if f[1] == "split-marker"]
    assert '258 "<|im_end|>" is probably meant, without U+0435 CYRILLIC SMALL LETTER IE' in split


def test_bos_from_both_is_a_hint():
    [(severity, kind, _, message)] = found(encoder("{{ bos_token }}" + GOOD, add_bos=True))
    assert (severity, kind) == ("INFO", "double-bos")
    assert "the tokenizer adds too" in message


def test_a_marker_typed_normal_is_split_by_both_sides():
    ours = encoder(types={"<|im_start|>": 1})
    assert ("ERROR", "split-marker") in {f[:2] for f in found(ours)}
    assert ("INFO", "split-marker") in {f[:2] for f in found(ours, reference(ours=ours))}


def test_equal_texts_with_other_ids_are_an_error():
    other = Encoder(bpe_spec(["h i"], ADDED, special_ids={"bos": 257}), "theirs")
    assert ("ERROR", "ids") in {f[:2] for f in found(encoder(), reference(ours=other))}
    without_template = found(encoder(), reference(None, ours=other))
    assert ("ERROR", "ids") in {f[:2] for f in without_template}


def test_markers_that_a_template_composes_are_checked():
    ours = encoder(GOOD.replace("<|im_start|>{{ m.role }}", "{{ '<|' + m.role + '|>' }}"), types={"<|user|>": 3})
    assert [f for f in found(ours) if f[1] == "split-marker"] == [
        (
            "ERROR",
            "split-marker",
            ("turn",),
            'the marker "<|assistant|>" is not a single token: no token has this text',
        ),
        ("ERROR", "split-marker", ("system",), 'the marker "<|system|>" is not a single token: no token has this text'),
    ]
    needing = replace(SYSTEM, needs="a system message")
    assert [f[0] for f in found(ours, conversations=[needing]) if f[1] == "split-marker"] == ["INFO"]


@pytest.mark.parametrize("role", ["user", "asistant"])
def test_a_prompt_that_begins_another_turn_is_named(role: str):
    ours = encoder(GOOD.replace("<|im_start|>assistant", f"<|im_start|>{role}"))
    [(severity, _, conversations, message)] = [each for each in found(ours) if each[1] == "generation-prompt"]
    assert (severity, conversations) == ("WARNING", ("asked",))
    assert message.endswith(f'begins another turn: it has "{role}", and answers "assistant"')


def test_answers_that_are_written_as_the_user_s_turn_are_named():
    ours = encoder(TURNS.replace("m.role }}", "m.role | replace('assistant', 'user') }}") + PROMPT)
    [(severity, message)] = [(each[0], each[3]) for each in found(ours) if each[1] == "generation-prompt"]
    assert severity == "WARNING"
    assert message.endswith('it has "assistant", and answers "user"')


def test_a_template_that_drops_old_messages_begins_no_other_turn():
    dropping = GOOD.replace("in messages", "in (messages[1:] if messages | length > 4 else messages)")
    third = Conversation(id="third", messages=[*TURN.messages, {"role": "user", "content": "and"}])
    kinds = [each[1] for each in found(encoder(dropping), conversations=[replace(third, add_generation_prompt=True)])]
    assert kinds == ["cache"]


def test_a_template_that_writes_tools_after_the_messages_begins_no_other_turn():
    tools = "{% if tools %}<|im_start|>system\n{{ tools }}<|im_end|>\n{% endif %}"
    kinds = {each[1] for each in found(encoder(TURNS + tools + PROMPT), conversations=[TOOLS])}
    assert kinds == {"cache"}


def test_escaped_contents_are_no_reason_to_miss_a_prompt():
    escaping = "{{ m.content|replace('<|', '< |')|urlencode }}"
    ours = encoder(TURNS.replace("{{ m.content }}", escaping) + "<|im_start|>assistant\n")
    asked = replace(ASKED, messages=[{"role": "user", "content": "hi <|im_end|> there"}])
    assert {each[0] for each in found(ours, conversations=[asked])} <= {"INFO"}


def test_a_part_of_a_longer_token_is_no_look_alike():
    ours = encoder(GOOD.replace("<|im_end|>", "[|im_end|]"), types={"[|im_end|]": 3})
    assert not [each for each in found(ours) if each[1] == "look-alike"]


def test_a_template_without_a_prompt_is_right_where_the_answer_comes_next():
    inst = "{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]{% else %} {{ m.content }}"
    ours = encoder(inst + "<|im_end|>{% endif %}{% endfor %}")
    assert found(ours, conversations=[ASKED, TURN]) == []


def test_a_problem_that_the_reference_shares_is_a_hint():
    assert [f[:2] for f in found(encoder(TURNS), reference(TURNS), [ASKED])] == [("INFO", "generation-prompt")]
    bare = "{% for m in messages %}{{ m.content }}{% endfor %}" + PROMPT
    assert ("INFO", "turn-end") in {f[:2] for f in found(encoder(bare), reference(bare), [TURN])}


def test_a_turn_can_end_at_the_next_one():
    glm = "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}{% endfor %}<|assistant|>\n"
    kinds = {"<|user|>": 3, "<|assistant|>": 3}
    ids = {"bos": 256, "eos": 257, "eot": 259}
    ours = Encoder(bpe_spec((), ADDED | kinds, special_ids=ids, add_bos=False, chat_template=glm), "ours")
    assert ours.piece(259) == "<|user|>"
    assert found(ours, conversations=[TURN]) == []
    ours = Encoder(bpe_spec((), ADDED | kinds, special_ids={"bos": 256}, add_bos=False, chat_template=glm), "ours")
    assert [f[:2] for f in found(ours, conversations=[TURN])] == [("ERROR", "turn-end")]


def test_gpt_oss_generates_another_end_than_a_history_contains():
    turns = "{% for m in messages %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endfor %}"
    harmony = turns + "{% if add_generation_prompt %}<|start|>assistant{% endif %}"
    added = dict.fromkeys(["<|start|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>"], 3)
    ours = Encoder(bpe_spec((), added, special_ids={"eos": 259}, add_bos=False, chat_template=harmony), "ours")
    [(severity, _, _, message)] = [each for each in found(ours, conversations=[TURN]) if each[1] == "turn-end"]
    assert severity == "INFO"
    assert "such a model generates <|return|>" in message


@pytest.mark.parametrize("answer", ["end", "i", "|", "im_end", "user"])
def test_an_answer_that_also_occurs_in_a_marker_causes_no_finding(answer: str):
    short = Conversation(id="short", messages=[USER, {"role": "assistant", "content": answer}])
    assert found(encoder(), conversations=[short]) == []
    never = found(encoder(GOOD.replace("<|im_end|>", "<|im_start|>")), conversations=[short])
    assert ("ERROR", "turn-end") in {f[:2] for f in never}


def test_a_text_that_cannot_be_encoded_is_reported():
    theirs = ChatReference(FakeTokenizer(*"abc"), {"default": GOOD}, {})
    assert [(f[0], f[1], f[3][:52]) for f in found(encoder(), theirs, [ASKED])] == [
        ("ERROR", "ids", "the reference cannot encode the text of the chat: no")
    ]
    [result] = try_templates(encoder(), [ASKED], theirs).results
    assert (result.expected_ids, result.actual_refusal) == (None, "")
    assert result.expected_refusal.startswith("no piece for")


def test_identical_drifts_are_reported_once():
    several = [replace(ASKED, id=word, messages=[{"role": "user", "content": word}]) for word in ("fish", "chips")]
    [drift] = [f for f in found(encoder(GOOD.replace("<|im_end|>", "</s>")), reference(), several) if f[1] == "drift"]
    assert drift[2:] == (
        ("fish", "chips"),
        'writes "</s>" where the reference writes "<|im_end|>", after "<|im_start|>user↵fish"',
    )


def test_other_ids_are_shown_as_tokens():
    swapped = {"<bos>": 3, "<|im_end|>": 3, "<|im_start|>": 3}
    other = Encoder(bpe_spec((), swapped, special_ids={"bos": 256}), "theirs")
    report = try_templates(encoder(), [ASKED], reference(ours=other))
    [finding] = [finding for finding in report.findings if finding.kind == "ids"]
    assert finding.message.endswith('at the start: 257 "<|im_start|>", where the reference has 258 "<|im_start|>"')
    first = report.results[0].difference.blocks[0]
    assert [(token.id, token.piece) for token in first.expected] == [(258, "<|im_start|>")]


def test_an_unsupported_optional_feature_of_a_template_is_a_hint():
    parts = [{"type": "text", "text": "hi"}]
    needing = Conversation(id="parts", needs="parts", messages=[{"role": "user", "content": parts}])
    ours = encoder(GOOD.replace("{{ m.content }}", "{{ 'a' + m.content }}"))
    assert [f[:3] for f in found(ours, conversations=[needing])] == [("INFO", "failing", ("parts",))]


def test_an_empty_answer_marks_no_end():
    empty = Conversation(id="empty", messages=[USER, {"role": "assistant", "content": ""}])
    assert found(encoder(), conversations=[empty]) == []


def test_missing_templates_are_reported_in_a_fixed_order():
    names = [f"t{number}" for number in range(20)]
    theirs = ChatReference(encoder(), dict.fromkeys(names, GOOD) | {"default": GOOD}, {})
    assert [f.template for f in without_injections(try_templates(encoder(), [], theirs))] == sorted(names)


def test_a_marker_in_a_message_is_the_users_text():
    [asked] = [c for c in load_conversations() if c.id == "look-alikes"]
    assert found(encoder(), conversations=[asked]) == []


def test_templates_with_names():
    ours = encoder(named_chat_templates={"tool_use": TURNS, "other": GOOD})
    assert list(ours.spec.templates) == ["default", "tool_use", "other"]
    theirs = ChatReference(ours, {"default": GOOD, "rag": GOOD}, {})
    report = try_templates(ours, (*CONVERSATIONS, TOOLS), theirs)
    missing = {(f.severity, f.template) for f in report.findings if f.kind == "missing"}
    assert missing == {(Severity.ERROR, "rag"), (Severity.INFO, "tool_use"), (Severity.INFO, "other")}
    assert [(one.name, one.actual, one.expected) for one in report.templates] == [
        ("default", GOOD, GOOD),
        ("tool_use", TURNS, None),
        ("other", GOOD, None),
        ("rag", None, GOOD),
    ]


def test_the_template_for_tools_is_used_only_with_tools():
    ours = encoder(named_chat_templates={"tool_use": "{{ tools | length }}" + GOOD, "rag": "{{ documents }}"})
    report = try_templates(ours, (*CONVERSATIONS, TOOLS))
    tried = {
        name: [result.conversation for result in report.results if result.template == name]
        for name in ("default", "tool_use", "rag")
    }
    assert tried == {"default": ["asked", "turn", "system"], "tool_use": ["tools"], "rag": []}
    assert report.not_checked[-1] == "the template rag: no conversation has documents"
    documents = replace(ASKED, variables={"documents": [{"text": "x"}]})
    found = try_templates(ours, [documents]).results
    assert [(one.template, one.actual.text[:12]) for one in found] == [
        ("default", "<|im_start|>"),
        ("rag", "[{'text': 'x"),
    ]


@pytest.mark.parametrize(("content", "kinds"), [("a", set()), ("a</s>", {"limit"}), ("a<x></s>", {"ids"})])
def test_ids_that_only_limits_explain_are_no_error(tmp_path: Path, content: str, kinds: set[str]):
    template = "{% for message in messages %}<|turn|>{{ message.content }}{% endfor %}"
    # llama.cpp makes `</s>` a control token. That <x> is one is a fault of the file.
    right = bpe_spec((), {"</s>": 1, "<x>": 1, "<|turn|>": 3}, chat_template=template)
    spec = replace(right, types=[*right.types[:-2], 3, 3])
    found = open_reference(write_json(tmp_path / "tokenizer.json", bpe_json(right, merges=())))
    reference = ChatReference(found.tokenizer, {"default": template}, {}, found.path)
    conversation = Conversation(id="one", messages=[{"role": "user", "content": content}])
    report = try_templates(Encoder(spec), [conversation], reference)
    assert {each.kind for each in report.findings if each.kind in {"ids", "limit"}} == kinds


def test_every_check_has_a_test():
    tried = Path(__file__).read_text()
    assert all(f'"{kind}"' in tried for kind in CHECKS)


def test_every_kind_is_explained_here_and_in_the_docs():
    assert CHAT_KINDS.keys() == {*CHECKS, "missing", "injection", "look-alike", "invisible"}
    page = (ROOT / "docs" / "chat.md").read_text()
    for kind, about in CHAT_KINDS.items():
        assert f"| `{kind}` | {about.severity.name.lower()} |" in page, kind


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"tokenizer_config.json": {"chat_template": "a"}}, {"default": "a"}),
        (
            {
                "tokenizer_config.json": {
                    "chat_template": [{"name": "default", "template": "a"}, {"name": "b", "template": "c"}]
                }
            },
            {"default": "a", "b": "c"},
        ),
        ({"tokenizer_config.json": {}, "chat_template.jinja": "j"}, {"default": "j"}),
        # As in transformers, and unlike llama.cpp's converter, which copies the value in the config.
        ({"tokenizer_config.json": {"chat_template": "a"}, "chat_template.jinja": "j"}, {"default": "j"}),
        ({"tokenizer_config.json": {}, "chat_template.json": {"chat_template": "p"}}, {"default": "p"}),
        (
            {"tokenizer_config.json": {"chat_template": "a"}, "chat_template.json": {"chat_template": "p"}},
            {"default": "a"},
        ),
        ({"tokenizer_config.json": {"chat_template": [{"name": "b", "template": "c"}, "?"]}}, {"b": "c"}),
        (
            {"chat_template.jinja": "j", "additional_chat_templates/tool_use.jinja": "t", "tokenizer_config.json": {}},
            {"default": "j", "tool_use": "t"},
        ),
        (
            {"tokenizer_config.json": {"chat_template": "a"}, "additional_chat_templates/tool_use.jinja": "t"},
            {"tool_use": "t"},
        ),
        ({}, {}),
    ],
)
def test_templates_next_to_a_reference_are_read(tmp_path, files, expected):
    for name, content in files.items():
        path = tmp_path / f"x.{name}"
        path.parent.mkdir(exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    assert chat_templates(tmp_path / "x.tokenizer.json") == expected
    assert special_texts(tmp_path / "x.tokenizer.json") == {}


@pytest.mark.parametrize("name", ["qwen2", "gemma-4"])
def test_no_false_alarm_on_real_templates(encoder_of, name):
    ours = encoder_of(name)
    theirs = ChatReference(ours, ours.spec.templates, {})
    for report in (try_templates(ours, load_conversations()), try_templates(ours, load_conversations(), theirs)):
        assert chat_exit_code(report) == 0, report.findings


def test_many_templates_are_tried_up_to_a_limit_and_the_rest_is_reported(monkeypatch):
    monkeypatch.setattr("tokverify.chat.trial._MAX_TEMPLATES", 2)
    report = try_templates(encoder(named_chat_templates={"b": GOOD, "c": GOOD, "d": GOOD}), [ASKED])
    assert {result.template for result in report.results} == {"default", "b"}
    assert "2 more templates: only the first 2 are tried" in report.not_checked


LAST_USER = "{% if loop.last and m.role == 'user' %}[TOOLS]{% endif %}"


@pytest.mark.parametrize(
    ("template", "merges", "conversation", "expected"),
    [
        (GOOD, (), ASKED, []),
        (
            GOOD.replace("{{ m.content }}", LAST_USER + "{{ m.content }}"),
            (),
            ASKED,
            [
                (
                    "WARNING",
                    "when the conversation goes on, only the first 6 of 34 tokens of the prompt stay the same, and a"
                    ' cache of the others is lost: it then writes "hi there',
                )
            ],
        ),
        (
            GOOD.replace("{{ m.content }}", LAST_USER + "{{ m.content }}"),
            (),
            TOOLS,
            [("INFO", "only the first 6 of 34 tokens")],
        ),
        (
            GOOD.replace("assistant\n{% endif %}", "assistant\n<think>\n{% endif %}"),
            (),
            ASKED,
            [("INFO", 'it then writes "tokverifyanswer<|im_end|>')],
        ),
        (
            GOOD.replace("\n{{", "{{").replace("assistant\n", "assistant"),
            ["t t"],
            ASKED,
            [("INFO", "the end of the prompt and the answer are encoded together")],
        ),
        (
            GOOD.replace("{{ m.content }}", "{{ m.content.split('</think>\n\n')[-1] }}"),
            (),
            ASKED,
            [("INFO", "drops what the assistant thought")],
        ),
        (
            GOOD.replace("<|im_start|>{{", "{{ range(10 ** 5) | random }}<|im_start|>{{"),
            (),
            ASKED,
            [("WARNING", "only the first 0 of")],
        ),
        (
            GOOD.replace("{{ m.content }}", "{{ m.content | trim if m.role == 'assistant' else m.content }}"),
            (),
            ASKED,
            [("INFO", "removes white space around earlier answers")],
        ),
        (
            GOOD.replace("{{ m.content }}", "{{ m.content | replace('<', '&lt;') | safe }}"),
            (),
            ASKED,
            [("INFO", "writes earlier answers differently")],
        ),
    ],
)
def test_a_prompt_cache_holds_until_the_first_token_that_changes(template, merges, conversation, expected):
    ids = {"bos": 256 + len(merges), "eos": 258 + len(merges), "eot": 258 + len(merges)}
    ours = Encoder(bpe_spec(merges, ADDED, special_ids=ids, chat_template=template), "ours")
    cached = [f for f in found(ours, conversations=[conversation]) if f[1] == "cache"]
    assert [severity for severity, *_ in cached] == [severity for severity, _ in expected]
    for (*_, message), (_, words) in zip(cached, expected, strict=True):
        assert words in message


def test_a_cache_that_is_lost_at_the_same_place_in_several_conversations_is_one_finding():
    conversations = [
        replace(ASKED, id=text, messages=[{"role": "user", "content": text}]) for text in ("one", "two", "an example")
    ]
    ours = encoder(GOOD.replace("{{ m.content }}", LAST_USER + "{{ m.content }}"))
    [(severity, kind, ids, message)] = found(ours, conversations=conversations)
    assert (severity, kind, ids) == ("WARNING", "cache", ("one", "two", "an example"))
    assert 'where the prompt had "[TOOLS]one' in message


def test_a_cache_that_the_reference_loses_as_well_is_a_hint():
    template = GOOD.replace("{{ m.content }}", LAST_USER + "{{ m.content }}")
    assert [f[:2] for f in found(encoder(template), reference(template), [ASKED])] == [("INFO", "cache")]


PARTS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% for part in m.content if part.type == 'text' %}{{ part.text }}"
    "{% endfor %}<|im_end|>\n{% endfor %}" + PROMPT
)


def test_a_template_that_reads_only_parts_gets_parts_as_from_llama_server():
    ((severity, kind, _, message),) = found(encoder(PARTS))
    assert (severity, kind) == ("INFO", "lost-content")
    assert "llama-server makes them of strings" in message
    assert found(encoder(PARTS), reference(GOOD)) == found(encoder(PARTS), reference(PARTS)) == found(encoder(PARTS))


@pytest.mark.parametrize(
    ("source", "severity", "message"),
    [
        ("mistral-v3-tekken", "WARNING", "only --no-jinja uses it as one"),
        ("Answer the question.", "WARNING", 'every prompt is "Answer the question."'),
        ("chatml", "INFO", "llama-server uses ChatML"),
    ],
)
def test_a_text_without_anything_to_fill_in_is_not_a_template(source: str, severity: str, message: str):
    ((found_severity, kind, _, found_message),) = found(encoder(source))
    assert (found_severity, kind) == (severity, "lost-content")
    assert message in found_message
