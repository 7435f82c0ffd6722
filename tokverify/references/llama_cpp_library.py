"""Find a shared library that exports llama.cpp's C functions: in an installed wheel, of a certain build, or by path.

A wheel of a certain build is installed on request into an environment of its own. The table of wheels, for Linux on
x86-64, pins their digests.
"""

from __future__ import annotations

import importlib.util
import json
import platform
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tokverify.engine.build import build_of_release
from tokverify.errors import MissingLibraryError, TokverifyError, UnsupportedError

WHEELS = Path(__file__).with_name("llama_cpp_wheels.json")
"""Build -> the package that contains it, its version, and the SHA-256 of the wheel."""

_SUFFIXES = (".so", ".dylib", ".pyd")
# The versions of the extra `llama-cpp`, which name no place that tokverify can be installed from.
_INSTALL = "install it with `pip install 'xllamacpp>=2026.9.11063,<=2026.10.11549'`"
_BUILD = re.compile("b?([0-9]+)")


@dataclass(frozen=True, slots=True)
class Library:
    """A shared library with llama.cpp."""

    path: Path
    version: str
    """The version of the wheel, the build, or empty for a library that the user names."""
    package: str = "xllamacpp"

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return f"{self.package} {self.version}" if self.version else str(self.path)

    @property
    def build(self) -> int | None:
        """The number of the build, as far as it is known."""
        match = re.fullmatch("(?:b|20[0-9]{2}[.][0-9]+[.])([0-9]+)(?:[.][0-9]+)?", self.version)
        return int(match[1]) if match else None

    def unsupported(self, reason: str) -> UnsupportedError:
        """Build the error for a library that cannot be used."""
        needed = re.search(r"GLIBC_([0-9.]+)' not found", reason)
        if needed:
            return UnsupportedError(f"{self.name} needs glibc {needed[1]}, this system has {platform.libc_ver()[1]}")
        advice = f"; {_INSTALL}" if self.package == "xllamacpp" else ""
        return UnsupportedError(f"{self.name} cannot be used: {reason}{advice}")


def find_library() -> Library:
    """Find the installed xllamacpp, without importing it.

    Raises:
        MissingLibraryError: If there is none.
        UnsupportedError: If it has no shared object.
    """
    from importlib import metadata

    spec = importlib.util.find_spec("xllamacpp")
    if spec is None or not spec.submodule_search_locations:
        raise MissingLibraryError(f"-r llama.cpp needs xllamacpp, which is not installed; {_INSTALL}")
    # A build for a specific GPU has the same version with a suffix.
    version = metadata.version("xllamacpp").partition("+")[0]
    folder = Path(spec.submodule_search_locations[0])
    paths = sorted(path for path in folder.glob("xllamacpp*") if path.suffix in _SUFFIXES)
    if not paths:
        raise Library(folder, version).unsupported("it has no shared object")
    return Library(paths[0], version)


def find_build(name: str) -> Library:
    """Return the library of a build such as `b9014`, which is installed on first use, or the one at a path.

    A build can be named by a release that contains it, such as `ollama-0.32.8`.

    Raises:
        TokverifyError: If there is no such build or file, or it cannot be installed.
        UnsupportedError: If there are no wheels for this system.
    """
    match = _BUILD.fullmatch(name)
    build = int(match[1]) if match else build_of_release(name)
    if build is None:
        path = Path(name)
        if not path.is_file():
            raise TokverifyError(
                f"llama.cpp@{name}: no such file, and not a build; write `llama.cpp@b9014`, or the path of libllama.so"
                " or llama-tokenize"
            )
        return Library(path.absolute(), "", "llama.cpp")
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise UnsupportedError(f"llama.cpp b{build}: wheels are known only for Linux on x86-64; name a library by path")
    if build not in wheels():
        known = sorted(wheels(), key=lambda each: abs(each - build))[:2]
        near = " and ".join(f"b{each}" for each in sorted(known))
        raise TokverifyError(
            f"llama.cpp b{build}: no wheel of this build is known; the nearest are {near}, and docs/builds.md lists all"
        )
    return _install(build, *wheels()[build])


@cache
def wheels() -> Mapping[int, tuple[str, str, str]]:
    """Return the package, the version and the digest of the wheel of each build that can be installed."""
    table = json.loads(WHEELS.read_text(encoding="utf-8"))
    return {int(build): (package, version, digest) for build, (package, version, digest) in table.items()}


def _install(build: int, package: str, version: str, digest: str) -> Library:
    from tokverify.references.environment import prepare

    place = prepare([f"{package}=={version} --hash=sha256:{digest}"]).parents[1]
    patterns = {"xllamacpp": "xllamacpp/xllamacpp*.so", "llama-cpp-py-sync": "llama_cpp_py_sync/libllama.so"}
    found = sorted(place.glob(f"lib/python*/site-packages/{patterns[package]}"))
    library = Library(found[0] if found else place, f"b{build}", "llama.cpp")
    if not found:
        raise library.unsupported("the wheel contains no library")
    return library
