"""Subject: everything that a rule can examine, computed when it is first used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokverify.engine.family import Settings
from tokverify.engine.settings import resolve
from tokverify.errors import BrokenFileError, TokverifyError, UnsupportedError
from tokverify.spec import TokenizerSpec
from tokverify.text.wording import truncate
from tokverify.texts.mode import Modes
from tokverify.tokenizer import Declaring, Tokenizer

if TYPE_CHECKING:
    from tokverify.compare.limits.explaining import Explainer
    from tokverify.compare.marker import TemplateMarkers
    from tokverify.compare.opened import Opened, OpenedReference
    from tokverify.engine.encoder import Encoder
    from tokverify.sources.gguf.declaration import Declaration
    from tokverify.sources.huggingface.document import Document


class NotEvaluatedError(Exception):
    """A rule cannot be evaluated because something it needs is not available; the message says what."""


@dataclass(frozen=True)
class Subject:
    """A GGUF file's tokenizer and, if one is given, its reference.

    A property that is not available raises `NotEvaluatedError`, which ends the rule that uses it. So a file that is
    refused can still be audited by the rules that examine only the declared tokenizer.
    """

    declaration: Declaration
    given: OpenedReference | None = None
    name: str = ""
    """The name of our side, for reports."""
    opened: Encoder | None = None
    """Our side, if it is already open."""
    known: Opened | None = None
    """What is known about a reference if none is given, for rules that do not compare with one."""
    base: Encoder | None = None
    """A similar encoder, with which ours shares the tables that are the same objects in both."""

    @property
    def spec(self) -> TokenizerSpec:
        """The tokenizer as the file declares it, which may contradict itself."""
        return self.declaration.spec

    @cached_property
    def resolved(self) -> Settings | TokverifyError:
        """The effective settings, or the error that explains why there are none."""
        if self.opened:
            return self.opened.settings
        if self.declaration.refusal:
            return self.declaration.refusal
        try:
            return resolve(self.spec)
        except (BrokenFileError, UnsupportedError) as error:
            return error

    def is_contradicted(self, about: str) -> bool:
        """Whether the files of the reference contradict each other about this, so that it confirms nothing."""
        return self.given is not None and self.given.is_contradicted(about)

    @property
    def settings(self) -> Settings:
        """The effective settings."""
        if isinstance(self.resolved, TokverifyError):
            raise NotEvaluatedError(f"the tokenizer cannot be loaded: {truncate(str(self.resolved))}")
        return self.resolved

    @cached_property
    def encoder(self) -> Encoder:
        """Our side, ready to encode."""
        from tokverify.engine.encoder import Encoder

        if self.opened:
            return self.opened
        self.settings  # noqa: B018 - raises if there are none
        try:
            return Encoder(self.spec, self.name or "tokverify", base=self.base)
        except (BrokenFileError, UnsupportedError) as error:
            raise NotEvaluatedError(f"the tokenizer cannot be loaded: {error}") from error

    @cached_property
    def fingerprint(self) -> str | None:
        """The fingerprint of the tokenizer; None if it cannot be loaded."""
        from tokverify.engine.fingerprint import fingerprint

        return None if isinstance(self.resolved, TokverifyError) else fingerprint(self.spec, self.resolved)

    @cached_property
    def markers(self) -> TemplateMarkers:
        """The strings in the chat template that look like special tokens."""
        from tokverify.compare.marker import read_template

        if self.spec.chat_template is None:
            raise NotEvaluatedError("the file contains no chat template")
        return read_template(self.spec.chat_template)

    @property
    def template(self) -> str | None:
        """The chat template of the file or, if it has none, of its reference."""
        facts = self.given or self.known
        return self.spec.chat_template or (facts.chat_template if facts else None)

    @property
    def named_ends(self) -> frozenset[int]:
        """The tokens of which the reference says that they end a generation."""
        facts = self.given or self.known
        return facts.named_ends if facts else frozenset()

    @property
    def independent(self) -> OpenedReference | None:
        """The reference, if one is given that is not rebuilt from the file's own data."""
        return None if self.given is None or self.given.is_rebuilt else self.given

    @property
    def reference(self) -> OpenedReference:
        """The reference."""
        if self.given is None:
            raise NotEvaluatedError("no reference was given; name one with -r")
        if self.given.is_rebuilt:
            raise NotEvaluatedError("the reference is rebuilt from the file's own data, so it cannot differ from it")
        return self.given

    @property
    def expected(self) -> Tokenizer:
        """The reference's tokenizer."""
        return self.reference.tokenizer

    @property
    def sides(self) -> tuple[Encoder, Tokenizer]:
        """Both sides, ready to encode; ours is not made if there is no reference."""
        expected = self.expected
        return self.encoder, expected

    @cached_property
    def modes(self) -> Modes:
        """Chooses the options with which the file and its reference can be compared on a text."""
        return Modes(*self.sides)

    @cached_property
    def explainer(self) -> Explainer:
        """Explains texts that are encoded differently by limits of llama.cpp."""
        from tokverify.compare.limits.explaining import explainer_of

        return explainer_of(self.encoder, self.reference)

    @property
    def original(self) -> Tokenizer | None:
        """The reference's tokenizer if it was read from another file and recognizes special tokens, else None."""
        given = self.given
        return given.tokenizer if given and given.path and given.parses_special else None

    @property
    def path(self) -> Path:
        """The file that the reference was read from."""
        if self.reference.path is None:
            raise NotEvaluatedError(f"the reference ({self.reference.source}) was not read from a file")
        return self.reference.path

    @cached_property
    def document(self) -> Document:
        """The reference's tokenizer.json, parsed."""
        document = self.reference.read_document()
        if document is None:
            raise NotEvaluatedError("the reference is not a tokenizer.json")
        return document

    @cached_property
    def includes_stages(self) -> bool:
        """Whether our model includes everything that the reference does before its model."""
        from tokverify.sources.huggingface.pipeline import find_pipeline

        pipeline = find_pipeline(self.document.library)
        return pipeline is not None and pipeline.model == self.spec.model

    @cached_property
    def declared(self) -> TokenizerSpec:
        """What a GGUF file with the reference's tokenizer would declare, as far as the reference itself knows."""
        if not isinstance(self.expected, Declaring):
            raise NotEvaluatedError("the reference does not expose scores, types and flags")
        return self.expected.declared_spec()

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The tokenizer_config.json beside the reference; empty if there is none."""
        from tokverify.sources.config import read_config

        return read_config(self.path)
