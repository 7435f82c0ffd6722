"""What a conversion declares about BOS and EOS, and its warnings about llama.cpp's defaults."""

from dataclasses import replace

import pytest

from support.spec_maker import CONTROL, bpe_spec, spec_of, spm_spec
from tokverify.compare.convert.special_tokens import SpecialTokens, warn_of_defaults, warn_of_ends
from tokverify.errors import TokverifyError

BPE = bpe_spec([], {"<a>": CONTROL, "<b>": CONTROL})
SPM = spm_spec({"a": -1.0})


def warnings(spec, *, compared=True):
    return list(warn_of_defaults(spec, adding_was_compared=compared))


def test_each_default_token_is_a_warning_that_names_it_and_the_option():
    bos, eos = warnings(BPE)
    assert bos == (
        f'IN declares no BOS token, so it is 11 "{BPE.tokens[11]}", llama.cpp\'s default for the model gpt2; '
        "declare it with --bos-token TOKEN"
    )
    assert "--eos-token TOKEN" in eos


def test_the_only_control_token_is_suggested_as_eos():
    spec = bpe_spec([], {"<|end|>": CONTROL})
    (sentence,) = warn_of_ends(spec)
    assert sentence.endswith(f"gguf-new-metadata --special-token-by-id eos {spec.tokens.index('<|end|>')} OUT FIXED")
    assert list(warn_of_ends(replace(spec, special_ids={"eos": 1}))) == []


def test_declared_tokens_need_no_warning():
    assert warnings(replace(BPE, special_ids={"bos": 0, "eos": 1})) == []
    assert len(warnings(replace(BPE, special_ids={"bos": 0}))) == 1


def test_a_role_without_a_default_needs_no_warning():
    # llama.cpp's defaults for this model are beyond the vocabulary.
    assert warnings(spec_of("gpt2", ["a"], merges=[], pre="gpt-2")) == []


def test_what_is_added_around_a_text_is_a_warning_if_nothing_shows_that_it_is_right():
    declared = replace(SPM, special_ids={"bos": 1, "eos": 2})
    assert warnings(declared) == []
    (warning,) = warnings(declared, compared=False)
    assert "applies: BOS before it; declare it with --add-bos or --no-add-bos and --add-eos or --no-add-eos" in warning
    (warning,) = warnings(replace(declared, add_bos=True), compared=False)
    assert "applies: none; declare it with --add-eos or --no-add-eos" in warning
    assert warnings(replace(declared, add_bos=True, add_eos=False), compared=False) == []


def test_tokens_are_given_by_text_or_id():
    spec = SpecialTokens(bos="<b>", eos="7", add_bos=True).declare(BPE)
    assert spec.special_ids == {"bos": BPE.tokens.index("<b>"), "eos": 7}
    assert (spec.add_bos, spec.add_eos) == (True, None)


def test_a_number_is_an_id_if_there_is_such_a_token():
    spec = spec_of("gpt2", ["a", "0", "7"])
    assert SpecialTokens(bos="0", eos="7").declare(spec).special_ids == {"bos": 0, "eos": 2}


def test_without_options_nothing_changes():
    assert SpecialTokens().declare(BPE) == BPE


@pytest.mark.parametrize("token", ["<c>", "9999", "-1", ""])
def test_an_unknown_token_is_an_error(token):
    with pytest.raises(TokverifyError, match=f"--eos-token {token}: there is no such token"):
        SpecialTokens(eos=token).declare(BPE)
