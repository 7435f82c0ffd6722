"""Changes to how tokens are written where the reference tells no stored strings, only what its tokens stand for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.diagnosis.entry import Entry, change_to, kind_of, tokens_named, types_of
from tokverify.diagnosis.spelling import RESPELLINGS, spelled
from tokverify.engine.attribute import Attribute
from tokverify.spec import TokenType

if TYPE_CHECKING:
    from tokverify.diagnosis.change import TokenizerChange
    from tokverify.diagnosis.evidence import Evidence
    from tokverify.diagnosis.spelling import Respelling

_NEVER_SHOWN = (Attribute.UNUSED | Attribute.UNKNOWN).value


def usual_texts(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Write tokens as their family does, where they look like another's and what the reference shows allows it."""
    spec = evidence.spec
    if evidence.facts.spec is not None:
        return
    for respelling in RESPELLINGS:
        entries = dict(_respelled(evidence, respelling)) if spec.model in respelling.models else {}
        if entries:
            yield change_to(entries, "tokens", f"writing {tokens_named(entries, spec)} {respelling.way}", 3.3)


def _respelled(evidence: Evidence, respelling: Respelling) -> Iterator[tuple[int, Entry]]:
    shown = evidence.facts.token_bytes
    for id, (text, type) in enumerate(zip(evidence.spec.tokens, types_of(evidence.spec), strict=False)):
        # Runs of spaces are no words: if they are written otherwise, it is for being matched in texts.
        if type == respelling.type and (len(text) == 1 or text.strip("▁ ")):
            right = respelling.respell(text)
            if right != text and (id >= len(shown) or respelling.read(right) == shown[id]):
                yield id, Entry(right)


def shown_texts(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Write tokens so that they stand for what they do in the reference."""
    spec, encoder, shown = evidence.spec, evidence.encoder, evidence.facts.token_bytes
    if evidence.facts.spec is not None or encoder is None:
        return
    texts: dict[int, Entry] = {}
    unused: dict[int, Entry] = {}
    for id, (wanted, attribute) in enumerate(zip(shown, encoder.settings.attributes, strict=False)):
        if not wanted or encoder.token_bytes(id) == wanted:
            continue
        if not attribute & _NEVER_SHOWN and (text := spelled(wanted, attribute, encoder.settings)) is not None:
            texts[id] = Entry(text)
        elif attribute & Attribute.UNUSED.value and id in evidence.missing:
            text = wanted.decode("utf-8", "surrogateescape")
            unused[id] = Entry(text, TokenType.CONTROL if kind_of(text) == "tags" else TokenType.USER_DEFINED)
    if texts:
        yield change_to(texts, "tokens", f"writing {tokens_named(texts, spec)} for what the reference shows", 3.4)
    if unused:
        sentence = f"using {tokens_named(unused, spec)} for what the reference shows"
        yield change_to(unused, "added", sentence, 3.4)
