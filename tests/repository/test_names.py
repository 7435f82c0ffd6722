"""No code compares names of models, algorithms or references: it asks the family, or checks for a capability."""

import ast
import re
from pathlib import Path

import pytest

import tokverify
from tokverify.engine.families import FAMILIES
from tokverify.references import REFERENCES

PACKAGE = Path(tokverify.__file__).parent
NAMES = {*FAMILIES, *(load().algorithm for load in FAMILIES.values()), *REFERENCES}
QUESTIONS = {"algorithm", "model", "name", "pre"}
BEGINS_OR_ENDS = {"startswith", "endswith"}
NAMED = re.compile(f"""["'](?:{"|".join(map(re.escape, sorted(NAMES)))})["']""")
"""Most modules contain none of the names, and parsing them takes seconds."""
ASSIGNMENT = re.compile(r"^(\w+(?:, \w+)*) = ", re.MULTILINE)


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
    for node in ast.walk(ast.parse(source if NAMED.search(source) else "")):
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


def find_repeated(source: str) -> list[str]:
    """Return the names to which a module itself assigns more than once."""
    names = [name for targets in ASSIGNMENT.findall(source) for name in targets.split(", ")]
    return [name for name in dict.fromkeys(names) if names.count(name) > 1]


def test_the_check_finds_two_values():
    assert find_repeated("A, B = 1, 2\nC = 3\nB = [\n    4,\n]\nif C:\n    A = 5\n") == ["B"]


def test_no_module_gives_two_values_to_a_name():
    repeated = {path: find_repeated(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")}
    assert {str(path): names for path, names in repeated.items() if names} == {}
