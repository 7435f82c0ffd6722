"""TV103: settings of llama.cpp that the file declares differently or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.engine.override import net_overrides
from tokverify.report.finding import INFO, WARNING, Finding
from tokverify.text.wording import truncate

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
    for found in net_overrides(subject.settings.overrides):
        severity = INFO if found.declared is None else WARNING
        token = _TYPE.match(found.setting)
        yield Finding(severity, truncate(str(found)), ids=(int(token[1]),) if token else ())
