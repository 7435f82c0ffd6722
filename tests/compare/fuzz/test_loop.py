import importlib.util
import os
import sys
from dataclasses import replace
from functools import partial
from itertools import pairwise

import pytest

from support.fake_tokenizer import FakeTokenizer
from support.paths import SAMPLE
from tokverify.commands.tasks.opening import open_tokenizers
from tokverify.compare.fuzz import loop as fuzz_module
from tokverify.compare.fuzz.loop import fuzz
from tokverify.compare.fuzz.plan import FuzzPlan
from tokverify.engine.encoder import Encoder
from tokverify.engine.models import spm
from tokverify.errors import EncodeError, TokverifyError
from tokverify.references import load_reference
from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions
from tokverify.report.fuzz import FuzzReport, Stop, fuzz_exit_code
from tokverify.report.run import Status
from tokverify.sources.load import load_gguf
from tokverify.texts.coverage import ratio

REFERENCE = str(SAMPLE / "sample.tokenizer.model")
MAX_MINIMAL = 8


@pytest.fixture(scope="module")
def sample() -> Encoder:
    return load_gguf(SAMPLE / "sample.gguf")


def minimal_texts(fuzzed: FuzzReport) -> list[str]:
    return [result.case.text for result in fuzzed.report.results]


def as_json(fuzzed: FuzzReport) -> str:
    return FORMATS["fuzz"]["json"](fuzzed, RenderOptions())


def test_a_tokenizer_agrees_with_itself(sample):
    fuzzed = fuzz(sample, sample, FuzzPlan(count=3000))
    assert (fuzzed.strings, fuzzed.failing, fuzzed.skipped, fuzzed.causes) == (3000, 0, 0, ())
    assert (fuzz_exit_code(fuzzed), fuzzed.stop) == (0, Stop.COUNT)
    assert sum(tally.strings for tally in fuzzed.generators.values()) == 3000
    assert "corpus" not in fuzzed.generators
    assert {tally.strings for tally in fuzzed.generators.values()} == {214, 215}
    assert ratio(fuzzed.coverage.pieces) > 0.6
    assert ratio(fuzzed.coverage.merges) > 0.7


def test_the_sample_agrees_with_its_reference_but_for_the_mark_of_a_space(sample):
    fuzzed = fuzz(sample, load_reference(REFERENCE), FuzzPlan(count=3000))
    # sentencepiece cannot distinguish a "▁" in the text from the one it writes for a space; llama.cpp can.
    assert all("▁" in text for text in minimal_texts(fuzzed))


def test_the_faults_of_the_broken_sample_are_found():
    broken = load_gguf(SAMPLE / "sample-broken.gguf")
    fuzzed = fuzz(broken, load_reference(REFERENCE), FuzzPlan(count=3000))
    assert sorted(minimal_texts(fuzzed)) == ["\t\t\t", "  "]
    assert fuzz_exit_code(fuzzed) == 1
    assert fuzzed.failing == sum(cause.strings for cause in fuzzed.causes) + fuzzed.unlisted
    assert [result.status for result in fuzzed.report.results] == [Status.MISMATCH] * 2


def merge_with_rightmost_of_equals(symbols, costs, separator):
    """Join as `tokverify.engine.models.merge` does, but of pairs that cost the same the rightmost first."""
    while True:
        pairs = [(costs.get(f"{a}{separator}{b}"), -at) for at, (a, b) in enumerate(pairwise(symbols))]
        known = [pair for pair in pairs if pair[0] is not None]
        if not known:
            return symbols
        at = -min(known)[1]
        symbols[at : at + 2] = [symbols[at] + symbols[at + 1]]


def faulty_spm(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> Encoder:
    """Give an encoder a copy of the module whose merge breaks ties to the right."""
    location = importlib.util.spec_from_file_location("faulty_spm", spm.__file__)
    faulty = importlib.util.module_from_spec(location)
    monkeypatch.setitem(sys.modules, "faulty_spm", faulty)
    location.loader.exec_module(faulty)
    faulty.merge = merge_with_rightmost_of_equals
    return Encoder(encoder.spec, model=faulty.Spm(encoder.settings.ids, encoder.spec.scores))


def test_a_wrong_tie_break_is_found(sample, monkeypatch):
    fuzzed = fuzz(faulty_spm(sample, monkeypatch), sample, FuzzPlan(count=3000))
    assert fuzzed.failing > 10
    assert min(map(len, minimal_texts(fuzzed))) == 3
    assert all(len(text) <= MAX_MINIMAL for text in minimal_texts(fuzzed))


@pytest.mark.parametrize("piece", ["  ", "\t\t\t", "\n\n\n\n\n", "    " * 2, "<eos>"])
def test_a_missed_added_token_is_found(sample, piece):
    left = tuple(token for token in sample.settings.added_tokens if token.text != piece)
    assert len(left) == len(sample.settings.added_tokens) - 1
    faulty = Encoder(sample.spec, settings=replace(sample.settings, added_tokens=left))
    fuzzed = fuzz(faulty, sample, FuzzPlan(count=6000))
    assert minimal_texts(fuzzed) == [piece]
    assert len(piece) <= MAX_MINIMAL
    # Control tokens are only looked for where special tokens are parsed; the others always are.
    assert fuzzed.report.results[0].parse_special == (piece == "<eos>")


def without_entry(charsmap: bytes, text: str) -> bytes:
    """Leave one string out of a charsmap: the node where it ends no longer says that something does."""
    ends, far = 1 << 8, 1 << 9
    index, entry = 0, int.from_bytes(charsmap[4:8], "little")
    base = entry >> 10 << (8 if entry & far else 0)
    for byte in text.encode():
        index = base ^ byte
        entry = int.from_bytes(charsmap[4 + 4 * index : 8 + 4 * index], "little")
        assert entry & 0xFF == byte
        base = index ^ entry >> 10 << (8 if entry & far else 0)
    assert entry & ends
    return charsmap[: 4 + 4 * index] + (entry ^ ends).to_bytes(4, "little") + charsmap[8 + 4 * index :]


@pytest.mark.parametrize("text", ["½", "①", "\u3000"])
def test_a_dropped_charsmap_entry_is_found(encoder_of, text):
    encoder = encoder_of("t5")
    faulty = Encoder(replace(encoder.spec, charsmap=without_entry(encoder.spec.charsmap, text)))
    fuzzed = fuzz(faulty, encoder, FuzzPlan(count=6000))
    assert text in "".join(minimal_texts(fuzzed))
    assert all(len(minimal) <= MAX_MINIMAL for minimal in minimal_texts(fuzzed))


@pytest.mark.process  # starts processes
@pytest.mark.slow
def test_two_runs_are_the_same_and_with_two_processes(sample):
    broken = load_gguf(SAMPLE / "sample-broken.gguf")
    expected = load_reference(REFERENCE)
    plan = FuzzPlan(count=2500, seed=5)
    first = as_json(fuzz(broken, expected, plan))
    assert as_json(fuzz(broken, expected, plan)) == first
    open_again = partial(open_tokenizers, SAMPLE / "sample-broken.gguf", REFERENCE)
    assert as_json(fuzz(broken, expected, plan, jobs=2, open_again=open_again)) == first
    assert as_json(fuzz(broken, expected, replace(plan, seed=6))) != first


@pytest.mark.process  # starts processes
def test_an_error_in_another_process_is_reported(sample, tmp_path):
    open_again = partial(open_tokenizers, tmp_path / "absent.gguf", REFERENCE)
    with pytest.raises(TokverifyError, match=r"absent\.gguf"):
        fuzz(sample, sample, FuzzPlan(count=2500), jobs=2, open_again=open_again)


@pytest.mark.process  # starts processes
def test_a_worker_that_dies_is_reported(sample):
    with pytest.raises(TokverifyError, match="a worker process died"):
        fuzz(sample, sample, FuzzPlan(count=2500), jobs=2, open_again=partial(os._exit, 1))


def test_fuzzing_stops_at_the_requested_coverage(sample):
    fuzzed = fuzz(sample, sample, FuzzPlan(count=100_000, coverage=0.5, generators=("pieces",)))
    assert fuzzed.stop is Stop.COVERAGE
    assert ratio(fuzzed.coverage.pieces) >= 0.5
    assert fuzzed.strings < 3000


def test_fuzzing_stops_when_the_time_is_up(sample, monkeypatch):
    now = iter(range(1000))
    monkeypatch.setattr(fuzz_module.time, "monotonic", lambda: next(now))
    fuzzed = fuzz(sample, sample, FuzzPlan(seconds=4.0, generators=("digits",)))
    assert fuzzed.stop is Stop.TIME
    assert fuzzed.strings % 600 == 0


def test_a_failure_when_the_time_is_up_is_counted(monkeypatch):
    monkeypatch.setattr(fuzz_module._Run, "_is_late", property(lambda run: True))
    broken = load_gguf(SAMPLE / "sample-broken.gguf")
    fuzzed = fuzz(broken, load_reference(REFERENCE), FuzzPlan(seconds=1, generators=("whitespace",)))
    assert (fuzzed.causes, fuzz_exit_code(fuzzed)) == ((), 1)
    assert fuzzed.unlisted == fuzzed.failing > 0


def test_an_interrupted_run_reports_what_it_found():
    def interrupt(progress):
        if progress.causes:
            raise KeyboardInterrupt

    broken = load_gguf(SAMPLE / "sample-broken.gguf")
    fuzzed = fuzz(broken, load_reference(REFERENCE), FuzzPlan(count=10**9), on_progress=interrupt)
    assert fuzzed.stop is Stop.INTERRUPTED
    assert "  " in minimal_texts(fuzzed)


def test_selecting_only_generators_without_material_is_an_error():
    with pytest.raises(TokverifyError, match="can be generated for this vocabulary by corpus"):
        fuzz(FakeTokenizer("a"), FakeTokenizer("a"), FuzzPlan(generators=("corpus",), count=1))


def test_if_no_text_can_be_encoded_nothing_was_compared(monkeypatch):
    def refuse(text, **options):
        raise EncodeError("never")

    actual, expected = FakeTokenizer("a"), FakeTokenizer("a")
    monkeypatch.setattr(actual, "encode", refuse)
    monkeypatch.setattr(expected, "encode", refuse)
    fuzzed = fuzz(actual, expected, FuzzPlan(count=50))
    assert (fuzzed.strings, fuzzed.skipped, fuzzed.failing, fuzz_exit_code(fuzzed)) == (50, 50, 0, 2)
    assert [result.status for result in fuzzed.report.results] == [Status.SKIPPED]


def test_progress_is_reported_after_each_batch(sample):
    reported = []
    fuzz(sample, sample, FuzzPlan(count=1000), on_progress=reported.append)
    assert [progress.strings for progress in reported] == [588, 1000]
    assert reported[0].coverage.pieces.done < reported[1].coverage.pieces.done
