"""Subjects for rules: a spec, perhaps with a reference made from a tokenizer.json or a sentencepiece model."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from support.spec_maker import bpe_spec, spm_spec
from tokverify.compare.checks import RULES
from tokverify.compare.opened import OpenedReference
from tokverify.compare.subject import Subject
from tokverify.references import open_reference
from tokverify.report.finding import Finding
from tokverify.sources.gguf.declaration import Declaration
from tokverify.spec import TokenizerSpec

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{% endfor %}"
)
MERGES = ("a b", "Ġ a", "Ġ ab", "1 2")
ADDED = {"<|im_start|>": 3, "<|im_end|>": 3, "<think>": 4}


def good_bpe(**fields: object) -> TokenizerSpec:
    """Return a byte-level BPE without findings."""
    ids = {"bos": 260, "eos": 261, "eot": 261}
    return bpe_spec(MERGES, ADDED, **{"special_ids": ids, "add_bos": False, "chat_template": CHATML} | fields)


def good_spm(**fields: object) -> TokenizerSpec:
    """Return a sentencepiece model without findings."""
    scores = {"▁": -1.0, "a": -2.0, "b": -3.0, "ab": -4.0, "▁a": -5.0, "<end_of_turn>": 0.0}
    declared = {"special_ids": {"bos": 1, "eos": 2, "unk": 0, "eot": 264}, "add_bos": True, "add_space_prefix": True}
    return spm_spec(scores, {"<end_of_turn>": 3}, **declared | fields)


def good_bert(**fields: object) -> TokenizerSpec:
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "▁a", "▁b", "a", "b"]
    ids = {"pad": 0, "unk": 1, "bos": 2, "sep": 3, "mask": 4}
    types = [3] * 5 + [1] * 4
    return TokenizerSpec(**{"model": "bert", "tokens": tokens, "types": types, "special_ids": ids} | fields)


def good_t5(**fields: object) -> TokenizerSpec:
    tokens = ["<pad>", "</s>", "<unk>", "▁", "a", "▁a"]
    scores, types = [0.0, 0.0, 0.0, -1.0, -2.0, -3.0], [3, 3, 2, 1, 1, 1]
    declared = {"special_ids": {"pad": 0, "eos": 1, "unk": 2}, "add_eos": True, "charsmap": b"\0\0\0\0\0"}
    return TokenizerSpec(**{"model": "t5", "tokens": tokens, "scores": scores, "types": types} | declared | fields)


def findings(code: str, subject: TokenizerSpec | Subject) -> list[Finding]:
    if isinstance(subject, TokenizerSpec):
        subject = Subject(Declaration(spec=subject), name="test")
    return list(RULES[code].findings(subject))


def bpe_json(
    spec: TokenizerSpec, *, merges: Sequence[str] = MERGES, flags: Mapping[str, Sequence[str]] = {}, **stages: object
) -> dict:
    """Make the tokenizer.json equivalent to a spec; `flags` maps flags of added tokens to their texts."""
    added = [
        {
            "id": id,
            "content": token,
            "special": spec.types[id] == 3,
            **{flag: token in flags.get(flag, ()) for flag in ("lstrip", "rstrip", "single_word", "normalized")},
        }
        for id, token in enumerate(spec.tokens)
        if spec.types[id] in {3, 4}
    ]
    vocab = {token: id for id, token in enumerate(spec.tokens) if spec.types[id] == 1}
    return {
        "version": "1.0",
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "vocab": vocab, "merges": list(merges)},
    } | stages


def bert_json(spec: TokenizerSpec, *, lowercase: bool) -> dict:
    """Make a WordPiece tokenizer.json with the tokens of a spec, which lowercases or does not."""
    pieces = [token if token.startswith("[") else f"##{token}".removeprefix("##▁") for token in spec.tokens]
    model = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": {piece: id for id, piece in enumerate(pieces)},
    }
    normalizer = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": lowercase,
    }
    return bpe_json(
        spec,
        normalizer=normalizer,
        pre_tokenizer={"type": "BertPreTokenizer"},
        post_processor={"type": "BertProcessing", "cls": ["[CLS]", 2], "sep": ["[SEP]", 3]},
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": True},
        model=model,
    )


def gemma_json(vocab: Sequence[str], merges: Sequence[str], added: Sequence[dict], **stages: object) -> dict:
    """Make a tokenizer.json that merges over `▁`, as Gemma's does, with `<unk>` in its vocabulary."""
    return {
        "version": "1.0",
        "added_tokens": list(added),
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "BPE",
            "vocab": {token: id for id, token in enumerate(vocab)},
            "merges": list(merges),
            "unk_token": "<unk>",
        },
    } | stages


def against(spec: TokenizerSpec, document: Mapping[str, object], directory: Path, **beside: object) -> Subject:
    """Make a subject with a reference; `beside` maps names without suffix to the JSON files next to it."""
    path = directory / "tokenizer.json"
    path.write_text(json.dumps(document))
    for name, content in beside.items():
        (directory / f"{name}.json").write_text(json.dumps(content))
    return Subject(Declaration(spec=spec), OpenedReference(open_reference(path)), "test")
