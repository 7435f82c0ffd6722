import json
import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from support.paths import ROOT
from support.selection import thinned
from support.spec_maker import BYTE_ALPHABET, CONTROL, USER_DEFINED, bpe_spec, spec_of, spm_spec
from tokverify.engine.encoder import Encoder
from tokverify.explain.explanation import explain, explain_decoding
from tokverify.render.explain.decoding import render as render_decoding
from tokverify.render.explain.table import render
from tokverify.render.options import RenderOptions
from tokverify.report.codec import encode as render_json
from tokverify.spec import TokenizerSpec

DOCS = (ROOT / "docs" / "explain.md").read_text("utf-8")
STEPS = Path(__file__).with_name("steps.md").read_text("utf-8")
"""An example that is too long for the page."""
HOSTILE = "[/INST] [red]\x1b[31m\u202e\0a"
SPM = spm_spec(
    {"▁": -9, "a": -9, "\x1b[": -1, "[": -2, "[/INST]": 0, "\u202e": -1, "▁▁": 0, "[red]": 0},
    {"[/INST]": CONTROL, "[red]": USER_DEFINED},
)
BPE = bpe_spec(["[ /", "Ġ [", "b a"], {"[/INST]": CONTROL}, special_ids={"bos": 0, "eos": 1}, add_bos=True)
UNIGRAM = TokenizerSpec(
    model="t5",
    tokens=["<pad>", "</s>", "<unk>", "[/", "\x1b", "▁"],
    types=[3, 3, 2, 1, 1, 1],
    scores=[0, 0, 0, -1, -2, -3],
)
WORDPIECE = TokenizerSpec(
    model="bert", tokens=["[PAD]", "[UNK]", "▁[", "▁a", "\u202e"], types=[3, 3, 1, 1, 1],
    special_ids={"unk": 1, "bos": 0, "sep": 0},
)  # fmt: skip
SPECS = {"spm": SPM, "bpe": BPE, "unigram": UNIGRAM, "wordpiece": WORDPIECE}


@pytest.mark.parametrize("options", [RenderOptions(), RenderOptions(verbose=True), RenderOptions(width=40)])
@pytest.mark.parametrize("name", SPECS)
def test_nothing_hostile_reaches_the_terminal(name, options):
    text = render(explain(Encoder(SPECS[name]), HOSTILE, add_special=True), options)
    assert all(line.isprintable() for line in text.split("\n"))
    assert max(cell_len(line) for line in text.split("\n")) <= options.width
    assert "[/INST]" in text


def test_hostile_text_next_to_a_reference():
    class Other(Encoder):
        def encode(self, text, *, add_special=False, parse_special=True):
            return super().encode(text, add_special=add_special, parse_special=False)

    text = render(explain(Encoder(SPM), HOSTILE, Other(SPM, "[/red]\x1b")), RenderOptions())
    assert all(line.isprintable() for line in text.split("\n"))
    assert "[/red]\\x1b returns different ids" in text


def test_words_of_one_token_are_left_out():
    encoder = Encoder(BPE)
    folded = render(explain(encoder, "1!2!3"), RenderOptions())
    assert "... 5 pre-tokens of one token each ..." in folded
    assert "of one token each" not in render(explain(encoder, "1!2!3"), RenderOptions(verbose=True))


@pytest.mark.process  # takes seconds
@pytest.mark.parametrize("name", thinned(2, SPECS))
@pytest.mark.parametrize("text", thinned(4, ["ab " * 2000, "[" * 4000, "a\n" * 2000, "é🦙" * 1000]))
def test_long_texts_stay_readable(name, text):
    assert len(render(explain(Encoder(SPECS[name]), text), RenderOptions()).split("\n")) < 2000


def test_dna_is_explained_once_and_without_merges():
    tokens = [*BYTE_ALPHABET, "<dna>", "</dna>", "<oov>", "ACGTAC\ue000", "GGTAAA\ue000"]
    spec = spec_of("hybriddna", tokens, merges=["a b"])
    text = render(explain(Encoder(spec), "<dna>ACGTACGGT</dna>"), RenderOptions())
    assert "3  pre-tokens: none\n" in text
    assert "no merge can cross" not in text
    assert text.count("six bases at a time") == 1


def test_the_same_number_of_other_tokens_is_not_called_a_replacement():
    spec = spm_spec({"▁": -5, "a": -1, "b": -1, "▁b": -2, "  ": 0}, {"  ": USER_DEFINED})
    lines = render(explain(Encoder(spec), "a  b"), RenderOptions()).splitlines()
    assert "   Without matching USER_DEFINED tokens: ▁ a ▁ ▁b  (4 tokens too, but different ones)" in lines


def test_an_empty_text():
    assert "result: 0 tokens" in render(explain(Encoder(BPE), ""), RenderOptions())


@pytest.mark.parametrize("name", SPECS)
def test_the_json_is_ascii_stable_and_complete(name):
    first, second = (render_json(explain(Encoder(SPECS[name]), HOSTILE, add_special=True)) for _ in range(2))
    assert first == second
    assert first.isascii()
    document = json.loads(first)
    assert document["text"] == HOSTILE
    stretches = [fragment["stretch"] for fragment in document["fragments"] if fragment["stretch"]]
    added = [fragment["added_token"]["id"] for fragment in document["fragments"] if fragment["added_token"]]
    encoded = [id for stretch in stretches for word in stretch["words"] for id in word["ids"]]
    affixes = [token["id"] for side in ("prefix", "suffix") for token in document[side]]
    assert sorted(document["ids"]) == sorted([*affixes, *encoded, *added])


def test_the_json_lists_each_merge_with_its_competitors():
    document = json.loads(render_json(explain(Encoder(BPE), "ba[/")))
    words = [word for fragment in document["fragments"] for word in fragment["stretch"]["words"]]
    pairs = [merge["pair"] for word in words for merge in word["merging"]["merges"]]
    assert {word["merging"]["by"] for word in words} == {"rank"}
    assert [(pair["left"], pair["right"], pair["weight"]) for pair in pairs] == [("b", "a", 2), ("[", "/", 0)]


EXAMPLES = re.findall(
    r'<!-- tokverify explain (\S+)\.gguf "([^"\n]*)"( --steps)? -->\n```text\n(.*?)```', DOCS + STEPS, re.DOTALL
)
DECODED = re.findall(r'<!-- tokverify explain (\S+)\.gguf --decode "([0-9 ]*)" -->\n```text\n(.*?)```', DOCS, re.DOTALL)


@pytest.mark.parametrize(("name", "text", "steps", "printed"), EXAMPLES, ids=[example[0] for example in EXAMPLES])
def test_the_examples_in_the_docs_match_the_output(encoder_of, name, text, steps, printed):
    assert printed == render(explain(encoder_of(name), text), RenderOptions(), steps=bool(steps))


@pytest.mark.parametrize(("name", "ids", "printed"), DECODED)
def test_the_examples_of_decoding_in_the_docs_match_the_output(encoder_of, name, ids, printed):
    explained = explain_decoding(encoder_of(name), [int(id) for id in ids.split()])
    assert printed == render_decoding(explained, RenderOptions())


def test_the_docs_contain_all_examples():
    assert [example[:3] for example in EXAMPLES] == [
        ("gemma-3", "word   with", ""),
        ("t5", "What is LoRA?", ""),
        ("t5", "What ﬁ", " --steps"),
    ]
    assert [example[:2] for example in DECODED] == [("gpt-2", "15496 1917 0")]


def test_steps_show_the_entries_of_earlier_words_too(encoder_of):
    drawn = render(explain(encoder_of("t5"), "Hello wor"), RenderOptions(), steps=True)
    last = " ".join(drawn[drawn.index("from 13\n") :].split())
    assert "entries 3: 3 from 0 -2.01229286; 4: 454 from 0 -8.7361784; 5: 216 from 0" in last
    assert "; 14: 52 from 13 -28.2025113; the others are as at first" in last
