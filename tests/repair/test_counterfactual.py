"""What GGUF cannot express of a tokenizer.json is named first, on pairs of files that differ in nothing else."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.spec_maker import BYTE_PIECES, CONTROL, USER_DEFINED, bpe_spec, spec_of, spm_spec
from tokverify.case import Case
from tokverify.compare.comparison import verify_tokenizers
from tokverify.engine.encoder import Encoder
from tokverify.references import open_reference
from tokverify.repair.diagnosis import Facts, diagnose
from tokverify.report.diagnosis import Explanation
from tokverify.sources.gguf.declaration import read_spec
from tokverify.spec import TokenizerSpec

STRIPPING = "stripping spaces around {} added token{} as the reference's lstrip and rstrip specify"
UNKNOWN = "treating what the vocabulary lacks as unknown instead of encoding its bytes"


def explanations(spec: TokenizerSpec, path: Path, *texts: str) -> tuple[Explanation, ...]:
    cases = [
        Case(id=f"{index}-{parse_special}", suite="s", text=text, add_special=False, parse_special=parse_special)
        for index, text in enumerate(texts)
        for parse_special in (True, False)
    ]
    encoder, found = Encoder(spec), open_reference(path)
    report = verify_tokenizers(encoder, found.tokenizer, cases)
    return diagnose(spec, Facts(found.tokenizer, found.path), report.results, encoder=encoder).diagnosis.explanations


def assert_first(found: tuple[Explanation, ...], sentence: str) -> None:
    """Check the best explanation: it explains every case, and GGUF cannot express it."""
    best = found[0]
    assert (best.sentence, best.explained, best.unexplained) == (sentence, best.failing, ())
    assert not best.expressible
    assert best.gguf_command is None


def write_json(path: Path, document: Mapping[str, Any]) -> Path:
    path.write_text(json.dumps(document))
    return path


def added(id: int, text: str, *, special: bool = True, lstrip: bool = False, rstrip: bool = False) -> dict[str, Any]:
    flags = {"single_word": False, "normalized": False, "lstrip": lstrip, "rstrip": rstrip}
    return {"id": id, "content": text, "special": special, **flags}


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
BPE = bpe_spec(["a b", "Ġ a"], {"<x>": CONTROL, "<y>": USER_DEFINED})
X, Y = (BPE.tokens.index(text) for text in ("<x>", "<y>"))


@pytest.mark.parametrize(
    ("flags", "texts", "count"),
    [
        ({"<x>": {"lstrip": True}}, ("ab <x> ab", "ab", " ab"), "1"),
        ({"<x>": {"rstrip": True}}, ("<x>\n ab", "a b"), "1"),
        ({"<x>": {"lstrip": True}, "<y>": {"rstrip": True}}, ("ab <x>", "<y> ab", "ab\n\n<x> <y>\tab"), "2"),
    ],
)
def test_added_tokens_that_strip_spaces(tmp_path: Path, flags, texts, count):
    tokens = [
        added(X, "<x>", **flags.get("<x>", {})),
        added(Y, "<y>", special=False, **flags.get("<y>", {})),
    ]
    vocab = {token: id for id, token in enumerate(BPE.tokens) if id not in {X, Y}}
    document = {
        "version": "1.0",
        "added_tokens": tokens,
        "normalizer": None,
        "pre_tokenizer": BYTE_LEVEL,
        "post_processor": None,
        "decoder": BYTE_LEVEL,
        "model": {"type": "BPE", "vocab": vocab, "merges": list(BPE.merges)},
    }
    path = write_json(tmp_path / "tokenizer.json", document)
    assert_first(explanations(BPE, path, *texts), STRIPPING.format(count, "s" * (count != "1")))


SPM = spm_spec({"▁": -1, "a": -2, "b": -3, "ab": -4, "▁a": -5}, special_ids={"unk": 0})


def sentencepiece_document(*, fuse_unk: bool) -> dict[str, Any]:
    """Return a tokenizer.json equivalent to SPM, except for byte fallback."""
    return {
        "version": "1.0",
        "added_tokens": [added(id, SPM.tokens[id]) for id in range(3)],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            ],
        },
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
            ],
        },
        "model": {
            "type": "BPE",
            "unk_token": "<unk>",
            "fuse_unk": fuse_unk,
            "byte_fallback": False,
            "vocab": {token: id for id, token in enumerate(SPM.tokens)},
            "merges": ["a b", "▁ a"],
        },
    }


@pytest.mark.parametrize(
    ("fuse_unk", "sentence"), [(True, UNKNOWN), (False, f"{UNKNOWN}, with one token per character")]
)
def test_no_byte_fallback(tmp_path: Path, fuse_unk, sentence):
    path = write_json(tmp_path / "tokenizer.json", sentencepiece_document(fuse_unk=fuse_unk))
    assert SPM.tokens[3:259] == list(BYTE_PIECES)
    assert_first(explanations(SPM, path, "ab", "a日本b", "é", "a\nb", "ab 🦙🦙"), sentence)


WORDS = spec_of("bert", ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁a", "b", "▁b", "▁,"], add_bos=False, add_sep=False)
MARKER = "treating a ▁ in a text as an ordinary character (GGUF marks the start of words with it)"


def wordpiece_document() -> dict[str, Any]:
    """Return a tokenizer.json equivalent to WORDS, in which `▁` is an ordinary character."""
    texts = [piece.removeprefix("▁") if "▁" in piece else f"##{piece}" for piece in WORDS.tokens[4:]]
    return {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {text: id for id, text in enumerate([*WORDS.tokens[:4], *texts])},
        },
    }


def test_a_space_marker_in_the_text(tmp_path: Path):
    path = write_json(tmp_path / "tokenizer.json", wordpiece_document())
    spec = replace(WORDS, special_ids={"unk": 1, "bos": 2, "sep": 3})
    encoder = Encoder(spec)
    pieces = {text: [encoder.piece(id) for id in encoder.encode(text)] for text in ("a▁b", "ab▁a,▁", "abb")}
    assert pieces == {"a▁b": ["▁a", "▁b"], "ab▁a,▁": ["▁a", "b", "▁a", "▁,", "[UNK]"], "abb": ["▁a", "b", "b"]}
    assert_first(explanations(spec, path, *pieces, "▁", "▁a", "a ▁ b"), MARKER)


def real(vocabs: Path, name: str, target: Path, change: Callable[[dict[str, Any]], None]) -> TokenizerSpec:
    """Write a changed reference of a real vocabulary, and return the declaration of its GGUF file."""
    document = json.loads((vocabs / f"{name}.tokenizer.json").read_text("utf-8"))
    change(document)
    write_json(target, document)
    return read_spec(vocabs / f"{name}.gguf")


def test_no_byte_fallback_in_llama_2(vocabs: Path, tmp_path: Path):
    path = tmp_path / "tokenizer.json"
    spec = real(vocabs, "llama-spm", path, lambda document: document["model"].update(byte_fallback=False))
    assert_first(explanations(spec, path, "Hello", "Hello\nworld", "a 🦙 and 𝄞𝄞", "tab\there"), UNKNOWN)


@pytest.mark.parametrize("flags", [{"lstrip": True}, {"rstrip": True}, {"lstrip": True, "rstrip": True}])
def test_an_added_token_that_strips_spaces_in_gpt_2(vocabs: Path, tmp_path: Path, flags):
    path = tmp_path / "tokenizer.json"
    spec = real(vocabs, "gpt-2", path, lambda document: document["added_tokens"][0].update(flags))
    texts = ("Hello", "end <|endoftext|> begin", "end\n<|endoftext|>\n\nbegin", " <|endoftext|>")
    assert_first(explanations(spec, path, *texts), STRIPPING.format(1, ""))
