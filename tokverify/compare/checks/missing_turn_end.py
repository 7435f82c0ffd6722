"""TV113: an end of turn that does not end a generation."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.repair import key_of, set_special_id
from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.report.finding import ERROR, Finding
from tokverify.sources.gguf.keys import CHAT_TEMPLATE
from tokverify.text.wording import list_tokens, quote


@rule(code="TV113", name="missing-turn-end", severity=ERROR)
def missing_turn_end(subject: Subject) -> Iterator[Finding]:
    """Require that a generation ends where a turn ends.

    What it does:
        Determines the tokens that end a generation as llama.cpp does (EOS, EOT, EOM, and tokens recognized by their
        text), and expects EOS and one of the tokens that end a turn in the chat template among them.

    Why it is bad:
        The model ends its turn and nothing stops it: it continues, writes the user's turns too, and stops when the
        context is full.

    Example:
        Llama 3 Instruct with EOS 128001 `<|end_of_text|>`, although its turns end in 128009 `<|eot_id|>`.

    How to repair:
        Declare the token: `gguf-new-metadata --special-token-by-id eot ID MODEL FIXED`.

    Threads:
        ggml-org/llama.cpp#6772, ggml-org/llama.cpp#6745, ollama/ollama#3759, ggml-org/llama.cpp#9609,
        neomjs/neo#14015, unslothai/unsloth#468
    """
    settings = subject.settings
    eos = settings.special_ids.get("eos")
    if eos is not None and eos not in settings.eog_ids:
        piece = quote(settings.pieces[eos])
        message = f"EOS is {eos} {piece}, which does not end a generation in llama.cpp with this vocabulary"
        yield Finding(ERROR, message, ids=(eos,), keys=(key_of("eos"),))
    if ends := subject.markers.missing_ends(settings.ids, settings.eog_ids):
        message = (
            f"the chat template ends turns with {list_tokens(ends, settings.pieces)}, which does not end a generation"
        )
        yield Finding(ERROR, message, tuple(ends), (CHAT_TEMPLATE, key_of("eot")), set_special_id("eot", ends[0]))
