"""The reference `transformers-gguf`: a GGUF file as transformers reads it, which needs PyTorch."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from support.paths import SAMPLE
from tokverify.errors import TokverifyError
from tokverify.references import open_reference, transformers
from tokverify.references.library_worker import TransformersEngine
from tokverify.references.reference import FoundReference

MODEL = SAMPLE / "sample.gguf"


class AutoTokenizer:
    """A tokenizer with one token: what it was made from."""

    added_tokens_decoder: Mapping[int, object] = {}

    def __init__(self, *loaded: str):
        self.loaded = str(loaded)

    @classmethod
    def from_pretrained(cls, name: str, **options: str):
        return cls(name, options["gguf_file"])

    def convert_ids_to_tokens(self, ids: Sequence[int]):
        return [self.loaded] * len(ids)


def test_the_library_is_given_the_file(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", SimpleNamespace(AutoTokenizer=AutoTokenizer))
    [token] = TransformersEngine(str(MODEL), ()).tokens([0])
    assert token == {"piece": str((str(MODEL.parent), MODEL.name))}


@pytest.mark.parametrize(
    ("text", "model", "reads_model"),
    [("", MODEL, True), (f":{MODEL}", MODEL, True), (f":{MODEL},slow", None, False), (":{other}", MODEL, False)],
)
def test_without_a_location_it_is_the_model(tmp_path, monkeypatch, text, model, reads_model):
    other = tmp_path / "blob"
    other.write_bytes(MODEL.read_bytes())
    monkeypatch.setattr(transformers, "load", lambda request: FoundReference(None, source=request.location.text))
    found = open_reference(f"transformers-gguf{text.format(other=other)}", model=model)
    assert Path(found.source.removesuffix(",slow")) == (other if "other" in text else MODEL)
    assert (found.reads_model, "no fault of the file" in found.caveat) == (reads_model, True)


@pytest.mark.parametrize("text", ["", ":absent.gguf", f":{SAMPLE / 'sample.tokenizer.json'}"])
def test_another_file_is_refused(text):
    with pytest.raises(TokverifyError, match="is not a GGUF file"):
        open_reference(f"transformers-gguf{text}", model=SAMPLE / "sample.tokenizer.json")
