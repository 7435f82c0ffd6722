"""Test several reports at once, saved reports, differences between reports, and baselines."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from support.paths import ROOT
from support.selection import thinned
from tokverify.commands.cli import main
from tokverify.render.kinds import FORMATS

SAMPLE = ROOT / "tokverify" / "sample"
MODEL, BROKEN, REFERENCE = (
    str(SAMPLE / name) for name in ("sample.gguf", "sample-broken.gguf", "sample.tokenizer.model")
)
FEW = ["-k", "tabs/only-*"]
GOOD_RUN = ["run", MODEL, "-r", REFERENCE, *FEW]
DIAGNOSED = ["run", BROKEN, "-r", REFERENCE, *FEW]
BAD_RUN = [*DIAGNOSED, "--no-diagnose"]


def run(*arguments: str | Path, **variables: str) -> Result:
    return CliRunner(env=variables).invoke(main, list(map(str, arguments)))


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("saved")
    assert run(*GOOD_RUN, "-o", directory / "good.json").exit_code == 0
    assert run(*DIAGNOSED, "-o", directory / "bad.json").exit_code == 1
    assert run("audit", BROKEN, "-r", REFERENCE, "-o", directory / "audit.json").exit_code == 1
    assert run("fuzz", MODEL, "-r", REFERENCE, "--texts", "10", "-o", directory / "fuzz.json").exit_code == 0
    (directory / "half.json").write_text('{"kind": "run", ')
    return directory


# Several at once


@pytest.mark.process  # takes seconds
def test_several_reports_of_one_run(tmp_path: Path):
    files = {name: tmp_path / f"report.{name}" for name in FORMATS["run"]}
    wanted = [argument for name, path in files.items() for argument in ("--report", f"{name}={path}")]
    result = run(*BAD_RUN, *wanted)
    assert result.exit_code == 1
    assert "MISMATCH tabs/only-3" in result.stdout
    assert result.stderr.startswith("the reports are in ")
    for name, path in files.items():
        assert path.read_bytes() == run(*BAD_RUN, "-f", name).stdout_bytes, name
    assert len(list(tmp_path.iterdir())) == len(files)


@pytest.mark.parametrize("command", [["audit", BROKEN], ["fuzz", MODEL, "-r", REFERENCE, "--texts", "10"]])
def test_other_commands_write_several_reports_too(tmp_path: Path, command: list[str]):
    result = run(*command, "--report", f"json={tmp_path / 'a.json'}", "--report", f"table={tmp_path / 'a.txt'}")
    assert json.loads((tmp_path / "a.json").read_text())["kind"] == command[0]
    assert (tmp_path / "a.txt").read_text() == result.stdout


def test_a_dash_is_stdout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert run(*GOOD_RUN, "-o", "-").stdout == run(*GOOD_RUN).stdout
    assert json.loads(run(*GOOD_RUN, "-f", "json", "-o", "-").stdout)["kind"] == "run"
    assert list(tmp_path.iterdir()) == []


def test_a_report_on_stdout_is_the_only_thing_there():
    result = run(*GOOD_RUN, "--report", "json=-")
    assert json.loads(result.stdout)["kind"] == "run"
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("name", "begins"),
    [("x.json", "{"), ("x.md", "## "), ("x.xml", "<?xml"), ("x.SARIF", '{\n  "$schema"'), ("x.txt", "actual ")],
)
def test_a_name_implies_a_format(tmp_path: Path, name: str, begins: str):
    run(*GOOD_RUN, "-o", tmp_path / name)
    assert (tmp_path / name).read_text().startswith(begins)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--report", "junit"], "'junit' does not name a file; write junit=FILE"),
        (["--report", "junit="], "does not name a file"),
        (["--report", "xml=x"], "'xml' is not a format; write FORMAT=FILE, where FORMAT is one of table, json"),
        (["--report", "json=-", "--report", "junit=-"], "two reports go to stdout"),
        (["-f", "json", "--report", "junit=-"], "two reports go to stdout"),
        (["-o", "-", "--report", "junit=-"], "two reports go to stdout"),
        (["-o", "{tmp}/x", "--report", "junit={tmp}/./x"], "two reports go to {tmp}/x"),
        (["--baseline", "{tmp}/b", "--accept", "-o", "{tmp}/b"], "two reports go to {tmp}/b"),
        (["--report", "junit={tmp}"], "it is a directory"),
        (["--report", "junit={tmp}/missing/x"], "create it first"),
        (["--report", f"junit={MODEL}"], "it is an input"),
        (["--reason", "x"], "--reason requires --accept"),
        (["--baseline", "{tmp}/b", "--accept", "--reason", " "], "must be a non-empty line"),
        (["--baseline", "{tmp}/b", "--accept", "--reason", "a\nb"], "must be a non-empty line"),
        (["--baseline", "{tmp}/b", "--accept", "--fail-fast"], "remove --maxfail, --fail-fast or --lf"),
        (["--baseline", "{tmp}/absent/b", "--accept"], "create it first"),
        (["--baseline", "{tmp}/absent.yaml"], "cannot read the known failures"),
    ],
)
def test_an_unwritable_output_is_an_error_before_any_work(tmp_path: Path, arguments: list[str], message: str):
    result = run(*GOOD_RUN, *(argument.replace("{tmp}", str(tmp_path)) for argument in arguments))
    assert result.exit_code == 2, result.output
    assert message.replace("{tmp}", str(tmp_path)) in " ".join(result.stderr.split())
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_github_gets_a_summary_of_each_run_of_a_step(tmp_path: Path):
    path = tmp_path / "summary.md"
    result = run(*BAD_RUN, "-f", "github", GITHUB_STEP_SUMMARY=str(path))
    assert "\n::error file=cases/tabs.yaml,line=" in result.stdout
    first = path.read_text()
    assert first == run(*BAD_RUN, "-f", "markdown").stdout
    assert run("audit", BROKEN, "--report", "github=-", GITHUB_STEP_SUMMARY=str(path)).exit_code == 1
    assert path.read_text().startswith(first)
    assert "tokverify audit" in path.read_text()[len(first) :]
    run(*BAD_RUN, "-f", "json", GITHUB_STEP_SUMMARY=str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("command", "title"),
    [
        (["fuzz", BROKEN, "-r", REFERENCE, "--texts", "300", "--no-replay"], "## ❌ tokverify fuzz: sample-broken"),
        (["diff", MODEL, BROKEN, "-k", "seed/*"], "## ❌ "),
    ],
    ids=["fuzz", "diff"],
)
def test_github_gets_a_summary_of_audits_and_diffs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], title: str
):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "summary.md"
    result = run(*command, "-f", "github", GITHUB_STEP_SUMMARY=str(path))
    assert (result.exit_code, result.stdout.startswith(f"::error file={BROKEN},line=1,title=")) == (1, True)
    assert path.read_text().startswith(title)
    assert path.read_text() == run(*command, "-f", "markdown").stdout


def test_annotations_point_at_lines_relative_to_the_repository_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "tokenizers" / ".git").mkdir(parents=True)
    below = tmp_path / "tokenizers" / "gemma"
    below.mkdir()
    (below / "ours.yaml").write_text("cases:\n  - id: tabs\n    text: '\t\t\tx'\n".replace("'", '"'))
    monkeypatch.chdir(below)
    command = ["run", BROKEN, "-r", REFERENCE, "--cases", "ours.yaml"]
    assert "::error file=gemma/ours.yaml,line=2,title=" in run(*command, "-f", "github").stdout
    assert run(*command, "--report", f"gitlab={below / 'quality.json'}").exit_code == 1
    assert "gemma/ours.yaml" in {
        entry["location"]["path"] for entry in json.loads((below / "quality.json").read_text())
    }


# Saved reports


@pytest.mark.parametrize("name", thinned(4, FORMATS["run"]))  # a codec's tests compare every format
def test_a_saved_run_is_rendered_like_the_original(saved: Path, name: str):
    shown = run("report", "show", saved / "bad.json", "-f", name)
    assert shown.exit_code == 1
    assert shown.stdout == run(*DIAGNOSED, "-f", name).stdout


@pytest.mark.parametrize(
    "command",
    [
        ["fuzz", BROKEN, "-r", REFERENCE, "--texts", "500"],
        ["diff", MODEL, BROKEN, "-k", "tabs/*", "--lines", str(ROOT / "README.md")],
        ["diff", MODEL, BROKEN, "-k", "seed/*", "--fuzz", "0.2s"],
    ],
    ids=["fuzz", "diff", "diff with fuzz"],
)
def test_saved_fuzz_and_diff_reports_are_rendered_like_the_originals(tmp_path: Path, command: list[str]):
    # One run writes all formats, since another run would not generate the same texts in the same time.
    files = {name: tmp_path / f"first.{name}" for name in FORMATS["run"]}
    written = run(*command, *(argument for name, path in files.items() for argument in ("--report", f"{name}={path}")))
    assert written.exit_code == 1
    for name, path in files.items():
        shown = run("report", "show", files["json"], "-f", name)
        assert shown.exit_code == 1
        assert shown.stdout_bytes == path.read_bytes(), name


def test_a_saved_interrupted_run_keeps_its_exit_code(saved: Path, tmp_path: Path):
    path = tmp_path / "interrupted.json"
    path.write_text((saved / "fuzz.json").read_text().replace('"stop": "count"', '"stop": "interrupted"'))
    shown = run("report", "show", path)
    assert shown.exit_code == 130
    assert "until interrupted" in shown.stdout
    assert shown.stdout.endswith("; interrupted\n")


@pytest.mark.parametrize("name", FORMATS["audit"])
def test_a_saved_audit_is_rendered_like_the_original(saved: Path, name: str):
    shown = run("report", "show", saved / "audit.json", "-f", name)
    assert shown.exit_code == 1
    assert shown.stdout == run("audit", BROKEN, "-r", REFERENCE, "-f", name).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "{saved}/absent.json"], "cannot read the report: No such file or directory"),
        (["show", "{saved}/half.json"], "not a JSON report"),
        (
            ["diff", "{saved}/fuzz.json", "{saved}/good.json"],
            "is a report of `tokverify fuzz`; give one of `tokverify r",
        ),
        (["show", "{saved}/good.json", "-o", "{saved}/good.json"], "it is an input"),
        (["diff", "{saved}/good.json", "{saved}/audit.json"], "is a report of `tokverify audit`"),
        (["show", MODEL], "not a JSON report"),
    ],
)
def test_a_file_that_is_not_a_report_is_an_error(saved: Path, arguments: list[str], message: str):
    result = run("report", *(argument.replace("{saved}", str(saved)) for argument in arguments))
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_a_baseline_applies_to_a_saved_report(saved: Path, tmp_path: Path):
    show, path = ["report", "show", saved / "bad.json"], tmp_path / "known.yaml"
    update = [*show, "-q", "--baseline", path, "--accept"]
    unreasoned = run(*update)
    assert (unreasoned.exit_code, path.exists()) == (2, False)
    assert "say why with --reason" in unreasoned.stderr
    assert run(*update, "--reason", "soon").exit_code == 0
    assert run(*show, "--baseline", path, "-f", "table").stdout == run(*BAD_RUN, "--baseline", path).stdout

    judged = tmp_path / "judged.json"
    assert run(*show, "--baseline", path, "-o", judged).exit_code == 0
    assert run("report", "show", judged).exit_code == 0
    path.write_text(path.read_text() + "  expires: 2020-01-31\n")
    again = run("report", "show", judged, "--baseline", path)
    assert again.exit_code == 1
    assert "which has expired (reason: soon)" in " ".join(again.stdout.split())
    # The last entry accepts a difference between the tokenizers.
    assert "5 known; 1 failing difference between the tokenizers" in again.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["audit.json", "--baseline", "{known}"], "is a report of `tokverify audit`; give one of `tokverify run`"),
        (["bad.json", "--accept"], "--accept requires --baseline"),
        (["bad.json", "--baseline", "{saved}/absent.yaml"], "cannot read the known failures"),
        (["bad.json", "--baseline", "{known}", "-o", "{known}"], "it is an input"),
    ],
)
def test_baseline_options_that_do_not_fit_are_errors(saved: Path, tmp_path: Path, arguments: list[str], message: str):
    known = tmp_path / "known.yaml"
    known.write_text("[]\n")
    file, *rest = (word.replace("{saved}", str(saved)).replace("{known}", str(known)) for word in arguments)
    result = run("report", "show", saved / file, *rest)
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.stderr.split())
    assert known.read_text() == "[]\n"


def test_report_diff_lists_what_changed_between_two_runs(saved: Path, tmp_path: Path):
    result = run("report", "diff", saved / "good.json", saved / "bad.json")
    assert result.exit_code == 1
    assert "FAILED: PASSED BEFORE, FAIL NOW\n    tabs/only-3\n" in result.stdout
    result = run("report", "diff", saved / "bad.json", saved / "good.json", "-o", tmp_path / "diff.json")
    assert (result.exit_code, result.stdout) == (0, "")
    assert json.loads((tmp_path / "diff.json").read_text())["summary"]["fixed"] > 0
    assert "; the report is in" in result.stderr


# Baselines


@pytest.mark.parametrize("name", thinned(2, ["known.yaml", "known.json"]))
def test_the_life_of_a_baseline(tmp_path: Path, name: str):
    path = tmp_path / name
    update = [*BAD_RUN, "-q", "--baseline", path, "--accept"]
    refused = run(*update)
    assert (refused.exit_code, path.exists()) == (2, False)
    assert "say why with --reason" in refused.stderr

    accepted = run(*update, "--reason", "waits for #7")
    assert accepted.exit_code == 0
    assert " known" in accepted.stdout
    first = path.read_text()
    # Both causes: of the cases, and of the types.
    assert first.count("waits for #7") == 2 < first.count("tabs/only-")

    assert run(*BAD_RUN, "--baseline", path).exit_code == 0
    assert run(*update).exit_code == 0
    assert path.read_text() == first

    fixed = run("run", BROKEN, "-r", "rebuilt", *FEW, "--baseline", path, "--fail-on", "none")
    assert fixed.exit_code == 0, fixed.output
    assert "FIXED match now" in fixed.stdout

    path.write_text(first.replace("tabs/only-31", "tabs/only-30"))
    assert run(*BAD_RUN, "--baseline", path).exit_code == 1


def test_an_expired_entry_fails_again(tmp_path: Path):
    path = tmp_path / "known.yaml"
    assert run(*BAD_RUN, "--baseline", path, "--accept", "--reason", "soon").exit_code == 0
    path.write_text(path.read_text().replace("reason: soon", "reason: soon\n  expires: 2020-01-31"))
    result = run(*BAD_RUN, "--baseline", path)
    assert result.exit_code == 1
    assert f"accepted until 2020-01-31 by {path}:" in " ".join(result.stdout.split())
    assert "which has expired (reason: soon)" in " ".join(result.stdout.split())
    assert run(*BAD_RUN, "--baseline", path, "--accept", "--reason", "again").exit_code == 1


def test_known_failures_neither_stop_a_run_nor_are_diagnosed(tmp_path: Path):
    path = tmp_path / "known.yaml"
    assert run(*BAD_RUN, "--baseline", path, "--accept", "--reason", "soon").exit_code == 0
    report = json.loads(run(*BAD_RUN, "--baseline", path, "--fail-fast", "-f", "json").stdout)
    assert not report["summary"]["stopped_early"]
    assert report["diagnosis"] is None
    assert report["summary"]["known"] > 1
    assert report["options"]["baseline"] == str(path)


@pytest.mark.process  # takes seconds
@pytest.mark.parametrize("jobs", thinned(2, ["2", "1"]))
def test_models_that_share_a_baseline_keep_each_others_updates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: str
):
    (tmp_path / "tokverify.toml").write_text("")
    for name in ("one", "two"):
        (tmp_path / f"{name}.gguf").write_bytes(Path(BROKEN).read_bytes())
        with (tmp_path / "tokverify.toml").open("a") as file:
            file.write(f'[[models]]\nmodel = "{name}.gguf"\nreference = "{REFERENCE}"\nbaseline = "known.yaml"\n')
    monkeypatch.chdir(tmp_path)
    few = [*FEW, "--allow-outside"]
    assert run("run", *few, "-j", jobs, "--accept", "--reason", "soon").exit_code == 0
    text = (tmp_path / "known.yaml").read_text()
    assert text.count("model: one") == text.count("model: two") == 2
    assert run("run", *few, "-j", jobs).exit_code == 0


def block(page: str, language: str) -> str:
    """Return the first block of a page in a language."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[0]


def test_the_documentation_shows_the_real_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    model, reference = "tokverify/sample/sample-broken.gguf", "tokverify/sample/sample.tokenizer.model"
    only = ["run", model, "-r", reference, "-k", "tabs/only-[3]"]
    junit = run(*only, "-f", "junit").stdout
    assert all(line.strip() in junit for line in block("ci-formats.md", "xml").splitlines())
    annotation = block("ci-formats.md", "text").strip()
    assert annotation.removesuffix("...") in run(*only, "-f", "github").stdout

    path = tmp_path / "known.yaml"
    run(*only, "--baseline", path, "--accept", "--reason", "waits for a new conversion, issue 12")
    assert block("baseline.md", "yaml").startswith(path.read_text())

    monkeypatch.chdir(ROOT / "tokverify" / "sample")
    two = ["-r", "sample.tokenizer.model", "-k", "tabs/only-[13]"]
    run("run", "sample-broken.gguf", *two, "-o", tmp_path / "new.json")
    run("run", "sample.gguf", *two, "-o", tmp_path / "old.json")
    shown = run("report", "diff", tmp_path / "old.json", tmp_path / "new.json").stdout
    assert shown == block("report.md", "console").partition("$ tokverify report diff old.json new.json\n")[2]
