import json

import pytest

from support.sentencepiece_maker import CONTROL, NORMAL, UNKNOWN, make_model, train_model
from tokverify import verify_model
from tokverify.cases.loading import load_cases
from tokverify.errors import UnsupportedError
from tokverify.references import open_reference
from tokverify.sources.gguf.writer import write_gguf
from tokverify.sources.tokenizer_file import read_spec
from tokverify.spec import TokenType

TEXTS = ("", "hello world", " two  spaces ", "\N{LLAMA} \N{INFINITY} h\xe9ron", "the red fox sees")
NAME = "sentencepiece.bpe.model"


@pytest.fixture(scope="module")
def content():
    return train_model(vocab_size=60, model_type="unigram")


@pytest.fixture
def write(tmp_path, content):
    def write_files(data=content, config=None, model=None):
        (tmp_path / NAME).write_bytes(data)
        if config is not None:
            (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
        if model is not None:
            (tmp_path / "config.json").write_text(json.dumps({"model_type": model}))
        return tmp_path / NAME

    return write_files


def test_a_class_of_xlm_roberta_numbers_the_pieces_as_in_transformers(write):
    transformers = pytest.importorskip("transformers")
    path = write(config={"tokenizer_class": "XLMRobertaTokenizer"}, model="xlm-roberta")
    theirs = transformers.AutoTokenizer.from_pretrained(path.parent)
    ours = open_reference(path).tokenizer
    assert [ours.piece(id) for id in range(ours.vocab_size)] == theirs.convert_ids_to_tokens(range(len(theirs)))
    for text in TEXTS:
        assert ours.encode(text, add_special=True, parse_special=False) == theirs.encode(text)


@pytest.mark.parametrize(
    ("config", "model"),
    [
        ({"tokenizer_class": "XLMRobertaTokenizerFast"}, None),
        (None, "xlm-roberta"),
        ({"tokenizer_class": "PreTrainedTokenizerFast"}, "xlm-roberta"),
    ],
)
def test_the_model_equals_its_reference(tmp_path, write, config, model):
    path = write(config=config, model=model)
    spec = read_spec(path)
    assert spec.tokens[:4] == ["<s>", "<pad>", "</s>", "<unk>"]
    assert spec.tokens[-1] == "<mask>"
    assert list(spec.types[:5]) == [3, 3, 3, TokenType.UNKNOWN, TokenType.NORMAL]
    assert (spec.add_bos, spec.add_eos) == (True, True)
    write_gguf(tmp_path / "model.gguf", spec)
    report = verify_model(tmp_path / "model.gguf", path, load_cases())
    assert report.verdict == "equal"


def test_without_a_class_the_name_of_the_file_stands_for_xlm_roberta_with_a_caveat(tmp_path, write, content):
    found = open_reference(write())
    assert [found.tokenizer.piece(id) for id in range(4)] == ["<s>", "<pad>", "</s>", "<unk>"]
    assert "the ids of XLM-RoBERTa were taken" in found.caveat
    (tmp_path / "tokenizer.model").write_bytes(content)
    for path in (tmp_path / "tokenizer.model", write(model="t5")):
        other = open_reference(path)
        assert [other.tokenizer.piece(id) for id in range(3)] == ["<unk>", "<s>", "</s>"]
        assert not other.caveat


def test_the_tokens_around_a_text_are_those_of_the_class_whatever_the_model_calls_bos(write):
    pieces = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL), ("a", -1.0, NORMAL)]
    path = write(make_model(pieces, {46: b"[CLS]", 47: b"[SEP]"}, {3: 0}), model="xlm-roberta")
    assert open_reference(path).tokenizer.encode("a", add_special=True, parse_special=False) == [0, 4, 2]
    assert read_spec(path).special_ids == {"bos": 0, "eos": 2, "unk": 3, "pad": 1}


@pytest.mark.parametrize(
    ("name", "model"),
    [("NllbTokenizer", None), ("MBartTokenizerFast", None), (None, "camembert"), ("TokenizersBackend", "m2m_100")],
)
def test_a_class_with_another_numbering_is_refused(write, name, model):
    path = write(config={"tokenizer_class": name} if name else None, model=model)
    for read in (open_reference, read_spec):
        with pytest.raises(UnsupportedError, match=r"does not use the ids of its \.model file; name its tokenizer"):
            read(path)


@pytest.mark.parametrize("texts", [["<s>", "<unk>", "</s>", "a"], ["<unk>", "<s>", "</s>", "<mask>"], ["<unk>", "<s>"]])
def test_other_pieces_are_refused(write, texts):
    types = {"<unk>": UNKNOWN, "a": NORMAL}
    data = make_model([(text, 0.0, types.get(text, CONTROL)) for text in texts])
    path = write(data, config={"tokenizer_class": "XLMRobertaTokenizer"})
    with pytest.raises(UnsupportedError, match="do not fit XLM-RoBERTa's tokenizer"):
        read_spec(path)
