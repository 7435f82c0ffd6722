"""The tokenizer of an OpenVINO Model Server.

Source: the page "Tokenization" in the documentation of OpenVINO Model Server 2026. Depending on the version, the path
begins with `/v1` or `/v3`.
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from tokverify.errors import UnsupportedError
from tokverify.references.servers.http_tokenizer import HttpTokenizer
from tokverify.system.http_pool import AnswerError, Call, HttpPool, RefusedError

_PATHS = ("/v3/tokenize", "/v1/tokenize")


class OvmsTokenizer(HttpTokenizer):
    """The tokenizer of an OpenVINO Model Server, which cannot decode."""

    name = "OpenVINO Model Server"

    def __init__(self, pool: HttpPool, model: str) -> None:
        super().__init__(pool, model)
        self._path = _find_path(pool, model)

    def request_encoding(self, text: str, *, add_special: bool, parse_special: bool) -> Call:  # noqa: ARG002
        """Return the request that encodes a text."""
        return Call(self._path, {"model": self.model, "text": text, "add_special_tokens": add_special})

    def read_ids(self, answer: Any) -> Any:  # noqa: ANN401 - JSON
        """Return the ids in its answer."""
        return answer["tokens"]

    def request_decoding(self, ids: Sequence[int]) -> Call:  # noqa: ARG002
        """Refuse to decode.

        Raises:
            UnsupportedError: Always.
        """
        raise UnsupportedError(f"{self.name} does not decode")

    def read_text(self, answer: Any) -> Any:  # noqa: ANN401 - JSON
        """Return nothing, as nothing is asked."""
        return answer["text"]


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
