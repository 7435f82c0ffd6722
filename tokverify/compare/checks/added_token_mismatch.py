"""TV202: added tokens of the reference with a different type here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tokverify.compare.behavior import encode_both, find_differing, require_parsing
from tokverify.compare.repair import FIX
from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.engine.attribute import Attribute
from tokverify.report.finding import ERROR, INFO, WARNING, Finding, Severity
from tokverify.sources.gguf.keys import TOKENS, TYPES
from tokverify.spec import TokenType
from tokverify.text.wording import list_tokens, plural, quote
from tokverify.texts.token_text import is_marker
from tokverify.tokenizer import Declaring

_MOST_TRIED = 500
_FLAGS = ("lstrip", "rstrip", "single_word")
_SPECIAL = (Attribute.CONTROL | Attribute.UNKNOWN).value
_MATCHED = _SPECIAL | Attribute.USER_DEFINED.value


@rule(code="TV202", name="added-token-mismatch", severity=ERROR)
def added_token_mismatch(subject: Subject) -> Iterator[Finding]:
    """Require that the reference's added tokens are recognized in a text here as well.

    What it does:
        Checks the `added_tokens` of the tokenizer.json. Each must be typed CONTROL or USER_DEFINED here; if it is not,
        and a text with it is encoded differently, that is an error. Special ones should be CONTROL, the others
        USER_DEFINED: the difference matters only if special tokens are not parsed, so it is a warning. Converters type
        everything CONTROL that looks special, which is reported for information. Conversely, tokens that are added here
        but not in the reference are an error if a text shows a difference. For a sentencepiece model, texts with its
        user-defined pieces are compared: llama.cpp treats the text after each as a new text, to which it adds a space,
        and drops a space that was already there. That is an error, or a warning if the piece looks like a special
        token.

    Why it is bad:
        An added token is matched in the text before anything else; an ordinary one must result from merging, which
        rarely happens.

    Example:
        `[toxicity=0]` was not matched at all; Gemma's HTML tags were typed NORMAL.

    How to repair:
        `tokverify fix MODEL -r REFERENCE -o FIXED` sets the types as in the reference, based on the bundled cases or,
        with `--cases`, on yours. Or convert again with a converter that takes the types from `added_tokens`.

    Threads:
        unslothai/unsloth#5070, ggml-org/llama.cpp#8349, ggml-org/llama.cpp#8228, ggml-org/llama.cpp#7049,
        onnxruntime/mobius#684
    """
    if isinstance(subject.expected, Declaring):
        yield from _check_user_defined(subject)
    else:
        require_parsing(subject)
        yield from _check_declared(subject)


def _check_declared(subject: Subject) -> Iterator[Finding]:
    """Check the added tokens of a tokenizer.json."""
    special, attributes = _find_added(subject), subject.settings.attributes
    yield from _check_ordinary(subject, [id for id in special if not attributes[id] & _MATCHED])
    yield from _check_types(subject, special)
    yield from _check_added_here_only(subject, special)
    yield from _check_matching(subject, [id for id in special if attributes[id] & _MATCHED])


def _check_types(subject: Subject, special: Mapping[int, bool]) -> Iterator[Finding]:
    """Check which tokens are matched if special ones are not parsed."""
    attributes, pieces = subject.settings.attributes, subject.settings.pieces
    shown = [id for id in special if special[id] and attributes[id] == Attribute.USER_DEFINED.value]
    hidden = [id for id in special if not special[id] and attributes[id] & _SPECIAL]
    markers = [id for id in hidden if is_marker(pieces[id])]
    matched_too = "special in the reference and USER_DEFINED here, so matched even if special tokens are not parsed"
    not_matched = "not special in the reference and CONTROL here, so not matched if special tokens are not parsed"
    for severity, ids, problem in (
        (WARNING, shown, matched_too),
        (WARNING, sorted({*hidden} - {*markers}), not_matched),
        (INFO, markers, not_matched),
    ):
        if ids:
            yield Finding(
                severity, f"{_count(ids)} {problem}: {list_tokens(ids, pieces)}", ids=tuple(ids), keys=(TYPES,)
            )


def _check_user_defined(subject: Subject) -> Iterator[Finding]:
    """Check the user-defined pieces of a sentencepiece model."""
    types, pieces = subject.declared.types or (), subject.settings.pieces
    ids = [id for id, type in enumerate(types[: len(pieces)]) if type == TokenType.USER_DEFINED]
    matched = [id for id in ids if subject.settings.attributes[id] & _MATCHED]
    yield from _check_ordinary(subject, sorted({*ids} - {*matched}))
    wrong = _find_wrong(subject, matched)
    # Other readers of the same model, too, treat what looks like a special token as one.
    markers = [id for id in wrong if is_marker(pieces[id])]
    for severity, found in ((ERROR, sorted({*wrong} - {*markers})), (WARNING, markers)):
        if found:
            yield _report_user_defined(subject, severity, found)


def _find_wrong(subject: Subject, ids: Sequence[int]) -> list[int]:
    """Return the tokens around which the two sides encode texts differently; only the first ones are tried."""
    return [id for id in ids[:_MOST_TRIED] if find_differing(subject, _contexts(subject, id))]


def _report_user_defined(subject: Subject, severity: Severity, ids: Sequence[int]) -> Finding:
    text = find_differing(subject, _contexts(subject, ids[0])) or ""
    actual, expected = encode_both(subject, text)
    message = (
        f"texts around {plural(len(ids), 'token')} that the reference defines are encoded differently: "
        f"{list_tokens(ids, subject.settings.pieces)}; {quote(text)} is {actual}, but {expected} in the reference"
    )
    return Finding(severity, message, ids=tuple(ids))


def _find_added(subject: Subject) -> dict[int, bool]:
    """Map the ids of the reference's added tokens that are the same token here to whether they are special."""
    count = len(subject.settings.pieces)
    return {
        token["id"]: bool(token["special"])
        for token in subject.document.added_tokens
        if token["id"] < count and _is_same(subject, token["id"])
    }


def _is_same(subject: Subject, id: int) -> bool:
    actual, expected = subject.encoder, subject.expected
    return actual.piece(id) == expected.piece(id) or actual.token_bytes(id) == expected.token_bytes(id)


def _check_ordinary(subject: Subject, ids: Sequence[int]) -> Iterator[Finding]:
    pieces = subject.settings.pieces
    wrong = _find_wrong(subject, ids)
    if wrong:
        message = f"{_count(wrong)} added in the reference but ordinary here, so not matched in a text: "
        yield Finding(ERROR, message + list_tokens(wrong, pieces), ids=tuple(wrong), keys=(TYPES,), repair=FIX)
    same = [id for id in ids if id not in wrong]
    if same:
        message = f"{_count(same)} added in the reference but ordinary here, without a difference in the tested texts: "
        yield Finding(INFO, message + list_tokens(same, pieces), ids=tuple(same), keys=(TYPES,))


def _check_added_here_only(subject: Subject, special: Mapping[int, bool]) -> Iterator[Finding]:
    known = {token["id"] for token in subject.document.added_tokens}
    ids = [
        token.id
        for token in subject.settings.added_tokens
        if token.id not in known and token.id not in special and subject.expected.piece(token.id)
    ]
    wrong = _find_wrong(subject, ids)
    if wrong:
        message = f"{_count(wrong)} added here and ordinary in the reference, so matched in a text only here: "
        shown = list_tokens(wrong, subject.settings.pieces)
        yield Finding(ERROR, message + shown, ids=tuple(wrong), keys=(TYPES,), repair=FIX)


def _check_matching(subject: Subject, ids: Sequence[int]) -> Iterator[Finding]:
    """Check tokens that are added on both sides; those with flags are left to rule TV203."""
    flagged = {token["id"] for token in subject.document.added_tokens if any(token.get(flag) for flag in _FLAGS)}
    wrong = [id for id in ids[:_MOST_TRIED] if id not in flagged and _is_matched_differently(subject, id)]
    if wrong:
        message = f"{_count(wrong)} added on both sides but matched differently in a text: "
        yield Finding(
            ERROR, message + list_tokens(wrong, subject.settings.pieces), ids=tuple(wrong), keys=(TOKENS, TYPES)
        )


def _is_matched_differently(subject: Subject, id: int) -> bool:
    found = (encode_both(subject, text) for text in _contexts(subject, id))
    return any(actual.count(id) != expected.count(id) for actual, expected in found)


def _contexts(subject: Subject, id: int) -> tuple[str, ...]:
    """Return texts that contain what the token represents in the reference."""
    text = subject.expected.token_bytes(id).decode(errors="ignore")
    return text, f"a{text}a", f"a {text} a"


def _count(ids: Sequence[int]) -> str:
    return plural(len(ids), "token")
