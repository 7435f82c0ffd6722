"""A conversion as JSON: the report of what was compared, and what was made of the file."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from tokverify.render.json import write
from tokverify.render.run.json import document

if TYPE_CHECKING:
    from tokverify.convert import Conversion


def render(conversion: Conversion) -> str:
    """Write a conversion as JSON."""
    told = document(conversion.report)
    told["kind"] = "convert"
    pre_tokenizer = conversion.pre_tokenizer
    told["conversion"] = {
        "exit_code": conversion.exit_code,
        "source": {"path": str(conversion.source), "kind": conversion.kinds[0]},
        "target": {"path": str(conversion.target), "kind": conversion.kinds[1]},
        "written": conversion.written,
        "model": conversion.model,
        "tokens": conversion.size,
        "pre_tokenizer": pre_tokenizer and asdict(pre_tokenizer),
        "strings": conversion.strings,
        "differing": conversion.differing,
        "unexplained": conversion.unexplained,
        "untransportable": [
            {"part": part, "explains": count}
            for part, count in zip(conversion.untransportable, conversion.explained, strict=True)
        ],
    }
    return write(told)
