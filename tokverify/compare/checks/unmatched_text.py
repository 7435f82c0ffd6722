"""TV119: token texts that are never matched, or that contain each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, compress, takewhile

from tokverify.compare.repair import FIX
from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.engine.attribute import ORDINARY, Attribute
from tokverify.engine.byte_level import byte_alphabet
from tokverify.engine.family import Alphabet
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.report.finding import INFO, WARNING, Finding
from tokverify.sources.gguf.keys import TOKENS
from tokverify.text.utf8 import has_lone_byte
from tokverify.text.wording import list_items, list_tokens, plural, quote

_FEWEST = 3
"""Characters; shorter added tokens, such as runs of spaces, are parts of each other by design."""


@rule(code="TV119", name="unmatched-text", severity=WARNING)
def unmatched_text(subject: Subject) -> Iterator[Finding]:
    r"""Expect token texts that can be matched and that do not hide each other.

    What it does:
        For byte-level BPE: looks for added tokens that are written in the byte alphabet (`Ċ` for a line break) although
        they are matched in the original text, and for ordinary tokens with characters outside that alphabet (a raw line
        break). For models whose pieces are texts: looks for ordinary tokens that are not UTF-8. Of both kinds of
        ordinary tokens, those that the reference has as well are for information. For all models: reports special
        tokens whose text contains that of another one.

    Why it is bad:
        Such a token is never used. If one special token is part of another, which of the two is matched depends on the
        order in which a program looks for them.

    Example:
        Falcon 3 has `\n` and `\t` as added tokens; written as `Ċ` and `ĉ` they were not matched, and every line break
        became a different token than in the original.

    How to repair:
        Write added tokens as they occur in a text, and ordinary ones in the byte alphabet: convert again, or copy them
        from the reference with `tokverify fix MODEL -r REFERENCE -o FIXED`.

    Threads:
        ggml-org/llama.cpp#10864, ggml-org/llama.cpp#10883, ggml-org/llama.cpp#8228
    """
    settings = subject.settings
    if settings.family.is_bpe and PRE_TOKENIZERS[settings.pre].byte_level:
        yield from _find_mapped(subject)
        yield from _find_unmapped(subject)
    elif settings.family.alphabet is Alphabet.ESCAPED or settings.family.splits_words:
        yield from _find_damaged(subject)
    yield from _find_nested(subject)


def _find_mapped(subject: Subject) -> Iterator[Finding]:
    settings = subject.settings
    space, line_end, tab = (byte_alphabet()[ord(character)] for character in " \n\t")
    ids = tuple(
        token.id for token in settings.added_tokens if any(mark in token.text for mark in (space, line_end, tab))
    )
    if ids:
        message = f"{plural(len(ids), 'added token')} written in the byte alphabet, but compared with the text itself: "
        yield Finding(WARNING, message + list_tokens(ids, settings.pieces), ids=ids, keys=(TOKENS,), repair=FIX)


def _find_unmapped(subject: Subject) -> Iterator[Finding]:
    settings, alphabet = subject.settings, frozenset(byte_alphabet().values())
    is_normal = list(map(Attribute.NORMAL.value.__eq__, settings.attributes))
    # Examining the few distinct characters first is much faster than examining every token.
    if foreign := frozenset("".join(compress(settings.pieces, is_normal))) - alphabet:
        ids = tuple(id for id, piece in enumerate(settings.pieces) if is_normal[id] and not foreign.isdisjoint(piece))
        yield _report(subject, ids, "with a character outside the byte alphabet")


def _find_damaged(subject: Subject) -> Iterator[Finding]:
    settings = subject.settings
    if has_lone_byte("".join(settings.pieces)):
        attributes = zip(settings.pieces, settings.attributes, strict=True)
        damaged = [attribute & ORDINARY and has_lone_byte(piece) for piece, attribute in attributes]
        if ids := tuple(id for id, is_damaged in enumerate(damaged) if is_damaged):
            verb = "is" if len(ids) == 1 else "are"
            yield _report(subject, ids, f"that {verb} not UTF-8, so that no text contains it")


def _report(subject: Subject, ids: tuple[int, ...], what: str) -> Finding:
    pieces = subject.settings.pieces
    message = f"{plural(len(ids), 'ordinary token')} {what}: {list_tokens(ids, pieces)}"
    theirs = subject.independent.spec if subject.independent else None
    if theirs and all(id < len(theirs.tokens) and theirs.tokens[id] == pieces[id] for id in ids):
        return Finding(INFO, f"{message}; so it is in the reference", ids=ids, keys=(TOKENS,))
    return Finding(WARNING, message, ids=ids, keys=(TOKENS,), repair=FIX)


def _find_nested(subject: Subject) -> Iterator[Finding]:
    special = [token for token in subject.settings.added_tokens if token.special and len(token.text) >= _FEWEST]
    ids = {token.text: token.id for token in special}
    lengths = sorted({len(text) for text in ids})
    pairs: list[tuple[str, str]] = []
    for whole in ids:
        pairs += [(part, whole) for part in _parts(whole, lengths) if part in ids]
    if pairs:
        shown = list_items(f"{quote(part)} in {quote(whole)}" for part, whole in pairs)
        message = f"some special tokens contain others: {shown}; llama.cpp matches the longest first"
        yield Finding(INFO, message, ids=tuple(dict.fromkeys(ids[text] for text in chain.from_iterable(pairs))))


def _parts(text: str, lengths: Sequence[int]) -> set[str]:
    """Return the parts of a text, but not itself, that have one of `lengths`, in ascending order."""
    parts: set[str] = set()
    for length in takewhile(lambda length: length < len(text), lengths):
        parts.update(text[start : start + length] for start in range(len(text) - length + 1))
    return parts
