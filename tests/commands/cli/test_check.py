"""Test `tokverify check`: one verdict and one report for everything that is configured."""

import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from support.paths import SAMPLE
from support.selection import thinned
from tokverify.commands.cli import main
from tokverify.commands.project.configuration import ACCEPTED
from tokverify.commands.tasks.report import to_json
from tokverify.report.check import CheckReport
from tokverify.report.codec import read
from tokverify.sources.gguf.declaration import read_spec
from tokverify.sources.gguf.writer import write_gguf

pytestmark = pytest.mark.usefixtures("renders_in_one_child")

FEW = ["--cases", "own.yaml"]
SPACES = ["--cases", "spaces.yaml"]


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("sample.gguf", "sample-broken.gguf", "sample.tokenizer.model"):
        shutil.copy(SAMPLE / name, tmp_path / name)
    Path(tmp_path / "own.yaml").write_text("suite: own\ncases:\n- {id: word, text: test}\n")
    Path(tmp_path / "spaces.yaml").write_text("suite: spaces\ncases:\n- {id: two, text: a  b}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def configure(text: str) -> None:
    Path("tokverify.toml").write_text(text)


def model(name: str, file: str, more: str = "") -> str:
    return (
        f'[[models]]\nname = "{name}"\nmodel = "{file}"\nreference = "sample.tokenizer.model"\n'
        f'cases = ["own.yaml"]\n{more}\n'
    )


def test_a_good_model_passes_and_parts_without_anything_to_check_are_named():
    result = invoke("check", "sample.gguf", *FEW)
    assert result.exit_code == 0, result.output
    assert "neither the model nor its reference has a chat template" in " ".join(result.stdout.split())
    assert result.stdout.endswith("1 model: nothing that was checked fails\n")


def test_a_difference_that_no_case_shows_fails_with_the_parts_that_found_it():
    result = invoke("check", "sample-broken.gguf", "-r", "sample.tokenizer.model", "-q", *FEW)
    assert result.exit_code == 1
    cause, *_, last = result.stdout.splitlines()
    assert cause.startswith("sample-broken: 22 tokens are ordinary tokens in the model")
    assert last == "1 model: 1 fails (sample-broken: run, audit)"


def test_all_configured_models_have_one_report():
    configure(model("good", "sample.gguf") + model("bad", "sample-broken.gguf"))
    result = invoke("check", "-f", "json")
    report = json.loads(result.stdout)
    assert (result.exit_code, report["kind"]) == (1, "check")
    summaries = report["summary"]["models"]
    assert {name: summary["exit_code"] for name, summary in summaries.items()} == {"good": 0, "bad": 1}


def test_a_part_that_cannot_be_performed_is_not_a_pass():
    configure(model("good", "sample.gguf") + model("absent", "absent.gguf"))
    result = invoke("check", "-q")
    cause, verdict = result.stdout.splitlines()
    assert cause.startswith("absent: absent.gguf: ")
    assert (result.exit_code, verdict) == (2, "2 models: 1 could not be checked (absent: run, audit, chat)")


def test_models_that_fail_and_models_that_could_not_be_checked_are_told_apart():
    configure(model("bad", "sample-broken.gguf") + model("absent", "absent.gguf"))
    result = invoke("check", "-q")
    failing = "1 fails (bad: run, audit), 1 could not be checked (absent: run, audit, chat)"
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (2, f"2 models: {failing}")


def test_the_end_of_the_output_names_what_the_audit_found_of_a_file_that_cannot_be_run():
    spec = read_spec("sample.gguf")
    write_gguf("bad.gguf", replace(spec, scores=[*(spec.scores or ()), 0.0]))
    result = invoke("check", "bad.gguf", "-r", "sample.tokenizer.model", "--only", "run", "--only", "audit")
    assert result.exit_code == 2
    end = " ".join(result.stdout.partition("CAUSES")[2].split())
    assert "bad: TV100 refused-file: the file contradicts itself: bad.gguf: tokenizer.ggml.scores: " in end
    assert "tokverify fix bad.gguf -r sample.tokenizer.model -o bad-fixed.gguf" in end
    assert end.endswith("1 model: 1 fails (bad: audit), 1 could not be checked (bad: run)")


def test_the_end_of_the_output_names_what_only_the_audit_finds_and_the_entry_that_has_expired():
    write_gguf("bad.gguf", replace(read_spec("sample.gguf"), chat_template="{% for"))
    Path("known.yaml").write_text("- {code: TV124, reason: waits, expires: 2020-01-01}")
    result = invoke(
        "check",
        "bad.gguf",
        "-r",
        "sample.tokenizer.model",
        *FEW,
        "--only",
        "run",
        "--only",
        "audit",
        "--baseline",
        "known.yaml",
    )
    end = " ".join(result.stdout.partition("CAUSES")[2].split())
    assert "bad: TV124 broken-template: the chat template cannot be read: line 1: " in end
    assert "accepted until 2020-01-01 by known.yaml:1, which has expired (reason: waits)" in end
    assert (result.exit_code, "ACCEPT NOTHING" in result.stdout) == (1, False)
    assert end.endswith("1 model: 1 fails (bad: audit)")


def test_the_last_lines_name_another_chat_template_and_its_repair():
    template = "{% for message in messages %}<s>{{ message.content }}</s>{% endfor %}"
    spec = replace(read_spec("sample.gguf"), chat_template=template.replace("<s>", "<S>"))
    write_gguf("bad.gguf", spec)
    shutil.copy(SAMPLE / "sample.tokenizer.json", "tokenizer.json")
    Path("tokenizer_config.json").write_text(json.dumps({"chat_template": template}))
    result = invoke("check", "bad.gguf", "-r", "tokenizer.json", *FEW, "--only", "run", "--only", "chat")
    assert result.exit_code == 1
    end = " ".join(result.stdout.partition("CAUSES")[2].split())
    assert 'bad: chat drift: writes "<S>" where the reference writes "<s>" repair: ' in end
    assert end.count("tokverify fix bad.gguf -r tokenizer.json -o bad-fixed.gguf") == 1
    assert "1 model: 1 fails (bad: chat); the chat template is not the reference's: `tokverify chat` shows" in end


def write_exchanged() -> None:
    """Write a file with two exchanged tokens, one of which its chat template writes, and its reference."""
    tokens = list(read_spec("sample.gguf").tokens)
    tokens[300], tokens[301] = tokens[301], tokens[300]
    template = f"{{% for message in messages %}}{tokens[300]}{{{{ message.content }}}}{{% endfor %}}"
    write_gguf("bad.gguf", replace(read_spec("sample.gguf"), tokens=tokens, chat_template=template))
    shutil.copy(SAMPLE / "sample.tokenizer.json", "tokenizer.json")
    Path("tokenizer_config.json").write_text(json.dumps({"chat_template": template}))


@pytest.mark.parametrize("reference", ["tokenizer.json", "."])
def test_a_repair_is_shown_once(reference: str):
    write_exchanged()
    result = invoke("check", "bad.gguf", "-r", reference, *FEW)
    causes = " ".join(result.stdout.partition("CAUSES")[2].split())
    assert "bad: ids 300 and 301 are swapped; " in causes
    assert "bad: chat ids: " in causes
    assert causes.count("tokverify fix bad.gguf") == 1


def test_accepting_says_what_was_written_and_accepts_what_chat_finds():
    write_gguf("bad.gguf", replace(read_spec("sample-broken.gguf"), chat_template="{{ messages.absent.field }}"))
    check = ("check", "bad.gguf", "-r", "sample.tokenizer.model", *SPACES)
    result = invoke(*check, "--accept", "--reason", "known")
    assert result.exit_code == 0
    assert result.stderr == "also written: tokverify-accepted.yaml\n"
    assert "- code: chat-failing" in Path("tokverify-accepted.yaml").read_text()
    again = invoke(*check, "-v")
    assert again.exit_code == 0
    assert "accepted  known (tokverify-accepted.yaml:" in again.stdout
    # Another finding of the same kind is new.
    write_gguf("bad.gguf", replace(read_spec("sample-broken.gguf"), chat_template="{{ messages.other.field }}"))
    other = invoke(*check)
    assert other.exit_code == 1
    assert "1 model: 1 fails (bad: chat)" in " ".join(other.stdout.split())
    assert "accepts another finding of this kind, not this one (reason: known)" in " ".join(other.stdout.split())
    # Once the template is right, the entry is removed.
    template = "{% for message in messages %}{{ message.content }}{% endfor %}</s>"
    write_gguf("bad.gguf", replace(read_spec("sample-broken.gguf"), chat_template=template))
    invoke(*check, "--accept", "--reason", "known")
    assert "chat-failing" not in Path("tokverify-accepted.yaml").read_text()


def accept(template: str, *entries: str) -> None:
    """Write a file with this chat template, and a baseline."""
    write_gguf("bad.gguf", replace(read_spec("sample.gguf"), chat_template=template))
    Path("tokverify-accepted.yaml").write_text("".join(f"- {{{entry}}}\n" for entry in entries) or "[]\n")


FAILING = "{{ messages.absent.field }}"
CHAT = ("check", "bad.gguf", "-r", "sample.tokenizer.model", *FEW)


def test_an_expired_entry_about_chat_fails_with_a_note():
    accept(FAILING, "code: chat-failing, reason: old, expires: 2020-01-01")
    result = invoke(*CHAT)
    text = " ".join(result.stdout.split())
    assert result.exit_code == 1
    assert "accepted until 2020-01-01 by tokverify-accepted.yaml:1, which has expired (reason: old)" in text
    assert "ACCEPT NOTHING" not in text


def test_entries_about_what_chat_did_not_look_for_stay():
    template = "{% for message in messages %}{{ message.content }}{% endfor %}</s>"
    accept(template, "code: chat-drift, reason: a", "code: chat-ids, reason: b", "code: chat-failing, reason: c")
    result = invoke("chat", "bad.gguf")
    assert [code in result.stdout for code in ("chat-drift", "chat-ids", "chat-failing")] == [False, False, True]
    invoke(*CHAT, "--accept", "--reason", "new")
    kept = Path("tokverify-accepted.yaml").read_text()
    assert ("chat-drift" in kept, "chat-failing" in kept) == (True, False)


def test_a_superfluous_entry_about_chat_is_reported():
    accept("{% for message in messages %}{{ message.content }}{% endfor %}</s>", "code: chat-failing, reason: c")
    text = " ".join(invoke(*CHAT).stdout.split())
    assert "ENTRIES OF THE BASELINE THAT ACCEPT NOTHING" in text
    assert "1 unused entry" in text


def test_models_share_entries_about_chat():
    for name in ("a", "b"):
        write_gguf(f"{name}.gguf", replace(read_spec("sample.gguf"), chat_template=FAILING if name == "a" else "x"))
    Path("tokverify-accepted.yaml").write_text("- {code: chat-failing, reason: shared}\n")
    check = ("check", "b.gguf", "a.gguf", *FEW)
    invoke(*check, "--accept", "--reason", "x")
    assert invoke(*check).exit_code == 0


def test_accepted_findings_of_chat_are_skipped_tests():
    accept(FAILING, "code: chat-failing, reason: known")
    xml = invoke(*CHAT, "-f", "junit").stdout
    assert re.search(
        r'<skipped [^>]*message="ERROR failing: .* \(accepted: known \(tokverify-accepted.yaml:1\)\)"', xml
    )
    assert "<failure" not in xml


def test_chat_reads_the_old_file_of_known_findings_as_check_does():
    accept(FAILING)
    Path("old.yaml").write_text("- {code: chat-failing, reason: known}\n")
    Path("tokverify.toml").write_text('[[models]]\nmodel = "bad.gguf"\nwaivers = "old.yaml"\n')
    assert invoke("chat", "bad.gguf").exit_code == 0


def test_what_a_user_writes_is_never_accepted():
    accept(FAILING)
    Path("content.txt").write_text("hello")
    result = invoke("chat", "bad.gguf", "--content", "content.txt", "--baseline", "tokverify-accepted.yaml")
    assert result.exit_code == 2
    assert "--baseline has no effect with --content" in result.stderr


def test_a_model_with_a_template_and_a_known_fault_gets_a_green_gate():
    write_exchanged()
    check = ("check", "bad.gguf", "-r", "tokenizer.json", *FEW)
    assert invoke(*check).exit_code == 1
    assert invoke(*check, "--accept", "--reason", "waits").exit_code == 0
    assert invoke(*check).exit_code == 0
    alone = ("chat", "bad.gguf", "-r", "tokenizer.json")
    assert invoke(*alone).exit_code == 0
    Path("tokverify-accepted.yaml").rename("known.yaml")
    assert invoke(*alone).exit_code == 1
    assert invoke(*alone, "--baseline", "known.yaml").exit_code == 0


def test_the_verdict_says_what_was_not_compared():
    configure(model("good", "sample.gguf").replace("sample.tokenizer.model", "rebuilt"))
    result = invoke("check", "-q")
    assert result.exit_code == 0
    assert "nothing that was checked fails; but the reference is rebuilt" in result.stdout


def test_without_models_and_configuration_the_command_fails():
    result = invoke("check")
    assert result.exit_code == 2
    assert "name a MODEL, or configure models in tokverify.toml" in result.stderr


@pytest.mark.slow
def test_parts_that_pass_without_a_warning_are_only_summarized():
    good, bad = (
        invoke("check", file, "-r", "sample.tokenizer.model").stdout for file in ("sample.gguf", "sample-broken.gguf")
    )
    assert good.startswith("OUTCOME\n")
    assert "parts that pass without a warning, and what is only for information, are shown with -v" in good
    assert "sample-broken: run" in bad
    assert "INFO" not in bad
    last = bad.split("\n")[-12:]
    assert "CAUSES" in last
    assert any(line.strip().startswith("repair: tokverify fix sample-broken.gguf") for line in last)
    assert "sample: audit" in invoke("check", "sample.gguf", "-r", "sample.tokenizer.model", "-v").stdout


def test_a_repair_names_the_configured_reference_and_cases():
    configure(model("bad", "sample-broken.gguf").replace("own.yaml", "spaces.yaml"))
    shown = " ".join(invoke("check", "--only", "run").stdout.split())
    options = "-r sample.tokenizer.model -o sample-broken-fixed.gguf --cases spaces.yaml"
    assert f"repair: tokverify fix sample-broken.gguf {options}" in shown.replace(" \\ ", " ")


def test_only_the_requested_parts_are_performed():
    report = json.loads(invoke("check", "sample.gguf", "--only", "audit", "-f", "json").stdout)
    (checked,) = report["models"]
    assert (checked["parts"], checked["run"], checked["chat"]) == (["audit"], None, None)


def test_settings_of_audit_and_chat_are_configured():
    configure(model("bad", "sample-broken.gguf", 'ignore = ["TV120", "TV2"]\nfail_on = ["none"]'))
    result = invoke("check", "-q")
    assert (result.exit_code, result.stdout) == (0, "1 model: nothing that was checked fails\n")
    configure(model("bad", "sample-broken.gguf", 'ignore = ["XX"]'))
    assert "contains 'XX', with which no rule's code begins" in invoke("check").stderr


@pytest.mark.parametrize("command", [["audit"], ["check", "--only", "audit"]])
@pytest.mark.parametrize(("fail_on", "code"), [("none", 0), ("error", 1), ("info", 1)])
def test_findings_do_not_fail_if_nothing_is_to_fail(command: list[str], fail_on: str, code: int):
    arguments = [*command, "sample-broken.gguf", "-r", "sample.tokenizer.model", "--fail-on", fail_on]
    assert invoke(*arguments, "-o", "saved.json").exit_code == code
    assert invoke("report", "show", "saved.json").exit_code == code
    page = invoke("report", "show", "saved.json", "-f", "html")
    assert (page.exit_code, "TV202" in page.stdout) == (code, True)


@pytest.mark.parametrize("fail_on", ["decoding", "decoding,info"])
def test_aspects_do_not_concern_the_findings_of_a_check(fail_on: str):
    arguments = ["check", "--only", "audit", "sample-broken.gguf", "-r", "sample.tokenizer.model"]
    assert invoke(*arguments, "--fail-on", fail_on).exit_code == 1


PASSES = (0, "1 model: nothing that was checked fails\n")


def test_accept_lists_each_cause_once_with_its_reason():
    arguments = ["sample-broken.gguf", "-r", "sample.tokenizer.model", *SPACES, "--baseline", "known.yaml", "-q"]
    assert invoke("check", *arguments, "--accept").exit_code == 2
    assert not Path("known.yaml").exists()
    result = invoke("check", *arguments, "--accept", "--reason", "waits for a new file")
    assert (result.exit_code, result.stdout) == PASSES
    cases, *causes = yaml.safe_load(Path("known.yaml").read_text())
    assert list(cases) == ["model", "about", "reason", "cases"]
    assert "USER_DEFINED makes them match" in cases["about"]
    assert [(cause["code"], cause["reason"]) for cause in causes] == [
        ("TV120", "waits for a new file"),
        ("TV202", "waits for a new file"),
    ]
    result = invoke("check", *arguments)
    assert (result.exit_code, result.stdout) == PASSES
    assert "no longer" not in invoke("check", *arguments[:-1]).stdout


@pytest.mark.parametrize(("code", "part"), thinned(2, [("TV202", "run"), ("TV120", "audit")]))
def test_an_accepted_cause_does_not_hide_another_one_with_the_same_code(code: str, part: str):
    arguments = ["sample-broken.gguf", "-r", "sample.tokenizer.model", *SPACES, "--baseline", "known.yaml"]
    assert invoke("check", *arguments, "--accept", "--reason", "waits").exit_code == 0
    entries = yaml.safe_load(Path("known.yaml").read_text())
    [entry] = [each for each in entries if each.get("code") == code]
    entry["difference"] = "0" * 16
    Path("known.yaml").write_text(yaml.dump(entries))
    result = invoke("check", *arguments)
    assert result.exit_code == 1
    assert f"sample-broken  {part} " in result.stdout


@pytest.mark.slow
def test_files_of_older_versions_are_read_and_converted_by_accept():
    arguments = ["sample-broken.gguf", "-r", "sample.tokenizer.model", *SPACES, "-q"]
    assert invoke("check", *arguments, "--baseline", "new.yaml", "--accept", "--reason", "waits").exit_code == 0
    [cases, _, types] = yaml.safe_load(Path("new.yaml").read_text())
    old = [{"case": case, "difference": digest, "reason": "waits"} for case, digest in cases["cases"].items()]
    old.append({"aspect": "types", "difference": types["difference"], "reason": "waits"})
    Path("known.yaml").write_text(yaml.dump(old))
    Path("waivers.yaml").write_text("- {code: TV120, reason: waits}\n- {code: TV202, reason: waits}\n")
    files = ["--baseline", "known.yaml", "--waivers", "waivers.yaml"]
    result = invoke("check", *arguments, *files)
    assert (result.exit_code, result.stdout) == PASSES
    assert invoke("check", *arguments, *files, "--accept").exit_code == 0
    result = invoke("check", *arguments, "--baseline", "known.yaml")
    assert (result.exit_code, result.stdout) == PASSES
    assert "aspect" not in Path("known.yaml").read_text()


@pytest.mark.slow
def test_configured_waivers_accept_the_same_in_run_as_in_check():
    Path("waivers.yaml").write_text("- {code: TV202, reason: waits}\n")
    codes = []
    for waivers in ("", 'waivers = "waivers.yaml"'):
        configure(model("it", "sample-broken.gguf", waivers))
        codes.append([invoke(*command.split()).exit_code for command in ("run it", "check it --only run")])
    assert codes == [[1, 1], [0, 0]]
    # What is accepted is written to the baseline, never to the file of waivers.
    accepted = invoke("run", "it", "--baseline", "known.yaml", "--accept", "--reason", "known")
    assert accepted.exit_code == 0, accepted.stderr
    assert "- code: TV202" in Path("known.yaml").read_text()
    assert invoke("run", "it", "-o", "waivers.yaml", "-f", "json").exit_code == 2


def test_what_a_check_accepts_passes_until_something_else_differs():
    arguments = ["check", "sample-broken.gguf", "-r", "sample.tokenizer.model", *FEW]
    refused = invoke(*arguments, "--accept")
    assert (refused.exit_code, Path(ACCEPTED).exists()) == (2, False)
    assert "say why with --reason" in refused.stderr
    assert invoke(*arguments, "--accept", "--reason", "waits").exit_code == 0
    first = Path(ACCEPTED).read_text()
    assert first.count("reason: waits") == first.count("- code: TV") == 2
    assert invoke(*arguments, "-q").stdout == "1 model: nothing that was checked fails\n"
    assert invoke("run", *arguments[1:]).exit_code == invoke("audit", *arguments[1:4]).exit_code == 0
    assert invoke(*arguments, "--accept").exit_code == 0
    assert Path(ACCEPTED).read_text() == first
    # An entry for another model accepts nothing here.
    Path(ACCEPTED).write_text(first.replace("model: sample-broken", "model: other"))
    assert invoke(*arguments, "--accept", "--reason", "again").exit_code == 0
    assert invoke(*arguments, "-q").exit_code == 0
    # A file that is right needs no entry.
    Path(ACCEPTED).write_text(first)
    Path("sample-broken.gguf").write_bytes(Path("sample.gguf").read_bytes())
    fixed = invoke(*arguments)
    assert fixed.exit_code == 0
    assert "FIXED match now" in fixed.stdout
    assert "ENTRIES OF THE BASELINE THAT ACCEPT NOTHING" in fixed.stdout
    assert invoke(*arguments, "--accept").exit_code == 0
    assert Path(ACCEPTED).read_text() == "[]\n"


def test_nothing_to_accept_makes_no_file():
    assert invoke("check", "sample.gguf", "-r", "sample.tokenizer.model", *FEW, "--accept").exit_code == 0
    assert invoke("run", "sample.gguf", "-r", "sample.tokenizer.model", *FEW, "--accept").exit_code == 0
    assert not Path(ACCEPTED).exists()


@pytest.mark.slow
def test_what_is_accepted_beside_the_configuration_holds_for_its_models():
    configure(model("bad", "sample-broken.gguf"))
    accepted = invoke("check", "--accept", "--reason", "waits")
    assert accepted.exit_code == 0, accepted.output
    assert invoke("check", "-q").exit_code == 0
    Path("below").mkdir()
    os.chdir("below")
    assert invoke("check", "-q").exit_code == 0


def test_a_named_reference_that_is_missing_is_not_a_pass():
    result = invoke("check", "sample.gguf", "-r", "absent.json", "-q", *FEW)
    assert result.exit_code == 2
    assert "could not be checked (sample: run, audit, chat)" in result.stdout


@pytest.mark.parametrize(
    "format", thinned(4, ["table", "markdown", "html", "junit", "github", "gitlab", "sarif", "json"])
)
def test_a_saved_check_is_shown_as_the_command_shows_it(format):
    arguments = ["sample-broken.gguf", "-r", "sample.tokenizer.model", *FEW]
    assert invoke("check", *arguments, "-o", "saved.json").exit_code == 1
    direct = invoke("check", *arguments, "-f", format)
    shown = invoke("report", "show", "saved.json", "-f", format)
    assert (shown.exit_code, shown.stdout) == (1, direct.stdout)
    saved = read("saved.json", CheckReport)
    assert json.loads(to_json(saved)) == json.loads(Path("saved.json").read_text())


@pytest.mark.parametrize(
    ("command", "code"),
    [(["run"], 1), (["audit"], 1), (["check"], 1), (["inspect"], 0), (["encode"], 0)],
)
def test_a_configured_model_is_selected_by_name(command: list[str], code: int):
    configure(model("bad", "sample-broken.gguf"))
    text = ["a"] if command == ["encode"] else []
    result = invoke(*command, "bad", *text)
    assert result.exit_code == code, result.output


def test_a_file_with_the_name_of_a_configured_model_is_that_file():
    configure(model("sample.gguf", "sample-broken.gguf"))
    assert invoke("run", "sample.gguf", *FEW).exit_code == 0


def test_a_path_that_the_configuration_mentions_has_its_settings_and_baseline():
    configure(model("bad", "sample-broken.gguf", 'baseline = "known.yaml"'))
    plain = invoke("run", "sample-broken.gguf", "-q", "--update-baseline", "--reason", "soon")
    assert plain.exit_code == 0, plain.output
    assert invoke("run", "./sample-broken.gguf", "-q").exit_code == 0
    assert "- code: TV202" in Path("known.yaml").read_text()
    report = json.loads(invoke("run", "sample-broken.gguf", "-f", "json").stdout)
    assert [result["case"]["suite"] for result in report["results"]] == ["own"]
    assert json.loads(invoke("audit", "sample-broken.gguf", "-f", "json").stdout)["reference"]


@pytest.mark.parametrize("format", ["markdown", "html"])
def test_a_page_begins_with_the_cause_and_its_repair(format: str):
    report = f"{format}=report"
    invoke("check", "sample.gguf", "sample-broken.gguf", "-r", "sample.tokenizer.model", *SPACES, "--report", report)
    before, _, after = Path("report").read_text().partition("Outcome")
    files = "sample-broken.gguf -r sample.tokenizer.model -o sample-broken-fixed.gguf"
    assert f"tokverify fix {files} --cases spaces.yaml" in before
    assert "passes" in after
