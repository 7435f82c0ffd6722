import pytest

from tokverify.engine.encoder import Encoder
from tokverify.engine.models.bpe import Bpe
from tokverify.engine.models.whitespace import Whitespace
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.spec import TokenizerSpec

PIECES = [*"abABσςΣİi\x1c中", "ab", "中中", "<0xC3>"]
MERGES = ["a b", "中 中"]


def pieces_of(text: str, *, lowercase: bool = False) -> list[str]:
    ids = {piece: id for id, piece in enumerate(PIECES)}
    model = Whitespace(Bpe(ids, MERGES, PRE_TOKENIZERS["whitespace"]), lowercase=lowercase)
    return [PIECES[id] for id in model.encode(text)]


def test_spaces_are_dropped_and_never_crossed():
    assert pieces_of(" ab a b\n中中\u3000中\x85中 ") == ["ab", "a", "b", "中中", "中", "中"]
    assert pieces_of(" \t\n") == pieces_of("") == []


def test_characters_that_are_not_spaces_in_unicode_are_kept():
    assert pieces_of("a\x1cb\x1c ab") == ["a", "\x1c", "b", "\x1c", "ab"]


def test_lowercasing_is_per_character():
    assert pieces_of("AB ΣAΣ İ") == ["A", "B", "Σ", "A", "Σ", "İ"]
    assert pieces_of("AB ΣAΣ İ", lowercase=True) == ["ab", "σ", "a", "σ", "i"]


def test_bytes_of_unknown_symbols_are_dropped_unless_they_are_pieces():
    assert pieces_of("aéb") == ["a", "<0xC3>", "b"]


@pytest.mark.parametrize(
    ("pre", "declared", "effective"),
    [("whitespace", None, False), ("whitespace", True, True), ("gpt-2", None, True), ("gpt-2", False, False)],
)
def test_the_name_of_the_pre_tokenizer_determines_lowercasing(pre: str, declared: bool | None, effective: bool):
    spec = TokenizerSpec(model="whitespace", tokens=PIECES, merges=MERGES, pre=pre, lowercase=declared)
    encoder = Encoder(spec)
    assert encoder.settings.lowercase is effective
    assert [encoder.piece(id) for id in encoder.encode("AB")] == (["ab"] if effective else ["A", "B"])


def test_a_pre_tokenizer_that_escapes_spaces_does_so_first():
    tokens = ["a", "▁", "▁a", "\n"]
    encoder = Encoder(TokenizerSpec(model="whitespace", tokens=tokens, merges=["▁ a"], pre="sarvam-moe"))
    assert [tokens[id] for id in encoder.encode(" a\na ")] == ["▁a", "a", "▁"]


def test_a_trace_shows_the_source_of_words_before_which_the_pre_tokenizer_inserts_spaces():
    ids = {piece: id for id, piece in enumerate(["▁", "a", "b"])}
    traced = Whitespace(Bpe(ids, [], PRE_TOKENIZERS["mmbert"]), lowercase=True).trace(" a  B")
    rewriting = traced.rewriting
    taken = [token for word in traced.words for token in word.tokens]
    assert rewriting.result.decode() == "▁a▁b"
    assert [token.id for token in taken] == [0, 1, 0, 2]
    assert [rewriting.source_span(token.start, token.end) for token in taken] == [(1, 1), (1, 2), (4, 4), (4, 5)]
    assert [change.span for change in rewriting.changes] == [(1, 1), (4, 5), (4, 4)]
