import json

import pytest
from click.testing import CliRunner, Result

from support.paths import ROOT, SAMPLE
from tokverify.commands.cli import main
from tokverify.render.kinds import FORMATS

MODEL, REFERENCE = str(SAMPLE / "sample.gguf"), str(SAMPLE / "sample.tokenizer.model")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["stats", *arguments])


def test_without_a_file_the_samples_are_measured():
    result = run(MODEL)
    assert result.exit_code == 0, result.output
    for name in ("English", "Korean", "Rust", "numbers, dates", "white space"):
        assert name in result.stdout
    assert "tokens never used" not in result.stdout


def test_several_tokenizers_are_compared(tmp_path):
    (tmp_path / "a.txt").write_text("two  spaces\n")
    document = json.loads(run(MODEL, str(tmp_path / "a.txt"), "-m", REFERENCE, "-m", MODEL, "-f", "json").stdout)
    assert [tokenizer["name"] for tokenizer in document["tokenizers"]] == [
        "sample",
        "sample.tokenizer.model",
        "sample (2)",
    ]
    [text] = document["texts"]
    assert len({counted["tokens"] for counted in text["counts"]}) == 1
    ours, theirs, _ = document["tokenizers"]
    # In the GGUF file, the unknown token has type CONTROL.
    assert (ours["excluded"], theirs["excluded"]) == (
        {"control": 4, "byte": 256},
        {"control": 3, "byte": 256, "unknown": 1},
    )
    assert ours["unused"] == theirs["unused"] > 0
    assert ours["longest"] == theirs["longest"]


def test_saved_statistics_are_rendered_like_the_original(tmp_path):
    (tmp_path / "a.txt").write_text("two  spaces\n")
    arguments = [MODEL, str(tmp_path / "a.txt"), "-m", REFERENCE]
    path = tmp_path / "stats.json"
    result = run(*arguments, "-o", str(path), "--report", f"markdown={tmp_path / 'stats.md'}")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.splitlines()[1].startswith("1 text, 12 bytes: 0.")
    document = json.loads(path.read_text())
    assert document["options"] == {"model": MODEL, "others": [REFERENCE], "files": [str(tmp_path / "a.txt")]}
    assert document["versions"].keys() == {"tokverify", "engine", "llama.cpp", "python", "sentencepiece"}
    ours, theirs = document["tokenizers"]
    assert (ours["sha256"], theirs["fingerprint"]) == (None, None)
    assert len(ours["fingerprint"]) == len(theirs["sha256"]) == 64
    for name in FORMATS["stats"]:
        shown = CliRunner().invoke(main, ["report", "show", str(path), "-f", name, "-v"])
        assert (shown.exit_code, shown.stdout) == (0, run(*arguments, "-f", name, "-v").stdout), name
    assert (tmp_path / "stats.md").read_text() == run(*arguments, "-f", "markdown").stdout


def test_an_unwritable_output_is_an_error_before_any_work(tmp_path):
    (tmp_path / "a.txt").write_text("text")
    result = run(MODEL, str(tmp_path / "a.txt"), "-o", str(tmp_path / "a.txt"))
    assert (result.exit_code, (tmp_path / "a.txt").read_text()) == (2, "text")
    assert "it is an input" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing argument 'MODEL'"),
        (["{tmp}/absent.gguf"], "{tmp}/absent.gguf: no such file"),
        ([MODEL, "-m", "nonsense"], "'nonsense': no such file or directory"),
        ([MODEL, "-m", "rebuilt"], "no GGUF file from which to rebuild"),
        ([MODEL, "{tmp}/absent.txt"], "{tmp}/absent.txt: cannot read the text: No such file"),
        ([MODEL, "{tmp}"], "{tmp}: not a regular file, and the text is read twice"),
        ([MODEL, "{tmp}/latin1.txt"], "{tmp}/latin1.txt: byte 0xE9 at offset 3 is not UTF-8; convert the file first"),
        ([MODEL, "{tmp}/empty.txt"], "{tmp}/empty.txt: nothing to measure"),
    ],
)
def test_errors_take_one_line(arguments, message, tmp_path):
    (tmp_path / "latin1.txt").write_bytes(b"caf\xe9")
    (tmp_path / "empty.txt").write_bytes(b"")
    result = run(*(argument.replace("{tmp}", str(tmp_path)) for argument in arguments))
    assert result.exit_code == 2
    assert message.replace("{tmp}", str(tmp_path)) in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.output


@pytest.mark.slow
def test_the_page_shows_what_the_command_prints(vocabs, monkeypatch):
    page = (ROOT / "docs" / "stats.md").read_text(encoding="utf-8")
    example = page.partition("    $ tokverify inspect gpt-2.gguf")[2].partition("\n\nThe last line")[0]
    monkeypatch.chdir(vocabs)
    printed = {line.strip() for line in run("gpt-2.gguf", "-m", "gemma-3.gguf").stdout.split("\n")}
    shown = [line.strip() for line in example.split("\n")[1:]]
    assert len(shown) > 20
    assert [line for line in shown if line not in printed | {"..."}] == []
