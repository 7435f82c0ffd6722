"""The result of a diagnosis, as data."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Command:
    """A command line that can be pasted into a shell."""

    label: str
    """The words that lead to it, such as `repair`."""
    arguments: tuple[str, ...]
    """The program and its arguments, quoted for a shell; an option and its value are one item."""


def command_line(command: Command) -> str:
    """Return a command as one line."""
    return " ".join(command.arguments)


@dataclass(frozen=True, slots=True)
class Repair:
    """What the user can do about an explanation."""

    commands: tuple[Command, ...] = ()
    """Alternatives: any one of them is enough."""
    remark: str = ""
    """Why there is no command, or what to know about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A change to the tokenizer that makes failing cases match and breaks at most a few that match by accident."""

    kind: str
    """The kinds of its changes, joined with `+`, such as `types+pre`."""
    sentence: str
    """What the change does, as a gerund phrase, such as `setting the pre-tokenizer to llama-bpe`."""
    explained: int
    """How many of the failing cases match with it."""
    failing: int
    """How many cases the diagnosis looked at."""
    unexplained: tuple[str, ...]
    """The failing cases that it leaves, as suite/id."""
    expressible: bool
    """Whether a GGUF file can express it."""
    expressible_part: str = ""
    """If a GGUF file can express only some of its changes, these, as a gerund phrase."""
    inexpressible_part: str = ""
    """The others in that case."""
    differences: int = 0
    """How many failing differences between the tokenizers themselves it removes, if it is the change that
    `tokverify fix` writes; not counted for others."""
    is_repair: bool = False
    """Whether `tokverify fix` writes exactly this change, or the part of it that GGUF can express."""
    broken: int = 0
    """How many cases no longer match with it; each of them weighs as much as several explained ones."""
    gguf_command: str | None = None
    """The command of the `gguf` package that does the same, where there is one; MODEL and FIXED stand for the files."""
    repair: Repair = field(default_factory=Repair)
    """What to do about it, with the files named."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why cases fail, or the tokenizers themselves differ."""

    explanations: tuple[Explanation, ...]
    """The explanations, the best one first."""
    failing: int
    """How many cases the diagnosis looked at."""
    tried: int
    """How many changes it tried."""
    stopped_early: bool = False
    """Whether it reached its limit of encodings before it had tried all changes."""
    not_tried: tuple[str, ...] = ()
    """The kinds of changes that it had not, or not completely, tried by then."""
    differences: int = 0
    """How many failing differences between the tokenizers themselves it looked at."""
    decoding: bool = False
    """Whether all ids are equal, so that it looked at the cases whose ids decode differently."""
