"""The numbers of statistics, formatted for people; names in them have not passed `visible` yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tokverify.report.stats import (
    LONG_TOKEN,
    SHORT_NUMBERS,
    MeasuredTexts,
    MeasuredTokenizer,
    ProbeResult,
    StatsReport,
    TokenCount,
)
from tokverify.text.wording import list_items, plural
from tokverify.tokenizer import Token

NOTHING = "-"
_SAMPLES = "the bundled samples; those in natural languages are translations of each other"
_MAX_FILES = 10


def describe_texts(stats: StatsReport) -> str:
    """Name the texts that were measured."""
    return list_items(stats.files, _MAX_FILES) or _SAMPLES


def format_sizes(texts: MeasuredTexts) -> list[str]:
    """Return the numbers of bytes, characters and words."""
    return [f"{texts.bytes:,}", f"{texts.characters:,}", NOTHING if texts.words is None else f"{texts.words:,}"]


def format_vocabulary(measured: MeasuredTokenizer) -> str:
    """Return the size of a vocabulary."""
    return plural(measured.vocab_size, "token") if measured.vocab_size else "not listed"


def format_count(count: TokenCount) -> list[str]:
    """Return the number of tokens, and the rates per byte, character and word."""
    tokens = NOTHING if count.tokens is None else f"{count.tokens:,}"
    unknown = f" ({count.unknown:,} unknown)" if count.unknown else ""
    rates = (count.per_byte, count.per_character, count.per_word)
    return [f"{tokens}{unknown}", *(NOTHING if rate is None else f"{rate:.3f}" for rate in rates)]


def format_measurements(
    tokenizers: Sequence[MeasuredTokenizer], *, verbose: bool = False
) -> list[tuple[str, list[str]]]:
    """Return the results of the probes: what was measured, and the value for each tokenizer.

    With `verbose`, each language and each indentation is included. An indented name is a detail of the one above.
    """
    columns = [_format_tokenizer(measured, verbose) for measured in tokenizers]
    names: dict[str, None] = {}
    for column in columns:
        names |= dict.fromkeys(column)
    return [(name, [column.get(name, NOTHING) for column in columns]) for name in names]


def _format_tokenizer(measured: MeasuredTokenizer, verbose: bool) -> Mapping[str, str]:
    probe = measured.probe
    values = {
        f"numbers below {len(SHORT_NUMBERS):,} that are a single token": _share(
            probe.single_numbers, len(SHORT_NUMBERS)
        ),
        "tokens per number from 1,000 to 999,999": _mean(probe.tokens_per_long_number),
        "spaces of indentation per token": _mean(probe.spaces_per_token),
    }
    if verbose:
        widths = (probe.indentation or {}).items()
        values |= {f"  tokens for {plural(width, 'space')}": f"{count:,}" for width, count in widths}
    trailing = {True: "yes", False: "no", None: NOTHING}[probe.trailing_space]
    values["a space at the end of a prompt becomes a separate token"] = trailing
    values["tokens compared with the same text in English"] = _ratio(probe)
    ratios = probe.against_english or {}
    values |= {f"  {language}": _mean(ratio) for language, ratio in ratios.items()} if verbose else _maximum(ratios)
    values[f"tokens of more than {LONG_TOKEN} characters"] = _share(measured.long_tokens, measured.ordinary)
    if measured.unused is not None:
        values["unused tokens"] = _share(measured.unused, measured.ordinary)
    return values


def _share(part: int | None, whole: int) -> str:
    return NOTHING if part is None else f"{part:,} ({part / max(whole, 1):.1%})"


def _mean(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}"


def _ratio(probe: ProbeResult) -> str:
    known = len(probe.against_english or {})
    of_how_many = f" ({known} of {probe.languages} languages)" if 0 < known < probe.languages else ""
    return f"{_mean(probe.mean_against_english)}{of_how_many}"


def _maximum(ratios: Mapping[str, float]) -> dict[str, str]:
    most = max(ratios, key=ratios.__getitem__, default=None)
    return {"  maximum": NOTHING if most is None else f"{most} {ratios[most]:.2f}"}


def token_lists(measured: MeasuredTokenizer) -> Mapping[str, Sequence[Token]]:
    """Return the longest tokens: of all, and of those used and unused."""
    return {"all": measured.longest, "used": measured.longest_used, "unused": measured.unused_examples}


def count_characters(token: Token) -> int:
    """Return the number of characters that a token represents."""
    return len(token.token_bytes.decode("utf-8", "replace"))


def list_failures(stats: StatsReport) -> list[str]:
    """Return what could not be encoded, and why."""
    return [
        f"{measured.name} cannot encode {failure}" for measured in stats.tokenizers for failure in measured.failures
    ]
