"""Reports are plain data, and renderers see nothing else."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.paths import ROOT

PACKAGE = ROOT / "tokverify"
VISIBLE_TO_RENDERERS = {"case", "render", "report", "text", "tokenizer", "version"}
"""The packages `report/` and `text/`, and the modules that define cases, tokens and the version."""


def classes_with_methods(code: str) -> list[str]:
    """List the classes that define functions, except enumerations and documented properties that are derived."""
    classes = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ClassDef)]
    return [cls.name for cls in classes if not is_enum(cls) and any(map(is_method, cls.body))]


def is_enum(cls: ast.ClassDef) -> bool:
    return any(ast.unparse(base).endswith(("Enum", "Flag")) for base in cls.bases)


def is_method(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_derived(node)


def is_derived(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function is a documented property without arguments: what follows from the fields."""
    decorators = list(map(ast.unparse, node.decorator_list))
    return decorators == ["property"] and ast.unparse(node.args) == "self" and ast.get_docstring(node) is not None


def imported_packages(code: str) -> Iterator[str]:
    """Yield the subpackages and modules of tokverify that a module imports, also inside functions."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.startswith("tokverify."))


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("class A:\n    field: int", []),
        ("class A:\n    def name(self): ...", ["A"]),
        ("class A:\n    @property\n    def name(self): ...", ["A"]),
        ("class A:\n    @property\n    def name(self):\n        '''Return it.'''", []),
        ("class A:\n    def name(self):\n        '''Return it.'''", ["A"]),
        ("class A:\n    async def f(self): ...\nclass B(Enum):\n    def __lt__(self, other): ...", ["A"]),
    ],
)
def test_the_check_finds_methods(code: str, found: list[str]):
    assert classes_with_methods(code) == found


@pytest.mark.parametrize("path", sorted((PACKAGE / "report").rglob("*.py")), ids=lambda path: path.stem)
def test_reports_have_no_methods(path: Path):
    assert classes_with_methods(path.read_text("utf-8")) == []


def test_the_check_finds_imports():
    code = "import tokverify.compare.fuzz\nfrom tokverify import errors\ndef f():\n    from tokverify.engine.x import y"
    assert sorted(imported_packages(code)) == ["compare", "engine", "errors"]


def test_renderers_import_only_plain_data_and_text():
    imports = {
        (str(path.relative_to(PACKAGE)), name)
        for path in (PACKAGE / "render").rglob("*.py")
        for name in imported_packages(path.read_text("utf-8"))
    }
    assert {(path, name) for path, name in imports if name not in VISIBLE_TO_RENDERERS} == set()
