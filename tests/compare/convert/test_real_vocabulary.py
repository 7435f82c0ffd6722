"""Real vocabularies can be converted, and limits of llama.cpp explain every difference."""

from dataclasses import replace

import pytest

from support.selection import thinned
from tokverify import load_gguf
from tokverify.compare.convert import convert
from tokverify.compare.fuzz.loop import fuzz
from tokverify.compare.fuzz.plan import FuzzPlan
from tokverify.engine.encoder import Encoder
from tokverify.errors import MissingLibraryError
from tokverify.references import open_reference
from tokverify.sources.gguf.declaration import read_spec
from tokverify.spec import TokenType

EQUAL = ["gpt-2.tokenizer.json", "llama-spm.tokenizer.json", "llama-spm.tokenizer.model", "xlnet.tokenizer.model"]
UNLIKE = {
    "mpt.tokenizer.json": "TL003",
    "bert-bge.tokenizer.json": "TL010",
    "t5.tokenizer.model": "TL014",
}
# 262,144 tokens each, which take five seconds.
LARGE = {
    "gemma-3.tokenizer.json": "TL005",
    "gemma-4.tokenizer.json": "TL001",
}


def slow(name: str):
    """Mark a parameter as slow: it takes seconds and tests the same on other data."""
    return pytest.param(name, marks=pytest.mark.slow)


@pytest.mark.parametrize("name", EQUAL)
def test_a_tokenizer_that_gguf_can_express_agrees(vocabs, tmp_path, name):
    done = convert(vocabs / name, tmp_path / "out.gguf", cases=[], count=1000)
    assert (done.written, done.differing) == (True, 0)


@pytest.mark.parametrize(
    ("name", "code"),
    [*thinned(2, UNLIKE.items()), *(pytest.param(*pair, marks=pytest.mark.slow) for pair in LARGE.items())],
)
def test_differences_are_explained_by_losses(vocabs, tmp_path, name, code):
    done = convert(vocabs / name, tmp_path / "out.gguf", cases=[], count=2000)
    assert done.written
    assert done.differing
    assert done.unexplained == 0
    assert code in [limit.code for limit in done.report.limits]


@pytest.mark.parametrize("name", ["t5", "xlnet", "llama-spm"])
def test_a_converted_sentencepiece_model_equals_the_published_file(vocabs, tmp_path, name):
    convert(vocabs / f"{name}.tokenizer.model", tmp_path / "out.gguf", cases=[], count=0)
    made, published = load_gguf(tmp_path / "out.gguf"), load_gguf(vocabs / f"{name}.gguf")
    if name == "xlnet":
        # The published file leaves out which token pads, which no ids depend on.
        assert made.special_ids["pad"] != published.special_ids["pad"]
    if name != "llama-spm":
        # The user-defined pieces are not typed as such.
        assert TokenType.USER_DEFINED not in made.spec.types
        made = Encoder(replace(made.spec, types=published.spec.types, scores=published.spec.scores), name)
    assert made.fingerprint == published.fingerprint


@pytest.mark.parametrize("name", ["t5.tokenizer.model", *map(slow, [*EQUAL, *UNLIKE, *LARGE])])
def test_llama_cpp_loads_the_converted_file_and_agrees(vocabs, tmp_path, name):
    target = tmp_path / "out.gguf"
    convert(vocabs / name, target, cases=[], count=0)
    try:
        reference = open_reference("llama.cpp", model=target).tokenizer
    except MissingLibraryError as error:
        pytest.skip(str(error))
    assert fuzz(load_gguf(target), reference, FuzzPlan(count=600)).failing == 0


@pytest.mark.parametrize("name", ["gpt-2", *map(slow, ["llama-spm", "mpt"])])
def test_a_round_trip_keeps_the_tokenizer(vocabs, tmp_path, name):
    done = convert(vocabs / f"{name}.gguf", tmp_path / "x.tokenizer.json", count=500, with_config=True)
    assert done.written
    done = convert(tmp_path / "x.tokenizer.json", tmp_path / "x.gguf", cases=[], count=500)
    assert done.written
    again, first = read_spec(tmp_path / "x.gguf"), read_spec(vocabs / f"{name}.gguf")
    assert (again.tokens, again.merges, again.special_ids) == (first.tokens, first.merges, first.special_ids)
