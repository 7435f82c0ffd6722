"""What is known since which build, and that the tables of the encoder are those of the newest one."""

from dataclasses import replace

import pytest

from support.spec_maker import BYTE_ALPHABET, bpe_spec, spec_of, unigram_spec
from tokverify.engine.build import VARIABLE, builds, known_since, newest_build, parse_build, values_of
from tokverify.engine.deviating_encoder import DeviatingEncoder
from tokverify.engine.deviation import Deviation
from tokverify.engine.encoder import Encoder
from tokverify.engine.families import FAMILIES
from tokverify.engine.family import NO_VOCABULARY
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.engine.requirement import describe_changes, describe_changes_between, describe_needs
from tokverify.engine.settings import resolve
from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.repair.setting_change import set_pre_tokenizer
from tokverify.sources.gguf import keys
from tokverify.spec import TokenizerSpec


def test_the_encoder_knows_what_the_newest_build_knows():
    assert known_since("pre_tokenizers").keys() == PRE_TOKENIZERS.keys()
    in_llama_cpp = {name for name, load in FAMILIES.items() if load().in_llama_cpp}
    assert known_since("models").keys() == in_llama_cpp | NO_VOCABULARY.keys()


def test_the_reader_knows_the_keys_of_the_newest_build():
    ignored = {"tokenizer.ggml.token_type_count", "tokenizer.ggml.cls_token_id", "tokenizer.rwkv.world"}
    read = {value for name, value in vars(keys).items() if name.isupper() and isinstance(value, str)}
    read |= {key for _, key in keys.SPECIAL_IDS}
    assert known_since("keys").keys() - ignored <= read


def test_new_names_have_the_build_that_brought_them():
    assert newest_build() == 11739
    assert known_since("keys")["tokenizer.ggml.normalizer.nfc"] == 11739
    assert known_since("keys")["tokenizer.ggml.suppress_tokens"] == 9554
    assert known_since("keys")["tokenizer.ggml.tokens"] == 0
    assert 9014 < known_since("pre_tokenizers")["minicpm5"] <= 10335
    assert 10335 < known_since("pre_tokenizers")["k2-horizon"] <= 11548
    since = known_since("architectures")
    assert {"clef", "k2-horizon", "gemma-embedding2", "beam", "kolibri1", "maion-coder", "muse-spark"} <= since.keys()
    assert not {"clip", "gptj", "(unknown)"} & since.keys()
    assert builds() == sorted(set(builds()))


def test_a_token_with_each_text_has_the_type_of_the_newest_build():
    for text, (attribute, ends) in values_of("texts", newest_build()).items():
        tokens = [*BYTE_ALPHABET, "ab", text]
        spec = TokenizerSpec(model="gpt2", pre="gpt-2", tokens=tokens, merges=["a b"], special_ids={"bos": 0, "eos": 0})
        settings = resolve(spec)
        assert (settings.attributes[-1], len(tokens) - 1 in settings.eog_ids) == (attribute, ends), text
    for pre, flags in values_of("flags", newest_build()).items():
        settings = resolve(TokenizerSpec(model="gpt2", pre=pre, tokens=[*BYTE_ALPHABET, "ab"], merges=["a b"]))
        assert [settings.add_bos, settings.add_eos, settings.add_sep] == flags, pre


@pytest.mark.parametrize(
    ("changes", "needs"),
    [
        ({}, ""),
        (
            {"pre": "minicpm5"},
            "llama.cpp b9445 or newer (pre-tokenizer minicpm5); b9309 is too old; new enough: llama.cpp-0.1.2, "
            "ollama-0.30.0, llama-cpp-python-0.3.28, node-llama-cpp-3.19.0, lm-studio-engine-2.33.0",
        ),
        ({"pre": "default", "general": {"architecture": "beam"}}, "llama.cpp b11739 or newer (architecture beam)"),
        ({"suppressed": [1]}, "llama.cpp b9554 or newer (tokenizer.ggml.suppress_tokens)"),
        ({"pre": "no-such"}, "a newer llama.cpp than b11739, if there is one (pre-tokenizer no-such)"),
        ({"nfc": True}, ""),
        ({"model": "t5", "nfc": True}, "llama.cpp b11739 or newer (tokenizer.ggml.normalizer.nfc)"),
        ({"model": "bert", "lowercase": False}, "llama.cpp b9445 or newer (tokenizer.ggml.normalizer.lowercase)"),
        ({"model": "bert", "lowercase": True}, ""),
        ({"model": "gemma4"}, "llama.cpp b8660 or newer (model gemma4)"),
        ({"model": "llama", "pre": "minicpm5"}, ""),
        ({"pre": "kimi-k2"}, "llama.cpp b8095 or newer (pre-tokenizer kimi-k2 without merges); b7836 is too old"),
        ({"pre": "kimi-k2", "merges": []}, ""),
    ],
)
def test_a_file_says_which_build_it_needs(changes, needs):
    described = describe_needs(replace(TokenizerSpec(model="gpt2", tokens=["a"], pre="gpt-2"), **changes))
    assert described.startswith(needs)
    assert bool(described) == bool(needs)


def test_a_release_of_another_program_names_the_build_that_it_contains():
    assert parse_build("ollama-0.32.8") == parse_build("Ollama-v0.32.8") == parse_build("b10353")
    for unknown in ("ollama-0.0.1", "ollama", "nothing-1.0", "-", "b9190-1"):
        with pytest.raises(TokverifyError, match="write one like b9190, or a release like"):
            parse_build(unknown)


WORDPIECE = spec_of("bert", ["[UNK]", "[CLS]", "[SEP]", "▁e"], special_ids={"unk": 0})


@pytest.mark.parametrize(
    ("spec", "since", "why", "text", "parse_special"),
    [
        (bpe_spec([], {"</s>": 1}), 8121, "</s> was an ordinary token", "a</s>", True),
        (bpe_spec([], {"<|constrain|>": 3}), 6301, "<|constrain|> was a control token", "<|constrain|>", False),
        (bpe_spec(["Ġ ~"], pre="deepseek-v3"), 10566, "`~` was no symbol for the pre-tokenizer", " ~", True),
        (WORDPIECE, 9642, "combining marks stayed where accents are stripped", "e\N{COMBINING ENCLOSING CIRCLE}", True),
    ],
)
def test_it_is_said_before_which_build_ids_were_others(spec, since, why, text, parse_special):
    assert describe_changes(spec, resolve(spec)) == f"before b{since} ({why})"
    before = max(build for build in builds() if build < since)
    asked = [Encoder(spec, settings=resolve(spec, build)) for build in (before, since, newest_build())]
    ids = [encoder.encode(text, parse_special=parse_special) for encoder in asked]
    assert ids[0] != ids[1] == ids[2]
    reason = f"b{before} can give other ids than b{since}, because {why} before b{since}"
    assert describe_changes_between(spec, resolve(spec, before), since) == reason
    assert describe_changes_between(spec, resolve(spec, since), before) == reason
    assert describe_changes_between(spec, resolve(spec), since) == ""


def test_a_key_that_a_build_does_not_read_is_a_reason():
    spec = spec_of("t5", ["<unk>", "▁", "e"], special_ids={"unk": 0}, nfc=True)
    reason = "b11548 can give other ids than b11739, because tokenizer.ggml.normalizer.nfc was not read before b11739"
    assert describe_changes_between(spec, resolve(spec), 11548) == reason
    assert describe_changes(spec, resolve(spec)) == ""


@pytest.mark.parametrize(
    "spec",
    [
        bpe_spec(["~ a"], {"<|im_end|>": 3}),
        bpe_spec([], {"</s>": 3}),
        # Builds before b9445 do not load this file.
        bpe_spec([], {"</s>": 1}, pre="minicpm5"),
    ],
)
def test_nothing_is_said_of_builds_that_agree_or_do_not_load_the_file(spec):
    assert describe_changes(spec, resolve(spec)) == ""


def test_an_encoder_of_an_earlier_build_ignores_what_that_does_not_read():
    spec = unigram_spec({"e": -1.0, "é": -1.0, "\u0301": -1.0}, nfc=True)
    assert resolve(spec).nfc
    assert not resolve(spec, 11548).nfc
    assert Encoder(spec, settings=resolve(spec, 11548)).encode("e\u0301") == [3, 5]


def test_a_build_that_does_not_read_lowercase_strips_accents_whatever_the_file_says_about_them():
    # If letters keep their case, accents stay by default, so that the key for accents changes nothing there.
    spec = replace(WORDPIECE, tokens=["[UNK]", "[CLS]", "[SEP]", "▁e", "▁é"], types=None)
    spec = replace(spec, lowercase=False, strip_accents=False)
    assert Encoder(spec).encode("é") == [4]
    assert Encoder(spec, settings=resolve(spec, 9309)).encode("é") == [3]


def test_an_earlier_build_ends_generations_at_fewer_tokens():
    spec = bpe_spec([], {"<|eot|>": 1, "<|im_end|>": 1})
    spec = replace(spec, special_ids={"eos": spec.tokens.index("<|im_end|>")})
    ends = {build: {spec.tokens[id] for id in resolve(spec, build).eog_ids} for build in (6123, 11548, 11739)}
    assert ends == {6123: {"<|im_end|>"}, 11548: {"<|im_end|>"}, 11739: {"<|im_end|>", "<|eot|>"}}
    attributes = {build: resolve(spec, build).attributes[-1] for build in (6123, 11548)}
    assert attributes == {6123: 8, 11548: 12}  # builds of 2025 replace the type


@pytest.mark.parametrize(
    ("changes", "build", "problem"),
    [
        (
            {"pre": "minicpm5"},
            9309,
            "b9309 does not load the file: it does not know the pre-tokenizer minicpm5",
        ),
        (
            {"pre": "minicpm5"},
            9400,
            "not known whether llama.cpp b9400 reads pre-tokenizer minicpm5: b9309 does not",
        ),
        ({"general": {"architecture": "beam"}}, 11413, "it does not know the architecture beam"),
        ({"model": "gemma4"}, 8683, "b8683 encodes the model gemma4 in a way that is not imitated"),
        ({"model": "gemma4"}, 8606, "b8606 does not load the file: it does not know the model gemma4"),
        ({}, 12000, "b12000 is not between b6123 and b11739, the builds in the tables"),
    ],
)
def test_a_build_that_does_not_load_a_file_says_why(changes, build, problem):
    with pytest.raises(UnsupportedError, match=problem):
        resolve(replace(bpe_spec([]), **changes), build)


def test_what_a_text_means_to_a_build_between_two_of_the_table_is_not_known():
    spec = bpe_spec([], {"[EOS]": 1})
    with pytest.raises(UnsupportedError, match=r"b7964 makes of \[EOS\]: in b7836, it is an ordinary token, and b8095"):
        resolve(spec, 7964)
    assert [resolve(spec, build).attributes[-1] for build in (7836, 8095)] == [4, 12]
    assert resolve(bpe_spec([], {"[EOS]": 3}), 7964).attributes[-1] == 8
    assert resolve(bpe_spec([]), 7964)


def test_wordpiece_kept_combining_marks_before_b9642():
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁a", "\u0489", "▁\u0489"]
    spec = TokenizerSpec(model="bert", tokens=tokens, types=[3] * 4 + [1] * 3, special_ids={"unk": 1})
    assert Encoder(spec).encode("a\u0489") == [4]
    assert Encoder(spec, settings=resolve(spec, 9554)).encode("a\u0489") == [4, 5]


def test_a_tilde_was_no_symbol_in_patterns_before_b10566():
    # Both are what real builds give, for a GPT-2 vocabulary with this pre-tokenizer: " ~" is one pre-token, or two.
    spec = bpe_spec(["Ġ ~"], pre="deepseek-v3")
    space, tilde, both, five = (spec.tokens.index(token) for token in ("Ġ", "~", "Ġ~", "5"))
    assert Encoder(spec).encode(" ~5") == [both, five]
    assert Encoder(spec, settings=resolve(spec, 10335)).encode(" ~5") == [space, tilde, five]
    assert Encoder(spec, settings=resolve(spec, 10566)).encode(" ~5") == [both, five]
    for deviation in (Deviation(ignore_merges=False), Deviation(usable={five: False})):
        assert DeviatingEncoder(spec, deviation, settings=resolve(spec, 10335)).encode(" ~")[:2] == [space, tilde]
    plain = bpe_spec(["Ġ ~"], pre="gpt-2")
    assert Encoder(plain, settings=resolve(plain, 10335)).engine.name == Encoder(plain).engine.name


def test_a_changed_pre_tokenizer_is_that_of_the_selected_build(monkeypatch):
    spec = bpe_spec(["Ġ ~"], pre="gpt-2")
    change = set_pre_tokenizer("deepseek-v3", spec, confirmed=False)
    newest = change.encoder(spec, Encoder(spec)).encode(" ~")
    monkeypatch.setenv(VARIABLE, "b10335")
    assert change.encoder(spec, Encoder(spec)).encode(" ~") == [spec.tokens.index("Ġ"), spec.tokens.index("~")]
    assert newest == [spec.tokens.index("Ġ~")]
