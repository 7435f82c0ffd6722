"""Test `tokverify train`: files, exit codes, and that a failure leaves nothing."""

import json
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.paths import DATA
from support.real_data import SHARED
from support.selection import thinned
from tokverify.commands.cli import main
from tokverify.train import TRAINERS
from tokverify.train import run as training_task

SAMPLE_TEXT = DATA / "sample_text.txt"
RESULTS = ["report.json", "tokenizer.gguf", "tokenizer.json", "tokenizer_config.json"]
LIMITED = (
    "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit},) * 2); "
    "sys.dont_write_bytecode = True; "  # A cut .pyc file would break every later program.
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str):
        return CliRunner().invoke(main, ["train", *arguments])

    return invoke


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch):
    """Train in this process, and verify with few generated texts."""
    from tokverify.cases.loading import load_cases

    convert = partial(training_task.convert, cases=[case for case in load_cases() if len(case.text) < 500], count=50)
    monkeypatch.setattr(training_task, "train_in_child", lambda name, plan: TRAINERS[name](plan))
    monkeypatch.setattr(training_task, "convert", convert)


def names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


def test_from_a_corpus_to_a_verified_file(run, tmp_path: Path):
    result = run("bpe", str(SAMPLE_TEXT), "-o", "out", "--vocab-size", "500")
    assert result.exit_code == 0, result.output
    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == RESULTS
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["summary"]["exit_code"] == 0
    assert (report["actual"]["source"], report["expected"]["source"]) == ("tokenizer.gguf", "tokenizer.json")
    assert report["options"] == {
        "algorithm": "bpe",
        "corpus": [str(SAMPLE_TEXT)],
        "files": 1,
        "prepare": [],
        "vocab_size": 500,
        "seed": 0,
        "min_frequency": 2,
        "preset": None,
        "ties": "ids",
    }
    assert result.stdout.splitlines()[:2] == [f"written   out: {', '.join(RESULTS)}", "tokens    500"]
    assert "also with 2,000 generated texts" in result.stdout
    assert result.stderr == ""


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "arguments",
    [
        ["bpe", "--preset", "sheepop"],
        ["unigram"],
        *(pytest.param([kind], marks=pytest.mark.slow) for kind in ("bpe", "spm", "wordpiece")),
    ],
    ids=" ".join,
)
def test_two_runs_give_the_same_files_which_verify(run, tmp_path: Path, arguments: list[str]):
    for output in ("one", "two"):
        result = run(*arguments, str(SAMPLE_TEXT), "-o", output, "--vocab-size", "700", "-q")
        assert (result.exit_code, result.stdout.count("\n"), result.stderr) == (0, 1, "")
        assert " match" in result.stdout
    first, second = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert first == second
    verified = CliRunner().invoke(main, ["run", "one/tokenizer.gguf", "--suite", "scripts", "-q"])
    assert verified.exit_code == 0, verified.output


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("algorithm", "reason", "name"),
    [
        ("spm", 'omitting token 1 "<s>" from decoded text makes', "sentencepiece"),
        ("wordpiece", "joining words as HuggingFace's decoder does", "tokenizers"),
    ],
)
@pytest.mark.slow
def test_the_cause_of_different_decoding_is_reported(run, tmp_path: Path, algorithm: str, reason: str, name: str):
    result = run(algorithm, str(SAMPLE_TEXT), "-o", "out", "--vocab-size", "700")
    lines = result.stdout.splitlines()
    (why,) = (at for at, line in enumerate(lines) if line.startswith("why "))
    assert result.exit_code == 0
    assert " decoded differently" in lines[why - 1]
    assert lines[why].startswith(f"why       {reason}")
    assert re.search(r"makes ([\d,]+) of \1 differing decodings match$", lines[why])
    assert lines[why + 1] == f"          only {name} does this: GGUF has no key for it"
    assert json.loads((tmp_path / "out" / "report.json").read_text())["diagnosis"]["decoding"] is True


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("code", "outcome"), thinned(2, [(0, "faithful: "), (1, " mismatch")]), ids=["a limit", "unknown"]
)
def test_everything_is_written_in_spite_of_a_difference(run, tmp_path: Path, monkeypatch, code, outcome):
    from tokverify.compare.limits import LIMITS, explaining
    from tokverify.train import wordpiece

    # If `▁` is not a token, llama.cpp treats one inside a text as the beginning of a word, which is a limit.
    monkeypatch.setattr(wordpiece, "UNEQUAL", wordpiece.UNEQUAL[1:])
    if code == 1:
        others = {code: limit for code, limit in LIMITS.items() if code != "TL005"}
        monkeypatch.setattr(explaining, "LIMITS", others)
    result = run("wordpiece", str(SAMPLE_TEXT), "-o", "out", "--vocab-size", "500")
    assert result.exit_code == code, result.output
    assert outcome in result.stdout
    assert ("TL005" in result.stdout) == (code == 0)
    assert names(tmp_path / "out") == RESULTS
    assert json.loads((tmp_path / "out" / "report.json").read_text())["summary"]["exit_code"] == code


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bpe", "absent.txt"], "absent.txt: no such file to train on"),
        (["bpe", "empty.txt"], "empty.txt: no text to train on"),
        (["spm", "binary"], "binary: byte 0xFF at offset 0 is not UTF-8 text"),
        (["bpe", "text.txt", "binary"], "binary: byte 0xFF"),
        (["bpe", "text.txt", "--vocab-size", "100"], "a vocabulary of 100 tokens is too small: 256 bytes"),
        (["spm", "text.txt", "--vocab-size", "262"], "a vocabulary of 262 tokens is too small"),
        (["unigram", "text.txt", "--vocab-size", "1"], "a vocabulary of 1 tokens is too small"),
        (["wordpiece", "text.txt", "--vocab-size", "9"], "a vocabulary of 9 tokens is too small"),
        (["bpe", "text.txt", "--vocab-size", "0"], "Invalid value for '--vocab-size'"),
        (["bpe", "text.txt", "--preset", "llama"], "Invalid value for '--preset'"),
        (["spm", "text.txt", "--min-frequency", "2"], "No such option"),
        (["bpe"], "Missing argument 'CORPUS...'"),
        (["lstm", "text.txt"], "No such command 'lstm'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_input(run, tmp_path: Path, arguments: list[str], message: str):
    (tmp_path / "empty.txt").touch()
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    (tmp_path / "text.txt").write_text("some text, and some more of the text\n" * 3)
    before = names(tmp_path)
    result = run(*arguments, "-o", "out")
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert names(tmp_path) == before


@pytest.mark.usefixtures("quick")
def test_existing_files_are_kept_without_force(run, tmp_path: Path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "tokenizer.json").write_text("mine")
    (tmp_path / "out" / "other").write_text("mine")
    assert run("bpe", str(SAMPLE_TEXT), "-o", "out").exit_code == 2
    assert names(tmp_path / "out") == ["other", "tokenizer.json"]
    assert run("bpe", str(SAMPLE_TEXT), "-o", "out", "--force").exit_code == 0
    assert names(tmp_path / "out") == ["other", *RESULTS]
    assert (tmp_path / "out" / "other").read_text() == "mine"
    assert json.loads((tmp_path / "out" / "tokenizer.json").read_text())["model"]["type"] == "BPE"


@pytest.mark.usefixtures("quick")
def test_a_full_disk_while_writing_keeps_the_old_file(run, tmp_path: Path, monkeypatch):
    def full(self: Path, *arguments: object, **options: object):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    result = run("bpe", str(SAMPLE_TEXT), "-o", "out")
    assert (result.exit_code, result.stderr) == (2, "error: out: cannot be written: No space left on device\n")
    assert names(tmp_path) == []


@pytest.mark.parametrize("limit", thinned(3, [20_000, 1_000, 60_000]))
@pytest.mark.slow
def test_a_file_size_limit_is_a_one_line_error(tmp_path: Path, limit: int):
    """Fail at the tokenizer.json, the GGUF file, and the report."""
    pytest.importorskip("resource")
    arguments = ["train", "bpe", str(SAMPLE_TEXT), "-o", "out", "--vocab-size", "400"]
    code = f"{LIMITED.format(limit=limit)}from tokverify.commands.cli import main; main({arguments!r})"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stderr == "error: out: cannot be written: File too large\n"
    assert names(tmp_path) == []


def test_an_interrupt_leaves_nothing(tmp_path: Path):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("".join(f"word{n:x} " for n in range(200_000)))
    command = [sys.executable, "-m", "tokverify", "train", "bpe", str(corpus), "-o", "out", "--vocab-size", "100000"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    # subtle: right after the system has created the temporary directory, Python does not know yet that it must go.
    while process.poll() is None and not any(tmp_path.glob(".out.*/new")):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate()
    assert (process.returncode, stderr) == (130, "interrupted\n")
    assert names(tmp_path) == ["corpus.txt"]


def test_progress_is_shown_only_on_terminals(run, monkeypatch):
    steps: list[str] = []
    monkeypatch.setattr("tokverify.commands.cli.progress.StatusLine.show", lambda self, text: steps.append(text))
    assert run("bpe", str(SAMPLE_TEXT), "-o", "out", "--vocab-size", "300").exit_code == 0
    assert steps[:2] == ["reading the corpus", "training bpe"]
    assert steps[-1].startswith("verifying ")


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [["bpe"], ["bpe", "--preset", "sheepop"], ["spm"], ["unigram"], ["wordpiece"]], ids=" ".join
)
def test_a_megabyte_is_trained_on_and_verifies(run, tmp_path: Path, arguments: list[str]):
    """Fuzzing takes most of the time."""
    corpus = SHARED / "corpus" / "en.txt"
    if not corpus.exists():
        pytest.skip(f"no real corpus: {corpus} is absent; set TOKVERIFY_SHARED")
    assert run(*arguments, str(corpus), "-o", "out", "-q").exit_code == 0
    for reference in ([], ["-r", "llama.cpp"]):
        fuzzed = CliRunner().invoke(main, ["fuzz", "out/tokenizer.gguf", *reference, "--texts", "20000", "-q"])
        assert fuzzed.exit_code == 0, fuzzed.output


def test_a_trace_shows_each_merge(run, tmp_path: Path):
    (tmp_path / "aaab.txt").write_text("aaab")
    options = ["--vocab-size", "262", "--min-frequency", "1", "--ties", "first", "--trace", "2"]
    result = run("bpe", "aaab.txt", "-o", "out", "--preset", "sheepop", *options)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert [line for line in lines if line.startswith("  tokens")] == ["  tokens  [256, 97, 98]", "  tokens  [257, 98]"]
    assert "  counts  (97, 97): 2, (97, 98): 1" in lines


@pytest.mark.slow
def test_the_checklist_of_the_cpp_tokenizer_is_shown(run, tmp_path: Path):
    from support.cpp_maker import CORPUS

    (tmp_path / "corpus.cpp").write_text(CORPUS, encoding="utf-8")
    (tmp_path / "other.cpp").write_text("int unrelated;\n" * 3)
    complete = run("cpp", "corpus.cpp", "-o", "out", "--vocab-size", "2500").stdout
    assert "12 of 12 points of the design document hold" in complete
    partial = run("cpp", "other.cpp", "-o", "other", "--vocab-size", "2500", "--prepare", "indentation").stdout
    assert "7 of 12 points of the design document hold; the corpus lacks the words of 5" in partial
