"""The reference `tiktoken`: a published encoding by its name, or a .tiktoken file together with its pattern."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.engine.byte_level import byte_alphabet
from tokverify.errors import BrokenFileError, EncodeError, MissingLibraryError, TokverifyError, UnsupportedError
from tokverify.files.config import read_config, token_text
from tokverify.files.location import file_and_rest, read_file
from tokverify.references.reference import FoundReference
from tokverify.system.library_error import raised_as, summary
from tokverify.text.utf8 import to_utf8

if TYPE_CHECKING:
    from tiktoken import Encoding

    from tokverify.references.reference import Request


class TiktokenTokenizer:
    """A `tiktoken.Encoding`, which knows nothing of tokens around a text."""

    name = "tiktoken"
    parses_special = True
    adds_special = False
    decodes_as_llama_cpp = False

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        self.vocab_size: int = encoding.max_token_value + 1
        self.special_ids: Mapping[str, int] = {}

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:  # noqa: ARG002 - the protocol has it
        """Encode a text to token ids; nothing is ever put around it."""
        # subtle: the library would put U+FFFD for a lone surrogate.
        to_utf8(text)
        with raised_as(EncodeError, "tiktoken cannot encode this text", quietly=True):
            allowed: str | set[str] = "all" if parse_special else set()
            ids: list[int] = self._encoding.encode(text, allowed_special=allowed, disallowed_special=())
        return ids

    def decode(self, ids: Sequence[int]) -> bytes:
        """Decode ids to bytes, special tokens included."""
        with raised_as(EncodeError, "tiktoken cannot decode these ids", quietly=True):
            decoded: bytes = self._encoding.decode_bytes(list(ids))
        return decoded

    def piece(self, id: int) -> str:
        """Return the bytes of a token in the GPT-2 alphabet, as a GGUF file has them; a special token is itself."""
        token_bytes = self.token_bytes(id)
        return token_bytes.decode() if id in self._special_tokens else spell(token_bytes)

    def token_bytes(self, id: int) -> bytes:
        """Return the bytes a token stands for; none for an id without a token."""
        try:
            token_bytes: bytes = self._encoding.decode_single_token_bytes(id)
        except (KeyError, OverflowError):
            return b""
        return token_bytes

    @cached_property
    def _special_tokens(self) -> frozenset[int]:
        return frozenset(map(self._encoding.encode_single_token, self._encoding.special_tokens_set))


def spell(token_bytes: bytes) -> str:
    """Write bytes as characters of the GPT-2 alphabet."""
    return token_bytes.decode("latin-1").translate(byte_alphabet())


@dataclass(frozen=True, slots=True)
class Published:
    """What belongs to a published .tiktoken file and does not stand in it.

    The special tokens are those of a file with `size` tokens, and of no other.
    """

    pattern: str
    size: int = 0
    special_tokens: Mapping[str, int] = field(default_factory=dict)


_END, _CONTRACTIONS = "<|endoftext|>", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
_CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
    r"|\s+(?!\S)|\s"
)
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTIONS}?|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTIONS}?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_LLAMA3 = rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|%s| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_QWEN_TEXTS = (_END, "<|im_start|>", "<|im_end|>", *(f"<|extra_{number}|>" for number in range(205)))
_QWEN_TOKENS = {text: id for id, text in enumerate(_QWEN_TEXTS, 151643)}
PUBLISHED: Mapping[str, Published] = {
    "gpt2": Published(_GPT2, 50256, {_END: 50256}),
    "r50k_base": Published(_GPT2, 50256, {_END: 50256}),
    "p50k_base": Published(_GPT2, 50280, {_END: 50256}),
    "cl100k_base": Published(
        _CL100K,
        100256,
        {
            _END: 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
    ),
    "o200k_base": Published(_O200K, 199998, {_END: 199999, "<|endofprompt|>": 200018}),
    "llama3": Published(_LLAMA3 % r"\p{N}{1,3}"),
    "qwen": Published(_LLAMA3 % r"\p{N}", 151643, _QWEN_TOKENS),
}


def load(request: Request) -> FoundReference:
    """Load the encoding `NAME`, or `FILE` or `FILE:PATTERN`, where the pattern is a name or written out.

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
            "-r tiktoken needs tiktoken, which is not installed; install it with `pip install 'tokverify[tiktoken]'`"
        ) from error
    versions = {"tiktoken": tiktoken.__version__}
    path, pattern = file_and_rest(request.location) or (Path(request.location), "")
    if not path.is_file():
        encoding = _named_encoding(request.location)
        return FoundReference(TiktokenTokenizer(encoding), source=f"tiktoken:{request.location}", versions=versions)
    data = read_file(path)
    return FoundReference(
        open_ranks(path, data, pattern), source=str(path), sha256=hashlib.sha256(data).hexdigest(), versions=versions
    )


def open_ranks(
    path: Path, data: bytes, pattern: str, *, more_special: Mapping[str, int] | None = None
) -> TiktokenTokenizer:
    """Make a tokenizer of the content of a .tiktoken file, perhaps with more special tokens; errors as for `load`."""
    published = published_for(path, pattern)
    ranks = read_ranks(path, data)
    special = special_tokens(path, ranks, published) | dict(more_special or {})
    return TiktokenTokenizer(_encoding(path, published.pattern, ranks, special))


def _named_encoding(name: str) -> Encoding:
    import tiktoken

    names = tiktoken.list_encoding_names()
    if name not in names:
        raise TokverifyError(f"tiktoken:{name}: no such file, and not an encoding; known are {', '.join(names)}")
    try:
        return tiktoken.get_encoding(name)
    except Exception as error:
        reason = type(error).__name__ if isinstance(error, OSError) else summary(error)
        raise TokverifyError(
            f"tiktoken:{name}: its files are not in tiktoken's cache and cannot be downloaded ({reason}); "
            "connect to the network once, or name a file"
        ) from error


def read_ranks(path: Path, data: bytes) -> dict[bytes, int]:
    """Read the tokens and ids of a .tiktoken file, on each line a token in base64 and its id.

    Raises:
        BrokenFileError: If it is not one, or lacks what the library takes for granted.
    """
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if not line:
            continue
        try:
            token, rank = line.split()
            ranks[base64.b64decode(token, validate=True)] = int(rank)
        except ValueError as error:
            raise BrokenFileError(f"{path}:{number}: not a token in base64 and its id") from error
    if missing := sum(bytes([byte]) not in ranks for byte in range(256)):
        raise BrokenFileError(f"{path}: not a whole tiktoken vocabulary: it lacks {missing} of the 256 single bytes")
    if len(set(ranks.values())) != len(ranks):
        raise BrokenFileError(f"{path}: two tokens have the same id")
    return ranks


def published_for(path: Path, pattern: str) -> Published:
    """Return what belongs to a file by a pattern or its name; without either, by the name of the file.

    Raises:
        UnsupportedError: If no pattern is given and the file's name is not that of a published one.
        TokverifyError: If the pattern is a name that nothing is known by.
    """
    name = pattern or path.name.removesuffix(".tiktoken")
    if name in PUBLISHED:
        return PUBLISHED[name]
    names = ", ".join(PUBLISHED)
    if not pattern:
        raise UnsupportedError(
            f"{path}: a tiktoken vocabulary, which holds no pattern; name one as in {path}:cl100k_base, or write "
            f"it out after the colon; known are {names}"
        )
    if re.fullmatch(r"[\w.-]+", pattern):
        raise TokverifyError(f"{path}: {pattern!r} is no pattern, nor the name of one; known are {names}")
    return Published(pattern)


def special_tokens(path: Path, ranks: Mapping[bytes, int], published: Published) -> dict[str, int]:
    """Return the ids of the special tokens: those of the published file, if it is whole, and those of a config."""
    special = dict(published.special_tokens) if len(ranks) == published.size else {}
    taken = set(ranks.values())
    return special | {text: id for text, id in _added_tokens(path).items() if id not in taken}


def _encoding(path: Path, pattern: str, ranks: dict[bytes, int], special: dict[str, int]) -> Encoding:
    import tiktoken

    with raised_as(TokverifyError, f"{path}: tiktoken {tiktoken.__version__} cannot use it with this pattern"):
        return tiktoken.Encoding(path.name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)


def _added_tokens(path: Path) -> dict[str, int]:
    """Return the added tokens that the tokenizer_config.json beside the file lists."""
    listed = read_config(path).get("added_tokens_decoder")
    entries = listed.items() if isinstance(listed, dict) else ()
    texts = {int(id): token_text(entry) for id, entry in entries if id.isdecimal()}
    return {text: id for id, text in texts.items() if text}
