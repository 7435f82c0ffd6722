"""Lists of cases at every width: names and tags stay whole, and every text can be read."""

import pytest
from rich.cells import cell_len

from tokverify.case import Case
from tokverify.cases.loading import load_cases
from tokverify.render.listing import list_cases
from tokverify.render.options import RenderOptions

LONG = "x" * 200


def case(id: str, text: str, *tags: str) -> Case:
    return Case(id=id, suite="suite", text=text, tags=tags)


def test_texts_are_next_to_names_if_there_is_space():
    listed = list_cases([case("a", "x y", "t"), case("bcd", "", "u", "v")], RenderOptions(width=40))
    assert listed == "case       tags  text\nsuite/a    t     x·y\nsuite/bcd  u v\n\n2 cases in 1 suite\n"


def test_texts_are_below_names_if_space_is_short():
    listed = list_cases([case("a-long-name", LONG, "some", "tags")], RenderOptions(width=30))
    assert listed.splitlines()[:3] == ["suite/a-long-name  some tags", f"  {'x' * 28}", f"  {'x' * 28}"]


@pytest.mark.parametrize("width", [60, 80, 92, 93, 100, 140])
def test_names_and_tags_are_whole(width: int):
    cases = load_cases()
    lines = list_cases(cases, RenderOptions(width=width)).splitlines()
    assert max(map(cell_len, lines)) <= width
    words = {word for line in lines for word in line.split()}
    assert {f"{case.suite}/{case.id}" for case in cases} <= words
    assert {tag for case in cases for tag in case.tags} <= words
