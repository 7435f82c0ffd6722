"""What statistics say, in words and numbers that every format for eyes shares; not yet passed through `visible`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tokverify.stats.probe import SHORT_NUMBERS
from tokverify.stats.text import PIECE_BYTES, parallel_samples
from tokverify.stats.vocabulary import LONG
from tokverify.text.wording import listed, plural

if TYPE_CHECKING:
    from tokverify.report.stats import Measured, Row, Stats
    from tokverify.stats.probe import Probe
    from tokverify.tokenizer import Token

NOTHING = "-"
_MOST_FILES = 10


def verdict(stats: Stats) -> str:
    """Sum up, such as `18 texts, 10,374 bytes: 0.476 tokens per byte with gpt-2, 0.269 with gemma-3`."""
    size = sum(row.bytes for row in stats.encoded_by_all)
    rates = [stats.tokens_per_byte(index) for index in range(len(stats.tokenizers))]
    shown = [
        f"{rate:.3f} {'tokens per byte ' if not index else ''}with {measured.name}"
        for index, (rate, measured) in enumerate(zip(rates, stats.tokenizers, strict=True))
        if rate is not None
    ]
    texts = f"{plural(len(stats.encoded_by_all), 'text')}, {plural(size, 'byte')}"
    unable = [
        f"{measured.name} cannot encode {plural(len(measured.failures), 'text')}"
        for measured in stats.tokenizers
        if measured.failures
    ]
    return "; ".join([f"{texts}: {', '.join(shown) or 'nothing that all can encode'}", *unable])


def texts_told(stats: Stats) -> str:
    """Say which texts were measured."""
    return listed(stats.files, _MOST_FILES) or "our own samples; those in natural languages say the same"


def sizes(row: Row) -> list[str]:
    """Return the bytes, characters and words of a row."""
    return [f"{row.bytes:,}", f"{row.characters:,}", NOTHING if row.words is None else f"{row.words:,}"]


def counts(row: Row, index: int) -> list[str]:
    """Return the tokens that one tokenizer makes of a row, and the rates by byte, character and word."""
    count, unknown = row.tokens[index], row.unknown[index]
    rates = [NOTHING if rate is None else f"{rate:.3f}" for rate in row.rates(index).values()]
    shown = NOTHING if count is None else f"{count:,}"
    return [f"{shown}{f' ({unknown:,} unknown)' if unknown else ''}", *rates]


def measurements(tokenizers: Sequence[Measured], *, verbose: bool = False) -> list[tuple[str, list[str]]]:
    """Return what the probes found: what was measured, and for each tokenizer what came out.

    With `verbose`, languages and indentations one by one, too.
    """
    found = [_measurements(measured, verbose) for measured in tokenizers]
    names = dict.fromkeys(name for one in found for name in one)
    return [(name, [one.get(name, NOTHING) for one in found]) for name in names]


def _measurements(measured: Measured, verbose: bool) -> Mapping[str, str]:
    probe = measured.probe
    found = {
        f"numbers below {len(SHORT_NUMBERS):,} that are one token": _share(probe.single_numbers, len(SHORT_NUMBERS)),
        "tokens of a number from 1,000 to 999,999": _mean(probe.tokens_per_number),
        "spaces of an indentation in one token": _mean(probe.spaces_per_token),
    }
    if verbose:
        widths = (probe.indentation or {}).items()
        found |= {f"  tokens of {plural(width, 'space')}": f"{count:,}" for width, count in widths}
    found |= {
        "a space that ends a prompt stands alone": {True: "yes", False: "no", None: NOTHING}[probe.trailing_space],
        "times the tokens of the same text in English": _mean(probe.mean_against_english) + _of_how_many(probe),
    }
    ratios = probe.others_against_english
    found |= (
        {f"  {language}": _mean(ratio) for language, ratio in ratios.items()}
        if verbose
        else {"  the most": _most(ratios)}
    )
    found[f"tokens of more than {LONG} characters"] = _share(measured.long_tokens, measured.ordinary)
    return found | (
        {} if measured.unused is None else {"tokens never used": _share(measured.unused, measured.ordinary)}
    )


def _share(part: int | None, whole: int) -> str:
    return NOTHING if part is None else f"{part:,} ({part / max(whole, 1):.1%})"


def _mean(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}"


def _of_how_many(probe: Probe) -> str:
    known, all_others = len(probe.others_against_english), len(parallel_samples()) - 1
    return f" ({known} of {all_others} languages)" if 0 < known < all_others else ""


def _most(ratios: Mapping[str, float]) -> str:
    most = max(ratios, key=ratios.__getitem__, default=None)
    return NOTHING if most is None else f"{most} {ratios[most]:.2f}"


def token_lists(measured: Measured) -> Mapping[str, Sequence[Token]]:
    """Return the longest tokens: of all, and among those used and never used."""
    return {"all": measured.longest, "used": measured.longest_used, "unused": measured.unused_examples}


def length(token: Token) -> int:
    """Return how many characters a token stands for."""
    return len(token.token_bytes.decode("utf-8", "replace"))


def failures(stats: Stats) -> list[str]:
    """Say what could not be encoded."""
    return [f"{measured.name} cannot encode {why}" for measured in stats.tokenizers for why in measured.failures]


def remarks(stats: Stats) -> Iterator[str]:
    """Yield what one should know to read the numbers."""
    yield "words stand between white space; there are none where a script puts no spaces between them"
    for measured in stats.tokenizers:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in measured.excluded.items())
        if kinds:
            yield f"{measured.name}: tokens that count neither as long nor as never used: {kinds}"
    yield "runs of one character are not listed among the longest tokens"
    if any(any(row.unknown) for row in stats.rows):
        yield "an unknown token stands for any amount of text: few tokens are no merit where some are unknown"
    if any(measured.probe.trailing_space for measured in stats.tokenizers):
        yield (
            "a space that ends a prompt and stands alone is a token that is not there when the text goes on:"
            " do not end a prompt with one"
        )
    if not stats.files:
        yield "which tokens are never used is told for files only: the samples are too short for that"
    pieces = sum(row.pieces for row in stats.rows)
    if pieces > max(len(stats.files), len(stats.rows)):
        yield (
            f"encoded in {pieces:,} pieces: files over {PIECE_BYTES >> 20} MiB are cut at line ends, and all prose"
            " where the script changes; at each cut a count may be off by a token or two"
        )
    trailing = sum(row.trailing for row in stats.rows) if stats.files else 0
    if trailing:
        yield f"{plural(trailing, 'line')} of these texts {'ends' if trailing == 1 else 'end'} in spaces or tabs"
