"""`tokverify corpus` from the command line; test_process.py starts it for real."""

import errno
import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner

import tokverify
from support.corpus_maker import overwrite_row_group, write_json_lines, write_parquet
from support.in_process import InProcess
from support.paths import SAMPLE
from support.spec_file import write_spec
from support.spec_maker import bpe_spec
from tokverify.commands.cli import main
from tokverify.commands.tasks import corpus as task
from tokverify.compare.convert.json_writer import write_json
from tokverify.corpus import plan, state
from tokverify.corpus.state import StateDirectory
from tokverify.errors import TokverifyError
from tokverify.render.corpus import format_bytes
from tokverify.system.output_file import write_file

MODEL, BROKEN = str(SAMPLE / "sample.gguf"), str(SAMPLE / "sample-broken.gguf")
REFERENCE = str(SAMPLE / "sample.tokenizer.model")
TEXTS = [f"{'  ' * (number % 4 == 0)}text {number}\n" for number in range(40)]


def corpus(*arguments: object):
    return CliRunner().invoke(main, ["corpus", *map(str, arguments)])


def verify(model: str, *arguments: object):
    return corpus(model, "-r", REFERENCE, "-j", 2, *arguments)


@pytest.fixture
def data(tmp_path) -> Path:
    """Make a corpus of 80 documents in two files and several units, 20 of which are broken by a lost token type."""
    folder = tmp_path / "data"
    folder.mkdir()
    write_parquet(folder / "a.parquet", TEXTS, row_group_size=10)
    write_json_lines(folder / "b.jsonl", TEXTS[::-1])
    return folder


@pytest.fixture(autouse=True)
def quick_run(monkeypatch) -> None:
    """Divide the corpus into several units, and start no processes."""
    monkeypatch.setattr(plan, "_SMALLEST_UNIT", 600)
    monkeypatch.setattr(task, "Processes", InProcess)


def test_a_correct_model(data):
    result = verify(MODEL, data)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "80 documents, 660 bytes: all agree"


@pytest.mark.slow
def test_documents_that_only_a_limit_explains(tmp_path):
    # é is one token in NFC, and llama.cpp does not normalize; the merges decide about "abc".
    spec = bpe_spec(["Ã ©", "a b", "b c"])
    right, wrong = tmp_path / "right.gguf", tmp_path / "wrong.gguf"
    write_spec(spec, right)
    write_spec(replace(spec, merges=["Ã ©", "b c", "a b"]), wrong)
    reference, texts = tmp_path / "tokenizer.json", tmp_path / "texts.jsonl"
    write_json(reference, spec)
    document = json.loads(reference.read_text()) | {"normalizer": {"type": "NFC"}}
    reference.write_text(json.dumps(document))
    write_json_lines(texts, ["cafe\u0301", "caf\u00e9", "abc", "abc e\u0301"])

    result = corpus(right, texts, "-r", reference, "-j", 1)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1].endswith("2 differ, all only because of limits of llama.cpp (TL003)")
    assert "TL003 no-normalizer: 2 documents differ because llama.cpp does not normalize" in result.stdout
    strict = corpus(right, texts, "-r", reference, "-j", 1, "--strict", "-f", "json")
    assert strict.exit_code == 1
    assert json.loads(strict.stdout)["summary"]["explained"] == 2

    broken = corpus(wrong, texts, "-r", reference, "-j", 1)
    assert broken.exit_code == 1
    assert broken.stdout.splitlines()[-1].endswith("3 differ, 2 causes, 1 only because of limits of llama.cpp (TL003)")


def test_rows_without_a_value_can_be_accepted(tmp_path):
    write_json_lines(tmp_path / "texts.jsonl", ["a", None, "b"])
    result = verify(MODEL, tmp_path)
    assert result.exit_code == 2
    assert result.stdout.splitlines()[-1].endswith("1 could not be verified (1 are null; --allow-null accepts them)")
    accepted = verify(MODEL, tmp_path, "--allow-null")
    assert accepted.exit_code == 0
    assert accepted.stdout.splitlines()[-1].endswith("all agree; 1 row without a value, which you accept")
    (tmp_path / "more.jsonl").write_text("{}\n")
    assert verify(MODEL, tmp_path, "--allow-null").exit_code == 2


def test_a_table_that_is_named_is_read_as_text_with_a_note(tmp_path):
    (tmp_path / "a.csv").write_text('text,label\n"a b",1\n')
    result = verify(MODEL, tmp_path / "a.csv")
    assert result.exit_code == 0
    assert "read as plain text, with their commas and quotes" in " ".join(result.stdout.split())


def test_a_broken_model(data, tmp_path):
    result = verify(BROKEN, data, "-o", tmp_path / "out.json")
    assert result.exit_code == 1
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["summary"]["causes"] == {"segmentation": 20}
    assert [(source["documents"], source["differing"]) for source in report["sources"]] == [(40, 10), (40, 10)]
    assert verify(BROKEN, data, "--max-differences", 19).exit_code == 1
    assert verify(BROKEN, data, "--max-differences", 20).exit_code == 0


@pytest.mark.parametrize("formats", [["json", "markdown", "html", "junit", "sarif"]])
def test_other_formats(data, tmp_path, formats):
    reports = [argument for name in formats for argument in ("--report", f"{name}={tmp_path / name}")]
    assert verify(BROKEN, data, *reports).exit_code == 1
    assert all("segmentation" in (tmp_path / name).read_text() for name in formats)


@pytest.mark.slow
def test_the_report_does_not_depend_on_how_the_work_is_divided(data, tmp_path, monkeypatch):
    whole = verify(BROKEN, data, "-f", "json").stdout
    assert verify(BROKEN, data, "-f", "json", "-j", 1).stdout == whole
    for number in (3, 1, 2):
        shard = verify(BROKEN, data, "-f", "json", "--shard", f"{number}/3", "--state", tmp_path / f"{number}")
        assert json.loads(shard.stdout)["shard"] == f"{number}/3"
    assert corpus("merge", tmp_path / "2", tmp_path / "1", tmp_path / "3", "-f", "json").stdout == whole
    incomplete = corpus("merge", tmp_path / "2", tmp_path / "1", "-f", "json")
    assert incomplete.exit_code == 2
    assert json.loads(incomplete.stdout)["remaining_bytes"] > 0
    monkeypatch.setattr(plan, "_SMALLEST_UNIT", 1 << 20)
    assert verify(BROKEN, data, "-f", "json").stdout == whole


def test_a_run_continues_where_another_one_ended(data, tmp_path):
    state = tmp_path / "out"
    whole = verify(BROKEN, data, "-f", "json", "--state", state).stdout
    results = sorted((state / "results").iterdir())
    assert len(results) > 3
    for path in results[::2]:
        path.unlink()
    kept = {path: path.stat().st_mtime_ns for path in results[1::2]}
    status = json.loads(corpus("status", state, "--json").stdout)
    assert status["units"] == {"done": len(kept), "total": len(results)}
    assert verify(BROKEN, data, "-f", "json", "--state", state).stdout == whole
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert corpus("merge", state, "-f", "json").stdout == whole
    lines = corpus("status", state).stdout.splitlines()
    assert lines[1] == f"80 documents compared, {format_bytes(json.loads(whole)['bytes'])} of text"
    assert lines[2] == "20 documents differ (segmentation 20)"


def test_another_plan_is_refused(data, tmp_path):
    state = tmp_path / "out"
    verify(BROKEN, data, "--state", state)
    result = verify(MODEL, data, "--state", state, "--sample", "50%")
    assert result.exit_code == 2
    assert "contains the results of another plan: --sample is" in result.stderr
    assert "the model is" in result.stderr


def test_what_cannot_be_read_is_located_and_the_rest_is_compared(data):
    (data / "c.jsonl").write_text('{"text": "good"}\nbad\n')
    (data / "d.parquet").write_bytes(b"PAR1 and no more")
    result = verify(MODEL, data, "-f", "json")
    report = json.loads(result.stdout)
    assert result.exit_code == 2
    groups = {group["reason"]: group["places"] for group in report["unreadable_groups"]}
    assert groups == {
        "the file is corrupt or cut off, or has another format than its name says": [f"{data}/d.parquet"],
        "the line is not a JSON object": [f"{data}/c.jsonl: byte 17"],
    }
    assert (report["documents"], report["unreadable"]) == (81, 2)


def test_the_rows_of_a_corrupt_group_are_counted(data):
    overwrite_row_group(data / "a.parquet", 1)
    result = verify(MODEL, data, "-f", "json")
    report = json.loads(result.stdout)
    assert result.exit_code == 2
    assert (report["documents"], report["unreadable"]) == (70, 10)
    (group,) = report["unreadable_groups"]
    assert (group["count"], group["places"]) == (10, [f"{data}/a.parquet: row 10"])
    assert {source["name"]: source["unreadable"] for source in report["sources"]} == {
        f"{data}/a.parquet": 10,
        f"{data}/b.jsonl": 0,
    }


def test_units_that_failed_are_repeated_unless_their_files_changed(data, tmp_path):
    state = tmp_path / "out"
    verify(MODEL, data, "--state", state)
    stored = StateDirectory(state)
    plan = stored.plan()
    (result, *_) = stored.results(plan.id, plan.units)
    path = state / "results" / f"{result.unit}.json"
    content = json.loads(path.read_text())
    content["tally"] |= {"unreadable": 1, "documents": 0}
    path.write_text(json.dumps(content))
    assert corpus("merge", state).exit_code == 2
    assert corpus("retry", state, "-j", 1).exit_code == 0
    assert corpus("merge", state).exit_code == 0
    (data / "a.parquet").write_bytes((data / "a.parquet").read_bytes())
    path.write_text(json.dumps(content))
    changed = corpus("retry", state)
    assert changed.exit_code == 2
    assert "changed since the plan was made" in changed.stderr


def test_stored_results_can_be_distilled_and_judged_later(data, tmp_path):
    state, suites = tmp_path / "out", [tmp_path / f"{name}.yaml" for name in ("verify", "merge", "retry")]
    judged = ("--judge", REFERENCE, "-f", "json")
    whole = verify(BROKEN, data, "--state", state, "--distill", suites[0], *judged).stdout
    assert {example["judgment"] for example in json.loads(whole)["examples"]} != {""}
    assert corpus("merge", state, "--distill", suites[1], *judged).stdout == whole
    assert corpus("retry", state, "--distill", suites[2], *judged).stdout == whole
    assert suites[0].read_text() == suites[1].read_text() == suites[2].read_text()
    assert "segmentation" in suites[0].read_text()


@pytest.mark.parametrize("option", ["-o", "--distill"])
def test_no_file_of_the_corpus_is_overwritten(data, tmp_path, option):
    model = tmp_path / "model.copy"
    model.write_bytes(Path(BROKEN).read_bytes())
    state = tmp_path / "out"
    assert verify(model, data, "--state", state, "--distill", tmp_path / "suite.yaml").exit_code == 1
    for path in (model, *sorted(data.iterdir())):
        before = path.read_bytes()
        format_name = ("-f", "json") if option == "-o" else ()
        for result in (
            verify(model, data, option, path, *format_name),
            corpus("merge", state, option, path, *format_name),
            corpus("retry", state, option, path, *format_name),
        ):
            assert result.exit_code == 2
            assert f"error: {path}: cannot be written: it is an input, {path}; name another file" in result.stderr
        assert path.read_bytes() == before


def test_the_suite_and_a_report_cannot_go_to_one_file(data, tmp_path):
    result = verify(MODEL, data, "--distill", tmp_path / "x.yaml", "-o", tmp_path / "x.yaml")
    assert (result.exit_code, "two reports go to" in result.stderr) == (2, True)


def test_a_suite_that_could_not_be_written_is_an_error_before_any_work(data, tmp_path):
    result = verify(MODEL, data, "--distill", tmp_path / "missing" / "suite.yaml", "--state", tmp_path / "out")
    assert result.exit_code == 2
    assert "create it first" in result.stderr
    assert not (tmp_path / "out").exists()


def test_results_without_excerpts_cannot_be_distilled(data, tmp_path):
    verify(MODEL, data, "--state", tmp_path / "out")
    result = corpus("merge", tmp_path / "out", "--distill", tmp_path / "suite.yaml")
    assert result.exit_code == 2
    assert "nothing can be distilled" in result.stderr
    assert not (tmp_path / "suite.yaml").exists()


@pytest.mark.slow
def test_a_full_disk_for_results_does_not_end_the_run(data, tmp_path, monkeypatch):
    whole = verify(BROKEN, data, "-f", "json").stdout
    written = []

    def fail_at_the_third(path, text):
        written.append(path)
        if len(written) == 3:  # after the plan and a result
            raise TokverifyError(f"{path}: cannot be written") from OSError(errno.ENOSPC, "No space left on device")
        write_file(path, text)

    store = ("-f", "json", "--state", tmp_path / "out")
    with monkeypatch.context() as patch:
        patch.setattr(state, "write_file", fail_at_the_third)
        result = verify(BROKEN, data, *store)
    assert result.exit_code == 2
    report = json.loads(result.stdout)
    (group,) = report["unreadable_groups"]
    assert group["reason"] == "compared, but the result cannot be stored: No space left on device"
    assert group["count"] == 1
    assert (report["documents"], report["differing"]) == (80, 20)
    assert verify(BROKEN, data, *store).stdout == whole


def test_equal_texts_with_different_wrong_ids_have_their_own_examples(tmp_path):
    ids = tokverify.load_model(MODEL).encode("some text", add_special=True, parse_special=True)
    table = pa.table({"text": ["some text"] * 2, "ids": [ids[1:], [ids[0], *ids]]})
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    result = corpus(MODEL, tmp_path / "a.parquet", "--ids-column", "ids", "--text-column", "text", "-f", "json")
    report = json.loads(result.stdout)
    places = {example["case"]: example["place"].rpartition(": ")[2] for example in report["examples"]}
    found = {cause["cause"]: [places[case] for case in cause["cases"]] for cause in report["causes"]}
    assert found == {"bos-missing": ["row 0"], "bos-doubled": ["row 1"]}


def test_a_sample(data):
    report = json.loads(verify(MODEL, data, "--sample", "25%", "-f", "json").stdout)
    assert report["documents"] + report["sampled_out"] == 80
    assert 0 < report["documents"] < 60


def test_progress_as_json_lines(data):
    result = verify(BROKEN, data, "--progress", "json", "-q")
    lines = [json.loads(line) for line in result.stderr.splitlines()]
    assert lines[0]["units"]["done"] == 0
    assert lines[-1]["units"]["done"] == lines[-1]["units"]["total"] == len(lines) - 1
    assert lines[-1]["causes"] == {"segmentation": 20}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([MODEL], "Missing argument 'DATA...'"),
        ([MODEL, "nothing.parquet"], "nothing.parquet: cannot be read: No such file or directory"),
        ([MODEL, "{data}", "--shard", "4/3"], "'4/3' is not a part"),
        ([MODEL, "{data}", "--sample", "0"], "'0' is not a share"),
        (
            [MODEL, "{data}", "--text-column", "body"],
            'the column "body" does not exist; columns with texts: text (--text-column)',
        ),
        (
            [MODEL, "{data}", "--text-column", "id"],
            'the column "id" contains int64; columns with texts: text (--text-column)',
        ),
        (["missing.gguf", "{data}"], "missing.gguf"),
        (["status", "{data}"], "contains no plan.json"),
    ],
)
def test_mistakes(data, arguments, message):
    reference = ["-r", REFERENCE] if arguments[0] == MODEL else []
    result = corpus(*(argument.format(data=data) for argument in arguments), *reference)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_several_columns(tmp_path):
    write_parquet(tmp_path / "a.parquet", ["a"], other=["b"])
    pa.parquet.write_table(pa.table({"left": ["a"], "right": ["b"]}), tmp_path / "b.parquet")
    assert verify(MODEL, tmp_path / "a.parquet").exit_code == 0
    result = verify(MODEL, tmp_path / "b.parquet")
    assert result.exit_code == 2
    assert "several columns may contain the texts; choose with --text-column: left, right" in result.stderr


def test_without_texts_the_columns_of_ids_are_named(tmp_path):
    pa.parquet.write_table(pa.table({"id": [1], "input_ids": [[1, 2]], "labels": [[1, 2]]}), tmp_path / "a.parquet")
    result = verify(MODEL, tmp_path / "a.parquet")
    assert result.exit_code == 2
    message = "no column contains texts; columns with lists of ids: input_ids, labels (--ids-column)"
    assert message in result.stderr


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.parquet", b"", "the file is corrupt or cut off, or has another format than its name says"),
        ("a.json", b'[{"text": "a"}]', "none of the first lines is a JSON object"),
        ("a.jsonl.gz", b"garbage", "the file is not compressed as its name says"),
    ],
)
def test_a_file_whose_columns_cannot_be_read(tmp_path, name, content, reason):
    (tmp_path / name).write_bytes(content)
    result = verify(MODEL, tmp_path)
    assert result.exit_code == 2
    assert f"error: {tmp_path / name}: {reason}; if other files are intact, name" in result.stderr


def test_a_field_that_is_text_in_some_rows_is_text(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\nx\n{"text": 5}\n{"other": "b"}\n{"text": null}\n')
    write_parquet(tmp_path / "b.parquet", ["b", "c"])
    result = verify(MODEL, tmp_path, "-f", "json")
    report = json.loads(result.stdout)
    assert (result.exit_code, report["documents"], report["unreadable"]) == (2, 3, 4)


def test_without_texts_and_ids_all_columns_are_named(tmp_path):
    pa.parquet.write_table(pa.table({"id": [1], "sizes": [[{"n": 1}]]}), tmp_path / "a.parquet")
    result = verify(MODEL, tmp_path / "a.parquet")
    assert result.exit_code == 2
    assert "no column contains texts; columns: id (int64), sizes.n (int64)\n" in result.stderr


def test_the_messages_of_chats_are_documents(tmp_path):
    messages = [{"role": "user", "content": "Hello  world"}, {"role": "assistant", "content": "Hi"}]
    pa.parquet.write_table(pa.table({"id": [1], "messages": [messages]}), tmp_path / "a.parquet")
    result = verify(MODEL, tmp_path / "a.parquet")
    assert result.exit_code == 2
    assert "only lists contain texts; choose with --text-column: messages.role, messages.content" in result.stderr
    result = verify(MODEL, tmp_path / "a.parquet", "--text-column", "messages.content", "-f", "json")
    assert (result.exit_code, json.loads(result.stdout)["documents"]) == (0, 2)
    for columns in (("--text-column", "messages.content"), ()):
        result = verify(MODEL, tmp_path / "a.parquet", "--ids-column", "messages.content", *columns)
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1)


def test_flat_files_of_ids_between_others(data):
    (data / "model.bin").write_bytes(b"x")
    result = verify(MODEL, data)
    assert result.exit_code == 0
    assert f"files that do not look like data are ignored: {data}/model.bin" in " ".join(result.stdout.split())
    (data / "model.idx").write_bytes(b"x")
    result = verify(MODEL, data)
    assert result.exit_code == 2
    assert (
        f"{data}/model.bin: a file with such a name contains only ids; verify these files separately" in result.stderr
    )
    assert verify(MODEL, data / "*.parquet").exit_code == 0
