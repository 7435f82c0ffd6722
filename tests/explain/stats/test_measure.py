import os

import pytest

from support.fake_tokenizer import FakeTokenizer
from support.spec_maker import BYTE_PIECES, CONTROL, USER_DEFINED, bpe_spec, spm_spec
from tokverify.commands.tasks.stats import open_subjects
from tokverify.engine.encoder import Encoder
from tokverify.errors import TokverifyError
from tokverify.explain.stats import text as text_module
from tokverify.explain.stats.measure import StatsSubject, count_long, find_longest, find_ordinary, measure
from tokverify.report.stats import MeasuredTexts, stats_exit_code
from tokverify.spec import TokenType

BYTES = Encoder(bpe_spec([]), "bytes")


def tokens_of(texts: MeasuredTexts) -> tuple[int | None, ...]:
    return tuple(count.tokens for count in texts.counts)


def rates_of(texts: MeasuredTexts) -> tuple[float | None, ...]:
    """The rates of the first tokenizer."""
    count = texts.counts[0]
    return count.per_byte, count.per_character, count.per_word


def subject(tokenizer, **fields) -> StatsSubject:
    return StatsSubject(tokenizer.name, "made up", tokenizer, **fields)


def test_tokens_are_counted_by_byte_character_and_word(tmp_path):
    (tmp_path / "a.txt").write_text("été à Paris\n")
    [row] = measure([subject(BYTES)], [tmp_path / "a.txt"]).texts
    assert (row.bytes, row.characters, row.words, row.pieces, tokens_of(row)) == (15, 12, 3, 1, (15,))
    assert rates_of(row) == (1.0, 15 / 12, 5.0)


def test_texts_of_one_kind_are_added_up(tmp_path):
    for name, content in (("a.py", "a = 1\n"), ("b.py", "b = 22 \n"), ("c.rs", "c\n"), ("d.txt", "d\n")):
        (tmp_path / name).write_text(content)
    stats = measure([subject(BYTES)], sorted(tmp_path.iterdir()))
    assert [(row.kind, row.name, row.bytes, row.pieces) for row in stats.texts] == [
        ("code", "Python", 14, 2),
        ("code", "Rust", 2, 1),
        ("prose", "Latin", 2, 1),
    ]
    assert [row.trailing for row in stats.texts] == [1, 0, 0]


def test_several_tokenizers_see_the_same_texts(tmp_path):
    merging = Encoder(bpe_spec(["a a"]), "merging")
    (tmp_path / "a.txt").write_text("aaaa")
    [row] = measure([subject(BYTES), subject(merging)], [tmp_path / "a.txt"]).texts
    assert tokens_of(row) == (4, 2)


def test_words_are_not_counted_in_scripts_without_spaces(tmp_path):
    (tmp_path / "a.txt").write_text("船只回港\n")
    [row] = measure([subject(BYTES)], [tmp_path / "a.txt"]).texts
    assert row.words is None
    assert row.counts[0].per_word is None


def test_control_tokens_in_a_text_are_text(tmp_path):
    encoder = Encoder(bpe_spec([], {"<s>": CONTROL}), "m")
    (tmp_path / "a.txt").write_text("<s>")
    assert measure([subject(encoder)], [tmp_path / "a.txt"]).texts[0].counts[0].tokens == 3


def test_unused_tokens_exclude_those_that_no_text_can_use(tmp_path):
    spec = spm_spec({"a": 0.0, "b": 0.0, "unused": 0.0, "longer one": 0.0}, {"unused": TokenType.UNUSED.value})
    encoder = Encoder(spec, "m")
    (tmp_path / "a.txt").write_text("a")
    [measured] = measure([subject(encoder, attributes=encoder.settings.attributes)], [tmp_path / "a.txt"]).tokenizers
    assert measured.excluded == {"unknown": 1, "control": 2, "byte": 256, "unused": 1}
    assert measured.unused == 2
    assert [token.piece for token in measured.unused_examples] == ["longer one"]


def test_the_samples_are_too_short_to_list_unused_tokens():
    stats = measure([subject(BYTES)])
    assert stats.tokenizers[0].unused is None
    assert stats.tokenizers[0].unused_examples == ()
    assert stats.files == ()
    assert len(stats.texts) == 18
    assert all(tokens_of(row) == (row.bytes,) for row in stats.texts)


def test_a_text_that_cannot_be_encoded_is_reported_and_the_others_are_measured(tmp_path):
    (tmp_path / "a.py").write_text("ab")
    (tmp_path / "b.rs").write_text("%")
    stats = measure([subject(FakeTokenizer("a", "b")), subject(BYTES)], sorted(tmp_path.iterdir()))
    assert [tokens_of(row) for row in stats.texts] == [(2, 2), (None, 1)]
    assert rates_of(stats.texts[1]) == (None, None, None)
    assert stats.tokenizers[0].failures == ("code Rust: no piece for '%'",)
    assert stats.tokenizers[1].failures == ()
    assert stats_exit_code(stats) == 1


def test_unknown_tokens_are_counted(tmp_path):
    (tmp_path / "a.txt").write_text("abba")
    tokenizer = FakeTokenizer("a", "b")
    assert measure([subject(tokenizer, unknown=frozenset([1]))], [tmp_path / "a.txt"]).texts[0].counts[0].unknown == 2


def test_files_are_read_before_anything_is_encoded(tmp_path):
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.txt").write_bytes(b"\xff")
    tokenizer = FakeTokenizer("a")
    with pytest.raises(TokverifyError, match="not UTF-8"):
        measure([subject(tokenizer)], sorted(tmp_path.iterdir()))
    assert tokenizer.calls == []


def test_nothing_to_measure_is_an_error(tmp_path):
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(TokverifyError, match="nothing to measure"):
        measure([subject(BYTES)], [tmp_path / "a.txt"])


def test_long_files_are_measured_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(text_module, "PIECE_BYTES", 10)
    (tmp_path / "a.txt").write_text("some words\n" * 5)
    seen = []
    [row] = measure([subject(BYTES)], [tmp_path / "a.txt"], on_progress=lambda *done: seen.append(done)).texts
    assert (row.pieces, row.bytes, tokens_of(row)) == (5, 55, (55,))
    assert seen[-1] == (55, 55)


def test_ordinary_tokens_are_those_the_tokenizer_reports():
    tokenizer = FakeTokenizer("<s>", "", *BYTE_PIECES, "a", special_ids={"bos": 0})
    vocabulary = find_ordinary(tokenizer, None)
    assert vocabulary.ids == {258}
    assert vocabulary.excluded == {"special": 1, "undefined": 1, "byte": 256}


def test_user_defined_tokens_are_ordinary():
    encoder = Encoder(spm_spec({"a": 0.0, "<b>": 0.0}, {"<b>": USER_DEFINED}, byte_pieces=False), "m")
    assert {encoder.piece(id) for id in find_ordinary(encoder, encoder.settings.attributes).ids} == {"a", "<b>"}


def test_the_longest_tokens_are_measured_in_characters_without_runs():
    tokenizer = FakeTokenizer("▁abc", "====", "    ", "éè", "▁----", "abcdefghijk", "\n\n\n\n\n\n\n\n\n\n\n\n")
    ids = range(tokenizer.vocab_size)
    assert [token.id for token in find_longest(tokenizer, ids, 5)] == [5, 0, 3]
    assert [token.id for token in find_longest(tokenizer, ids, 1)] == [5]
    assert count_long(tokenizer, ids) == 2


@pytest.mark.slow
def test_real_tokenizers_of_all_kinds_are_opened(vocabs):
    names = ["gpt-2.gguf", "gpt-2.tokenizer.json", "llama-spm.tokenizer.model", "gpt-2.gguf"]
    subjects = open_subjects([str(vocabs / name) for name in names])
    assert [subject.name for subject in subjects] == [
        "gpt-2", "gpt-2.tokenizer.json", "llama-spm.tokenizer.model", "gpt-2 (2)",
    ]  # fmt: skip
    stats = measure(subjects)
    assert all(len({*tokens_of(row)[:2], tokens_of(row)[3]}) == 1 for row in stats.texts)
    assert [measured.excluded.get("byte", 0) for measured in stats.tokenizers] == [0, 0, 256, 0]
    gpt2, other, llama, _ = stats.tokenizers
    assert gpt2.probe == other.probe
    assert (gpt2.probe.spaces_per_token, llama.probe.single_numbers) == (1.0, 10)


@pytest.mark.parametrize("location", ["absent.gguf", "absent.json", "rebuilt", "expect", "nonsense:x"])
def test_anything_but_a_tokenizer_is_an_error(tmp_path, monkeypatch, location):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TokverifyError):
        open_subjects([location])


def test_a_file_that_cannot_be_read_twice_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TokverifyError, match="pipe: not a regular file"):
        measure([subject(BYTES)], [tmp_path / "pipe"])
