"""Run a Python library as a program that speaks the JSON Lines protocol: `library_worker.py KIND LOCATION [OPTION...]`.

It is run by its path, with the Python of any environment, and needs only the standard library and the library itself,
whose version decides what a tokenizer does. KIND is `tokenizers` (a tokenizer.json, versions 0.x and 1.x) or
`transformers` (what `AutoTokenizer` loads; `slow` and `trust_remote_code` are its options).
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TextIO

_CODING = ("encode", "_encode_plus", "_batch_encode_plus", "decode", "_decode")
"""The methods of a class of transformers that encode and decode; some are only in earlier or later versions."""

Response = dict[str, Any]
Decode = Callable[[Sequence[int]], str]


class TokenizersEngine:
    """A tokenizer.json in the library `tokenizers`.

    Since version 1.0, the library lists no tokens, so they are those of the file in all versions.
    """

    def __init__(self, location: str, options: Sequence[str]) -> None:
        from tokenizers import Tokenizer

        del options
        self._location = location
        self._tokenizer: Any = Tokenizer.from_file(location)
        self._is_first_api = importlib.metadata.version("tokenizers").startswith("0.")
        # Versions before 0.15 always recognize special tokens.
        self._always_parses = self._is_first_api and not hasattr(self._tokenizer, "encode_special_tokens")
        if self._is_first_api:
            self._tokenizer.no_truncation()
            self._tokenizer.no_padding()
        document = json.loads(Path(location).read_bytes())
        vocabulary = document["model"]["vocab"]
        if not isinstance(vocabulary, dict):
            vocabulary = {item[0]: id for id, item in enumerate(vocabulary)}
        added = document.get("added_tokens") or []
        self._types = {token["id"]: "control" if token["special"] else "user_defined" for token in added}
        self._pieces = {id: piece for piece, id in vocabulary.items()}
        self._pieces |= {token["id"]: token["content"] for token in added}

    def hello(self) -> Response:
        """Describe the tokenizer."""
        parsing = "always_parse_special" if self._always_parses else "parse_special"
        return {
            "vocab_size": max(self._pieces) + 1,
            "capabilities": ["add_special", parsing, "decode", "tokens"],
        }

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Encode a text."""
        if self._is_first_api:
            if not self._always_parses:
                self._tokenizer.encode_special_tokens = not parse_special
            return list(self._tokenizer.encode(text, add_special_tokens=add_special).ids)
        options = {"add_special_tokens": add_special, "encode_special_tokens": not parse_special}
        return list(self._tokenizer.encode(text, **options, truncation=None, padding=None).ids)

    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids, special tokens included."""
        return str(self._tokenizer.decode(ids, skip_special_tokens=False))

    def tokens(self, ids: Iterable[int]) -> list[Response | None]:
        """List tokens with their types."""
        return [self._token(id) for id in ids]

    def save(self, path: str) -> bool:
        """Copy the tokenizer.json to a file."""
        shutil.copyfile(self._location, path)
        return True

    def _token(self, id: int) -> Response | None:
        if id not in self._pieces:
            return None
        piece, type_ = self._pieces[id], self._types.get(id, "undefined")
        return {"piece": piece, "type": type_, **describe_bytes(self.decode, id, piece, type_)}


class TransformersEngine:
    """A tokenizer that `transformers.AutoTokenizer` loads."""

    def __init__(self, location: str, options: Sequence[str]) -> None:
        from transformers import AutoTokenizer

        name, _, revision = (location, "", "") if Path(location).exists() else location.partition("@")
        # It makes a tokenizer of its own of what a GGUF file contains.
        of_gguf = {}
        if is_gguf(Path(name)):
            name, of_gguf = str(Path(name).parent), {"gguf_file": Path(name).name}
        self._tokenizer: Any = AutoTokenizer.from_pretrained(
            name,
            **of_gguf,
            revision=revision or "main",
            use_fast="slow" not in options,
            trust_remote_code="trust_remote_code" in options,
        )
        if Path(name).is_dir() and not of_gguf:
            self._require_vocabulary(Path(name))

    def _require_vocabulary(self, directory: Path) -> None:
        # The library makes a tokenizer of a configuration alone: it has only the added tokens that this one lists.
        if (directory / "tokenizer.json").exists():
            return
        if self._tokenizer.get_vocab().keys() <= self._tokenizer.get_added_vocab().keys():
            raise ValueError(f"{directory} has no vocabulary, only the added tokens of its tokenizer_config.json")

    def hello(self) -> Response:
        """Describe the tokenizer."""
        tokenizer = self._tokenizer
        roles = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
        ids = {role: getattr(tokenizer, f"{role}_token_id", None) for role in roles}
        return {
            "vocab_size": max([len(tokenizer) - 1, *tokenizer.get_vocab().values()]) + 1,
            "capabilities": ["add_special", "parse_special", "decode", "tokens"],
            "special_ids": {role: id for role, id in ids.items() if isinstance(id, int)},
        }

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Encode a text."""
        options = {"add_special_tokens": add_special, "split_special_tokens": not parse_special, "truncation": False}
        return list(self._tokenizer.encode(text, verbose=False, **options))

    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids, special tokens included."""
        return str(self._tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False))

    def tokens(self, ids: Sequence[int]) -> list[Response | None]:
        """List tokens with their types."""
        added = self._tokenizer.added_tokens_decoder
        pieces = self._tokenizer.convert_ids_to_tokens(ids)
        return [_describe_token(self.decode, id, piece, added.get(id)) for id, piece in zip(ids, pieces, strict=True)]

    def save(self, path: str) -> bool:
        """Write the tokenizer.json that the class holds to a file; False if it holds none, or may do more than that.

        Whisper's class drops tokens where it decodes, for example.
        """
        from transformers import PreTrainedTokenizerFast

        kind = type(self._tokenizer)
        is_own = any(getattr(kind, name, None) is not getattr(PreTrainedTokenizerFast, name, None) for name in _CODING)
        if not self._tokenizer.is_fast or is_own:
            return False
        self._tokenizer.backend_tokenizer.save(path)
        return True


def is_gguf(path: Path) -> bool:
    """Check whether a path is that of a GGUF file, whatever its name is."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"GGUF"


ENGINES: Mapping[str, Callable[[str, Sequence[str]], TokenizersEngine | TransformersEngine]] = {
    "tokenizers": TokenizersEngine,
    "transformers": TransformersEngine,
}


def _describe_token(decode: Decode, id: int, piece: object, added: Any) -> Response | None:  # noqa: ANN401 - a class of another library
    """Return a token as the protocol lists it; None if there is none."""
    if isinstance(piece, bytes):
        return {"piece": piece.decode(errors="replace"), "bytes": {"base64": _base64(piece)}}
    if not isinstance(piece, str):
        return None
    if not added:
        return {"piece": piece}
    type_ = "control" if added.special else "user_defined"
    return {"piece": piece, "type": type_, **describe_bytes(decode, id, piece, type_)}


def describe_bytes(decode: Decode, id: int, piece: str, type_: str) -> Response:
    """Return the bytes of an added token such as `▁▁`, which is two spaces in some tokenizers."""
    if type_ != "user_defined" or "▁" not in piece:
        return {}
    # A decoder may drop a space at the start of a text, so this is what the token adds to a text.
    return {"bytes": decode([id, id])[len(decode([id])) :]}


def _base64(data: bytes) -> str:
    import base64

    return base64.b64encode(data).decode()


def attempt(work: Callable[[], object]) -> object:
    """Return the result, or the error of this item alone."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - libraries raise anything
        return {"error": str(error) or type(error).__name__}


def respond(engine: TokenizersEngine | TransformersEngine, kind: str, request: Response) -> Response:
    """Answer one request."""
    operation = request["op"]
    if operation == "hello":
        return {"protocol": 1, "name": kind, "version": importlib.metadata.version(kind), **engine.hello()}
    if operation == "encode":
        options = {name: request[name] for name in ("add_special", "parse_special")}
        return {"ids": [attempt(partial(engine.encode, text, **options)) for text in request["texts"]]}
    if operation == "decode":
        return {"decoded": [attempt(partial(engine.decode, ids)) for ids in request["ids"]]}
    if operation == "save":
        return {"saved": [attempt(partial(engine.save, path)) for path in request["paths"]]}
    return {"tokens": engine.tokens(request["ids"])}


def main(kind: str, location: str, *options: str) -> None:
    """Load the tokenizer, then answer requests until there are no more."""
    # subtle: what a library prints must not mix with the responses.
    responses: TextIO = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with contextlib.redirect_stdout(sys.stderr):
        engine = ENGINES[kind](location, options)
        for line in sys.stdin.buffer:
            request = json.loads(line)
            responses.write(json.dumps({"id": request["id"], **respond(engine, kind, request)}) + "\n")
            responses.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
