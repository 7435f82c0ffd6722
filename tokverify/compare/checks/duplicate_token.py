"""TV104: tokens that share a text, or have none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.engine.joined_strings import JoinedStrings
from tokverify.engine.piece_index import index_pieces
from tokverify.report.finding import ERROR, WARNING, Finding
from tokverify.sources.gguf.keys import TOKENS
from tokverify.text.wording import list_items, plural, quote


@rule(code="TV104", name="duplicate-token", severity=ERROR)
def duplicate_token(subject: Subject) -> Iterator[Finding]:
    """Require a distinct text for every token.

    What it does:
        Looks for two tokens with the same bytes, as llama.cpp reads them (up to the first NUL), and for tokens without
        text.

    Why it is bad:
        llama.cpp aborts on duplicates. An empty token, often what is left of a NUL, is renamed to `[EMPTY_5]` after its
        id: no text is ever encoded to it, and decoding it produces that name.

    Example:
        An official Gemma 4 file had 262,144 tokens and 262,141 different texts.

    How to repair:
        Look up the ids in the reference and convert again; if only padding is duplicated, the converter must give it
        distinct names.

    Threads:
        ggml-org/llama.cpp#25739, ggml-org/llama.cpp#5669, onnxruntime/mobius#648
    """
    tokens = subject.spec.tokens
    if isinstance(tokens, JoinedStrings) and not tokens.has_empty and len(index_pieces(tokens)) == len(tokens):
        return
    read = [token.partition("\0")[0] if "\0" in token else token for token in tokens]
    empty = tuple(id for id, token in enumerate(read) if not token)
    if empty:
        shown = list_items(f"[EMPTY_{id}]" for id in empty)
        message = f"{plural(len(empty), 'token')} without a text before the first NUL, renamed by llama.cpp: {shown}"
        yield Finding(WARNING, message, ids=empty, keys=(TOKENS,))
    if len(set(read)) - bool(empty) < len(read) - len(empty):
        yield _report_duplicates(subject, read)


def _report_duplicates(subject: Subject, read: Sequence[str]) -> Finding:
    repeated = {token for token, count in Counter(read).items() if count > 1 and token}
    ids: dict[str, list[int]] = {}
    for id, token in enumerate(read):
        if token in repeated:
            ids.setdefault(token, []).append(id)
    types = subject.spec.types
    shown = list_items(
        f"{quote(token)} as {list_items(_describe(id, types) for id in same)}" for token, same in ids.items()
    )
    verb = "stands" if len(ids) == 1 else "stand"
    message = f"{plural(len(ids), 'text')} {verb} for more than one token, so llama.cpp aborts: {shown}"
    return Finding(ERROR, message, ids=tuple(chain.from_iterable(ids.values())), keys=(TOKENS,))


def _describe(id: int, types: Sequence[int] | None) -> str:
    return f"{id} (type {types[id]})" if types and id < len(types) else str(id)
