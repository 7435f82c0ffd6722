"""The reference `llama.cpp`: llama.cpp itself, on the same GGUF file, through the wheel `xllamacpp`.

The wheel's shared object exports llama.cpp's C functions. They run in a child process, since llama.cpp aborts on
some inputs.
"""

from __future__ import annotations

import base64
import re
import sys
import tempfile
import weakref
from collections.abc import Mapping, Sequence, Sized
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from tokverify.engine.attribute import SPECIAL, Attribute, types_of
from tokverify.engine.families import find_family
from tokverify.engine.requirement import describe_changes_between
from tokverify.errors import BrokenFileError, EncodeError, TokverifyError, UnsupportedError, or_raise
from tokverify.references import llama_cpp_worker
from tokverify.references.command import TOKENS_PER_REQUEST
from tokverify.references.command_process import SECONDS, Program, StartError
from tokverify.references.command_protocol import (
    DECODE_IDS,
    ENCODE,
    Failure,
    Operation,
    ResponseError,
    Result,
    require_bytes,
)
from tokverify.references.llama_cpp_library import Library, find_build, find_library
from tokverify.references.llama_cpp_worker import FLAGS, ROLES
from tokverify.references.llama_tokenize import is_program, open_program
from tokverify.references.reference import FoundReference, Request, find_problem, find_unknown
from tokverify.sources.stores.location import find_model
from tokverify.spec import AddedToken, TokenizerSpec, TokenTypes
from tokverify.text.utf8 import to_text
from tokverify.tokenizer import GenerationEnds

CAVEAT = (
    "llama.cpp reads the same file: agreement proves that tokverify encodes as llama.cpp does, not that the data in "
    "the file is correct"
)
_LSTRIP, _RSTRIP = 1 << 7, 1 << 8
_PATIENCE = 5.0
"""How many seconds after its time limit llama.cpp ends by itself, if nobody ended it."""
_MAX_RESPONSE_BYTES = 1 << 28
"""The limit for a response: some 30 million ids of a single text."""
_ENDED = re.compile(r"^(?:llama\.cpp|the program) ended without a response: (?:what\(\): *)?(?:.*/llama\.cpp/)?")
_REFUSED = re.compile(r"^(?:llama\.cpp|the program) reports an error: ")
_CONVERTED = "model.gguf"
_SAMPLE = Path(__file__).parents[1] / "sample" / "sample.gguf"


class LlamaCppTokenizer:
    """A GGUF file's tokenizer in llama.cpp itself, in a child process that is restarted after a crash."""

    name = "llama.cpp"
    parses_special = True
    adds_special = True
    decodes_as_llama_cpp = True

    def __init__(self, model: Path, library: Library, *, seconds: float = SECONDS) -> None:
        self._model = model
        try:
            self._program = _start(model, library, seconds)
        except StartError as error:
            _require_working(library, seconds)
            raise BrokenFileError(f"{model}: llama.cpp cannot load it ({_describe(error.reason)})") from error
        self.vocab_size = self._program.hello.vocab_size
        self.special_ids = self._program.hello.special_ids
        self.flags = dict(zip(FLAGS, self._program.ask(_READ_FLAGS, FLAGS), strict=True))

    def lists_role(self, role: str) -> bool:
        """Whether `special_ids` has the role if any token has it."""
        return role in ROLES

    def close(self) -> None:
        """End the child process; it is restarted when needed."""
        self._program.close()

    def encode(self, text: str | bytes, *, add_special: bool, parse_special: bool) -> list[int]:
        """Encode a text to ids; if llama.cpp aborts, that is an error of this text alone."""
        return or_raise(self.encode_many([text], add_special=add_special, parse_special=parse_special)[0])

    def encode_many(
        self, texts: Sequence[str | bytes], *, add_special: bool, parse_special: bool
    ) -> list[list[int] | EncodeError]:
        """Encode texts, many in one request, which is much faster; the result for a text that fails is its error.

        Bytes need not be valid UTF-8.
        """
        problems = [find_problem(text) if isinstance(text, str) else None for text in texts]
        options = {"add_special": add_special, "parse_special": parse_special}
        return self._ask(ENCODE, list(map(_to_json, texts)), problems, options)

    def decode(self, ids: Sequence[int]) -> bytes:
        """Decode ids by `llama_detokenize`, special tokens included.

        It cleans up spaces for some pre-tokenizers, as `Encoder.decode` does with `clean_up`.
        """
        return or_raise(self.decode_many([ids])[0])

    def decode_many(
        self, all_ids: Sequence[Sequence[int]], *, remove_special: bool = False, unparse_special: bool = True
    ) -> list[bytes | EncodeError]:
        """Decode lists of ids, many in one request; the result for a list that fails is its error.

        The flags are those of `llama_detokenize`.
        """
        # subtle: llama.cpp would abort on an unknown id.
        problems = [find_unknown(ids, self.vocab_size, "llama.cpp") for ids in all_ids]
        options = {"remove_special": remove_special, "unparse_special": unparse_special}
        return self._ask(DECODE_IDS, list(map(list, all_ids)), problems, options)

    def _ask(
        self,
        operation: Operation[Result | Failure],
        items: Sequence[Sized],
        problems: Sequence[EncodeError | None],
        options: Mapping[str, object],
    ) -> list[Result | EncodeError]:
        results = self._program.ask_all(operation, items, problems, options)
        return [
            EncodeError(_describe(str(each))) if isinstance(each, EncodeError | UnsupportedError) else each
            for each in results
        ]

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
        return self._list(_ATTRIBUTES)

    def token_types(self) -> TokenTypes:
        """Return the effective types by id."""
        return types_of(bytes(flags & 0xFF for flags in self.attributes))

    def added_tokens(self) -> dict[int, AddedToken]:
        """Return the tokens that llama.cpp matches in texts before the model runs, by id."""
        matched = SPECIAL | Attribute.USER_DEFINED.value
        listed = enumerate(zip(self._pieces, self.attributes, strict=True))
        return {
            id: AddedToken(id, piece, bool(flags & SPECIAL), bool(flags & _LSTRIP), bool(flags & _RSTRIP))
            for id, (piece, flags) in listed
            if flags & matched
        }

    @cached_property
    def eog_ids(self) -> frozenset[int]:
        """The ids that end a generation."""
        return frozenset(id for id, ends in enumerate(self._list(_ENDS)) if ends)

    def generation_ends(self) -> GenerationEnds:
        """Return the tokens that end a generation."""
        return GenerationEnds(self.eog_ids, are_all=True)

    @cached_property
    def _pieces(self) -> list[str]:
        return self._list(_PIECES)

    @cached_property
    def _token_bytes(self) -> list[bytes]:
        return self._list(_BYTES)

    def _list(self, operation: Operation[Result]) -> list[Result]:
        ids = range(self.vocab_size)
        try:
            batches = [list(ids[start : start + TOKENS_PER_REQUEST]) for start in ids[::TOKENS_PER_REQUEST]]
            return [result for batch in batches for result in self._program.ask(operation, batch)]
        except EncodeError as error:
            raise TokverifyError(f"llama.cpp cannot list its tokens ({_describe(str(error))})") from error


# Nearly all are strings, and there may be hundreds of thousands.
def _read_piece(value: object) -> str:
    return value if isinstance(value, str) else to_text(require_bytes(value))


def _read_bytes(value: object) -> bytes:
    return value.encode() if isinstance(value, str) else require_bytes(value)


def _read_number(value: object) -> int:
    if not isinstance(value, int):
        raise ResponseError("a value is not a number")
    return value


_PIECES: Operation[str] = Operation("pieces", "ids", "pieces", _read_piece)
_BYTES: Operation[bytes] = Operation("bytes", "ids", "bytes", _read_bytes)
_ATTRIBUTES: Operation[int] = Operation("attributes", "ids", "attributes", _read_number)
_ENDS: Operation[bool] = Operation("ends", "ids", "ends", bool)
_READ_FLAGS: Operation[bool] = Operation("flags", "names", "flags", bool)

_SIZES = range(1 << 31)
"""llama.cpp also loads vocabularies that tokverify refuses."""


def _start(model: Path, library: Library, seconds: float) -> Program:
    arguments = [library.path, _SAMPLE, model, seconds + _PATIENCE]
    # Isolated: nothing in the user's environment can replace a standard module.
    command = [sys.executable, "-I", "-S", llama_cpp_worker.__file__, *map(str, arguments)]
    return Program(
        command,
        seconds=seconds,
        environment={"GGML_NO_BACKTRACE": "1"},
        max_bytes=_MAX_RESPONSE_BYTES,
        may_crash=True,
        sizes=_SIZES,
    )


def _require_working(library: Library, seconds: float) -> None:
    """Raise an UnsupportedError if llama.cpp fails on a known vocabulary, too."""
    try:
        _start(_SAMPLE, library, seconds).close()
    except StartError as error:
        raise library.unsupported(f"it fails on a known vocabulary ({_describe(error.reason)})") from error


def _describe(reason: str) -> str:
    """Say in llama.cpp's own words why it ended, without what C++ prints before them, and without the build path."""
    return _REFUSED.sub("", _ENDED.sub("llama.cpp aborted: ", reason))


def _to_json(text: str | bytes) -> str | dict[str, str]:
    if isinstance(text, str):
        return text
    try:
        return text.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(text).decode()}


def load(request: Request) -> FoundReference:
    """Start llama.cpp on the file at the request's location, by default on the file that is verified.

    The location may begin with `@` and a build, or the path of a library or of llama-tokenize. A file of another format
    is first converted to a GGUF file, which exists as long as the tokenizer.

    Raises:
        MissingLibraryError: If xllamacpp is not installed.
        UnsupportedError: If the installed version is not a known one, or GGUF cannot express the tokenizer.
        BrokenFileError: If llama.cpp cannot load the file.
        TokverifyError: If there is no file.
    """
    from tokverify.sources.tokenizer_file import file_of, kind_of_model

    build, place = split_build(request.location.text)
    if build:
        request.location.require_typed(f"llama.cpp@{build}", "name a build or a library")
    model = find_model(request.location.at(place)).path if place else request.model
    if model is None:
        raise TokverifyError("llama.cpp: there is no file to load; name one, as in `llama.cpp:model.gguf`")
    if not file_of(model).is_file():
        raise TokverifyError(f"{model}: no such file for llama.cpp to load")
    _require_known_model(request.spec if model == request.model else None)
    reads_model = request.model is not None and file_of(model).resolve() == file_of(request.model).resolve()
    library = None
    if not (build and is_program(Path(build))):
        library = find_build(build) if build else find_library()
    folder = None if kind_of_model(model) == "gguf" else _convert(model, None if place else request.spec)
    path = Path(folder.name) / _CONVERTED if folder else model
    source = f"{model}, converted to GGUF" if folder else str(model)
    if library:
        found = _call_library(library, path)
    else:
        found = _run_program(Path(build), path, request, reads_model=reads_model)
    if folder:
        # Not earlier: after a crash, the child is restarted on the same file.
        weakref.finalize(found.tokenizer, folder.cleanup)
    known = _describe_caveat(request, found.build) if reads_model else ""
    return replace(
        found,
        source=f"{found.source}, {source}" if build else source,
        caveat="; ".join(filter(None, [found.caveat, known])),
        reads_model=reads_model,
    )


def _call_library(library: Library, path: Path) -> FoundReference:
    tokenizer = LlamaCppTokenizer(path, library)
    versions = {library.package: library.version or str(library.path)}
    return FoundReference(tokenizer, source=library.name, versions=versions, build=library.build)


def _run_program(program: Path, path: Path, request: Request, *, reads_model: bool) -> FoundReference:
    from tokverify.sources.gguf.declaration import read_spec

    spec = request.spec if reads_model and request.spec else read_spec(path)
    tokenizer, build = open_program(program, path, spec)
    caveat = "llama-tokenize does not decode, and does not list its tokens"
    versions = {program.name: f"b{build}"} if build else {}
    return FoundReference(tokenizer, source=str(program), caveat=caveat, versions=versions, build=build)


def _describe_caveat(request: Request, build: int | None) -> str:
    """Say what agreement with another reader of the same file cannot prove, and what the builds do differently."""
    changes = ""
    if request.spec and request.settings and build:
        changes = describe_changes_between(request.spec, request.settings, build)
    return "; ".join(filter(None, [changes, CAVEAT]))


def split_build(location: str) -> tuple[str, str]:
    """Split `@BUILD:LOCATION` into the build, or the path of a library, and the location; each may be empty."""
    if not location.startswith("@"):
        return "", location
    named = location[1:]
    if Path(named).is_file():
        return named, ""
    ends = [place for place, character in enumerate(named) if character == ":"]
    end = next((place for place in ends if Path(named[:place]).is_file()), ends[0] if ends else len(named))
    return named[:end], named[end + 1 :]


def _require_known_model(spec: TokenizerSpec | None) -> None:
    family = find_family(spec.model) if spec else None
    if spec and family and not family.in_llama_cpp:
        raise UnsupportedError(
            f"llama.cpp does not know the model {spec.model}, which only tokverify supports; compare with the "
            "tokenizer.json that it was made from, or with `rebuilt`"
        )


def _convert(model: Path, spec: TokenizerSpec | None) -> tempfile.TemporaryDirectory[str]:
    """Convert a tokenizer of another format to the file `_CONVERTED` in a temporary directory."""
    from tokverify.sources.gguf.writer import write_gguf
    from tokverify.sources.tokenizer_file import read_spec

    spec = spec or read_spec(model)
    folder = tempfile.TemporaryDirectory(prefix="tokverify-")
    path = Path(folder.name) / _CONVERTED
    try:
        write_gguf(path, spec)
    except OSError as error:
        raise TokverifyError(f"{path}: cannot be written ({error.strerror})") from error
    return folder
