"""Adapters for the tokenizers of running servers, one per kind of server.

A new kind is one module, one line in `SERVERS`, and a way to recognize it in `detection`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.location import Location
from tokverify.references.reference import FoundReference, Request, shown_name
from tokverify.references.servers.detection import describe_model, detect, list_models, list_ovms_models
from tokverify.system.http_pool import HttpPool
from tokverify.text.wording import suggest_name

if TYPE_CHECKING:
    from tokverify.references.servers.http_tokenizer import HttpTokenizer

ADDRESS = re.compile(r"(?:([\w.-]+)\+)?(https?://[^#]*)(?:#(.*))?", re.ASCII | re.DOTALL)
"""`KIND+http://HOST:PORT#MODEL`, of which the kind and the model may be missing."""
CAVEAT = "the server returns only ids: it exposes neither its tokens nor which of them are special"
KEY_VARIABLES = ("TOKVERIFY_API_KEY", "LLAMA_API_KEY")
"""The environment variables with the key of a server; llama-server itself reads a list of keys from the second."""
SERVERS_VARIABLE = "TOKVERIFY_SERVERS"
"""The environment variable with the addresses that may be sent the key although a configuration names them."""

_MAX_SENT_NAME = 500


def _llama_server(pool: HttpPool, model: str) -> FoundReference:
    from tokverify.references.servers import llama_server

    if model:
        raise UnsupportedError(f"{pool.address}: a llama-server has one model; omit #{model}")
    return llama_server.connect(pool)


def _vllm(pool: HttpPool, model: str) -> FoundReference:
    from tokverify.references.servers.vllm import VllmTokenizer

    return _found(VllmTokenizer(pool, model))


def _sglang(pool: HttpPool, model: str) -> FoundReference:
    from tokverify.references.servers.sglang import SglangTokenizer

    return _found(SglangTokenizer(pool, model))


def _tei(pool: HttpPool, model: str) -> FoundReference:
    from tokverify.references.servers.tei import TeiTokenizer

    return _found(TeiTokenizer(pool, model))


def _ovms(pool: HttpPool, model: str) -> FoundReference:
    from tokverify.references.servers.ovms import OvmsTokenizer

    return _found(OvmsTokenizer(pool, model or _only_ovms_model(pool)))


def _only_ovms_model(pool: HttpPool) -> str:
    names = [each.get("id") for each in list_ovms_models(pool)]
    name = names[0] if len(names) == 1 else None
    if isinstance(name, str) and len(name) <= _MAX_SENT_NAME:
        return name
    has = "one model, without a usable name" if len(names) == 1 else f"{len(names)} models"
    raise TokverifyError(f"{pool.address}: the server has {has}; name one, as in ovms+{pool.address}#NAME")


def _llama_cpp_python(pool: HttpPool, model: str) -> FoundReference:
    from tokverify.references.servers.llama_cpp_python import LlamaCppPythonTokenizer

    return _found(LlamaCppPythonTokenizer(pool, model))


SERVERS: Mapping[str, Callable[[HttpPool, str], FoundReference]] = {
    "llama-server": _llama_server,
    "vllm": _vllm,
    "sglang": _sglang,
    "tei": _tei,
    "ovms": _ovms,
    "llama-cpp-python": _llama_cpp_python,
}
"""Kind of server -> a function that connects to it, given the name of a model or an empty string."""


def load(request: Request, *, seconds: float = 30.0) -> FoundReference:
    """Connect to the server at an address; `seconds` is the time limit for an answer, with all retries.

    Raises:
        TokverifyError: If the address is not valid, it cannot be reached, or something else answers.
        UnsupportedError: If it is a server of an unknown kind, or does not expose its vocabulary.
    """
    match = ADDRESS.fullmatch(request.location.text)
    if match is None:
        raise TokverifyError(f"{request.location.text}: not a valid address, such as http://127.0.0.1:8080")
    kind, address, model = match[1], match[2], match[3] or ""
    if kind and kind not in SERVERS:
        raise TokverifyError(f"{kind}+http: unknown kind of server; {suggest_name(kind, SERVERS)}")
    pool = HttpPool(address, seconds=seconds, key=_key(request.location.at(address.rstrip("/"))))
    return SERVERS[kind or detect(pool)](pool, model)


def _found(tokenizer: HttpTokenizer) -> FoundReference:
    """Make sure that the server encodes, and describe it."""
    tokenizer.encode("a", add_special=True, parse_special=True)
    pool = tokenizer.pool
    name = shown_name(tokenizer.model, "") or describe_model(list_models(pool))
    return FoundReference(tokenizer, source=f"{pool.address}, {name}", caveat=CAVEAT)


def _key(address: Location) -> str | None:
    """Return the key to send: none to an address from a file, unless the environment names that address."""
    allowed = [each.strip().rstrip("/") for each in os.environ.get(SERVERS_VARIABLE, "").split(",")]
    try:
        address.require_typed(address.text, "send a key to a server", allowed)
    except TokverifyError:
        return None
    keys = (os.environ.get(variable, "").partition(",")[0] for variable in KEY_VARIABLES)
    return next(filter(None, keys), None)
