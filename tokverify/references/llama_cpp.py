"""The reference `llama.cpp`: llama.cpp itself, on the same GGUF file, through the wheel `xllamacpp`.

The wheel's shared object exports llama.cpp's C functions. They run in a child process, since llama.cpp aborts on
some inputs.
"""

from __future__ import annotations

import json
import tempfile
import weakref
from array import array
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from tokverify.engine.attribute import Attribute, types_of
from tokverify.engine.families import find_family
from tokverify.errors import BrokenFileError, EncodeError, TokverifyError, UnsupportedError
from tokverify.references.llama_cpp_library import Library, find_library
from tokverify.references.llama_cpp_process import Child, DiedError, RefusedError
from tokverify.references.llama_cpp_worker import (
    ATTRIBUTES,
    DECODE,
    ENCODE,
    EOG_IDS,
    LENGTH,
    PIECES,
    ROLES,
    TOKEN_BYTES,
)
from tokverify.references.reference import FoundReference, Request
from tokverify.spec import AddedToken, TokenizerSpec, TokenTypes
from tokverify.system.library_error import summary
from tokverify.text.utf8 import to_utf8
from tokverify.tokenizer import GenerationEnds

CAVEAT = (
    "llama.cpp reads the same file: agreement proves that tokverify encodes as llama.cpp does, not that the data in "
    "the file is correct"
)
_SPECIAL = (Attribute.CONTROL | Attribute.UNKNOWN).value
_LSTRIP, _RSTRIP = 1 << 7, 1 << 8
_SAMPLE = Path(__file__).parents[1] / "sample" / "sample.gguf"


class LlamaCppTokenizer:
    """A GGUF file's tokenizer in llama.cpp itself, in a child process that is restarted after a crash.

    Args:
        model: The GGUF file.
        library: The installed llama.cpp.
        seconds: The time limit for one text.
    """

    name = "llama.cpp"
    parses_special = True
    adds_special = True
    decodes_as_llama_cpp = True

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

    def lists_role(self, role: str) -> bool:
        """Whether `special_ids` has the role if any token has it."""
        return role in ROLES

    def close(self) -> None:
        """End the child process; it is restarted when needed."""
        self._child.end()

    def encode(self, text: str | bytes, *, add_special: bool, parse_special: bool) -> list[int]:
        """Encode a text to ids; if llama.cpp aborts, that is an error of this text alone."""
        ids = self.encode_many([text], add_special=add_special, parse_special=parse_special)[0]
        if isinstance(ids, EncodeError):
            raise ids
        return ids

    def encode_many(
        self, texts: Sequence[str | bytes], *, add_special: bool, parse_special: bool
    ) -> list[list[int] | EncodeError]:
        """Encode texts in one round trip, which is much faster; the result for a text that fails is its error.

        Bytes need not be valid UTF-8.
        """
        results: list[bytes | EncodeError] = [_utf8(text) for text in texts]
        valid = [result for result in results if isinstance(result, bytes)]
        answers = iter(self._ask(ENCODE, valid, add_special=add_special, parse_special=parse_special))
        return [result if isinstance(result, EncodeError) else _ids(next(answers)) for result in results]

    def decode(self, ids: Sequence[int]) -> bytes:
        """Decode ids by `llama_detokenize`, special tokens included.

        It cleans up spaces for some pre-tokenizers, as `Encoder.decode` does with `clean_up`.
        """
        decoded = self.decode_many([ids])[0]
        if isinstance(decoded, EncodeError):
            raise decoded
        return decoded

    def decode_many(self, all_ids: Sequence[Sequence[int]]) -> list[bytes | EncodeError]:
        """Decode lists of ids in one round trip; the result for a list that fails is its error."""
        results = [self._pack(ids) for ids in all_ids]
        valid = [result for result in results if isinstance(result, bytes)]
        answers = iter(self._ask(DECODE, valid))
        return [result if isinstance(result, EncodeError) else next(answers) for result in results]

    def _pack(self, ids: Sequence[int]) -> bytes | EncodeError:
        # subtle: llama.cpp would abort on an unknown id.
        unknown = next((id for id in ids if not 0 <= id < self.vocab_size), None)
        if unknown is None:
            return array("i", ids).tobytes()
        return EncodeError(f"llama.cpp has no token with the id {unknown}")

    def piece(self, id: int) -> str:
        """Return the stored string that llama.cpp holds; an empty string for an id without a token."""
        return self._pieces[id] if 0 <= id < self.vocab_size else ""

    def token_bytes(self, id: int) -> bytes:
        """Return the bytes that llama.cpp renders for a token; none for an id without a token."""
        return self._token_bytes[id] if 0 <= id < self.vocab_size else b""

    def declared_spec(self) -> TokenizerSpec:
        """Return what the file that llama.cpp has loaded declares."""
        from tokverify.sources.gguf.declaration import read_spec

        return read_spec(self._model)

    @cached_property
    def attributes(self) -> list[int]:
        """The attributes by id: the bits of `engine.attribute.Attribute` and, above them, those for stripping."""
        return array("i", self._listing(ATTRIBUTES)).tolist()

    def token_types(self) -> TokenTypes:
        """Return the effective types by id."""
        return types_of(bytes(flags & 0xFF for flags in self.attributes))

    def added_tokens(self) -> dict[int, AddedToken]:
        """Return the tokens that llama.cpp matches in texts before the model runs, by id."""
        matched = _SPECIAL | Attribute.USER_DEFINED.value
        listed = enumerate(zip(self._pieces, self.attributes, strict=True))
        return {
            id: AddedToken(id, piece, bool(flags & _SPECIAL), bool(flags & _LSTRIP), bool(flags & _RSTRIP))
            for id, (piece, flags) in listed
            if flags & matched
        }

    @cached_property
    def eog_ids(self) -> frozenset[int]:
        """The ids that end a generation."""
        return frozenset(array("i", self._listing(EOG_IDS)))

    def generation_ends(self) -> GenerationEnds:
        """Return the tokens that end a generation."""
        return GenerationEnds(self.eog_ids, are_all=True)

    @cached_property
    def _pieces(self) -> list[str]:
        return [piece.decode("utf-8", "surrogateescape") for piece in _unpack(self._listing(PIECES))]

    @cached_property
    def _token_bytes(self) -> list[bytes]:
        return list(_unpack(self._listing(TOKEN_BYTES)))

    def _listing(self, operation: bytes) -> bytes:
        answer = self._ask(operation, [b""])[0]
        if isinstance(answer, EncodeError):
            raise TokverifyError(f"llama.cpp cannot list its tokens ({answer})")
        return answer

    def _ask(
        self, operation: bytes, items: Sequence[bytes], *, add_special: bool = False, parse_special: bool = False
    ) -> list[bytes | EncodeError]:
        """Send items to the child; after a crash, continue with those it has not reached."""
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
                # Interrupted: the remaining answers would be mistaken for those of the next request.
                self.close()
                raise
        return answers

    def _answers(self, count: int) -> Iterator[bytes | EncodeError]:
        """Read up to `count` answers; stop if the child dies."""
        for _ in range(count):
            try:
                yield self._child.answer()
            except RefusedError as error:
                yield EncodeError(f"llama.cpp: {summary(error)}")
            except DiedError as error:
                yield EncodeError(summary(error))
                return


def load(request: Request) -> FoundReference:
    """Start llama.cpp on the file at the request's location, by default on the file that is verified.

    A file of another format is first converted to a GGUF file, which exists as long as the tokenizer.

    Raises:
        MissingLibraryError: If xllamacpp is not installed.
        UnsupportedError: If the installed version is not a known one, or GGUF cannot express the tokenizer.
        BrokenFileError: If llama.cpp cannot load the file.
        TokverifyError: If there is no file.
    """
    from tokverify.sources.stores.location import find_model
    from tokverify.sources.tokenizer_file import file_of, kind_of_model

    model = find_model(request.location).path if request.location else request.model
    if model is None:
        raise TokverifyError("llama.cpp: there is no file to load; name one, as in `llama.cpp:model.gguf`")
    if not file_of(model).is_file():
        raise TokverifyError(f"{model}: no such file for llama.cpp to load")
    _require_known_model(request.spec if model == request.model else None)
    reads_model = request.model is not None and file_of(model).resolve() == file_of(request.model).resolve()
    library = find_library()
    if kind_of_model(model) == "gguf":
        tokenizer, source = LlamaCppTokenizer(model, library), str(model)
    else:
        tokenizer = _convert(model, library, None if request.location else request.spec)
        source = f"{model}, converted to GGUF"
    return FoundReference(
        tokenizer,
        source=source,
        caveat=CAVEAT if reads_model else "",
        versions={"xllamacpp": library.version},
        reads_model=reads_model,
    )


def _require_known_model(spec: TokenizerSpec | None) -> None:
    family = find_family(spec.model) if spec else None
    if spec and family and not family.in_llama_cpp:
        raise UnsupportedError(
            f"llama.cpp does not know the model {spec.model}, which only tokverify supports; compare with the "
            "tokenizer.json that it was made from, or with `rebuilt`"
        )


def _convert(model: Path, library: Library, spec: TokenizerSpec | None) -> LlamaCppTokenizer:
    """Convert a tokenizer of another format to a temporary GGUF file, and load that."""
    from tokverify.sources.gguf.writer import write_gguf
    from tokverify.sources.tokenizer_file import read_spec

    spec = spec or read_spec(model)
    folder = tempfile.TemporaryDirectory(prefix="tokverify-")
    path = Path(folder.name) / "model.gguf"
    try:
        write_gguf(path, spec)
    except OSError as error:
        raise TokverifyError(f"{path}: cannot be written ({error.strerror})") from error
    tokenizer = LlamaCppTokenizer(path, library)
    # Not earlier: after a crash, the child is restarted on the same file.
    weakref.finalize(tokenizer, folder.cleanup)
    return tokenizer


def _utf8(text: str | bytes) -> bytes | EncodeError:
    try:
        return text if isinstance(text, bytes) else to_utf8(text)
    except EncodeError as error:
        return error


def _ids(answer: bytes | EncodeError) -> list[int] | EncodeError:
    return answer if isinstance(answer, EncodeError) else array("i", answer).tolist()


def _unpack(data: bytes) -> Iterator[bytes]:
    """Unpack strings, each of which is preceded by its length."""
    at = 0
    while at < len(data):
        (size,) = LENGTH.unpack_from(data, at)
        at += LENGTH.size + size
        yield data[at - size : at]
