"""BPE in the style of sentencepiece: merges over `▁` and byte pieces, declared by rank."""

import json

import pytest
from tokenizers import AddedToken, models, normalizers, pre_tokenizers, processors

from support.sentencepiece_maker import train_model
from tokverify.engine.encoder import Encoder
from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.sources.huggingface.conversion import read_spec

PREPEND = normalizers.Prepend("▁")
REPLACE = normalizers.Replace(" ", "▁")
BOS = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
SPECIAL = [("<unk>", True), ("<s>", True), ("</s>", True)]

_FALLBACK = {"unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True}


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A vocabulary that sentencepiece trained, and its scores as merges: all ways to make a piece, best piece first."""
    from tokverify.sources.sentencepiece.reader import read_spec as read_model

    path = tmp_path_factory.mktemp("trained") / "tokenizer.model"
    path.write_bytes(
        train_model(model_type="bpe", vocab_size=330, byte_fallback=True, normalization_rule_name="identity")
    )
    spec = read_model(path)
    ids = {piece: id for id, piece in enumerate(spec.tokens)}
    made = sorted((piece for piece in ids if len(piece) > 1), key=lambda piece: -spec.scores[ids[piece]])
    splits = [(piece[:cut], piece[cut:]) for piece in made for cut in range(1, len(piece))]
    return ids, [pair for pair in splits if set(pair) <= ids.keys()]


def bpe(ids, merges, **options):
    return models.BPE(ids, merges, **_FALLBACK, **options)


def replaced(trained, old, new):
    """The vocabulary with one piece renamed, which is in no merge."""
    ids, merges = trained
    return {new if piece == old else piece: id for piece, id in ids.items()}, merges


@pytest.mark.parametrize(
    "stages",
    [
        {"normalizer": normalizers.Sequence([PREPEND, REPLACE])},
        {"normalizer": normalizers.Sequence([REPLACE, PREPEND]), "post_processor": BOS},
        {"normalizer": REPLACE},
        {"normalizer": REPLACE, "pre_tokenizer": pre_tokenizers.Split(" ", "merged_with_previous")},
        {"pre_tokenizer": pre_tokenizers.Metaspace(prepend_scheme="never", split=False), "post_processor": BOS},
        {"pre_tokenizer": pre_tokenizers.Metaspace(prepend_scheme="never", split=True)},
    ],
)
def test_scores_are_equivalent_if_every_merge_for_a_piece_is_listed(make, require_equal, trained, stages):
    tokenizer = make(bpe(*trained), [*SPECIAL, ("<tool>", False), ("fox", False)], **stages)
    spec = require_equal(tokenizer)
    assert (spec.model, spec.pre, spec.merges) == ("llama", "default", None)
    assert spec.add_bos is ("post_processor" in stages)
    assert spec.add_space_prefix is ("Prepend" in str(stages))
    assert spec.types[:4] == [2, 3, 3, 6]
    assert spec.special_ids == {"unk": 0} | ({"bos": 1} if spec.add_bos else {})


def test_metaspace_keeps_a_first_space_where_llama_cpp_adds_another(make, read, trained):
    tokenizer = make(bpe(*trained), SPECIAL, pre_tokenizer=pre_tokenizers.Metaspace(split=False))
    encoder = Encoder(read(tokenizer))
    assert encoder.encode("fox") == tokenizer.encode("fox").ids
    assert len(encoder.encode(" fox")) == len(tokenizer.encode(" fox").ids) + 1


def test_gemma4_is_used_if_scores_cannot_express_the_merges(make, require_equal, trained):
    ids, merges = trained
    # A piece of the vocabulary that can be made of two others, but never is.
    left = [pair for pair in merges if "".join(pair) != "the"]
    spec = require_equal(make(bpe(ids, left), SPECIAL, normalizer=REPLACE, post_processor=BOS))
    assert (spec.model, spec.pre, spec.scores) == ("gemma4", "gemma4", None)
    assert spec.merges == list(map(" ".join, left))


@pytest.mark.parametrize(
    ("stages", "more", "named"),
    [
        ({"normalizer": normalizers.Sequence([PREPEND, REPLACE])}, [], "adds no space before a text"),
        ({"normalizer": REPLACE}, [], "always adds BOS before a text"),
        (
            {"normalizer": REPLACE, "post_processor": BOS},
            [("\n", "e")],
            "does not merge across line ends, as rank 0 does",
        ),
        ({"normalizer": REPLACE, "post_processor": BOS}, [("\n", "\n")], r"encodes '\\n\\n\\n' as one token"),
    ],
)
def test_the_reason_is_named_if_gemma4_cannot_be_used_either(convert, trained, stages, more, named):
    ids, merges = trained
    last = max(ids.values())
    ids = ids | {piece: last + index for index, piece in enumerate(["\n", "\ne", "\n\n", "\n\n\n"], 1)}
    merges = [*more, *(pair for pair in merges if "".join(pair) != "the")]
    with pytest.raises(UnsupportedError, match=named):
        convert(bpe(ids, merges), SPECIAL, **stages)


def test_an_added_token_of_spaces_is_matched(convert, trained):
    """Matched in the text as it comes, it is never two spaces; matched in the normalized text, it is."""
    for normalized, text, type in [(False, "▁▁", 1), (True, "  ", 4)]:
        ids, merges = replaced(trained, "<0x00>", "▁▁")
        added = [*SPECIAL, AddedToken("▁▁", normalized=normalized)]
        spec = convert(bpe(ids, [("▁", "▁"), *merges]), added, normalizer=REPLACE)
        assert (spec.tokens[3], spec.types[3]) == (text, type)


@pytest.mark.parametrize(
    ("stages", "named"),
    [
        ({}, "pre_tokenizer: neither ByteLevel nor one that writes spaces as"),
        ({"normalizer": normalizers.Sequence([normalizers.NFKC(), REPLACE])}, "normalizer NFKC"),
        ({"normalizer": normalizers.Replace(" ", "_")}, "normalizer Replace"),
        ({"normalizer": REPLACE, "pre_tokenizer": pre_tokenizers.Digits()}, "pre_tokenizer Digits"),
        ({"pre_tokenizer": pre_tokenizers.Metaspace("_")}, "pre_tokenizer Metaspace"),
    ],
)
def test_a_stage_that_gguf_cannot_express_is_named(convert, trained, stages, named):
    with pytest.raises(UnsupportedError, match=named):
        convert(bpe(*trained), SPECIAL, **stages)


def test_ignore_merges_is_refused_for_such_pieces(convert, trained):
    with pytest.raises(UnsupportedError, match=r"model\.ignore_merges"):
        convert(bpe(*trained, ignore_merges=True), SPECIAL, normalizer=REPLACE)


def test_pieces_across_a_space_are_refused_if_metaspace_splits(make, read, trained):
    ids, merges = replaced(trained, "<0x00>", "e▁")
    tokenizer = make(bpe(ids, [*merges, ("e", "▁")]), pre_tokenizer=pre_tokenizers.Metaspace(prepend_scheme="never"))
    with pytest.raises(UnsupportedError, match=r"Metaspace split: llama\.cpp can produce e▁"):
        read(tokenizer)


def test_a_missing_unknown_token_is_broken(make, read, trained):
    content = json.loads(make(bpe(*trained), normalizer=REPLACE).to_str())
    content["model"] |= {"unk_token": "absent"}
    with pytest.raises(BrokenFileError, match=r"model\.unk_token: 'absent' is not in the vocabulary"):
        read(json.dumps(content))


def test_the_real_llama(shared):
    encoder = Encoder(read_spec(shared / "vocabs" / "llama-spm.tokenizer.json"))
    assert encoder.spec.model == "llama"
    for row in rows(shared, "llama-spm"):
        options = {"add_special": row["add_special"], "parse_special": row["parse_special"]}
        assert encoder.encode(row["text"], **options) == row["ids"], row


@pytest.mark.slow  # half a million merges are read
@pytest.mark.parametrize("name", ["gemma-3", "gemma-4"])
def test_the_real_gemma(shared, name):
    encoder = Encoder(read_spec(shared / "vocabs" / f"{name}.tokenizer.json"))
    assert encoder.spec.model == "gemma4"
    for row in rows(shared, name):
        options = {"add_special": row["add_special"], "parse_special": row["parse_special"]}
        # In the GGUF file of Gemma 3, `▁▁` is the piece for two spaces in the text as it comes, and for nothing else.
        if "▁▁" not in row["text"]:
            assert encoder.encode(row["text"], **options) == row["ids"], row


def rows(shared, name):
    return map(json.loads, (shared / "golden" / f"{name}.jsonl").read_text().splitlines())
