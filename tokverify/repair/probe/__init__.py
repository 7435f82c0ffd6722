"""Ask a tokenizer that returns only ids for its specification.

`probe_tokens(reference, guess)` finds the type of each token, which tokens strip whitespace, and what is added around
a text. `guess` is any tokenizer with the same vocabulary, such as the file that is verified: its types are ignored, and
its merges and scores only have to be roughly right. It works for every family, and encodes a few thousand texts even
for a vocabulary of 262,144 tokens:

    probed = probe_tokens(reference, opened.spec)
    probed.types[id], probed.added_tokens.get(id), probed.around

`learn(reference)` needs no guess and returns a whole `TokenizerSpec`, with the pre-tokenizer, merges or scores, and
special ids, for the families `gpt2`, `gemma4`, `llama`, `bert` and `t5`.
"""

from tokverify.repair.probe.learning import LearnedTokenizer, learn
from tokverify.repair.probe.tokens import Observed, ProbedTokens, probe_tokens

__all__ = ["LearnedTokenizer", "Observed", "ProbedTokens", "learn", "probe_tokens"]
