"""The change that names another pre-tokenizer."""

from dataclasses import replace

import pytest

from support.bare_tokenizer import IdsOnly
from support.spec_maker import bpe_spec
from tokverify.compare.opened import Opened
from tokverify.engine.encoder import Encoder
from tokverify.repair.evidence import Evidence, Target
from tokverify.repair.setting_change import declared_pre_tokenizer, pre_tokenizers, set_pre_tokenizer


def test_a_name_that_older_builds_do_not_know_says_since_when_it_is_known():
    spec = bpe_spec([], pre="gpt-2")
    sentence = set_pre_tokenizer("granite-embed-multi-97m", spec, confirmed=True).sentence
    assert sentence.endswith(
        "granite-embed-multi-97m instead of gpt-2 (tokenizer.ggml.pre, known to llama.cpp since b9554)"
    )
    unnamed = replace(spec, pre=None)
    assert set_pre_tokenizer("gpt-4o", unnamed, confirmed=True).sentence.endswith("to gpt-4o (tokenizer.ggml.pre)")


@pytest.mark.parametrize(
    ("adds_special", "add_bos", "first"),
    [(False, None, "qwen2"), (False, True, "llama-bpe"), (True, None, "llama-bpe")],
)
def test_a_name_that_turns_bos_on_comes_late_if_nothing_would_show_it(adds_special: bool, add_bos: bool, first: str):
    spec = bpe_spec([], pre="gpt-2", add_bos=add_bos)
    targets = [Target("made/digits", "it's 123 456", adds_special, True, (1,))]
    changes = [*pre_tokenizers(Evidence(spec, Encoder(spec), Opened(IdsOnly(Encoder(spec))), targets))]
    names = [change.transform(spec).pre for change in changes]
    assert min(names.index("qwen2"), names.index("llama-bpe")) == names.index(first)


@pytest.mark.parametrize(
    ("old", "expected"), [("chatglm-bpe", "glm4"), ("qwen2", "llama-bpe"), ("gpt-2", "llama-bpe"), (None, "llama-bpe")]
)
def test_a_file_without_bos_keeps_a_name_without_bos(old: str | None, expected: str):
    """llama.cpp would take token 11 for BOS with the name `llama-bpe`."""
    spec = bpe_spec([], pre=old)
    targets = [Target("made/digits", "it's 123 456", False, True, (1,))]
    facts = Opened(Encoder(bpe_spec([], pre="llama-bpe")))
    evidence = Evidence(spec, Encoder(spec), facts, targets)
    for make in (declared_pre_tokenizer, pre_tokenizers):
        assert next(make(evidence)).transform(spec).pre == expected


@pytest.mark.parametrize(("architecture", "named"), [("command-r", "command-r"), ("llama", "starcoder")])
def test_of_names_with_the_same_ids_that_of_the_architecture_comes_first(architecture: str, named: str):
    spec = replace(bpe_spec([], pre="gpt-2"), general={"architecture": architecture})
    targets = [Target("made/digits", "it's 123 456", False, True, (1,))]
    changes = [*pre_tokenizers(Evidence(spec, Encoder(spec), Opened(IdsOnly(Encoder(spec))), targets))]
    names = {change.transform(spec).pre for change in changes}
    assert names & {"command-r", "starcoder", "smollm"} == {named}


@pytest.mark.parametrize(
    ("old", "new", "is_foreign"),
    [("llama-bpe", "gpt-2", True), ("gpt-2", "llama-bpe", False)],
    ids=["right-file", "wrong-file"],
)
def test_a_pattern_that_splits_the_pieces_of_the_model_is_not_written(old: str, new: str, is_foreign: bool):
    """A program that shows only ids may have another model's pattern."""
    spec = bpe_spec([f"_ {letter}" for letter in "abcdefgh"], pre=old)
    right = Encoder(replace(spec, pre=new))
    targets = [Target("made/name", text, False, True, tuple(right.encode(text))) for text in ("x_a", "it's 1234")]
    evidence = Evidence(spec, Encoder(spec), Opened(IdsOnly(right)), targets)
    change = next(each for each in pre_tokenizers(evidence) if new in each.sentence)
    assert change.expressible is not is_foreign
    assert ("and is wrong" in change.sentence) is is_foreign
    assert all(target.outcome(change.encoder(spec)) == target.expected for target in targets)
