"""Opened: what a reference declares about itself besides the ids it returns."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.compare.reference_ranking import read_ranking
from tokverify.compare.side import reference_side, side_of
from tokverify.engine.build import newest_build, selected_build
from tokverify.engine.engine_choice import available_engine, require_requested
from tokverify.engine.piece_index import index_pieces
from tokverify.engine.requirement import describe_changes, describe_needs
from tokverify.errors import EncodeError, TokverifyError, answer_or
from tokverify.report.side import Side
from tokverify.sources.gguf.declaration import Declaration
from tokverify.sources.stores.model_file import ModelFile
from tokverify.sources.tokenizer_file import file_of
from tokverify.spec import DEFAULT_TEMPLATE, AddedToken, TokenizerSpec
from tokverify.system.library_error import raised_as
from tokverify.system.quick_exit import keep_until_exit
from tokverify.texts.vocabulary import bytes_of_tokens
from tokverify.tokenizer import (
    Declaring,
    DocumentHolding,
    EndListing,
    LlamaCppDecoding,
    MatchListing,
    PatternHolding,
    Tokenizer,
    TypeListing,
    path_of,
    pieces_of,
)

if TYPE_CHECKING:
    from tokverify.compare.contradiction import Contradiction
    from tokverify.engine.encoder import Encoder
    from tokverify.references import FoundReference
    from tokverify.sources.huggingface.conversion import Fitted
    from tokverify.sources.huggingface.document import Document
    from tokverify.sources.huggingface.stage import Stage

_BIG_ENDIAN = "a big-endian machine, such as s390x; llama.cpp loads it on no other (gguf-convert-endian converts it)"
_MOST_SECONDS = 2
_FEW_SECONDS = 0.1
"""For each of hundreds of short texts."""
_SPLIT_TEXTS = 1024
"""How many texts that were split are remembered: all cases, and those that tell pre-tokenizers apart.

The search for a repair asks for them in each round.
"""
# Metadata is far smaller. Hashing tens of gigabytes of tensors would take longer than everything else.
_MAX_HASHED_BYTES = 256 * 2**20


class Opened:
    """A tokenizer and what it declares, each part computed on first use.

    A property is None or empty if the tokenizer declares nothing about it, or if there is no tokenizer.

    Raises:
        GoneError: By every property, if the reference has stopped answering: what it declares is then not known.
    """

    def __init__(self, tokenizer: Tokenizer | None, path: Path | None = None) -> None:
        """Take a tokenizer, and the file that it was read from, if any."""
        self._tokenizer = tokenizer
        self._path = path

    @property
    def tokenizer(self) -> Tokenizer | None:
        """What encodes and decodes."""
        return self._tokenizer

    @property
    def path(self) -> Path | None:
        """The file that it was read from, if any."""
        return self._path

    @property
    def place(self) -> Path | None:
        """The file, or the one in a directory that a library has read; others beside it are about this tokenizer."""
        return self.path or path_of(self.tokenizer)

    @property
    def name(self) -> str:
        """The name of the tokenizer."""
        return self.tokenizer.name if self.tokenizer else ""

    @property
    def source(self) -> str:
        """Where it comes from."""
        return str(self.path or self.name)

    @property
    def size(self) -> int:
        """The number of tokens."""
        return self.tokenizer.vocab_size if self.tokenizer else 0

    @property
    def is_rebuilt(self) -> bool:
        """Whether the tokenizer is rebuilt from the data of the file that it is compared with."""
        return False

    @property
    def named_ends(self) -> frozenset[int]:
        """The tokens of which the tokenizer says that they end a generation; none if it is rebuilt."""
        tokenizer = None if self.is_rebuilt else self.tokenizer
        return tokenizer.generation_ends().ids if isinstance(tokenizer, EndListing) else frozenset()

    @property
    def parses_special(self) -> bool:
        """Whether the reference can recognize its control tokens in a text."""
        return self.tokenizer is not None and self.tokenizer.parses_special

    @cached_property
    def special_ids(self) -> Mapping[str, int]:
        """The ids of the special tokens, by role."""
        declared = dict(self.tokenizer.special_ids) if self.tokenizer else {}
        if "cls" in declared:
            declared.setdefault("bos", declared["cls"])
        return {**(self.spec.valid_special_ids if self.spec else {}), **declared}

    @property
    def gguf_spec(self) -> TokenizerSpec | None:
        """What the reference declares; None if it does not declare everything as a GGUF file does."""
        return self.spec if isinstance(self.tokenizer, Declaring) else None

    @cached_property
    def left_out(self) -> Mapping[int, str]:
        """The added tokens, by id, that only the files beside the reference declare."""
        from tokverify.sources.config import find_left_out

        return find_left_out(self.tokenizer) if self.tokenizer else {}

    @cached_property
    def omitted(self) -> Mapping[int, str]:
        """The tokens, by id, for which a tokenizer.json has none, although the .model that it was made of does."""
        from tokverify.compare.contradiction import find_omitted

        return answer_or({}, find_omitted, self.tokenizer) if self.tokenizer else {}

    @cached_property
    def extended_spec(self) -> TokenizerSpec | None:
        """What the reference declares, with the tokens after its last one that only the files beside it declare.

        Of these, the files may name one that ends a turn as EOS.
        """
        from tokverify.sources.sentencepiece.reader import append_tokens, with_types

        if self.spec is None or self.path is None or not self.left_out:
            return self.spec
        size = len(self.spec.tokens)
        roles = {role: id for role, id in self.special_ids.items() if id >= size}
        extended = append_tokens(self.spec, with_types(self.path, self.left_out))
        return replace(extended, special_ids={**extended.special_ids, **roles})

    @property
    def is_llama_cpp(self) -> bool:
        """Whether the reference is llama.cpp, or another file encoded as it does."""
        tokenizer = self.tokenizer
        return tokenizer is not None and (isinstance(tokenizer, LlamaCppDecoding) or tokenizer.decodes_as_llama_cpp)

    @property
    def lists_all_roles(self) -> bool:
        """Whether a role that the reference does not name has no token, as in a GGUF file.

        A sentencepiece model without an EOS of its own is used with one that other files name.
        """
        return self.is_llama_cpp and self.gguf_spec is not None

    @cached_property
    def contradictions(self) -> Sequence[Contradiction]:
        """Where the files of the reference contradict each other."""
        from tokverify.compare.contradiction import contradictions_of

        return contradictions_of(self.tokenizer) if self.tokenizer else ()

    def is_contradicted(self, subject: str) -> bool:
        """Whether the files of the reference contradict each other about a subject, so that it confirms nothing."""
        return any(each.subject == subject for each in self.contradictions)

    @cached_property
    def contradicted_tokens(self) -> frozenset[int]:
        """The added tokens of which the files of the reference say both that they are special and that they are not."""
        from tokverify.compare.contradiction import contradicted_tokens

        return contradicted_tokens(self.contradictions)

    @cached_property
    def contradicted_ends(self) -> frozenset[int]:
        """The ends of a generation that only one file of the reference names, although they end no answer."""
        from tokverify.compare.contradiction import find_false_ends

        return find_false_ends(self.tokenizer, self.contradictions) if self.tokenizer else frozenset()

    @property
    def is_gguf(self) -> bool:
        """Whether the reference is a GGUF file, so that its types are those that a converter wrote."""
        return isinstance(self.tokenizer, Declaring) and isinstance(self.tokenizer, TypeListing)

    @cached_property
    def pieces(self) -> Sequence[str]:
        """The stored strings, by id."""
        return answer_or((), pieces_of, self.tokenizer) if self.tokenizer else ()

    @cached_property
    def token_bytes(self) -> Sequence[bytes]:
        """The bytes that tokens represent, by id."""
        return answer_or((), bytes_of_tokens, self.tokenizer) if self.tokenizer else ()

    def bytes_of(self, id: int) -> bytes | None:
        """Return the bytes that a token represents; None if there is no such token, or that is not known."""
        if self.tokenizer is None or id >= self.tokenizer.vocab_size:
            return None
        return answer_or(None, self.tokenizer.token_bytes, id)

    def decode_alone(self, id: int) -> bytes | None:
        """Return what a token adds to the decoded text of the same token before it; None if that is not clear."""
        if self.tokenizer is None:
            return None
        once = answer_or(None, self.tokenizer.decode, [id])
        twice = None if once is None else answer_or(None, self.tokenizer.decode, [id, id])
        if once is None or twice is None:
            return None
        return twice.removeprefix(once) if twice.startswith(once) else None

    @cached_property
    def document(self) -> Document | None:
        """The tokenizer.json; None if there is none, or it cannot be read."""
        return answer_or(None, self.read_document)

    def read_document(self) -> Document | None:
        """Parse the tokenizer.json; None if the tokenizer was not made from one.

        Raises:
            TokverifyError: If it cannot be read.
        """
        if not isinstance(self.tokenizer, DocumentHolding):
            return None
        from tokverify.sources.huggingface.document import parse, parse_beside
        from tokverify.sources.huggingface.tables import tables_of

        content, tables = self.tokenizer.tokenizer_json(), tables_of(self.tokenizer)
        return parse_beside(self.path, content, tables) if self.path else parse(content, self.source, {}, tables)

    @cached_property
    def spec(self) -> TokenizerSpec | None:
        """What an equivalent GGUF file would declare, without what GGUF cannot express."""
        if isinstance(self.tokenizer, Declaring):
            return answer_or(None, self.tokenizer.declared_spec)
        return self.fitted.spec if self.fitted else None

    @cached_property
    def fitted(self) -> Fitted | None:
        """The part of a tokenizer.json that a GGUF file can express; None if there is none."""
        from tokverify.sources.huggingface.conversion import convert_leniently

        return answer_or(None, convert_leniently, self.document) if self.document else None

    @cached_property
    def ranking(self) -> TokenizerSpec | None:
        """A specification with the scores or merges by which the reference ranks pieces."""
        return read_ranking(self.tokenizer, self.document) if self.tokenizer else None

    @cached_property
    def lists_all_tokens(self) -> bool:
        """Whether a GGUF file should have no more tokens than `listed_size`, apart from padding.

        A sentencepiece model does not contain those that are added to it; its library recognizes none in a text. To a
        tokenizer.json, transformers adds those that a tokenizer_config.json declares.
        """
        return self.parses_special and 0 < self.listed_size >= self._configured_size

    @cached_property
    def listed_size(self) -> int:
        """How many tokens the reference declares or, if it declares nothing, has bytes for."""
        return len(self.spec.tokens if self.spec else self.token_bytes)

    @property
    def chat_template(self) -> str | None:
        """The default chat template; None if there is none, or it cannot be read."""
        return self.chat_templates.get(DEFAULT_TEMPLATE)

    @cached_property
    def chat_templates(self) -> Mapping[str, str]:
        """The chat templates by name; none if they cannot be read."""
        from tokverify.sources.config import chat_templates

        try:
            beside = chat_templates(self.place) if self.place else {}
        except TokverifyError:
            beside = {}
        # What a tokenizer.json declares has no templates, and converting it takes long.
        return {**beside, **(self.gguf_spec.templates if self.gguf_spec else {})}

    @property
    def _configured_size(self) -> int:
        """One more than the highest id that a tokenizer_config.json declares."""
        from tokverify.sources.config import declared_tokens

        try:
            ids = declared_tokens(self.place).values() if self.place else ()
        except TokverifyError:
            return 0
        return max(ids, default=-1) + 1

    @cached_property
    def types(self) -> Sequence[int] | None:
        """The types of the tokens by id, as `TypeListing` gives them, or as the equivalent GGUF file declares them."""
        if isinstance(self.tokenizer, TypeListing):
            return answer_or(None, self.tokenizer.token_types)
        return self.spec.types if self.spec else None

    @cached_property
    def added_tokens(self) -> Mapping[int, AddedToken] | None:
        """The added tokens, by id; of a tokenizer.json, those that are matched in texts."""
        if isinstance(self.tokenizer, MatchListing):
            return answer_or(None, self.tokenizer.added_tokens)
        return _added_tokens(self.document, self.pieces) if self.document else None

    @cached_property
    def normalizer(self) -> tuple[str, Callable[[str], str]] | None:
        """The name of the normalizer, and the function."""
        if self.document is None or self.document.library.normalizer is None:
            return None
        return self._named_normalizer(self.document.normalizer, self.document.library.normalizer.normalize_str)

    @cached_property
    def left_out_normalizer(self) -> tuple[str, Callable[[str], str]] | None:
        """The names of the normalizers that no GGUF file can express, and all of them as one function."""
        from tokverify.sources.huggingface.conversion import has_counterpart
        from tokverify.sources.huggingface.stage import normalizer_of

        document = self.document
        if document is None or all(has_counterpart(stage, document.model_type) for stage in document.normalizer):
            return None
        if self.fitted is None:
            return None
        kept = self.fitted.document.normalizer
        stages = [stage for stage in document.normalizer if stage not in kept]
        return self._named_normalizer(stages, normalizer_of(stages).normalize_str)

    def _named_normalizer(
        self, stages: Iterable[Stage], normalize: Callable[[str], str]
    ) -> tuple[str, Callable[[str], str]]:
        def normalizer(text: str) -> str:
            with raised_as(EncodeError, f"{self.name} cannot normalize this text", quietly=True):
                return str(normalize(text))

        return ", ".join(dict.fromkeys(stage["type"] for stage in stages)), normalizer

    @cached_property
    def words(self) -> tuple[str, Callable[[str], list[str]]] | None:
        """The names of the normalizer and the pre-tokenizer, and both as one function from a text to words."""
        if self.document is None or self.document.library.pre_tokenizer is None:
            return None
        names = [stage["type"] for stage in (*self.document.normalizer, *self.document.pre_tokenizer)]
        normalize = self.normalizer[1] if self.normalizer else str
        pre_tokenize = self.document.library.pre_tokenizer.pre_tokenize_str

        def split(text: str) -> list[str]:
            with raised_as(EncodeError, f"{self.name} cannot split this text", quietly=True):
                return [word for word, _ in pre_tokenize(normalize(text))]

        return ", ".join(names), split

    @cached_property
    def split(self) -> Callable[[str], list[str]] | None:
        """A function that splits a text into the pre-tokens of byte-level BPE, before anything else is done to them."""
        if isinstance(self.tokenizer, PatternHolding):
            return _split_by(self.tokenizer.split_pattern)
        document = self.document
        if document is None or not document.is_byte_level:
            return None
        from tokverify.sources.huggingface.bpe import split_all

        return lru_cache(_SPLIT_TEXTS)(lambda text: split_all(document, [text])[0])

    @property
    def configured_split(self) -> Callable[[str], list[str]] | None:
        """A function that splits a text as the tokenizer_config.json beside the reference says; None if it does not."""
        from tokverify.sources.config import read_config

        pattern = read_config(self.path).get("pretokenize_regex") if self.path else None
        return _split_by(pattern, seconds=_FEW_SECONDS) if isinstance(pattern, str) else None

    @property
    def ignore_merges(self) -> bool | None:
        """Whether a pre-token that is a piece becomes one token without merging; None if that is not known."""
        if isinstance(self.tokenizer, PatternHolding):
            return True
        return bool(self.document.model.get("ignore_merges")) if self.document else None

    @property
    def longest_word(self) -> int | None:
        """The length in characters beyond which WordPiece treats a word as unknown."""
        limit = self.document.model.get("max_input_chars_per_word") if self.document else None
        return limit if isinstance(limit, int) else None

    @property
    def fuses_unknown(self) -> bool | None:
        """Whether a run of characters outside the vocabulary becomes one unknown token."""
        return bool(self.document.model.get("fuse_unk")) if self.document else None


class OpenedReference(Opened):
    """A tokenizer that its own library, server or program has loaded, with its provenance.

    It is usually the reference, but can be on either side of a comparison.
    """

    def __init__(self, found: FoundReference) -> None:
        """Take the reference as its adapter loaded it."""
        super().__init__(found.tokenizer, found.path)
        self.found = found
        keep_until_exit(found)

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer to compare."""
        return self.found.tokenizer

    @property
    def source(self) -> str:
        """Where it comes from, as its adapter says."""
        return self.found.source

    @property
    def is_rebuilt(self) -> bool:
        """Whether the tokenizer is rebuilt from the data of the file that it is compared with."""
        return self.found.is_rebuilt

    @property
    def description(self) -> Side:
        """The description of the reference in reports."""
        return reference_side(self.found)

    @property
    def versions(self) -> Mapping[str, str]:
        """The versions of Python and of the libraries that load it."""
        return {**python_version(), **self.found.versions}


class OpenedModel(Opened):
    """A tokenizer file that has been read, and that tokverify encodes with as llama.cpp does."""

    def __init__(self, *, file: ModelFile, kind: str, declaration: Declaration) -> None:
        self.file = file
        """The file and where it came from; for a tiktoken file, the path ends in `:PATTERN`."""
        self.kind = kind
        """The format of the file, such as `gguf` or `sentencepiece`."""
        self.declaration = declaration
        """What the file declares, with the reason if llama.cpp refuses it."""

    @property
    def spec(self) -> TokenizerSpec:
        """The tokenizer as the file declares it, which may contradict itself."""
        return self.declaration.spec

    @property
    def gguf_spec(self) -> TokenizerSpec:
        """The same: a file declares everything."""
        return self.spec

    @cached_property
    def encoder(self) -> Encoder:
        """The same tokenizer as llama.cpp uses it.

        Raises:
            TokverifyError: If llama.cpp refuses the file, or the requested engine cannot encode with it.
        """
        from tokverify.engine.encoder import Encoder

        if self.declaration.refusal:
            raise self.declaration.refusal
        with self.file.prefixed_to_errors():
            encoder = Encoder(self.spec, self.file.name, in_background=True)
        require_requested(encoder.engine)
        keep_until_exit(encoder)
        return encoder

    @property
    def is_loaded(self) -> bool:
        """Whether the encoder has been made."""
        return "encoder" in vars(self)

    @property
    def tokenizer(self) -> Encoder:
        """The tokenizer to compare."""
        return self.encoder

    @property
    def path(self) -> Path:
        """The file on this machine."""
        return self.file.path

    @property
    def needs(self) -> str:
        """Which machine and which build of llama.cpp the file needs; empty if any will do."""
        machine = _BIG_ENDIAN if self.declaration.is_big_endian else ""
        return "; ".join(filter(None, [describe_needs(self.spec), machine]))

    @cached_property
    def description(self) -> Side:
        """The description of the model in reports. The file is hashed on first use, unless its hash is known."""
        build = self.encoder.settings.build
        other = [f"encoded as llama.cpp b{build} does"] if build != newest_build() else []
        changes = describe_changes(self.spec, self.encoder.settings)
        others = changes and f"llama.cpp gives other ids {changes}"
        caveat = "; ".join(filter(None, [*self.spec.left_out, *other, self.needs and f"needs {self.needs}", others]))
        return replace(side_of(self.encoder), source=self.file.location, caveat=caveat, sha256=_sha256_of(self.file))

    @property
    def versions(self) -> Mapping[str, str]:
        """The engine that encodes."""
        return engine_version(self.encoder)


def python_version() -> dict[str, str]:
    """Name the running Python in the form used by the `versions` of a report."""
    return {"python": platform.python_version()}


def engine_version(encoder: Encoder | None = None) -> dict[str, str]:
    """Name the engine that encodes in the form used by the `versions` of a report, and why it is not the native one.

    Without an encoder, it is the engine for any tokenizer that does not prevent it.
    """
    choice = encoder.engine if encoder else available_engine()
    name = f"{choice.name} ({choice.reason})" if choice.reason else choice.name
    return {"engine": name, "llama.cpp": f"b{selected_build() or newest_build()}"}


def _sha256_of(file: ModelFile) -> str | None:
    """Return the SHA-256 digest of a model's complete file; None if it is not known and would take long to compute."""
    if file.sha256 or file.is_partial:
        return file.sha256
    path = file_of(file.path)
    if path.stat().st_size > _MAX_HASHED_BYTES:
        return None
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _split_by(pattern: str, seconds: float = _MOST_SECONDS) -> Callable[[str], list[str]] | None:
    """Return a function that lists the matches of a regular expression; None if it cannot be used."""
    import regex

    try:
        find_all = regex.compile(pattern, regex.V1).findall
    except (regex.error, RecursionError):
        return None

    def split(text: str) -> list[str]:
        # subtle: the pattern comes from a file, and this library searches without a limit.
        with raised_as(EncodeError, "the pattern takes too long for this text", quietly=True):
            return list(map(str, find_all(text, timeout=seconds)))

    return lru_cache(_SPLIT_TEXTS)(split)


def _added_tokens(document: Document, pieces: Sequence[str]) -> dict[int, AddedToken]:
    ids, found = index_pieces(pieces), dict[int, AddedToken]()
    for token in document.added_tokens:
        text, flags = token["content"], (bool(token.get(name)) for name in ("special", "lstrip", "rstrip"))
        id = ids.get(text, token["id"])
        found[id] = AddedToken(id, text, *flags)
    return found
