"""The program behind `-r llama.cpp`: calls llama.cpp's C functions, and speaks the protocol of docs/programs.md.

It is run by its path and needs only the standard library, so that it starts fast and only llama.cpp can fail in it.
Its arguments are the shared library, a small GGUF file with which to check that library, the model, and after how many
seconds a request is certainly given up.

It goes beyond the protocol: a text may be an object with `base64`, because it need not be UTF-8; `pieces`, `bytes`,
`attributes` and `ends` (whether they end a generation) list one thing about tokens each, which is faster than `tokens`
for a large vocabulary; and `flags` tells whether each of `names` is on.

Functions and types are those of llama.cpp's `include/llama.h`.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import signal
import sys
from array import array
from collections.abc import Callable
from functools import partial
from typing import Any, BinaryIO

SAMPLE_TEXT = "Hello  world \N{LLAMA}"
SAMPLE_IDS = (672, 4, 1733, 305, 371, 1714, 274, 193, 200, 187)
"""The ids of `SAMPLE_TEXT` in the vocabulary of the bundled sample."""

_LOAD_SECONDS = 300.0
_ERROR_LEVEL = 4
_FIRST_POINTERS = 40
"""The byte offset in `llama_model_params` from which on, up to the flags, there are only pointers, in every build."""
_MAX_ERRORS = 100
# Not eot and fim_*: if several texts qualify, llama.cpp takes the first one in a hash table, which is arbitrary.
ROLES = ("bos", "eos", "sep", "pad", "mask")
"""The roles that llama.cpp exposes."""
FLAGS = ("add_bos", "add_eos", "add_sep")
"""The settings that llama.cpp exposes."""


class WorkerError(Exception):
    """An error whose message is sent as the response."""


class _ModelParams(ctypes.Structure):
    """Space for the `llama_model_params` of any build, each of which uses the beginning of it."""

    _fields_ = (("words", ctypes.c_uint64 * 32),)


class LoadedLibrary:
    """llama.cpp's shared library."""

    def __init__(self, path: str) -> None:
        self._errors: list[str] = []
        self._c = ctypes.CDLL(path)
        _declare(self._c)
        # Kept alive because llama.cpp calls it as long as it runs.
        self._on_log = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(self._log)
        self._c.llama_log_set(self._on_log, None)
        self._c.llama_backend_init()
        self._vocab_only_at = _find_flags(bytes(self._c.llama_model_default_params()))

    def _log(self, level: int, text: bytes, _: object) -> None:
        if level == _ERROR_LEVEL and len(self._errors) < _MAX_ERRORS:
            self._errors.append(text.decode(errors="replace").strip())

    def load(self, path: str) -> Vocabulary:
        """Load the vocabulary of a GGUF file, and nothing else of it."""
        params = self._c.llama_model_default_params()
        ctypes.c_bool.from_buffer(params, self._vocab_only_at).value = True
        self._errors.clear()
        model = self._c.llama_model_load_from_file(os.fsencode(path), params)
        if not model:
            raise WorkerError(self._errors[0] if self._errors else "it gives no reason")
        return Vocabulary(self._c, self._c.llama_model_get_vocab(model))

    def check(self, sample: str) -> None:
        """Check that functions and structs are those this module was written for.

        The sample has no weights, so that it cannot be loaded with `vocab_only` in the wrong place.
        """
        ids = array("i", self.load(sample).encode(SAMPLE_TEXT.encode(), add_special=False, parse_special=True))
        if tuple(ids) != SAMPLE_IDS:
            raise WorkerError(f"a known text gives other ids: {ids.tolist()}")


def _find_flags(defaults: bytes) -> int:
    """Return the offset of the flags in the default `llama_model_params`, of which `vocab_only` is the first.

    It differs between builds. Before the flags are pointers, all of which are null by default.
    """
    words = range(_FIRST_POINTERS, len(defaults), ctypes.sizeof(ctypes.c_uint64))
    found = next((at for at in words if any(defaults[at : at + 4])), len(defaults))
    if len(defaults) <= found or defaults[found] or max(defaults[found : found + 4]) > 1:
        raise WorkerError("llama_model_params has an unknown layout")
    return found


def _declare(c: Any) -> None:  # noqa: ANN401 - a CDLL has whatever attributes its library has
    pointer, integer, flag, ids = ctypes.c_void_p, ctypes.c_int32, ctypes.c_bool, ctypes.POINTER(ctypes.c_int32)
    c.llama_model_default_params.restype = _ModelParams
    c.llama_model_load_from_file.restype = pointer
    c.llama_model_load_from_file.argtypes = [ctypes.c_char_p, _ModelParams]
    c.llama_model_get_vocab.restype = pointer
    c.llama_model_get_vocab.argtypes = [pointer]
    c.llama_tokenize.argtypes = [pointer, ctypes.c_char_p, integer, ids, integer, flag, flag]
    c.llama_detokenize.argtypes = [pointer, ids, integer, ctypes.c_char_p, integer, flag, flag]
    c.llama_token_to_piece.argtypes = [pointer, integer, ctypes.c_char_p, integer, integer, flag]
    c.llama_vocab_get_text.restype = ctypes.c_char_p
    c.llama_vocab_is_eog.restype = flag
    for function in (c.llama_vocab_get_text, c.llama_vocab_get_attr, c.llama_vocab_is_eog):
        function.argtypes = [pointer, integer]
    for name in ("n_tokens", *_roles(c)):
        getattr(c, f"llama_vocab_{name}").argtypes = [pointer]
    for name in FLAGS:
        getattr(c, f"llama_vocab_get_{name}").argtypes = [pointer]
        getattr(c, f"llama_vocab_get_{name}").restype = flag


def _roles(c: Any) -> list[str]:  # noqa: ANN401 - as for _declare
    """Return the roles that this build exposes; those of 2025 lack one."""
    return [role for role in ROLES if hasattr(c, f"llama_vocab_{role}")]


class Vocabulary:
    """A loaded vocabulary; texts are bytes, and several ids are an array of int32 in native order."""

    def __init__(self, c: Any, vocab: int) -> None:  # noqa: ANN401 - as for _declare
        self._c = c
        self._vocab = vocab
        self._ids = (ctypes.c_int32 * 4096)()
        self._text = ctypes.create_string_buffer(4096)
        self.size: int = c.llama_vocab_n_tokens(vocab)

    def encode(self, text: bytes, *, add_special: bool, parse_special: bool) -> bytes:
        """Encode a text to ids."""
        while True:
            ids = self._ids
            count = self._c.llama_tokenize(self._vocab, text, len(text), ids, len(ids), add_special, parse_special)
            if count >= 0:
                return ctypes.string_at(ids, count * 4)
            self._ids = (ctypes.c_int32 * _required_size(count))()

    def decode(self, ids: bytes, *, remove_special: bool = False, unparse_special: bool = True) -> bytes:
        """Decode ids to a text; by default, special tokens are included."""
        count = len(ids) // 4
        tokens = (ctypes.c_int32 * count).from_buffer_copy(ids)
        flags = remove_special, unparse_special
        return self._fill(
            lambda buffer, size: self._c.llama_detokenize(self._vocab, tokens, count, buffer, size, *flags)
        )

    def token_bytes(self, id: int, *, spaces: int = 0, special: bool = True) -> bytes:
        """Return the bytes of one token without up to `spaces` leading spaces; of a special token only on request."""
        flags = spaces, special
        return self._fill(lambda buffer, size: self._c.llama_token_to_piece(self._vocab, id, buffer, size, *flags))

    def _fill(self, fill: Callable[[object, int], int]) -> bytes:
        while True:
            size = fill(self._text, len(self._text))
            if size >= 0:
                return ctypes.string_at(self._text, size)
            self._text = ctypes.create_string_buffer(_required_size(size))

    def hello(self) -> dict[str, object]:
        """Describe the vocabulary as the protocol asks for it."""
        ids = {role: getattr(self._c, f"llama_vocab_{role}")(self._vocab) for role in _roles(self._c)}
        return {
            "protocol": 1,
            "name": "llama.cpp",
            "version": "unknown",
            "vocab_size": self.size,
            "capabilities": ["add_special", "parse_special", "decode"],
            "special_ids": {role: id for role, id in ids.items() if id >= 0},
        }

    def list_tokens(self, what: str, ids: list[int]) -> list[object]:
        """Return `pieces`, `bytes`, `attributes` or whether they `end` a generation, for some tokens."""
        c, vocab = self._c, self._vocab
        if what == "pieces":
            return [_to_json(c.llama_vocab_get_text(vocab, id)) for id in ids]
        if what == "bytes":
            return [_to_json(self.token_bytes(id)) for id in ids]
        if what == "attributes":
            return [c.llama_vocab_get_attr(vocab, id) for id in ids]
        return [c.llama_vocab_is_eog(vocab, id) for id in ids]

    def flag(self, name: str) -> bool:
        """Return one of `FLAGS`."""
        return bool(getattr(self._c, f"llama_vocab_get_{name}")(self._vocab))


def _required_size(size: int) -> int:
    """Return the room that llama.cpp asks for by a negative size."""
    if size == -(2**31):
        raise WorkerError("the result is longer than llama.cpp can count")
    return -size


def _to_json(data: bytes) -> object:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _read_bytes(value: Any) -> bytes:  # noqa: ANN401 - JSON
    return value.encode() if isinstance(value, str) else base64.b64decode(value["base64"])


def _attempt(function: Callable[[], object]) -> object:
    try:
        return function()
    except WorkerError as error:
        return {"error": str(error)}


def _encode(vocabulary: Vocabulary, text: object, modes: dict[str, bool]) -> list[int]:
    return array("i", vocabulary.encode(_read_bytes(text), **modes)).tolist()


def _decode(vocabulary: Vocabulary, ids: list[int], flags: dict[str, bool]) -> object:
    return _to_json(vocabulary.decode(array("i", ids).tobytes(), **flags))


def _respond(vocabulary: Vocabulary, request: dict[str, Any]) -> dict[str, object]:
    operation = request["op"]
    if operation == "hello":
        return vocabulary.hello()
    if operation == "encode":
        modes = {name: request[name] for name in ("add_special", "parse_special")}
        return {"ids": [_attempt(partial(_encode, vocabulary, text, modes)) for text in request["texts"]]}
    if operation == "decode":
        flags = {name: request[name] for name in ("remove_special", "unparse_special")}
        return {"decoded": [_attempt(partial(_decode, vocabulary, ids, flags)) for ids in request["ids"]]}
    if operation == "flags":
        return {"flags": list(map(vocabulary.flag, request["names"]))}
    return {operation: vocabulary.list_tokens(operation, request["ids"])}


def _serve(load: Callable[[], Vocabulary], requests: BinaryIO, responses: BinaryIO, seconds: float) -> None:
    """Load the vocabulary when the first request arrives, and respond until there are no more."""
    vocabulary: Vocabulary | None = None
    for line in requests:
        request = json.loads(line)
        _allow(seconds if vocabulary else _LOAD_SECONDS)
        try:
            vocabulary = vocabulary or load()
            response = _respond(vocabulary, request)
        except (WorkerError, OSError, AttributeError) as error:
            response = {"error": str(error)}
        responses.write(json.dumps({"id": request["id"], **response}).encode() + b"\n")
        responses.flush()
        _allow(0)


def _load(library_path: str, sample: str, model: str) -> Vocabulary:
    """Load the model, once the library behaves as expected."""
    library = LoadedLibrary(library_path)
    library.check(sample)
    return library.load(model)


def _allow(seconds: float) -> None:
    """Make the system end this process after this many seconds; 0 for never.

    Nothing in Python could, while C code hangs and the parent may be gone.
    """
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _prepare() -> BinaryIO:
    """Make this process end quietly; return the stream for the answers."""
    # Ctrl-C reaches every process of a terminal. The parent acts on it, and this one ends when its input does.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.name == "posix":
        import resource

        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # subtle: what a library prints must not mix with the answers.
    answers = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(answers, "wb")


def main(library_path: str, sample: str, model: str, seconds: str) -> None:
    """Serve the vocabulary of a model."""
    responses = _prepare()
    load = partial(_load, library_path, sample, model)
    _serve(load, sys.stdin.buffer, responses, float(seconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
