"""TV212: tokens that end a generation on one side only."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.role_difference import find_end_differences
from tokverify.compare.rule import rule, to_finding
from tokverify.compare.subject import Subject
from tokverify.report.finding import ERROR, Finding


@rule(code="TV212", name="generation-end-mismatch", severity=ERROR)
def generation_end_mismatch(subject: Subject) -> Iterator[Finding]:
    """Require that the same tokens end a generation as in the reference.

    What it does:
        Compares the tokens at which llama.cpp ends a generation (EOS, EOT, EOM, those of infilling, and the ones that
        it knows by their texts) with those that the reference names: in a generation_config.json beside it, or as a
        GGUF file. A different EOS is left to TV201. Also warns if the generation_config.json of the reference forgets
        the token with which its chat template ends turns, as merges and fine-tunes do.

    Why it is bad:
        If the token is missing, the model writes past the end of its answer, often the next question of the user. With
        one too many, an answer ends early.

    Example:
        Llama 3 ends a turn with `<|eot_id|>`, but its first files named only `<|end_of_text|>`.

    How to repair:
        Declare the token as EOT, or EOM: `gguf-new-metadata --special-token-by-id eot ID MODEL FIXED`.

    Threads:
        ggml-org/llama.cpp#6772, ggml-org/llama.cpp#6745, unslothai/unsloth#5386
    """
    yield from map(to_finding, find_end_differences(*subject.sides))
