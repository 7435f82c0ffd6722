"""The reference `tiktoken`: a published encoding by its name, or a .tiktoken file together with its pattern."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.engine.byte_level import spell_all
from tokverify.errors import EncodeError, MissingLibraryError, TokverifyError
from tokverify.references.pace import Pace
from tokverify.references.reference import FoundReference
from tokverify.sources.config import special_texts
from tokverify.sources.location import file_and_rest, read_file
from tokverify.sources.tiktoken.published import PUBLISHED, Published, find_variant, published_for
from tokverify.sources.tiktoken.reader import add_bos_id, read_ranks, special_tokens
from tokverify.spec import AddedToken, TokenizerSpec, TokenType
from tokverify.system.library_error import raised_as, summary
from tokverify.text.utf8 import to_utf8

if TYPE_CHECKING:
    from tiktoken import Encoding


class TiktokenTokenizer:
    """A `tiktoken.Encoding`, with the BOS token, if any, that the reader of the vocabulary begins a text with.

    Args:
        encoding: The encoding.
        bos: The id of that token.
        roles: The ids of special tokens, by role, that the files beside the vocabulary name.
    """

    name = "tiktoken"
    decodes_as_llama_cpp = False

    def __init__(self, encoding: Encoding, bos: int | None = None, roles: Mapping[str, int] | None = None) -> None:
        self._encoding = encoding
        self._pace = Pace(encoding.name)
        self._prefix = [] if bos is None else [bos]
        self.adds_special = bool(self._prefix)
        # Without a config beside it, a file of ranks lists no special tokens: it does not say that there are none.
        self.parses_special = bool(encoding.special_tokens_set)
        self.vocab_size: int = encoding.max_token_value + 1
        self.special_ids: Mapping[str, int] = {**(roles or {}), **({} if bos is None else {"bos": bos})}

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Encode a text to ids; the library itself adds nothing around it."""
        # subtle: the library would replace a lone surrogate by U+FFFD.
        to_utf8(text)
        with self._pace.measure(text), raised_as(EncodeError, "tiktoken cannot encode this text", quietly=True):
            allowed: str | set[str] = "all" if parse_special else set()
            ids: list[int] = self._encoding.encode(text, allowed_special=allowed, disallowed_special=())
        return [*self._prefix, *ids] if add_special else ids

    def decode(self, ids: Sequence[int]) -> bytes:
        """Decode ids to bytes, special tokens included."""
        with raised_as(EncodeError, "tiktoken cannot decode these ids", quietly=True):
            decoded: bytes = self._encoding.decode_bytes(list(ids))
        return decoded

    def piece(self, id: int) -> str:
        """Return the bytes of a token in the GPT-2 alphabet, as in a GGUF file; for a special token, its text."""
        return self.pieces[id] if 0 <= id < self.vocab_size else ""

    @cached_property
    def pieces(self) -> Sequence[str]:
        """Every piece by id; an empty string for an id without a token."""
        listed = self.bytes_of_tokens()
        pieces = spell_all(listed)
        for id in self._special_tokens:
            pieces[id] = listed[id].decode()
        return pieces

    def bytes_of_tokens(self) -> list[bytes]:
        """Return the bytes that each token represents, by id."""
        return list(map(self.token_bytes, range(self.vocab_size)))

    def token_bytes(self, id: int) -> bytes:
        """Return the bytes that a token represents; none for an id without a token."""
        try:
            token_bytes: bytes = self._encoding.decode_single_token_bytes(id)
        except (KeyError, OverflowError):
            return b""
        return token_bytes

    def token_types(self) -> list[TokenType]:
        """Return CONTROL for the special tokens."""
        special = self._special_tokens
        return [TokenType.CONTROL if id in special else TokenType.UNDEFINED for id in range(self.vocab_size)]

    def added_tokens(self) -> dict[int, AddedToken]:
        """Return the special tokens."""
        return {id: AddedToken(id, self.piece(id), special=True) for id in self._special_tokens}

    @property
    def control_texts(self) -> frozenset[str]:
        """The texts of the special tokens."""
        return frozenset(self._encoding.special_tokens_set)

    @property
    def added_texts(self) -> list[str]:
        """The same, in order."""
        return sorted(self.control_texts)

    @property
    def split_pattern(self) -> str:
        """The regular expression that splits texts."""
        return str(self._encoding._pat_str)  # noqa: SLF001 - the library shows it nowhere else

    @cached_property
    def _special_tokens(self) -> frozenset[int]:
        return frozenset(map(self._encoding.encode_single_token, self._encoding.special_tokens_set))


def load(place: os.PathLike[str], model: TokenizerSpec | None = None) -> FoundReference:
    """Load the encoding `NAME`, or `FILE` or `FILE:PATTERN`, where the pattern is a name or a regular expression.

    The special tokens are not in the file. If several sets were published for its ranks, as for Llama 3.0 and 3.1,
    it gets the one that is most like that of `model`.

    Raises:
        MissingLibraryError: If tiktoken is not installed.
        BrokenFileError: If the file is no tiktoken vocabulary.
        UnsupportedError: If no pattern is given and the file's name is not that of a published one.
        TokverifyError: If there is no such name, its files cannot be downloaded, or the pattern cannot be used.
    """
    try:
        import tiktoken
    except ImportError as error:
        raise MissingLibraryError(
            "-r tiktoken needs tiktoken, which is not installed; install it with `pip install tiktoken`"
        ) from error
    versions = {"tiktoken": tiktoken.__version__}
    location = str(os.fspath(place))
    path, pattern = file_and_rest(location) or (Path(location), "")
    if not path.is_file():
        encoding = _named_encoding(location)
        return FoundReference(TiktokenTokenizer(encoding), source=f"tiktoken:{location}", versions=versions)
    data = read_file(path)
    ranks = read_ranks(path, data)
    published = published_for(path, pattern, ranks)
    caveat = ""
    if model is not None and pattern not in PUBLISHED and (variant := find_variant(published, model.tokens)):
        published = PUBLISHED[variant]
        caveat = f"{path.name} contains no special tokens; those of {variant} were taken, which the model has most of"
    tokenizer = _tokenizer(path, ranks, published)
    return FoundReference.of_file(tokenizer, path, data, versions=versions, caveat=caveat)


def _tokenizer(path: Path, ranks: dict[bytes, int], published: Published) -> TiktokenTokenizer:
    special = special_tokens(path, ranks, published)
    roles = {role: special[text] for role, text in special_texts(path).items() if text in special and role != "cls"}
    return TiktokenTokenizer(_encoding(path, published.pattern, ranks, special), add_bos_id(special, published), roles)


def _named_encoding(name: str) -> Encoding:
    import tiktoken

    names = tiktoken.list_encoding_names()
    if name not in names:
        raise TokverifyError(f"tiktoken:{name}: no such file, and not an encoding; known encodings: {', '.join(names)}")
    try:
        return tiktoken.get_encoding(name)
    except Exception as error:
        reason = type(error).__name__ if isinstance(error, OSError) else summary(error)
        raise TokverifyError(
            f"tiktoken:{name}: its files are not in tiktoken's cache and cannot be downloaded ({reason}); "
            "connect to the network once, or name a file"
        ) from error


def _encoding(path: Path, pattern: str, ranks: dict[bytes, int], special: dict[str, int]) -> Encoding:
    import tiktoken

    with raised_as(TokverifyError, f"{path}: tiktoken {tiktoken.__version__} cannot use it with this pattern"):
        return tiktoken.Encoding(path.name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)
