"""Subject: all that a rule can look at, worked out when a rule first asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokverify.engine.settings import resolve
from tokverify.errors import BrokenFileError, TokverifyError, UnsupportedError
from tokverify.text.wording import shortened

if TYPE_CHECKING:
    from tokverify.audit.cutting import OtherCut
    from tokverify.audit.marker import TemplateMarkers
    from tokverify.engine.encoder import Encoder
    from tokverify.engine.settings import Settings
    from tokverify.files.gguf.declaration import Declaration
    from tokverify.files.huggingface.document import Document
    from tokverify.references import FoundReference
    from tokverify.spec import TokenizerSpec
    from tokverify.tokenizer import Tokenizer


class NotEvaluatedError(Exception):
    """A rule does not get what it needs to look at; the message says why."""


@dataclass(frozen=True)
class Subject:
    """A GGUF file's tokenizer and, where one is given, its reference.

    A property that cannot be had raises `NotEvaluatedError`, which ends the rule that asks for it. So a file that
    is refused can still be audited by the rules that look at the declared tokenizer alone.
    """

    declaration: Declaration
    found: FoundReference | None = None
    name: str = ""

    @property
    def spec(self) -> TokenizerSpec:
        """The tokenizer as the file declares it, which may contradict itself."""
        return self.declaration.spec

    @cached_property
    def resolved(self) -> Settings | TokverifyError:
        """The effective settings, or the error that tells why there are none."""
        if self.declaration.refusal:
            return self.declaration.refusal
        try:
            return resolve(self.spec)
        except (BrokenFileError, UnsupportedError) as error:
            return error

    @property
    def settings(self) -> Settings:
        """The effective settings."""
        if isinstance(self.resolved, TokverifyError):
            raise NotEvaluatedError(f"the tokenizer cannot be loaded: {shortened(str(self.resolved))}")
        return self.resolved

    @cached_property
    def encoder(self) -> Encoder:
        """Our side, ready to encode."""
        from tokverify.engine.encoder import Encoder

        self.settings  # noqa: B018 - raises if there are none
        try:
            return Encoder(self.spec, self.name or "tokverify")
        except (BrokenFileError, UnsupportedError) as error:
            raise NotEvaluatedError(f"the tokenizer cannot be loaded: {error}") from error

    @cached_property
    def fingerprint(self) -> str | None:
        """The fingerprint of the tokenizer; None where it cannot be loaded."""
        from tokverify.engine.encoder import fingerprint

        return None if isinstance(self.resolved, TokverifyError) else fingerprint(self.spec, self.resolved)

    @cached_property
    def markers(self) -> TemplateMarkers:
        """What in the chat template looks like special tokens."""
        from tokverify.audit.marker import read_template

        if self.spec.chat_template is None:
            raise NotEvaluatedError("the file holds no chat template")
        return read_template(self.spec.chat_template)

    @property
    def reference(self) -> FoundReference:
        """The reference."""
        if self.found is None:
            raise NotEvaluatedError("no reference was given; name one with -r")
        if self.found.source == "rebuilt":
            raise NotEvaluatedError("the reference is rebuilt from the file's own data, so it cannot differ from it")
        return self.found

    @property
    def expected(self) -> Tokenizer:
        """The reference's tokenizer."""
        return self.reference.tokenizer

    @property
    def original(self) -> Tokenizer | None:
        """The reference's tokenizer, if it is not made from the GGUF file and recognizes special tokens; else None."""
        if self.found is None or self.found.path is None or not self.found.tokenizer.parses_special:
            return None
        return self.found.tokenizer

    @property
    def path(self) -> Path:
        """The file that the reference was read from."""
        if self.reference.path is None:
            raise NotEvaluatedError(f"the reference is {self.reference.source}, which is no file with parts to look at")
        return self.reference.path

    @cached_property
    def document(self) -> Document:
        """The reference's tokenizer.json, parsed."""
        from tokverify.files.config import special_texts
        from tokverify.files.huggingface.document import parse
        from tokverify.files.location import read_file

        if self.expected.name != "tokenizers":
            raise NotEvaluatedError("the reference is no tokenizer.json")
        try:
            return parse(read_file(self.path), str(self.path), special_texts(self.path))
        except TokverifyError as error:
            raise NotEvaluatedError(str(error)) from error

    @cached_property
    def rewrites_and_cuts_alike(self) -> bool:
        """Whether our side's model itself does all that the stages before the reference's model do (`cpp-hybrid`)."""
        from tokverify.files.huggingface.cpp_stages import is_cpp_hybrid

        return self.settings.algorithm == "cpp-hybrid" and is_cpp_hybrid(self.document.library)

    @cached_property
    def sentencepiece(self) -> TokenizerSpec:
        """The reference's .model file, in terms of GGUF."""
        from tokverify.files.sentencepiece.reader import read_spec

        if self.expected.name != "sentencepiece":
            raise NotEvaluatedError("the reference is no sentencepiece model")
        try:
            return read_spec(self.path)
        except TokverifyError as error:
            raise NotEvaluatedError(str(error)) from error

    @cached_property
    def cut_otherwise(self) -> Sequence[OtherCut]:
        """The probe texts that the reference cuts otherwise before merging."""
        from tokverify.audit.cutting import cut_otherwise
        from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS

        if self.settings.algorithm != "bpe":
            raise NotEvaluatedError(f"the model {self.spec.model} does not cut texts before it encodes them")
        return list(cut_otherwise(PRE_TOKENIZERS[self.settings.pre], self.document))

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The tokenizer_config.json beside the reference; empty where there is none."""
        from tokverify.files.config import read_config

        return read_config(self.path)
