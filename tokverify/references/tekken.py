"""The reference `tekken`: Mistral's tekken.json, read by its own library, mistral-common."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokverify.engine.byte_level import spell_all
from tokverify.errors import BrokenFileError, EncodeError, MissingLibraryError
from tokverify.references.pace import Pace
from tokverify.references.reference import FoundReference, find_unknown
from tokverify.sources.location import read_file
from tokverify.sources.tiktoken.tekken import ROLES, parse_tekken
from tokverify.spec import AddedToken, TokenType
from tokverify.system.library_error import raised_as
from tokverify.text.utf8 import to_utf8

if TYPE_CHECKING:
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer


class TekkenTokenizer:
    """A `Tekkenizer`, which never recognizes special tokens in a text: the library adds them by id."""

    name = "mistral-common"
    parses_special = False
    adds_special = True
    decodes_as_llama_cpp = False

    def __init__(self, tekkenizer: Tekkenizer, content: Mapping[str, Any]) -> None:
        self._tekkenizer = tekkenizer
        self._content = content
        self._pace = Pace("tekken.json")
        self.vocab_size: int = tekkenizer.n_words
        self.special_ids: Mapping[str, int] = _special_ids(tekkenizer)
        if self.supplied_names:
            # The library adds BOS and EOS by their names; of padding it says nothing about MODEL.
            self.special_ids = {role: id for role, id in self.special_ids.items() if role != "pad"}

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:  # noqa: ARG002 - the protocol has it
        """Encode a text to ids; `add_special` adds BOS only, as the library's templates do."""
        # subtle: the library would replace a lone surrogate by U+FFFD.
        to_utf8(text)
        problem = "mistral-common cannot encode this text"
        with self._pace.measure(text), raised_as(EncodeError, problem, quietly=True):
            ids: list[int] = self._tekkenizer.encode(text, bos=add_special, eos=False)
        return ids

    def decode(self, ids: Sequence[int]) -> bytes:
        """Decode ids as the library does, which replaces bytes that are not UTF-8 by U+FFFD."""
        from mistral_common.tokens.tokenizers.base import SpecialTokenPolicy

        # subtle: the library counts a negative id from the end.
        if unknown := find_unknown(ids, self.vocab_size, self.name):
            raise unknown
        with raised_as(EncodeError, "mistral-common cannot decode these ids"):
            text: str = self._tekkenizer.decode(list(ids), special_token_policy=SpecialTokenPolicy.KEEP)
        return text.encode()

    def piece(self, id: int) -> str:
        """Return the bytes of a token in the GPT-2 alphabet, as in a GGUF file; for a special token, its text."""
        return self.pieces[id] if 0 <= id < self.vocab_size else ""

    @cached_property
    def pieces(self) -> Sequence[str]:
        """Every piece by id."""
        special = self._tekkenizer.num_special_tokens
        listed = self._bytes
        return [*(data.decode() for data in listed[:special]), *spell_all(listed[special:])]

    @property
    def split_pattern(self) -> str:
        """The regular expression that splits texts."""
        return str(self._tekkenizer._model._pat_str)  # noqa: SLF001 - the library shows it nowhere else

    def added_tokens(self) -> dict[int, AddedToken]:
        """Return the special tokens, although no text contains them for the library."""
        return {id: AddedToken(id, self.piece(id), special=True) for id in range(self._tekkenizer.num_special_tokens)}

    @property
    def supplied_names(self) -> Collection[int]:
        """The special tokens, if the file lists none: the library then gives them those of its multimodal models."""
        return range(self._tekkenizer.num_special_tokens if self._content.get("special_tokens") is None else 0)

    @cached_property
    def control_texts(self) -> frozenset[str]:
        """The texts of all special tokens."""
        return frozenset(map(self.piece, range(self._tekkenizer.num_special_tokens)))

    @property
    def added_texts(self) -> list[str]:
        """The same, in order."""
        return sorted(self.control_texts)

    def token_bytes(self, id: int) -> bytes:
        """Return the bytes that a token represents; none for an id without a token."""
        return self._bytes[id] if 0 <= id < self.vocab_size else b""

    def bytes_of_tokens(self) -> list[bytes]:
        """Return the bytes that each token represents, by id."""
        return self._bytes.copy()

    @cached_property
    def _bytes(self) -> list[bytes]:
        # A comparison asks for all of them dozens of times, and the library takes 0.3 seconds for 131,072.
        from mistral_common.tokens.tokenizers.base import SpecialTokenPolicy

        return [self._tekkenizer.id_to_byte_piece(id, SpecialTokenPolicy.KEEP) for id in range(self.vocab_size)]

    def token_types(self) -> list[TokenType]:
        """Return CONTROL for the special tokens, which are those with the lowest ids."""
        special = self._tekkenizer.num_special_tokens
        return [TokenType.CONTROL if id < special else TokenType.UNDEFINED for id in range(self.vocab_size)]


def load(place: os.PathLike[str]) -> FoundReference:
    """Load a tekken.json.

    Raises:
        MissingLibraryError: If mistral-common is not installed.
        BrokenFileError: If the file cannot be read or is not a tekken.json.
        UnsupportedError: If it is larger than any vocabulary.
    """
    try:
        import mistral_common
        from mistral_common.tokens.tokenizers.tekken import Tekkenizer
    except ImportError as error:
        raise MissingLibraryError(
            f"{os.fspath(place)}: a tekken.json needs mistral-common, which is not installed; install it with "
            "`pip install mistral-common`"
        ) from error
    path = Path(place)
    data = read_file(path)
    content = parse_tekken(path, data)
    with raised_as(BrokenFileError, f"{path}: mistral-common {mistral_common.__version__} cannot load it"):
        tekkenizer = Tekkenizer.from_file(path)
    versions = {"mistral-common": mistral_common.__version__}
    return FoundReference.of_file(TekkenTokenizer(tekkenizer, content), path, data, versions=versions)


def _special_ids(tekkenizer: Tekkenizer) -> dict[str, int]:
    ids = {}
    for role, text in ROLES.items():
        if tekkenizer.is_special(text):
            ids[role] = tekkenizer.get_special_token(text)
    return ids
