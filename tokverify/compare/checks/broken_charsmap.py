"""TV117: sentencepiece's normalizer table, missing or damaged."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.repair import FIX
from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.engine.charsmap import KEY, Charsmap
from tokverify.engine.families import find_family
from tokverify.errors import BrokenFileError
from tokverify.report.finding import ERROR, WARNING, Finding


@rule(code="TV117", name="broken-charsmap", severity=ERROR)
def broken_charsmap(subject: Subject) -> Iterator[Finding]:
    """Check the table with which sentencepiece models normalize a text.

    What it does:
        For `t5`, looks for `tokenizer.ggml.precompiled_charsmap` and checks its length. For other models, warns that
        llama.cpp ignores it.

    Why it is bad:
        Without the table, full-width letters, ligatures and control characters remain unchanged, and usually become
        unknown tokens. A table that is too short is refused.

    Example:
        `ﬁne` with the ligature is `fine` with the table, and an unknown token without it.

    How to repair:
        Convert again from the sentencepiece model, which contains the table, or copy it from there with `tokverify fix
        MODEL -r REFERENCE -o FIXED`; a tokenizer.json contains it as well, as the normalizer `Precompiled`. An identity
        normalizer has no table, and then there is nothing to repair.

    Threads:
        huggingface/tokenizers#1307, ggml-org/llama.cpp#28845
    """
    data = subject.spec.charsmap
    family = find_family(subject.spec.model)
    if family is None or not family.uses_charsmap:
        if data:
            message = f"{KEY} contains {len(data):,} bytes, which llama.cpp ignores for the model {subject.spec.model}"
            yield Finding(WARNING, message, keys=(KEY,))
    elif data is None:
        yield Finding(WARNING, f"{KEY} is missing: texts are not normalized", keys=(KEY,), repair=FIX)
    else:
        try:
            Charsmap(data)
        except BrokenFileError as error:
            yield Finding(ERROR, str(error), keys=(KEY,), repair=FIX)
