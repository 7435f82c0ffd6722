"""Convert a tokenizer file into another format."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.case import Case
from tokverify.compare.convert import STRINGS, Conversion, SpecialTokens, convert
from tokverify.location import Location
from tokverify.sources.stores.location import find_model, locate

if TYPE_CHECKING:
    from tokverify.commands.tasks.run import OnProgress


def convert_tokenizer(  # noqa: PLR0913 - the optional ones are keywords
    source: str | Path | Location,
    target: str | Path,
    cases: Iterable[Case] | None = None,
    *,
    force: bool = False,
    unexplained: bool = False,
    strict: bool = False,
    count: int = STRINGS,
    seed: int = 0,
    with_config: bool = False,
    special_tokens: SpecialTokens | None = None,
    on_progress: OnProgress | None = None,
) -> Conversion:
    """Convert a tokenizer file into the format that the suffix of `target` names, and verify the result.

    The target is written only if it gives the same ids as its source, except for differences that are explained by what
    the format cannot express; or with `unexplained`.

    Args:
        source: A GGUF file, a tokenizer.json, a sentencepiece .model or FILE.tiktoken:PATTERN, or a name as for
            `find_model`.
        target: The file to write, ending in .gguf or .json.
        cases: The texts to verify with; the shipped cases by default.
        force: Overwrite the target if it exists.
        unexplained: Write the target even if it differs for an unknown reason.
        strict: Do not write the target if it differs, even if that is explained.
        count: The number of generated texts to verify with in addition.
        seed: The seed of the generated texts.
        with_config: Also write the tokenizer_config.json that belongs to a tokenizer.json.
        special_tokens: What to declare about BOS and EOS instead of what the source declares.
        on_progress: Called with the number of texts done and the number of all texts.

    Returns:
        What was converted, what is lost, and whether the target was written.

    Raises:
        TokverifyError: If the source cannot be read, or the target cannot be written or express the source.
    """
    file = find_model(locate(source))
    with file.named_in_errors():
        conversion = convert(
            file.path,
            Path(target),
            force=force,
            unexplained=unexplained,
            strict=strict,
            on_progress=on_progress,
            cases=cases,
            count=count,
            seed=seed,
            with_config=with_config,
            special_tokens=special_tokens,
        )
    actual, expected = (
        replace(side, source=file.location) if side.source == str(file.path) else side
        for side in (conversion.report.actual, conversion.report.expected)
    )
    report = replace(conversion.report, actual=actual, expected=expected)
    return replace(conversion, source=file.location, report=report)
