"""Location: what names a model or a reference, and who wrote it.

A location is either `Typed`, in this command or in Python code, or `FromFile`: text that a file contains, which a
stranger may have written. There is no third kind. What runs a program, installs packages, sends a key or imports the
code of another package takes a `Typed` location, and only `Location.require_typed` makes one of another.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tokverify.errors import TokverifyError

COMPANIONS = (
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
    "chat_template.json",
    "generation_config.json",
)
"""The files that may be next to a tokenizer and belong to it."""
_ALSO_READ = ("config.json", "added_tokens.json", "vocab.json", "merges.txt")
TEMPLATES = "additional_chat_templates"
"""The directory next to a tokenizer with further chat templates."""


class Location:
    """A path, an address, or a name such as `hf:org/name` or `command:PROGRAM`.

    `Path(location)` is its path, and leads only where the one who wrote it may lead.
    """

    @property
    def text(self) -> str:
        """What was written, to recognize and to show it."""
        raise NotImplementedError

    def at(self, text: str) -> Location:
        """Return what this location leads to, such as a file in a directory, or what follows a prefix."""
        raise NotImplementedError

    def require_typed(self, what: str, action: str, allowed: Collection[str] = (), advice: str = "") -> Typed:
        """Return the location if the user typed it, or allowed it by name.

        Args:
            what: How an error names the location.
            action: What only the user may ask for.
            allowed: The locations that the user allowed, whoever names them.
            advice: How to allow this one, besides naming it with -r.

        Raises:
            TokverifyError: If only a file names it.
        """
        raise NotImplementedError

    def require_anywhere(self) -> None:
        """Refuse a place on this machine that belongs to no repository.

        Raises:
            TokverifyError: If a file names it that may not lead there.
        """

    def require_reachable(self) -> None:
        """Refuse a path that leads out of the repository whose configuration names it.

        Raises:
            TokverifyError: If it does.
        """

    def __fspath__(self) -> str:
        self.require_reachable()
        return self.text


class Typed(str, Location):
    """What the user typed in this command, or wrote in Python code. Made in `commands/`, and nowhere else.

    It is a string, too, since that is what the loaders of other packages expect, which get no other location.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Typed:
        """Make a location.

        Raises:
            TypeError: If that would drop the origin of another one.
        """
        if not isinstance(text, str):
            raise TypeError(f"only a string can be typed, not {text!r}")
        return super().__new__(cls, text)

    @property
    def text(self) -> str:
        """The string."""
        return str(self)

    def at(self, text: str) -> Typed:
        """Return what this location leads to, which the user asked for."""
        return Typed(text)

    def require_typed(self, what: str, action: str, allowed: Collection[str] = (), advice: str = "") -> Typed:  # noqa: ARG002
        """Return the location itself."""
        return self


@dataclass(frozen=True, slots=True)
class Origin:
    """The file that contains a location, and how far it may lead."""

    file: Path
    key: str = ""
    """The place in the file, for messages."""
    root: Path | None = None
    """The directory that no path may leave; None if paths may lead anywhere on this machine."""
    option: str = ""
    """The option that lifts this limit."""

    def require_inside(self, path: Path) -> None:
        """Refuse a path that leads out of the root, through links too.

        Of a directory, every file below it counts; of a file, those beside it that may belong to a tokenizer.

        Raises:
            TokverifyError: If it does.
        """
        if self.root:
            root = self.root
            outside = next((file for file in (path, *_files_around(path)) if not is_inside(file, root)), None)
            self.refuse(outside)

    def refuse(self, outside: Path | str | None) -> None:
        """Refuse a place outside of the root, if there are both.

        Raises:
            TokverifyError: If so; it names the file, the place in it, and the option that lifts the limit.
        """
        if self.root and outside:
            place = f"{self.file}: {self.key}" if self.key else str(self.file)
            raise TokverifyError(
                f"{place} leads to {outside}, outside of the repository {self.root}; "
                f"if you trust this configuration, allow it with {self.option}"
            )


class FromFile(Location):
    """What a file contains: a configuration, a plan, or anything else that may come from somebody else."""

    def __init__(self, text: str, origin: Origin) -> None:
        self._text = text
        self.origin: Final = origin

    @property
    def text(self) -> str:
        """The string in the file."""
        return self._text

    def at(self, text: str) -> FromFile:
        """Return what this location leads to, which the same file names."""
        return FromFile(text, self.origin)

    def require_typed(self, what: str, action: str, allowed: Collection[str] = (), advice: str = "") -> Typed:
        """Return the location if the user allowed it by name.

        Raises:
            TokverifyError: If not.
        """
        if self.text.strip() in allowed:
            return Typed(self.text)
        raise TokverifyError(f"{what}: a configuration or stored plan may not {action}; name it with -r{advice}")

    def require_anywhere(self) -> None:
        """Refuse a place outside of the root.

        Raises:
            TokverifyError: If there is a root.
        """
        self.origin.refuse(self.text)

    def require_reachable(self) -> None:
        """Refuse a path that leads out of the root.

        Raises:
            TokverifyError: If it does.
        """
        # subtle: what follows a colon may be the pattern of the file before it.
        parts = self.text.split(":")
        for count in range(1, len(parts)):
            if os.path.lexists(path := ":".join(parts[:count])):
                self.origin.require_inside(Path(path))
        self.origin.require_inside(Path(self.text))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FromFile) and (self.text, self.origin) == (other.text, other.origin)

    def __hash__(self) -> int:
        return hash((self.text, self.origin))

    def __repr__(self) -> str:
        return f"FromFile({self.text!r}, {self.origin!r})"


def is_inside(path: Path, root: Path) -> bool:
    """Whether a path leads to a place below a directory, through links too."""
    # subtle: a loop of links is resolved to a path inside of it, and is no file.
    return Path(os.path.realpath(path)).is_relative_to(root)


def _files_around(path: Path) -> Iterator[Path]:
    for place, directories, names in os.walk(path):
        yield from (Path(place, name) for name in (*directories, *names))
    if os.path.isfile(path):  # noqa: PTH113 - Path.is_file raises an error for a name that is too long
        _, directories, names = next(os.walk(path.parent), ("", [], []))
        yield from (path.with_name(name) for name in names if name.endswith((*COMPANIONS, *_ALSO_READ)))
        for folder in (path.with_name(name) for name in directories if name.endswith(TEMPLATES)):
            yield from (folder, *_files_around(folder))
