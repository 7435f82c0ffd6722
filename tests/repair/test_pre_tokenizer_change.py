"""The change that names another pre-tokenizer."""

from tokverify.repair.setting_change import set_pre_tokenizer


def test_a_name_that_older_builds_do_not_know_says_since_when_it_is_known():
    sentence = set_pre_tokenizer("granite-embed-multi-97m", confirmed=True).sentence
    assert sentence.endswith("granite-embed-multi-97m (tokenizer.ggml.pre, known to llama.cpp since b9554)")
    assert set_pre_tokenizer("gpt-4o", confirmed=True).sentence.endswith("gpt-4o (tokenizer.ggml.pre)")
