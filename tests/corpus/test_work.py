from collections.abc import Sequence

from support.corpus_maker import corpus_file, write_json_lines, write_parquet
from support.fake_tokenizer import FakeTokenizer
from tokverify.corpus import work
from tokverify.corpus.check import TokenizerChecker
from tokverify.corpus.document import Columns, UnitPart, WorkUnit
from tokverify.corpus.plan import divide
from tokverify.corpus.result import CauseTally, Example, GroupTally, Place, ReasonTally, Tally, add
from tokverify.corpus.work import Worker, hash_of
from tokverify.texts.mode import Mode

LETTERS = "abcdefghijklmnopqrstuvwxyz \nБГ"


def make_worker(rate: float = 1.0) -> Worker:
    """Make a worker that finds `ab` and `БГ` to differ, and knows no digits."""
    actual, expected = FakeTokenizer(*LETTERS, "ab", "БГ"), FakeTokenizer(*LETTERS)
    mode = Mode(add_special=True, parse_special=True)
    checker = TokenizerChecker(actual, expected, mode, lambda ids, _: _classify(ids))
    return Worker(checker, Columns("text"), rate)


def _classify(ids: Sequence[int]) -> tuple[str, ...]:
    ab, bg = len(LETTERS), len(LETTERS) + 1
    if ab in ids and bg in ids:
        return ("both",)
    return ("Latin merge",) if ab in ids else ("other merge",)


def process(path, unit_bytes=1 << 20, **options) -> Tally:
    worker, total = make_worker(**options), Tally()
    for unit in divide([corpus_file(path)], unit_bytes):
        total = add(total, worker.process(UnitPart(unit)))
    return total


def test_everything_is_counted(tmp_path):
    path = tmp_path / "a.jsonl"
    write_json_lines(path, ["cab", "БГ", "xyz", "", "7", None])
    tally = process(path)
    name = str(path)
    example = tally.causes["Latin merge"].examples[0]
    assert example == Example(example.hash, Place(name, 0, "json_lines"), "cab", (2, 30), (2, 0, 1))
    assert tally == Tally(
        documents=4,
        bytes=11,
        actual_tokens=6,
        expected_tokens=8,
        differing=2,
        unreadable=2,
        null=1,
        causes={
            "Latin merge": CauseTally(1, (example,)),
            "other merge": CauseTally(1, tally.causes["other merge"].examples),
        },
        reasons={
            "'text' is null": ReasonTally(1, (Place(name, 129, "json_lines"),)),
            "neither side can encode the text": ReasonTally(1, (Place(name, 106, "json_lines"),)),
        },
        sources={name: GroupTally(4, 2, 2)},
        scripts={"Cyrillic": GroupTally(1, 1), "Latin": GroupTally(2, 1), "none": GroupTally(1, 0)},
    )


def test_units_and_parts_do_not_change_the_result(tmp_path):
    path = tmp_path / "a.jsonl"
    write_json_lines(path, [f"{'x' * (number % 7)}ab{'БГ' * (number % 3)}" for number in range(200)] + [None])
    whole = process(path)
    assert whole.documents == 200
    assert process(path, unit_bytes=100) == process(path, unit_bytes=999) == whole
    worker, unit = make_worker(), WorkUnit(corpus_file(path))
    parts = [UnitPart(unit, 0, 70), UnitPart(unit, 70, 71), UnitPart(unit, 71)]
    total = Tally()
    for part in parts:
        total = add(total, worker.process(part))
    assert total == whole
    assert [len(worker.locate(part)) for part in parts] == [70, 1, 130]


def test_a_sample_depends_on_the_texts_only(tmp_path):
    texts = [f"text {letter}{other}" for letter in LETTERS[:20] for other in LETTERS[:20]]
    write_json_lines(tmp_path / "a.jsonl", texts)
    write_parquet(tmp_path / "b.parquet", texts[::-1])
    left, right = process(tmp_path / "a.jsonl", rate=0.25), process(tmp_path / "b.parquet", rate=0.25)
    assert (left.documents, left.bytes, left.sampled_out) == (right.documents, right.bytes, right.sampled_out)
    assert left.documents + left.sampled_out == 400
    assert 60 < left.documents < 140


def test_a_long_example_is_shortened_to_a_part_with_the_same_cause(tmp_path):
    text = "x" * 2_000 + "ab" + "x" * 2_000
    write_json_lines(tmp_path / "a.jsonl", [text])
    example = process(tmp_path / "a.jsonl").causes["Latin merge"].examples[0]
    assert len(example.text) <= 1024
    assert example.text.strip("x") == "ab"
    assert len(example.actual) == len(example.text) - 1
    assert example.hash == process(tmp_path / "a.jsonl").causes["Latin merge"].examples[0].hash


def test_a_long_example_that_cannot_be_shortened_has_no_text(tmp_path, monkeypatch):
    monkeypatch.setattr(work, "MAX_EXCERPT", 1500)
    write_json_lines(tmp_path / "a.jsonl", ["ab" + "x" * 2_000 + "БГ"])
    example = process(tmp_path / "a.jsonl").causes["both"].examples[0]
    assert (example.text, example.actual, example.expected) == (None, (), ())


def test_the_rest_of_a_broken_file_is_recorded(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    write_json_lines(path, ["xyz"] * 1000)
    path.write_bytes(path.read_bytes()[:-20])
    tally = process(path)
    assert tally.unreadable == 1
    assert tally.reasons == {"the file ends too early": ReasonTally(1, (Place(str(path), -1, "json_lines"),))}


def test_hashes_are_those_of_the_content():
    from array import array

    from tokverify.corpus.document import Document

    assert hash_of(Document(1, "a")) == hash_of(Document(2, "a", array("I", [5]))) != hash_of(Document(1, "b"))
    assert hash_of(Document(1, None, array("I", [5]))) != hash_of(Document(1, None, array("I", [6])))
