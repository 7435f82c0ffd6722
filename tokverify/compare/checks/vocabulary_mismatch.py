"""TV201: ids and roles that belong to a different token than in the reference."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.piece_difference import find_piece_differences
from tokverify.compare.repair import set_special_id
from tokverify.compare.role_difference import find_role_differences
from tokverify.compare.rule import rule, to_finding
from tokverify.compare.subject import NotEvaluatedError, Subject
from tokverify.report.finding import ERROR, Finding
from tokverify.sources.gguf.keys import ROLES_BY_KEY
from tokverify.texts.vocabulary import compare_vocabularies
from tokverify.tokenizer import why_hidden


@rule(code="TV201", name="vocabulary-mismatch", severity=ERROR)
def vocabulary_mismatch(subject: Subject) -> Iterator[Finding]:
    """Require that every id and every role belongs to the same token as in the reference.

    What it does:
        Compares the two vocabularies id by id, in both directions, by the bytes that a token represents; a different
        stored string for the same bytes does not count. Padding and reserved tokens that only one side has are
        reported for information, as are different sizes; other tokens that only one side has are an error. Special
        tokens must have the same ids: an error for those that occur in a prompt or end a generation, a warning for the
        mask, and for information for padding, which llama.cpp never uses in a text.

    Why it is bad:
        The model learned one meaning for each id. A shifted or exchanged token is a different word to it. With another
        EOS, EOT or EOM, a generation does not end where it should.

    Example:
        A converter wrote `[PAD32000]` where T5 has `<extra_id_99>`. Gemma 3's tokenizer has `<image_soft_token>`,
        262144, for which the small models have no embedding (TL026), so that their files lack it, too.

    How to repair:
        Convert again from the tokenizer that belongs to the model. If only a special id differs, set it with
        `gguf-new-metadata --special-token-by-id eos ID MODEL FIXED`.

    Threads:
        ggml-org/llama.cpp#8379, ggml-org/llama.cpp#12876, huggingface/candle#3641, ggml-org/llama.cpp#15842
    """
    vocabulary = compare_vocabularies(*subject.sides)
    if vocabulary is None:
        raise NotEvaluatedError(why_hidden(subject.expected))
    yield from map(to_finding, find_piece_differences(vocabulary, *subject.sides, subject.given))
    for difference in find_role_differences(*subject.sides, vocabulary.special_ids):
        role = ROLES_BY_KEY[difference.keys[0]]
        id = None if subject.is_contradicted(f"{role} token") else subject.expected.special_ids.get(role)
        yield to_finding(difference, "" if id is None else set_special_id(role, id))
