"""What the container and the wheels are built from, and the notices that they contain."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from support.paths import ROOT

CRATES = {
    (package["name"], package["version"])
    for package in tomllib.loads((ROOT / "native/Cargo.lock").read_text())["package"]
    if "source" in package
}


def ignored_by_the_container() -> Callable[[str, list[str]], set[str]]:
    """Return a filter for `shutil.copytree` that follows .dockerignore: the last pattern that matches decides."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    patterns = [line for line in lines if line and not line.startswith("#")]

    def is_ignored(path: Path) -> bool:
        names = [path.as_posix(), *(parent.as_posix() for parent in path.parents)]
        result = False
        for pattern in patterns:
            bare = pattern.removeprefix("!").removeprefix("**/")
            candidates = [*names, path.name] if "**" in pattern else names
            if any(fnmatch(name, bare) and name.count("/") == bare.count("/") for name in candidates):
                result = not pattern.startswith("!")
        return result

    return lambda directory, names: {name for name in names if is_ignored((Path(directory) / name).relative_to(ROOT))}


def test_the_notices_name_every_crate_of_the_lock_file():
    notices = (ROOT / "native/LICENSES.txt").read_text()
    named = re.findall(r"^(\S+) (\d\S+) \(", notices, re.MULTILINE)
    assert set(named) == CRATES, "run native/make_notices.py"


def test_the_bill_of_materials_names_every_crate_of_the_lock_file():
    components = json.loads((ROOT / "native/sbom.cdx.json").read_text())["components"]
    assert {(part["name"], part["version"]) for part in components} == CRATES, "run native/make_notices.py"


@pytest.mark.slow
def test_a_container_and_its_wheel_contain_the_suites_and_the_notices(tmp_path):
    context = shutil.copytree(ROOT, tmp_path / "context", ignore=ignored_by_the_container())
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path), str(context)]
    subprocess.run(command, check=True, env={"PATH": "/usr/bin:/bin"})
    [wheel] = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "tokverify/cases/suites/seed.yaml" in names
    assert [name for name in names if name.endswith("dist-info/licenses/native/LICENSES.txt")]
    assert not [name for name in names if "_native" in name]


def test_a_container_is_built_from_what_the_build_reads(tmp_path):
    context = shutil.copytree(ROOT, tmp_path / "context", ignore=ignored_by_the_container())
    licenses = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license-files"]
    for needed in ["setup.py", "pyproject.toml", "README.md", "cases/seed.yaml", "tokverify/__main__.py", *licenses]:
        assert (context / needed).is_file(), needed
    assert {path.name for path in context.iterdir()} <= {
        "cases",
        "native",
        "tokverify",
        "LICENSE",
        *licenses,
        "README.md",
        "pyproject.toml",
        "setup.py",
    }


def test_what_is_published_needs_a_tag_and_the_tests():
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]
    for name in ["publish", "publish-container"]:
        assert "startsWith(github.ref, 'refs/tags/')" in json.dumps(jobs[name])
        assert "test" in jobs[name]["needs"]


def test_a_release_tests_the_wheel_beside_a_complete_checkout():
    steps = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]["test"]["steps"]
    [tests] = [step for step in steps if "pytest" in step.get("run", "")]
    assert tests["env"] == {"PYTHONSAFEPATH": "1"}  # the wheel is imported, not the checkout
    assert "rm " not in tests["run"]  # the tests read the sample and the sources of the checkout
