"""TV110: a vocabulary without token types."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.repair import FIX
from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.report.finding import ERROR, WARNING, Finding
from tokverify.sources.gguf.keys import TYPES
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.text.wording import list_tokens, plural

_DEFINED = frozenset(type.value for type in TokenType) - {TokenType.UNDEFINED.value}


@rule(code="TV110", name="missing-type", severity=ERROR)
def missing_type(subject: Subject) -> Iterator[Finding]:
    """Expect the file to declare which tokens are special.

    What it does:
        Looks for `tokenizer.ggml.token_type`, and for tokens whose type is 0 or does not exist.

    Why it is bad:
        Without it, llama.cpp treats every token as NORMAL except those it recognizes by their text. Special tokens in a
        chat are then split into pieces, and byte tokens are decoded to their names. A token whose type does not exist
        is decoded to nothing.

    Example:
        `<start_of_turn>` becomes several tokens, and the model does not see that a turn begins.

    How to repair:
        Convert again, or copy the types from the reference: `tokverify fix MODEL -r REFERENCE -o FIXED`.

    Threads:
        unslothai/unsloth#5070, ggml-org/llama.cpp#8240
    """
    if subject.spec.types is None:
        message = f"{TYPES} is missing: every token is NORMAL, except those that llama.cpp recognizes by their text"
        yield Finding(WARNING, message, keys=(TYPES,), repair=FIX)
    undefined = _undefined_ids(subject.spec)
    if undefined:
        message = f"{plural(len(undefined), 'token')} of no type that exists, which are decoded to nothing: "
        listed = list_tokens(undefined, subject.spec.tokens)
        yield Finding(ERROR, message + listed, tuple(undefined), keys=(TYPES,), repair=FIX)


def _undefined_ids(spec: TokenizerSpec) -> list[int]:
    if _DEFINED.issuperset(spec.types or ()):
        return []
    # The lists can differ in length, which is another finding.
    declared = zip(spec.tokens, spec.types or (), strict=False)
    return [id for id, (piece, type) in enumerate(declared) if type not in _DEFINED and piece]
