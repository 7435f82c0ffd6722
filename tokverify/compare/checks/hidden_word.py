"""TV123: ordinary words and signs that are typed as control tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tokverify.compare.repair import FIX
from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.engine.attribute import Attribute, find_bits
from tokverify.report.finding import WARNING, Finding
from tokverify.sources.gguf.keys import TYPES
from tokverify.text.wording import list_tokens, plural
from tokverify.texts.token_text import is_filler, is_marker

_ORDINARY = re.compile(r"[▁Ġ]?(?:[^\W\d_A-Z][^\W\d_]*|[!-/:;=?@\\^`~])")
"""A word that is not in capitals, or a sign that no program uses to enclose markers."""
_CONTROL = Attribute.CONTROL.value


@rule(code="TV123", name="hidden-word", severity=WARNING)
def hidden_word(subject: Subject) -> Iterator[Finding]:
    """Expect no ordinary word or sign that is typed as a control token.

    What it does:
        Looks for tokens typed CONTROL whose texts are words or single signs, such as `!` and `▁the`, and names their
        roles.

    Why it is bad:
        A control token is not shown, so the word is missing from every answer; and in a text, the model never sees it
        as the token that it was trained with.

    Example:
        A program sets the padding token to id 0, which is `!` in many vocabularies, and the converter types it CONTROL.

    How to repair:
        `tokverify fix MODEL -r REFERENCE -o FIXED`, with the publisher's tokenizer.json as the reference.

    Threads:
        ollama/ollama#9528
    """
    settings = subject.settings
    control = ((id, settings.pieces[id]) for id in find_bits(settings.attributes, _CONTROL))
    ids = [id for id, piece in control if _ORDINARY.fullmatch(piece) and not is_marker(piece) and not is_filler(piece)]
    if ids:
        roles = sorted(role for role, id in settings.special_ids.items() if id in ids)
        named = f", which {'has the role' if len(roles) == 1 else 'have the roles'} {', '.join(roles)}" if roles else ""
        message = (
            f"{plural(len(ids), 'ordinary token is', 'ordinary tokens are')} typed CONTROL, so that no answer shows"
            f" {'it' if len(ids) == 1 else 'them'}: {list_tokens(ids, settings.pieces)}{named}"
        )
        yield Finding(WARNING, message, ids=tuple(ids), keys=(TYPES,), repair=FIX)
