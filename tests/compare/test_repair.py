"""The repairs that findings offer: the printed command does what it says."""

import html
import json
import re
import shlex
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.pasting import HOSTILE, from_markdown, from_table
from support.paths import SAMPLE
from support.selection import thinned
from tokverify.commands.cli import main
from tokverify.commands.tasks.audit import audit_model
from tokverify.compare.repair import FIX, add_remedies, find_remedy, set_flag
from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions
from tokverify.report.audit import AuditReport
from tokverify.report.diagnosis import command_line
from tokverify.report.finding import ERROR, Finding
from tokverify.sources.gguf.declaration import read_spec
from tokverify.sources.gguf.patch import write_patched
from tokverify.sources.gguf.values import changed_values
from tokverify.spec import TokenType

SPEC = read_spec(SAMPLE / "sample.gguf")


def retyped(old: TokenType) -> list[int]:
    return [TokenType.NORMAL if type == old else type for type in SPEC.types]


FAULTS = {
    "TV108": replace(SPEC, scores=[0.0] * len(SPEC.tokens)),
    "TV109": replace(SPEC, types=retyped(TokenType.BYTE)),
    "TV110": replace(SPEC, types=None),
    "TV120": replace(SPEC, types=retyped(TokenType.USER_DEFINED)),
}


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, arguments)
    return result.exit_code, result.stdout


def findings_of(code: str, model: str) -> list[dict[str, str]]:
    return json.loads(run("audit", model, "--select", code, "--format", "json")[1])["findings"]


@pytest.mark.process  # takes seconds
@pytest.mark.parametrize("code", thinned(4, FAULTS))
def test_fix_removes_the_finding_that_offers_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str):
    monkeypatch.chdir(tmp_path)
    write_patched(SAMPLE / "sample.gguf", Path("m.gguf"), changed_values(SPEC, FAULTS[code]))
    shutil.copy(SAMPLE / "sample.tokenizer.model", "r.model")
    command = from_table(run("audit", "m.gguf", "-r", "r.model", "--select", code)[1], "  repair: ")
    assert command == ["tokverify", "fix", "m.gguf", "-r", "r.model", "-o", "m-fixed.gguf"]
    exit_code, output = run(*command[1:])
    assert exit_code == 0, output
    assert findings_of(code, "m-fixed.gguf") == []
    alike = {TokenType.UNKNOWN: TokenType.CONTROL}
    # The .model calls <unk> UNKNOWN, the sample CONTROL.
    assert [alike.get(type, type) for type in read_spec(Path("m-fixed.gguf")).types] == list(SPEC.types)


def from_html(text: str) -> list[str]:
    return shlex.split(html.unescape(re.search('<p>repair: <code class="command">(.*?)</code>', text)[1]))


def from_sarif(text: str) -> list[str]:
    message = json.loads(text)["runs"][0]["results"][0]["message"]["text"]
    return shlex.split(message.replace("{{", "{").replace("}}", "}").partition("\nrepair: ")[2].partition("\n")[0])


COMMAND_OF: dict[str, Callable[[str], list[str]]] = {
    "table": lambda text: from_table(text, "  repair: "),
    "markdown": from_markdown,
    "html": from_html,
    "sarif": from_sarif,
}


@pytest.mark.process  # takes seconds
@pytest.mark.parametrize("format", thinned(2, COMMAND_OF))
@pytest.mark.parametrize("is_saved", thinned(2, [False, True]))
def test_the_command_repairs_the_file_when_pasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str, is_saved: bool
):
    monkeypatch.chdir(tmp_path)
    Path("-a").mkdir()
    model, reference = f"-a/{{{HOSTILE}}}.gguf", f"-{HOSTILE}.model"
    shutil.copy(SAMPLE / "sample-broken.gguf", model)
    shutil.copy(SAMPLE / "sample.tokenizer.model", reference)
    options = ["audit", f"./{model}", "-r", f"./{reference}", "--select", "TV120"]
    if is_saved:
        assert run(*options, "-o", "saved.json")[0] == 1
        text = run("report", "show", "saved.json", "-f", format)[1]
    else:
        text = run(*options, "-f", format)[1]
    command = COMMAND_OF[format](text)
    assert command[:2] == ["tokverify", "fix"]
    exit_code, output = run(*command[1:])
    assert exit_code == 0, output
    assert Path(command[-1]).read_bytes() == (SAMPLE / "sample.gguf").read_bytes()


@pytest.mark.parametrize("reference", [None, "rebuilt", "llama.cpp"])
def test_a_reference_that_reads_the_model_cannot_repair_it(reference: str | None):
    if reference == "llama.cpp":
        pytest.importorskip("xllamacpp")
    report = audit_model(SAMPLE / "sample-broken.gguf", reference, select=["TV120"])
    repaired = [finding.remedy for finding in report.findings if finding.repair == FIX]
    assert repaired
    assert all("-r REFERENCE" in command_line(remedy.commands[0]) for remedy in repaired)


@pytest.mark.parametrize(
    ("repair", "model", "command", "remark"),
    [
        (FIX, "m.gguf", "tokverify fix m.gguf -r REFERENCE -o m-fixed.gguf", "shipped cases reveal"),
        (FIX, None, "tokverify fix MODEL -r REFERENCE -o FIXED.gguf", "shipped cases reveal"),
        ("tokverify fix 'MODEL", "m.gguf", "tokverify fix 'MODEL", "shipped cases reveal"),
        (
            set_flag("a.key", value=False, declared=True),
            "m.gguf",
            "gguf-set-metadata --force m.gguf a.key ''",
            "in place",
        ),
    ],
)
def test_unknown_files_are_left_to_be_filled_in(repair: str, model: str | None, command: str, remark: str):
    remedy = find_remedy(repair, model, None)
    assert [command_line(each) for each in remedy.commands] == [command]
    assert remark in remedy.remark


def test_a_repair_that_is_not_a_command_is_shown_in_words():
    words = set_flag("a.key", value=True, declared=False)
    finding = Finding(ERROR, "x", repair=words, code="TV206", name="x")
    assert find_remedy(words, "m.gguf", None) == find_remedy(words, "m.gguf", "r")
    report = AuditReport(findings=(finding,), source="m.gguf")
    text = FORMATS["audit"]["table"](add_remedies(report, None), RenderOptions())
    assert f"  repair: {words[:60]}" in text
