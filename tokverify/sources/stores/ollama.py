"""Models that Ollama has pulled or created: `ollama:name[:tag]`.

Ollama stores a model as a manifest, a JSON file named after the model, which lists layers. The layer with the media
type of a model is a GGUF file among the blobs. Sources: `manifest/paths.go` of Ollama at commit 15269a61, and for the
layout with links below `manifest-v2` and the registry `ollama.com`, https://github.com/ollama/ollama/pull/15735.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import Any

from tokverify.errors import BrokenFileError, TokverifyError
from tokverify.sources.stores.model_file import ModelFile
from tokverify.system.input_file import read_bytes
from tokverify.system.json_input import JsonError, parse_json

VARIABLE = "OLLAMA_MODELS"
"""The environment variable with the directory of models, from which Ollama itself reads it."""

_MODEL_LAYER = "application/vnd.ollama.image.model"
_MANIFESTS = ("manifests-v2", "manifest-v2", "manifests")
_REGISTRIES = ("ollama.com", "registry.ollama.ai")
# Of the user, of the service on Linux and of its packages, of the container, and of the service on macOS with Homebrew.
_DEFAULT_ROOTS = (
    "~/.ollama/models",
    "/usr/share/ollama/.ollama/models",
    "/var/lib/ollama/.ollama/models",
    "/var/lib/ollama/models",
    "/var/lib/ollama",
    "/root/.ollama/models",
    "/opt/homebrew/var/ollama/models",
)
_NAME = re.compile(
    r"(?:(?:(?P<host>\w[\w.-]*(:\d+)?)/)?(?P<owner>\w[\w.-]*)/)?(?P<model>\w[\w.-]*)(?::(?P<tag>\w[\w.-]*))?",
    re.ASCII,
)
_DIGEST = re.compile("sha256[:-]([0-9a-fA-F]{64})")
_MAX_MANIFEST_BYTES = 1 << 20
_MAX_FOUND = 1000


def find(name: str) -> ModelFile:
    """Find a model among those on this machine; nothing is pulled.

    Args:
        name: `[[host/]namespace/]model[:tag]`; the tag is `latest` by default.

    Raises:
        TokverifyError: If there is no such model, or its directory must not be read.
        BrokenFileError: If its manifest cannot be read, or names no GGUF file that exists.
    """
    places = _places(name)
    unreadable: set[Path] = set()
    for root, place, kind in product(_roots(), places, _MANIFESTS):
        manifest = root / kind / place
        try:
            if manifest.is_file():
                return _read(manifest, root, name)
        except PermissionError:
            unreadable.add(root)
    if unreadable:
        denied = ", ".join(sorted(map(str, unreadable)))
        raise TokverifyError(f"ollama:{name}: not found; this user may not read {denied}")
    roots = ", ".join(map(str, _roots())) or "no directory exists"
    raise TokverifyError(f"ollama:{name}: not found ({roots}); `ollama pull {name}`, or set {VARIABLE}")


def expand(pattern: str) -> list[str]:
    """Return the locations of all models whose name, with its tag, matches a pattern such as `llama*`.

    Raises:
        TokverifyError: If there are none, or too many.
    """
    full = pattern if ":" in pattern else f"{pattern}:*"
    names = sorted({name for root in _roots() for name in _names(root) if fnmatchcase(name, full)})
    if not names:
        raise TokverifyError(f"ollama:{pattern}: no model matches; `ollama list` shows their names")
    if len(names) > _MAX_FOUND:
        raise TokverifyError(f"ollama:{pattern}: stands for more than {_MAX_FOUND} models, the limit; name fewer")
    return [f"ollama:{name}" for name in names]


def _roots() -> list[Path]:
    """Return the directories with models; if the variable is set, only that one."""
    named = os.environ.get(VARIABLE)
    roots = [Path(named)] if named else [Path(root).expanduser() for root in _DEFAULT_ROOTS]
    return [root for root in roots if _is_directory(root)]


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # such as one below another user's home
        return False


def _places(name: str) -> list[str]:
    """Return where the manifest of a model can be below a directory of manifests."""
    match = _NAME.fullmatch(name)
    if not match:
        raise TokverifyError(f"ollama:{name}: not the name of a model; write ollama:name or ollama:name:tag")
    owner, model, tag = match["owner"] or "library", match["model"], match["tag"] or "latest"
    return [f"{host}/{owner}/{model}/{tag}" for host in ([match["host"]] if match["host"] else _REGISTRIES)]


def _names(root: Path) -> Iterator[str]:
    """Yield the names of the models in a directory, as `ollama list` shows them."""
    for kind in _MANIFESTS:
        for manifest in (root / kind).glob("*/*/*/*"):
            host, owner, model, tag = manifest.parts[-4:]
            prefix = "" if host in _REGISTRIES else f"{host}/"
            yield f"{prefix}{'' if not prefix and owner == 'library' else f'{owner}/'}{model}:{tag}"


def _read(manifest: Path, root: Path, name: str) -> ModelFile:
    try:
        content = parse_json(read_bytes(manifest, "manifest", _MAX_MANIFEST_BYTES))
    except JsonError as error:
        raise BrokenFileError(f"{manifest}: not JSON ({error}); `ollama pull {name}`") from error
    digest = _digest(content)
    if digest is None:
        raise BrokenFileError(f"{manifest}: names no GGUF file; tokverify reads only models of that kind")
    blob = root / "blobs" / f"sha256-{digest}"
    if not blob.is_file():
        raise BrokenFileError(f"{manifest}: {blob.name} is missing from {blob.parent}; `ollama pull {name}`")
    return ModelFile(
        path=blob, name=name.rpartition("/")[2].replace(":", "-"), location=f"ollama:{name}", sha256=digest
    )


def _digest(manifest: Any) -> str | None:  # noqa: ANN401 - JSON is anything
    """Return the hash of the GGUF file that a manifest names, or None."""
    layers = manifest.get("layers") if isinstance(manifest, dict) else None
    for layer in layers if isinstance(layers, list) else ():
        if isinstance(layer, dict) and str(layer.get("mediaType")).partition(";")[0] == _MODEL_LAYER:
            match = _DIGEST.fullmatch(str(layer.get("digest")))
            return match[1] if match else None
    return None
