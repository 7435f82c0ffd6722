"""TV202: tokens that are matched in texts in another way than in the reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tokverify.compare.behavior import encode_both, find_differing, judge, require_parsing
from tokverify.compare.repair import FIX
from tokverify.compare.rule import rule, to_finding
from tokverify.compare.subject import Subject
from tokverify.compare.type_difference import find_type_differences
from tokverify.engine.attribute import VERBATIM
from tokverify.report.finding import ERROR, WARNING, Finding, Severity
from tokverify.sources.gguf.keys import TOKENS, TYPES
from tokverify.spec import TokenType, ids_of_type
from tokverify.text.wording import list_tokens, plural, quote
from tokverify.texts.token_text import is_marker
from tokverify.tokenizer import Declaring

_MOST_TRIED = 500
_FLAGS = ("lstrip", "rstrip", "single_word")


@rule(code="TV202", name="added-token-mismatch", severity=ERROR)
def added_token_mismatch(subject: Subject) -> Iterator[Finding]:
    """Require that tokens have the types of the reference, and are recognized in a text as there.

    What it does:
        Compares how each type says that a token is matched in a text: always, only if special tokens are parsed,
        never, or as a byte. A difference is an error, unless llama.cpp overrides what the file declares (a warning),
        or converters are known to write another type, or the token is reserved (for information). Texts with the added
        tokens of a tokenizer.json, and with the user-defined pieces of a sentencepiece model, are also encoded on both
        sides. Around the latter, llama.cpp treats the text after each piece as a new text, to which it adds a space,
        and drops a space that was already there. That is an error, or a warning if the piece looks like a special
        token.

    Why it is bad:
        An added token is matched in the text before anything else; an ordinary one must result from merging, which
        rarely happens. A control token typed USER_DEFINED can be forged by a user.

    Example:
        `[toxicity=0]` was not matched at all; Gemma's HTML tags were typed NORMAL.

    How to repair:
        `tokverify fix MODEL -r REFERENCE -o FIXED` sets the types as in the reference. Or convert with a converter
        that takes the types from `added_tokens`.

    Threads:
        unslothai/unsloth#5070, ggml-org/llama.cpp#8349, ggml-org/llama.cpp#8228, ggml-org/llama.cpp#7049,
        onnxruntime/mobius#684
    """
    for difference in find_type_differences(*subject.sides):
        yield to_finding(difference, FIX if difference.severity is ERROR else "")
    if isinstance(subject.expected, Declaring):
        yield from _check_user_defined(subject)
    else:
        require_parsing(subject)
        yield from _check_matching(subject)


def _check_user_defined(subject: Subject) -> Iterator[Finding]:
    """Check texts around the user-defined pieces of a sentencepiece model that are matched here, too."""
    types, pieces = subject.declared.types or (), subject.settings.pieces
    ids = ids_of_type(types[: len(pieces)], TokenType.USER_DEFINED)
    matched = [id for id in ids if subject.settings.attributes[id] & VERBATIM]
    tried = {id: find_differing(subject, _contexts(subject, id)) for id in matched[:_MOST_TRIED]}
    wrong = {id: text for id, text in tried.items() if text is not None}
    # Other readers of the same model, too, treat what looks like a special token as one.
    markers = {id: text for id, text in wrong.items() if is_marker(pieces[id])}
    for most, found in ((ERROR, {id: wrong[id] for id in wrong if id not in markers}), (WARNING, markers)):
        if found:
            yield _report_user_defined(subject, most, found)


def _report_user_defined(subject: Subject, most: Severity, found: Mapping[int, str]) -> Finding:
    severity, reason = judge(subject, found.values())
    text = next(iter(found.values()))
    actual, expected = encode_both(subject, text)
    message = (
        f"texts around {plural(len(found), 'token')} that the reference defines are encoded differently: "
        f"{list_tokens([*found], subject.settings.pieces)}; {quote(text)} is {actual}, but {expected} in the reference"
    )
    return Finding(min(severity, most), message + reason, ids=tuple(found))


def _check_matching(subject: Subject) -> Iterator[Finding]:
    """Check tokens that are added on both sides; those with flags are left to rule TV203."""
    added, attributes = subject.document.added_tokens, subject.settings.attributes
    ids = [token["id"] for token in added if not any(token.get(flag) for flag in _FLAGS)]
    matched = [id for id in ids if id < len(attributes) and attributes[id] & VERBATIM and _is_same(subject, id)]
    wrong = {id: text for id in matched[:_MOST_TRIED] if (text := _find_matched_differently(subject, id)) is not None}
    if wrong:
        severity, reason = judge(subject, wrong.values())
        tokens = list_tokens(wrong, subject.settings.pieces)
        message = (
            f"{plural(len(wrong), 'token')} added on both sides but matched differently in a text: {tokens}{reason}"
        )
        yield Finding(severity, message, ids=tuple(wrong), keys=(TOKENS, TYPES))


def _is_same(subject: Subject, id: int) -> bool:
    actual, expected = subject.sides
    return actual.piece(id) == expected.piece(id) or actual.token_bytes(id) == expected.token_bytes(id)


def _find_matched_differently(subject: Subject, id: int) -> str | None:
    for text in _contexts(subject, id):
        actual, expected = encode_both(subject, text)
        if actual.count(id) != expected.count(id):
            return text
    return None


def _contexts(subject: Subject, id: int) -> tuple[str, ...]:
    """Return texts that contain what the token represents in the reference."""
    text = subject.expected.token_bytes(id).decode(errors="ignore")
    return text, f"a{text}a", f"a {text} a"
