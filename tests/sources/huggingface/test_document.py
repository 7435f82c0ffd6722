import contextlib
import copy
import json

import pytest
from tokenizers import models

from support.selection import thinned
from tokverify.engine.encoder import Encoder
from tokverify.errors import BrokenFileError, TokverifyError, UnsupportedError
from tokverify.sources.huggingface.conversion import CONVERTERS, read_spec


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("[]", "it has no `model`"),
        ('{"model": 1}', "it has no `model`"),
        ('{"added_tokens": []}', "it has no `model`"),
        ('{"model": {"type": "BPE"}, "normalizer": {"type": "Nonsense"}}', "cannot load it"),
        ('{"model": {"type": "BPE"}, "added_tokens": [{"id": 1}]}', "cannot load it"),
        ('{"model": {"type": "BPE"}, "added_tokens": {}}', "cannot load it"),
    ],
)
def test_anything_but_a_tokenizer_json_gives_one_clear_line(read, content, problem):
    with pytest.raises(BrokenFileError, match=problem) as raised:
        read(content)
    assert "tokenizer.json: " in str(raised.value)
    assert "\n" not in str(raised.value)


def test_bytes_that_are_not_utf_8_are_broken(tmp_path):
    (tmp_path / "tokenizer.json").write_bytes(b'{"model": "\xff"}')
    with pytest.raises(BrokenFileError, match="not valid JSON"):
        read_spec(tmp_path / "tokenizer.json")


def test_an_absent_file_is_named(tmp_path):
    with pytest.raises(BrokenFileError, match=r"absent\.json: cannot be read"):
        read_spec(tmp_path / "absent.json")


def test_a_model_that_gguf_lacks_is_named(convert):
    with pytest.raises(
        UnsupportedError, match=f"the model is WordLevel, but GGUF supports only {', '.join(CONVERTERS)}"
    ):
        convert(models.WordLevel({"a": 0}, unk_token="a"))  # noqa: S106 - no password


@pytest.mark.parametrize(
    ("model", "kind"),
    [({"vocab": {"a": 0}, "unk_token": "a"}, "WordLevel"), ({"type": "Nonsense"}, "Nonsense"), ({"type": 7}, "7")],
)
def test_the_type_of_a_model_can_be_omitted(read, model, kind):
    with pytest.raises(UnsupportedError, match=f"the model is {kind}"):
        read(json.dumps({"model": model}))


_ADDED = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
_SINGLE = [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
_STAGES = {
    "added_tokens": [{"id": 0, "content": "<s>", **_ADDED}, {"id": 3, "content": "new", **_ADDED, "special": False}],
    "post_processor": {
        "type": "TemplateProcessing",
        "single": _SINGLE,
        "pair": [*_SINGLE, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}},
    },
}
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
_BERT = {"type": "BertProcessing", "sep": ["c", 2], "cls": ["<s>", 0]}
DOCUMENTS = [
    _STAGES
    | {
        "model": {"type": "BPE", "vocab": {"<s>": 0, "a": 1, "aa": 2}, "merges": [["a", "a"]], "unk_token": None},
        "pre_tokenizer": _BYTE_LEVEL,
    },
    _STAGES
    | {
        "model": {"vocab": {"<s>": 0, "a": 1, "aa": 2}, "merges": ["a a"], "unk_token": "<s>", "byte_fallback": True},
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": False},
    },
    _STAGES
    | {
        "model": {"type": "Unigram", "vocab": [["<s>", 0.0], ["a", -1.0], ["aa", -2.0]], "unk_id": 0},
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
    },
    {
        "model": {
            "type": "WordPiece",
            "vocab": {"<s>": 0, "##a": 1, "c": 2},
            "unk_token": "<s>",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
        },
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": _BERT,
    },
]
DELETED = object()
JUNK = [None, True, -1, 7, 10**30, 0.5, "", "x", "\ud800", [], ["x"], {}, {"x": 1}, [[[]]]]


def places(value, path=()):
    """The path of everything in a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


@pytest.mark.process  # takes seconds
@pytest.mark.parametrize("document", thinned(4, DOCUMENTS))
def test_no_content_causes_more_than_an_error(tmp_path, document):
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document))
    assert Encoder(read_spec(path)).vocab_size >= 3
    for *parents, last in list(places(document)):
        for junk in [*JUNK, DELETED]:
            changed = copy.deepcopy(document)
            parent = changed
            for key in parents:
                parent = parent[key]
            if junk is DELETED:
                del parent[last]
            else:
                parent[last] = junk
            path.write_text(json.dumps(changed))
            with contextlib.suppress(TokverifyError):
                Encoder(read_spec(path))


def test_an_id_around_the_text_without_a_token_is_broken(read):
    document = copy.deepcopy(DOCUMENTS[0])
    document["post_processor"]["special_tokens"]["<s>"]["ids"] = [9]
    with pytest.raises(BrokenFileError, match="post_processor: adds the id 9, which has no token"):
        read(json.dumps(document))


def test_a_piece_of_a_million_characters_is_fast(read):
    document = copy.deepcopy(DOCUMENTS[1])
    document["model"]["vocab"]["a" * 1_000_000] = 4
    assert len(read(json.dumps(document)).tokens) == 5
