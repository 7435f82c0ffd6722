"""Explanation: the whole way of one text through the pipeline, and where a reference's way parts from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from tokverify.engine.attribute import Attribute
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.engine.trace import EncoderTrace, Match, Stretch
from tokverify.explain.stages import Parting, part
from tokverify.tokenizer import Token

if TYPE_CHECKING:
    from tokverify.engine.encoder import Encoder
    from tokverify.engine.rewriting import Span
    from tokverify.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class ExplainedToken:
    """A token of the result, the bytes of the text that it comes from, and what brought it about.

    `source` is `model`, `byte` (one byte of something that is no piece), `unknown`, `added` or `special`. `word` is the
    index of the word that it belongs to, counted through all stretches; None for added and special tokens.
    """

    token: Token
    span: Span
    source: str
    word: int | None = None


@dataclass(frozen=True, slots=True)
class AddedNote:
    """An added token that was found: its type, and what the model would look for instead if that is no piece."""

    type: str
    missing: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """How `text` came to its tokens.

    `summary` describes the algorithm, and `unknown_id` is the token that replaces what no piece matches.
    `pieces` are those of all ids in the trace, `patterns` the number of the pre-tokenizer's. `unsplit` are the tokens
    there would be if none of the USER_DEFINED tokens were looked for in the text; None where none was found.
    """

    text: str
    name: str
    algorithm: str
    summary: str
    pre: str | None
    patterns: int
    add_special: bool
    parse_special: bool
    added_tokens: int
    trace: EncoderTrace
    tokens: tuple[ExplainedToken, ...]
    pieces: Mapping[int, str]
    special_ids: Mapping[str, int]
    unknown_id: int | None
    added: Mapping[int, AddedNote]
    unsplit: tuple[Token, ...] | None
    warnings: tuple[str, ...]
    parting: Parting | None = None

    @property
    def ids(self) -> list[int]:
        """The ids of the result."""
        return [explained.token.id for explained in self.tokens]

    @property
    def stretches(self) -> list[Stretch]:
        """What lies between the added tokens."""
        return [fragment for fragment in self.trace.fragments if isinstance(fragment, Stretch)]

    @property
    def matches(self) -> list[Match]:
        """The added tokens found."""
        return [fragment for fragment in self.trace.fragments if isinstance(fragment, Match)]


def explain(
    encoder: Encoder,
    text: str,
    reference: Tokenizer | None = None,
    *,
    add_special: bool = False,
    parse_special: bool = True,
) -> Explanation:
    """Trace `text` through all stages of `encoder`, beside those of `reference` as far as its library shows them.

    Raises:
        EncodeError: If one of the two cannot encode this text.
    """
    trace = encoder.trace(text, add_special=add_special, parse_special=parse_special)
    tokens = tuple(_tokens(encoder, trace, len(text.encode())))
    ids = [explained.token.id for explained in tokens]
    if ids != encoder.encode(text, add_special=add_special, parse_special=parse_special):
        # A trace that is not what the encoder does would be worse than none.
        raise RuntimeError(f"the trace of {text!r} ends in other ids than encoding it does")
    settings = encoder.settings
    explained = Explanation(
        text=text,
        name=encoder.name,
        algorithm=settings.algorithm,
        summary=settings.family.summary,
        pre=settings.pre if settings.family.uses_pre_tokenizer else None,
        patterns=_patterns(encoder),
        add_special=add_special,
        parse_special=parse_special,
        added_tokens=sum(1 for token in settings.added_tokens if parse_special or not token.special),
        trace=trace,
        tokens=tokens,
        pieces={id: encoder.piece(id) for id in _ids(trace)},
        special_ids=dict(settings.special_ids),
        unknown_id=settings.special_ids.get("unk") if settings.family.replaces_unknown else None,
        added={match.id: _note(encoder, match.id) for match in trace.fragments if isinstance(match, Match)},
        unsplit=_unsplit(encoder, trace, text),
        warnings=tuple(encoder.warnings(ids)) if add_special else (),
        parting=None,
    )
    return explained if reference is None else _compared(explained, encoder, reference)


def _compared(explained: Explanation, encoder: Encoder, reference: Tokenizer) -> Explanation:
    from dataclasses import replace

    return replace(explained, parting=part(explained, encoder, reference))


def _patterns(encoder: Encoder) -> int:
    settings = encoder.settings
    return len(PRE_TOKENIZERS[settings.pre].patterns) if settings.family.uses_pre_tokenizer else 0


def _tokens(encoder: Encoder, trace: EncoderTrace, length: int) -> Iterator[ExplainedToken]:
    for id in trace.prefix:
        yield ExplainedToken(_token(encoder, id), (0, 0), "special")
    words = 0
    for fragment in trace.fragments:
        if isinstance(fragment, Match):
            yield ExplainedToken(_token(encoder, fragment.id), (fragment.start, fragment.end), "added")
            continue
        for word in fragment.trace.words:
            for taken in word.tokens:
                start, end = fragment.trace.rewriting.source_span(taken.start, taken.end)
                span = fragment.start + start, fragment.start + end
                source = "byte" if taken.spells else _source(encoder, taken.id)
                yield ExplainedToken(_token(encoder, taken.id), span, source, words)
            words += 1
    for id in trace.suffix:
        yield ExplainedToken(_token(encoder, id), (length, length), "special")


def _token(encoder: Encoder, id: int) -> Token:
    # subtle: a vocabulary without an unknown token gives -1, which stands for nothing.
    return Token(id, encoder.piece(id), encoder.token_bytes(id) if id >= 0 else b"")


def _source(encoder: Encoder, id: int) -> str:
    unknown = id < 0 or id == encoder.settings.special_ids.get("unk")
    return "unknown" if unknown else "model"


def _ids(trace: EncoderTrace) -> Iterator[int]:
    yield from (*trace.prefix, *trace.suffix)
    for fragment in trace.fragments:
        if isinstance(fragment, Match):
            yield fragment.id
        else:
            yield from (taken.id for word in fragment.trace.words for taken in word.tokens)


def _note(encoder: Encoder, id: int) -> AddedNote:
    settings = encoder.settings
    piece = settings.pieces[id]
    attribute = settings.attributes[id]
    type = Attribute(attribute).name or "UNDEFINED"
    sought = None
    if not attribute & Attribute.CONTROL:
        sought = settings.family.lookup_text(piece, settings)
    return AddedNote(type, None if sought is None or sought in settings.ids else sought)


def _unsplit(encoder: Encoder, trace: EncoderTrace, text: str) -> tuple[Token, ...] | None:
    special = {token.id for token in encoder.settings.added_tokens if token.special}
    matches = [fragment for fragment in trace.fragments if isinstance(fragment, Match)]
    if all(match.id in special for match in matches):
        return None
    data = text.encode()
    ids: list[int] = []
    for is_special, group in groupby(trace.fragments, lambda f: isinstance(f, Match) and f.id in special):
        run: Sequence[Match | Stretch] = list(group)
        if is_special:
            ids += [fragment.id for fragment in run if isinstance(fragment, Match)]
        else:
            ids += encoder.encode_unsplit(data[run[0].start : run[-1].end].decode("utf-8", "surrogateescape"))
    return tuple(_token(encoder, id) for id in ids)
