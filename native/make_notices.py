"""Write what the licenses of the crates require, and which crates the native engine contains.

Run `python native/make_notices.py` in the root of a checkout whenever `native/Cargo.lock` changes. It writes
`native/LICENSES.txt`, which every wheel contains, and `native/sbom.cdx.json`, a bill of materials (CycloneDX), to which
a release attests. Both name all crates of the lock file, also those that only take part in the build.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

NATIVE = Path(__file__).parent
LICENSES = NATIVE / "LICENSES.txt"
SBOM = NATIVE / "sbom.cdx.json"

LINE = "=" * 80

_INTRODUCTION = """\
The native engine of tokverify contains code of these crates, or was built with them. Each may be used under the license
named with it; where there is a choice, the text is that of the MIT license. The license of tokverify is in LICENSE.
"""


def main() -> None:
    """Write both files."""
    crates = _crates()
    LICENSES.write_text(_licenses(crates), encoding="utf-8")
    SBOM.write_text(json.dumps(_sbom(crates), indent=1) + "\n", encoding="utf-8")


def _crates() -> Sequence[Mapping[str, Any]]:
    """Return what Cargo knows about each crate that is not ours."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    metadata = subprocess.run(command, cwd=NATIVE, stdout=subprocess.PIPE, check=True).stdout  # noqa: S603 - constant
    packages = json.loads(metadata)["packages"]
    return [package for package in packages if package["source"]]


def _licenses(crates: Sequence[Mapping[str, Any]]) -> str:
    owners: dict[str, list[str]] = {}
    for crate in crates:
        for text in _license_texts(crate):
            owners.setdefault(text, []).append(f"{crate['name']} {crate['version']} ({crate['license']})")
    parts = ["\n".join([LINE, *names, LINE, "", text]) for text, names in owners.items()]
    return "\n\n".join([_INTRODUCTION.rstrip(), *parts]) + "\n"


def _license_texts(crate: Mapping[str, Any]) -> Iterator[str]:
    directory = Path(crate["manifest_path"]).parent
    files = sorted(directory.glob("LICENSE*"))
    has_mit = any(file.name == "LICENSE-MIT" for file in files)
    needed = [file for file in files if not (has_mit and file.name == "LICENSE-APACHE")]
    if not needed:
        raise SystemExit(f"{crate['name']}: no file with a license in {directory}")
    for file in needed:
        yield "\n".join(line.rstrip() for line in file.read_text(encoding="utf-8").strip().splitlines())


def _sbom(crates: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "library", "name": "tokverify._native", "licenses": _expression("MIT")}},
        "components": [_component(crate) for crate in crates],
    }


def _component(crate: Mapping[str, Any]) -> Mapping[str, Any]:
    address = f"pkg:cargo/{crate['name']}@{crate['version']}"
    return {
        "type": "library",
        "bom-ref": address,
        "name": crate["name"],
        "version": crate["version"],
        "purl": address,
        "licenses": _expression(crate["license"]),
        "externalReferences": [{"type": "vcs", "url": crate["repository"]}],
    }


def _expression(license: str) -> Sequence[Mapping[str, str]]:
    return [{"expression": license}]


if __name__ == "__main__":
    main()
