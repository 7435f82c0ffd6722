"""The reference `llama.cpp`: llama.cpp itself, on the same GGUF file, through the wheel `xllamacpp`.

The wheel's shared object exports llama.cpp's C functions. They run in a child process, since llama.cpp aborts on
some inputs.
"""

from __future__ import annotations

import importlib.util
import json
from array import array
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.errors import BrokenFileError, EncodeError, MissingLibraryError, TokverifyError, UnsupportedError
from tokverify.references.library_error import summary
from tokverify.references.llama_cpp_process import Child, DiedError, RefusedError
from tokverify.references.llama_cpp_worker import (
    ATTRIBUTES,
    DECODE,
    ENCODE,
    EOG_IDS,
    LENGTH,
    PIECES,
    TOKEN_BYTES,
)
from tokverify.references.reference import FoundReference

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokverify.references.reference import Request

VOCAB_ONLY_AT: Mapping[str, int] = {"2026.10.11549": 72, "2026.9.11063": 72}
"""Supported versions of xllamacpp: the byte at which `vocab_only` stands in `llama_model_params`."""

CAVEAT = (
    "llama.cpp reads the same file: agreement shows that tokverify encodes as llama.cpp does, not that the data in "
    "the file is right"
)
_SAMPLE = Path(__file__).parents[1] / "sample" / "sample.gguf"
_SUFFIXES = (".so", ".dylib", ".pyd")
_INSTALL = "install it with `pip install 'tokverify[llama-cpp]'`"


@dataclass(frozen=True, slots=True)
class Library:
    """The shared object of an installed xllamacpp."""

    path: Path
    version: str

    @property
    def vocab_only_at(self) -> int:
        """The byte at which `vocab_only` stands in this build.

        Raises:
            UnsupportedError: If nobody has looked at this version.
        """
        if self.version not in VOCAB_ONLY_AT:
            raise self.unsupported("its structs may be others")
        return VOCAB_ONLY_AT[self.version]

    def unsupported(self, reason: str) -> UnsupportedError:
        """Return the error for a library that cannot be used."""
        return UnsupportedError(
            f"xllamacpp {self.version} cannot be used: {reason}; supported are {', '.join(VOCAB_ONLY_AT)}; {_INSTALL}"
        )


class LlamaCppTokenizer:
    """A GGUF file's tokenizer as llama.cpp has it, in a child process that is started again after a crash.

    `seconds` is how long one text may take.
    """

    name = "llama.cpp"
    parses_special = True
    adds_special = True

    def __init__(self, model: Path, library: Library, *, seconds: float = 60.0) -> None:
        self._model = model
        self._library = library
        self._seconds = seconds
        self._child = self._start()

    def _start(self) -> Child:
        arguments = [self._library.path, self._library.vocab_only_at, _SAMPLE, self._model]
        child = Child([str(argument) for argument in arguments], seconds=self._seconds)
        try:
            child.answer()
        except (DiedError, RefusedError) as error:
            raise self._library.unsupported(f"it fails on a known vocabulary ({summary(error)})") from error
        try:
            description = json.loads(child.answer())
        except RefusedError as error:
            raise BrokenFileError(f"{self._model}: llama.cpp cannot load it ({summary(error)})") from error
        except DiedError as error:
            raise BrokenFileError(f"{self._model}: cannot be loaded: {summary(error)}") from error
        self.vocab_size: int = description["vocab_size"]
        self.special_ids: Mapping[str, int] = description["special_ids"]
        self.flags: Mapping[str, bool] = description["flags"]
        return child

    def close(self) -> None:
        """End the child process; it is started again where needed."""
        self._child.end()

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Encode a text to token ids; what llama.cpp aborts on is an error of this text alone."""
        ids = self.encode_many([text], add_special=add_special, parse_special=parse_special)[0]
        if isinstance(ids, EncodeError):
            raise ids
        return ids

    def encode_many(
        self, texts: Sequence[str], *, add_special: bool, parse_special: bool
    ) -> list[list[int] | EncodeError]:
        """Encode texts in one round trip, which takes a fraction of the time; a text that fails has its error."""
        results: list[bytes | EncodeError] = [_utf8(text) for text in texts]
        valid = [result for result in results if isinstance(result, bytes)]
        answers = iter(self._ask(ENCODE, valid, add_special=add_special, parse_special=parse_special))
        return [result if isinstance(result, EncodeError) else _ids(next(answers)) for result in results]

    def decode(self, ids: Sequence[int]) -> bytes:
        """Decode ids by `llama_detokenize`, special tokens included.

        It cleans up spaces where the pre-tokenizer asks for it, as `Encoder.decode` does with `clean_up`.
        """
        decoded = self.decode_many([ids])[0]
        if isinstance(decoded, EncodeError):
            raise decoded
        return decoded

    def decode_many(self, all_ids: Sequence[Sequence[int]]) -> list[bytes | EncodeError]:
        """Decode lists of ids in one round trip; a list that fails has its error."""
        results = [self._packed(ids) for ids in all_ids]
        valid = [result for result in results if isinstance(result, bytes)]
        answers = iter(self._ask(DECODE, valid))
        return [result if isinstance(result, EncodeError) else next(answers) for result in results]

    def _packed(self, ids: Sequence[int]) -> bytes | EncodeError:
        # subtle: llama.cpp would abort on an unknown id.
        unknown = next((id for id in ids if not 0 <= id < self.vocab_size), None)
        if unknown is None:
            return array("i", ids).tobytes()
        return EncodeError(f"llama.cpp has no token with the id {unknown}")

    def piece(self, id: int) -> str:
        """Return a token's stored string as llama.cpp has it; an empty string for an id without a token."""
        return self._pieces[id] if 0 <= id < self.vocab_size else ""

    def token_bytes(self, id: int) -> bytes:
        """Return the bytes that llama.cpp shows for a token; none for an id without a token."""
        return self._token_bytes[id] if 0 <= id < self.vocab_size else b""

    @cached_property
    def attributes(self) -> list[int]:
        """The attributes of every token, as in `tokverify.settings.Attribute` and, above those, for stripping."""
        return array("i", self._listing(ATTRIBUTES)).tolist()

    @cached_property
    def eog_ids(self) -> frozenset[int]:
        """The ids that end a generation."""
        return frozenset(array("i", self._listing(EOG_IDS)))

    @cached_property
    def _pieces(self) -> list[str]:
        return [piece.decode("utf-8", "surrogateescape") for piece in _unpacked(self._listing(PIECES))]

    @cached_property
    def _token_bytes(self) -> list[bytes]:
        return list(_unpacked(self._listing(TOKEN_BYTES)))

    def _listing(self, operation: bytes) -> bytes:
        answer = self._ask(operation, [b""])[0]
        if isinstance(answer, EncodeError):
            raise TokverifyError(f"llama.cpp cannot list its tokens ({answer})")
        return answer

    def _ask(
        self, operation: bytes, items: Sequence[bytes], *, add_special: bool = False, parse_special: bool = False
    ) -> list[bytes | EncodeError]:
        """Ask about items; after a crash, go on with those that the child had not come to."""
        answers: list[bytes | EncodeError] = []
        while len(answers) < len(items):
            if not self._child.alive:
                self.close()
                self._child = self._start()
            rest = items[len(answers) :]
            try:
                self._child.send(operation, rest, add_special=add_special, parse_special=parse_special)
                answers += self._answers(len(rest))
            except BaseException:
                # Interrupted: answers that nobody waits for would be taken for those of the next request.
                self.close()
                raise
        return answers

    def _answers(self, count: int) -> Iterator[bytes | EncodeError]:
        """Read answers until there are `count`, or the child died over one."""
        for _ in range(count):
            try:
                yield self._child.answer()
            except RefusedError as error:
                yield EncodeError(f"llama.cpp: {summary(error)}")
            except DiedError as error:
                yield EncodeError(summary(error))
                return


def load(request: Request) -> FoundReference:
    """Start llama.cpp on the GGUF file at the request's location, else on the one that is verified.

    Raises:
        MissingLibraryError: If xllamacpp is not installed.
        UnsupportedError: If the installed version is not one that is known.
        BrokenFileError: If llama.cpp cannot load the file.
        TokverifyError: If there is no file.
    """
    model = Path(request.location) if request.location else request.model
    if model is None:
        raise TokverifyError("llama.cpp: no GGUF file to load; name one as in `llama.cpp:model.gguf`")
    if not model.is_file():
        raise TokverifyError(f"{model}: no such file for llama.cpp to load")
    library = find_library()
    tokenizer = LlamaCppTokenizer(model, library)
    return FoundReference(tokenizer, source=str(model), caveat=CAVEAT, versions={"xllamacpp": library.version})


def find_library() -> Library:
    """Find the installed xllamacpp, without importing it.

    Raises:
        MissingLibraryError: If there is none.
        UnsupportedError: If it has no shared object.
    """
    from importlib import metadata

    spec = importlib.util.find_spec("xllamacpp")
    if spec is None or not spec.submodule_search_locations:
        raise MissingLibraryError(f"-r llama.cpp needs xllamacpp, which is not installed; {_INSTALL}")
    # A build for a certain GPU has the same version with a suffix.
    version = metadata.version("xllamacpp").partition("+")[0]
    folder = Path(spec.submodule_search_locations[0])
    paths = sorted(path for path in folder.glob("xllamacpp*") if path.suffix in _SUFFIXES)
    if not paths:
        raise Library(folder, version).unsupported("it has no shared object")
    return Library(paths[0], version)


def _utf8(text: str) -> bytes | EncodeError:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        return EncodeError(f"character {error.start} is a lone surrogate, which UTF-8 cannot carry")


def _ids(answer: bytes | EncodeError) -> list[int] | EncodeError:
    return answer if isinstance(answer, EncodeError) else array("i", answer).tolist()


def _unpacked(data: bytes) -> Iterator[bytes]:
    """Take apart strings that each come after their length."""
    at = 0
    while at < len(data):
        (size,) = LENGTH.unpack_from(data, at)
        at += LENGTH.size + size
        yield data[at - size : at]
