from tokverify.engine.byte_level import to_byte_level
from tokverify.engine.pre_search import PROBES, choose_name, find_match, find_matching_names
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, splitter


def cut_by(name: str) -> list[list[str]]:
    split = splitter(PRE_TOKENIZERS[name])
    return [list(map(to_byte_level, split(text))) for text in PROBES]


def test_every_name_is_found_by_what_it_does():
    names = {}
    for name, pre_tokenizer in PRE_TOKENIZERS.items():
        if pre_tokenizer.byte_level:
            names.setdefault(pre_tokenizer.patterns, name)
    assert all(name in find_matching_names(cut_by(name)) for name in names.values())


def test_a_match_names_the_alternatives():
    match = find_match("llama-bpe")
    assert match.texts == PROBES
    assert match.pre_tokens == sum(map(len, cut_by("llama-bpe")))
    assert {"llama3", "pixtral", "glm4"} <= set(match.alike)
    assert set(match.unlike_in_merges) == {"dbrx", "smaug-bpe", "chatglm-bpe"}
    assert "llama-bpe" not in match.alike


def test_only_texts_that_are_split_alike_are_evidence():
    match = find_match("gpt-4o", cut_by("granite-embed-multi-97m"))
    assert set(match.texts) < set(PROBES)
    same = [
        ours for ours, theirs in zip(cut_by("gpt-4o"), cut_by("granite-embed-multi-97m"), strict=True) if ours == theirs
    ]
    assert (len(match.texts), match.pre_tokens) == (len(same), sum(map(len, same)))
    assert "llama4" in match.alike


def test_the_common_name_is_chosen_if_several_give_the_same_ids():
    assert choose_name(["stablelm2", "deepseek-r1-qwen", "qwen2"], adds_bos=False) == "qwen2"
    assert choose_name(["glm4", "llama3", "llama-bpe", "minicpm5"], adds_bos=True) == "llama-bpe"
    # One that implies something of BOS which the file does not say comes after one that does not.
    assert choose_name(["llama-bpe", "minicpm5"], adds_bos=False) == "minicpm5"
    assert choose_name(["minicpm5", "llama-bpe"]) == "llama-bpe"
    assert choose_name(["chatglm-bpe", "dbrx"]) == "dbrx"


def test_among_names_with_the_same_ids_the_one_that_decodes_alike_is_chosen():
    names = ["starcoder", "smollm", "gpt-2", "granite-docling"]
    assert choose_name(names[:2], cleans_spaces=False) == "smollm"
    assert choose_name(names[:2], cleans_spaces=True) == choose_name(names[:2]) == "starcoder"
    assert choose_name(names[2:], adds_bos=False, cleans_spaces=False) == "granite-docling"
    assert choose_name(names[2:], adds_bos=False) == "gpt-2"
