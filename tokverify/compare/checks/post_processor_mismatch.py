"""TV206: different tokens around a text than in the reference."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.affix import affixes_of, find_affix_differences
from tokverify.compare.repair import set_flag, set_special_id
from tokverify.compare.rule import rule, to_finding
from tokverify.compare.subject import Subject
from tokverify.report.finding import ERROR, Finding
from tokverify.sources.gguf.keys import ADD_BOS, ADD_EOS, ADD_SPACE_PREFIX


@rule(code="TV206", name="post-processor-mismatch", severity=ERROR)
def post_processor_mismatch(subject: Subject) -> Iterator[Finding]:
    """Require the same tokens around a text as in the reference, and the same space before it.

    What it does:
        Encodes a letter with and without `add_special` on both sides and compares what is added before and after it,
        which covers the flags, the ids and the post-processor at once. A space that a `ByteLevel` with
        `add_prefix_space` adds is an error, too, since llama.cpp never adds one for byte-level BPE.

    Why it is bad:
        A base model without its BOS, or an embedding model without its EOS, produces much worse results, and nothing
        else looks wrong.

    Example:
        Qwen3-Embedding ends every text with `<|endoftext|>`, which only the template in its tokenizer.json declares.

    How to repair:
        Set the flag or the id: `gguf-set-metadata --force MODEL tokenizer.ggml.add_bos_token true` if the key already
        exists (an empty value, `''`, turns it off), and `--override-kv tokenizer.ggml.add_eos_token=bool:true` if it
        does not. A space must be written by the program that uses the model.

    Threads:
        ggml-org/llama.cpp#14314, ggml-org/llama.cpp#14280, ggml-org/llama.cpp#14252, ggml-org/llama.cpp#3966,
        ggml-org/llama.cpp#21500, onnxruntime/mobius#648
    """
    for difference in find_affix_differences(*subject.sides):
        if difference.keys == (ADD_SPACE_PREFIX,):
            yield to_finding(difference)
            continue
        is_before = difference.keys == (ADD_BOS,)
        is_in_doubt = subject.is_contradicted("bos" if is_before else "eos")
        yield to_finding(difference, "" if is_in_doubt else _find_repair(subject, is_before=is_before))


def _find_repair(subject: Subject, *, is_before: bool) -> str:
    """Return how to add the reference's tokens before or after a text: with the flag, or with the id of a role."""
    ours, theirs = (affixes_of(side)[0 if is_before else 1] for side in subject.sides)
    if bool(ours) != bool(theirs):
        key, declared = (ADD_BOS, subject.spec.add_bos) if is_before else (ADD_EOS, subject.spec.add_eos)
        return set_flag(key, value=bool(theirs), declared=declared is not None)
    role = "bos" if is_before else subject.settings.family.closing_role
    return set_special_id(role, theirs[0]) if len(theirs) == 1 else ""
