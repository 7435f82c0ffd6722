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


def constants_in(node: ast.AST) -> set[object]:
    return {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}


def is_question(function: ast.expr) -> bool:
    """Whether a method asks how a model, algorithm or name begins or ends."""
    return (
        isinstance(function, ast.Attribute)
        and function.attr in BEGINS_OR_ENDS
        and getattr(function.value, "attr", "") in QUESTIONS
    )


def find_comparisons(source: str) -> list[str]:
    """Return the comparisons of an algorithm, model or name with one of the known names."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            subjects = {getattr(part, "attr", getattr(part, "id", "")) for part in (node.left, *node.comparators)}
            if subjects & QUESTIONS and constants_in(node) & NAMES:
                found.append(ast.unparse(node))
        elif isinstance(node, ast.Call) and is_question(node.func) and constants_in(node) & NAMES:
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
