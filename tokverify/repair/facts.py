"""Facts that a search for changes uses: what a reference declares, and what its ids reveal."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from tokverify.compare.facts import Facts as DeclaredFacts
from tokverify.errors import GoneError, TokverifyError
from tokverify.spec import TokenizerSpec

if TYPE_CHECKING:
    from tokverify.repair.probe import ProbedTokens
    from tokverify.repair.probing import Probing


class Facts(DeclaredFacts):
    """What a reference declares, and what can be found out about it by asking for ids."""

    def probe(self, guess: TokenizerSpec) -> ProbedTokens | None:
        """Find the types of the tokens, and what is added around a text, from the ids that the reference returns.

        Args:
            guess: A tokenizer with the same vocabulary, such as the file that is verified.

        Returns:
            None if there is no reference, its vocabulary has another size, or the guess cannot be used.

        Raises:
            GoneError: If the reference stops answering.
        """
        from tokverify.repair.probe import probe_tokens

        if self.expected is None or self.expected.vocab_size != len(guess.tokens):
            return None
        try:
            return probe_tokens(self.expected, guess)
        except GoneError:
            raise
        except TokverifyError:
            return None

    @cached_property
    def probing(self) -> Probing:
        """Finds out what the reference does not declare."""
        from tokverify.repair.probing import Probing

        return Probing(self.expected)
