"""Open what a test names by its location, as if a user had typed it, or as if a file contained it."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tokverify.location import FromFile, Location, Origin
from tokverify.references import Request, location
from tokverify.sources.stores import location as stores
from tokverify.sources.stores.location import locate
from tokverify.sources.stores.model_file import ModelFile


def configured(text: str, root: Path | None = None) -> FromFile:
    return FromFile(text, Origin(Path("tokverify.toml"), "reference", root, "--allow-outside"))


def request(text: str | Path | Location, *arguments: Any, **keywords: Any) -> Request:
    return Request(locate(text), *arguments, **keywords)


def find_model(text: str | Path | Location) -> ModelFile:
    return stores.find_model(locate(text))


def find_models(texts: Iterable[str | Path | Location]) -> Mapping[str, Path]:
    return {name: Path(model.text) for name, model in stores.find_models(map(locate, texts)).items()}


def identify(text: str, is_kind: Callable[[str], bool], known: Iterable[str] = ()) -> tuple[str, str]:
    kind, rest = location.identify(locate(text), is_kind, known)
    return kind, rest.text
