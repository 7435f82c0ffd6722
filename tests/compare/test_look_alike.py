"""Characters in templates and tokens that a person cannot tell apart or cannot see."""

import pytest

from support.spec_maker import bpe_spec
from tokverify.compare.look_alike import find_invisible, find_look_alikes, find_meant
from tokverify.compare.marker import read_template
from tokverify.engine.encoder import Encoder

ADDED = {
    "<|im_start|>": 3,
    "<|im_end|>": 3,
    "<start_of_turn>": 3,
    "<｜tool▁end｜>": 3,
    "<x1>": 3,
    "<x2>": 3,
    "<｜Assistant｜>": 3,
}


def encoder(added: dict[str, int] | None = None) -> Encoder:
    return Encoder(bpe_spec((), added or ADDED), "ours")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("<|im_еnd|>", '257 "<|im_end|>" is probably meant, without U+0435 CYRILLIC SMALL LETTER IE'),
        ("<｜im_end｜>", '257 "<|im_end|>" is probably meant, without U+FF5C FULLWIDTH VERTICAL LINE'),
        ("<|tool_end|>", '259 "<｜tool▁end｜>" is probably meant'),
        ("<|IM_END|>", '257 "<|im_end|>" is probably meant'),
        ("<|im_ end|>", '257 "<|im_end|>" is probably meant'),
        ("<|im_end>", '257 "<|im_end|>" is probably meant'),
        ("<|im_snd|>", '257 "<|im_end|>" is probably meant'),
        ("<x3>", ""),
        ("<|user|>", ""),
    ],
)
def test_the_token_that_is_meant_is_named(text, meant):
    assert find_meant(text, encoder().settings.added_tokens) == meant


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("<|im_start|>{{ m }}<|im_end|>", None),
        ("Use <X1> and <tools> — “quoted”, 日本語 <｜tool▁end｜>", None),
        (
            "a\n<start_оf_turn>",
            '"<start_оf_turn>" in line 2 looks like 258 "<start_of_turn>", but is none because of U+043E',
        ),
        ("＜|im_end|＞", "U+FF1C FULLWIDTH LESS-THAN SIGN, U+FF1E"),
        ("<|im_e\u200bnd|>", "U+200B ZERO WIDTH SPACE"),
        ("<|tool_end|>", '"<|tool_end|>" in line 1 looks like 259'),
        ("<|im_start |>", '"<|im_start |>" in line 1 looks like 256 "<|im_start|>", but is none'),
        ("<| im_start|>", "looks like 256"),
        ("<|im start|>", "looks like 256"),
        ("<|im-start|>", "looks like 256"),
        ("<|im_start|", "looks like 256"),
        ("|im_start|>", "looks like 256"),
        ("<im_start>", "looks like 256"),
        ("<||im_start||>", "looks like 256"),
        ("[|im_start|]", "looks like 256"),
        ("&lt;|im_start|&gt;", "looks like 256"),
        ("<start_of_turn", "looks like 258"),
        ("start_of_turn", None),
        ("<|im|>\n<|start|> <|im_{{ start }}|>", None),
        ("{{ '<|im_start|' + '>' }}{{ '<|im_start' ~ '|>' }}", None),
        ("{{ '<|im_start|' + m.role }}", "looks like 256"),
        ("{% if m.startswith('<|im_start') %}", None),
        ("{{ '<|im_start{}|>'.format(m) }}", None),
        ("<|im_start_now|> <|the_im_start|> </im_start>", None),
        ("<|im_start|>{{ split('im_start') }}", None),
        ("<ǀim_startǀ>", "U+01C0 LATIN LETTER DENTAL CLICK"),
        ("<│Assistant│>", '"<│Assistant│>" in line 1 looks like 262 "<｜Assistant｜>", but is none because of U+2502'),
        ("<ǀAssistantǀ>", "U+01C0"),
        ("<¦Assistant¦>", "U+00A6 BROKEN BAR"),
        ("{{ '<|im_start|>սser\n' }}", 'the role "սser" looks like "user", but has U+057D ARMENIAN SMALL LETTER SEH'),
        ("{{ '<|im_start|>аssistant\n' }}", 'looks like "assistant", but has U+0430'),
        ("{% if m.role == 'аssistant' %}", 'looks like "assistant", but has U+0430 CYRILLIC SMALL LETTER A'),
        ("{% if m.role == 'assistant' %}", None),
    ],
)
def test_look_alikes_in_a_template_are_found(template, words):
    found = list(find_look_alikes(encoder(), read_template(template)))
    assert [severity.name for severity, _ in found] == ["ERROR"] * (words is not None)
    assert words is None or words in found[0][1]


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("a\n<tool_respones>{{ m }}</tool_response>", '"<tool_respones>" in line 2 looks like 256 "<tool_response>"'),
        ("<tool_response>{{ m }}</tool_response> <tool_respones>", '"<tool_respones>" in line 1 looks like 256'),
        ("<tool_response>{{ m }}</tool_respose>", '"</tool_respose>" in line 1 looks like 257 "</tool_response>"'),
        ("<channel>{{ m }}<channel|>", '"<channel>" in line 1 looks like 258 "<|channel>"'),
        ("<|channel>{{ m }}<channel|><channel></channel>", None),
        ("<tool_responses>{{ m }}</tool_responses>", None),
        ("<tool_respones>{{ m }}</tool_respones><tool_response></tool_response>", None),
        ("<tool_respones>{{ m }}", None),
        ("<tool_response>{{ m }}</tool_response>", None),
    ],
)
def test_a_misspelled_tag_is_found_beside_its_counterpart(template, words):
    added = {"<tool_response>": 4, "</tool_response>": 4, "<|channel>": 3, "<channel|>": 3}
    found = list(find_look_alikes(encoder(added), read_template(template)))
    assert [severity.name for severity, _ in found] == ["ERROR"] * (words is not None)
    assert words is None or words in found[0][1]


def test_a_template_that_repeats_a_word_is_searched_in_time():
    added = {"<the>": 3, "_" * 2000 + "abc": 3, f"{'<' * 500}the{'>' * 500}": 3}
    assert list(find_look_alikes(encoder(added), read_template("the " * 100_000))) == []


@pytest.mark.parametrize(
    ("template", "added", "words"),
    [
        ("{{ m }} 👩\u200d💻 ❤\ufe0f می\u200cخواهم", ADDED, None),
        ("{{ m }}", {**ADDED, "\u200c": 4, "\ufeff": 4, "👩\u200d💻": 4}, None),
        (
            "1\ufe0f\u20e3 #\ufe0f\u20e3 \U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
            ADDED,
            None,
        ),
        ("{{ m }}\n\tᠠ\u180b 葛\U000e0100", ADDED, None),
        ("1\ufe0f", ADDED, "U+FE0F VARIATION SELECTOR-16"),
        ("👩\U000e0100\U000e0101", ADDED, "contains U+E0101 VARIATION SELECTOR-18"),
        ("a\U000e0041", ADDED, "U+E0041 TAG LATIN CAPITAL LETTER A"),
        ("{{ m }}\u3164", ADDED, "U+3164 HANGUL FILLER"),
        ("{{ m }}\u2800", ADDED, "U+2800 BRAILLE PATTERN BLANK"),
        ("a\u034f\u115f\uffa0\u17b4", ADDED, "U+034F COMBINING GRAPHEME JOINER, U+115F HANGUL CHOSEONG FILLER, U+FFA0"),
        ("\x00\x08\x1b[8m\x7f", ADDED, "U+0000 NULL, U+0008 (no name), U+001B ESCAPE, U+007F DELETE"),
        ("{{ m }}\u202e", ADDED, "the template contains U+202E RIGHT-TO-LEFT OVERRIDE"),
        ("{{ m }}", {**ADDED, "<|im\u2060_x|>": 3}, "U+2060 WORD JOINER"),
        ("{{ m }}", {**ADDED, "<|extra\u3164|>": 3}, "U+3164 HANGUL FILLER"),
    ],
)
def test_what_is_invisible_is_found(template, added, words):
    found = list(find_invisible(encoder(added), template))
    assert [severity.name for severity, _ in found] == ["WARNING"] * (words is not None)
    assert words is None or words in found[0][1]
