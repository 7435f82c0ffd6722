"""Adapters for the tokenizers of running servers, one per kind of server.

A new kind is one module, one line in `SERVERS`, and a way to recognize it in `detection`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import partial

from tokverify.errors import TokverifyError
from tokverify.location import Location
from tokverify.references.reference import FoundReference, Request, shown_name
from tokverify.references.servers import llama_server
from tokverify.references.servers.detection import describe_model, detect, list_models
from tokverify.references.servers.http_tokenizer import HttpTokenizer
from tokverify.references.servers.llama_cpp_python import LlamaCppPythonTokenizer
from tokverify.references.servers.ovms import OvmsTokenizer
from tokverify.references.servers.tei import TeiTokenizer
from tokverify.references.servers.vllm import SglangTokenizer, VllmTokenizer
from tokverify.system.http_pool import HttpPool
from tokverify.text.wording import suggest_name

ADDRESS = re.compile(r"(?:([\w.-]+)\+)?(https?://[^#]*)(?:#(.*))?", re.ASCII | re.DOTALL)
"""`KIND+http://HOST:PORT#MODEL`, of which the kind and the model may be missing."""
CAVEAT = "the server returns only ids: it exposes neither its tokens nor which of them are special"
KEY_VARIABLES = ("TOKVERIFY_API_KEY", "LLAMA_API_KEY")
"""The environment variables with the key of a server; llama-server itself reads a list of keys from the second."""
SERVERS_VARIABLE = "TOKVERIFY_SERVERS"
"""The environment variable with the addresses that may be sent the key although a configuration names them."""


def _connect(kind: type[HttpTokenizer], pool: HttpPool, model: str) -> FoundReference:
    """Make sure that the server encodes, and describe it."""
    tokenizer = kind(pool, model)
    tokenizer.encode("a", add_special=True, parse_special=True)
    name = shown_name(tokenizer.model, "") or describe_model(list_models(pool))
    return FoundReference(tokenizer, source=f"{pool.address}, {name}", caveat=CAVEAT)


SERVERS: Mapping[str, Callable[[HttpPool, str], FoundReference]] = {
    "llama-server": llama_server.connect,
    "vllm": partial(_connect, VllmTokenizer),
    "sglang": partial(_connect, SglangTokenizer),
    "tei": partial(_connect, TeiTokenizer),
    "ovms": partial(_connect, OvmsTokenizer),
    "llama-cpp-python": partial(_connect, LlamaCppPythonTokenizer),
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


def _key(address: Location) -> str | None:
    """Return the key to send: none to an address from a file, unless the environment names that address."""
    allowed = [each.strip().rstrip("/") for each in os.environ.get(SERVERS_VARIABLE, "").split(",")]
    try:
        address.require_typed(address.text, "send a key to a server", allowed)
    except TokverifyError:
        return None
    keys = (os.environ.get(variable, "").partition(",")[0] for variable in KEY_VARIABLES)
    return next(filter(None, keys), None)
