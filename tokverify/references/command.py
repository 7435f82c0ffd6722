"""The reference `command`: any program that speaks the JSON Lines protocol of docs/programs.md."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from functools import cached_property, partial

from tokverify.engine.attribute import Attribute
from tokverify.engine.family import Settings
from tokverify.errors import EncodeError, TokverifyError, UnsupportedError, or_raise
from tokverify.location import Typed
from tokverify.references.command_process import Program
from tokverify.references.command_protocol import (
    ADD_SPECIAL,
    ALWAYS_PARSE_SPECIAL,
    DECODE,
    DECODE_IDS,
    ENCODE,
    EXTEND,
    EXTEND_TEXTS,
    LIST_TOKENS,
    PARSE_SPECIAL,
    STREAM,
    STREAM_IDS,
    TOKENS,
    Failure,
    ListedToken,
    Operation,
    Result,
)
from tokverify.references.piece_bytes import PieceBytes, recognize_storage
from tokverify.references.reference import FoundReference, Request, find_problem, find_unknown
from tokverify.spec import MATCHED_TYPES, TokenType
from tokverify.text.utf8 import to_bytes, to_utf8

COMMANDS_VARIABLE = "TOKVERIFY_COMMANDS"
"""The environment variable with the commands, one per line, that may be run although a configuration names them."""

TOKENS_PER_REQUEST = 8192
"""How many tokens a request asks for."""
_ATTRIBUTES = {
    TokenType.UNKNOWN: Attribute.UNKNOWN,
    TokenType.USER_DEFINED: Attribute.USER_DEFINED,
    TokenType.BYTE: Attribute.BYTE,
    TokenType.UNUSED: Attribute.UNUSED,
}
_NO_OPTIONS: Mapping[str, object] = {}


class ProgramStream:
    """Ids that the program decodes one by one; it is asked once, at the end."""

    def __init__(self, tokenizer: CommandTokenizer) -> None:
        self._tokenizer = tokenizer
        self._ids: list[int] = []

    def push(self, id: int) -> str:
        """Take the next id; the text is returned at the end."""
        self._ids.append(id)
        return ""

    def finish(self) -> str:
        """Return what the program prints, in which bytes that are not characters by themselves become U+FFFD."""
        return "".join(chunk.decode(errors="replace") for chunk in self._tokenizer.stream(self._ids))


class CommandTokenizer:
    """The tokenizer of a program.

    Args:
        program: The running program.
        settings: Those of the model that is verified. If the program does not say which bytes its tokens represent,
            and its pieces are not stored in a usual way, they are assumed to be stored like the model's.
    """

    decodes_as_llama_cpp = False

    def __init__(self, program: Program, settings: Settings | None = None) -> None:
        hello = program.hello
        self._program = program
        self._settings = settings
        self.name = hello.name
        self.hidden_vocabulary = "" if TOKENS in hello.capabilities else f"{hello.name} does not list its tokens"
        self.vocab_size = 0 if self.hidden_vocabulary else hello.vocab_size
        self.stated_size = hello.vocab_size
        self.special_ids: Mapping[str, int] = hello.special_ids
        self.adds_special = ADD_SPECIAL in hello.capabilities
        self.always_parses_special = ALWAYS_PARSE_SPECIAL in hello.capabilities
        self.parses_special = self.always_parses_special or PARSE_SPECIAL in hello.capabilities
        if STREAM in hello.capabilities:
            # A tokenizer without this method does not decode incrementally.
            self.decoder = partial(ProgramStream, self)
        if EXTEND in hello.capabilities:
            self.extend = self._extend
        if hello.control_texts is not None:
            self.control_texts = frozenset(hello.control_texts)

    def close(self) -> None:
        """End the program; it is restarted when needed."""
        self._program.close()

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Encode a text to ids; if the program fails, that is an error of this text alone."""
        return or_raise(self.encode_many([text], add_special=add_special, parse_special=parse_special)[0])

    def encode_many(self, texts: Sequence[str], *, add_special: bool, parse_special: bool) -> list[list[int] | Failure]:
        """Encode texts, many in one request; the result for a text that fails is its error."""
        if self.always_parses_special and not parse_special:
            return [UnsupportedError(f"{self.name} always recognizes control tokens in a text")] * len(texts)
        options = {"add_special": add_special, "parse_special": parse_special}
        return self._program.ask_all(ENCODE, texts, list(map(find_problem, texts)), options)

    def decode(self, ids: Sequence[int]) -> bytes:
        """Decode ids to bytes.

        Raises:
            EncodeError: If an id is not in the vocabulary, or the program cannot decode them.
            UnsupportedError: If the program does not decode.
        """
        self._require(DECODE, "does not decode")
        if unknown := find_unknown(ids, self._program.hello.vocab_size, self.name):
            raise unknown
        return self._ask_one(DECODE_IDS, ids)

    def stream(self, ids: Sequence[int]) -> list[bytes]:
        """Decode ids one at a time: what the program prints after each of them, and finally at the end.

        Raises:
            EncodeError: If the program cannot decode them.
            UnsupportedError: If the program does not decode incrementally.
        """
        self._require(STREAM, "does not decode incrementally")
        chunks = self._ask_one(STREAM_IDS, ids)
        if len(chunks) != len(ids) + 1:
            raise EncodeError(f"{self.name} sent {len(chunks)} chunks for {len(ids)} ids, not one each and a last one")
        return chunks

    def _extend(self, pieces: Sequence[str], *, parse_special: bool) -> list[list[int]]:
        """Return the ids after each piece that a session of the program is extended by.

        Raises:
            EncodeError: If the program cannot encode them.
            UnsupportedError: If it has no session for these options.
        """
        for piece in pieces:
            to_utf8(piece)
        every = self._ask_one(EXTEND_TEXTS, pieces, {"parse_special": parse_special})
        if len(every) != len(pieces):
            raise EncodeError(f"{self.name} sent {len(every)} lists of ids for {len(pieces)} pieces")
        return every

    def piece(self, id: int) -> str:
        """Return the stored string of a token; an empty string for an id without a token.

        A program that does not list its tokens has only a placeholder for each, such as `<5>`.
        """
        if self.hidden_vocabulary:
            return f"<{id}>"
        token = self._token(id)
        return token.piece if token else ""

    def token_bytes(self, id: int) -> bytes:
        """Return the bytes that a token represents; none for an id without a token, or if they are not known."""
        if self.hidden_vocabulary:
            return b""
        token = self._token(id)
        if token is None:
            return b""
        return self._read_piece(token) if token.token_bytes is None else token.token_bytes

    def token_types(self) -> list[TokenType]:
        """Return the types by id; UNDEFINED for an ordinary token of which nothing more is known.

        Raises:
            UnsupportedError: If the program lists none.
        """
        self._require(TOKENS, "does not list its tokens")
        types = [token.type if token else TokenType.UNUSED for token in self._tokens]
        if not set(types) - {TokenType.UNDEFINED, TokenType.UNUSED}:
            raise UnsupportedError(f"{self.name} does not list the types of its tokens")
        return types

    def _token(self, id: int) -> ListedToken | None:
        return self._tokens[id] if 0 <= id < self.vocab_size else None

    @cached_property
    def _tokens(self) -> list[ListedToken | None]:
        ids = range(self.vocab_size)
        listed: list[ListedToken | Failure | None] = []
        try:
            for start in ids[::TOKENS_PER_REQUEST]:
                listed += self._program.ask(LIST_TOKENS, list(ids[start : start + TOKENS_PER_REQUEST]))
        except EncodeError as error:
            raise TokverifyError(f"{self.name} cannot list its tokens ({error})") from error
        return list(map(self._require_listed, listed))

    def _require_listed(self, token: ListedToken | Failure | None) -> ListedToken | None:
        if isinstance(token, EncodeError | UnsupportedError):
            raise TokverifyError(f"{self.name} cannot list its tokens ({token})")
        return token

    @cached_property
    def _storage(self) -> PieceBytes | None:
        return recognize_storage([token.piece for token in self._tokens if token and token.type not in MATCHED_TYPES])

    def _read_piece(self, token: ListedToken) -> bytes:
        """Return the bytes of a piece without bytes, which is stored as usual or like the pieces of the model."""
        if token.type is not TokenType.CONTROL and self._storage:
            return self._storage(token.piece)
        if token.type is TokenType.CONTROL or self._settings is None:
            return to_bytes(token.piece)
        attribute = _ATTRIBUTES.get(token.type, Attribute.NORMAL)
        return self._settings.family.token_bytes(token.piece, attribute.value, self._settings)

    def _require(self, capability: str, problem: str) -> None:
        if capability not in self._program.hello.capabilities:
            raise UnsupportedError(f"{self.name} {problem}")

    def _ask_one(
        self,
        operation: Operation[Result | Failure],
        item: Sequence[object],
        options: Mapping[str, object] = _NO_OPTIONS,
    ) -> Result:
        return or_raise(self._program.ask(operation, [list(item)], options)[0])


def load(request: Request) -> FoundReference:
    """Start the program at the request's location, a command with arguments.

    Raises:
        TokverifyError: If it cannot be started, does not speak the protocol, or only a file names it.
    """
    allowed = [line.strip() for line in os.environ.get(COMMANDS_VARIABLE, "").splitlines()]
    advice = f", or set {COMMANDS_VARIABLE} to the command"
    program = _start(
        request.location.require_typed(f"command:{request.location.text}", "run a program", allowed, advice)
    )
    return FoundReference(
        CommandTokenizer(program, settings_of(request)),
        source=program.command,
        caveat=_describe_limits(program),
        versions={program.hello.name: program.hello.version},
    )


def settings_of(request: Request) -> Settings | None:
    """Return the effective settings of the model that is verified; None if there is no model."""
    if request.settings or request.spec is None:
        return request.settings
    from tokverify.engine.settings import resolve

    return resolve(request.spec)


def _start(command: Typed) -> Program:
    try:
        arguments = shlex.split(command.text)
    except ValueError as error:
        raise TokverifyError(f"command:{command.text}: cannot be split into words ({error})") from error
    if not arguments:
        raise TokverifyError("command: there is no program; name one, as in `command:./my-engine --model FILE`")
    return Program(arguments)


def _describe_limits(program: Program) -> str:
    """Say what agreement with a program cannot prove because it cannot answer."""
    problems = {DECODE: "decode", TOKENS: "list its tokens"}
    lacking = [verb for capability, verb in problems.items() if capability not in program.hello.capabilities]
    return f"the program does not {' and does not '.join(lacking)}" if lacking else ""
