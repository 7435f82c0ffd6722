from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from support.corpus_maker import corpus_file
from tokverify.corpus.document import CorpusFile, WorkUnit
from tokverify.corpus.plan import Plan, Request, Shard, describe_changes, divide
from tokverify.corpus.result import GroupTally, Place, ReasonTally, Tally, UnitResult, add
from tokverify.corpus.state import ProgressCounter, StateDirectory
from tokverify.errors import TokverifyError
from tokverify.location import FromFile, Origin

UNITS = tuple(WorkUnit(CorpusFile(f"{name}.txt", "text", 9, "v1"), size=9) for name in "abcdefg")
REQUEST = Request(model=FromFile("m.gguf", Origin(Path("plan.json"))))
PLAN = Plan(REQUEST, {"model": "1234", "reference": "5678"}, UNITS)


@pytest.fixture
def state(tmp_path) -> StateDirectory:
    state = StateDirectory(tmp_path / "out")
    state.begin(PLAN)
    return state


def result(unit: WorkUnit, plan: Plan = PLAN) -> UnitResult:
    return UnitResult(plan.id, unit.id, Tally(documents=1), 0.5)


def continued(state: StateDirectory, units: Sequence[WorkUnit] = UNITS) -> ProgressCounter:
    counter = ProgressCounter(units)
    counter.take_stored(state, PLAN)
    return counter


@pytest.fixture
def frequent_sums(monkeypatch):
    monkeypatch.setattr("tokverify.corpus.state._FEWEST_NEW", 2)


def work(state: StateDirectory, units: Sequence[WorkUnit], *, unreadable: Collection[WorkUnit] = ()) -> None:
    counter = ProgressCounter(UNITS)
    for unit in units:
        tally = (
            Tally(unreadable=1) if unit in unreadable else Tally(documents=1, sources={unit.file.path: GroupTally(1)})
        )
        counter.take(state.store(UnitResult(PLAN.id, unit.id, tally, 0.5), unit.file))
        counter.store(state, PLAN)


@pytest.mark.usefixtures("frequent_sums")
def test_results_in_a_stored_sum_are_not_read_again(state):
    work(state, UNITS[:5], unreadable=[UNITS[2]])
    before = continued(state)
    for unit in (UNITS[0], UNITS[1], UNITS[3], UNITS[4]):
        (state.path / "results" / f"{unit.id}.json").write_text("broken")
    after = continued(state)
    assert (after.tally, after.progress, after.missing) == (before.tally, before.progress, [*UNITS[5:]])
    assert (after.tally.documents, after.tally.unreadable, after.progress.busy_seconds) == (4, 1, 2.5)
    # What could not be read can be repeated.
    state.remove(UNITS[2].id)
    assert continued(state).missing == [UNITS[2], *UNITS[5:]]
    # A part of the plan cannot use the sum of more than it asks for.
    with pytest.raises(TokverifyError, match="not the result of a unit"):
        continued(state, UNITS[:2])


@pytest.mark.usefixtures("frequent_sums")
def test_a_sum_of_another_plan_is_refused(state):
    work(state, UNITS)
    (path,) = (state.path / "sums").iterdir()
    path.write_text(path.read_text().replace(PLAN.id, "0123"))
    with pytest.raises(TokverifyError, match=f"{path.name}: the results of another plan; delete it"):
        continued(state)
    path.unlink()
    assert continued(state).tally.documents == len(UNITS)


def test_a_plan_is_read_as_it_was_written(state):
    assert replace(state.plan(), request=REQUEST) == PLAN
    assert state.plan().request.model.text == "m.gguf"
    assert state.plan().id == PLAN.id
    state.begin(PLAN)


def test_units_with_a_result_are_skipped(state):
    for unit in (UNITS[2], UNITS[4]):
        assert state.store(result(unit), unit.file) == result(unit)
    assert continued(state).missing == [UNITS[0], UNITS[1], UNITS[3], UNITS[5], UNITS[6]]
    assert (
        continued(state).tally == add(*(result.tally for result in state.results(PLAN.id, UNITS))) == Tally(documents=2)
    )
    assert [found.unit for found in state.results(PLAN.id, UNITS[3:])] == [UNITS[4].id]
    state.remove(UNITS[2].id)
    assert [found.unit for found in state.results(PLAN.id, UNITS)] == [UNITS[4].id]


def test_a_result_that_cannot_be_stored_is_located(state):
    (state.path / "results").rmdir()
    stored = state.store(result(UNITS[2]), UNITS[2].file).tally
    assert (stored.documents, stored.unreadable) == (1, 1)
    assert stored.reasons == {
        "compared, but the result cannot be stored: No such file or directory": ReasonTally(
            1, (Place("c.txt", -1, "text"),)
        )
    }
    assert continued(state).missing == [*UNITS]


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (Plan(REQUEST, {**PLAN.options, "model": "9"}, UNITS), 'model is "9" and was "1234"'),
        (Plan(REQUEST, {**PLAN.options, "sample": "0.5"}, UNITS), 'sample is "0.5" and was ""'),
        (Plan(REQUEST, PLAN.options, UNITS[1:]), r"1 file changed, appeared or disappeared \(a.txt\)"),
        (Plan(REQUEST, PLAN.options, (WorkUnit(UNITS[0].file, 0, 5), *UNITS[1:])), "the corpus is divided differently"),
    ],
)
def test_another_plan_is_refused_with_the_difference(state, plan, message):
    with pytest.raises(TokverifyError, match=f"contains the results of another plan: {message}; name another"):
        state.begin(plan)


def test_a_changed_file_is_another_plan():
    file = CorpusFile("a.txt", "text", 9, "v2")
    changed = Plan(REQUEST, PLAN.options, (WorkUnit(file, size=9), *UNITS[1:]))
    assert changed.id != PLAN.id
    assert describe_changes(PLAN, changed) == "1 file changed, appeared or disappeared (a.txt)"


def test_a_directory_with_other_files_is_not_used(tmp_path):
    (tmp_path / "notes.txt").touch()
    with pytest.raises(TokverifyError, match=r"contains files, but no plan\.json; name a new directory"):
        StateDirectory(tmp_path).begin(PLAN)


def test_two_runs_that_start_at_the_same_time(tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / ".plan.json.0123.tokverify.tmp").touch()
    StateDirectory(tmp_path).begin(PLAN)
    assert StateDirectory(tmp_path).plan().id == PLAN.id


def test_broken_files_are_reported(state):
    path = state.path / "results" / f"{UNITS[0].id}.json"
    path.write_text('{"plan": "x"')
    with pytest.raises(TokverifyError, match=r"not the result of a unit .*; delete it"):
        list(state.results(PLAN.id, UNITS))
    state.store(result(UNITS[0], Plan(REQUEST, {}, UNITS)), UNITS[0].file)
    with pytest.raises(TokverifyError, match="the result of another unit or plan"):
        list(state.results(PLAN.id, UNITS))
    (state.path / "plan.json").write_text("{}")
    with pytest.raises(TokverifyError, match="not a plan of this version"):
        state.plan()


def test_a_directory_without_a_plan(tmp_path):
    with pytest.raises(TokverifyError, match=r"contains no plan\.json"):
        StateDirectory(tmp_path).plan()


def test_shards_cover_the_plan():
    shards = [Shard(number, 3).select(UNITS) for number in (1, 2, 3)]
    assert sorted((unit for shard in shards for unit in shard), key=UNITS.index) == list(UNITS)
    assert [len(shard) for shard in shards] == [3, 2, 2]


def test_a_broken_file_is_one_unit(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"x" * 99)
    file = corpus_file(tmp_path / "a.parquet")
    assert list(divide([file], 10)) == [WorkUnit(file, size=99)]


def test_an_unknown_format_is_one_line(state):
    path = state.path / "plan.json"
    path.write_text(path.read_text().replace('"format":"text"', '"format":"xls"'))
    with pytest.raises(TokverifyError, match=r'plan\.json: this version of tokverify reads no "xls"$'):
        state.plan()


@pytest.mark.parametrize("name", ["plan.json", "results"])
def test_nothing_is_read_or_written_through_a_link(tmp_path, name):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    state = tmp_path / "state"
    state.mkdir()
    (state / name).symlink_to(elsewhere / ("new" if name == "plan.json" else ""))
    with pytest.raises(TokverifyError, match=r"is a link; a state directory contains only files of its own"):
        StateDirectory(state).begin(PLAN)
    assert not list(elsewhere.iterdir())


@pytest.mark.usefixtures("frequent_sums")
def test_no_sum_is_read_or_written_through_a_link(state, tmp_path):
    (state.path / "sums").symlink_to(tmp_path)
    work(state, UNITS)
    assert not list(tmp_path.glob("*.json"))
    with pytest.raises(TokverifyError, match="sums: is a link"):
        continued(state)


def test_no_result_is_written_through_a_link(state, tmp_path):
    (state.path / "results" / f"{UNITS[0].id}.json").symlink_to(tmp_path / "new")
    with pytest.raises(TokverifyError, match="is a link"):
        state.remove(UNITS[0].id)
    assert not (tmp_path / "new").exists()
