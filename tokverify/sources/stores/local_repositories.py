"""Models that other programs have downloaded, in directories for each repository.

LM Studio keeps `publisher/model/FILE.gguf` below `~/.lmstudio/models`, or below the directory that the file
`~/.lmstudio-home-pointer` names; older versions, below `~/.cache/lm-studio/models`.
Source: https://lmstudio.ai/docs/app/advanced/import-model.

llama.cpp keeps what `-hf` downloads in `LLAMA_CACHE`, otherwise, since March 2026, in the cache of the HuggingFace hub
(https://github.com/ggml-org/llama.cpp/pull/20775, pull/21009). Before, the files were `OWNER_MODEL_FILE.gguf` in one
directory, with `manifest=OWNER=MODEL=TAG.json` for each repository.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from glob import escape
from itertools import islice
from pathlib import Path

from tokverify.errors import TokverifyError
from tokverify.sources.stores.choice import choose_file, tokenizer_files
from tokverify.sources.stores.model_file import ModelFile

LLAMA_CACHE = "LLAMA_CACHE"
"""The environment variable with the directory of downloads, from which llama.cpp itself reads it."""

_NAME = re.compile(r"(\w[\w.-]*(?:/\w[\w.-]*)?)(?::(.+))?", re.ASCII)
_MAX_FILES = 10_000
_SNAPSHOTS = "snapshots"
"""The folder of a repository in the cache of the hub, with a folder for each commit."""
_CACHED = "models--"
"""How the names of the directories of the hub's cache begin."""

Entry = tuple[str, str, Path]
"""The id of a repository as `owner/model`, the name of a file in it, and its path."""


def find(store: str, name: str) -> ModelFile:
    """Find one model.

    Args:
        store: The name of the store, as in `STORES`.
        name: `owner/model[:quantization or file]`; the owner may be missing if that is unambiguous.

    Raises:
        TokverifyError: If there is no such model.
    """
    match = _NAME.fullmatch(name)
    if not match:
        raise TokverifyError(f"{store}:{name}: not the name of a model; write {store}:owner/model:Q4_K_M")
    repository = _find_repository(store, match[1])
    files = {file: path for each, file, path in _list_entries(store) if each == repository}
    file = choose_file(list(files), match[2], f"{store}:{repository}")
    path = files[file]
    origin = _find_origin(repository, path)
    return ModelFile(path=path, name=Path(file).stem, location=f"{store}:{repository}:{file}", repository=origin)


def expand(store: str, pattern: str) -> list[str]:
    """Return the locations of all models that a pattern such as `owner/*` or `owner/model:*` matches.

    Raises:
        TokverifyError: If there are none.
    """
    repositories, _, files = pattern.partition(":")
    wanted = repositories if "/" in repositories else f"*/{repositories}"
    matching = sorted({each for each, _, _ in _list_entries(store) if fnmatchcase(each, wanted)})
    locations = [f"{store}:{each}{f':{files}' if files else ''}" for each in matching]
    if "*" in files:
        entries = sorted((each, file) for each, file, _ in _list_entries(store) if each in matching)
        models = tokenizer_files(file for _, file in entries)
        locations = [f"{store}:{each}:{file}" for each, file in entries if file in models and fnmatchcase(file, files)]
    if not locations:
        raise TokverifyError(f"{store}:{pattern}: no model matches; {_advice(store)}")
    return locations


def _find_origin(repository: str, path: Path) -> str:
    """Return the repository on the hub that a file came from, with the commit if its path contains that."""
    commits = [
        folder.name
        for folder in path.parents
        if folder.parent.name == _SNAPSHOTS and folder.parent.parent.name.startswith(_CACHED)
    ]
    return f"{repository}@{commits[0]}" if commits else repository


def _find_repository(store: str, name: str) -> str:
    known = sorted({each for each, _, _ in _list_entries(store)})
    matching = [each for each in known if name in {each, each.partition("/")[2]}]
    if len(matching) > 1:
        raise TokverifyError(f"{store}:{name}: several models match; name one of {', '.join(matching)}")
    if not matching:
        raise TokverifyError(f"{store}:{name}: not found; {_advice(store)}")
    return matching[0]


def _advice(store: str) -> str:
    places = ", ".join(map(str, _ROOTS[store]()))
    looked = f"looked in {places}; check the name, or" if places else "none of its directories exists;"
    return f"{looked} name the file itself"


def _list_entries(store: str) -> list[Entry]:
    """List the files in a store, the newest last."""
    listed = (entry for root in _ROOTS[store]() for entry in _LISTERS[store](root))
    entries = list(islice(listed, _MAX_FILES + 1))
    if len(entries) > _MAX_FILES:
        raise TokverifyError(f"{store}: more than {_MAX_FILES:,} files, the limit; name the file itself")
    return sorted((entry for entry in entries if entry[2].is_file()), key=lambda entry: entry[2].stat().st_mtime)


def _lm_studio_roots() -> list[Path]:
    home = Path.home()
    try:
        pointed = (home / ".lmstudio-home-pointer").read_text("utf-8").strip()
    except (OSError, ValueError):
        pointed = ""
    homes = [Path(pointed)] if pointed else [home / ".lmstudio", home / ".cache" / "lm-studio"]
    return [each / "models" for each in homes if (each / "models").is_dir()]


def _list_lm_studio(root: Path) -> Iterator[Entry]:
    for path in root.glob("*/*/**/*.gguf"):
        owner, model, *file = path.relative_to(root).parts
        yield f"{owner}/{model}", "/".join(file), path


def _llama_cpp_roots() -> list[Path]:
    from huggingface_hub import constants

    named = os.environ.get(LLAMA_CACHE)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    defaults = [Path(constants.HF_HUB_CACHE), cache / "llama.cpp", Path.home() / "Library" / "Caches" / "llama.cpp"]
    return [root for root in ([Path(named)] if named else defaults) if root.is_dir()]


def _list_llama_cpp(root: Path) -> Iterator[Entry]:
    for path in root.glob(f"{_CACHED}*/{_SNAPSHOTS}/*/**/*.gguf"):
        folder, _, _, *file = path.relative_to(root).parts
        yield folder.removeprefix(_CACHED).replace("--", "/"), "/".join(file), path
    for manifest in root.glob("manifest=*=*=*.json"):
        _, owner, model, *_ = manifest.name.split("=")
        prefix = f"{owner}_{model}_"
        for path in root.glob(f"{escape(prefix)}*.gguf"):
            yield f"{owner}/{model}", path.name.removeprefix(prefix), path


_ROOTS: Mapping[str, Callable[[], list[Path]]] = {"lmstudio": _lm_studio_roots, "llamacpp": _llama_cpp_roots}
_LISTERS: Mapping[str, Callable[[Path], Iterator[Entry]]] = {"lmstudio": _list_lm_studio, "llamacpp": _list_llama_cpp}
