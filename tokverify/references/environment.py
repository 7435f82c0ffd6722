"""The reference `env`: a library in any version, in an environment of its own.

`env:tokenizers==0.21.0:tokenizer.json` installs the packages into a cached virtual environment, with uv if it is there
and else with pip, and runs the library as a program. So two versions of a library can be compared with each other.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tokverify.errors import TokverifyError
from tokverify.references.library_process import REMOTE_CODE, describe, start_worker
from tokverify.references.library_worker import ENGINES
from tokverify.references.reference import FoundReference, Request
from tokverify.references.transformers import json_in, split_options
from tokverify.system.cache import cache_directory
from tokverify.system.library_error import summary

_SECONDS = 600.0
_MAX_BEGINNING, _MAX_END = 200, 800
_HASH = " --hash="
_ERROR = "ERROR: "
_DECORATION = " ×╰─▶│├"
_EXAMPLE = "`env:tokenizers==0.21.0:tokenizer.json`"
# A name with extras and versions, as in PEP 508; neither addresses nor options of pip.
_PACKAGE = re.compile(r"[A-Za-z0-9][\w.-]*(\[[\w,.-]+\])?((==|>=|<=|~=|!=|<|>)[\w.*+!-]+(,|$))*", re.ASCII)


def load(request: Request) -> FoundReference:
    """Load `PACKAGES:LOCATION`: packages separated by spaces, and a tokenizer.json or `transformers:LOCATION`.

    Raises:
        TokverifyError: If the packages cannot be installed, the tokenizer cannot be loaded, or only a file names
            them, because installing a package runs its code.
    """
    typed = request.location.require_typed(f"env:{request.location.text}", "install packages")
    packages, _, location = typed.text.partition(":")
    names = packages.split()
    if not names or not location or not all(map(_PACKAGE.fullmatch, names)):
        raise TokverifyError(f"env:{typed.text}: not packages and a location, such as {_EXAMPLE}")
    kind, _, rest = location.partition(":")
    kind, rest = (kind, rest) if kind in ENGINES else ("tokenizers", location)
    place, options = split_options(rest) if kind == "transformers" else (rest, [])
    path = json_in(place) if kind == "transformers" else Path(place)
    found = describe(start_worker(str(prepare(names)), kind, place, options), request, path)
    caveat = f"the repository may run its own code ({REMOTE_CODE})" if REMOTE_CODE in options else ""
    return replace(found, source=f"{location}, with {' '.join(names)}", caveat=caveat)


def prepare(packages: Sequence[str]) -> Path:
    """Return the Python of an environment with these packages, which is created on first use.

    A package may be followed by the hash that it must have, as in a requirements file; then no others are installed.

    Raises:
        TokverifyError: If it cannot be created.
    """
    key = hashlib.sha256("\n".join([sys.version, *sorted(packages)]).encode()).hexdigest()[:16]
    place = cache_directory() / "environments" / key
    if not place.exists():
        _create(place, packages)
    return _python_in(place)


def _create(place: Path, packages: Sequence[str]) -> None:
    """Create an environment under another name and rename it, so that an incomplete one is never used."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=place.parent))
    except OSError as error:
        raise TokverifyError(f"{place.parent}: cannot be created ({error.strerror}); set TOKVERIFY_CACHE") from error
    try:
        for command in _commands(temporary, _arguments(temporary, packages)):
            _run(command, packages)
        # subtle: another process may have been faster.
        if not place.exists():
            temporary.rename(place)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.with_suffix(".txt").unlink(missing_ok=True)


def _arguments(place: Path, packages: Sequence[str]) -> list[str]:
    """Return what to install as arguments; only a file can require hashes."""
    if not any(_HASH in package for package in packages):
        return list(packages)
    # Beside the environment, which must be empty.
    requirements = place.with_suffix(".txt")
    requirements.write_text("\n".join(packages), encoding="utf-8")
    return ["--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", str(requirements)]


def _commands(place: Path, packages: Sequence[str]) -> list[list[str]]:
    python = str(_python_in(place))
    beside = Path(sys.executable).with_name("uv")
    if uv := (str(beside) if beside.exists() else shutil.which("uv")):
        return [
            [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(place)],
            [uv, "pip", "install", "--quiet", "--python", python, *packages],
        ]
    return [
        [sys.executable, "-m", "venv", str(place)],
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages],
    ]


def _python_in(place: Path) -> Path:
    return place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _run(command: Sequence[str], packages: Sequence[str]) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - the packages are those that the user names
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TokverifyError(f"{_names(packages)}: cannot be installed ({summary(error)})") from error
    if done.returncode:
        reason = find_reason(done.stderr.decode(errors="replace"))
        raise TokverifyError(f"{_names(packages)}: cannot be installed ({reason})")


def _names(packages: Sequence[str]) -> str:
    return " ".join(package.partition(_HASH)[0] for package in packages)


def find_reason(output: str) -> str:
    """Return why an installation failed in one line, from what pip or uv wrote.

    The last error of pip is the reason. uv explains it in sentences, and the log of a build ends with what went wrong.
    """
    lines = [line.strip(_DECORATION) for line in output.splitlines()]
    errors = [line.removeprefix(_ERROR) for line in lines if line.startswith(_ERROR)]
    text = (errors[-1] if errors else " ".join(filter(None, lines))).rstrip(".")
    if len(text) > _MAX_BEGINNING + _MAX_END:
        text = f"{text[:_MAX_BEGINNING]} … {text[-_MAX_END:]}"
    return text or "no reason given"
