"""Markers in a chat template: strings that look like special tokens.

A template is a Jinja program. It is not run here: anything it can write is among the literals in its source.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tokverify.texts.token_text import STRONG, is_marker

_LOOSE = r"</?[A-Za-z][\w-]{0,40}>|\[/?[A-Z][A-Z_]{1,30}\]"

ANY = re.compile(f"{STRONG.pattern}|{_LOOSE}")
"""What may be a special token."""
_END = re.compile(r"(?i)end|eot|eos|eom|return|call|^</s>$|^<turn\|>$")
_NO_END = re.compile(
    r"(?i)header|role|think|tool|vision|image|audio|video|file|system|user|assistant|channel|endoftext"
)
_STATEMENTS = re.compile(r"(?:\s|\{%-?.*?-?%\})*", re.DOTALL)
_BOS_VARIABLE = re.compile(r"\{\{-?\s*bos_token\b(\s*-?\}\})?")
_OPENING_LITERAL = re.compile(r"\{\{-?\s*(['\"])(.*?)\1", re.DOTALL)
MAX_TEMPLATE = 1 << 20
"""At most so many characters of a template are read."""
_MOST_COUNTED = 2
"""Counting more would take quadratic time."""


@dataclass(frozen=True, slots=True)
class TemplateMarkers:
    """The distinct texts in a template that look like special tokens, in the order of the template."""

    template: str
    """The template without its comments."""
    strong: tuple[str, ...]
    """Those that leave no doubt."""
    weak: tuple[str, ...]
    """Those that may be plain text, such as `<tools>` and `[INST]`."""
    turn_ends: tuple[str, ...]
    """The strong ones that look like the end of a turn."""

    @property
    def mentions_bos(self) -> bool:
        """Whether the template uses the BOS token."""
        return "bos_token" in self.template

    def missing_ends(self, ids: Mapping[str, int], eog_ids: frozenset[int]) -> list[int]:
        """Return the ids of the ends of a turn; none if a generation ends at one of them, or the template names EOS."""
        ends = [ids[text] for text in self.turn_ends if text in ids]
        return ends if "eos_token" not in self.template and eog_ids.isdisjoint(ends) else []

    def count_leading(self, bos: str) -> int:
        """Count how many times the template starts by writing `bos`, as a variable or as a text: 0, 1 or 2."""
        count, rest = 0, self.template
        while count < _MOST_COUNTED:
            rest = rest[_leading_statements(rest) :]
            if variable := _BOS_VARIABLE.match(rest):
                # What else the same expression writes is not known.
                rest = rest[variable.end() :] if variable[1] else ""
            elif rest.startswith(bos):
                rest = rest[len(bos) :]
            elif (literal := _OPENING_LITERAL.match(rest)) and literal[2].startswith(bos):
                rest = literal[2].removeprefix(bos)
            else:
                break
            count += 1
        return count


def looks_like_end(text: str) -> bool:
    """Check whether a special token is named like the end of a turn."""
    return _END.search(text) is not None and _NO_END.search(text) is None


def read_template(template: str | None) -> TemplateMarkers:
    """Find the markers in a template, if there is one."""
    template = _remove_comments((template or "")[:MAX_TEMPLATE])
    markers = list(dict.fromkeys(ANY.findall(template)))
    strong = tuple(text for text in markers if is_marker(text))
    return TemplateMarkers(
        template=template,
        strong=strong,
        weak=tuple(text for text in markers if not is_marker(text)),
        turn_ends=tuple(text for text in strong if looks_like_end(text)),
    )


def _remove_comments(template: str) -> str:
    # subtle: a regex would search to the end for every unterminated comment, which is quadratic.
    kept: list[str] = []
    start = 0
    while True:
        begin = template.find("{#", start)
        end = template.find("#}", begin + 2)
        if begin < 0 or end < 0:
            return "".join(kept) + template[start:]
        kept.append(template[start:begin])
        start = end + 2


def _leading_statements(template: str) -> int:
    match = _STATEMENTS.match(template)
    return match.end() if match else 0
