"""Generate tokenizer.json files of every model, and what belongs beside them."""

import base64
import random
from collections.abc import Callable

from hostile.gguf_files import ALPHABET, BYTES, charsmap, make_merges
from hostile.values import distinct, number, score, short_text, text, to_json, usually

Object = dict[str, object]
Maker = Callable[[random.Random], Object]


def tokenizer_json(source: random.Random) -> dict[str, bytes]:
    """Make a tokenizer.json whose stages belong together, or are any ones."""
    return {"tokenizer.json": to_json(source, _tokenizer(source)), **companions(source)}


def _tokenizer(source: random.Random) -> Object:
    kind = source.choice(list(_KINDS))
    stages = {"normalizer": None, "pre_tokenizer": None, "decoder": None, **_KINDS[kind][1](source)}
    if source.random() < 0.25:
        stages = {name: _stages(source, *any_stages) for name, any_stages in _ANY.items()}
    added = [text(source) for _ in range(source.choice((1, 5, 40)))]
    merges, merged = make_merges(source, [*ALPHABET[33:127], *added])
    pieces = distinct(["<unk>", *ALPHABET, *BYTES, "▁", *added, *merged])
    return {
        "version": "1.0",
        "added_tokens": _added_tokens(source, len(pieces)),
        **stages,
        "post_processor": source.choice((None, None, _template(source))),
        "model": _KINDS[kind][0](source, pieces, merges),
    }


def _bpe(source: random.Random, pieces: list[str], merges: list[str]) -> Object:
    known = set(pieces)
    pairs = [
        pair for pair in (merge.split(" ") for merge in merges) if len(pair) == 2 and {*pair, "".join(pair)} <= known
    ]
    return {
        "type": "BPE",
        "vocab": _vocab(source, pieces),
        "unk_token": usually(source, "<unk>", None, "absent"),
        "merges": pairs if source.random() < 0.8 else list(map(" ".join, pairs)),
        "fuse_unk": source.random() < 0.3,
        "byte_fallback": source.random() < 0.5,
        "ignore_merges": source.random() < 0.2,
        "dropout": None,
    }


def _unigram(source: random.Random, pieces: list[str], _: list[str]) -> Object:
    scored = [[piece, usually(source, score(source), 0.0)] for piece in pieces]
    finite = [[piece, value if abs(float(value)) < 1e39 else 0.0] for piece, value in scored]
    return {"type": "Unigram", "unk_id": usually(source, 0, None, 5), "vocab": finite, "byte_fallback": True}


def _word_piece(source: random.Random, pieces: list[str], _: list[str]) -> Object:
    longest = usually(source, 100, 1, 0, number(source), share=0.1)
    return {
        "type": "WordPiece",
        "vocab": _vocab(source, ["[UNK]", "[CLS]", "[SEP]", *pieces, "##a", "##b"]),
        "unk_token": usually(source, "[UNK]", "absent"),
        "max_input_chars_per_word": longest,
        "continuing_subword_prefix": usually(source, "##", "", text(source)),
    }


def _word_level(source: random.Random, pieces: list[str], _: list[str]) -> Object:
    return {"type": "WordLevel", "vocab": _vocab(source, pieces), "unk_token": "<unk>"}


def _vocab(source: random.Random, pieces: list[str]) -> dict[str, int]:
    ids = {piece: id for id, piece in enumerate(distinct(pieces))}
    if source.random() < 0.03:
        ids[source.choice(pieces)] = abs(number(source)) % (1 << 40)
    return ids


def _added_tokens(source: random.Random, first: int) -> list[Object]:
    flags = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return [
        {
            "id": usually(source, first + at, at, number(source)),
            "content": short_text(source),
            **{name: source.random() < 0.3 for name in flags},
        }
        for at in range(source.randrange(6))
    ]


def _template(source: random.Random) -> Object:
    name = usually(source, "<s>", text(source))
    special = {"id": name, "ids": [usually(source, 1, 300, number(source))], "tokens": [name]}
    single = [{"SpecialToken": {"id": name, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    pair = [*single, {"Sequence": {"id": "B", "type_id": 1}}]
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": {name: special}}


def _replace(source: random.Random) -> Object:
    regex = source.choice((" {2,}", "(a+)+$", ".", "a{99}", usually(source, "x", "", "[", "a{9999}")))
    pattern = source.choice(({"String": short_text(source)}, {"Regex": regex}))
    return {"type": "Replace", "pattern": pattern, "content": source.choice(("▁", " ", short_text(source)))}


def _byte_level(source: random.Random) -> Object:
    return {"type": "ByteLevel", "add_prefix_space": source.random() < 0.2, "trim_offsets": True, "use_regex": True}


def _metaspace(source: random.Random) -> Object:
    scheme = source.choice(("always", "never", "first"))
    return {"type": "Metaspace", "replacement": source.choice("▁▁▁_"), "prepend_scheme": scheme, "split": True}


def _split(source: random.Random) -> Object:
    pattern = {"Regex": source.choice((r"\p{N}{1,3}", "(a+)+$", r"\s+(?!\S)", "a|b", usually(source, "x", "")))}
    return {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": source.random() < 0.1}


def _plain(name: str) -> Maker:
    return lambda _: {"type": name}


def _bert(source: random.Random) -> Object:
    flags = {"clean_text": True, "handle_chinese_chars": True, "lowercase": source.random() < 0.5}
    return {"type": "BertNormalizer", **flags, "strip_accents": source.choice((None, True, False))}


def _precompiled(source: random.Random) -> Object:
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap(source)).decode()}


def _prepend(source: random.Random) -> Object:
    return {"type": "Prepend", "prepend": usually(source, "▁", short_text(source))}


def _strip(source: random.Random) -> Object:
    return {"type": "Strip", "strip_left": True, "strip_right": source.random() < 0.5}


def _sequence(key: str, stages: list[Object]) -> Object:
    return {"type": "Sequence", key: stages}


def _as_gpt2(source: random.Random) -> Object:
    digits = [_split(source)] if source.random() < 0.3 else []
    return {"pre_tokenizer": _sequence("pretokenizers", [*digits, _byte_level(source)]), "decoder": _byte_level(source)}


def _as_llama(source: random.Random) -> Object:
    spaces = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    back = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    decoders = [
        back,
        {"type": "ByteFallback"},
        {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    ]
    return {
        "normalizer": _sequence("normalizers", [_prepend(source), spaces]),
        "decoder": _sequence("decoders", decoders),
    }


def _as_t5(source: random.Random) -> Object:
    normalizer = _precompiled(source) if source.random() < 0.5 else None
    return {"normalizer": normalizer, "pre_tokenizer": _metaspace(source), "decoder": _metaspace(source)}


def _as_bert(source: random.Random) -> Object:
    decoder = {"type": "WordPiece", "prefix": "##", "cleanup": source.random() < 0.5}
    return {"normalizer": _bert(source), "pre_tokenizer": {"type": "BertPreTokenizer"}, "decoder": decoder}


_KINDS: dict[str, tuple[Callable[[random.Random, list[str], list[str]], Object], Maker]] = {
    "gpt2": (_bpe, _as_gpt2),
    "gpt2 again": (_bpe, _as_gpt2),
    "llama": (_bpe, _as_llama),
    "t5": (_unigram, _as_t5),
    "bert": (_word_piece, _as_bert),
    "words": (_word_level, _as_bert),
}
_NORMALIZERS = (_replace, _prepend, _strip, _bert, _precompiled, *map(_plain, ("NFC", "NFKC", "NFD", "Lowercase")))
_PRE_TOKENIZERS = (_byte_level, _byte_level, _metaspace, _split, *map(_plain, ("BertPreTokenizer", "WhitespaceSplit")))
_DECODERS = (_byte_level, _metaspace, _replace, *map(_plain, ("ByteFallback", "Fuse")))
_ANY: dict[str, tuple[str, tuple[Maker, ...]]] = {
    "normalizer": ("normalizers", _NORMALIZERS),
    "pre_tokenizer": ("pretokenizers", _PRE_TOKENIZERS),
    "decoder": ("decoders", _DECODERS),
}


def _stages(source: random.Random, key: str, makers: tuple[Maker, ...]) -> Object | None:
    stages = [source.choice(makers)(source) for _ in range(source.randrange(4))]
    if not stages:
        return None
    return stages[0] if len(stages) == 1 else _sequence(key, stages)


def companions(source: random.Random) -> dict[str, bytes]:
    """Make the files beside a tokenizer, sometimes."""
    if source.random() < 0.5:
        return {}
    entry = {"content": short_text(source), "special": True}
    id = usually(source, 300, number(source), "5" * 5000, text(source), share=0.2)
    config = {
        "added_tokens_decoder": {str(id): usually(source, entry, text(source))},
        "bos_token": usually(source, "<s>", entry, None, text(source), share=0.3),
        "eos_token": "<unk>",
        "chat_template": source.choice((text(source), [{"name": "default", "template": text(source)}])),
        "add_bos_token": usually(source, True, False, None, 1, share=0.3),
    }
    return {"tokenizer_config.json": to_json(source, config)}
