"""TL012: a file names no pre-tokenizer that splits texts exactly as the reference does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial

from tokverify.compare.limits.limit import Counterfactual, Text, limit
from tokverify.compare.limits.sides import Sides
from tokverify.engine.build import known_since
from tokverify.engine.deviation import Deviation
from tokverify.engine.encoder import Encoder
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.report.finding import WARNING
from tokverify.report.tokenizer_difference import Origin
from tokverify.sources.nearest_pattern import count_differences
from tokverify.texts.batch import encode_plain


@limit(code="TL012", name="nearest-pattern", origin=Origin.RUNTIME, severity=WARNING)
def nearest_pattern(sides: Sides) -> Iterator[Counterfactual]:
    """llama.cpp has no pre-tokenizer that splits texts exactly as the reference does; the file names the nearest.

    What llama.cpp does:
        GGUF stores no patterns, only names of patterns that llama.cpp contains, in versions that its own engine for
        regular expressions can run. Some of them are not exactly those of the model; for example, combining marks are
        not part of a word in its version of tekken's pattern, and its version of Kimi K2's ignores case.

    Which models:
        Mistral with tekken (Nemo, Small 3 and others), GPT-4o, Kimi K2, and models with patterns of their own. Texts
        with combining marks are affected (Arabic with vowels, Indic scripts, Thai); for Kimi K2, words with capitals
        inside, too.

    How to live with it:
        Expect other tokens, and a somewhat worse model, for these texts. If the message names another pre-tokenizer,
        it gives the reference's ids for all texts that were tried, but builds of llama.cpp that do not know its name
        refuse the file, and llama.cpp's converter does not write it.

    What it does not explain:
        A file whose pre-tokenizer is not the nearest: another name splits fewer texts differently, or is as near and
        right about `ignore_merges`; or it is the name that llama.cpp's converter gives this pattern, and no other is
        right in all that this one is. Such a file is wrong, and its repair is that name. And a reference that splits
        its own tokens, as it does if a library has lost a stage (TV213).
    """
    split = sides.split
    if split is None or not sides.nearest:
        return

    def applies(target: Text) -> bool:
        differs = split(target.text) != sides.own_split(target.text)
        return differs and not sides.splits_as_rival(target.text) and not sides.loses_tokens

    yield Counterfactual(
        reason=_name_nearest(sides),
        sentence="splitting texts into pre-tokens as the reference does",
        deviation=Deviation(split_pre_tokens=split),
        applies=applies,
        # Most patterns are exact, and then nothing else has to be compared or encoded.
        details=cache(partial(_find_details, sides)) if sides.split_differences else None,
    )


def _name_nearest(sides: Sides, among: str = "") -> str:
    return (
        f"llama.cpp has no pre-tokenizer with exactly the reference's pattern ({sides.settings.pre} is nearest{among})"
    )


def _find_details(sides: Sides) -> tuple[str, Origin]:
    """Return what llama.cpp does, and whether another name gives the reference's ids."""
    if exact := _find_exact(sides):
        does = f"llama.cpp's {sides.settings.pre} splits some texts in another way than the reference"
        reason = f"{does}; {exact} gives the reference's ids for all {len(sides.probe_splits):,} texts that were tried"
        return reason, Origin.CONVENTION
    return _name_nearest(sides, _describe_nearest(sides)), Origin.RUNTIME


def _describe_nearest(sides: Sides) -> str:
    """Say among which names the file's is nearest, if one that merges in another way splits fewer texts wrongly."""
    most, ignores = sides.split_differences, PRE_TOKENIZERS[sides.settings.pre].ignore_merges
    others = (each for each in PRE_TOKENIZERS.values() if each.ignore_merges != ignores and each.byte_level)
    is_nearer = any(count_differences(each, sides.probe_splits, most - 1) < most for each in others)
    return f" of those with ignore_merges {'on' if ignores else 'off'}" if is_nearer else ""


def _find_exact(sides: Sides) -> str:
    """Name a pre-tokenizer that gives all probe texts the reference's ids, though it may split some in another way."""
    if sides.facts.tokenizer is None:
        return ""
    own, splits = PRE_TOKENIZERS[sides.settings.pre], dict(sides.probe_splits)
    expected, found = (encode_plain(each, list(splits)) for each in (sides.facts.tokenizer, sides.encoder))
    differing = [text for text, ours, theirs in zip(splits, found, expected, strict=True) if ours != theirs]
    wrong = [(text, splits[text]) for text in differing if sides.own_split(text) != splits[text]]
    for name, other in PRE_TOKENIZERS.items():
        is_like = (other.byte_level, other.ignore_merges) == (own.byte_level, own.ignore_merges)
        if not wrong or not is_like or count_differences(other, wrong, 0):
            continue
        if encode_plain(Encoder(replace(sides.spec, pre=name), base=sides.encoder), list(splits)) == expected:
            since = known_since("pre_tokenizers").get(name, 0)
            return f"{name} (known since b{since})" if since else name
    return ""
