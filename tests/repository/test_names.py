"""No code compares names of models, algorithms or references: it asks the family, or checks for a capability."""

import ast
from pathlib import Path

import pytest

import tokverify
from tokverify.engine.families import FAMILIES
from tokverify.references import REFERENCES

PACKAGE = Path(tokverify.__file__).parent
NAMES = {*FAMILIES, *(load().algorithm for load in FAMILIES.values()), *REFERENCES}
QUESTIONS = {"algorithm", "model", "name", "pre"}
BEGINS_OR_ENDS = {"startswith", "endswith"}


def find_comparisons(source: str) -> list[str]:
    """Return the comparisons of an algorithm, model or name with one of the known names."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            subjects = {getattr(part, "attr", getattr(part, "id", "")) for part in (node.left, *node.comparators)}
            constants = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}
            if subjects & QUESTIONS and constants & NAMES:
                found.append(ast.unparse(node))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in BEGINS_OR_ENDS:
            constants = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}
            if getattr(node.func.value, "attr", "") in QUESTIONS and constants & NAMES:
                found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize(
    "comparison",
    [
        'settings.algorithm == "spm"',
        'spec.model not in {"llama", "t5"}',
        'reference.name != "tokenizers"',
        'settings.pre.startswith("gemma4")',
    ],
)
def test_the_check_finds_a_comparison(comparison):
    assert find_comparisons(f"if {comparison}:\n    pass\n") == [comparison.replace('"', "'")]


def test_no_module_compares_names():
    paths = sorted(PACKAGE.rglob("*.py"))
    comparisons = {path: find_comparisons(path.read_text(encoding="utf-8")) for path in paths}
    assert {str(path): found for path, found in comparisons.items() if found} == {}


def test_no_module_gives_two_values_to_a_name():
    twice = []
    for path in PACKAGE.rglob("*.py"):
        names = [
            node.id
            for statement in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(statement, ast.Assign)
            for target in statement.targets
            for node in ast.walk(target)
            if isinstance(node, ast.Name)
        ]
        twice += [(str(path), name) for name in dict.fromkeys(names) if names.count(name) > 1]
    assert twice == []
