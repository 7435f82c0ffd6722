"""Try a mutation: what finds it, how it is diagnosed, and whether `fix` repairs it."""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from support.bare_tokenizer import Bare
from support.gguf_maker import make_gguf, string
from support.made_vocabulary import MADE
from support.mutation import CONTROL, Mutation
from support.paths import SAMPLE
from support.real_data import REAL, SHARED
from support.spec_maker import BYTE_PIECES
from tokverify.case import Case
from tokverify.cases.loading import load_cases
from tokverify.compare.audit import audit
from tokverify.compare.checks import RULES
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.fuzz.plan import FuzzPlan
from tokverify.compare.fuzz.trial import Trial
from tokverify.compare.fuzz.worker import Worker
from tokverify.compare.opened import Opened
from tokverify.compare.subject import Subject
from tokverify.engine.encoder import Encoder
from tokverify.errors import TokverifyError
from tokverify.references import open_reference
from tokverify.repair.fix.fixing import Plan, make_plan, write_fixed
from tokverify.report.diagnosis import Explanation
from tokverify.report.finding import Severity
from tokverify.report.fix import Verification
from tokverify.report.fuzz import DifferenceKind
from tokverify.report.run import count_decode_differences
from tokverify.sources.gguf.declaration import read_declaration, read_spec
from tokverify.sources.gguf.patch import write_patched
from tokverify.sources.gguf.values import changed_values
from tokverify.sources.load import load_gguf
from tokverify.spec import TokenizerSpec, TokenType

FUZZ_SECONDS = 30.0
"""The processor time after which fuzzing counts as not having found a fault."""


@dataclass(frozen=True)
class Fuzzed:
    """Whether fuzzing found a difference, and after how many strings and seconds of processor time."""

    found: bool
    strings: int
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """The result of trying a mutation."""

    mutation: Mutation
    audit: Sequence[str]
    """The codes of the rules that report it."""
    before: Verification
    """The counts of `run`."""
    fuzz: Fuzzed | None
    """None if the mutant cannot be loaded, or fuzzing was not requested."""
    best: Explanation | None
    """The first explanation."""
    repaired: bool
    bare: Explanation | None
    """The first explanation with a reference that returns only ids and bytes."""

    @property
    def found(self) -> bool:
        return bool(self.audit or self.before.fail or (self.fuzz and self.fuzz.found))

    @property
    def right(self) -> bool:
        return names(self.mutation, self.best) and explains_all(self.best)

    @property
    def named_bare(self) -> bool:
        return names(self.mutation, self.bare)

    @property
    def right_bare(self) -> bool:
        return self.named_bare and explains_all(self.bare)


def names(mutation: Mutation, explanation: Explanation | None) -> bool:
    """Whether an explanation names the fault."""
    return explanation is not None and set(explanation.kind.split("+")) <= set(mutation.kinds)


def explains_all(explanation: Explanation | None) -> bool:
    """Whether an explanation covers every failing case."""
    return explanation is not None and not explanation.unexplained


def is_here(vocabulary: str) -> bool:
    return vocabulary in {"sample", *_MADE, *MADE} or intact(vocabulary).is_file()


@cache
def intact(vocabulary: str) -> Path:
    """Return the intact file of a vocabulary."""
    if vocabulary == "sample":
        return SAMPLE / "sample.gguf"
    if vocabulary not in {*_MADE, *MADE}:
        real = REAL / "gguf" / f"{vocabulary}.gguf"
        return real if real.is_file() else SHARED / "vocabs" / f"{vocabulary}.gguf"
    directory = Path(tempfile.mkdtemp())
    bare = directory / "bare.gguf"
    bare.write_bytes(make_gguf({"general.architecture": string("llama")}))
    made = directory / f"{vocabulary}.gguf"
    spec = _MADE[vocabulary] if vocabulary in _MADE else MADE[vocabulary]()
    write_patched(bare, made, changed_values(TokenizerSpec(model="", tokens=()), spec))
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
def facts(vocabulary: str, reference: str | None) -> Opened:
    """Return the available facts about the reference of a mutation."""
    if reference is None:
        return Opened(Encoder(read_spec(intact(vocabulary)), "intact"))
    found = open_reference(intact(vocabulary).with_name(vocabulary + reference))
    return Opened(found.tokenizer, found.path)


def write_mutant(mutation: Mutation, target: Path) -> None:
    source = intact(mutation.vocabulary)
    spec = read_spec(source)
    write_patched(source, target, changed_values(spec, mutation.mutate(spec)))


@cache
def _usual_findings(vocabulary: str) -> frozenset[tuple[str, str]]:
    return frozenset(_findings(intact(vocabulary)))


def new_findings(path: Path, vocabulary: str) -> list[str]:
    """Return the codes of the rules that report something in a file, but not in the intact one."""
    return sorted({code for code, message in set(_findings(path)) - _usual_findings(vocabulary)})


def _findings(path: Path) -> list[tuple[str, str]]:
    report = audit(Subject(read_declaration(path)), RULES.values())
    return [(finding.code, finding.message) for finding in report.findings if finding.severity >= Severity.WARNING]


@cache
def _usual_decoding(vocabulary: str, reference: str | None) -> int:
    """Return how many cases the intact file decodes differently from its reference."""
    expected = facts(vocabulary, reference).tokenizer
    return count_decode_differences(verify_tokenizers(load_gguf(intact(vocabulary)), expected, cases()))


def try_mutation(mutation: Mutation, directory: Path, *, with_fuzz: bool = True, with_bare: bool = True) -> Outcome:
    """Write the mutant to a directory, then audit, verify, fuzz, diagnose and repair it."""
    path, fixed = directory / "mutant.gguf", directory / "fixed.gguf"
    path.unlink(missing_ok=True)
    write_mutant(mutation, path)
    known = facts(mutation.vocabulary, mutation.reference)
    audited = new_findings(path, mutation.vocabulary)
    plan = _plan(path, known)
    return Outcome(
        mutation,
        audited,
        plan.before.verification(),
        _fuzz(path, known) if with_fuzz and plan.before.encoder else None,
        _best(plan),
        _is_repaired(mutation, path, fixed, plan),
        _best(_plan(path, Opened(Bare(known.tokenizer)))) if with_bare else None,
    )


def _plan(path: Path, known: Opened) -> Plan:
    return make_plan(path, read_declaration(path), known, cases())


def _best(plan: Plan) -> Explanation | None:
    return plan.diagnosis.explanations[0] if plan.diagnosis and plan.diagnosis.explanations else None


def _fuzz(path: Path, known: Opened) -> Fuzzed:
    """Fuzz until a difference is found or time is up, without grouping or shrinking."""
    trial = Trial.of(load_gguf(path), known.tokenizer, decoding=isinstance(known.tokenizer, Encoder))
    start = time.process_time()
    worker = Worker(trial, FuzzPlan())
    number = strings = 0
    while (seconds := time.process_time() - start) < FUZZ_SECONDS:
        result = worker.work(number, None)
        shown = [at for at, outcome in result.outcomes if outcome.kind is not DifferenceKind.SKIPPED]
        if shown:
            return Fuzzed(True, strings + shown[0] + 1, time.process_time() - start)
        number, strings = number + 1, strings + result.strings
    return Fuzzed(False, strings, seconds)


def _is_repaired(mutation: Mutation, path: Path, fixed: Path, plan: Plan) -> bool:
    """Whether `fix` writes a file that agrees with the reference as well as the intact file does."""
    fixed.unlink(missing_ok=True)
    if plan.change is None:
        return False
    try:
        write_fixed(path, fixed, plan)
    except TokverifyError:
        return False
    after = plan.after.verification()
    return not after.fail and after.decoded_differently <= _usual_decoding(mutation.vocabulary, mutation.reference)
