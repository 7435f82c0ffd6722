import json
from dataclasses import replace

import pytest

from support.sentencepiece_maker import CONTROL, NORMAL, UNKNOWN, make_model
from tokverify.compare.role_difference import find_role_differences
from tokverify.engine.encoder import Encoder
from tokverify.errors import BrokenFileError, EncodeError, UnsupportedError
from tokverify.references.sentencepiece import SentencePieceTokenizer, load
from tokverify.report.finding import ERROR, WARNING
from tokverify.spec import TokenType


@pytest.fixture
def model_path(tmp_path, sentencepiece_model):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(sentencepiece_model)
    return path


@pytest.fixture
def small(model_path) -> SentencePieceTokenizer:
    return load(model_path).tokenizer


def encode(tokenizer, text, *, add_special=False, parse_special=False):
    return tokenizer.encode(text, add_special=add_special, parse_special=parse_special)


def pieces(tokenizer, text, **options):
    return [tokenizer.piece(id) for id in encode(tokenizer, text, **options)]


def test_encode_and_decode(small):
    ids = encode(small, "the fox")
    assert b"".join(map(small.token_bytes, ids)) == b" the fox"
    assert small.decode(ids) == b"the fox"
    assert encode(small, "") == []
    assert small.decode([]) == b""


@pytest.mark.parametrize("add_special", [False, True])
def test_many_texts_are_encoded_like_each_of_them(model_path, add_special):
    config = {"add_bos_token": True, "add_eos_token": True}
    model_path.with_name("tokenizer_config.json").write_text(json.dumps(config))
    tokenizer = load(model_path).tokenizer
    texts = ["the fox", "", "fox<tool>", "\x00", "the  fox\n"]
    options = {"add_special": add_special, "parse_special": True}
    expected = [tokenizer.encode(text, **options) for text in texts]
    assert tokenizer.encode_many(texts, **options) == expected
    assert tokenizer.encode_many([], **options) == []
    first, error, last = tokenizer.encode_many(["the", "\ud800", "fox"], **options)
    assert [first, last] == [tokenizer.encode(text, **options) for text in ("the", "fox")]
    assert isinstance(error, EncodeError)


def test_user_defined_pieces_are_found_and_control_tokens_never(small):
    assert small.parses_special is False
    assert "<tool>" in pieces(small, "fox<tool>")
    for parse_special in (True, False):
        assert "<turn>" not in pieces(small, "fox<turn>", parse_special=parse_special)


def test_byte_pieces_represent_bytes_including_nul(small):
    assert pieces(small, "\x00\n")[1:] == ["<0x00>", "<0x0A>"]
    ids = encode(small, "a\x00\N{LLAMA}")
    assert b"".join(map(small.token_bytes, ids)) == " a\x00\N{LLAMA}".encode()


def test_control_and_unknown_tokens_represent_their_names_though_the_library_decodes_them_differently(small):
    assert [small.token_bytes(id) for id in (0, 1, 2)] == [b"<unk>", b"<s>", b"</s>"]
    assert small.decode([1, 2]) == b""
    assert small.decode([0]) == " ⁇ ".encode()


def test_ids_outside_the_vocabulary(small):
    for id in (-1, small.vocab_size):
        assert (small.piece(id), small.token_bytes(id)) == ("", b"")
        with pytest.raises(EncodeError, match="sentencepiece cannot decode these ids"):
            small.decode([id])


def test_a_lone_surrogate_is_an_error_of_that_text(small):
    with pytest.raises(EncodeError, match="sentencepiece cannot encode this text"):
        encode(small, "\ud800")


def test_without_a_config_no_tokens_are_added_around_a_text(small):
    assert small.adds_special is False
    assert encode(small, "fox", add_special=True) == encode(small, "fox")
    assert small.special_ids == {"bos": 1, "eos": 2, "unk": 0}


@pytest.mark.parametrize(
    ("config", "adds_special", "before", "after"),
    [
        ({"add_bos_token": True, "add_eos_token": False}, True, [1], []),
        ({"add_bos_token": True, "add_eos_token": True}, True, [1], [2]),
        ({"add_eos_token": True, "eos_token": {"content": "<turn>"}}, True, [], [3]),
        ({"add_bos_token": False}, True, [], []),
        ({"add_bos_token": None, "eos_token": "</s>"}, False, [], []),
    ],
)
def test_the_config_declares_the_tokens_around_a_text(model_path, config, adds_special, before, after):
    model_path.with_name("tokenizer_config.json").write_text(json.dumps(config))
    tokenizer = load(model_path).tokenizer
    assert tokenizer.adds_special is adds_special
    assert encode(tokenizer, "fox", add_special=True) == [*before, *encode(tokenizer, "fox"), *after]


def test_a_config_that_adds_a_token_the_model_lacks(model_path):
    config = {"add_bos_token": True, "bos_token": "<gone>"}
    model_path.with_name("tokenizer_config.json").write_text(json.dumps(config))
    with pytest.raises(BrokenFileError, match="adds the bos token '<gone>', which the model does not have"):
        load(model_path)


@pytest.mark.parametrize("content", [b"", b"hello", b"\n\x05\n\x03ab"])
def test_anything_but_a_model_gives_one_line(tmp_path, content):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(content)
    with pytest.raises(BrokenFileError, match=r"tokenizer\.model: not a sentencepiece model") as caught:
        load(path)
    assert "\n" not in str(caught.value)


def test_a_piece_that_is_not_utf_8_gives_one_line(tmp_path):
    path = tmp_path / "tokenizer.model"
    specials = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL)]
    path.write_bytes(make_model([*specials, (b"\xe0", 0.0, NORMAL)]))
    with pytest.raises(BrokenFileError, match=r"not a sentencepiece model \('utf-8' codec can't decode byte 0xe0"):
        load(path)


def test_llama_agrees_with_llama_cpp_where_control_tokens_are_not_parsed(vocabs, golden):
    llama = load(vocabs / "llama-spm.tokenizer.model").tokenizer
    rows = [row for row in golden("llama-spm") if not row[1] and not row[2]]
    assert len(rows) > 100
    assert [text for text, _, _, ids in rows if encode(llama, text) != ids] == []


def test_t5_agrees_with_llama_cpp_where_no_user_defined_piece_occurs(vocabs, golden):
    t5 = load(vocabs / "t5.tokenizer.model").tokenizer
    rows = [row for row in golden("t5") if not row[1] and not row[2] and "<extra_id_" not in row[0]]
    assert len(rows) > 100
    assert [text for text, _, _, ids in rows if encode(t5, text) != ids] == []


def test_the_unknown_token_of_a_vocabulary_without_byte_pieces(vocabs):
    t5 = load(vocabs / "t5.tokenizer.model").tokenizer
    assert pieces(t5, "a\x00b") == ["▁", "a", "<unk>", "b"]
    assert t5.special_ids == {"eos": 1, "unk": 2, "pad": 0}


def test_the_files_beside_a_model_rename_a_user_defined_piece(model_path):
    id = load(model_path).tokenizer.pieces.index("<tool>")
    decoder = {str(id): {"content": "<call>", "special": False}}
    model_path.with_name("tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": decoder}))
    renamed = load(model_path).tokenizer
    assert renamed.piece(id) == "<call>"
    assert id in encode(renamed, "fox<call>")
    assert id not in encode(renamed, "fox<tool>")


@pytest.fixture
def chat(small, model_path) -> SentencePieceTokenizer:
    added = [("<|end|>", False), ("[CALL]", True), ("<call>", False)]
    numbered = {str(id): {"content": text, "special": special} for id, (text, special) in enumerate(added, 2000)}
    config = {"eos_token": "<|end|>", "add_eos_token": True, "added_tokens_decoder": numbered}
    model_path.with_name("tokenizer_config.json").write_text(json.dumps(config))
    assert small.vocab_size < 2000
    return load(model_path).tokenizer


def test_added_tokens_of_the_config_split_a_text_unless_they_are_control_tokens(small, chat):
    the, fox = encode(small, "the"), encode(small, "fox")
    assert encode(chat, "the<call>fox") == [*the, 2002, *fox]
    assert encode(chat, "<call>") == [2002]
    assert encode(chat, "fox[CALL]") == encode(small, "fox[CALL]")
    texts = ["the<call>fox", "fox", "fox<|end|>"]
    assert chat.encode_many(texts, add_special=False, parse_special=False) == [encode(chat, text) for text in texts]
    assert chat.control_texts - small.control_texts == {"<|end|>", "[CALL]"}


def test_an_added_token_of_the_config_can_be_eos(chat):
    assert chat.special_ids["eos"] == 2000
    assert encode(chat, "", add_special=True) == [2000]


def test_added_tokens_of_the_config_are_decoded_unless_they_are_control_tokens(small, chat):
    the = encode(small, "the")
    assert chat.decode([*the, 2002, 2000, *the]) == b"the<call> the"
    assert chat.decode([2002, *the]) == b"<call> the"
    assert chat.decode([2000, *the]) == b"the"


@pytest.mark.parametrize("is_listed", [False, True])
def test_texts_with_added_tokens_that_no_file_lists_are_not_compared(model_path, is_listed):
    known = load(model_path).tokenizer
    size = known.vocab_size
    if is_listed:
        model_path.with_name("added_tokens.json").write_text(json.dumps({"<image>": size}))
    spec = known.declared_spec()
    types = [*(spec.types or ()), TokenType.USER_DEFINED, TokenType.CONTROL]
    spec = replace(spec, tokens=[*spec.tokens, "<image>", "<|end|>"], types=types, scores=None)
    tokenizer = load(model_path, spec).tokenizer
    assert encode(tokenizer, "fox") == encode(known, "fox")
    assert ("<|end|>" in tokenizer.control_texts) is not is_listed
    found = tokenizer.encode_many(["fox", "fox<image>"], add_special=False, parse_special=False)
    assert isinstance(found[1], UnsupportedError) is not is_listed


@pytest.mark.parametrize(
    ("added", "config", "severity"),
    [("<|fin|>", "", WARNING), ("[PAD9]", "", ERROR), ("<|fin|>", '{"eos_token": "</s>"}', ERROR)],
)
def test_an_eos_among_added_tokens_that_no_file_lists_is_not_called_wrong(model_path, added, config, severity):
    known = load(model_path).tokenizer
    if config:
        model_path.with_name("special_tokens_map.json").write_text(config)
    spec, size = known.declared_spec(), known.vocab_size
    types = [*(spec.types or ()), TokenType.CONTROL]
    changed = {"tokens": [*spec.tokens, added], "types": types, "scores": [*(spec.scores or ()), 0.0]}
    model = Encoder(replace(spec, **changed, special_ids={**spec.special_ids, "eos": size}))
    reference = load(model_path, model.spec).tokenizer
    found = find_role_differences(model, reference, {"eos": (size, reference.special_ids.get("eos", 0))})
    assert next(found).severity is severity


@pytest.mark.parametrize(
    ("ends", "config", "severity"),
    [
        pytest.param((5, 6), "", WARNING, id="both"),
        pytest.param((5, 6), '{"eos_token": "</s>"}', ERROR, id="a-file-names-another"),
        pytest.param((1, 6), "", ERROR, id="one-alone"),
        pytest.param((5, 5), "", ERROR, id="the-same-twice"),
        pytest.param((5, 7), "", ERROR, id="reserved"),
        pytest.param((5, 8), "", ERROR, id="named-like-another"),
        pytest.param((5, 4), "", ERROR, id="ordinary"),
        pytest.param((2, 1), "", ERROR, id="exchanged"),
    ],
)
def test_other_control_pieces_for_both_ends_are_not_called_wrong(tmp_path, ends, config, severity):
    texts = ["<unk>", "<s>", "</s>", "<pad>", "a", "<sop>", "<eop>", "<unused_0>", "<mask>"]
    types = {"<unk>": UNKNOWN, "a": NORMAL}
    path = tmp_path / "tokenizer.model"
    path.write_bytes(make_model([(text, 0.0, types.get(text, CONTROL)) for text in texts]))
    if config:
        path.with_name("special_tokens_map.json").write_text(config)
    reference = load(path).tokenizer
    spec = reference.declared_spec()
    model = Encoder(replace(spec, special_ids={**spec.special_ids, "bos": ends[0], "eos": ends[1]}))
    found = find_role_differences(model, reference, {"eos": (ends[1], reference.special_ids["eos"])})
    assert next(found).severity is severity


def test_the_library_logs_nothing_about_a_piece_with_nul(tmp_path, capfd):
    bytes_as_pieces = ((f"<0x{byte:02X}>", 0.0, 6) for byte in range(0x100))
    pieces = [("<unk>", 0.0, UNKNOWN), *bytes_as_pieces, ("\0", -1.0, NORMAL), ("a", -1.0, NORMAL)]
    (tmp_path / "tokenizer.model").write_bytes(make_model(pieces, {35: 1}))
    assert load(tmp_path / "tokenizer.model").tokenizer.vocab_size == len(pieces)
    assert capfd.readouterr().err == ""
