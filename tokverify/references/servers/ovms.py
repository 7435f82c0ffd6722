"""The tokenizer of an OpenVINO Model Server.

Source: the page "Tokenization" in the documentation of OpenVINO Model Server 2026. Depending on the version, the path
begins with `/v1` or `/v3`.
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.references.servers.detection import list_ovms_models
from tokverify.references.servers.http_tokenizer import HttpTokenizer
from tokverify.system.http_pool import AnswerError, Call, HttpPool, RefusedError

_MAX_SENT_NAME = 500
_PATHS = ("/v3/tokenize", "/v1/tokenize")


class OvmsTokenizer(HttpTokenizer):
    """The tokenizer of an OpenVINO Model Server, which cannot decode."""

    name = "OpenVINO Model Server"

    def __init__(self, pool: HttpPool, model: str) -> None:
        super().__init__(pool, model or _only_model(pool))
        self._path = _find_path(pool, self.model)

    def request_encoding(self, text: str, *, add_special: bool, parse_special: bool) -> Call:  # noqa: ARG002
        """Return the request that encodes a text."""
        return Call(self._path, {"model": self.model, "text": text, "add_special_tokens": add_special})

    def request_decoding(self, ids: Sequence[int]) -> Call:  # noqa: ARG002
        """Refuse to decode."""
        raise UnsupportedError(f"{self.name} does not decode")


def _only_model(pool: HttpPool) -> str:
    names = [each.get("id") for each in list_ovms_models(pool)]
    name = names[0] if len(names) == 1 else None
    if isinstance(name, str) and len(name) <= _MAX_SENT_NAME:
        return name
    has = "one model, without a usable name" if len(names) == 1 else f"{len(names)} models"
    raise TokverifyError(f"{pool.address}: the server has {has}; name one, as in ovms+{pool.address}#NAME")


def _find_path(pool: HttpPool, model: str) -> str:
    """Return the first path that the server knows; the first of all if it knows none, for the error that follows."""
    for path in _PATHS:
        try:
            pool.ask(Call(path, {"model": model, "text": "a"}))
        except RefusedError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                continue
        except AnswerError:
            pass
        return path
    return _PATHS[0]
