"""Write the configuration and the workflow that fit the contents of a repository."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from tokverify.case import SHIPPED, SuiteSource, is_shipped, name_of_source
from tokverify.cases.loading import load_cases
from tokverify.errors import TokverifyError
from tokverify.system.content import POINTER
from tokverify.system.git import git

_WORKFLOW = """\
# Checks the tokenizers that tokverify.toml names. A model that is not in the repository must be fetched in a step
# before the last one; only the head of a GGUF file is read, so its first part is enough.
name: tokverify

on:
  push:
  pull_request:

permissions:
  contents: read

jobs:
  tokverify:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        with:
          persist-credentials: false{checkout}
      - uses: actions/setup-python@5fda3b95a4ea91299a34e894583c3862153e4b97 # v7.0.0
        with:
          python-version: "3.12"
      - run: {install}
      - run: tokverify check --report github=-{place}
"""


@dataclass(frozen=True, slots=True)
class Start:
    """The contents of a directory that matter to tokverify, as paths relative to it."""

    models: Sequence[tuple[Path, Path | None]]
    """Each model with its reference, or None if `tokverify run` has to look for one."""
    suites: Sequence[Path]
    """Suites, and directories that contain nothing else."""
    left_out: str = ""
    """Why the shipped suites are not verified in addition; empty if they are."""
    root: Path = Path()
    """The root of the repository, where workflows belong."""
    below: Path = Path()
    """The path of the directory from that root."""
    uses_lfs: bool = False
    """Whether a checkout has to fetch files from Git LFS."""
    uses_submodules: bool = False
    """Whether a checkout has to include submodules."""


def render_configuration(start: Start) -> str:
    """Write a tokverify.toml."""
    lines = [
        "# What `tokverify check` checks in this repository. All keys: tokverify's docs/configuration.md.",
        "",
    ]
    for (model, reference), name in zip(start.models, _names([model for model, _ in start.models]), strict=True):
        lines += ["[[models]]", f"name = {_quoted(name)}", f"model = {_quoted(model.as_posix())}"]
        if reference:
            lines.append(f"reference = {_quoted(reference.as_posix())}")
        else:
            lines.append('# reference = "org/name"  # without one it is looked for; name it, to be sure of it')
        if start.suites:
            sources: list[SuiteSource] = [*([] if start.left_out else [SHIPPED]), *start.suites]
            lines.append(f"cases = [{', '.join(_quoted(name_of_source(source)) for source in sources)}]")
        lines.append("")
    return "\n".join(lines)


def render_workflow(start: Start, install: str) -> str:
    """Write a GitHub workflow that installs tokverify with a command, and checks the tokenizers on every change."""
    fetched = {"lfs": start.uses_lfs, "submodules": start.uses_submodules}
    options = "".join(f"\n          {name}: true" for name, used in fetched.items() if used)
    below = start.below.as_posix()
    return _WORKFLOW.format(
        checkout=options,
        install=_to_yaml(install),
        place="" if below == "." else f"\n        working-directory: {_quoted(below)}",
    )


def _to_yaml(command: str) -> str:
    """Write a command as a YAML scalar; a JSON string is one."""
    is_plain = re.fullmatch(r"[\w ./@+*='-]+", command) is not None
    return command if is_plain else json.dumps(command, ensure_ascii=False)


def _names(models: Sequence[Path]) -> list[str]:
    """Name models after their files, or after their paths if two files have the same name."""
    stems = [re.sub(r"[^\w.+-]+", "-", model.stem) for model in models]
    if len(set(stems)) == len(stems):
        return stems
    return [re.sub(r"[^\w.+-]+", "-", model.with_suffix("").as_posix()) for model in models]


def _quoted(text: str) -> str:
    """Write a TOML string; JSON strings are valid in TOML, except for U+007F."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


CONFIGURATION = Path("tokverify.toml")
WORKFLOW = Path(".github/workflows/tokverify.yml")

_LEFT_OUT = frozenset({"node_modules", "site-packages", "venv", "__pycache__", "build", "dist"})
_MAX_FILES = 1_000_000
_LATER_SHARD = re.compile(r"-(?!00001)\d{5}-of-\d{5}$")
_YAML = (".yaml", ".yml")
_RELEVANT = (".gguf", ".json", ".model", *_YAML)
_REFERENCES = ("tokenizer.json", "tokenizer.model", "spiece.model", "tekken.json")
_SUITE = re.compile(rb"^cases:", re.MULTILINE)
_HEAD_BYTES = 1 << 16


def survey(directory: Path) -> Start:
    """Find the tokenizers and suites in a directory and below it: in git repositories, only files not ignored by git.

    Raises:
        TokverifyError: If there is no tokenizer.
    """
    files = sorted(_files(directory))
    models, references = _split_tokenizers(files)
    if not models:
        raise TokverifyError(
            f"{directory}: contains neither a GGUF file nor two tokenizers to compare; add a GGUF file first"
        )
    pairs = [(model, _reference_of(model, references, models)) for model in models]
    used = [path for path in chain.from_iterable(pairs) if path]
    root, below = _place_of(directory)
    suites = _suites(directory, files)
    return Start(
        pairs,
        suites,
        _explain_omission(directory, suites),
        root,
        below,
        uses_lfs=_uses_lfs(directory, used),
        uses_submodules=not set(_in_submodules(directory)).isdisjoint(map(os.fspath, used)),
    )


def _split_tokenizers(files: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Return the models to verify and their possible references."""
    references = [path for path in files if path.name.endswith(_REFERENCES)]
    models = [path for path in files if path.suffix == ".gguf" and not _LATER_SHARD.search(path.stem)]
    if models or len(references) < 2:  # noqa: PLR2004 - a pair
        return models, references
    # Two formats of one tokenizer can be compared without a GGUF file.
    model = next((path for path in references if path.suffix == ".model"), references[0])
    return [model], [path for path in references if path != model]


def _files(directory: Path) -> Iterator[Path]:
    tracked = _list_tracked(directory)
    paths: Iterable[Path] = _walk(directory) if tracked is None else map(Path, tracked)
    for number, path in enumerate(paths):
        if number >= _MAX_FILES:
            raise TokverifyError(f"{directory}: more than {_MAX_FILES:,} files; name the directory of the tokenizer")
        if path.suffix in _RELEVANT and _is_file(directory / path):
            _require_text(str(path))
            yield path


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        # The name is too long, or the directory is not readable.
        return False


def _require_text(name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise TokverifyError(
            f"{name}: the name is not UTF-8, so neither TOML nor YAML can contain it; rename the file"
        ) from None


def _list_tracked(directory: Path) -> list[str] | None:
    """List the files that git tracks or could track; None if there is no git or no repository."""
    names = _list_files(directory, "--cached", "--others", "--exclude-standard")
    return None if names is None else [*names, *_in_submodules(directory)]


def _in_submodules(directory: Path) -> list[str]:
    own = set(_list_files(directory) or ())
    return [name for name in _list_files(directory, "--recurse-submodules") or () if name not in own]


def _list_files(directory: Path, *options: str) -> list[str] | None:
    done = git("ls-files", "-z", *options, directory=directory)
    return None if done.returncode else [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]


def _place_of(directory: Path) -> tuple[Path, Path]:
    """Find the root of the repository, by default the directory itself, and the path of the directory from there."""
    done = git("rev-parse", "--show-cdup", "--show-prefix", directory=directory)
    up, _, below = os.fsdecode(done.stdout.removesuffix(b"\n")).partition("\n")
    _require_text(below)
    return directory / up, Path(below)


def _uses_lfs(directory: Path, paths: Sequence[Path]) -> bool:
    """Check whether one of the files is stored in Git LFS, fetched or not."""
    names = b"".join(os.fsencode(path) + b"\0" for path in paths)
    # The output contains the file, the attribute and its value for each file.
    fields = git("check-attr", "-z", "--stdin", "filter", directory=directory, input=names).stdout.split(b"\0")
    return b"lfs" in fields[2::3] or any(_head(directory / path).startswith(POINTER) for path in paths)


def _walk(directory: Path) -> Iterator[Path]:
    for here, directories, names in os.walk(directory):
        directories[:] = sorted(name for name in directories if name not in _LEFT_OUT and not name.startswith("."))
        yield from (Path(here, name).relative_to(directory) for name in names)


def _suites(directory: Path, files: Sequence[Path]) -> list[Path]:
    """Find suites. A directory whose YAML files are all suites is listed instead of them, to include later suites."""
    yaml = [path for path in files if path.suffix in _YAML]
    suites = [path for path in yaml if _SUITE.search(_head(directory / path))]
    others = [path for path in yaml if path not in suites]
    mixed = {Path(), *chain.from_iterable(path.parents for path in others)}
    places = dict.fromkeys(path if path.parent in mixed else path.parent for path in suites)
    return [place for place in places if places.keys().isdisjoint(place.parents)]


def _explain_omission(directory: Path, suites: Sequence[Path]) -> str:
    """Explain why the shipped suites cannot or should not be verified along with `suites`; empty if they can."""
    if not suites:
        return ""
    own = [directory / path for path in suites]
    try:
        is_shipped(SHIPPED, directory)
        cases = load_cases(own)
    except TokverifyError as error:
        # `tokverify run` reports what is wrong with suites.
        return str(error) if (directory / SHIPPED).exists() else ""
    if all(case.expect for case in cases):
        return "every case has its own `expect`, so no reference may be needed"
    try:
        load_cases([SHIPPED, *own])
    except TokverifyError:
        return "suites of both have the same names"
    return ""


def _reference_of(model: Path, references: Sequence[Path], models: Sequence[Path]) -> Path | None:
    """Choose the reference named after the model, or next to it, or the only one unless it is next to another model."""
    named = [path for path in references if path.name.startswith(f"{model.stem}.tokenizer.")]
    beside = [path for path in references if path.parent == model.parent and path.name in _REFERENCES]
    places = {path.parent for path in references}
    # A reference in a parent directory may belong to several models, such as quantizations in subdirectories.
    elsewhere = {path.parent for path in models}.difference(model.parents)
    only = references if len(places) == 1 and places.isdisjoint(elsewhere) else []
    return next(iter([*named, *beside, *(path for path in only if path.name in _REFERENCES)]), None)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except OSError:
        # If it is a tokenizer, `tokverify run` reports that it cannot be read.
        return b""
