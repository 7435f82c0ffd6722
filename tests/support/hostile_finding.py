"""Reports of `tokverify fuzz` and `diff` with every kind of content, in which every text is an attack."""

from dataclasses import replace
from functools import cache

from support.fake_tokenizer import FakeTokenizer
from support.make_golden import MARKUP, hostile_report
from tokverify.compare.comparison import compare_beyond_texts
from tokverify.compare.diff.compare import add_examples
from tokverify.compare.fuzz.loop import fuzz
from tokverify.compare.fuzz.plan import FuzzPlan
from tokverify.render.kinds import Presentation
from tokverify.report.diff import ChangeReport, Consequence, Effect, Level, Outcome, Part, PartChange, Witness
from tokverify.report.fuzz import FuzzReport
from tokverify.report.side import Side

HOSTILE = f"{MARKUP}\x1b[31m\u202e\0\udc80"
PIECES = ("[/INST]", "\x1b[2J", "<script>x</script>", "\u202e", "|`", "##[")
LETTERS = tuple(dict.fromkeys("".join(PIECES) + " ab"))
SIDES = (
    Side(f"<b>{HOSTILE}", f"models/{HOSTILE}.gguf", fingerprint="0" * 64, settings={HOSTILE: HOSTILE}),
    Side("right", f"ref/{HOSTILE}", reason=HOSTILE, caveat=HOSTILE),
)


class Reference(FakeTokenizer):
    """A tokenizer that decodes `é` differently."""

    def decode(self, ids: list[int]) -> bytes:
        return super().decode(ids).replace("é".encode(), b"\xff")


@cache
def hostile_fuzz() -> FuzzReport:
    """Fuzz two tokenizers that differ in every possible way."""
    actual = FakeTokenizer(*LETTERS, "%", "é", *PIECES, adds_special=False)
    expected = Reference(*LETTERS, "", "é", *PIECES[1:])
    fuzzed = fuzz(actual, expected, FuzzPlan(count=2000, generators=("pieces",), decoding=True), sides=SIDES)
    report = compare_beyond_texts(fuzzed.report, actual, expected)
    report = replace(report, options={"model": HOSTILE, "seed": 0}, versions={"tokverify": "1.2.3"})
    return replace(fuzzed, report=report, unlisted=7)


@cache
def hostile_change() -> ChangeReport:
    """Make a comparison in which everything changed."""
    tokens = Part("tokens", (PartChange("moved", HOSTILE, "id 3", "id 4"), PartChange("removed", "\t ", "id 5", None)))
    types = Part("types", tuple(PartChange("changed", f"{HOSTILE} {n}", "NORMAL", HOSTILE * 3) for n in range(1100)))
    report = ChangeReport(
        parts=(tokens, types),
        report=replace(hostile_report(), diagnosis=None, baseline=None, options={}),
        fuzzed=hostile_fuzz(),
        effect=Effect(lines=1000, changed_lines=999, bytes=20_000, changed_bytes=1, old_tokens=400, new_tokens=500),
        not_compared=(HOSTILE,),
        file=f"models/{HOSTILE}.gguf",
        consequences=_consequences(),
        breaking=tuple(Level),
        options={"old": HOSTILE, "new": HOSTILE, "fuzz": 30.0},
        versions={"tokverify": "1.2.3"},
    )
    return add_examples(report)


def _consequences() -> tuple[Consequence, ...]:
    """Make one of each level: one broken, one unknown, and three valid."""
    witness = Witness(HOSTILE, add_special=True, parse_special=False, old=HOSTILE, new=HOSTILE * 3)
    broken = Consequence(Level.VOCABULARY, Outcome.BROKEN, HOSTILE, HOSTILE, witness, 3)
    unknown = Consequence(Level.SPECIAL, Outcome.UNKNOWN, HOSTILE)
    return broken, unknown, *(Consequence(level, Outcome.VALID, HOSTILE) for level in list(Level)[2:])


def present_fuzz() -> Presentation:
    """Present the fuzzing run."""
    from tokverify.render.kinds import present

    return present("fuzz", hostile_fuzz())


def present_change() -> Presentation:
    """Present the comparison."""
    from tokverify.render.kinds import present

    return present("diff", hostile_change())
