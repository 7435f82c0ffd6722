from tokverify.engine.byte_level import byte_alphabet
from tokverify.engine.encoder import Encoder
from tokverify.engine.models.bpe import Bpe
from tokverify.engine.models.hybriddna import HybridDna
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.spec import TokenizerSpec, TokenType

ALPHABET = [byte_alphabet()[byte] for byte in range(0x100)]
DNA = ["<dna>", "</dna>", "<oov>"]
KMERS = [f"{kmer}\ue000" for kmer in ("CCCCCC", "ACGTAA", "AAAAAA", "TAAAAA", "é漢A")]
PIECES = [*ALPHABET, "CC", "CCCC", "CCCCCC", *DNA, *KMERS]
MERGES = ["C C", "CC CC", "CCCC CC"]


def pieces_of(text: str, pieces: list[str] = PIECES) -> list[str]:
    ids = {piece: id for id, piece in enumerate(pieces)}
    model = HybridDna(ids, Bpe(ids, MERGES, PRE_TOKENIZERS["gpt-2"]))
    return [pieces[id] for id in model.encode(text)]


def test_six_bases_are_one_token():
    assert pieces_of("<dna>CCCCCCACGTAA</dna>") == ["<dna>", "CCCCCC\ue000", "ACGTAA\ue000", "</dna>"]


def test_outside_of_dna_the_same_letters_are_text():
    assert pieces_of("CCCCCC<dna>CCCCCC</dna>CCCCCC") == ["CCCCCC", "<dna>", "CCCCCC\ue000", "</dna>", "CCCCCC"]


def test_lowercase_letters_are_bases_too():
    assert pieces_of("<dna>acGtAa") == ["<dna>", "ACGTAA\ue000"]


def test_the_last_bases_are_padded():
    assert pieces_of("<dna>CCCCCCt</dna>") == ["<dna>", "CCCCCC\ue000", "TAAAAA\ue000", "</dna>"]
    assert pieces_of("<dna>a") == ["<dna>", "AAAAAA\ue000"]


def test_anything_but_a_kmer_is_out_of_vocabulary():
    assert pieces_of("<dna>CCCCCN ACGTA</dna>") == ["<dna>", "<oov>", "<oov>", "</dna>"]


def test_bases_are_bytes():
    assert pieces_of("<dna>é漢a") == ["<dna>", "é漢A\ue000"]
    assert pieces_of("<dna>漢é漢é") == ["<dna>", "<oov>", "<oov>"]


def test_dna_without_an_end_goes_to_the_end_of_the_text():
    assert pieces_of("<dna><dna>AA") == ["<dna>", "<oov>", "AAAAAA\ue000"]
    assert pieces_of("<dna>") == ["<dna>"]


def test_an_end_tag_without_a_start_tag_is_text():
    assert pieces_of("</dna>CC") == [*"</dna>", "CC"]
    assert pieces_of("<dna></dna></dna>") == ["<dna>", "</dna>", *"</dna>"]


def test_a_vocabulary_without_one_of_the_dna_tokens_knows_no_dna():
    pieces = [piece for piece in PIECES if piece != "<oov>"]
    assert pieces_of("<dna>CC", pieces) == [*"<dna>", "CC"]


def spec(types: dict[str, int] | None = None, tokens: list[str] = PIECES) -> TokenizerSpec:
    normal = TokenType.NORMAL.value
    return TokenizerSpec(
        model="hybriddna",
        tokens=tokens,
        types=[(types or {}).get(token, normal) for token in tokens],
        merges=MERGES,
        pre="gpt-2",
    )


def test_the_marker_is_never_shown():
    encoder = Encoder(spec())
    ids = encoder.encode("<dna>CCCCCCACGTA</dna>CC")
    assert [encoder.piece(id) for id in ids] == ["<dna>", "CCCCCC", "ACGTAA", "</dna>", "CC"]
    assert encoder.decode(ids) == b"<dna>CCCCCCACGTAA</dna>CC"


def test_a_marker_counts_only_after_the_out_of_vocabulary_token():
    encoder = Encoder(spec(tokens=["x\ue000", *PIECES, "\ue000", "y\ue000z\ue000"]))
    last = encoder.vocab_size - 1
    assert [encoder.piece(id) for id in (0, last - 1, last)] == ["x\ue000", "\ue000", "y\ue000z"]


def test_an_added_tag_begins_no_dna():
    encoder = Encoder(spec({"<dna>": TokenType.USER_DEFINED.value}))
    assert [encoder.piece(id) for id in encoder.encode("<dna>CCCCCC</dna>")] == ["<dna>", "CCCCCC", *"</dna>"]
    typed = Encoder(spec({"<dna>": TokenType.CONTROL.value}))
    ids = typed.encode("<dna>CCCCCC</dna>", parse_special=False)
    assert typed.settings.ids["CCCCCC\ue000"] in ids


def test_a_trace_shows_the_source_of_bases_after_inserted_spaces():
    pieces = ["▁", "a", *DNA, *KMERS]
    ids = {piece: id for id, piece in enumerate(pieces)}
    model = HybridDna(ids, Bpe(ids, [], PRE_TOKENIZERS["mmbert"]))
    traced = model.trace("a<dna>TAAAAA</dna>a")
    taken = [token for word in traced.words for token in word.tokens]
    assert [pieces[token.id] for token in taken] == ["▁", "a", "<dna>", "TAAAAA\ue000", "</dna>", "▁", "a"]
    spans = [traced.rewriting.source_span(token.start, token.end) for token in taken]
    assert spans == [(0, 0), (0, 1), (1, 6), (6, 12), (12, 18), (18, 18), (18, 19)]
