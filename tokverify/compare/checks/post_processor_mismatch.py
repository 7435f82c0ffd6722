"""TV206: different tokens around a text than in the reference."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.behavior import ids_around
from tokverify.compare.repair import set_flag, set_special_id
from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.report.finding import ERROR, Finding
from tokverify.sources.gguf.keys import ADD_BOS, ADD_EOS
from tokverify.text.wording import list_tokens


@rule(code="TV206", name="post-processor-mismatch", severity=ERROR)
def post_processor_mismatch(subject: Subject) -> Iterator[Finding]:
    """Require the same tokens around a text as in the reference.

    What it does:
        Encodes a letter with and without `add_special` on both sides and compares what is added before and after it,
        which covers the flags, the ids and the post-processor at once.

    Why it is bad:
        A base model without its BOS, or an embedding model without its EOS, produces much worse results, and nothing
        else looks wrong.

    Example:
        Qwen3-Embedding ends every text with `<|endoftext|>`, which only the template in its tokenizer.json declares.

    How to repair:
        Set the flag or the id: `gguf-set-metadata MODEL tokenizer.ggml.add_bos_token true` if the key already exists
        (an empty value, `''`, turns it off), and `--override-kv tokenizer.ggml.add_eos_token=bool:true` if it does not.

    Threads:
        ggml-org/llama.cpp#14314, ggml-org/llama.cpp#14280, ggml-org/llama.cpp#14252, ggml-org/llama.cpp#3966,
        ggml-org/llama.cpp#21500, onnxruntime/mobius#648
    """
    actual, expected = ids_around(subject)
    places = (("before", "bos", ADD_BOS, subject.spec.add_bos), ("after", "eos", ADD_EOS, subject.spec.add_eos))
    for (place, role, key, declared), ours, theirs in zip(places, actual, expected, strict=True):
        if ours == theirs:
            continue
        message = f"{_render(subject, ours)} {place} a text, but {_render(subject, theirs)} in the reference"
        if bool(ours) != bool(theirs):
            repair = set_flag(key, value=bool(theirs), declared=declared is not None)
        else:
            repair = set_special_id(_role(subject, role), theirs[0]) if len(theirs) == 1 else ""
        yield Finding(ERROR, message, ids=tuple(dict.fromkeys(ours + theirs)), keys=(key,), repair=repair)


def _role(subject: Subject, role: str) -> str:
    return subject.settings.family.closing_role if role == "eos" else role


def _render(subject: Subject, ids: list[int]) -> str:
    pieces = {id: subject.encoder.piece(id) or subject.expected.piece(id) for id in ids}
    return ", ".join(list_tokens([id], {id: piece}) for id, piece in pieces.items()) if ids else "nothing"
