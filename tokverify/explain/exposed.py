"""Explain how a text becomes tokens in a tokenizer that tokverify does not run itself, as far as it shows that."""

from __future__ import annotations

from collections.abc import Sequence

from tokverify.explain.stages import stages_of
from tokverify.report.explain_exposed import ExposedExplanation, ExposedMatch, ExposedStretch
from tokverify.texts.alignment import compare
from tokverify.tokenizer import StageStretch, Tokenizer, TokenizerStages, tokens_for_display


def explain_exposed(  # noqa: PLR0913 - the optional ones are keywords
    tokenizer: Tokenizer,
    source: str,
    text: str,
    reference: Tokenizer | None = None,
    *,
    add_special: bool = False,
    parse_special: bool = True,
) -> ExposedExplanation:
    """Collect what `tokenizer` shows about a text, and compare its ids with those of `reference`.

    Raises:
        EncodeError: If one of the two cannot encode this text.
        UnsupportedError: If one of the two cannot encode with these options.
    """
    ids = tokenizer.encode(text, add_special=add_special, parse_special=parse_special)
    others = reference.encode(text, add_special=add_special, parse_special=parse_special) if reference else ids
    exposed = stages_of(tokenizer, text, parse_special=parse_special)
    stages = TokenizerStages(None, None, exposed) if isinstance(exposed, str) else exposed
    tokens = tokens_for_display(tokenizer, ids)
    return ExposedExplanation(
        text=text,
        name=tokenizer.name,
        source=source,
        add_special=add_special,
        parse_special=parse_special,
        matches=_record_matches(tokenizer, stages),
        stretches=_record_stretches(stages.stretches),
        hidden=stages.hidden,
        tokens=tuple(tokens),
        reference=reference.name if reference else None,
        difference=compare(tokens, tokens_for_display(reference, others)) if reference and ids != others else None,
    )


def _record_matches(tokenizer: Tokenizer, stages: TokenizerStages) -> tuple[ExposedMatch, ...] | None:
    if stages.matches is None:
        return None
    return tuple(
        ExposedMatch((match.start, match.end), match.id, tokenizer.piece(match.id)) for match in stages.matches
    )


def _record_stretches(stretches: Sequence[StageStretch] | None) -> tuple[ExposedStretch, ...] | None:
    if stretches is None:
        return None
    return tuple(
        ExposedStretch((each.start, each.end), each.normalized, _to_texts(each.pre_tokens)) for each in stretches
    )


def _to_texts(pre_tokens: Sequence[bytes] | None) -> tuple[str, ...] | None:
    if pre_tokens is None:
        return None
    return tuple(each.decode("utf-8", "surrogateescape") for each in pre_tokens)
