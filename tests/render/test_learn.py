"""The report of `learn` for people."""

from dataclasses import replace

import pytest

from tokverify.render.kinds import FORMATS, present
from tokverify.render.options import RenderOptions
from tokverify.report.learn import LearnedDifference, LearnedFact, LearnedToken, Learning, Origin
from tokverify.report.side import Side

HOSTILE = "[red]x[/] \x1b[31m\u202e\0"
LEARNING = Learning(
    reference=Side(name="llama-server", source=f"http://localhost, {HOSTILE}"),
    target=f"{HOSTILE}.gguf",
    size=1300,
    encodings=1200,
    facts=(LearnedFact("model", "gpt2", Origin.IDS), LearnedFact("merges", "1,044", Origin.CONVENTION)),
    types={"NORMAL": 1280, "CONTROL": 20},
    added_tokens=tuple(LearnedToken(id, HOSTILE, special=True, lstrip=False, rstrip=True) for id in range(20)),
    alike=("mpt", "olmo"),
    hidden=("the chat template",),
    texts=1000,
    differing=2,
    examples=(LearnedDifference(HOSTILE, add_special=False, parse_special=True, expected=(1, 2), actual=None),),
    versions={},
)


@pytest.mark.parametrize("options", [RenderOptions(), RenderOptions(width=40, verbose=True), RenderOptions(quiet=True)])
def test_hostile_text_is_always_escaped(options):
    for name in ("table", "markdown"):
        assert not set("\x1b\u202e\0") & set(FORMATS["learn"][name](LEARNING, options))


def test_the_table_says_what_was_learned_and_how():
    table = " ".join(FORMATS["learn"]["table"](LEARNING, RenderOptions()).split())
    for line in (
        "asked for the ids of 1,200 texts",
        "1,300: 1,280 NORMAL, 20 CONTROL",
        "gpt2",
        "revealed by ids",
        "by convention, and agrees with the ids",
        "the same ids: mpt, olmo",
        "special",
        "right",
        "8 more, shown with -v",
        "Not revealed:",
        "the chat template",
        "1 2",
        "cannot be encoded",
        "998 of 1,000 generated texts (99.8%)",
    ):
        assert line in table, line
    assert "more, shown with -v" not in FORMATS["learn"]["table"](LEARNING, RenderOptions(verbose=True))


def test_the_exit_code_tells_whether_texts_differ():
    assert present("learn", LEARNING).exit_code == 1
    equal = present("learn", replace(LEARNING, differing=0, examples=()))
    assert (equal.exit_code, equal.verdict.endswith("for all 1,000 generated texts")) == (0, True)
