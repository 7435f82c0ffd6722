"""TV103: settings of llama.cpp that the file declares differently or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.engine.override import Override, net_overrides
from tokverify.report.finding import INFO, WARNING, Finding
from tokverify.text.wording import list_tokens, truncate

_TYPE = re.compile("type of ([0-9]+) ")


@rule(code="TV103", name="overridden-setting", severity=WARNING)
def overridden_setting(subject: Subject) -> Iterator[Finding]:
    """List settings of llama.cpp that the file declares differently or not at all.

    What it does:
        Loads the tokenizer as llama.cpp does and records each setting that differs from what the file declares, with
        the reason. An overridden value is a warning; a default that fills a gap is for information.

    Why it is bad:
        The file does not show it, and programs that read the same file without llama.cpp do not do the same. The
        defaults may change with the next release.

    Example:
        `</s>` is an HTML tag in Gemma 3's vocabulary and declared USER_DEFINED; llama.cpp treats it as a control token
        because of its text, so that it is plain text if special tokens are not parsed, and ends a generation.

    How to repair:
        Declare the settings that the file omits. Overrides caused by a token's text cannot be turned off.

    Threads:
        ggml-org/llama.cpp#23183, ggml-org/llama.cpp#21760, ggml-org/llama.cpp#17607, onnxruntime/mobius#651
    """
    of_tokens: dict[Override, list[int]] = {}
    for found in net_overrides(subject.settings.overrides):
        if token := _TYPE.match(found.setting):
            of_tokens.setdefault(replace(found, setting="type"), []).append(int(token[1]))
        else:
            yield Finding(INFO if found.declared is None else WARNING, truncate(str(found)))
    for found, ids in of_tokens.items():
        tokens = list_tokens(ids, subject.settings.pieces)
        if len(ids) == 1:
            message = str(replace(found, setting=f"type of {tokens}"))
        else:
            message = f"{replace(found, setting=f'types of {len(ids):,} tokens')}: {tokens}"
        yield Finding(WARNING, truncate(message), ids=tuple(ids))
