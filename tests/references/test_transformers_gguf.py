"""The reference `transformers-gguf`: a GGUF file as transformers reads it, which needs PyTorch."""

import sys
from pathlib import Path

import pytest

from support.paths import SAMPLE
from tokverify.errors import TokverifyError
from tokverify.references import open_reference, transformers
from tokverify.references.library_worker import TransformersEngine
from tokverify.references.reference import FoundReference

MODEL = SAMPLE / "sample.gguf"
LIBRARY = """
class AutoTokenizer:
    @classmethod
    def from_pretrained(cls, name, **options):
        self = cls()
        self.loaded = name, options.get("gguf_file")
        return self
    def __len__(self):
        return 1
    def get_vocab(self):
        return {str(self.loaded): 0}
    def convert_ids_to_tokens(self, ids):
        return [str(self.loaded)] * len(ids)
    added_tokens_decoder = {}
"""


def test_the_library_is_given_the_file(tmp_path, monkeypatch):
    (tmp_path / "transformers.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "transformers", raising=False)
    engine = TransformersEngine(str(MODEL), ())
    assert [token["piece"] for token in engine.tokens([0])] == [str((str(MODEL.parent), MODEL.name))]
    monkeypatch.delitem(sys.modules, "transformers")


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
