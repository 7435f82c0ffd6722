"""Generate changes that make the same ids decode to the same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from tokverify.engine.attribute import VERBATIM, Attribute
from tokverify.engine.deviation import Deviation
from tokverify.engine.family import Settings
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.engine.special_text import BYTE_PIECE
from tokverify.repair import cost
from tokverify.repair.change import TokenizerChange
from tokverify.repair.evidence import DecodingEvidence
from tokverify.repair.setting_change import COMMON_FIRST, set_pre_tokenizer
from tokverify.repair.spelling import spell_token
from tokverify.repair.token_patch import Patches, TokenPatch, name_tokens, patch_tokens, set_type
from tokverify.spec import SPECIAL_TYPES, TokenizerSpec, TokenType, ids_of_type
from tokverify.text.wording import quote

_TYPES = (TokenType.BYTE, TokenType.NORMAL)
"""The types to try; others would make ordinary tokens special or hide them."""

_CLOSING = frozenset({b" .", b" ,", b" ?", b" !"})

_ADDED = (Attribute.CONTROL | Attribute.USER_DEFINED).value


def types(evidence: DecodingEvidence) -> Iterator[TokenizerChange]:
    """Set the type with which tokens represent the same bytes as in the reference, for all tokens of the same type."""
    settings, expected_bytes = evidence.encoder.settings, evidence.facts.token_bytes
    candidates: set[tuple[int, TokenType]] = set()
    for id in evidence.differing:
        type = _type_for(expected_bytes[id], settings.pieces[id], settings)
        is_byte = BYTE_PIECE.fullmatch(settings.pieces[id]) and type is TokenType.BYTE
        # Many references decode control tokens in their own way.
        is_plain = settings.attributes[id] == Attribute.USER_DEFINED or not settings.attributes[id] & VERBATIM
        if type is not None and (is_byte or is_plain):
            candidates.add((settings.attributes[id], type))
    for attribute, type in sorted(candidates):
        yield set_type(evidence.spec, _retype(evidence, attribute, type), type, cost.TYPES)


def pre_tokenizers(evidence: DecodingEvidence) -> Iterator[TokenizerChange]:
    """Try a pre-tokenizer that splits texts in the same way, but whose name cleans up decoded text in another one."""
    settings = evidence.encoder.settings
    if not settings.family.uses_pre_tokenizer or settings.family.pre:
        return
    current = PRE_TOKENIZERS[settings.pre]
    for name in COMMON_FIRST:
        if PRE_TOKENIZERS[name] == replace(current, clean_spaces=not current.clean_spaces):
            yield set_pre_tokenizer(name, evidence.spec, confirmed=False)
            return


def _retype(evidence: DecodingEvidence, attribute: int, type: TokenType) -> Patches:
    """Return patches for the tokens of an attribute that represent the reference's bytes only with another type.

    Not for special tokens of the reference: ordinary ones decode to the same bytes.
    """
    settings, expected_bytes = evidence.encoder.settings, evidence.facts.token_bytes
    special = set(ids_of_type(evidence.facts.types or (), *SPECIAL_TYPES))
    patches: dict[int, TokenPatch] = {}
    for id, piece in enumerate(settings.pieces[: len(expected_bytes)]):
        differs = settings.attributes[id] == attribute and evidence.encoder.token_bytes(id) != expected_bytes[id]
        if differs and id not in special and _type_for(expected_bytes[id], piece, settings) is type:
            patches[id] = TokenPatch(type=type)
    return patches


def _type_for(expected: bytes, piece: str, settings: Settings) -> TokenType | None:
    # Where no piece is a byte, a token typed BYTE that is not named like one decodes to one byte by accident.
    types = _TYPES if settings.family.has_byte_pieces or BYTE_PIECE.fullmatch(piece) else (TokenType.NORMAL,)
    attributes = ((type, Attribute[type.name].value) for type in types)
    token_bytes = settings.family.token_bytes
    return next((type for type, attribute in attributes if token_bytes(piece, attribute, settings) == expected), None)


def texts(evidence: DecodingEvidence) -> Iterator[TokenizerChange]:
    """Rewrite added tokens to what the reference decodes them to.

    Not unknown tokens: many references decode these in their own way, or not at all.
    """
    settings, expected_bytes = evidence.encoder.settings, evidence.facts.token_bytes
    patches: dict[int, TokenPatch] = {}
    for id in evidence.differing:
        if settings.attributes[id] & _ADDED and expected_bytes[id]:
            text = spell_token(expected_bytes[id], settings.attributes[id], settings)
            if text is not None:
                patches[id] = TokenPatch(text)
    if patches:
        sentence = f"rewriting {name_tokens(patches, evidence.spec)} to represent the same bytes as in the reference"
        yield patch_tokens(patches, "tokens", sentence, cost.REFERENCE_TEXTS)


def special_tokens(evidence: DecodingEvidence) -> Iterator[TokenizerChange]:
    """Decode special tokens as the reference does: some omit them or mark unknown ones."""
    differing = _decoded_special_tokens(evidence)
    omitted = {id: data for id, data in differing.items() if not data}
    marked = {id: data for id, data in differing.items() if data}
    for decoded in (omitted, marked):
        if decoded:
            yield TokenizerChange(
                kind="special_decoding",
                sentence=_describe_decoded(decoded, evidence.spec),
                cost=cost.RUNTIME,
                deviation=Deviation(decoded=decoded),
            )


def _decoded_special_tokens(evidence: DecodingEvidence) -> dict[int, bytes]:
    """Return what the reference decodes special tokens to, if it differs from our result."""
    attributes = evidence.encoder.settings.attributes
    ids: set[int] = set()
    for target in evidence.targets:
        ids.update(id for id in target.ids if attributes[id] & VERBATIM)
    differing: dict[int, bytes] = {}
    for id in sorted(ids):
        decoded = evidence.facts.decode_alone(id)
        if decoded is not None and decoded != evidence.encoder.token_bytes(id):
            differing[id] = decoded
    return differing


def _describe_decoded(decoded: Mapping[int, bytes], spec: TokenizerSpec) -> str:
    tokens = name_tokens(decoded, spec)
    data = set(decoded.values())
    if len(data) > 1:
        return f"decoding {tokens} as the reference does"
    text = data.pop().decode("utf-8", "surrogateescape")
    return f"decoding {tokens} as {quote(text)}" if text else f"omitting {tokens} from decoded text"


def words(evidence: DecodingEvidence) -> Iterator[TokenizerChange]:
    """Join words as the WordPiece decoder of HuggingFace tokenizers does, with and without its `cleanup`."""
    if not evidence.encoder.settings.family.splits_words:
        return
    for cleanup in (True, False):
        exception = ", none before . , ? !" if cleanup else ""
        yield TokenizerChange(
            kind="word_decoding",
            sentence="joining words as HuggingFace's decoder does (no space before the first, one before special "
            f"tokens{exception})",
            cost=cost.WORD_DECODING,
            deviation=Deviation(join_words=partial(_join_words, cleanup=cleanup)),
        )


def _join_words(parts: Iterable[tuple[bytes, bool]], *, cleanup: bool) -> bytes:
    """Join tokens, each given with whether it is special.

    Source: `decode_chain` in `decoders/wordpiece.rs` of HuggingFace tokenizers. It cleans up each token separately, so
    only its rules for punctuation ever apply.
    """
    spaced = [b" " + data if is_special else data for data, is_special in parts]
    if spaced:
        spaced[0] = spaced[0].removeprefix(b" ")
    return b"".join(data.lstrip(b" ") if cleanup and data in _CLOSING else data for data in spaced)
