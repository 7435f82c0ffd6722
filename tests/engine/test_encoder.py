import unicodedata
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.selection import thinned
from support.spec_maker import CONTROL, USER_DEFINED, bpe_spec, spm_spec
from tokverify.engine.deviating_encoder import DeviatingEncoder
from tokverify.engine.deviation import Deviation
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import NATIVE, PYTHON, VARIABLE
from tokverify.engine.models import plamo2
from tokverify.errors import BrokenFileError, EncodeError, UnsupportedError
from tokverify.spec import TokenizerSpec

SPM = spm_spec(
    {"▁": -9, "a": -9, "b": -9, "▁a": -1, "▁b": -2, "ab": -3, "<u>": 0, "<c>": 0}, {"<u>": USER_DEFINED, "<c>": CONTROL}
)
BPE = bpe_spec(["a b", "Ġ ab"], {"<u>": USER_DEFINED, "<c>": CONTROL}, special_ids={"bos": 0, "eos": 1})


def pieces(spec: TokenizerSpec, text: str, **options: bool) -> list[str]:
    encoder = Encoder(spec)
    return [encoder.piece(id) for id in encoder.encode(text, **options)]


class TestHandWorked:
    """Ids that seed 000 prints, which are Gemma 3's."""

    def test_runs_of_spaces(self, encoder_of):
        ids = encoder_of("gemma-3").encode("word   with   extra   spaces")
        assert ids == [3017, 139, 4060, 139, 27909, 139, 35220]

    def test_bos(self, encoder_of):
        ids = encoder_of("gemma-3").encode("The capital of France is", add_special=True)
        assert ids == [2, 818, 5279, 529, 7001, 563]

    def test_decoding(self, encoder_of):
        encoder = encoder_of("gemma-3")
        assert encoder.decode([3017, 139, 4060]) == b"word   with"
        assert encoder.decode([2, 818, 5279]) == b"<bos>The capital"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("a", ["▁a"]),
        ("ab", ["▁a", "b"]),
        (" a", ["▁", "▁a"]),
        ("a<u>b", ["▁a", "<u>", "▁b"]),
        ("<c>a", ["<c>", "▁a"]),
        ("<u><c>", ["<u>", "<c>"]),
        ("a <u> b", ["▁a", "▁", "<u>", "▁", "▁b"]),
        ("é\n", ["▁", "<0xC3>", "<0xA9>", "<0x0A>"]),
        ("a▁b", ["▁a", "▁b"]),
    ],
)
def test_spm(text: str, expected: list[str]):
    assert pieces(SPM, text) == expected


def test_a_space_goes_before_each_text_that_begins_or_follows_an_added_token():
    assert pieces(SPM, "a<c>a") == ["▁a", "<c>", "▁a"]
    assert pieces(replace(SPM, add_space_prefix=False), "a<c>a") == ["a", "<c>", "a"]
    assert pieces(SPM, "a", add_special=True) == ["<s>", "▁a"]


def test_no_space_goes_before_a_text_of_byte_level():
    assert pieces(replace(BPE, add_space_prefix=True), "ab ab<c>ab") == ["ab", "Ġab", "<c>", "ab"]


def test_control_tokens_are_parsed_only_when_asked():
    assert pieces(BPE, "<c><u>", parse_special=True) == ["<c>", "<u>"]
    assert pieces(BPE, "<c><u>", parse_special=False) == ["<", "c", ">", "<u>"]
    assert pieces(BPE, "<c>") == ["<c>"]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({}, []),
        ({"add_bos": True}, [0]),
        ({"add_eos": True}, [1]),
        ({"add_bos": True, "add_eos": True}, [0, 1]),
        ({"add_sep": True}, []),
    ],
)
def test_bos_and_eos_go_around_a_text(flags: dict[str, bool], expected: list[int]):
    encoder = Encoder(replace(BPE, **flags))
    assert encoder.encode("", add_special=True) == expected
    assert encoder.encode("", add_special=False) == []
    around = encoder.encode("a", add_special=True)
    assert [id for id in around if id not in encoder.encode("a")] == expected


@pytest.mark.parametrize("role", ["bos", "eos"])
def test_a_special_token_to_be_added_but_unknown_is_an_error(role: str):
    spec = replace(bpe_spec([]), model="gemma4", add_eos=role == "eos", special_ids={} if role == "bos" else {"bos": 0})
    encoder = Encoder(spec)
    assert encoder.encode("a") == [ord("a")]
    with pytest.raises(EncodeError, match=rf"add_{role} is on but tokenizer\.ggml\.{role}_token_id is missing"):
        encoder.encode("a", add_special=True)


def test_a_doubled_bos_or_eos_is_reported():
    encoder = Encoder(replace(SPM, add_eos=True))
    assert encoder.warnings(encoder.encode("a", add_special=True)) == []
    (bos,) = encoder.warnings(encoder.encode("<s>a", add_special=True))
    assert bos == "the text begins with BOS (1) and another one was added before it"
    (eos,) = encoder.warnings(encoder.encode("a</s>", add_special=True))
    assert eos == "the text ends with EOS (2) and another one was added after it"
    assert len(encoder.warnings(encoder.encode("<s></s>", add_special=True))) == 2
    assert encoder.warnings([]) == []


def test_no_doubled_bos_is_reported_if_none_is_added():
    assert Encoder(replace(SPM, add_bos=False)).warnings([1, 1]) == []


def test_a_lone_surrogate_is_an_error_that_says_where():
    with pytest.raises(EncodeError, match=r"lone surrogate .* at character 2"):
        Encoder(BPE).encode("ab\ud800")


def test_a_byte_without_a_token_is_an_error_for_spm_and_dropped_by_bpe():
    with pytest.raises(EncodeError, match="no token for the byte 0xC3"):
        Encoder(spm_spec({"▁": 0}, byte_pieces=False)).encode("é")
    spec = TokenizerSpec(model="gpt2", tokens=["a"], merges=[], pre="gpt-2")
    assert Encoder(spec).encode("éa") == [0]


@pytest.mark.parametrize("id", [-1, 3, 2**40])
def test_ids_outside_the_vocabulary(id: int):
    encoder = Encoder(TokenizerSpec(model="llama", tokens=["a", "b", "c"]))
    assert encoder.vocab_size == 3
    assert encoder.piece(id) == ""
    for call in (lambda: encoder.token_bytes(id), lambda: encoder.decode([0, id]), lambda: encoder.decoder().push(id)):
        with pytest.raises(EncodeError, match=f"id {id} is outside the vocabulary of 3 tokens"):
            call()


def test_an_unusable_vocabulary_is_refused():
    with pytest.raises(UnsupportedError, match=r"tokenizer\.ggml\.model"):
        Encoder(TokenizerSpec(model="new", tokens=["a"]))
    with pytest.raises(BrokenFileError, match="twice"):
        Encoder(TokenizerSpec(model="llama", tokens=["a", "a"]))


def test_pieces_are_the_stored_strings_but_for_nul_and_nothing():
    encoder = Encoder(TokenizerSpec(model="llama", tokens=["▁a\0b", "", "\udcff"]))
    assert [encoder.piece(id) for id in range(3)] == ["▁a", "[EMPTY_1]", "\udcff"]
    assert encoder.token_bytes(2) == b"\xff"


def test_merges_are_cut_at_nul_too():
    assert pieces(replace(BPE, merges=["a b\0c"]), "ab") == ["ab"]


def test_special_ids_are_the_effective_ones():
    assert Encoder(SPM).special_ids == {"bos": 1, "eos": 2, "unk": 0}


def test_changing_a_result_does_not_change_the_cache():
    encoder = Encoder(SPM)
    for _ in range(2):
        ids = encoder.encode("a")
        assert [encoder.piece(id) for id in ids] == ["▁a"]
        ids.append(0)


def test_a_long_text_without_any_boundary():
    assert pieces(SPM, "ab" * 50_000) == ["▁a", "b", *["ab"] * 49_999]


class TestFingerprint:
    """Equal wherever every text gets the same ids, and different where one might not."""

    @pytest.mark.parametrize(
        "change",
        [
            {"general": {"name": "other", "architecture": "other"}},
            {"chat_template": "{{ messages }}"},
            {"huggingface_json": "{}"},
            {"add_bos": True},  # the default, declared
            {"special_ids": {"bos": 1, "eos": 2, "unk": 0, "pad": 5}},
            {"merges": ["a b"]},  # which SPM does not look at
            {"charsmap": b"charsmap"},  # nor at this
            {"pre": "default"},
        ],
    )
    def test_the_fingerprint_ignores_what_does_not_decide_ids(self, change: dict[str, object]):
        assert Encoder(replace(SPM, **change)).fingerprint == Encoder(SPM).fingerprint

    @pytest.mark.parametrize(
        "change",
        [
            {"tokens": [*SPM.tokens[:-1], "<d>"]},
            {"tokens": [*SPM.tokens[:-2], SPM.tokens[-1], SPM.tokens[-2]]},
            {"scores": [*SPM.scores[:-1], -0.5]},
            {"types": [*SPM.types[:-1], USER_DEFINED]},
            {"add_bos": False},
            {"add_eos": True},
            {"add_space_prefix": False},
            {"special_ids": {"bos": 5}},
            {"special_ids": {"eos": 5}},
            {"pre": "jina-v2-de", "tokens": [*SPM.tokens[:-1], "<mask>"]},
        ],
    )
    def test_the_fingerprint_by_score_depends_on_what_decides_ids(self, change: dict[str, object]):
        assert Encoder(replace(SPM, **change)).fingerprint != Encoder(SPM).fingerprint

    @pytest.mark.parametrize(
        "change",
        [
            {"merges": list(reversed(BPE.merges))},
            {"merges": BPE.merges[:1]},
            {"merges": []},
            {"pre": "qwen2"},
            {"pre": None},
            {"model": "gemma4"},
            {"add_bos": True},
        ],
    )
    def test_the_fingerprint_by_rank_depends_on_what_decides_ids(self, change: dict[str, object]):
        assert Encoder(replace(BPE, **change)).fingerprint != Encoder(BPE).fingerprint

    def test_the_fingerprint_depends_on_the_name_if_it_decides_what_is_stripped(self):
        added = dict.fromkeys(["</s>", "<unk>", "<s>", "<|endoftext|>", "<|user|>"], CONTROL)
        named = [
            Encoder(bpe_spec([], added, general={"name": name})).fingerprint for name in ("Phi-3", "phi3", "Phi-4")
        ]
        assert named[0] == named[1] != named[2]

    def test_the_fingerprint_is_a_sha256(self):
        assert len(bytes.fromhex(Encoder(SPM).fingerprint)) == 32

    def test_the_fingerprints_of_real_vocabularies_differ(self, encoder_of):
        names = ["llama-spm", "gpt-2", "mpt", "qwen2", "gemma-3", "gemma-4"]
        assert len({encoder_of(name).fingerprint for name in names}) == len(names)


@pytest.mark.parametrize("name", ["llama-spm", "gpt-2", "qwen2", "gemma-3", "gemma-4"])
def test_decoding_undoes_encoding(encoder_of, name: str):
    encoder = encoder_of(name)

    @given(st.text(max_size=30), st.booleans())
    def check(text: str, parse_special: bool) -> None:
        # The one exception is `▁` itself, which is read as a space.
        text = text.replace("▁", "")
        assert encoder.decode(encoder.encode(text, parse_special=parse_special)) == text.encode()

    check()


@pytest.mark.parametrize("name", ["llama-spm", "gpt-2", "gemma-3", "gemma-4"])
def test_every_added_token_is_one_id(encoder_of, name: str):
    encoder = encoder_of(name)
    for token in encoder.settings.added_tokens:
        assert encoder.encode(token.text) == [token.id]
        assert encoder.token_bytes(token.id) == token.text.encode()


@pytest.mark.parametrize("name", ["llama-spm", "gpt-2", "gemma-4", "t5", "bert-bge", "xlnet"])
def test_the_bytes_of_all_tokens_are_those_of_each(encoder_of, name: str):
    encoder = encoder_of(name)
    assert encoder.bytes_of_tokens() == list(map(encoder.token_bytes, range(encoder.vocab_size)))


def test_a_model_that_cannot_be_made_is_tried_only_once(monkeypatch):
    tries = []

    def refuse(*parts: object, **settings: object) -> None:
        tries.append(parts)
        raise BrokenFileError("no byte tokens")

    monkeypatch.setattr(plamo2, "Plamo2", refuse)
    encoder = DeviatingEncoder(TokenizerSpec(model="plamo2", tokens=["a"]), Deviation(leftmost=True))
    for _ in range(3):
        with pytest.raises(BrokenFileError, match="no byte tokens"):
            encoder.encode("a")
    assert len(tries) == 1


def _split_bytes(text: str) -> list[str]:
    """Split a text into bytes, those of a character as lone surrogates."""
    return [bytes([byte]).decode("utf-8", "surrogateescape") for byte in text.encode("utf-8", "surrogatepass")]


@pytest.mark.parametrize(
    "deviation",
    thinned(
        2,
        [
            Deviation(normalizers=(partial(unicodedata.normalize, "NFC"),)),
            Deviation(normalizers=(str.lower, lambda text: text.replace("a", "<u>"))),
            Deviation(normalizers=(str.upper,), specials={258: None, 259: False}),
            Deviation(leftmost=True),
            Deviation(prefix=lambda _text, begins: begins),
            Deviation(rewrite=str.strip, around=((1,), (2,))),
            Deviation(split_pre_tokens=_split_bytes, ignore_merges=True, normalizers=(str.lower,)),
            Deviation(ignore_merges=True),
            Deviation(split_pre_tokens=str.split),
        ],
    ),
)
@settings(max_examples=30)  # each builds the encoder of either engine
@given(text=st.text("ab <u>c\u0301é\n\ud800"), parse_special=st.booleans())
def test_a_deviation_that_keeps_the_merges_gives_the_same_ids_natively(
    deviation: Deviation, text: str, parse_special: bool
):
    results = []
    for engine in (NATIVE, PYTHON):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(VARIABLE, engine)
            encoder = DeviatingEncoder.of(Encoder(BPE), deviation)
            try:
                results.append(encoder.encode(text, add_special=True, parse_special=parse_special))
            except EncodeError as error:
                results.append(str(error))
    assert results[0] == results[1]


def test_a_deviating_encoder_reads_merges_up_to_a_nul_with_or_without_a_model():
    spec = replace(bpe_spec(["a b"]), merges=["a b\0c"])
    deviation = Deviation(split_pre_tokens=lambda text: [text])
    for encoder in (DeviatingEncoder(spec, deviation), DeviatingEncoder.of(Encoder(spec), deviation)):
        assert encoder.encode("ab") == [spec.tokens.index("ab")]
