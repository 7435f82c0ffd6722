"""Find the reference of a GGUF file if the user names none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from tokverify.engine.family import Settings
from tokverify.engine.settings import resolve
from tokverify.errors import BrokenFileError, MissingLibraryError, TokverifyError, UnsupportedError
from tokverify.location import Location
from tokverify.references import hub, huggingface, rebuilt
from tokverify.references.file import open_file
from tokverify.references.location import repository, repository_of_url
from tokverify.references.reference import FoundReference
from tokverify.sources.location import FILE_NAMES, VOCABULARIES, files_in
from tokverify.sources.stores.choice import model_name, without_part
from tokverify.sources.stores.location import find_model
from tokverify.sources.stores.model_file import ModelFile
from tokverify.spec import TokenizerSpec
from tokverify.text.utf8 import to_bytes

if TYPE_CHECKING:
    from tokverify.sources.stores.siblings import Sibling

PATIENCE = 3.0
"""How many seconds to wait for the hub if the user did not ask for it."""

_ID_KEY = "source.huggingface.repository"
_URL_KEYS = (
    "source.repo_url",
    "source.url",
    "repo_url",
    "url",
    "base_model.0.repo_url",
    "base_model.0.url",
)
_NAME_CAVEAT = "the repository was found by the name under which the model is kept here, and may have changed since"
_BASE_MODEL_CAVEAT = "this is the tokenizer of the base model; a fine-tune may have added tokens to it"


@dataclass(frozen=True, slots=True)
class _Search:
    """One search."""

    model: Path
    spec: TokenizerSpec
    repository: str | None = None
    address: str | None = None
    named: Location | None = None
    tried: list[str] = field(default_factory=list)
    """The places that yielded no reference, and why."""
    broken: list[BrokenFileError] = field(default_factory=list)
    """What is wrong with tokenizer files beside the model, wherever that is."""

    def note(self, error: TokverifyError, message: str = "") -> None:
        """Remember why a file beside the model is not the reference; `message` is the error as users understand it."""
        message = message or str(error)
        self.tried.append(message)
        if isinstance(error, BrokenFileError):
            self.broken.append(BrokenFileError(message))


def find_reference(model: Path | ModelFile, spec: TokenizerSpec, settings: Settings | None = None) -> FoundReference:
    """Find what to compare a GGUF file's tokenizer with.

    Looks, in this order, at the files beside it or its address, at the repository it came from, inside it, and
    at the repository it names (in the hub's local cache, then on the hub). As a last resort, rebuilds a tokenizer from
    the file's own data, unless a file beside it is broken: agreement would then hide that nothing was proven.

    Raises:
        UnsupportedError: If nothing is found and nothing can be rebuilt either.
        BrokenFileError: If a tokenizer file beside it cannot be read, and there is no other reference.
        TokverifyError: If a file beside it leads where a configuration that names the model may not lead.
    """
    file = find_model(model)
    model = file.path
    search = _Search(model, spec, file.repository, file.address, file.named)
    for step in _STEPS:
        if found := step(search):
            return _add_reason(found, search)
    if search.broken:
        raise BrokenFileError(
            f"{search.broken[0]}; no other reference was found: correct or remove this file, or name one with -r"
        )
    try:
        found = rebuilt.rebuild(spec, settings or resolve(spec))
    except UnsupportedError as error:
        raise UnsupportedError(f"{model}: found no reference; name one with -r ({error})") from error
    return _add_reason(replace(found, reason="nothing better was found"), search)


def find_reference_beside(file: ModelFile, spec: TokenizerSpec) -> FoundReference | None:
    """Find what to compare a GGUF file's tokenizer with, if that is a file beside it.

    Raises:
        TokverifyError: If the file leads where a configuration that names the model may not lead.
    """
    return _find_beside(_Search(file.path, spec, file.repository, file.address, file.named))


def _add_reason(found: FoundReference, search: _Search) -> FoundReference:
    tried = f"; tried before: {'; '.join(search.tried)}" if search.tried else ""
    return replace(found, reason=found.reason + tried)


def _find_beside(search: _Search) -> FoundReference | None:
    for path in _paths_beside(search.model):
        name = path.name
        try:
            found = open_file(search.named.at(str(path)) if search.named else path, search.spec)
        except (UnsupportedError, MissingLibraryError, BrokenFileError) as error:
            # A file with the name of the model may be anything; the others can only be tokenizers.
            if isinstance(error, BrokenFileError) and name.removesuffix(".json") in _stems(search.model):
                search.tried.append(f"{name} beside the model is not a tokenizer")
            else:
                search.note(error)
            continue
        return replace(found, reason=f"{name} is beside the model")
    if not search.tried:
        search.tried.append("no tokenizer beside the model")
    return None


def _stems(model: Path) -> list[str]:
    """Return the names that files for this model can begin with."""
    return list(dict.fromkeys([without_part(model.stem), model_name(model.stem)]))


def _paths_beside(model: Path) -> list[Path]:
    """Return the files beside a model that may be its tokenizer, the likeliest first."""
    ends = (".tokenizer.json", ".tokenizer.model", ".json", ".model")
    own = (model.with_name(stem + end) for stem in _stems(model) for end in ends)
    paths = [path for path in own if path.is_file()]
    vocabulary = [model] if model.name in VOCABULARIES else []
    return list(dict.fromkeys([*vocabulary, *paths, *files_in(model.parent)]))


def find_others(file: ModelFile, spec: TokenizerSpec, reference: FoundReference) -> Iterator[FoundReference]:
    """Yield the other tokenizers at hand: beside the model, beside its reference, and in the GGUF file itself.

    What cannot be read is left out.
    """
    yield from find_beside(file, reference)
    found = _find_inside(_Search(file.path, spec))
    if found and found.source != reference.source:
        yield found


def find_beside(file: ModelFile, reference: FoundReference) -> Iterator[FoundReference]:
    """Yield the other tokenizers beside the model and beside its reference, as `find_others` does."""
    paths = _paths_beside(file.path)
    if reference.path is not None:
        paths += [*files_in(reference.path.parent), *_paths_beside(reference.path)]
    elif reference.directory is not None:
        paths += files_in(reference.directory)
    yield from _open_others(file, paths, reference)


def _open_others(file: ModelFile, paths: Sequence[Path], reference: FoundReference) -> Iterator[FoundReference]:
    """Open files that are neither the model nor the reference, each once, as far as they can be read."""
    known = {path.resolve() for path in (file.path, reference.path) if path}
    others = {path.resolve(): path for path in reversed(paths) if path.resolve() not in known}
    for path in reversed(others.values()):
        with suppress(TokverifyError):
            yield open_file(file.named.at(str(path)) if file.named else path)


def _find_in_repository(search: _Search) -> FoundReference | None:
    if search.repository is None:
        return None
    try:
        found = hub.open_repository(search.repository, patience=PATIENCE)
    except TokverifyError as error:
        search.note(error)
        return None
    caveat = "" if "@" in search.repository else _NAME_CAVEAT
    return replace(found, reason=f"it is in the repository of the model, {found.reason}", caveat=caveat)


def _find_at_address(search: _Search) -> FoundReference | None:
    if search.address is None:
        return None
    names = _names_at_address(search.address)
    try:
        while sibling := _download_sibling(search.address, names):
            if found := _open_sibling(search, sibling):
                return found
            names = names[names.index(sibling.path.name) + 1 :]
    except TokverifyError as error:
        search.tried.append(str(error))
        return None
    if not search.broken:
        search.tried.append("no tokenizer next to the address of the model")
    return None


def _download_sibling(address: str, names: Sequence[str]) -> Sibling | None:
    from huggingface_hub import constants

    from tokverify.sources.stores.siblings import find_sibling

    return find_sibling(address, names, is_offline=constants.HF_HUB_OFFLINE)


def _open_sibling(search: _Search, sibling: Sibling) -> FoundReference | None:
    try:
        found = open_file(sibling.path, search.spec)
    except TokverifyError as error:
        search.note(error, str(error).replace(str(sibling.path), sibling.location))
        return None
    return replace(found, source=sibling.location, reason=f"{sibling.path.name} is next to the address of the model")


def _names_at_address(address: str) -> list[str]:
    stems = _stems(Path(unquote(urlsplit(address).path)))
    own = [f"{stem}.{name}" for stem in stems for name in ("tokenizer.json", "tokenizer.model")]
    return [*own, *FILE_NAMES]


def _find_inside(search: _Search) -> FoundReference | None:
    if search.spec.huggingface_json is None:
        search.tried.append("no tokenizer.json inside it")
        return None
    source = f"tokenizer.huggingface.json in {search.model}"
    try:
        content = to_bytes(search.spec.huggingface_json)
        found = huggingface.from_json(content, source=source)
    except BrokenFileError as error:
        search.tried.append(str(error))
        return None
    return replace(found, reason="the GGUF file contains its tokenizer.json")


def _find_on_hub(search: _Search) -> FoundReference | None:
    online = True
    repositories = _repositories(search.spec.general)
    for hub_id, key in repositories.items():
        try:
            found = hub.open_repository(hub_id, patience=PATIENCE, online=online)
        except hub.UnreachableError as error:
            online = False
            search.tried.append(str(error))
        except TokverifyError as error:
            search.tried.append(str(error))
        else:
            caveat = _BASE_MODEL_CAVEAT if key.startswith("base_model") else ""
            return replace(found, reason=f"general.{key} names it, {found.reason}", caveat=caveat)
    if not repositories:
        search.tried.append("no repository named in it")
    return None


def _repositories(general: Mapping[str, str]) -> dict[str, str]:
    """Map the hub ids in a file to the keys that contain them, those closest to the model first."""
    named = {key: repository_of_url(general.get(key, "")) for key in _URL_KEYS}
    named = {_ID_KEY: repository(general.get(_ID_KEY, "")), **named}
    ids: dict[str, str] = {}
    for key, hub_id in named.items():
        if hub_id:
            ids.setdefault(hub_id, key)
    return ids


_STEPS: tuple[Callable[[_Search], FoundReference | None], ...] = (
    _find_beside,
    _find_at_address,
    _find_in_repository,
    _find_inside,
    _find_on_hub,
)
