"""TV120: pieces with the wrong character for a space, which are never used."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.repair import FIX
from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.engine.attribute import Attribute
from tokverify.engine.family import SpaceEscaping
from tokverify.engine.joined_strings import find_containing
from tokverify.engine.normalizer import escape_spaces
from tokverify.report.finding import ERROR, INFO, WARNING, Finding
from tokverify.sources.gguf.keys import TOKENS, TYPES
from tokverify.text.wording import list_tokens, plural

_SPACE = "▁"


@rule(code="TV120", name="escaped-space", severity=ERROR)
def escaped_space(subject: Subject) -> Iterator[Finding]:
    """Require `▁` for a space in ordinary pieces, and a real space in added tokens.

    What it does:
        Applies to models that write a space as `▁`. An ordinary token with a real space is an error; a warning if the
        same text with `▁` is a token, too, which takes its place; and for information if the reference has it. An added
        token with `▁` is a warning, because it is matched only if the text itself contains that character.

    Why it is bad:
        Added tokens are matched in the original text, in which a space is a space. Ordinary ones are merged after every
        space has become `▁`. Written the wrong way, a token is never used.

    Example:
        Gemma 3 has tokens for runs of 2 to 31 spaces. They are stored with real spaces and work because they are typed
        USER_DEFINED; typed NORMAL, a run of spaces takes more tokens than the model was trained with.

    How to repair:
        Type the tokens with real spaces USER_DEFINED (4), and write added tokens with real spaces: convert again, or
        `tokverify fix MODEL -r REFERENCE -o FIXED`.

    Threads:
        ggml-org/llama.cpp#8228, unslothai/unsloth#5070
    """
    settings = subject.settings
    if not settings.escape_whitespaces or settings.family.space_escaping is SpaceEscaping.NOWHERE:
        return
    pieces, attributes, normal = settings.pieces, settings.attributes, Attribute.NORMAL.value
    plain = tuple(id for id in find_containing(pieces, " ") if attributes[id] == normal)
    if plain:
        message = f"{plural(len(plain), 'ordinary token')} with a real space, which no text is encoded to: "
        message += list_tokens(plain, pieces)
        original = subject.original
        if original is not None and all(original.piece(id) == pieces[id] for id in plain):
            yield Finding(INFO, f"{message}; so it is in the reference", ids=plain, keys=(TOKENS, TYPES))
        else:
            has_other = all(escape_spaces(pieces[id]) in settings.ids for id in plain)
            severity = WARNING if has_other else ERROR
            yield Finding(severity, message, ids=plain, keys=(TOKENS, TYPES), repair=FIX)
    added = tuple(sorted(token.id for token in settings.added_tokens if _SPACE in token.text and not token.special))
    if added:
        message = f"{plural(len(added), 'added token')} with ▁, which a space in a text does not match: "
        yield Finding(WARNING, message + list_tokens(added, pieces), ids=added, keys=(TOKENS, TYPES), repair=FIX)
