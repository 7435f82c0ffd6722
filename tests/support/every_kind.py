"""Every kind of tokenizer that a location can name, on a small vocabulary, with what may go wrong behind it."""

import base64
import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tokenizers.pre_tokenizers import ByteLevel

from support.byte_level_maker import train_byte_level
from support.fake_hub import Server, send_file, serving
from support.hostile_ids import HostileEncoder
from support.hub_fixtures import run_hub
from support.installation import install
from support.paths import ROOT, SAMPLE
from support.server_stand_ins import STAND_INS
from support.stand_in import StandIn
from support.tekken_maker import make_tekken
from tokverify.compare.convert.json_writer import write_json
from tokverify.references import environment, open_reference
from tokverify.references.reference import FoundReference
from tokverify.sources.load import load_gguf
from tokverify.sources.stores.local_repositories import LLAMA_CACHE
from tokverify.sources.stores.ollama import VARIABLE as OLLAMA_MODELS

GGUF = SAMPLE / "sample.gguf"


@dataclass
class Place:
    """Where the files of one tokenizer are, and what runs to serve it."""

    folder: Path
    stack: ExitStack
    patch: pytest.MonkeyPatch
    servers: list[StandIn] = field(default_factory=list)
    """The servers that answer for the tokenizer while it is used."""

    def copy_model(self, name: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(GGUF, path)
        return path


@dataclass(frozen=True)
class Kind:
    """How to make a tokenizer of a kind, and what is behind it."""

    locate: Callable[[Place], str]
    """Writes its files, starts its servers, and returns its location."""
    files: tuple[str, ...]
    """The files that a stranger may have written, relative to its folder."""
    has_process: bool = False
    """Whether processes of its own encode the texts."""
    returns_hostile_ids: bool = False
    """Whether a stranger's server, program or package returns the ids: those of `HOSTILE_IDS` for these texts."""
    library: str = ""
    """The optional library that it needs."""
    is_slow: bool = False


def _tokenizers(place: Place) -> str:
    write_json(place.folder / "tokenizer.json", load_gguf(GGUF).spec)
    return str(place.folder / "tokenizer.json")


def _sentencepiece(place: Place) -> str:
    return str(shutil.copy(SAMPLE / "sample.tokenizer.model", place.folder / "tokenizer.model"))


def _tiktoken(place: Place) -> str:
    tokens = [bytes([byte]) for byte in range(256)]
    lines = [base64.b64encode(token) + b" %d\n" % id for id, token in enumerate(tokens)]
    (place.folder / "small.tiktoken").write_bytes(b"".join(lines))
    return f"{place.folder / 'small.tiktoken'}:cl100k_base"


def _tekken(place: Place) -> str:
    content = make_tekken([], ["<unk>", "<s>", "</s>"])
    (place.folder / "tekken.json").write_text(json.dumps(content))
    return str(place.folder / "tekken.json")


def _rwkv(place: Place) -> str:
    lines = (f"{byte + 1} {bytes([byte])!r} 1\n" for byte in range(256))
    (place.folder / "rwkv_vocab_v20230424.txt").write_text("".join(lines))
    return str(place.folder / "rwkv_vocab_v20230424.txt")


def _vocab(place: Place) -> str:
    train_byte_level(ByteLevel(add_prefix_space=False)).save(str(place.folder / "whole.json"))
    model = json.loads((place.folder / "whole.json").read_text())["model"]
    (place.folder / "whole.json").unlink()
    (place.folder / "vocab.json").write_text(json.dumps(model["vocab"]))
    (place.folder / "merges.txt").write_text("\n".join(map(" ".join, model["merges"])))
    return str(place.folder / "vocab.json")


def _transformers(place: Place) -> str:
    _tokenizers(place)
    (place.folder / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    return f"transformers:{place.folder}"


def _env(place: Place) -> str:
    # Installing packages takes too long, so the environment is this one.
    place.patch.setattr(environment, "prepare", lambda _: Path(sys.executable))
    return f"env:tokenizers:{_tokenizers(place)}"


def _command(_: Place) -> str:
    program = ROOT / "tests" / "support" / "encoder_program.py"
    return f"command:{shlex.join([sys.executable, str(program), str(GGUF), 'hostile'])}"


def _package(place: Place) -> str:
    package = shutil.copytree(ROOT / "docs" / "examples" / "package", place.folder / "package")
    options = ["--quiet", "--no-deps", "--disable-pip-version-check", "--target", str(place.folder / "installed")]
    install([sys.executable, "-m", "pip", "install", *options, str(package)], 120)
    place.patch.syspath_prepend(place.folder / "installed")
    return "bytes:<pad>,</s>,<unk>"


_HOSTILE_PACKAGE = """
from support.every_kind import GGUF
from support.hostile_ids import HostileEncoder
from tokverify.sources.load import load_gguf
from tokverify.references import FoundReference


def load(request):
    return FoundReference(HostileEncoder(load_gguf(GGUF)), source="hostile")
"""


def _hostile_package(place: Place) -> str:
    information = place.folder / "hostile-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: hostile\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[tokverify.references]\nhostile = hostile_package:load\n")
    (place.folder / "hostile_package.py").write_text(_HOSTILE_PACKAGE)
    place.patch.syspath_prepend(place.folder)
    place.patch.delitem(sys.modules, "hostile_package", raising=False)
    return "hostile:anything"


def _hub(place: Place) -> str:
    hub = run_hub(place.stack, place.patch, place.folder / "cache")
    _tokenizers(place)
    hub.repositories["org/fox"] = {"tokenizer.json": place.folder / "tokenizer.json"}
    return "org/fox"


def _hf(place: Place) -> str:
    hub = run_hub(place.stack, place.patch, place.folder / "cache")
    hub.repositories["org/fox"] = {"fox.gguf": place.copy_model("model.gguf")}
    return "hf:org/fox"


def _https(place: Place) -> str:
    place.copy_model("model.gguf")
    server = Server(lambda handler: send_file(handler, place.folder / urlsplit(handler.path).path[1:], '"one"'))
    place.stack.enter_context(serving(server))
    return f"{server.address}/model.gguf"


def _ollama(place: Place) -> str:
    digest = "ab" * 32
    place.copy_model(f"blobs/sha256-{digest}")
    manifest = place.folder / "manifests/registry.ollama.ai/library/fox/latest"
    manifest.parent.mkdir(parents=True)
    layer = {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}"}
    manifest.write_text(json.dumps({"layers": [layer]}))
    place.patch.setenv(OLLAMA_MODELS, str(place.folder))
    return "ollama:fox"


def _lm_studio(place: Place) -> str:
    place.copy_model(".lmstudio/models/org/fox/fox.gguf")
    place.patch.setenv("HOME", str(place.folder))
    return "lmstudio:org/fox"


def _llama_cpp_cache(place: Place) -> str:
    place.copy_model("org_fox_fox.gguf")
    (place.folder / "manifest=org=fox=latest.json").write_text("{}")
    place.patch.setenv(LLAMA_CACHE, str(place.folder))
    return "llamacpp:org/fox"


def _named_by_model(location: str) -> Callable[[Place], str]:
    """Return what writes the model that `location` refers to."""

    def locate(place: Place) -> str:
        place.copy_model("model.gguf")
        return location

    return locate


def _server(kind: str, stand_in: type[StandIn]) -> Callable[[Place], str]:
    def locate(place: Place) -> str:
        server = place.stack.enter_context(stand_in(HostileEncoder(load_gguf(GGUF))))
        place.servers.append(server)
        return f"{kind}+{server.address}"

    return locate


SERVER_KINDS = {"llama-server": StandIn, **STAND_INS}
STORE_KINDS = {
    "hf": Kind(_hf, ("model.gguf",)),
    "ollama": Kind(_ollama, ("manifests/registry.ollama.ai/library/fox/latest", "blobs/sha256-*")),
    "lmstudio": Kind(_lm_studio, (".lmstudio/models/org/fox/fox.gguf",)),
    "llamacpp": Kind(_llama_cpp_cache, ("org_fox_fox.gguf",)),
}
KINDS: dict[str, Kind] = {
    "tokenizers": Kind(_tokenizers, ("tokenizer.json",)),
    "sentencepiece": Kind(_sentencepiece, ("tokenizer.model",)),
    "tiktoken": Kind(_tiktoken, ("small.tiktoken",), library="tiktoken"),
    "tekken": Kind(_tekken, ("tekken.json",), library="mistral_common"),
    "rwkv": Kind(_rwkv, ("rwkv_vocab_v20230424.txt",)),
    "vocab": Kind(_vocab, ("vocab.json", "merges.txt")),
    "rebuilt": Kind(_named_by_model("rebuilt"), ("model.gguf",)),
    "gguf": Kind(lambda place: f"gguf:{place.copy_model('model.gguf')}", ("model.gguf",)),
    "llama.cpp": Kind(_named_by_model("llama.cpp"), ("model.gguf",), has_process=True, library="xllamacpp"),
    "transformers": Kind(
        _transformers,
        ("tokenizer.json", "tokenizer_config.json"),
        has_process=True,
        library="transformers",
        is_slow=True,
    ),
    "env": Kind(_env, ("tokenizer.json",), has_process=True),
    "command": Kind(_command, (), has_process=True, returns_hostile_ids=True),
    "a package": Kind(_package, (), is_slow=True),
    "a hostile package": Kind(_hostile_package, (), returns_hostile_ids=True),
    "hub": Kind(_hub, ("tokenizer.json",)),
    "https": Kind(_https, ("model.gguf",)),
    **STORE_KINDS,
    **{kind: Kind(_server(kind, server), (), returns_hostile_ids=True) for kind, server in SERVER_KINDS.items()},
}
"""Every kind of reference, store and server. The tests fail if one is missing."""


@dataclass
class Opened:
    """A reference, and what is behind it."""

    name: str
    place: Place
    location: str
    found: FoundReference
    processes: set[int]
    """The processes that opening it has started."""

    @property
    def kind(self) -> Kind:
        return KINDS[self.name]


def list_children() -> set[int]:
    """Return the ids of the processes that any thread of this process has started and that still run."""
    found: set[int] = set()
    for thread in Path(f"/proc/{os.getpid()}/task").iterdir():
        with suppress(OSError):
            found.update(map(int, (thread / "children").read_text().split()))
    return found


def open_kind(name: str, location: str, place: Place) -> Opened:
    """Open a tokenizer whose files and servers are there; the model beside it is the one under test."""
    model = place.folder / "model.gguf"
    model = model if model.exists() else GGUF
    others = list_children()
    found = open_reference(location, spec=load_gguf(model).spec, model=model)
    return Opened(name, place, location, found, list_children() - others)


def files_of(place: Place, kind: Kind) -> list[Path]:
    """Return the files of a kind that a stranger may have written."""
    return [path for pattern in kind.files for path in sorted(place.folder.glob(pattern))]
