"""Read a file of a git revision: follow links, and fetch files in Git LFS."""

from __future__ import annotations

import os
import posixpath
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from subprocess import CompletedProcess
from typing import BinaryIO

from tokverify.errors import TokverifyError
from tokverify.location import COMPANIONS, TEMPLATES
from tokverify.references import is_kind
from tokverify.sources.config import MOST_TEMPLATES, beside
from tokverify.sources.location import file_and_rest
from tokverify.system.content import POINTER
from tokverify.system.git import git
from tokverify.system.http_address import lacks_scheme, scheme_advice
from tokverify.system.input_file import MAX_POINTER_BYTES

_DIRECTORY = "a directory"
# A model of many gigabytes may have to be downloaded.
_FETCH_SECONDS = 4 * 3600
_OBJECT = re.compile(rb"([0-9a-f]+) (\w+) ([0-9]+)\n")
# Before the reason, git-lfs prints the name and the id of the object twice, abbreviated and in full.
_LFS_REASON = re.compile(r"^Error downloading object: .*\([0-9a-f]{7,64}\): (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Revision:
    """A revision of the repository that contains the current directory, by any name that git accepts."""

    name: str

    def write(self, path: str, directory: Path) -> Path:
        """Write a file and the configuration next to it into a directory, and return the path of the written file.

        As in git, `path` is relative to the root of the repository, or with `./` or `../` to the current directory.

        Raises:
            TokverifyError: If there is no such file, or git cannot write it.
        """
        target = directory / (Path(path).name or "tree")
        from_root = _from_root(path)
        blob = self._find(from_root)
        if blob == _DIRECTORY or target.name in COMPANIONS:
            within = path if blob == _DIRECTORY else posixpath.dirname(path)
            tokenizer = f"{self.name}:{posixpath.join(within, 'tokenizer.json')}"
            what = "a directory" if blob == _DIRECTORY else "no tokenizer, but read with the one beside it"
            raise TokverifyError(f"{self.name}:{path}: {what}; name the tokenizer, such as {tokenizer}")
        if not isinstance(blob, _Blob):
            raise TokverifyError(
                f"{self.name}:{path}: {blob} at {self.name}; check the path, which is relative to the root of the"
                " repository (a submodule has its own)"
            )
        blob.write(target, f"{self.name}:{path}")
        for place, other in self._companions(target, Path(from_root)):
            companion = self._find(other.as_posix())
            if isinstance(companion, _Blob):
                place.parent.mkdir(exist_ok=True)
                companion.write(place, f"{self.name}:{other.as_posix()}")
        return target

    def _companions(self, target: Path, from_root: Path) -> Iterator[tuple[Path, Path]]:
        """Yield where to write each file that may belong to a tokenizer, and its path from the root."""
        for name in (*COMPANIONS, TEMPLATES):
            place, other = beside(target, name), beside(from_root, name)
            if place and other and name == TEMPLATES:
                listed = git("ls-tree", "-z", "--name-only", "--full-tree", self.name, f"{other.as_posix()}/").stdout
                templates = (Path(os.fsdecode(path)).name for path in listed.split(b"\0") if path.endswith(b".jinja"))
                yield from ((place / template, other / template) for template in islice(templates, MOST_TEMPLATES))
            elif place and other:
                yield place, other

    def _find(self, path: str) -> _Blob | str:
        """Find a file by its path from the root, or describe what is there instead."""
        # git knows the root by an empty path.
        location = f"{self.name}:{'' if path == '.' else path}"
        if "\n" in location:
            raise TokverifyError(f"{location!r}: git cannot look up a name with a line break; rename the file")
        # Prints `ID TYPE SIZE`, or `LOCATION missing`, or `WORD LENGTH` for broken links.
        answer = git("cat-file", "--batch-check", "--follow-symlinks", input=os.fsencode(location))
        match = _OBJECT.fullmatch(answer.stdout)
        id, kind, size = match.groups() if match else (b"", b"", b"")
        if kind == b"blob":
            return _Blob(id.decode(), int(size), path)
        return _DIRECTORY if kind == b"tree" else "no such file"


@dataclass(frozen=True, slots=True)
class _Blob:
    """The contents of a file in git; `size` is in bytes."""

    id: str
    size: int
    path: str

    def write(self, target: Path, location: str) -> None:
        """Write it as a checkout would.

        Raises:
            TokverifyError: If that fails; the message names the location.
        """
        content = git("cat-file", "blob", self.id).stdout if self.size < MAX_POINTER_BYTES else b""
        with target.open("wb") as file:
            # subtle: the .gitattributes of the working tree decide which filters apply. They may differ, or be missing,
            # as in a bare repository. A pointer is recognized without them.
            if content.startswith(POINTER):
                _fetch(content, self.path, location, file)
                return
            done = git("cat-file", "--filters", f"--path={self.path}", self.id, stdout=file, seconds=_FETCH_SECONDS)
        if done.returncode:
            raise TokverifyError(f"{location}: git cannot write it: {_last_line(done)}")


def revision_of(location: str) -> Revision | None:
    """Return the revision in `REVISION:PATH`; None if the location is something else.

    Raises:
        TokverifyError: If it cannot be anything else, and there is no such revision.
    """
    name, _, path = location.partition(":")
    # subtle: git would parse a name with a leading dash as an option.
    if not name or not path or name.startswith("-"):
        return None
    found = git("rev-parse", "-q", "--verify", f"{name}^{{commit}}")
    # `^REVISION`, which excludes its ancestors, is accepted too.
    if found.returncode == 0 and not found.stdout.startswith(b"^"):
        return Revision(name)
    if not is_kind(name) and not path.startswith("//") and not file_and_rest(location):
        if lacks_scheme(location):
            raise TokverifyError(f"{location!r}: no such file or revision; {scheme_advice(location)}")
        raise TokverifyError(f"{location!r}: no such file, and {_explain_unknown(name, found)}")
    return None


def path_here(path: str) -> str:
    """Return the path in `REVISION:PATH` relative to the current directory."""
    if path.startswith(("./", "../")):
        return posixpath.normpath(path)
    up = os.fsdecode(git("rev-parse", "--show-cdup").stdout.rstrip(b"\n"))
    return posixpath.normpath(up + path)


def _explain_unknown(name: str, result: CompletedProcess[bytes]) -> str:
    if not shutil.which("git"):
        return f"git is not installed, so {name!r} cannot be a revision; check the path, or install git"
    if complaint := " ".join(_stderr(result).split()):
        # There is no repository, or git distrusts its owner; the message says what to do.
        return f"git finds no revision here: {complaint.removeprefix('fatal: ')}"
    return f"git finds no revision {name!r} here; check both, and fetch the history if the clone is shallow"


def _from_root(path: str) -> str:
    if not path.startswith(("./", "../")):
        return path
    prefix = os.fsdecode(git("rev-parse", "--show-prefix").stdout.rstrip(b"\n"))
    from_root = posixpath.normpath(prefix + path)
    # A path out of the repository is left to git, which will not find it.
    return path if from_root.startswith("../") else from_root


def _fetch(pointer: bytes, path: str, location: str, file: BinaryIO) -> None:
    """Write the file that a Git LFS pointer refers to, and fetch it if it is not in the repository yet."""
    if git("lfs", "version").returncode:
        raise TokverifyError(f"{location}: is in Git LFS, which requires git-lfs; install it")
    # Users who disable fetching on checkout have still asked for this one file.
    environment = {"GIT_LFS_SKIP_SMUDGE": "0"}
    smudge = ("-c", "lfs.fetchexclude=", "-c", "lfs.fetchinclude=", "lfs", "smudge", "--", path)
    done = git(*smudge, input=pointer, stdout=file, seconds=_FETCH_SECONDS, env=environment)
    if done.returncode:
        reason = _LFS_REASON.search(_stderr(done))
        raise TokverifyError(
            f"{location}: Git LFS cannot fetch it: {reason[1] if reason else _last_line(done)};"
            f" try `git lfs fetch origin {location.partition(':')[0]}`"
        )


def _stderr(done: CompletedProcess[bytes]) -> str:
    return done.stderr.decode(errors="replace").strip()


def _last_line(done: CompletedProcess[bytes]) -> str:
    return _stderr(done).rpartition("\n")[2]
