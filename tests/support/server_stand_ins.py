"""Stand-ins for servers that cannot be installed here, written from their documentation and backed by an Encoder.

Like the real ones, they always recognize control tokens.
"""

import json
from typing import ClassVar

from jinja2.sandbox import SandboxedEnvironment

from support.stand_in import StandIn


class RefusedRequestError(Exception):
    """The server answers with the status that is the argument."""


class _HttpStandIn(StandIn):
    """A server with a route for each path."""

    routes: ClassVar[dict]

    def answer(self, path: str, body: bytes):
        if path not in self.routes:
            raise NotImplementedError
        return self.routes[path](self, json.loads(body or b"{}"))

    def answer_or_refuse(self, path: str, body: bytes):
        try:
            return super().answer_or_refuse(path, body)
        except RefusedRequestError as refused:
            return refused.args[0], {"error": {"message": "no"}}

    def ids(self, text: str, *, add_special: bool) -> list[int]:
        return self.encoder.encode(text, add_special=add_special, parse_special=True)

    def text(self, ids) -> str:
        return self.encoder.decode(ids).decode(errors="replace")


def _models(owner):
    return lambda self, asked: {"object": "list", "data": [{"id": "org/sample", "owned_by": owner}]}


class VllmStandIn(_HttpStandIn):
    """As in `vllm/entrypoints/serve/tokenize/protocol.py`."""

    template = "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{% endfor %}"

    def tokenize(self, asked):
        if "messages" in asked:
            text = SandboxedEnvironment().from_string(self.template).render(asked)
            tokens = self.ids(text, add_special=asked.get("add_special_tokens", False))
        else:
            tokens = self.ids(asked["prompt"], add_special=asked.get("add_special_tokens", True))
        return {"count": len(tokens), "max_model_len": 4096, "tokens": tokens, "token_strs": None}

    def detokenize(self, asked):
        return {"prompt": self.text(asked["tokens"])}

    routes: ClassVar = {"/v1/models": _models("vllm"), "/tokenize": tokenize, "/detokenize": detokenize}


class SglangStandIn(VllmStandIn):
    """As in `srt/entrypoints/openai/serving_tokenize.py` of early versions, which do not know `messages`."""

    def tokenize(self, asked):
        if "prompt" not in asked:
            raise RefusedRequestError(422)
        prompt, add_special = asked["prompt"], asked.get("add_special_tokens", True)
        if isinstance(prompt, list):
            tokens = [self.ids(text, add_special=add_special) for text in prompt]
        else:
            tokens = self.ids(prompt, add_special=add_special)
        return {"tokens": tokens, "max_model_len": 4096}

    def detokenize(self, asked):
        hidden = set() if not asked.get("skip_special_tokens", True) else set(self.encoder.special_ids.values())
        return {"text": self.text([id for id in asked["tokens"] if id not in hidden])}

    routes: ClassVar = {"/v1/models": _models("sglang"), "/tokenize": tokenize, "/detokenize": detokenize}


class LaterSglangStandIn(SglangStandIn):
    """As in later versions, which know `messages`, ignore `add_special_tokens`, and refuse texts that are all empty."""

    def tokenize(self, asked):
        asked.pop("add_special_tokens", None)
        if "messages" in asked:
            return VllmStandIn.tokenize(self, asked)
        if not any(asked["prompt"]):
            raise RefusedRequestError(400)
        return SglangStandIn.tokenize(self, asked)

    routes: ClassVar = {**SglangStandIn.routes, "/tokenize": tokenize}


class TeiStandIn(_HttpStandIn):
    """As in `router/src/http/types.rs` of text-embeddings-inference."""

    def tokenize(self, asked):
        ids = self.ids(asked["inputs"], add_special=asked.get("add_special_tokens", True))
        return [[{"id": id, "text": self.encoder.piece(id), "special": False, "start": 0, "stop": 0} for id in ids]]

    def decode(self, asked):
        return [self.text(asked["ids"])]

    def info(self, asked):
        return {"model_id": "org/sample", "model_type": {"embedding": {"pooling": "cls"}}, "version": "1.9.4"}

    routes: ClassVar = {"/info": info, "/tokenize": tokenize, "/decode": decode}


class OvmsStandIn(_HttpStandIn):
    """As on the page "Tokenization" of OpenVINO Model Server 2026."""

    names = ("org/sample",)

    def tokenize(self, asked):
        if asked["model"] not in self.names:
            raise NotImplementedError
        return {"tokens": self.ids(asked["text"], add_special=asked.get("add_special_tokens", True))}

    def models(self, asked):
        return {"object": "list", "data": [{"id": name, "owned_by": "OVMS"} for name in self.names]}

    routes: ClassVar = {"/v3/models": models, "/v3/tokenize": tokenize}


class FirstOvmsStandIn(OvmsStandIn):
    """With the other paths in that documentation."""

    routes: ClassVar = {"/v1/models": OvmsStandIn.models, "/v1/tokenize": OvmsStandIn.tokenize}


class LlamaCppPythonStandIn(_HttpStandIn):
    """As in `llama_cpp/server/app.py` of llama-cpp-python 0.3.36."""

    def tokenize(self, asked):
        return {"tokens": self.ids(asked["input"], add_special=True)}

    def detokenize(self, asked):
        """Leave out control tokens, and drop a space at the start only after BOS, as `llama_cpp/_internals.py` does."""
        ids = asked["tokens"]
        shown = [id for id in ids if id not in self.encoder.special_ids.values()]
        text = b"".join(map(self.encoder.token_bytes, shown)).decode(errors="replace")
        is_text_start = ids[:1] == [self.encoder.special_ids.get("bos")]
        return {"text": text.removeprefix(" ") if is_text_start else text}

    routes: ClassVar = {"/v1/models": _models("me"), "/extras/tokenize": tokenize, "/extras/detokenize": detokenize}


STAND_INS = {
    "vllm": VllmStandIn,
    "sglang": SglangStandIn,
    "tei": TeiStandIn,
    "ovms": OvmsStandIn,
    "llama-cpp-python": LlamaCppPythonStandIn,
}
