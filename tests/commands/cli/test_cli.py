"""Test the whole command line with one table: arguments, exit code, fragments of stdout and stderr."""

import json
import re
from contextlib import chdir
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from support.paths import SAMPLE
from tokverify import __version__
from tokverify.commands.cli import main
from tokverify.compare.checks import RULES

TV2 = sum(code.startswith("TV2") for code in RULES)
MODEL, BROKEN, REFERENCE = (
    str(SAMPLE / name) for name in ("sample.gguf", "sample-broken.gguf", "sample.tokenizer.model")
)

BAD_SUITE = "cases:\n- id: a\n  text: 1\n- id: a\n  text: b\n"

# Arguments, exit code, fragments of stdout, fragments of stderr; {tmp} is a directory with the files created below.
TABLE = [
    (["--help"], 0, ["Verify:", "run", "demo", "cases", "Exit codes"], []),
    (["--version"], 0, [__version__], []),
    ([], 2, [], ["Usage:"]),
    (["nonsense"], 2, [], ["No such command"]),
    (["rnu", MODEL], 2, [], ["No such command 'rnu'. Did you mean 'run'?"]),
    (["verify", MODEL], 2, [], ["No such command 'verify'. Did you mean 'run'?"]),
    (["verfiy", MODEL], 2, [], ["Did you mean 'run'?"]),
    (["compare", MODEL], 2, [], ["Did you mean 'diff'?"]),
    (["test", MODEL], 2, [], ["Did you mean 'check'?"]),
    (["help"], 2, [], ["Did you mean '--help'?"]),
    (["model.GGUF"], 2, [], ["No such command 'model.GGUF'. To verify this file, write `tokverify run model.GGUF`."]),
    (["run", MODEL, REFERENCE], 2, [], ["only one MODEL is allowed", "name a reference with -r"]),
    (["fuzz", MODEL, REFERENCE], 2, [], ["only one MODEL is allowed", "name a reference with -r"]),
    (["run"], 2, [], ["name a MODEL"]),
    (["run", MODEL, "--suite", "seed"], 0, ["is beside the model", "16 cases: 16 match"], []),
    (["run", MODEL, "-r", REFERENCE, "-q", "-k", "seed/hello*"], 0, ["case"], []),
    (["run", MODEL, "-r", "rebuilt", "-q", "--suite", "tabs"], 0, ["match"], []),
    (["run", BROKEN, "-r", REFERENCE, "--suite", "seed"], 1, ["MISMATCH seed/extra-spaces", "≠", "·"], []),
    (
        ["run", BROKEN, "-r", REFERENCE, "--suite", "tabs", "--maxfail", "3"],
        1,
        ["3 mismatch", "early, the rest was not run"],
        [],
    ),
    (
        ["run", BROKEN, "-r", REFERENCE, "--suite", "seed", "--fail-fast"],
        1,
        ["1 failing", "early, the rest was not run"],
        [],
    ),
    (["check", MODEL, "--only", "audit"], 0, ["OUTCOME", "passes"], []),
    (["run", MODEL, "-v", "-k", "extra-spaces"], 0, ["algorithm = spm", "word···with"], []),
    (["run", MODEL, "-f", "json", "-k", "extra-spaces"], 0, ['"schema_version": 7'], []),
    (["run", MODEL, "-f", "xml"], 2, [], ["'table', 'json'"]),
    (["report", "show", "{tmp}/bad.json"], 2, [], ["error: {tmp}/bad.json: ", "tokverify report"]),
    (
        ["run", MODEL, "-o", "{tmp}/out.json", "-k", "extra-spaces"],
        0,
        [],
        ["1 case: 1 match", "; the report is in"],
    ),
    (["run", MODEL, "-o", "{tmp}/out.txt", "-k", "extra-spaces", "-q"], 0, [], []),
    (["run", MODEL, "-o", "{tmp}/missing/out.json"], 2, [], ["create it first"]),
    (["run", MODEL, "-o", "{tmp}"], 2, [], ["it is a directory"]),
    (["run", MODEL, "--tag", "no-such-tag"], 2, [], ["error: no case selected"]),
    (["run", MODEL, "--cases", "{tmp}/bad.yaml"], 2, [], ["bad.yaml:3: ", "bad.yaml:4: "]),
    (["run", MODEL, "--cases", "{tmp}/good.yaml"], 0, ["1 case: 1 match"], []),
    (["run", MODEL, "--cases", "{tmp}/good.yaml", "--cases", "{tmp}/surrogate.yaml"], 2, [], ["surrogate.yaml:2: "]),
    (["run", MODEL, "--revision", "main"], 2, [], ["--revision requires a hub id"]),
    (["run", MODEL, "-r", REFERENCE, "--revision", "main"], 2, [], ["--revision requires a hub id"]),
    (["run", MODEL, "-r", "{tmp}/bad.json"], 2, [], ["error: {tmp}/bad.json"]),
    (["run", MODEL, "-k", "tabs or emoji"], 2, [], ["no id matches 'tabs or emoji'", "expressions", "repeat -k"]),
    (["encode", "some text", MODEL], 2, [], ["MODEL comes before TEXT", "swap the two"]),
    (["explain", "some text", MODEL], 2, [], ["MODEL comes before TEXT"]),
    (
        ["run", MODEL, "-r", REFERENCE, "--cases", MODEL],
        2,
        [],
        ["not text; it looks like a GGUF file; name"],
    ),
    (["run", MODEL.replace("sample.gguf", "smaple.gguf")], 2, [], ["no such file; did you mean '", "/sample.gguf'?"]),
    (
        ["run", MODEL, "-r", REFERENCE.replace("sample.tok", "smaple.tok")],
        2,
        [],
        ["smaple.tokenizer.model: no such file; did you mean '", "/sample.tokenizer.model'?"],
    ),
    (["run", MODEL, "-r", "{tmp}/absent.json"], 2, [], ["absent.json: no such file; "]),
    (["run", "{tmp}/absent.gguf"], 2, [], ["error: {tmp}/absent.gguf: no such file"]),
    (["run", "{tmp}"], 2, [], ["error: {tmp}/empty.gguf: the file is empty"]),
    (["run", ""], 2, [], ["the name is empty"]),
    (["run", MODEL, "--cases", ""], 2, [], ["'--cases': the name is empty"]),
    (["run", "{tmp}/empty.gguf"], 2, [], ["error: {tmp}/empty.gguf"]),
    (["run", "{tmp}/bad.yaml"], 2, [], ["{tmp}/bad.yaml is a suite of cases and not a MODEL; name it with --cases"]),
    (["run", MODEL, "--no-reference"], 0, [f"{len(RULES)} rules: ", "; nothing was compared with a reference\n"], []),
    (["run", BROKEN, "--no-reference"], 1, ["ERROR TV120"], []),
    (["run", BROKEN, "--no-reference", "--ignore", "TV120", "-q"], 0, ["; nothing was compared with a reference"], []),
    (["run", MODEL, "--no-reference", "-r", REFERENCE], 2, [], ["use either -r or --no-reference"]),
    (["run", MODEL, "--no-reference", "--cases", "shipped"], 2, [], ["--cases has no effect with --no-reference"]),
    (
        ["run", MODEL, "--no-reference", "-f", "junit"],
        0,
        ['<testsuite name="audit"', "TV101 missing-pre-tokenizer"],
        [],
    ),
    (["run", BROKEN, "-r", REFERENCE, "--select", "TV2", "-q"], 1, [f"{TV2} rules: 1 error"], []),
    (["run", MODEL, "--ignore", "TV120"], 2, [], ["--ignore needs --no-reference or --select"]),
    (["run", "--explain", "TV101"], 0, ["missing-pre-tokenizer"], []),
    (["run", MODEL, "--streaming", "--suite", "seed"], 0, ["16 texts streamed, 0 fail"], []),
    (["run", MODEL, "--streaming", "--no-reference"], 2, [], ["use either --no-reference or --select, or --streaming"]),
    (["run", MODEL, "--no-resume"], 2, [], ["--resume/--no-resume needs --streaming"]),
    (
        ["run", MODEL, "-r", REFERENCE, "-r", "rebuilt", "--suite", "seed"],
        0,
        ["the same ids with 2 of 2 references"],
        [],
    ),
    (
        ["run", BROKEN, "-r", REFERENCE, "-r", "rebuilt", "-r", "{tmp}/absent.json", "--suite", "seed"],
        2,
        ["the same ids with 1 of 3 references;", "sample.tokenizer.model differs; ", "absent.json"],
        [],
    ),
    (["run", MODEL, "-r", REFERENCE, "-r", "rebuilt", "--lf"], 2, [], ["has no effect with several references"]),
    (["run", MODEL, "-r", REFERENCE, "-r", "env:tokenizers==1"], 2, [], ["only a tokenizer.json and transformers:"]),
    (["run", MODEL, "-r", REFERENCE, "--judge", "model", "--texts", "9", "--fail-on", "none", "-q"], 0, ["match"], []),
    (["run", MODEL, "--judge", "model"], 2, [], ["--judge model tests an engine; name it with -r"]),
    (["run", MODEL, "--texts", "9"], 2, [], ["--texts needs --judge model"]),
    (["fuzz", MODEL, "-r", REFERENCE, "--generator", "digits", "--texts", "300"], 0, ["nothing found"], []),
    (
        ["corpus", MODEL, "-r", REFERENCE, "{tmp}/absent.parquet"],
        2,
        [],
        ["absent.parquet: cannot be read: No such file"],
    ),
    (["view", "missing.gguf"], 2, [], ["missing.gguf: "]),
    (["explain", MODEL, "word   with"], 0, ["added tokens: 1 match", "preferred to"], []),
    (["encode", MODEL, "the    word"], 0, ["····", "tokens"], []),
    (["encode", MODEL, "the    word", "--count"], 0, ["\n"], []),
    (["encode", MODEL, "--", "--json"], 0, ["tokens"], []),
    (["encode", MODEL, "->"], 2, [], ["No such option", "if this is the text, write -- before it"]),
    (["explain", MODEL, "--", "->"], 0, ["2 characters"], []),
    (["encode", MODEL, "[/INST] [red]\x1b"], 0, ["\\x1b"], []),
    (["encode", MODEL, ""], 0, ["0 tokens"], []),
    (["encode", MODEL, "<bos>a", "--add-special"], 0, ["<bos>"], ["warning: ", "BOS"]),
    (["encode", MODEL, "<bos>a", "--no-parse-special"], 0, ["tokens"], []),
    (["encode", MODEL, "--file", "{tmp}/crlf.txt", "--json"], 0, ['"\\n"', "<0x0D>"], []),
    (["encode", MODEL, "--file", "{tmp}/latin1.txt"], 0, ["<0xE9>"], ["warning: ", "byte 0xE9 at offset 3"]),
    (["encode", MODEL, "the word "], 0, ["the"], ["warning: the text ends in a space"]),
    (["explain", MODEL, "--file", "{tmp}/latin1.txt"], 0, ["caf\\xe9", "byte by byte: <0xE9>"], []),
    (["explain", MODEL, "--file", "{tmp}/latin1.txt", "-r", "rebuilt"], 2, [], ["byte 0xE9 at offset 3", "omit -r"]),
    (["encode", MODEL, "a", "--bos", "--eos"], 0, ["<bos>", "<eos>", "3 tokens"], []),
    (["encode", MODEL, "a", "--bos", "--add-special"], 0, ["2 tokens"], []),
    (["decode", MODEL, "--stop-at-eos", "1733", "1", "5"], 0, ["w\n"], []),
    (["encode", MODEL, "--file", "{tmp}/absent.txt"], 2, [], ["cannot read the text"]),
    (["encode", MODEL, "a", "--file", "{tmp}/crlf.txt"], 2, [], ["not both"]),
    (["encode", MODEL, "a\udcff"], 0, ["<0xFF>"], ["byte 0xFF at offset 1"]),
    (["decode", MODEL, "5", "1733"], 0, ["···w\n"], []),
    (["decode", MODEL, "[5, 1733]"], 0, ["···w\n"], []),
    (["decode", MODEL, "5", "--raw"], 0, ["   "], []),
    (["decode", MODEL, "5", "--json"], 0, ['"bytes": "202020"'], []),
    (["decode", MODEL, "5", "--json", "--raw"], 2, [], ["not both"]),
    (["decode", MODEL, "five"], 2, [], ["error: 'five' is not a token id"]),
    (["decode", MODEL, "2000"], 2, [], ["error: id 2000"]),
    (["decode", MODEL, "9" * 5000], 2, [], ["is not a token id"]),
    (["cases", "list", "--suite", "tabs"], 0, ["tabs/only-3", "→→→", "in 1 suite"], []),
    (["cases", "list", "{tmp}/good.yaml", "--json"], 0, ['"text": "a"'], []),
    (["cases", "list", "-k", "no-such-*"], 2, [], ["error: no case selected"]),
    (["cases", "check"], 0, ["no errors"], []),
    (["cases", "check", "{tmp}/good.yaml"], 0, ["hint: ", "1 case in 1 suite: no errors"], []),
    (["cases", "check", "{tmp}/bad.yaml"], 2, [], ["error: ", "bad.yaml:3: ", "bad.yaml:4: "]),
    (["audit", BROKEN], 1, ["ERROR TV120"], ["`tokverify audit` is now `tokverify run MODEL --no-reference`"]),
    (["fix", MODEL, "--dry-run"], 0, ["repair  none needed"], []),
    (["convert", REFERENCE, "-o", "{tmp}/made.gguf", "--texts", "0"], 0, ["written; it gives the same ids"], []),
    (["stream", MODEL, "--suite", "seed"], 0, ["16 texts streamed, 0 fail"], ["is now `tokverify run MODEL --str"]),
    (["stream", MODEL, "--suite", "none"], 2, [], ["none"]),
    (
        ["versions", MODEL, "-r", REFERENCE, "--env", "tokenizers==1"],
        2,
        [],
        ["only a tokenizer.json and transformers:"],
    ),
    (["learn", "-r", REFERENCE, "-o", "{tmp}/l.gguf", "--texts", "9", "-q"], 0, ["generated texts"], []),
    (["convert", "-r", REFERENCE, "-o", "{tmp}/c.gguf", "--texts", "9"], 0, ["declared", "generated texts"], []),
    (["convert", "-r", REFERENCE, "-o", "{tmp}/c.json"], 2, [], ["c.json will be a GGUF file; end its name in .gguf"]),
    (["convert", "-r", REFERENCE, "-o", "{tmp}/d.gguf", "--strict"], 2, [], ["--strict has no effect with -r"]),
    (["convert", MODEL, "-r", REFERENCE, "-o", "{tmp}/d.gguf"], 2, [], ["IN has no effect with -r"]),
    (["convert", MODEL, "--ids-only", "-o", "{tmp}/d.json"], 2, [], ["--ids-only needs -r"]),
    (["convert", "-o", "{tmp}/d.gguf"], 2, [], ["name the tokenizer file IN, or with -r a reference to learn"]),
    (["learn", "-r", REFERENCE, "-o", "{tmp}/good.yaml"], 2, [], ["good.yaml: already exists", "--force"]),
    (["learn", "-o", "{tmp}/other.gguf"], 2, [], ["Missing option '-r'"]),
    (["convert", MODEL, "-o", "{tmp}/other.gguf"], 2, [], ["is already a GGUF file"]),
    (["inspect", MODEL], 0, ["2,000 tokens"], []),
    (["inspect", MODEL, "-f", "json"], 0, ['"tokens"'], []),
    (["inspect", MODEL, "--json"], 0, ['"tokens"'], []),
    (["inspect", MODEL, "-f", "html"], 2, [], ["-f html needs --texts"]),
    (["inspect", MODEL, "-q"], 2, [], ["--quiet needs --texts"]),
    (["inspect", MODEL, "--texts", "shipped"], 0, ["English", "numbers below 1,000"], []),
    (["inspect", MODEL, "--texts", "{tmp}/crlf.txt", "-r", REFERENCE], 0, ["sample.tokenizer.model"], []),
    (["inspect", MODEL, "--texts", "{tmp}/c*.txt", "-f", "json"], 0, ["crlf.txt"], []),
    (["inspect", MODEL, "--texts", "{tmp}/*.txt"], 2, [], ["latin1.txt: byte 0xE9 at offset 3 is not UTF-8"]),
    (["inspect", MODEL, "--texts", "{tmp}/*.none"], 2, [], ["no file matches"]),
    (["inspect", MODEL, "--texts", "shipped", "--tokens", "5"], 2, [], ["--tokens has no effect with --texts"]),
    (["inspect", MODEL, "--texts", "shipped", "--texts", "{tmp}/crlf.txt"], 2, [], ["use either `shipped` or"]),
    (["chat", MODEL], 2, [], ["the model has no chat template", "with -r, name a reference that has a template"]),
    (["diff", MODEL, f"gguf:{MODEL}", "-k", "seed/*"], 0, ["no part differs", "16 match"], []),
    (["diff", MODEL, MODEL], 2, [], ["sample.gguf: A and B are the same tokenizer, so nothing can differ"]),
    (["init", "{tmp}/absent"], 2, [], ["no such directory"]),
    (["train", "bpe", "{tmp}/absent.txt", "-o", "{tmp}/trained"], 2, [], ["absent.txt"]),
    (["stats", MODEL], 0, ["English", "numbers below 1,000"], ["`tokverify inspect MODEL --texts FILE`"]),
    (["conformance", MODEL, "-r", REFERENCE, "--texts", "9", "--fail-on", "none", "-q"], 0, ["match"], []),
    (["conformance", MODEL, "-r", "command:"], 2, [], ["error: command: there is no program; name one"]),
    (["canonical", "{tmp}/ids.jsonl", MODEL, "-q"], 1, ["2 sequences: 1 deviates (50.00%)"], []),
    (["corpus", "verify", MODEL, "{tmp}/ids.jsonl", "--ids", "auto"], 1, ["segmentation", "1 deviates (50.00%)"], []),
    (["corpus", MODEL, "{tmp}/ids.jsonl", "--ids", "ids", "--examples", "1"], 1, ["1 deviates (50.00%)"], []),
    (["corpus", MODEL, "{tmp}/ids.jsonl", "{tmp}/ids.jsonl", "--ids", "ids"], 2, [], ["--ids reads one log"]),
    (["corpus", MODEL, "{tmp}/ids.jsonl", "--ids", "ids", "-j", "1"], 2, [], ["--jobs has no effect with --ids"]),
    (["corpus", MODEL, "{tmp}/ids.jsonl", "--examples", "1"], 2, [], ["--examples needs --ids"]),
    (
        ["canonical", "{tmp}/ids.jsonl", MODEL, "-r", REFERENCE],
        1,
        ["actual    sentencepiece", "1 deviates (50.00%)"],
        ["`tokverify corpus verify MODEL LOG --ids FIELD`"],
    ),
    (["canonical", "{tmp}/ids.jsonl", MODEL, "-q", "--field", "other"], 2, [], ["ids.jsonl: line 1: 'other' is not a"]),
    (["demo"], 0, ["$ tokverify run", "-o sample-broken-fixed.gguf", "This is correct"], []),
]


@pytest.fixture(scope="module")
def tmp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("cli")
    contents = {
        "empty.gguf": b"",
        "bad.json": b'{"model": 1}',
        "ids.jsonl": b'{"ids": [1142]}\n{"ids": [1716, 1723, 1715]}\n',
        "bad.yaml": BAD_SUITE.encode(),
        "good.yaml": b"cases:\n- {id: a, text: a}\n",
        "surrogate.yaml": b'cases:\n- {id: s, text: "a\\ud800"}\n',
        "crlf.txt": b"a\r\n",
        "latin1.txt": b"caf\xe9",
    }
    for name, content in contents.items():
        (directory / name).write_bytes(content)
    return directory


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(main, arguments, input=stdin)


@pytest.mark.parametrize(
    ("arguments", "code", "out", "err"), TABLE, ids=[" ".join(row[0]).replace(str(SAMPLE), "")[:70] for row in TABLE]
)
def test_command_line(arguments, code, out, err, tmp):
    result = run(*(argument.replace("{tmp}", str(tmp)) for argument in arguments))
    assert result.exit_code == code, result.output
    # Where a line breaks depends on the lengths of the paths.
    joined = " ".join(result.stdout.split())
    assert all(fragment in result.stdout or fragment in joined for fragment in out), result.stdout
    assert all(fragment.replace("{tmp}", str(tmp)) in result.stderr for fragment in err), result.stderr
    assert "Traceback" not in result.output
    if not err:
        assert result.stderr == ""


def test_every_command_of_the_table_exists():
    assert {row[0][0] for row in TABLE if row[0]} >= set(main.list_commands(click.Context(main)))


def test_the_demo_fails_if_the_sample_does_not_behave_as_planned(monkeypatch):
    monkeypatch.setattr("tokverify.commands.tasks.demo._BROKEN_RUN", re.compile(r" {2}"))
    result = run("demo")
    assert result.exit_code == 1
    assert "did not turn out as planned" in result.stdout
    assert "tabs/only-3" in result.stdout


def test_stdin_is_read_unchanged():
    ids = json.loads(run("encode", MODEL, "--json", stdin=b" a\r\n\xf0\x9f\xa6\x99 ").stdout)["ids"]
    decoded = run("decode", MODEL, "--raw", stdin=json.dumps(ids).encode())
    assert decoded.stdout_bytes == b" a\r\n\xf0\x9f\xa6\x99 "


@pytest.mark.process  # takes seconds
def test_two_runs_give_the_same_report():
    first, second = (run("run", BROKEN, "-r", REFERENCE, "-f", "json").stdout for _ in range(2))
    assert first == second
    assert json.loads(first)["summary"]["mismatch"] > 0


def test_a_report_records_its_provenance():
    report = json.loads(run("run", MODEL, "-f", "json", "-k", "extra-spaces").stdout)
    assert report["options"]["patterns"] == ["extra-spaces"]
    assert {"tokverify", "python", "tokenizers"} <= set(report["versions"])
    assert len(report["actual"]["fingerprint"]) == len(report["actual"]["sha256"]) == 64
    assert len(report["expected"]["sha256"]) == 64


def test_a_report_file_equals_stdout(tmp_path):
    path = tmp_path / "report.json"
    assert run("run", MODEL, "--suite", "seed", "-o", str(path)).exit_code == 0
    assert path.read_text() == run("run", MODEL, "--suite", "seed", "-f", "json").stdout


def test_a_failed_run_leaves_the_old_report(tmp_path):
    path = tmp_path / "report.json"
    path.write_text("old")
    assert run("run", str(tmp_path / "absent.gguf"), "-o", str(path)).exit_code == 2
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_help_lists_each_command_on_one_line_by_task():
    shown = CliRunner().invoke(main, ["--help"], terminal_width=80).stdout
    sections = dict(re.findall(r"^([A-Z][\w ]+):\n((?:  .*\n)+)", shown, re.MULTILINE))
    listed = {task: sections[task].splitlines() for task in ("Verify", "Look", "Repair and make", "Set up")}
    assert {task: [line.split()[0] for line in lines] for task, lines in listed.items()} == {
        "Verify": ["run", "check", "diff", "fuzz", "corpus", "chat"],
        "Look": ["explain", "inspect", "view"],
        "Repair and make": ["fix", "convert", "train"],
        "Set up": ["init", "cases", "report", "demo"],
    }
    for line in [line for lines in listed.values() for line in lines]:
        assert line.endswith("."), line
        assert not line.endswith("..."), line


def test_the_help_of_run_lists_every_option_once():
    shown = run("run", "--help").stdout
    command = main.get_command(click.Context(main), "run")
    listed = re.findall(r"^  (?:-\w, )?(--[\w-]+|-k)", shown, re.MULTILINE)
    names = [
        next((name for name in option.opts if name.startswith("--")), option.opts[0])
        for option in command.params[1:]
        if not getattr(option, "hidden", False)
    ]
    assert sorted(listed) == sorted([*names, "--help"])
    assert all(f"\n{heading}:\n" in shown for heading in ("Options", "Cases", "What fails", "Output"))


def test_a_repaired_copy_is_written_beside_the_model_by_default(tmp_path):
    model = tmp_path / "own.gguf"
    model.write_bytes(Path(BROKEN).read_bytes())
    result = run("fix", str(model), "-r", REFERENCE, "-q")
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own-fixed.gguf", "own.gguf"]
    assert run("run", str(tmp_path / "own-fixed.gguf"), "-r", REFERENCE, "-q").exit_code == 0


def test_a_quiet_command_writes_whole_reports(tmp_path):
    paths = [tmp_path / "quiet.md", tmp_path / "whole.md"]
    arguments = ["run", BROKEN, "-r", REFERENCE, "--suite", "seed"]
    quiet = run(*arguments, "-q", "--report", f"markdown={paths[0]}")
    whole = run(*arguments, "--report", f"markdown={paths[1]}")
    assert len(quiet.stdout.splitlines()) < len(whole.stdout.splitlines())
    assert paths[0].read_text() == paths[1].read_text()


def test_each_suite_is_read_once(monkeypatch, tmp):
    from tokverify.cases import suite

    read, original = [], suite.read_suite
    monkeypatch.setattr(suite, "read_suite", lambda path, *rest: read.append(path) or original(path, *rest))
    assert run("cases", "check", str(tmp / "good.yaml")).exit_code == 0
    assert len(read) == 1


def test_the_demo_shows_what_its_commands_print():
    demo = run("demo")
    for options in (["-q"], ["-k", "seed/extra-spaces", "-k", "tabs/before-word-3"]):
        with chdir(SAMPLE):
            printed = run("run", "sample-broken.gguf", "-r", "sample.tokenizer.json", *options)
        assert printed.stdout in demo.stdout
