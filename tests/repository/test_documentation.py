"""Run and check what the documentation shows, so that it stays true."""

import ast
import importlib
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from support.console import elide, examples, fits, run
from support.paths import ROOT
from support.selection import slow_if
from tokverify.commands.cli import main

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
SESSIONS = [page for page in PAGES if examples(page.read_text("utf-8"))]
LONG_SESSIONS = {
    "chat.md",
    "corpus.md",
    "cpp-hybrid.md",
    "diff.md",
    "families.md",
    "learn.md",
    "report.md",
    "sheepop.md",
    "tutorial.md",
}
"""The pages whose commands take seconds; scheduled workflows try them."""
WITHOUT_VALUE = {"-h", "--help", "--version"}

_CODE = re.compile(r"^```[^\n]*\n(.*?)^```$|^((?: {4}[^\n]*\n)+)", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\s*(?:\$ |- run: )?(tokverify .*)$", re.MULTILINE)
_OPERATORS = {"|", "||", "&&", ";", ">", ">>", "&", "2>&1"}


def by_name(page: Path) -> str:
    return page.name


@pytest.mark.parametrize("page", slow_if(lambda page: page.name in LONG_SESSIONS, SESSIONS), ids=by_name)
def test_console_sessions_print_what_the_page_shows(page: Path, tmp_path: Path):
    """If this fails although the new output is right, run `python tests/support/console.py docs/PAGE.md`."""
    shown = examples(page.read_text("utf-8"))
    printed = run([example.command for example in shown], tmp_path)
    for example, output in zip(shown, printed, strict=True):
        assert fits(example.output, output), f"$ {example.command}{output}"


def test_an_ellipsis_stands_for_any_lines():
    assert fits("a\n...\nc\n", "a\nb\nb\nc\n")
    assert fits("a\n...\n", "a\n")
    assert not fits("a\n...\nc\n", "a\nb\n")
    assert not fits("a\n", "a\nb\n")
    assert not fits("", "a\n")


def test_rewritten_output_keeps_its_ellipses():
    assert elide("a\n...\nd\n", "A\nb\nc\nd\n") == "A\n...\nd\n"
    assert elide("a\n...\nd\ne\n", "a\nb\nc\nD\ne\n") == "a\n...\nD\ne\n"
    assert elide("...\nd\n", "a\nb\nd\nE\n") == "...\nd\nE\n"
    assert elide("a\n", "b\n") == "b\n"


def test_a_session_keeps_the_exit_code_and_the_working_directory(tmp_path: Path):
    page = "```console\n$ mkdir x && cd x\n$ cat <<END\n> a\n> END\na\n$ false\n$ echo $? ${PWD##*/}\n1 x\n```\n"
    shown = examples(page)
    assert run([example.command for example in shown], tmp_path) == ["", "a\n", "", "1 x\n"]
    assert [example.output for example in shown] == ["", "a\n", "", "1 x\n"]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=by_name)
def test_every_row_of_a_table_has_as_many_cells_as_its_head(page: Path):
    text = _CODE.sub("", page.read_text("utf-8"))
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        counts = {len(re.findall(r"(?<!\\)\|", re.sub(r"`[^`]*`", "", row))) for row in table.splitlines()}
        assert len(counts) == 1, table[:200]


@pytest.mark.parametrize("page", PAGES, ids=by_name)
def test_commands_and_options_exist(page: Path):
    for line in commands(page.read_text("utf-8")):
        assert unknown(shlex.split(line, comments=True)) == [], line


def commands(page: str) -> Iterator[str]:
    for fenced, indented in _CODE.findall(page):
        for line in _COMMAND.findall(fenced or indented):
            yield line.removesuffix("\\")


def unknown(words: list[str]) -> list[str]:
    """Return the options that the command does not have, or the subcommand if it does not exist."""
    command, words = main, words[1:]
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name, *rest = words
        found = command.get_command(click.Context(command), name)
        if found is None and (default := getattr(command, "default_command", None)):
            found, rest = command.get_command(click.Context(command), default), words
        if found is None:
            return [name]
        command, words = found, rest
    ends = next((index for index, word in enumerate(words) if word in _OPERATORS), len(words))
    named = {word.partition("=")[0] for word in words[:ends] if re.match("--?[a-z]", word)}
    known = {name for param in command.params for name in [*param.opts, *param.secondary_opts]}
    return sorted(named - known - WITHOUT_VALUE)


def test_unknown_reports_missing_options_and_commands():
    assert unknown(["tokverify", "run", "model.gguf", "--baseline=x", "-q", "|", "head", "-x"]) == []
    assert unknown(["tokverify", "cases", "check", "--nonsense", "x"]) == ["--nonsense"]
    assert unknown(["tokverify", "nonsense"]) == ["nonsense"]
    assert unknown(["tokverify", "corpus", "model.gguf", "data/", "--ids-column", "ids", "--nonsense"]) == [
        "--nonsense"
    ]


@pytest.mark.parametrize("page", PAGES, ids=by_name)
def test_imported_names_exist(page: Path):
    for code in re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom):
                module = importlib.import_module(node.module or "")
                assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []


def test_contributing_lists_every_top_level_entry_of_the_package():
    package = ROOT / "tokverify"
    folders = {f"{path.name}/" for path in package.iterdir() if path.is_dir() and path.name != "__pycache__"}
    modules = {path.name for path in package.glob("*.py")} - {"__init__.py"}
    section = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Where things are")[2]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| ")]
    listed = [name for row in rows for name in re.findall(r"`([^`]+)`", row[2])]
    assert sorted(listed) == sorted(folders | modules)


def test_the_tables_of_extension_points_exist():
    section = (DOCS / "design.md").read_text("utf-8").partition("## Where to add things")[2]
    listed = re.findall(r"`(\w+)` in `([\w/.]+\.py)`", section)
    assert len(listed) > 10
    for name, path in listed:
        source = (ROOT / "tokverify" / path).read_text("utf-8")
        assert re.search(rf"^{name}\b.* = ", source, re.MULTILINE), (name, path)


def test_the_files_to_read_first_exist():
    section = (DOCS / "design.md").read_text("utf-8").partition("## Ten files to read first")[2].partition("\n## ")[0]
    listed = re.findall(r"^\d+\. `([^`]+)`", section, re.MULTILINE)
    assert len(listed) == 10
    assert [path for path in listed if not (ROOT / path).is_file()] == []


@pytest.mark.parametrize("page", [*PAGES, *sorted(ROOT.glob("*.md"))], ids=by_name)
def test_files_that_a_page_links_to_exist_in_a_checkout(page: Path):
    text = _CODE.sub("", page.read_text("utf-8"))
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text)
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=by_name)
def test_external_links_are_well_formed(page: Path):
    links = re.findall(r"\]\(([a-z]+:[^)]*)\)", page.read_text("utf-8"))
    assert [link for link in links if not re.fullmatch(r"https://[\w.-]+\.[a-z]+(/[^\s<>\"]*)?", link)] == []


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site strictly: a page outside the navigation or a broken link is an error."""
    pytest.importorskip("mkdocs", reason="the extra `docs` is not installed")
    directory = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(directory)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return directory


@pytest.mark.slow
def test_the_site_builds_and_loads_nothing_from_other_hosts(site: Path):
    html = {page.name: page.read_text("utf-8") for page in site.glob("*.html")}
    assert html.keys() >= {page.with_suffix(".html").name for page in PAGES}
    for name, text in html.items():
        loaded = re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"?((?:https?:)?//[^\s\">]+)", text)
        assert loaded == [], name


@pytest.mark.slow
def test_the_command_reference_names_every_command_and_option(site: Path):
    text = (site / "commands.html").read_text("utf-8")
    for name, command in every_command(main, "tokverify"):
        assert f">{name}<" in text
        for param in command.params:
            if isinstance(param, click.Option) and not param.hidden:
                assert re.search(rf"<code>[^<]*{re.escape(param.opts[-1])}\b", text), (name, param.opts)


@pytest.mark.slow
def test_the_page_on_fields_names_every_field_of_every_report(site: Path):
    text = (site / "fields.html").read_text("utf-8")
    definitions = json.loads((DOCS / "report.schema.json").read_text("utf-8"))["$defs"]
    names = {field for definition in definitions.values() for field in definition.get("properties", ())}
    assert [name for name in sorted(names) if f"<code>{name}</code>" not in text] == []


def every_command(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command
        if command.hidden:
            continue
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from every_command(command, f"{path} {name}")
