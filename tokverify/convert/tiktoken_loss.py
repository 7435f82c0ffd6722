"""What llama.cpp does otherwise than tiktoken, whatever a file says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.convert.loss import Loss
from tokverify.convert.retyping import retyped_ids, such
from tokverify.spec import TokenType

if TYPE_CHECKING:
    from tokverify.spec import TokenizerSpec


def tiktoken_losses(spec: TokenizerSpec) -> Iterator[Loss]:
    """Tell which tokens llama.cpp takes for control tokens that are none here."""
    texts = {spec.tokens[id]: id for id in retyped_ids(spec, {TokenType.NORMAL.value})}
    if texts:
        yield Loss(
            f"{such(list(texts))}: llama.cpp takes it for a control token, whatever a file says",
            lambda sides: sides.content.update(texts),
        )
