"""Files and reports for CI systems against the schemas that are published for them.

Those of workflows, actions and pipelines come with check-jsonschema. Those of SARIF and JUnit no package has: they are
looked for in `schemas/` among the shared data (see CONTRIBUTING.md).
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from lxml import etree
from make_golden import hostile_report
from test_audit_formats import hostile_audit

from tokverify.audit.finding import Severity
from tokverify.formats import FORMATS, RenderOptions
from tokverify.formats.audit import AUDIT_FORMATS
from tokverify.starting import Start, render_workflow

ROOT = Path(__file__).parents[2]


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
        (tmp_path / f"{name}.yml").write_text(render_workflow(start, "0.1.0"))
    assert_valid("github-workflows", *tmp_path.iterdir(), *(ROOT / ".github" / "workflows").iterdir())


def test_pipelines_in_the_documentation(tmp_path):
    pipelines = [*snippets("ci.md", "tokverify:"), *snippets("ci-formats.md", "tokenizer:")]
    assert len(pipelines) == 2
    for number, text in enumerate(pipelines):
        (tmp_path / f"{number}.yml").write_text(text)
    assert_valid("gitlab-ci", *tmp_path.iterdir())


@pytest.fixture
def published(shared):
    """Return where the schemas are that no package has."""
    directory = shared / "schemas"
    if not directory.is_dir():
        pytest.skip(f"no published schemas in {directory}")
    return directory


@pytest.mark.parametrize("command", ["run", "audit"])
def test_sarif(published, command):
    options = RenderOptions()
    text = {
        "run": lambda: FORMATS["sarif"](hostile_report(), options),
        "audit": lambda: AUDIT_FORMATS["sarif"](hostile_audit(), Severity.ERROR, options),
    }[command]()
    jsonschema.validate(json.loads(text), json.loads((published / "sarif-schema-2.1.0.json").read_text()))


def test_junit(published):
    document = etree.fromstring(FORMATS["junit"](hostile_report(), RenderOptions()).encode())
    etree.XMLSchema(etree.parse(published / "junit-10.xsd")).assertValid(document)
