import contextlib
import json
import random
from array import array
from dataclasses import asdict

import pytest
import sentencepiece

from support.sentencepiece_maker import (
    BPE,
    BYTE,
    CHAR,
    CONTROL,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    WORD,
    WORDS,
    make_model,
    train_model,
)
from tokverify.engine.encoder import Encoder
from tokverify.errors import BrokenFileError, EncodeError, TokverifyError, UnsupportedError
from tokverify.sources.gguf import declaration as gguf_declaration
from tokverify.sources.sentencepiece.reader import read_spec, read_with_added_tokens

SPECIAL = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL)]


@pytest.fixture
def read(tmp_path):
    def read_bytes(data, name="tokenizer.model"):
        (tmp_path / name).write_bytes(data)
        return read_spec(tmp_path / name)

    return read_bytes


def processor_of(data):
    return sentencepiece.SentencePieceProcessor(model_proto=data)


def texts(count):
    """Words and characters, known and unknown, with all kinds of spacing."""
    rng = random.Random(0)  # noqa: S311 - no secret
    marks = [" ", "  ", "   ", "\n", "\t", "<s>", "<unk>", "…", "🫩", "🇩🇪", "日本", "0", "12"]
    parts = [*WORDS, *"aebzé", *marks]
    return ["".join(rng.choices(parts, k=rng.randint(0, 12))) for _ in range(count)]


def test_every_field_has_its_place(read):
    pieces = [*SPECIAL, ("▁a", -1.5, NORMAL), ("▁▁", 0.0, USER_DEFINED), ("<0x0A>", 0.0, BYTE), (b"\xff", -2.0, UNUSED)]
    spec = read(make_model(pieces, {3: BPE}, {2: b"\x04\x00", 3: 0, 4: 0}))
    assert asdict(spec) == {
        "model": "llama",
        "tokens": ["<unk>", "<s>", "</s>", "▁a", "  ", "<0x0A>", "\udcff"],
        "pre": "default",
        "scores": array("f", [0, 0, 0, -1.5, 0, 0, -2]),
        "types": [2, 3, 3, 1, 4, 6, 5],
        "merges": None,
        "special_ids": {"unk": 0, "bos": 1, "eos": 2},
        "add_bos": None,
        "add_eos": None,
        "add_sep": None,
        "add_space_prefix": False,
        "remove_extra_whitespaces": False,
        "lowercase": None,
        "strip_accents": None,
        "nfc": None,
        "charsmap": b"\x04\x00",
        "chat_template": None,
        "named_chat_templates": {},
        "huggingface_json": None,
        "general": {},
        "suppressed": None,
        "unread_keys": (),
        "mistyped_keys": {},
        "embedding_rows": None,
        "left_out": (),
    }


def test_the_unknown_token_is_found_by_its_type(read, tmp_path):
    data = make_model([("[UNK]", 0.0, UNKNOWN), ("<unk>", -1.0, NORMAL), ("a", -1.0, NORMAL)])
    assert read(data).special_ids == {"unk": 0}
    assert processor_of(data).encode("z") == [0]


def test_a_role_that_gguf_lacks_is_left_out(read, tmp_path):
    (tmp_path / "tokenizer_config.json").write_text('{"cls_token": "[CLS]", "sep_token": "[SEP]"}')
    spec = read(make_model([*SPECIAL, ("[CLS]", 0.0, CONTROL), ("[SEP]", 0.0, CONTROL)]))
    assert spec.special_ids == {"unk": 0, "bos": 1, "eos": 2, "sep": 4}


def test_missing_fields_have_sentencepieces_defaults(read):
    spec = read(make_model(SPECIAL))
    assert (spec.model, spec.add_space_prefix, spec.remove_extra_whitespaces, spec.charsmap) == ("t5", True, True, None)


def test_special_tokens_are_found_by_their_names_in_the_file(read):
    pieces = [("[PAD]", 0, CONTROL), ("[GO]", 0, CONTROL), ("<s>", 0, NORMAL), ("<unk>", 0, UNKNOWN)]
    spec = read(make_model(pieces, {46: b"[GO]", 48: b"[PAD]", 47: b"<s>"}))
    # An ordinary piece is never special, whatever its name.
    assert spec.special_ids == {"bos": 1, "pad": 0, "unk": 3}


def test_a_config_next_to_the_file_declares_the_tokens_around_a_text(read, tmp_path):
    config = {"add_bos_token": True, "add_eos_token": False, "bos_token": {"content": "</s>"}, "eos_token": "absent"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    spec = read(make_model(SPECIAL))
    assert (spec.add_bos, spec.add_eos) == (True, False)
    assert spec.special_ids == {"unk": 0, "bos": 2, "eos": 2}


@pytest.mark.parametrize(
    ("trainer", "normalizer", "named"),
    [
        ({3: WORD}, {}, "model_type is word"),
        ({3: CHAR}, {}, "model_type is char"),
        ({3: 77}, {}, "model_type is 77"),
        ({24: 1}, {}, "treat_whitespace_as_suffix"),
        ({}, {5: 0}, "escape_whitespaces"),
    ],
)
def test_unsupported_features_are_named(read, trainer, normalizer, named):
    with pytest.raises(UnsupportedError, match=named):
        read(make_model(SPECIAL, trainer, normalizer))


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "it contains no pieces"),
        (b"\0", "not a sentencepiece model"),
        (b"version https://git-lfs.github.com/spec/v1\n", "not a sentencepiece model"),
        (b'{"model": {}}', "not a sentencepiece model"),
        (b"\x0a\xff\xff\xff\xff\x0f", "not a sentencepiece model"),
        (make_model([]), "it contains no pieces"),
        (make_model([*SPECIAL, ("a", 0, 9)]), "type of piece 3 is 9"),
        (make_model([*SPECIAL, ("a", 0, 0)]), "type of piece 3 is 0"),
        (make_model([*SPECIAL, ("a", float("nan"), NORMAL)]), "score of piece 3 is nan"),
        (make_model([*SPECIAL, ("a", float("-inf"), NORMAL)]), "score of piece 3 is -inf"),
    ],
)
def test_a_broken_file_gives_one_clear_line(read, data, problem):
    with pytest.raises(BrokenFileError, match=problem) as raised:
        read(data)
    assert "tokenizer.model: " in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_truncated_anywhere_is_broken(read):
    data = make_model([*SPECIAL, ("▁a", -1, NORMAL)], {3: BPE, 46: b"<s>"}, {3: 0})
    for length in range(len(data)):
        with pytest.raises(BrokenFileError, match=r"tokenizer\.model: "):
            read(data[:length])


def test_a_damaged_file_never_causes_more_than_an_error(read):
    data = make_model([*SPECIAL, ("▁a", -1, NORMAL), ("<0x0A>", 0, BYTE)], {3: BPE, 46: b"<s>"}, {3: 0})
    for position in range(len(data)):
        for byte in (0x00, 0x01, 0x0A, 0x7F, 0x80, 0xFF):
            with contextlib.suppress(TokverifyError):
                Encoder(read(data[:position] + bytes([byte]) + data[position + 1 :]))


def test_an_absent_file_is_named(tmp_path):
    with pytest.raises(BrokenFileError, match=r"absent\.model: cannot be read"):
        read_spec(tmp_path / "absent.model")


_BPE = {"model_type": "bpe", "vocab_size": 330, "byte_fallback": True, "normalization_rule_name": "identity"}
LIKE_LLAMA = _BPE | {"remove_extra_whitespaces": False}
LIKE_GEMMA = LIKE_LLAMA | {
    "add_dummy_prefix": False,
    "user_defined_symbols": ["<start_of_turn>", "<end_of_turn>", "<unused10>", "\n", "▁▁", "▁▁▁"],
    "pad_id": 0,
    "eos_id": 1,
    "bos_id": 2,
    "unk_id": 3,
    "bos_piece": "<bos>",
    "eos_piece": "<eos>",
}
# A literal space in a user-defined piece: sentencepiece never finds it, because it has replaced all spaces by then.
LIKE_GROK = LIKE_LLAMA | {"add_dummy_prefix": False, "user_defined_symbols": ["  ", "   ", "\n", "0"]}
LIKE_T5 = {"model_type": "unigram", "vocab_size": 60}
WITHOUT_PREFIX = LIKE_T5 | {
    "add_dummy_prefix": False,
    "remove_extra_whitespaces": False,
    "normalization_rule_name": "nfkc_cf",
}


@pytest.mark.parametrize("options", [LIKE_LLAMA, LIKE_GEMMA, LIKE_GROK, LIKE_T5, WITHOUT_PREFIX])
def test_a_trained_model_encodes_as_sentencepiece_does(read, options):
    data = train_model(**options)
    encoder, processor = Encoder(read(data)), processor_of(data)
    for text in texts(400):
        assert encoder.encode(text, parse_special=False) == processor.encode(text), text


@pytest.mark.parametrize(
    ("options", "text", "actual", "expected"),
    [
        # llama.cpp merges no spaces for the model `llama`, regardless of the file.
        (_BPE, "a  fox", ["▁a", "▁", "▁fox"], ["▁a", "▁fox"]),
        # It looks for user-defined pieces before spaces become `▁`.
        (LIKE_GEMMA, "a ▁fox", ["a", "▁", "▁fox"], ["a", "▁▁", "fox"]),
        # And it has no byte fallback for the model `t5`.
        (LIKE_T5 | {"vocab_size": 320, "byte_fallback": True}, "z", ["▁", "<unk>"], ["▁", "<0x7A>"]),
    ],
)
def test_deviations_of_llama_cpp_remain_differences(read, options, text, actual, expected):
    data = train_model(**options)
    encoder = Encoder(read(data))
    assert list(map(encoder.piece, encoder.encode(text))) == actual
    assert processor_of(data).encode_as_pieces(text) == expected


def test_without_pieces_for_bytes_an_unknown_character_is_an_error_as_in_llama_cpp(read):
    encoder = Encoder(read(train_model(model_type="bpe", vocab_size=60, normalization_rule_name="identity")))
    with pytest.raises(EncodeError, match="no token for the byte"):
        encoder.encode("日")


# The toy strings of "(Re)building Gemma tokenizer in Python", which compares its own encoder with sentencepiece.
TOYS = [
    "🫩 🥲 🩵",
    "🗽\u20e2\u20e2🗿",
    "🤔➡️🌱🌍✨➡️🚶\u200d♂️🚶\u200d♀️❓➡️🌅🌄🌌➡️💭💡🧠➡️🤝❤️🤗➡️📚📜🏛️",
    "Hello've world23 HOW's HOW'S how's are yous?",
    "<start_of_turn>user\nWho are you?<end_of_turn>\n<start_of_turn>model",
    "<unused10> blahblahblah",
    "<start_of_turn> Hello World! How are you doing! - ધ્રુવ",
]


@pytest.mark.parametrize("text", TOYS)
def test_the_toy_strings_of_the_seed(read, text):
    data = train_model(**LIKE_GEMMA)
    encoder = Encoder(read(data))
    assert list(map(encoder.piece, encoder.encode(text))) == processor_of(data).encode_as_pieces(text)


def test_control_tokens_in_a_text_are_plain_text_for_sentencepiece_but_not_for_llama_cpp(read):
    data = train_model(**LIKE_GEMMA)
    encoder, processor = Encoder(read(data)), processor_of(data)
    assert encoder.encode("<bos>Heyllo", parse_special=False) == processor.encode("<bos>Heyllo")
    assert encoder.encode("<bos>Heyllo")[0] == 2
    # llama.cpp treats this one as a control token regardless of its type, since it ends a generation.
    assert encoder.encode("<end_of_turn>", parse_special=False) != processor.encode("<end_of_turn>")


@pytest.mark.parametrize("name", ["llama-spm", "t5", "xlnet"])
def test_a_real_model_matches_its_gguf_file(vocabs, name):
    spec, converted = read_spec(vocabs / f"{name}.tokenizer.model"), gguf_declaration.read_spec(vocabs / f"{name}.gguf")
    assert spec.model == converted.model
    assert spec.tokens == converted.tokens
    assert list(spec.scores) == list(converted.scores)
    assert list(spec.types) == list(converted.types)
    assert spec.charsmap == converted.charsmap
    assert converted.special_ids.items() <= spec.special_ids.items()


@pytest.mark.parametrize("name", ["llama-spm", "t5", "xlnet"])
def test_a_real_model_gives_the_ids_of_llama_cpp(shared, name):
    encoder = Encoder(read_spec(shared / "vocabs" / f"{name}.tokenizer.model"))
    for text, ids in plain_rows(shared, name):
        assert encoder.encode(text, parse_special=False) == ids, text


# Around a sentinel llama.cpp drops the space before, and makes one up after it.
@pytest.mark.parametrize(("name", "but"), [("llama-spm", None), ("t5", "<extra_id_")])
def test_a_real_model_encodes_as_sentencepiece_does(shared, name, but):
    path = shared / "vocabs" / f"{name}.tokenizer.model"
    encoder, processor = Encoder(read_spec(path)), processor_of(path.read_bytes())
    strings = [text for text, _ in plain_rows(shared, name) if not but or but not in text]
    assert len(strings) > 300
    assert [encoder.encode(text, parse_special=False) for text in strings] == processor.encode(strings)


def test_llama_cpp_handles_user_defined_pieces_of_xlnet_incorrectly(shared):
    path = shared / "vocabs" / "xlnet.tokenizer.model"
    encoder, processor = Encoder(read_spec(path)), processor_of(path.read_bytes())
    assert encoder.encode("a.b") != processor.encode("a.b")
    assert encoder.encode("a b") == processor.encode("a b")


@pytest.mark.slow  # a quarter of a million pieces are written and read
def test_the_vocabulary_of_gemma_3_as_a_model_file(shared, spec_of, read):
    """There is no .model of Gemma 3 at hand, so its pieces come from the GGUF file, as they were before conversion."""
    converted = spec_of("gemma-3")
    data = make_model(map(unconverted, converted.tokens, converted.scores, converted.types), LIKE_GEMMA_3, {3: 0, 4: 0})
    spec, processor = read(data), processor_of(data)
    assert (spec.tokens, list(spec.scores)) == (converted.tokens, list(converted.scores))
    encoder = Encoder(spec)
    for text, ids in plain_rows(shared, "gemma-3"):
        assert encoder.encode(text, parse_special=False) == ids, text
        if "▁▁" not in text:
            assert processor.encode(text) == ids, text


LIKE_GEMMA_3 = {3: BPE, 35: 1, 46: b"<bos>", 47: b"<eos>"}  # model_type, byte_fallback, names of BOS and EOS


def unconverted(text, score, type):
    if text == "<unk>":
        return text, score, UNKNOWN
    return text.replace(" ", "▁") if type == USER_DEFINED else text, score, type


def plain_rows(shared, name):
    rows = map(json.loads, (shared / "golden" / f"{name}.jsonl").read_text().splitlines())
    return [(row["text"], row["ids"]) for row in rows if not row["parse_special"] and not row["add_special"]]


def test_tokens_that_the_files_beside_a_model_add_are_typed_as_by_llama_cpps_converter(tmp_path):
    pieces = [*SPECIAL, ("<turn>", 0.0, USER_DEFINED), ("<a>", 0.0, NORMAL), ("b", 0.0, NORMAL)]
    (tmp_path / "tokenizer.model").write_bytes(make_model(pieces))
    added = {"6": ("[TOOL]", True), "7": ("<|end|>", False), "9": ("<call>", False)}
    added |= {"0": ("<unk>", True), "3": ("<turn>", True), "4": ("<a>", False), "5": ("other", True)}
    decoder = {id: {"content": text, "special": special} for id, (text, special) in added.items()}
    config = {"eos_token": "<turn>", "pad_token": "<|end|>", "added_tokens_decoder": decoder}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    (tmp_path / "added_tokens.json").write_text('{"<|old|>": 10, "<unk>": 0}')
    spec = read_with_added_tokens(tmp_path / "tokenizer.model")
    assert spec.types[:6] == [UNKNOWN, CONTROL, CONTROL, CONTROL, USER_DEFINED, NORMAL]
    assert spec.tokens[6:] == ["[TOOL]", "<|end|>", "[PAD8]", "<call>", "<|old|>"]
    assert spec.types[6:] == [CONTROL, CONTROL, UNUSED, USER_DEFINED, USER_DEFINED]
    assert list(spec.scores[6:]) == [-1000, -1000, -10000, -1000, -1000]
    assert (spec.special_ids["eos"], spec.special_ids["pad"]) == (3, 7)
    assert len(read_spec(tmp_path / "tokenizer.model").tokens) == 6


def test_the_files_beside_a_model_rename_spare_pieces(tmp_path):
    pieces = [*SPECIAL, ("[UNUSED_1]", 0.0, USER_DEFINED), ("[UNUSED_2]", 0.0, UNUSED), ("b", 0.0, NORMAL)]
    (tmp_path / "tokenizer.model").write_bytes(make_model(pieces))
    decoder = {"3": {"content": "<|im_start|>", "special": True}, "4": {"content": "<call>", "special": False}}
    # An ordinary piece keeps its text.
    decoder["5"] = {"content": "other", "special": True}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": decoder}))
    spec = read_with_added_tokens(tmp_path / "tokenizer.model")
    assert spec.tokens[3:] == ["<|im_start|>", "<call>", "b"]
    assert spec.types[3:] == [CONTROL, USER_DEFINED, NORMAL]
