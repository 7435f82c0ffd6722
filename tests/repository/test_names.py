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


def find_comparisons(source: str) -> list[str]:
    """Return the comparisons of an algorithm, model or name with one of the known names."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            subjects = {getattr(part, "attr", getattr(part, "id", "")) for part in (node.left, *node.comparators)}
            constants = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}
            if subjects & QUESTIONS and constants & NAMES:
                found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize(
    "comparison",
    ['settings.algorithm == "spm"', 'spec.model not in {"llama", "t5"}', 'reference.name != "tokenizers"'],
)
def test_the_check_finds_a_comparison(comparison):
    assert find_comparisons(f"if {comparison}:\n    pass\n") == [comparison.replace('"', "'")]


def test_no_module_compares_names():
    paths = sorted(PACKAGE.rglob("*.py"))
    comparisons = {path: find_comparisons(path.read_text(encoding="utf-8")) for path in paths}
    assert {str(path): found for path, found in comparisons.items() if found} == {}
