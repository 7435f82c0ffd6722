"""The reference `transformers`, which runs in a child process."""

import json
from pathlib import Path
from shutil import copytree

import pytest
from tokenizers.pre_tokenizers import ByteLevel

from support.byte_level_maker import train_byte_level
from support.locations import configured, identify
from support.rule_maker import gemma_json
from support.spec_maker import spm_spec
from tokverify.case import Case
from tokverify.compare.opened import OpenedReference
from tokverify.engine.encoder import Encoder
from tokverify.errors import EncodeError, MissingLibraryError, TokverifyError
from tokverify.references import open_reference, transformers
from tokverify.references.discovery import find_beside
from tokverify.references.transformers import split_options
from tokverify.repair.fix.other_reference import find_other_version
from tokverify.sources.stores.location import find_model
from tokverify.tokenizer import DocumentHolding

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


def test_the_tokenizer_json_that_a_class_holds_describes_it(folder, tmp_path):
    """So a limit of llama.cpp is recognized, and the tokens that end a generation are known."""
    pytest.importorskip("transformers")
    folder = copytree(folder, tmp_path / "chat")
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [0, 5]}))
    (folder / "chat_template.jinja").write_text("{{ eos_token }}")
    opened = OpenedReference(open_reference(f"transformers:{folder}"))
    assert opened.document is not None
    # The library of this process, which may have another version, neither streams nor shows stages in place of it.
    assert not hasattr(opened.tokenizer, "decoder")
    assert not hasattr(opened.tokenizer, "stages")
    assert opened.document.library.pre_tokenizer.__class__.__name__ == "ByteLevel"
    assert opened.named_ends == {0, 5}
    assert opened.chat_template == "{{ eos_token }}"
    tokenizer = open_reference(f"transformers:{folder}").tokenizer
    ids = tokenizer.encode_many(["ab cd", "\ud800"], add_special=False, parse_special=True)
    assert ids[0] == encode(tokenizer, "ab cd")
    assert isinstance(ids[1], EncodeError)
    with pytest.raises(EncodeError):
        tokenizer.decode([10**6])
    around = tokenizer.with_around([0], [0])
    assert around.encode_many(["ab cd"], add_special=True, parse_special=True) == [[0, *ids[0], 0]]
    tokenizer.close()


def test_a_class_that_decodes_in_its_own_way_is_not_described_by_its_tokenizer_json(folder, tmp_path):
    pytest.importorskip("transformers")
    own = copytree(folder, tmp_path / "own")
    (own / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "WhisperTokenizer"}))
    assert not isinstance(open_reference(f"transformers:{own}").tokenizer, DocumentHolding)


def test_a_class_that_does_not_encode_as_the_tokenizer_json_that_it_reads_is_doubted(tmp_path):
    """As that of Llama since transformers 5, which adds a space in front."""
    pytest.importorskip("transformers", minversion="5")
    spec = spm_spec({"▁": -1.0, "a": -2.0, "b": -2.0, "ab": -1.5}, add_space_prefix=False)
    document = gemma_json(spec.tokens, ["a b"], [])
    document["model"] |= {"fuse_unk": True, "byte_fallback": True}
    document["decoder"] = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "LlamaTokenizer"}))
    reference = OpenedReference(open_reference(f"transformers:{tmp_path}"))
    cases = [Case(id="merged", suite="made", text="ab ab", add_special=False)]
    model = tmp_path / "model.gguf"
    others = [open_reference(tmp_path / "tokenizer.json")]
    found = find_other_version(model, Encoder(spec), reference, others, cases)
    assert found.startswith("transformers does not encode as the tokenizer that it loaded: the file agrees with")
    assert [each.path for each in find_beside(find_model(model), reference.found)] == [tmp_path / "tokenizer.json"]


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


def test_a_configuration_without_a_vocabulary_is_no_tokenizer(folder, tmp_path):
    pytest.importorskip("transformers")
    token = {"content": "<|end|>", "special": True}
    config = {"tokenizer_class": "Qwen2Tokenizer", "added_tokens_decoder": {"0": token}, "eos_token": "<|end|>"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    with pytest.raises(TokverifyError, match=r"has no vocabulary, only the added tokens of its tokenizer_config\.json"):
        open_reference(str(tmp_path))


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
