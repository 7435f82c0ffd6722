"""Files and reports for CI systems against the schemas that are published for them.

Those of workflows, actions and pipelines come with check-jsonschema; those of SARIF and JUnit `.ci/schemas` downloads.
"""

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import jsonschema
import pytest
import yaml
from lxml import etree

from support.hostile_audit import hostile_audit
from support.hostile_chat import hostile_chat
from support.hostile_finding import present_change, present_fuzz
from support.make_golden import hostile_report
from support.paths import ROOT
from tokverify.commands.project.start import Start, render_workflow
from tokverify.render.kinds import present
from tokverify.render.options import RenderOptions

PUBLISHED = ROOT / ".ci" / "published-schemas"


def assert_valid(schema: str, *files: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def snippets(page: str, beginning: str) -> list[str]:
    """Return the pieces of YAML in a page that begin so."""
    found = re.findall(r"^```yaml\n(.*?)^```", (ROOT / "docs" / page).read_text(), re.MULTILINE | re.DOTALL)
    return [text for text in found if text.startswith(beginning)]


def test_the_action():
    assert_valid("github-actions", ROOT / "action.yml")


def test_workflows_as_init_writes_them(tmp_path):
    starts = {
        "plain": Start([], []),
        "all": Start([], [], below=Path("a \"dir': #{x}/日本"), uses_lfs=True, uses_submodules=True),
    }
    for name, start in starts.items():
        (tmp_path / f"{name}.yml").write_text(
            render_workflow(start, "pip install 'tokverify @ git+https://example.com/t.git@0123'")
        )
    assert_valid("github-workflows", *tmp_path.iterdir(), *(ROOT / ".github" / "workflows").iterdir())


def test_workflows_in_the_documentation(tmp_path):
    """Steps become those of a job, which is what an action could be used in."""
    steps = [textwrap.dedent(text) for page in ("ci.md", "ci-formats.md") for text in snippets(page, "      - ")]
    assert len(steps) == 5
    for number, text in enumerate(steps):
        job = {"runs-on": "ubuntu-latest", "steps": yaml.safe_load(text)}
        (tmp_path / f"{number}.yml").write_text(yaml.safe_dump({"on": "push", "jobs": {"tokverify": job}}))
    (tmp_path / "whole.yml").write_text("on: push\n" + snippets("ci.md", "permissions:")[0])
    assert_valid("github-workflows", *tmp_path.iterdir())


def test_pipelines_in_the_documentation(tmp_path):
    pipelines = [*snippets("ci.md", "tokverify:"), *snippets("ci-formats.md", "tokenizer:")]
    assert len(pipelines) == 2
    for number, text in enumerate(pipelines):
        (tmp_path / f"{number}.yml").write_text(text)
    assert_valid("gitlab-ci", *tmp_path.iterdir())


needs_published = pytest.mark.skipif(not PUBLISHED.is_dir(), reason=f"no {PUBLISHED}: .ci/schemas makes it")

HOSTILE = {
    "run": lambda: present("run", hostile_report()),
    "audit": lambda: present("audit", hostile_audit()),
    "fuzz": present_fuzz,
    "diff": present_change,
    "chat": lambda: present("chat", hostile_chat()),
}
"""Command -> how a report of its is written whose every text tries to break out."""


@needs_published
@pytest.mark.parametrize("command", HOSTILE)
def test_sarif(command: str):
    schema = json.loads((PUBLISHED / "sarif-schema-2.1.0.json").read_text())
    document = json.loads(HOSTILE[command]().formats["sarif"](RenderOptions()))
    assert document["runs"][0]["results"]
    jsonschema.validate(document, schema)


@needs_published
@pytest.mark.parametrize("command", [command for command in HOSTILE if command != "audit"])
def test_junit(command: str):
    document = etree.fromstring(HOSTILE[command]().formats["junit"](RenderOptions()).encode())
    assert document.findall(".//failure")
    etree.XMLSchema(etree.parse(PUBLISHED / "junit-10.xsd")).assertValid(document)
