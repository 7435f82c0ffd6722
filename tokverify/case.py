"""Define test cases, the suites that contain them, and the names of those."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from tokverify.errors import TokverifyError

Expect: TypeAlias = tuple[int | str, ...]
"""The tokens expected for a text: their ids, or their pieces; never a mixture."""

SuiteSource: TypeAlias = "Path | str"
"""Where to read suites: a file or directory as a `Path`, or the string `SHIPPED`."""

SHIPPED = "shipped"
"""The name of the suites that come with tokverify."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One text with its encoding options."""

    id: str
    """Unique within the suite."""
    suite: str
    """The name of the suite that contains it."""
    text: str
    """What is encoded."""
    tags: tuple[str, ...] = ()
    """What `--tag` selects it by."""
    note: str = ""
    """Why the case exists: what it is meant to catch."""
    add_special: bool = False
    """Whether tokens such as BOS and EOS are added around the text."""
    parse_special: bool = True
    """Whether control tokens in the text are recognized."""
    expect: Mapping[str, Expect] = field(default_factory=dict)
    """Expected ids or pieces by the name, fingerprint or family of a tokenizer."""
    file: str = ""
    """The file that defines the case."""
    line: int = 0
    """The line of the definition, starting at 1."""
    shipped: bool = field(default=False, compare=False)
    """Whether the case comes with tokverify; always False in a saved report, which does not record it."""

    @property
    def name(self) -> str:
        """The case as suite/id."""
        return f"{self.suite}/{self.id}"


@dataclass(slots=True)
class Suite:
    """The content of one file."""

    file: str
    name: str
    line: int = 1
    """The line that names the suite, starting at 1."""
    cases: list[Case] = field(default_factory=list)
    """The cases; complete only if there are no complaints."""
    complaints: list[str] = field(default_factory=list)
    """The errors in the file, each beginning with `file:line: `."""
    hints: list[str] = field(default_factory=list)
    """Probable mistakes that are allowed, in the same form."""


def is_shipped(name: str, directory: Path = Path()) -> bool:
    """Check whether a user's name for suites means the shipped ones, and not a path relative to `directory`.

    Raises:
        TokverifyError: If the name is ambiguous because such a path exists.
    """
    if name == SHIPPED and (directory / name).exists():
        raise TokverifyError(
            f"{name!r} means the suites that come with tokverify, but {directory / name} exists as well;"
            f" write ./{name} to use that path"
        )
    return name == SHIPPED


def name_of_source(source: SuiteSource) -> str:
    """Return the name a user writes for suites; `is_shipped` distinguishes it from a path again."""
    if isinstance(source, str):
        return source
    return f"./{SHIPPED}" if source == Path(SHIPPED) else source.as_posix()
