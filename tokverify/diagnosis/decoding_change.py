"""Changes that make the same ids decode to the same bytes: types and texts of tokens, and ways of the libraries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from tokverify.diagnosis.change import TokenizerChange
from tokverify.diagnosis.deviation import Deviation
from tokverify.diagnosis.entry import Entry, change_to, tokens_named, typing
from tokverify.diagnosis.spelling import attribute_of, spelled
from tokverify.engine.attribute import Attribute
from tokverify.engine.decoder import VERBATIM, token_bytes
from tokverify.spec import TokenType
from tokverify.text.wording import quoted

if TYPE_CHECKING:
    from tokverify.diagnosis.evidence import DecodingEvidence
    from tokverify.engine.settings import Settings
    from tokverify.spec import TokenizerSpec

_TYPES = (TokenType.BYTE, TokenType.NORMAL)
"""The types to try; others would make ordinary tokens special, or hide them."""

_CLOSING = frozenset({b" .", b" ,", b" ?", b" !"})

_NAMED = (Attribute.CONTROL | Attribute.USER_DEFINED).value


def types(evidence: DecodingEvidence) -> Iterator[TokenizerChange]:
    """Give tokens the type with which they stand for what they do in the reference, and all alike with them."""
    settings, shown = evidence.encoder.settings, evidence.facts.token_bytes
    wanted = {
        (settings.attributes[id], type)
        for id in evidence.differing
        if not settings.attributes[id] & VERBATIM
        and (type := _type_for(shown[id], settings.pieces[id], settings)) is not None
    }
    for attribute, type in sorted(wanted):
        entries = {
            id: Entry(None, type)
            for id, piece in enumerate(settings.pieces[: len(shown)])
            if settings.attributes[id] == attribute
            and evidence.encoder.token_bytes(id) != shown[id]
            and _type_for(shown[id], piece, settings) is type
        }
        yield typing(evidence.spec, entries, type, cost=3)


def _type_for(wanted: bytes, piece: str, settings: Settings) -> TokenType | None:
    fitting = (type for type in _TYPES if token_bytes(piece, attribute_of(type), settings) == wanted)
    return next(fitting, None)


def texts(evidence: DecodingEvidence) -> Iterator[TokenizerChange]:
    """Write special tokens as the reference shows them; unknown ones many show in a way of their own, or not at all."""
    settings, shown = evidence.encoder.settings, evidence.facts.token_bytes
    entries = {
        id: Entry(text)
        for id in evidence.differing
        if settings.attributes[id] & _NAMED
        and shown[id]
        and (text := spelled(shown[id], settings.attributes[id], settings)) is not None
    }
    if entries:
        sentence = f"writing {tokens_named(entries, evidence.spec)} for what the reference shows"
        yield change_to(entries, "tokens", sentence, 3.2)


def special_tokens(evidence: DecodingEvidence) -> Iterator[TokenizerChange]:
    """Show special tokens as the reference does, which is asked for each: some leave them out, or mark unknown ones."""
    settings, encoder = evidence.encoder.settings, evidence.encoder
    ids = sorted({id for target in evidence.targets for id in target.ids if settings.attributes[id] & VERBATIM})
    told = {id: evidence.facts.decoded(id) for id in ids}
    shown = {id: data for id, data in told.items() if data is not None and data != encoder.token_bytes(id)}
    for decoded in ({id: b"" for id in shown if not shown[id]}, {id: data for id, data in shown.items() if data}):
        if decoded:
            yield TokenizerChange(
                kind="special_decoding",
                sentence=_shown_as(decoded, evidence.spec),
                cost=6,
                deviation=Deviation(decoded=decoded),
            )


def _shown_as(decoded: Mapping[int, bytes], spec: TokenizerSpec) -> str:
    named = tokens_named(decoded, spec)
    data = set(decoded.values())
    if len(data) > 1:
        return f"decoding {named} as the reference does"
    text = data.pop().decode("utf-8", "surrogateescape")
    return f"decoding {named} as {quoted(text)}" if text else f"leaving {named} out of decoded text"


def words(evidence: DecodingEvidence) -> Iterator[TokenizerChange]:
    """Join words as the WordPiece decoder of HuggingFace tokenizers does, with and without its `cleanup`."""
    if evidence.encoder.settings.algorithm != "wordpiece":
        return
    for cleanup in (True, False):
        but = ", none before . , ? !" if cleanup else ""
        yield TokenizerChange(
            kind="word_decoding",
            sentence=f"joining words as HuggingFace's decoder does (no space before the first, one before special "
            f"tokens{but})",
            cost=5.9,
            deviation=Deviation(join_words=partial(_join_words, cleanup=cleanup)),
        )


def _join_words(parts: Iterable[tuple[bytes, bool]], *, cleanup: bool) -> bytes:
    """Join tokens, each with whether it is special.

    Source: `decode_chain` in the `decoders/wordpiece.rs` of HuggingFace tokenizers. It cleans up each token by itself,
    so that of its rules only those for punctuation ever apply.
    """
    spaced = [b" " + data if is_special else data for data, is_special in parts]
    if spaced:
        spaced[0] = spaced[0].removeprefix(b" ")
    return b"".join(data.lstrip(b" ") if cleanup and data in _CLOSING else data for data in spaced)
