"""TV203: flags of the reference's added tokens that GGUF cannot express."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tokverify.compare.behavior import encode_both, find_differing, judge, require_parsing
from tokverify.compare.normalized_match import find_normalized_matches
from tokverify.compare.rule import rule, to_finding
from tokverify.compare.subject import Subject
from tokverify.report.finding import ERROR, INFO, Finding
from tokverify.text.wording import list_tokens, plural, quote

_MOST_TRIED = 500
_FLAGS = ("lstrip", "rstrip", "single_word")


@rule(code="TV203", name="added-token-flag-mismatch", severity=ERROR)
def added_token_flag_mismatch(subject: Subject) -> Iterator[Finding]:
    """Require that flags of added tokens, which GGUF cannot express, make no difference.

    What it does:
        Collects the added tokens of the tokenizer.json with `lstrip`, `rstrip` or `single_word`. Texts in which the
        flag matters (whitespace on either side, letters on either side) are encoded on both sides; a difference is an
        error. A token with `normalized` that the reference also finds in another form of its text, such as capitals
        in an uncased model, or finds only after a space, as in Llama 2, is a warning.

    Why it is bad:
        GGUF has no key for these flags. llama.cpp applies `lstrip` and `rstrip` for a few models by name, and does not
        know the others. So a line break after a role marker remains where the model never saw one.

    Example:
        Phi-3's `<|user|>` and `<|end|>` have `rstrip`: the line break after them belongs to the token.

    How to repair:
        Remove the whitespace from the chat template. For Phi-3, keep `phi-3` in `general.name` (see TV116).

    Threads:
        ggml-org/llama.cpp#7375, ggml-org/llama.cpp#8039, microsoft/onnxruntime-genai#1248, ggml-org/llama.cpp#10883,
        huggingface/transformers#32136
    """
    require_parsing(subject)
    for flag in _FLAGS:
        flagged = [token for token in subject.document.added_tokens if token.get(flag)]
        known = [token for token in flagged if token["id"] < len(subject.settings.pieces)]
        if known:
            yield _finding(subject, flag, known)
    yield from map(to_finding, find_normalized_matches(*subject.sides))


def _finding(subject: Subject, flag: str, flagged: Sequence[Mapping[str, Any]]) -> Finding:
    differing: dict[int, str] = {}
    for token in flagged[:_MOST_TRIED]:
        text = find_differing(subject, _texts(flag, token["content"]))
        if text is not None:
            differing[token["id"]] = text
    pieces = subject.settings.pieces
    if not differing:
        ids = tuple(token["id"] for token in flagged)
        message = (
            f"{plural(len(ids), 'token')} with {flag} in the reference, without a difference in the tested texts: "
        )
        return Finding(INFO, message + list_tokens(ids, pieces), ids=ids)
    text = next(iter(differing.values()))
    actual, expected = encode_both(subject, text)
    severity, reason = judge(subject, differing.values())
    message = (
        f"{plural(len(differing), 'token')} with {flag} in the reference, which GGUF cannot express: "
        f"{list_tokens(differing, pieces)}; {quote(text)} is {actual}, but {expected} in the reference{reason}"
    )
    return Finding(severity, message, ids=tuple(differing))


def _texts(flag: str, text: str) -> tuple[str, ...]:
    if flag == "lstrip":
        return f"a {text}a", f"a \n{text}a"
    if flag == "rstrip":
        return f"a{text} a", f"a{text}\n a"
    return f"a{text}a", f"{text}a", f"a{text}"
