"""llama.cpp's normalization form C, in which characters are those of Unicode 16.0."""

import random
import unicodedata
from collections.abc import Callable
from dataclasses import replace

import pytest

from support.charsmap_maker import make_charsmap
from support.spec_maker import bpe_spec, unigram_spec
from tokverify.engine.encoder import Encoder
from tokverify.engine.nfc import CLASSES, DECOMPOSITIONS, canonical_class, to_nfc, trace_nfc

NORMAL, _, CONTROL, USER_DEFINED = range(1, 5)
SCORES = {"e": -1.0, "é": -1.0, "\u0301": -1.0, "▁": -1.0, "E": -1.0, "\ufffd": -1.0}


def pieces(text: str | bytes, *, types: dict[str, int] | None = None, **fields: object) -> list[str]:
    encoder = Encoder(unigram_spec(SCORES, types, **fields))
    return [encoder.piece(id) for id in encoder.encode(text)]


@pytest.mark.parametrize(
    ("text", "composed"),
    [
        ("plain", "plain"),
        ("e\u0301", "é"),
        ("a\u0301\u0323", "ạ\u0301"),  # marks are sorted by class
        ("a\u0301\u0301", "á\u0301"),  # a mark of the same class hinders composition
        ("\u0301e", "\u0301e"),
        ("\u1112\u1161\u11ab", "한"),
        ("\uac00\u11a8\u11a8", "각\u11a8"),
        ("\u212b", "Å"),
        ("\u0958", "\u0915\u093c"),  # excluded from composition
        ("a\u0897\u0323", "ạ\u0897"),  # a mark of Unicode 16
        ("\U000105d2\u0307", "\U000105c9"),
        ("\U0001611e\U0001611e\U0001611f", "\U00016126"),
        ("a\u1acf\u0323", "a\u1acf\u0323"),  # a mark of Unicode 17
    ],
)
def test_characters_are_composed(text: str, composed: str):
    assert to_nfc(text) == composed


def test_both_ways_to_compose_agree(monkeypatch: pytest.MonkeyPatch):
    source = random.Random(1)  # noqa: S311 - no secret
    pool = "aeE\u0301\u0323\u0308\u0345\u1100\u1161\u11a8\uac00\u0958\u212bé日\u0dd9\u0dcf\u0dca"
    texts = ["".join(source.choices(pool, k=8)) for _ in range(500)]
    expected = [unicodedata.normalize("NFC", text) for text in texts]
    assert list(map(to_nfc, texts)) == expected
    monkeypatch.setattr("tokverify.engine.nfc.has_unassigned", lambda _: True)
    assert list(map(to_nfc, texts)) == expected


def test_tables_contradict_no_version_of_python():
    known = [character for character in CLASSES if unicodedata.category(character) != "Cn"]
    assert [unicodedata.combining(character) for character in known] == [canonical_class(each) for each in known]
    known = [character for character in DECOMPOSITIONS if unicodedata.category(character) != "Cn"]
    assert all(unicodedata.normalize("NFC", DECOMPOSITIONS[character]) == character for character in known)


def test_a_trace_names_the_parts_that_change():
    traced = trace_nfc("e\u0301a x\u0323\u0301")
    assert traced.result.decode() == to_nfc("e\u0301a x\u0323\u0301")
    assert [(change.before.decode(), change.after.decode()) for change in traced.changes] == [("e\u0301", "é")]


def test_the_unigram_model_normalizes_if_the_file_says_so():
    assert pieces("e\u0301") == ["e", "\u0301"]
    assert pieces("e\u0301", nfc=True) == ["é"]
    assert pieces("e\u0301", nfc=False) == ["e", "\u0301"]


def test_characters_are_composed_before_everything_else():
    charsmap = make_charsmap({"é": "E"})
    assert pieces("e\u0301", nfc=True, charsmap=charsmap) == ["E"]
    assert pieces("e\u0301", nfc=True, types={"e": USER_DEFINED}) == ["e", "\u0301"]  # an added token ends the stretch


def test_lone_bytes_become_characters_first():
    assert pieces(b"e\xcc\x81\xcc", nfc=True) == ["é", "\ufffd"]


def test_other_models_ignore_the_key():
    encoder = Encoder(replace(bpe_spec([]), nfc=True))
    assert encoder.encode("e\u0301") == Encoder(bpe_spec([])).encode("e\u0301")
    assert not encoder.settings.nfc
    assert [(each.setting, each.declared, each.effective) for each in encoder.settings.overrides][-1] == (
        "nfc", True, False,
    )  # fmt: skip


def test_a_real_vocabulary(encoder_of: Callable[[str], Encoder]):
    # The ids of llama.cpp b11739 for T5's vocabulary without its charsmap.
    encoder = Encoder(replace(encoder_of("t5").spec, charsmap=None, nfc=True))
    assert encoder.encode("cafe\u0301") == [11949]
    assert encoder.encode("e\u0301") == [3, 154]
