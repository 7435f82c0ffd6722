"""The reference `transformers`, which runs in a child process."""

import json
from pathlib import Path

import pytest
from tokenizers.pre_tokenizers import ByteLevel

from support.byte_level_maker import train_byte_level
from support.locations import configured, identify
from tokverify.errors import MissingLibraryError, TokverifyError
from tokverify.references import open_reference, transformers
from tokverify.references.transformers import split_options

pytestmark = [pytest.mark.process, pytest.mark.slow]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("transformers")
    train_byte_level(ByteLevel(add_prefix_space=False), "<|end|>").save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|end|>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def encode(tokenizer, text, *, parse_special=True):
    return tokenizer.encode(text, add_special=False, parse_special=parse_special)


def test_it_encodes_as_the_tokenizer_json(folder):
    pytest.importorskip("transformers")
    found = open_reference(f"transformers:{folder}")
    other = open_reference(folder / "tokenizer.json").tokenizer
    for text in ("Hello  world", "a<|end|>", "\N{LLAMA}"):
        assert encode(found.tokenizer, text) == encode(other, text)
    assert encode(found.tokenizer, "<|end|>", parse_special=False) != [0]
    assert found.tokenizer.special_ids["eos"] == 0
    assert found.tokenizer.vocab_size == other.vocab_size
    ids = [0, *encode(other, "Hello")]
    assert found.tokenizer.decode(ids) == other.decode(ids)
    assert found.versions.keys() == {"transformers"}


def test_code_of_a_repository_runs_only_on_request(folder, tmp_path):
    pytest.importorskip("transformers")
    custom = tmp_path / "custom"
    custom.mkdir()
    (custom / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    (custom / "code.py").write_text(
        "from transformers import PreTrainedTokenizerFast\n"
        "class Reversed(PreTrainedTokenizerFast):\n"
        "    def encode(self, text, **options):\n"
        "        return super().encode(text, **options)[::-1]\n"
    )
    config = {"tokenizer_class": "Reversed", "auto_map": {"AutoTokenizer": [None, "code.Reversed"]}}
    (custom / "tokenizer_config.json").write_text(json.dumps(config))
    plain = encode(open_reference(f"transformers:{folder}").tokenizer, "ab cd")
    trusted = open_reference(f"transformers:{custom},trust_remote_code").tokenizer
    assert encode(trusted, "ab cd") == plain[::-1]
    with pytest.raises(TokverifyError, match="a configuration or stored plan may not ask for trust_remote_code"):
        open_reference(configured(f"transformers:{custom},trust_remote_code"))
    with pytest.raises(TokverifyError, match=r"if you trust it, add `,trust_remote_code` to the location$"):
        open_reference(f"transformers:{custom}")


def test_what_it_cannot_load_gives_one_line(tmp_path):
    pytest.importorskip("transformers")
    with pytest.raises(TokverifyError, match="transformers cannot load it") as caught:
        open_reference(f"transformers:{tmp_path / 'absent'}")
    assert "\n" not in str(caught.value)


def test_a_missing_library_names_the_command_that_installs_it(monkeypatch, folder):
    monkeypatch.setattr(transformers.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingLibraryError, match=r"pip install transformers"):
        open_reference(f"transformers:{folder}")


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("org/name@main,slow", ("org/name@main", ["slow"])),
        ("a,b,trust_remote_code,slow", ("a,b", ["trust_remote_code", "slow"])),
        ("a,other", ("a,other", [])),
        ("slow", ("slow", [])),
    ],
)
def test_options_follow_the_location(location, expected):
    assert split_options(location) == expected


def test_a_configuration_alone_is_read_by_transformers(tmp_path):
    (tmp_path / "tokenizer_config.json").write_text("{}")
    for location in (tmp_path, tmp_path / "tokenizer_config.json"):
        assert identify(str(location), lambda name: False) == ("transformers", str(tmp_path))
