"""Write the golden files that tests/render/test_golden_files.py compares with.

Run `PYTHONPATH=tests python tests/support/make_golden.py` after an intended change of a format, and review the
difference before you commit it.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from pathlib import Path

from support.fake_tokenizer import FakeTokenizer
from tokverify.case import Case
from tokverify.compare.baseline import Baseline
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.digest import digest
from tokverify.errors import UnsupportedError
from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions
from tokverify.repair.repair import add_repairs
from tokverify.report.diagnosis import Diagnosis, Explanation
from tokverify.report.known_difference import KnownDifference
from tokverify.report.run import CaseResult, Report
from tokverify.report.side import Side

GOLDEN = Path(__file__).parents[1] / "render" / "golden"
OUTPUTS = {
    "table.txt": ("table", RenderOptions()),
    "table-narrow.txt": ("table", RenderOptions(width=50)),
    "table-color.txt": ("table", RenderOptions(color=True)),
    "table-verbose.txt": ("table", RenderOptions(verbose=True)),
    "table-quiet.txt": ("table", RenderOptions(quiet=True)),
    "json.json": ("json", RenderOptions()),
    "markdown.md": ("markdown", RenderOptions()),
    "markdown-verbose.md": ("markdown", RenderOptions(verbose=True)),
    "markdown-quiet.md": ("markdown", RenderOptions(quiet=True)),
    "junit.xml": ("junit", RenderOptions()),
    "github.txt": ("github", RenderOptions()),
    "gitlab.json": ("gitlab", RenderOptions()),
    "sarif.sarif": ("sarif", RenderOptions()),
}

LETTERS = "abcdefghijklmnopqrstuvwxyzINST/<>[] \n\t\x1b\x00\u202e\u0301é🦙\u200b:%|`&\"'#{}()!*~-,;01A\r\ufffe"
PIECES = [*LETTERS, "word", "[/INST]", "[red]", "[/]", "<s>", "\udc80", "```", "]]>", "<script>", "::error::", "##["]
MARKUP = "::error::%0A##[x]\r\n]]>&amp;<script>alert(1)</script>|`a``b```c` [x](y) {0} *b* -->\ufffe \"'"


class Expected(FakeTokenizer):
    """A tokenizer that decodes without white space at the ends and cannot encode one text."""

    def encode(self, text: str, **options: bool) -> list[int]:
        if text == "unsupported":
            raise UnsupportedError("a running server cannot be asked for [bold]this[/bold]")
        return super().encode(text.replace("e\u0301", "é"), **options)

    def decode(self, ids: list[int]) -> bytes:
        return super().decode(ids).strip()


def hostile_report() -> Report:
    """Make a report with every kind of result, in which texts and pieces are attacks."""
    actual = FakeTokenizer(*PIECES, "zz", "\x1b[2J", special=["<s>"], special_ids={"bos": 0, "eos": 1})
    expected = Expected(
        *PIECES, "  ", "[/x]", "   ", special=["<s>"], parses_special=False, special_ids={"bos": 0, "eos": 2}
    )
    sides = (
        Side(
            "[red]\x1b[31mmodel\u202e",
            "models/[/]model.gguf",
            fingerprint="0123456789abcdef" * 4,
            sha256="fedcba9876543210" * 4,
            settings={"algorithm": "spm", "add_bos": True},
            overrides=("type of 7 '[/INST]\x1b': declared NORMAL, effective CONTROL",),
        ),
        Side("fake", "ref/tokenizer.json", reason="it was asked for", caveat="it proves [nothing]"),
    )
    report = verify_tokenizers(actual, expected, list(_cases()), sides=sides)
    report = hostile_baseline(report.results).apply(report)
    report = replace(report, diagnosis=hostile_diagnosis())
    report = replace(report, versions={"tokverify": "1.2.3", "fake": "0"}, options={"model": "model.gguf", "tags": []})
    return add_repairs(report)


def hostile_baseline(results: Iterable[CaseResult]) -> Baseline:
    """Make a baseline with an entry of every kind: accepted, expired, for another difference, fixed, not run."""
    digests = {result.case.name: digest(result) for result in results}
    accepted = [
        ("hostile/many", digests["hostile/many"], date(2030, 1, 1)),
        ("hostile/surrogate", digests["hostile/surrogate"], None),
        ("hostile/run", digests["hostile/run"], date(2026, 1, 1)),
        ("hostile/composed", "0" * 16, None),
        ("hostile/plain", "1" * 16, None),
        ("hostile/absent", "2" * 16, None),
    ]
    entries = [
        KnownDifference(case=case, difference=found, reason=MARKUP, expires=expires, place=f"known[1].yaml:{line}")
        for line, (case, found, expires) in enumerate(accepted, 1)
    ]
    return Baseline("known[1].yaml", tuple(entries), today=date(2026, 6, 1))


def hostile_diagnosis() -> Diagnosis:
    """Make a diagnosis with every kind of explanation."""
    causes = [
        ("typing token 7 [/INST]\x1b USER_DEFINED", ("hostile/[red]",), True, None),
        ("naming the pre-tokenizer [bold]\u202e", tuple(f"s/{n}" for n in range(9)), True, "gguf-new-metadata '[x]'"),
        ("normalizing texts with NFC first", (), False, None),
    ]
    explanations = tuple(
        Explanation(
            kind="k",
            sentence=sentence,
            explained=10 - len(left),
            failing=10,
            unexplained=left,
            expressible=expressible,
            gguf_command=command,
        )
        for sentence, left, expressible, command in causes
    )
    return Diagnosis(explanations, failing=10, tried=42, stopped_early=True)


def _cases() -> list[Case]:
    texts = {
        "plain": "word",
        "hostile": "[/INST] [red]word[/]\x1b\x00\u202e  \tword\n",
        "not-utf8": "\udc80",
        "surrogate": "a\ud800",
        "unknown": "a§",
        "markup": f"{MARKUP}  word",
        "unsupported": "unsupported",
        "special": "<s>word",
        "trailing": "word ",
        "composed": "cafe\u0301s",
        "long": "word " * 190 + "  word" + " word" * 20,
        "many": "a" + "  a" * 10,
        "run": " " * 9 + "\u200b",
    }
    cases = [Case(id=id, suite="hostile", text=text, file="my[1].yaml", line=7) for id, text in texts.items()]
    cases[1] = replace(cases[1], note="What [bold]could[/bold] go wrong.", tags=("rich",))
    return [*cases, Case(id="own", suite="expect", text="ab", expect={"fake": (0, 99)})]


def render(name: str) -> bytes:
    """Return the expected content of a golden file."""
    format_name, options = OUTPUTS[name]
    return FORMATS["run"][format_name](hostile_report(), options).encode()


if __name__ == "__main__":
    for output in OUTPUTS:
        (GOLDEN / output).write_bytes(render(output))
