"""The import contracts in pyproject.toml are tried on a copy of the package whose modules are empty."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT
from support.selection import thinned

LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")

pytestmark = pytest.mark.skipif(not LINT_IMPORTS.exists(), reason="import-linter is not installed")


@pytest.fixture
def skeleton(tmp_path: Path) -> Path:
    """Return a copy of the package with the same modules, all of them empty."""
    for source in (ROOT / "tokverify").rglob("*.py"):
        target = tmp_path / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path / "tokverify"


def lint_imports(package: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(LINT_IMPORTS), "--no-cache"]
    return subprocess.run(command, cwd=package.parent, env=environment, capture_output=True, text=True, check=False)


def test_the_contracts_accept_downward_imports(skeleton: Path):
    (skeleton / "commands" / "extra.py").write_text("import tokverify.render\nimport tokverify.engine\n")
    (skeleton / "render" / "extra.py").write_text("import tokverify.report\nimport tokverify.text\n")
    done = lint_imports(skeleton)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("importer", "code", "message"),
    thinned(
        2,
        [
            ("engine", "import tokverify.compare", "tokverify.engine is not allowed to import tokverify.compare"),
            ("chat", "import tokverify.repair", "tokverify.chat is not allowed to import tokverify.repair"),
            (
                "sources",
                "def f():\n    import tokverify.commands",
                "tokverify.sources is not allowed to import tokverify.commands",
            ),
            (
                "text",
                "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import tokverify.commands",
                "tokverify.text is not allowed to import tokverify.commands",
            ),
            ("render", "import tokverify.engine", "tokverify.render is not allowed to import tokverify.engine"),
            (
                "render",
                "def f():\n    from tokverify.system import git",
                "tokverify.render is not allowed to import tokverify.system",
            ),
        ],
    ),
)
def test_the_contracts_reject_upward_and_sideways_imports(skeleton: Path, importer: str, code: str, message: str):
    (skeleton / importer / "extra.py").write_text(code)
    done = lint_imports(skeleton)
    assert done.returncode == 1
    assert message in done.stdout


def test_the_contracts_reject_cycles(skeleton: Path):
    (skeleton / "engine" / "extra.py").write_text("from tokverify.engine import other")
    (skeleton / "engine" / "other.py").write_text("def f():\n    from tokverify.engine import extra")
    done = lint_imports(skeleton)
    assert done.returncode == 1
    assert "No cycles are allowed in tokverify.engine" in done.stdout


def test_the_contracts_reject_a_package_without_a_layer(skeleton: Path):
    (skeleton / "extra.py").touch()
    done = lint_imports(skeleton)
    assert done.returncode == 1
    assert "tokverify.extra" in done.stdout
