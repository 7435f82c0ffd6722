"""The path of a text in the Python engine, the readable specification: split, normalize, and run the model.

Source: `llama_vocab::impl::tokenize` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from tokverify.engine import added_token
from tokverify.engine.family import Settings, SpaceEscaping
from tokverify.engine.model import CuttableModel, CutTracingModel, Model, TracingModel
from tokverify.engine.normalizer import escape_spaces
from tokverify.errors import EncodeError, TokverifyError, UnsupportedError
from tokverify.spec import AddedToken, TokenizerSpec
from tokverify.text.utf8 import decode_leniently, has_lone_byte, replace_lone_bytes, to_bytes, to_text, to_utf8

if TYPE_CHECKING:
    from tokverify.engine.trace import EncoderTrace, Stretch


class TextPipeline:
    """Encodes texts as llama.cpp does, and records how.

    Args:
        spec: What the file declares.
        settings: The effective settings.
        model: The model, to replace the one built from both.
        normalizers: Changes to each stretch of text between added tokens, before llama.cpp's own.
    """

    def __init__(
        self,
        spec: TokenizerSpec,
        settings: Settings,
        *,
        model: Model | None = None,
        normalizers: Sequence[Callable[[str], str]] = (),
    ) -> None:
        self._spec = spec
        self._settings = settings
        self._given_model = model
        self._normalizers = normalizers
        self._refusal: TokverifyError | None = None

    @cached_property
    def model(self) -> Model:
        """The model, which encodes the text between added tokens.

        Raises:
            TokverifyError: If there is no such model; a second access does not try to make it again.
        """
        if self._refusal:
            raise self._refusal.with_traceback(None)
        try:
            return self._given_model or self._settings.family.make_model(self._spec, self._settings)
        except TokverifyError as error:
            self._refusal = error
            raise

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Encode a text to ids.

        Raises:
            EncodeError: If the text contains a lone surrogate, or on what llama.cpp aborts.
        """
        to_utf8(text)
        prefix, suffix = self._affixes() if add_special else ([], [])
        return prefix + self._encode_fragments(self._split(text, parse_special=parse_special)) + suffix

    def encode_broken(self, data: bytes, *, add_special: bool, parse_special: bool) -> list[int]:
        """Encode bytes that are not valid UTF-8; errors as for `encode`."""
        prefix, suffix = self._affixes() if add_special else ([], [])
        ids: list[int] = []
        for fragment in added_token.split_bytes(data, self._added_tokens(parse_special=parse_special)):
            if isinstance(fragment, int):
                ids.append(fragment)
            else:
                ids += self._encode_broken(fragment) if has_lone_byte(fragment) else self._encode_stretch(fragment)
        return prefix + ids + suffix

    def encode_unsplit(self, text: str) -> list[int]:
        """Encode `text` without looking for added tokens."""
        return self._encode_stretch(text) if text else []

    def trace(self, text: str | bytes, *, add_special: bool, parse_special: bool) -> EncoderTrace:
        """Encode `text` and record what each stage does; slower than `encode`, with the same errors.

        Raises:
            UnsupportedError: If the model cannot record it.
        """
        from tokverify.engine.trace import EncoderTrace, Match

        if isinstance(text, bytes):
            data, split = text, added_token.split_bytes(text, self._added_tokens(parse_special=parse_special))
        else:
            data, split = to_utf8(text), self._split(text, parse_special=parse_special)
        pieces = {token.id: token.text for token in self._settings.added_tokens}
        prefix, suffix = self._affixes() if add_special else ([], [])
        fragments = [
            Match(fragment, start, end) if isinstance(fragment, int) else self._trace(fragment, start, end)
            for fragment, start, end in added_token.locate(data, split, pieces)
        ]
        return EncoderTrace(tuple(prefix), tuple(fragments), tuple(suffix))

    def _split(self, text: str, *, parse_special: bool) -> list[added_token.Fragment]:
        return self._split_all(text) if parse_special else self._split_user_defined(text)

    @cached_property
    def _split_all(self) -> Callable[[str], list[added_token.Fragment]]:
        return added_token.splitter(self._settings.added_tokens)

    @cached_property
    def _split_user_defined(self) -> Callable[[str], list[added_token.Fragment]]:
        return added_token.splitter(self._added_tokens(parse_special=False))

    @cached_property
    def _splits_characters(self) -> bool:
        return any(has_lone_byte(token.text) for token in self._settings.added_tokens)

    def _added_tokens(self, *, parse_special: bool) -> list[AddedToken]:
        return [token for token in self._settings.added_tokens if parse_special or not token.special]

    def _encode_fragments(self, fragments: Sequence[added_token.Fragment]) -> list[int]:
        ids: list[int] = []
        for fragment in fragments:
            if isinstance(fragment, int):
                ids.append(fragment)
            else:
                ids += self._encode_stretch(fragment)
        return ids

    def _encode_stretch(self, fragment: str) -> list[int]:
        if self._splits_characters and has_lone_byte(fragment):
            return self._encode_broken(fragment)
        return self.model.encode(self._prepare(fragment))

    def _encode_broken(self, fragment: str) -> list[int]:
        text = self._prepare(fragment)
        if isinstance(self.model, CuttableModel):
            return self.model.encode_cut(text)
        return self.model.encode(decode_leniently(to_bytes(text), overlong=self._settings.decodes_overlong))

    def _trace(self, text: str, start: int, end: int) -> Stretch:
        from tokverify.engine.rewriting import Rewriting
        from tokverify.engine.trace import Stretch

        model = self.model
        if not isinstance(model, TracingModel):
            raise UnsupportedError("the model cannot record how it encodes a text")
        rewriting = Rewriting()
        rewriting.replace("", self._normalize(" ") if self._prefixes_space else "")
        cutting = model if isinstance(model, CutTracingModel) and has_lone_byte(text) else None
        for character in text:
            normalized = self._normalize(character)
            rewriting.replace(character, normalized if cutting else replace_lone_bytes(normalized))
        prepared = to_text(rewriting.result)
        traced = cutting.trace_cut(prepared) if cutting else model.trace(prepared)
        return Stretch(start, end, text, replace(traced, rewriting=rewriting.then(traced.rewriting)))

    def _prepare(self, fragment: str) -> str:
        # Each stretch begins the text or follows an added token: in both cases a space is added.
        return self._normalize((" " if self._prefixes_space else "") + fragment)

    @property
    def _prefixes_space(self) -> bool:
        # subtle: most models ignore the flag when they encode, and use it only to decode.
        return self._settings.add_space_prefix and self._settings.family.prefixes_space

    def _normalize(self, text: str) -> str:
        for normalize in self._normalizers:
            text = normalize(text)
        return self._escape(text)

    def _escape(self, text: str) -> str:
        escapes = self._settings.family.space_escaping is SpaceEscaping.IN_ENCODER
        return escape_spaces(text) if escapes and self._settings.escape_whitespaces else text

    def _affixes(self) -> tuple[list[int], list[int]]:
        before, after = self._settings.family.affix_roles(self._settings)
        return list(map(self._require_id, before)), list(map(self._require_id, after))

    def _require_id(self, role: str) -> int:
        id = self._settings.special_ids.get(role)
        if id is None:
            raise EncodeError(f"add_{role} is on but tokenizer.ggml.{role}_token_id is missing; llama.cpp aborts here")
        return id
