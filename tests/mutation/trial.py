"""Try a mutation: what finds it, what the diagnosis says, and whether fix repairs it."""

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]

from gguf_maker import make_gguf, string  # noqa: E402
from mutation import CONTROL, Mutation  # noqa: E402
from real_data import SHARED  # noqa: E402
from spec_maker import BYTE_PIECES  # noqa: E402

from tokverify.audit import audit  # noqa: E402
from tokverify.audit.finding import Severity  # noqa: E402
from tokverify.audit.subject import Subject  # noqa: E402
from tokverify.cases import Case, load_cases  # noqa: E402
from tokverify.diagnosis import Facts, facts_of  # noqa: E402
from tokverify.encoder import Encoder  # noqa: E402
from tokverify.errors import TokverifyError  # noqa: E402
from tokverify.fixing import Plan, make_plan, write_fixed  # noqa: E402
from tokverify.fuzzing.loop import Worker  # noqa: E402
from tokverify.fuzzing.report import Plan as FuzzPlan  # noqa: E402
from tokverify.fuzzing.trial import Kind, Trial  # noqa: E402
from tokverify.gguf_change import changed_values  # noqa: E402
from tokverify.gguf_file import read_declaration, read_spec  # noqa: E402
from tokverify.gguf_patch import write_patched  # noqa: E402
from tokverify.load import load_gguf  # noqa: E402
from tokverify.references import open_reference  # noqa: E402
from tokverify.rules import RULES  # noqa: E402
from tokverify.spec import TokenizerSpec, TokenType  # noqa: E402

SAMPLE = Path(__file__).parents[2] / "tokverify" / "sample"
FUZZ_STRINGS = 2000


@dataclass(frozen=True)
class Outcome:
    """What became of a mutation; `audit` holds the codes of rules, the rest is as in docs/mutations.md."""

    mutation: Mutation
    audit: Sequence[str]
    run: str
    fuzz: bool
    diagnosis: str
    right: bool
    repaired: bool

    @property
    def found(self) -> bool:
        return bool(self.audit or self.run or self.fuzz)


def is_here(vocabulary: str) -> bool:
    return vocabulary in {"sample", *_MADE} or (SHARED / "vocabs" / f"{vocabulary}.gguf").is_file()


@cache
def intact(vocabulary: str) -> Path:
    """Return the good file of a vocabulary."""
    if vocabulary == "sample":
        return SAMPLE / "sample.gguf"
    if vocabulary not in _MADE:
        return SHARED / "vocabs" / f"{vocabulary}.gguf"
    directory = Path(tempfile.mkdtemp())
    bare = directory / "bare.gguf"
    bare.write_bytes(make_gguf({"general.architecture": string("llama")}))
    made = directory / f"{vocabulary}.gguf"
    write_patched(bare, made, changed_values(TokenizerSpec(model="", tokens=()), _MADE[vocabulary]))
    return made


def _made(model: str, tokens: dict[str, int], **fields: object) -> TokenizerSpec:
    return TokenizerSpec(model=model, tokens=[*tokens], types=[*tokens.values()], **fields)


_LETTERS = [chr(code) for code in range(0x20, 0x7F)]
_WORDS = ("ab", "bc", "abc", "the", " the", "in", "ing", "er", "th", "an", "re", "on", "at", "nd", "st", "or", "es")
_PLAMO = {
    "<unk>": TokenType.UNKNOWN.value,
    **dict.fromkeys(BYTE_PIECES, TokenType.BYTE.value),
    "[P]": CONTROL,
    **dict.fromkeys([*_LETTERS, *_WORDS], TokenType.NORMAL.value),
}
_MADE = {
    "rwkv": _made(
        "rwkv",
        {
            "<s>": CONTROL,
            **dict.fromkeys([*(repr(letter)[1:-1] if letter != "'" else "'" for letter in _LETTERS), *_WORDS], 1),
            **dict.fromkeys((f"\\x{byte:02x}" for byte in [*range(0x20), *range(0x7F, 0x100)]), 1),
        },
    ),
    "plamo2": _made("plamo2", _PLAMO, scores=[-float(id % 97) for id in range(len(_PLAMO))], special_ids={"unk": 0}),
}


@cache
def cases() -> list[Case]:
    return load_cases()


@cache
def facts(vocabulary: str, reference: str | None) -> Facts:
    """Return what is known of the reference of a mutation."""
    if reference is None:
        return facts_of(Encoder(read_spec(intact(vocabulary)), "intact"))
    found = open_reference(intact(vocabulary).with_name(vocabulary + reference))
    return facts_of(found.tokenizer, found.path)


def write_mutant(mutation: Mutation, target: Path) -> None:
    source = intact(mutation.vocabulary)
    spec = read_spec(source)
    write_patched(source, target, changed_values(spec, mutation.mutate(spec)))


@cache
def _usual_findings(vocabulary: str) -> frozenset[tuple[str, str]]:
    return frozenset(_findings(intact(vocabulary)))


def _findings(path: Path) -> list[tuple[str, str]]:
    report = audit(Subject(read_declaration(path)), RULES.values())
    return [(finding.code, finding.message) for finding in report.findings if finding.severity >= Severity.WARNING]


def try_mutation(mutation: Mutation, directory: Path, *, with_fuzz: bool = True) -> Outcome:
    """Make the mutant in a directory and do all that can be done about it."""
    path, fixed = directory / "mutant.gguf", directory / "fixed.gguf"
    write_mutant(mutation, path)
    known = facts(mutation.vocabulary, mutation.reference)
    audited = sorted({code for code, message in set(_findings(path)) - _usual_findings(mutation.vocabulary)})
    plan = make_plan(path, read_declaration(path), known, cases())
    best = plan.diagnosis.explanations[0] if plan.diagnosis and plan.diagnosis.explanations else None
    return Outcome(
        mutation,
        audited,
        "refused" if plan.before.refusal else f"{plan.before.fail} fail" if plan.before.fail else "",
        with_fuzz and not plan.before.refusal and _fuzz(path, known),
        best.sentence if best else "",
        bool(best and not best.unexplained and best.change.kind in mutation.kinds),
        _is_repaired(path, fixed, plan, known),
    )


def _fuzz(path: Path, known: Facts) -> bool:
    """Say whether fuzzing shows anything, without the sorting and shrinking of what it shows."""
    trial = Trial.of(load_gguf(path), known.expected, decoding=_decodes_alike(known))
    worker = Worker(trial, FuzzPlan())
    number = strings = 0
    while strings < FUZZ_STRINGS:
        result = worker.work(number, None)
        if any(outcome.kind is not Kind.SKIPPED for _, outcome in result.outcomes):
            return True
        number, strings = number + 1, strings + result.strings
    return False


def _decodes_alike(known: Facts) -> bool:
    return isinstance(known.expected, Encoder)


def _is_repaired(path: Path, fixed: Path, plan: Plan, known: Facts) -> bool:
    fixed.unlink(missing_ok=True)
    if plan.change is None:
        return False
    try:
        return write_fixed(path, fixed, plan, known.expected, cases()).fail == 0
    except TokverifyError:
        return False
