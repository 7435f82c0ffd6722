"""Run and check what the README shows, so that it stays true."""

import re
import subprocess
import sys

import click
import pytest

from support.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_example_runs():
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    done = subprocess.run([sys.executable, "-c", example], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "True equal"


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\(([^)#:]+)\)", README))))
def test_linked_files_exist(path: str):
    assert (ROOT / path).exists()


def test_the_readme_names_exactly_the_existing_commands():
    from tokverify.commands.cli import main

    commands_section = README.partition("\n## Commands\n")[2].partition("\n## ")[0]
    named = set(re.findall(r"`([a-z]+)`\]\(", commands_section))
    context = click.Context(main)
    found = {name: main.get_command(context, name) for name in main.list_commands(context)}
    commands = {name for name, command in found.items() if not command.hidden}
    assert named <= commands
    assert commands <= named | {"demo"}
