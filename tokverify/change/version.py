"""Open one version of a tokenizer: a file, a reference, or a file as it was at a revision of a git repository."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import CompletedProcess
from typing import TYPE_CHECKING, BinaryIO

from tokverify.errors import TokverifyError
from tokverify.references import REFERENCES, open_reference
from tokverify.references.config import beside
from tokverify.references.location import file_and_rest
from tokverify.side import side_of

if TYPE_CHECKING:
    from tokverify.report import Side
    from tokverify.spec import TokenizerSpec
    from tokverify.tokenizer import Tokenizer

_COMPANIONS = ("tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja")
_GIT_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a tokenizer.

    `spec` is what it declares, in terms of GGUF; where that cannot be had, it is None and `unread` says why. `path` is
    the file it was read from, if it is one.
    """

    tokenizer: Tokenizer
    side: Side
    spec: TokenizerSpec | None
    unread: str = ""
    path: Path | None = None


def open_version(location: str, directory: Path) -> Version:
    """Open the tokenizer at a location; one of a git revision is put into the empty `directory` first.

    A GGUF file is encoded by tokverify's encoder, as a runtime does; any other tokenizer by its own library.

    Args:
        location: Whatever a model or a reference can be, or `REVISION:PATH` as `git show` takes it.
        directory: Where to put what git has; must last as long as the version.

    Raises:
        TokverifyError: If nothing is there; a subclass says that it is broken, or of a kind tokverify lacks.
    """
    path = _file(location)
    if path is None and (revision := _revision_of(location)):
        from_git = _from_git(location, revision, directory)
        try:
            version = _open(str(from_git), from_git)
        except TokverifyError as error:
            # Nobody knows the directory, which is gone by the time the message is read.
            raise type(error)(str(error).replace(str(from_git), location)) from error
        return replace(version, side=replace(version.side, source=location))
    return _open(location, path)


def _file(location: str) -> Path | None:
    path = Path(location).expanduser()
    return path if location and path.is_file() else None


def _open(location: str, path: Path | None) -> Version:
    from tokverify.load import load_gguf
    from tokverify.tokenizer_file import kind_of_model

    if path and kind_of_model(path) == "gguf":
        encoder = load_gguf(path)
        return Version(encoder, replace(side_of(encoder), source=location), encoder.spec, path=path)
    found = open_reference(location)
    side = replace(
        side_of(found.tokenizer), source=found.source, reason=found.reason, caveat=found.caveat, sha256=found.sha256
    )
    spec, unread = _read(found.path, location)
    return Version(found.tokenizer, side, spec, unread, found.path)


def _read(path: Path | None, location: str) -> tuple[TokenizerSpec | None, str]:
    from tokverify.tokenizer_file import read_spec

    if path is None:
        return None, "what encodes it tells nothing more of it"
    try:
        return read_spec(location if file_and_rest(location) else path), ""
    except TokverifyError as error:
        # Its own library reads it, or nobody would get here.
        return None, str(error)


def _revision_of(location: str) -> str | None:
    """Return the revision in `REVISION:PATH`; None if the location is something else.

    Raises:
        TokverifyError: If it can be nothing else, and there is no such revision.
    """
    revision, _, name = location.partition(":")
    # subtle: what begins with a dash would be an option of git.
    if not revision or not name or revision.startswith("-"):
        return None
    if _git("rev-parse", "-q", "--verify", f"{revision}^{{commit}}").returncode == 0:
        return revision
    if revision not in REFERENCES and not name.startswith("//") and not file_and_rest(location):
        raise TokverifyError(
            f"{location!r}: no such file, and git knows no revision {revision!r} here; check both, and fetch the"
            " history if the clone is shallow"
        )
    return None


def _from_git(location: str, revision: str, directory: Path) -> Path:
    """Write the file of a revision, and what stands beside it."""
    name = location.removeprefix(f"{revision}:")
    path = directory / (Path(name).name or "tree")
    _write_from_git(revision, name, path)
    for companion in _COMPANIONS:
        target, other = beside(path, companion), beside(Path(name), companion)
        if target and other:
            # Whoever writes `./` means the current directory, which a Path does not remember.
            place = f"./{other.as_posix()}" if name.startswith("./") else other.as_posix()
            with suppress(TokverifyError):
                _write_from_git(revision, place, target)
    return path


def _write_from_git(revision: str, name: str, target: Path) -> None:
    """Write a file of a revision as a checkout would: links followed, files of Git LFS fetched where set up."""
    location = f"{revision}:{name}"
    if "\n" in location:
        raise TokverifyError(f"{location!r}: a name with a line break cannot be asked of git; rename the file")
    # Answers `OID TYPE SIZE`, or `LOCATION missing`, or `WORD LENGTH` for links that lead nowhere.
    answer = _git("cat-file", "--batch-check", "--follow-symlinks", input=location.encode(errors="surrogateescape"))
    id, kind = [*answer.stdout.split(b"\n")[0].rsplit(b" ", 2), b"", b""][:2]
    if kind != b"blob":
        what = "a directory" if kind == b"tree" else "no such file"
        raise TokverifyError(f"{location}: {what} at {revision}; check the path, which begins at the root")
    with target.open("wb") as file:
        done = _git("cat-file", "--filters", f"--path={name.removeprefix('./')}", id.decode(), stdout=file)
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().split("\n")[-1]
        raise TokverifyError(f"{location}: git cannot write it: {reason}")


def _git(*arguments: str, input: bytes = b"", stdout: int | BinaryIO = subprocess.PIPE) -> CompletedProcess[bytes]:
    """Run git, which never asks anybody anything; where there is none, it fails."""
    try:
        return subprocess.run(  # noqa: S603 - arguments are no shell's, and none is an option
            ["git", *arguments],  # noqa: S607 - the user's own git
            input=input,
            stdout=stdout,
            stderr=subprocess.PIPE,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
            timeout=_GIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TokverifyError(f"git {' '.join(arguments)}: no answer in {_GIT_SECONDS} s; try it yourself") from error
    except (OSError, ValueError):
        return CompletedProcess(arguments, 1, b"", b"")
