"""Recognize the kind of server at an address, from what it says about itself and from the paths that it knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from tokverify.errors import UnsupportedError
from tokverify.references.reference import shown_name
from tokverify.system.http_pool import Call, HttpPool, RefusedError

_MODELS = "/v1/models"
_OVMS_MODELS = "/v3/models"
_OWNERS: Mapping[str, str] = {"llamacpp": "llama-server", "vllm": "vllm", "sglang": "sglang", "OVMS": "ovms"}
"""The `owned_by` of a server's models -> the kind of server."""


def _is_tei(pool: HttpPool) -> bool:
    answer = _ask_if_known(pool, Call("/info"))
    return isinstance(answer, dict) and "model_type" in answer


def _is_llama_cpp_python(pool: HttpPool) -> bool:
    answer = _ask_if_known(pool, Call("/extras/tokenize", {"input": ""}))
    return isinstance(answer, dict) and "tokens" in answer


_PROBES: Mapping[str, Callable[[HttpPool], bool]] = {
    "llama-server": lambda pool: _ask_if_known(pool, Call("/props")) is not None,
    "tei": _is_tei,
    "llama-cpp-python": _is_llama_cpp_python,
    "ovms": lambda pool: bool(list_models(pool, _OVMS_MODELS)),
}


def detect(pool: HttpPool) -> str:
    """Return the kind of the server.

    Raises:
        GoneError: If it does not respond, requires a key, or is not ready.
        AnswerError: If it denies access, or its answer cannot be read.
        UnsupportedError: If it is of an unknown kind.
    """
    for model in list_models(pool, _MODELS):
        owner = model.get("owned_by")
        if isinstance(owner, str) and owner in _OWNERS:
            return _OWNERS[owner]
    for kind, recognizes in _PROBES.items():
        if recognizes(pool):
            return kind
    kinds = ", ".join(dict.fromkeys([*_OWNERS.values(), *_PROBES]))
    raise UnsupportedError(
        f"{pool.address}: not recognized as any of {kinds}; if it is one, select it, as in vllm+{pool.address}"
    )


def list_models(pool: HttpPool, path: str = _MODELS) -> list[dict[str, Any]]:
    """Return what a server says about its models; nothing if it does not know the path.

    Raises:
        TokverifyError: As `detect` does.
    """
    answer = _ask_if_known(pool, Call(path))
    models = answer.get("data") if isinstance(answer, dict) else None
    return [model for model in models if isinstance(model, dict)] if isinstance(models, list) else []


def list_ovms_models(pool: HttpPool) -> list[dict[str, Any]]:
    """Return the models of an OpenVINO Model Server, whose paths begin with `/v3` or `/v1`; errors as `list_models`."""
    return list_models(pool, _OVMS_MODELS) or list_models(pool)


def describe_model(models: list[dict[str, Any]]) -> str:
    """Return the name of the first of these models, as it is shown."""
    return shown_name(models[0].get("id") if models else None, "a model without a name")


def _ask_if_known(pool: HttpPool, call: Call) -> Any:  # noqa: ANN401 - JSON
    """Return what the server answers; None if it knows no such path."""
    try:
        return pool.ask(call)
    except RefusedError as error:
        if error.status == HTTPStatus.FORBIDDEN:
            # A server of any kind answers this, so that it says nothing about the kind.
            raise
        return None
