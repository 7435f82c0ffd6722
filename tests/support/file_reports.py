"""Reports of the commands that write a tokenizer file: `fix`, `convert` and `learn`."""

from support.make_golden import hostile_report
from tokverify.report.convert import Conversion
from tokverify.report.diagnosis import Diagnosis
from tokverify.report.fix import FileRepair, FixReport, Verification
from tokverify.report.learn import LearnedDifference, LearnedFact, LearnedToken, Learning, Origin

_RUN = hostile_report()
FIX = FixReport(
    before=Verification(3, 2, 1, refusal="\ud800"),
    diagnosis=Diagnosis((), failing=2, tried=5),
    repair=FileRepair("turning add_bos on", ("tokenizer.ggml.add_bos_token",), "gguf-set-metadata MODEL KEY true"),
    after=Verification(5, 0),
)
LEARNING = Learning(
    reference=_RUN.expected,
    target="learned.gguf",
    size=300,
    encodings=1200,
    facts=(LearnedFact("model", "gpt2", Origin.IDS), LearnedFact("merges", "44", Origin.CONVENTION)),
    types={"NORMAL": 299, "CONTROL": 1},
    added_tokens=(LearnedToken(299, "<\ud800>", special=True, lstrip=False, rstrip=True),),
    alike=("mpt",),
    hidden=("chat template",),
    texts=1000,
    differing=2,
    examples=(LearnedDifference("\x1b", add_special=False, parse_special=True, expected=(1, 2), actual=None),),
    versions={"python": "3.11"},
)
CONVERSION = Conversion(
    source="a\x1b.json",
    target="a.gguf",
    kinds=("tokenizers", "gguf"),
    written=True,
    model="gpt2",
    size=300,
    pre_tokenizer=None,
    strings=50,
    differing=1,
    unexplained=0,
    untransportable=("lost: \u202e",),
    report=_RUN,
)
