"""Generate what is hostile beside a file: servers, programs and caches, repositories with a configuration, states."""

import json
import random
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from hostile.surroundings import RAN, SEED
from hostile.values import damage, flip, number, short_text, text, usually

_RUN = f"touch ../{RAN}"
_PLACES = (
    *("../outside", "link", ".git", "hooks", ".git/hooks", "/etc", "~", "sample.gguf/..", "../repository/../outside"),
    *("link/../../outside", ".GIT", "sub/../.git"),
)
_LOCATIONS = (
    *(f"command:{_RUN}", f"command:sh -c '{_RUN}'", f" command:{_RUN}", f"COMMAND:{_RUN}", f"env:x==1,command:{_RUN}"),
    *("env:tokenizers==0.1:sample.gguf", "transformers:../outside,slow", "transformers:link,trust_remote_code"),
    *(
        "transformers:.,trust_remote_code",
        "llama.cpp@../outside/libllama.so",
        "llama.cpp@b9014",
        "ADDRESS",
        "vllm+ADDRESS",
    ),
    *(
        "ADDRESS/model.gguf",
        "rebuilt",
        "expect",
        "sentencepiece:../outside/sample.tokenizer.model",
        "ollama:x",
        "lmstudio:x",
    ),
    *("llamacpp:x/y", "tiktoken:../outside/x.tiktoken:gpt2", "sample.tokenizer.model"),
)
_REPORTS = ("report.json", "pre-commit", "x.html", "cases.yml", "sample.gguf", "config", "../x", "{name}.xml", "a/b/c")


def seed(name: str, source: random.Random) -> dict[str, bytes]:
    """Choose how peers misbehave."""
    return {name + SEED: str(source.getrandbits(64)).encode()}


def repository(source: random.Random) -> dict[str, bytes]:
    """Make a repository whose configuration names what it must not, mostly in one place."""
    document: dict[str, object] = {}
    model: dict[str, object] = {"model": "sample.gguf", "reference": "sample.tokenizer.model", "cases": ["cases.yml"]}
    for _ in range(usually(source, 1, 3, share=0.2)):
        key = source.choice(list(_HOSTILE))
        (document if key in {"reports", "jobs", "llama_cpp"} else model)[key] = _HOSTILE[key](source)
    is_project = source.random() < 0.3
    table = "tool.tokverify" if is_project else ""
    head = [f"[{table}]", *_lines(document), f"[[{table}.models]]"] if table else [*_lines(document), "[[models]]"]
    content = "\n".join([*head, *_lines(model)]).encode("utf-8", "replace")
    name = "pyproject.toml" if is_project else "tokverify.toml"
    return {f"repository/{name}": content, **_in_repository(seed("quiet", source))}


def _lines(table: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items()]


def _location(source: random.Random) -> str:
    return source.choice((*_LOCATIONS, text(source)))


def _path(source: random.Random, names: tuple[str, ...]) -> str:
    name = source.choice(names)
    return f"{source.choice(_PLACES)}/{name}" if source.random() < 0.6 else name


_HOSTILE: Mapping[str, Callable[[random.Random], object]] = {
    "reports": lambda source: [f"{source.choice(('json', 'html', 'junit'))}={_path(source, _REPORTS)}" for _ in "ab"],
    "jobs": number,
    "llama_cpp": lambda source: source.choice(("b9190", "b1", text(source))),
    "model": lambda source: source.choice((_location(source), _path(source, ("sample.gguf", "*.gguf")))),
    "reference": lambda source: source.choice((_location(source), _path(source, ("sample.tokenizer.model", "")))),
    "cases": lambda source: [_path(source, ("cases.yml", "*", "**/*.yml"))],
    "name": lambda source: source.choice((f"$({_RUN})", short_text(source), "a")),
    "baseline": lambda source: _path(source, ("known.yaml", "cases.yml")),
    "waivers": lambda source: _path(source, ("cases.yml",)),
    "conversations": lambda source: _path(source, ("cases.yml",)),
    "select": lambda source: ["TV", text(source)],
}
"""The keys of a configuration, and what makes hostile values of them."""


def state(source: random.Random) -> dict[str, bytes]:
    """Make the state of a run of a corpus, with a plan that names what it must not, or with damaged files."""
    from hostile.execution import make_state

    files = make_state().copy()
    plan = json.loads(files["state/plan.json"])
    kind = source.choice((0, 0, 1, 2))
    if kind == 0:
        request = plan["plan"]["request"]
        key = source.choice(("model", "reference", "data"))
        named = usually(source, _location(source), _path(source, ("sample.gguf", "data.jsonl")), share=0.3)
        request[key] = [named] if key == "data" else named
        if key == "data":
            plan["plan"]["units"][0]["file"]["path"] = named
    elif kind == 1:
        plan = damage(source, plan, 1)
    files["state/plan.json"] = json.dumps(plan).encode("utf-8", "replace")
    if kind == 2:
        name = source.choice([name for name in files if name.startswith("state/")])
        content = files.pop(name)
        changes = [
            content,
            flip(source, content),
            json.dumps(damage(source, json.loads(content), 1)).encode("utf-8", "replace"),
        ]
        files[source.choice((name, name, name + "x", "state/results/x.json", "state/sums/x.json"))] = source.choice(
            changes
        )
    return {**_in_repository(seed("quiet", source)), **_in_repository(files)}


def _in_repository(files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {f"repository/{name}": content for name, content in files.items()}


SURROUNDINGS: Mapping[str, Callable[[random.Random], dict[str, bytes]]] = {
    **{name: partial(seed, name) for name in ("server", "address", "hub", "program", "cache")},
    "repository": repository,
    "state": state,
}
"""Kind -> the function that makes its files; the commands that run on it are those of `commands`."""
