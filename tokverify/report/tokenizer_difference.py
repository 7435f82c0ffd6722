"""Differences between two tokenizers themselves, independent of any text, and which of them make a gate fail."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from tokverify.errors import TokverifyError
from tokverify.report.fields import Digest, MeaningEnum, RuleCode
from tokverify.report.finding import Severity
from tokverify.report.known_difference import KnownDifference
from tokverify.text.wording import suggest_name


class Origin(StrEnum):
    """Where a difference comes from."""

    FILE = "file"
    """Another GGUF file would agree with the reference."""
    CONVENTION = "convention"
    """llama.cpp's converter writes it so on purpose; a file that agrees could be written, but should not be."""
    RUNTIME = "runtime"
    """No GGUF file can agree: llama.cpp overrides, lacks or cannot express something."""
    REFERENCE = "reference"
    """The reference contradicts its own configuration, or is known to be outdated."""
    UNKNOWN = "unknown"
    """None of these could be proven."""


BLAME = "the reference is at fault"
"""How the messages of most differences of the origin REFERENCE begin."""


class Verdict(StrEnum):
    """What a report concludes."""

    EQUAL = "equal"
    """No case fails, and no difference reaches what a gate fails on."""
    FAITHFUL = "faithful"
    """Cases differ, but each only by proven limits of llama.cpp or conventions of its converter."""
    ACCEPTED = "accepted"
    """As either of these, once the known differences are set aside."""
    DIFFERENT = "different"
    """Anything else."""
    NOT_COMPARABLE = "not comparable"
    """Nothing was compared, or a side stopped answering."""


class Aspect(MeaningEnum):
    """What about two tokenizers can differ."""

    BYTES = "bytes", "an id represents different bytes"
    MISSING = "missing", "only the reference has a token with this id"
    EXTRA = "extra", "only the model has a token with this id"
    PADDING = "padding", "only one side has a token with this id, and it is padding or reserved"
    SIZE = "size", "the vocabularies have different sizes"
    TYPES = "types", "a token is matched in a text on one side only, or under other conditions"
    RANKING = "ranking", "scores or merges rank tokens in another order; an error if a text shows it"
    SPECIAL_IDS = "special-ids", "a role such as BOS, EOS or UNK belongs to different tokens"
    ENDS = "ends", "different tokens end a generation"
    AFFIXES = "affixes", "different tokens are added around a text, or a space before it"
    NORMALIZATION = "normalization", "texts are normalized differently, such as to lowercase"
    SPLITTING = "splitting", "the reference splits its own tokens, which the model keeps whole"
    DECODING = "decoding", "the same ids are decoded differently"
    TEMPLATE = "template", "the chat template is not the reference's, apart from white space"
    KEYS = "keys", "the file has keys that no known build of llama.cpp reads; fails with --strict"
    RULES = "rules", "a static rule reports a problem in the model, and the reference cannot contradict it"


CODES: Mapping[Aspect, str] = {
    **dict.fromkeys((Aspect.BYTES, Aspect.MISSING, Aspect.EXTRA, Aspect.PADDING, Aspect.SIZE), "TV201"),
    Aspect.SPECIAL_IDS: "TV201",
    Aspect.TYPES: "TV202",
    Aspect.AFFIXES: "TV206",
    Aspect.RANKING: "TV207",
    Aspect.ENDS: "TV212",
    Aspect.NORMALIZATION: "TV205",
    Aspect.SPLITTING: "TV213",
    Aspect.TEMPLATE: "TV210",
    Aspect.KEYS: "TV132",
}
"""Aspect -> the code of the rule of `tokverify audit` that reports the same difference; baselines name it."""

NOT_COMPARED = "not-compared"
"""In a list of what makes a run fail: something that could not be compared."""

FAIL_ON = ("error",)
"""What makes a run fail by default."""

SEVERITIES = tuple(severity.name.lower() for severity in Severity)
"""The names of the severities in such a list, the lowest first."""

FAIL_ON_NAMES: tuple[str, ...] = (*SEVERITIES, *Aspect, NOT_COMPARED, "none")
"""What can be listed: the lowest severity that fails, aspects that always fail, `not-compared`, or only `none`."""


def parse_fail_on(values: Iterable[str]) -> tuple[str, ...]:
    """Return the names in comma-separated lists, without duplicates; `none` alone stands for no name.

    Raises:
        TokverifyError: If a name is unknown, or `none` is not the only one.
    """
    names = list(dict.fromkeys(name.strip().lower() for value in values for name in value.split(",") if name.strip()))
    for name in names:
        if name not in FAIL_ON_NAMES:
            raise TokverifyError(f"{name!r} is neither a severity nor an aspect; {suggest_name(name, FAIL_ON_NAMES)}")
    if "none" not in names:
        return tuple(names)
    if len(names) > 1:
        raise TokverifyError("`none` must be the only name; remove it or the others")
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerDifference:
    """A difference between two tokenizers that needs no text to be seen."""

    aspect: Aspect
    """What differs; `--fail-on` names it."""
    severity: Severity
    """ERROR if it can change a prompt or what ends a generation."""
    message: str
    """One sentence."""
    origin: Origin = Origin.UNKNOWN
    """Whose fault it is, as far as that is proven."""
    ids: tuple[int, ...] = ()
    """All token ids involved."""
    keys: tuple[str, ...] = ()
    """All GGUF keys involved."""
    code: RuleCode | None = None
    """The code of the rule of `tokverify audit` that reports the same; None if there is none."""
    digest: Digest = ""
    """Identifies the difference in a baseline."""
    known: KnownDifference | None = None
    """The entry of a baseline that accepts it."""
    refusals: tuple[str, ...] = ()
    """Sentences on why entries of a baseline about this aspect do not accept it."""


def difference_fails(difference: TokenizerDifference, fail_on: Collection[str]) -> bool:
    """Check whether a difference makes a run fail that fails on these severities and aspects."""
    if difference.known:
        return False
    return difference.aspect in fail_on or severity_fails(difference.severity, fail_on)


def severity_fails(severity: Severity, fail_on: Collection[str]) -> bool:
    """Check whether a list of what fails contains this severity or a lower one."""
    return any(each.name.lower() in fail_on for each in Severity if each <= severity)


def lowest_severity(fail_on: Collection[str], default: Severity = Severity.ERROR) -> Severity | None:
    """Return the lowest severity of findings that fail: that of the list, `default` if it names only aspects.

    None if the list is empty, so that no finding fails.
    """
    if not fail_on:
        return None
    return next((severity for severity in Severity if severity.name.lower() in fail_on), default)


def select_failing(
    differences: Iterable[TokenizerDifference], fail_on: Collection[str]
) -> tuple[TokenizerDifference, ...]:
    """Return the differences that make a run fail."""
    return tuple(difference for difference in differences if difference_fails(difference, fail_on))
