"""TV103: what llama.cpp takes otherwise than the file declares it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.audit.rule import rule
from tokverify.engine.override import net_overrides
from tokverify.report.finding import INFO, WARNING, Finding
from tokverify.text.wording import shortened

if TYPE_CHECKING:
    from tokverify.audit.subject import Subject

_TYPE = re.compile("type of ([0-9]+) ")


@rule(code="TV103", name="override", severity=WARNING)
def override(subject: Subject) -> Iterator[Finding]:
    """List what llama.cpp takes otherwise than the file declares it.

    What it does:
        Goes through llama.cpp's loading and notes each setting that ends up different from what the file says, with
        the reason. A declared value that is overridden is a warning, a default that fills a gap is for information.

    Why it is bad:
        The file does not show it, and programs that read the same file without llama.cpp do not do it. What is a
        default today may change with the next release.

    Example:
        `</s>` is an HTML tag in Gemma 3's vocabulary and declared USER_DEFINED; llama.cpp takes it for a control
        token by its text, so that it is plain text where special tokens are not parsed, and ends a generation where
        it comes up.

    How to repair:
        Declare what is meant where the file is silent. Overrides by a token's text can only be known, not turned off.

    Threads:
        ggml-org/llama.cpp#23183, ggml-org/llama.cpp#21760, ggml-org/llama.cpp#17607, onnxruntime/mobius#651
    """
    for found in net_overrides(subject.settings.overrides):
        severity = INFO if found.declared is None else WARNING
        token = _TYPE.match(found.setting)
        yield Finding(severity, shortened(str(found)), ids=(int(token[1]),) if token else ())
