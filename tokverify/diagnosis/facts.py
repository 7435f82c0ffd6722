"""Facts: what a reference tells of itself beyond the ids it gives, as far as it tells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.engine.encoder import Encoder
from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.tokenizer import Declaring, DocumentHolding, pieces_of

if TYPE_CHECKING:
    from tokverify.files.huggingface.document import Document
    from tokverify.spec import AddedToken, TokenizerSpec
    from tokverify.tokenizer import Tokenizer


@dataclass(frozen=True)
class Facts:
    """What a reference tells; `path` is the file it was read from, where it is one.

    A property is None, or empty, where the reference does not tell, or there is none.
    """

    expected: Tokenizer | None
    path: Path | None = None
    special_texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The reference's name."""
        return self.expected.name if self.expected else ""

    @cached_property
    def special_ids(self) -> Mapping[str, int]:
        """The ids of special tokens by role."""
        told = dict(self.expected.special_ids) if self.expected else {}
        if "cls" in told:
            told.setdefault("bos", told["cls"])
        return {**(self.spec.special_ids if self.spec else {}), **told}

    @cached_property
    def pieces(self) -> Sequence[str]:
        """The stored strings by id."""
        try:
            return pieces_of(self.expected) if self.expected else ()
        except TokverifyError:
            return ()

    @cached_property
    def token_bytes(self) -> Sequence[bytes]:
        """The bytes that tokens stand for, by id."""
        expected = self.expected
        try:
            return list(map(expected.token_bytes, range(expected.vocab_size))) if expected else ()
        except TokverifyError:
            return ()

    def decoded(self, id: int) -> bytes | None:
        """Return what a token adds to the decoded text of what is before it, as itself is; None if that is not told."""
        if self.expected is None:
            return None
        try:
            once, twice = self.expected.decode([id]), self.expected.decode([id, id])
        except TokverifyError:
            return None
        return twice.removeprefix(once) if twice.startswith(once) else None

    @cached_property
    def document(self) -> Document | None:
        """The tokenizer.json."""
        if not isinstance(self.expected, DocumentHolding):
            return None
        from tokverify.files.config import special_texts
        from tokverify.files.huggingface.document import parse

        texts = special_texts(self.path) if self.path else {}
        try:
            return parse(self.expected.tokenizer_json(), str(self.path or self.name), texts)
        except TokverifyError:
            return None

    @cached_property
    def spec(self) -> TokenizerSpec | None:
        """What a GGUF file would declare to say the same, but for what GGUF cannot say."""
        try:
            if isinstance(self.expected, Declaring):
                return self.expected.declared_spec()
            return _convert(self.document) if self.document else None
        except TokverifyError:
            return None

    @cached_property
    def added_tokens(self) -> Mapping[int, AddedToken] | None:
        """The added tokens by id; of a tokenizer.json, those that are matched at all."""
        if isinstance(self.expected, Encoder):
            return {token.id: token for token in self.expected.settings.added_tokens}
        return _added_tokens(self.document, self.pieces) if self.document else None

    @cached_property
    def normalizer(self) -> tuple[str, Callable[[str], str]] | None:
        """What the reference calls its normalizer, and the function."""
        if self.document is None or self.document.library.normalizer is None:
            return None
        names = [stage["type"] for stage in self.document.normalizer]
        return ", ".join(names), self.document.library.normalizer.normalize_str

    @cached_property
    def words(self) -> tuple[str, Callable[[str], list[str]]] | None:
        """What the reference calls its normalizer and pre-tokenizer, and both as one function from text to words."""
        if self.document is None or self.document.library.pre_tokenizer is None:
            return None
        names = [stage["type"] for stage in (*self.document.normalizer, *self.document.pre_tokenizer)]
        normalize = self.normalizer[1] if self.normalizer else str
        cut = self.document.library.pre_tokenizer.pre_tokenize_str
        return ", ".join(names), lambda text: [word for word, _ in cut(normalize(text))]

    @property
    def longest_word(self) -> int | None:
        """The length in characters beyond which WordPiece takes a word for unknown."""
        limit = self.document.model.get("max_input_chars_per_word") if self.document else None
        return limit if isinstance(limit, int) else None

    @property
    def fuses_unknown(self) -> bool | None:
        """Whether neighboring characters that the vocabulary lacks become one unknown token."""
        return bool(self.document.model.get("fuse_unk")) if self.document else None


def facts_of(expected: Tokenizer | None, path: Path | None = None) -> Facts:
    """Return what a reference tells, if there is one; `path` is the file it was read from, where it is one."""
    return Facts(expected, path)


def _added_tokens(document: Document, pieces: Sequence[str]) -> dict[int, AddedToken]:
    from tokverify.spec import AddedToken

    ids = {piece: id for id, piece in enumerate(pieces)}
    return {
        ids.get(token["content"], token["id"]): AddedToken(
            ids.get(token["content"], token["id"]),
            token["content"],
            bool(token["special"]),
            bool(token.get("lstrip")),
            bool(token.get("rstrip")),
        )
        for token in document.added_tokens
    }


def _convert(document: Document) -> TokenizerSpec:
    """Convert a tokenizer.json, and where that cannot be done, what is left without the stages that may be why."""
    from tokverify.files.huggingface import CONVERTERS

    convert = CONVERTERS.get(document.model_type)
    if convert is None:
        raise document.unsupported("model")
    try:
        return convert(document)
    except UnsupportedError:
        return convert(replace(document, normalizer=()))
