"""Generate changes that GGUF cannot express: the limits that apply, to be combined with a change to the file.

A case that limits alone explain is not searched for at all.
"""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.limits import LIMITS
from tokverify.compare.limits.sides import Sides
from tokverify.repair import cost
from tokverify.repair.change import TokenizerChange
from tokverify.repair.evidence import Evidence


def limits(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Do what llama.cpp does not, one thing at a time."""
    if evidence.encoder is None or not evidence.encoder.settings.family.in_llama_cpp:
        return
    sides = Sides(evidence.encoder, evidence.facts)
    texts = [each.as_text() for each in evidence.targets]
    for limit in LIMITS.values():
        for found in limit.find(sides):
            if any(map(found.applies_to, texts)):
                yield TokenizerChange(
                    kind=limit.name,
                    sentence=found.sentence,
                    cost=cost.discount(cost.RUNTIME, confirmed=not found.is_guess),
                    deviation=found.deviation,
                )
