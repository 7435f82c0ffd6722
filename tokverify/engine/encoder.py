"""Encoder: the in-house tokenizer, which returns the ids that llama.cpp returns, with one of two engines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

from tokverify.engine.attribute import types_of
from tokverify.engine.batch import EncodedBatch, encode_each
from tokverify.engine.decoder import PieceDecoder
from tokverify.engine.engine_choice import NATIVE, PYTHON, EngineChoice, available_engine
from tokverify.engine.family import Settings
from tokverify.engine.fingerprint import fingerprint
from tokverify.engine.model import Model
from tokverify.engine.native import NativeEncoder, build_native
from tokverify.engine.pre_tokenizer import PreTokenizer
from tokverify.engine.settings import resolve
from tokverify.engine.text_pipeline import TextPipeline
from tokverify.errors import EncodeError, UnsupportedError
from tokverify.spec import AddedToken, TokenizerSpec, TokenTypes
from tokverify.text.utf8 import decode_utf8, find_not_utf8, from_utf8
from tokverify.tokenizer import GenerationEnds

if TYPE_CHECKING:
    from tokverify.engine.trace import EncoderTrace

_LONG = 1 << 14
"""The number of characters from which on other threads may run while a text is encoded."""

_ENGINES_DISAGREE = "only the native engine fails to encode this text"


class Encoder(PieceDecoder):
    """Encodes and decodes as llama.cpp does with this tokenizer, quirks included.

    Pieces are the stored strings, except that llama.cpp truncates them at a NUL and names empty ones `[EMPTY_<id>]`.

    Args:
        spec: What the file declares.
        name: A short name for reports.
        settings: The effective settings, to replace those derived from `spec`.
        model: The model, to replace the one built from both; it is used by the Python engine.
        normalizers: Changes to each stretch of text before llama.cpp's own; they are made by the Python engine.
        base: The encoder of a similar tokenizer, to share what depends only on identical objects.
        in_background: Let the native engine build its tables in another thread; the first text waits for them.

    Raises:
        UnsupportedError: If tokverify does not know the tokenizer family or the pre-tokenizer.
        BrokenFileError: If llama.cpp refuses the file.
    """

    can_be_native = True
    """Whether the native engine encodes as this class does; subclasses that change a stage set it to False."""

    parses_special = True
    adds_special = True
    decodes_as_llama_cpp = False
    """`decode` does so only with `clean_up`; see `decode_as_llama_cpp`."""

    def __init__(  # noqa: PLR0913 - the optional ones are keywords
        self,
        spec: TokenizerSpec,
        name: str = "tokverify",
        *,
        settings: Settings | None = None,
        model: Model | None = None,
        normalizers: Sequence[Callable[[str], str]] = (),
        base: Encoder | None = None,
        in_background: bool = False,
    ) -> None:
        self.spec = spec
        self.name = name
        super().__init__(settings or resolve(spec))
        self._python = TextPipeline(spec, self.settings, model=model, normalizers=normalizers)
        is_modified = model is not None or bool(normalizers) or not self.can_be_native
        self.engine = self._choose_engine(base, is_modified=is_modified, in_background=in_background)
        """The engine that encodes, and why it is not the native one."""

    def _choose_engine(self, base: Encoder | None, *, is_modified: bool, in_background: bool) -> EngineChoice:
        if is_modified:
            return EngineChoice(PYTHON, "only the Python engine can modify how a tokenizer works")
        choice = available_engine()
        if choice.name == NATIVE:
            choice = self._try_native(base, in_background=in_background)
        if choice.name == PYTHON:
            # The model reports what is wrong with the tokenizer.
            _ = self.model
        return choice

    def _try_native(self, base: Encoder | None, *, in_background: bool) -> EngineChoice:
        shared = (base.spec, base._native) if base and base._native else None  # noqa: SLF001 - the same class
        try:
            self._native = build_native(self.spec, self.settings, shared, in_background=in_background)
        except UnsupportedError as error:
            return EngineChoice(PYTHON, f"the native engine {error}")
        return EngineChoice(NATIVE)

    def build_native_model(self, pre_tokenizer: PreTokenizer) -> NativeEncoder:
        """Build a native encoder without added tokens, with another pre-tokenizer; it shares the tables.

        Raises:
            UnsupportedError: If the native engine does not encode for this tokenizer.
        """
        if self._native is None:
            raise UnsupportedError("the native engine does not encode for this tokenizer")
        settings = replace(self.settings, added_tokens=())
        return build_native(self.spec, settings, (self.spec, self._native), pre_tokenizer=pre_tokenizer)

    @property
    def model(self) -> Model:
        """The Python engine's model, which encodes the text between added tokens.

        Raises:
            TokverifyError: If there is no such model.
        """
        return self._python.model

    @property
    def vocab_size(self) -> int:
        """The number of tokens."""
        return len(self.pieces)

    @property
    def special_ids(self) -> Mapping[str, int]:
        """The effective special ids by role, llama.cpp's defaults included."""
        return self.settings.special_ids

    def lists_role(self, role: str) -> bool:
        """Whether `special_ids` has the role if any token has it: a file without a role declares no token for it.

        llama.cpp uses BOS for CLS, so a file that names BOS cannot name another CLS.
        """
        return role != "cls" or "bos" not in self.special_ids

    @cached_property
    def control_texts(self) -> frozenset[str]:
        """The texts of the added tokens that are matched only with `parse_special`."""
        return frozenset(token.text for token in self.settings.added_tokens if token.special)

    @property
    def added_texts(self) -> list[str]:
        """The texts of the added tokens, longest first."""
        return [token.text for token in self.settings.added_tokens]

    def declared_spec(self) -> TokenizerSpec:
        """Return the tokenizer as the file declares it."""
        return self.spec

    def token_types(self) -> TokenTypes:
        """Return the effective types by id."""
        return types_of(self.settings.attributes)

    def added_tokens(self) -> Mapping[int, AddedToken]:
        """Return the tokens that are matched in texts before the model runs, by id."""
        return {token.id: token for token in self.settings.added_tokens}

    def generation_ends(self) -> GenerationEnds:
        """Return the tokens that end a generation in llama.cpp."""
        return GenerationEnds(self.settings.eog_ids, are_all=True)

    def encode(self, text: str | bytes, *, add_special: bool = False, parse_special: bool = True) -> list[int]:
        """Encode `text` to ids; bytes need not be valid UTF-8.

        Raises:
            EncodeError: If the text contains a lone surrogate, or bytes on which llama.cpp aborts.
        """
        if isinstance(text, bytes):
            valid = from_utf8(text)
            if valid is None:
                return self._python.encode_broken(text, add_special=add_special, parse_special=parse_special)
            text = valid
        if self._native is None:
            return self._python.encode(text, add_special=add_special, parse_special=parse_special)
        try:
            if len(text) < _LONG:
                ids = self._native.encode(text, add_special, parse_special)
            else:
                ids = self._encode_long(self._native, text, add_special, parse_special)
        except UnicodeEncodeError:
            ids = None
        return self._explain_failure(text, add_special, parse_special) if ids is None else ids

    @staticmethod
    def _encode_long(native: NativeEncoder, text: str, add_special: bool, parse_special: bool) -> list[int] | None:
        """Encode one text as a batch, so that other threads can run, and the list is made in half the time."""
        ids, _, failed = native.encode_batch((text,), add_special, parse_special, 1)
        return memoryview(ids).cast("I").tolist() if failed is None else None

    def encode_batch(
        self,
        texts: Iterable[str | bytes],
        *,
        add_special: bool = False,
        parse_special: bool = True,
        threads: int = 1,
    ) -> EncodedBatch:
        """Encode many texts, each a string or UTF-8 bytes.

        The native engine uses up to `threads` threads, and other Python threads can run meanwhile.

        Raises:
            EncodeError: For the first text that cannot be encoded; see `encode`. It names the index of the text.
        """
        texts = tuple(texts)
        if self._native is None:
            ids = (self._encode_item(texts, index, add_special, parse_special) for index in range(len(texts)))
            return EncodedBatch.from_lists(ids)
        try:
            ids_of_all, offsets, failed = self._native.encode_batch(texts, add_special, parse_special, threads)
        except ValueError:
            failed = find_not_utf8(texts)
        if failed is not None:
            self._encode_item(texts, failed, add_special, parse_special)
            raise RuntimeError(_ENGINES_DISAGREE)
        return EncodedBatch(memoryview(ids_of_all).cast("I"), memoryview(offsets).cast("q"))

    def encode_many(
        self, texts: Sequence[str], *, add_special: bool, parse_special: bool
    ) -> list[list[int] | EncodeError]:
        """Encode texts; the result for a text that cannot be encoded is its error."""
        try:
            return list(self.encode_batch(texts, add_special=add_special, parse_special=parse_special))
        except EncodeError:
            return encode_each(self.encode, texts, add_special=add_special, parse_special=parse_special)

    def _encode_item(
        self, texts: Sequence[str | bytes], index: int, add_special: bool, parse_special: bool
    ) -> list[int]:
        text = texts[index]
        try:
            text = text if isinstance(text, str) else decode_utf8(text)
            return self.encode(text, add_special=add_special, parse_special=parse_special)
        except EncodeError as error:
            raise EncodeError(f"text {index}: {error}") from None

    def _explain_failure(self, text: str, add_special: bool, parse_special: bool) -> NoReturn:
        """Let the Python engine report why a text cannot be encoded."""
        self._python.encode(text, add_special=add_special, parse_special=parse_special)
        raise RuntimeError(_ENGINES_DISAGREE)

    def encode_unsplit(self, text: str) -> list[int]:
        """Encode `text` without looking for added tokens, in the Python engine."""
        return self._python.encode_unsplit(text)

    def trace(self, text: str | bytes, *, add_special: bool = False, parse_special: bool = True) -> EncoderTrace:
        """Encode `text` in the Python engine and record what each stage does; slower than `encode`.

        Raises:
            EncodeError: As `encode` does.
            UnsupportedError: If the model cannot record it.
        """
        if isinstance(text, bytes) and (valid := from_utf8(text)) is not None:
            text = valid
        return self._python.trace(text, add_special=add_special, parse_special=parse_special)

    def warnings(self, ids: Sequence[int]) -> list[str]:
        """Return likely mistakes in ids encoded with `add_special`: a doubled BOS or EOS."""
        settings, warnings = self.settings, []
        bos, eos = settings.special_ids.get("bos"), settings.special_ids.get("eos")
        if settings.add_bos and bos is not None and list(ids[:2]) == [bos, bos]:
            warnings.append(f"the text begins with BOS ({bos}) and another one was added before it")
        if settings.add_eos and eos is not None and list(ids[-2:]) == [eos, eos]:
            warnings.append(f"the text ends with EOS ({eos}) and another one was added after it")
        return warnings

    @cached_property
    def fingerprint(self) -> str:
        """The sha256, in hexadecimal, of everything that determines the ids of a text."""
        return fingerprint(self.spec, self.settings)
