"""The report of `tokverify convert`: what was written, what is lost, and where the result differs from its source."""

from __future__ import annotations

from dataclasses import dataclass

from tokverify.report.fields import Count
from tokverify.report.run import Report


@dataclass(frozen=True, slots=True)
class PreTokenizerChoice:
    """The evidence for the name of a pre-tokenizer, and the names that could replace it."""

    name: str
    """The name that was chosen."""
    texts: tuple[str, ...]
    """The texts that were split in the same way."""
    pre_tokens: Count
    """The total number of pre-tokens."""
    alike: tuple[str, ...]
    """Other names that would give the same ids."""
    unlike_in_merges: tuple[str, ...]
    """Other names that split the texts in the same way but imply the opposite `ignore_merges`."""
    since: Count = 0
    """The first known build of llama.cpp that knows the name; 0 if all known ones do."""
    by_converter: str = ""
    """The other name that llama.cpp's converter gives this pattern, if only newer builds know the chosen one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """The result of a conversion."""

    source: str
    """What was converted."""
    target: str
    """The file that was to be written."""
    kinds: tuple[str, str]
    """The formats of both files: `gguf`, `tokenizers`, `sentencepiece`, `tiktoken`, `tekken` or `rwkv`."""
    written: bool
    """Whether the target was written."""
    strict: bool = False
    """Whether it would not have been written if a difference was explained."""
    conventions: tuple[str, ...] = ()
    """What the target declares as llama.cpp's converter would, although the source says otherwise, or nothing."""
    warnings: tuple[str, ...] = ()
    """What llama.cpp decides by its defaults, because the source does not declare it."""
    model: str
    """The algorithm, as `tokenizer.ggml.model` names it."""
    size: Count
    """The number of tokens."""
    pre_tokenizer: PreTokenizerChoice | None
    """How the name of the pre-tokenizer was chosen; None if there is none to choose."""
    strings: Count
    """The number of generated texts that were compared in addition to the cases."""
    differing: Count
    """How many of all texts differ."""
    unexplained: Count
    """How many of these no limit in `report` explains."""
    untransportable: tuple[str, ...]
    """What the target format cannot express."""
    report: Report
    """The comparison: the cases, then a minimal text for each cause of unexplained differences in generated texts.

    Its limits count the texts of both.
    """


def conversion_exit_code(conversion: Conversion) -> int:
    """Return 0 if the target was written, else 1."""
    return 0 if conversion.written else 1
