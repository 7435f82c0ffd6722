"""Read the suites that come with tokverify, of which the cache keeps a copy: PyYAML takes ten times as long."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec

from tokverify.case import Suite
from tokverify.system.cache import CacheFile, cache_directory

_VERSION = 1


def shipped_suites() -> Path:
    """Find the suites that come with tokverify: inside the installed package, or in a checkout."""
    package = Path(__file__).parent
    installed = package / "suites"
    return installed if installed.is_dir() else package.parents[1] / "cases"


@cache
def read_shipped(files: tuple[tuple[Path, str], ...]) -> list[Suite]:
    """Read suites of ours, given as files with their display names, once for all operations of a process."""
    if not files:
        return []
    kept = CacheFile(cache_directory() / "suites.json")
    digest = _digest(files)
    content = kept.read(_VERSION)
    suites = _restore(content) if digest and content.get("digest") == digest else None
    if suites is None:
        suites = [_read(file, name) for file, name in files]
        if digest and not any(suite.complaints for suite in suites):
            kept.write(_VERSION, {"digest": digest, "suites": msgspec.to_builtins(suites)})
    return suites


def _read(file: Path, display_name: str) -> Suite:
    from tokverify.cases.suite import read_suite  # imports PyYAML

    suite = read_suite(file, display_name)
    suite.cases = [replace(case, shipped=True) for case in suite.cases]
    return suite


def _restore(content: Mapping[str, object]) -> list[Suite] | None:
    try:
        return msgspec.convert(content.get("suites"), list[Suite])
    except msgspec.ValidationError:
        return None


def _digest(files: tuple[tuple[Path, str], ...]) -> str:
    """Return a hash that changes with the files and with the code that reads them; "" if a file cannot be read."""
    digest = hashlib.sha256()
    try:
        for module in sorted(Path(__file__).parent.glob("*.py")):
            stat = module.stat()
            digest.update(f"{module.name} {stat.st_size} {stat.st_mtime_ns}\n".encode())
        for file, name in files:
            content = file.read_bytes()
            digest.update(f"{name} {len(content)}\n".encode() + content)
    except OSError:
        return ""
    return digest.hexdigest()
