"""Compare the stages of our pipeline with those of a reference, as far as the reference exposes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from tokverify.compare.affix import split_around
from tokverify.engine.encoder import Encoder
from tokverify.engine.family import Family
from tokverify.engine.normalizer import unescape_spaces
from tokverify.errors import EncodeError
from tokverify.report.difference import Difference
from tokverify.report.explain import (
    Explanation,
    ExposedExplanation,
    ExposedMatch,
    ExposedStretch,
    StageComparison,
    StageDivergence,
    StageOutcome,
    Stretch,
    list_stretches,
)
from tokverify.text.sequence import common_length
from tokverify.text.utf8 import to_text
from tokverify.text.visible import code_points
from tokverify.texts.alignment import compare
from tokverify.texts.mode import Mode, Modes
from tokverify.tokenizer import (
    Staged,
    StageMatch,
    StageStretch,
    Token,
    Tokenizer,
    TokenizerStages,
    tokens_for_display,
    tokens_of,
)

_MAX_SHOWN = 8
"""The number of characters or pieces that are recorded from a difference on."""
_BEFORE = 2
"""The number of characters that are recorded before a difference."""
_MAX_CODE_POINTS = 3
"""The number of characters from a difference on whose names are recorded."""


def compare_stages(explained: Explanation, encoder: Encoder, reference: Tokenizer) -> StageDivergence:
    """Encode the explained text with `reference`, and compare it stage by stage.

    Raises:
        EncodeError: If the reference cannot encode the text.
    """
    text, parse_special = explained.text, explained.parse_special
    ids = reference.encode(text, add_special=explained.add_special, parse_special=parse_special)
    actual, expected = [token.token for token in explained.tokens], tokens_of(reference, ids)
    difference = None if list(explained.ids) == ids else compare(actual, expected)
    stages = [
        *_compare_text_stages(explained, encoder.settings.family, reference, difference),
        *_compare_results(explained, encoder, reference, ids),
    ]
    # If no stage shows a difference, it is the model that differs.
    first = next((stage.stage for stage in stages if stage.outcome is StageOutcome.DIFFERS), "model")
    return StageDivergence(
        name=reference.name,
        tokens=tuple(expected),
        stages=tuple(stages),
        first=first if difference else None,
        difference=difference,
        differing_tokens=tuple(_differing_indexes(difference) if difference else ()),
        has_merge_ranks=False,
        notes=tuple(_notes(explained, encoder, reference)),
    )


def _notes(explained: Explanation, encoder: Encoder, reference: Tokenizer) -> Iterator[str]:
    modes = Modes(encoder, reference)
    asked = Mode(explained.add_special, explained.parse_special)
    comparable = modes.choose(explained.text, asked)
    for option in modes.decisive_options(explained.text, asked, comparable):
        yield f"only comparable with {modes.reason(option, explained.text)}"


def _differing_indexes(difference: Difference) -> list[int]:
    """Return the indexes of our tokens in blocks that differ."""
    indexes: list[int] = []
    end = 0
    for block in difference.blocks:
        start, end = end, end + len(block.actual)
        if not block.equal:
            indexes += range(start, end)
    return indexes


def _compare_text_stages(
    explained: Explanation, family: Family, reference: Tokenizer, difference: Difference | None
) -> Iterator[StageComparison]:
    """Compare the stages before the model."""
    exposed = stages_of(reference, explained.text, parse_special=explained.parse_special)
    if isinstance(exposed, str):
        for stage in ("added tokens", "normalization"):
            yield StageComparison(stage, StageOutcome.HIDDEN, note=exposed)
        return
    yield _compare_added_tokens(explained, exposed, reference, difference)
    yield _compare_normalization(explained, family, exposed)
    yield from _compare_pre_tokens(explained, exposed)


def stages_of(reference: Tokenizer, text: str, *, parse_special: bool) -> TokenizerStages | str:
    """Return the reference's stages, or the reason why it exposes none."""
    if not isinstance(reference, Staged):
        return f"{reference.name} returns only ids"
    try:
        return reference.stages(text, parse_special=parse_special)
    except EncodeError as error:
        return str(error)


def _compare_results(
    explained: Explanation, encoder: Encoder, reference: Tokenizer, ids: Sequence[int]
) -> Iterator[StageComparison]:
    """Compare the results of the model, and then the special tokens added around them."""
    own = list(explained.ids[len(explained.prefix) : len(explained.ids) - len(explained.suffix)])
    theirs = list(ids)
    if explained.add_special:
        theirs = reference.encode(explained.text, add_special=False, parse_special=explained.parse_special)
    if own == theirs:
        yield StageComparison("model", StageOutcome.SAME)
    else:
        difference = compare(tokens_of(encoder, own), tokens_of(reference, theirs))
        block = next(block for block in difference.blocks if not block.equal)
        actual, expected = (
            tuple(token.piece for token in side[:_MAX_SHOWN]) for side in (block.actual, block.expected)
        )
        yield StageComparison("model", StageOutcome.DIFFERS, actual, expected)
    if explained.add_special:
        is_same = own != theirs or explained.ids == tuple(ids)
        added = tuple(token.piece for token in (*explained.prefix, *explained.suffix))
        around = split_around(list(ids), theirs)
        others = tuple(map(reference.piece, chain(*around) if around else ids))
        yield StageComparison("special tokens", StageOutcome.SAME if is_same else StageOutcome.DIFFERS, added, others)


def _compare_added_tokens(
    explained: Explanation, exposed: TokenizerStages, reference: Tokenizer, difference: Difference | None
) -> StageComparison:
    """Compare the added tokens that were found; a match on only one side counts only if it changes the result."""
    if exposed.matches is None:
        return StageComparison("added tokens", StageOutcome.HIDDEN, note=exposed.hidden)
    if difference is None:
        return StageComparison("added tokens", StageOutcome.SAME)
    only_ours, only_theirs = _one_sided_matches(explained, exposed.matches, difference)
    if not only_ours and not only_theirs:
        return StageComparison("added tokens", StageOutcome.SAME)
    return StageComparison(
        "added tokens",
        StageOutcome.DIFFERS,
        tuple(token.piece for token in only_ours[:_MAX_SHOWN]),
        tuple(reference.piece(match.id) for match in only_theirs[:_MAX_SHOWN]),
    )


def _one_sided_matches(
    explained: Explanation, theirs: Iterable[StageMatch], difference: Difference
) -> tuple[list[Token], list[StageMatch]]:
    """Return the added tokens that only one side matches, ours and the reference's, if they affect the result."""
    added = ((index, token) for index, token in enumerate(explained.tokens) if token.source == "added")
    ours = {(*token.span, token.token.id): index for index, token in added}
    expected = {(match.start, match.end, match.id): match for match in theirs}
    differing = _differing_indexes(difference)
    indexes = [index for key, index in ours.items() if key not in expected and index in differing]
    tokens = chain.from_iterable(block.expected for block in difference.blocks if not block.equal)
    ids = {token.id for token in tokens}
    only_theirs = [expected[key] for key in sorted(expected.keys() - ours.keys()) if expected[key].id in ids]
    return [explained.tokens[index].token for index in indexes], only_theirs


def _pair_stretches(explained: Explanation, exposed: TokenizerStages) -> Iterator[tuple[Stretch, StageStretch]]:
    """Pair the stretches that both sides have."""
    theirs = {(stretch.start, stretch.end): stretch for stretch in exposed.stretches or ()}
    for stretch in list_stretches(explained):
        if stretch.span in theirs:
            yield stretch, theirs[stretch.span]


def _compare_normalization(explained: Explanation, family: Family, exposed: TokenizerStages) -> StageComparison:
    if exposed.stretches is None:
        return StageComparison("normalization", StageOutcome.HIDDEN, note=exposed.hidden)
    if exposed.matches is None:
        texts: Iterable[tuple[str, str]] = [(_join_normalized(explained), exposed.stretches[0].normalized)]
    else:
        texts = ((ours.normalized, theirs.normalized) for ours, theirs in _pair_stretches(explained, exposed))
    for ours, theirs in texts:
        actual, expected = _comparable(ours, theirs, family, whole=exposed.matches is None)
        if actual != expected:
            return _differing_texts(actual, expected)
    return StageComparison("normalization", StageOutcome.SAME)


def _join_normalized(explained: Explanation) -> str:
    """Join the normalized stretches and the pieces of the added tokens between them."""
    parts = []
    for fragment in explained.fragments:
        if fragment.stretch:
            parts.append(fragment.stretch.normalized)
        elif fragment.added_token:
            parts.append(fragment.added_token.piece)
    return "".join(parts)


def _comparable(ours: str, theirs: str, family: Family, *, whole: bool) -> tuple[str, str]:
    """Write spaces the same way, and drop those that one side handles in a later stage."""
    actual = family.significant_text(unescape_spaces(ours), whole=whole)
    expected = family.significant_text(unescape_spaces(theirs), whole=whole)
    if not whole and actual.startswith(" ") != expected.startswith(" "):
        return actual.removeprefix(" "), expected.removeprefix(" ")
    return actual, expected


def _differing_texts(actual: str, expected: str) -> StageComparison:
    """Record a few characters of both texts from just before their first difference."""
    same = common_length(actual, expected)
    near = slice(max(0, same - _BEFORE), same + _MAX_SHOWN)
    named = slice(same, same + _MAX_CODE_POINTS)
    return StageComparison(
        "normalization",
        StageOutcome.DIFFERS,
        (actual[near],),
        (expected[near],),
        actual_code_points=tuple(code_points(actual[named])),
        expected_code_points=tuple(code_points(expected[named])),
    )


def _compare_pre_tokens(explained: Explanation, exposed: TokenizerStages) -> Iterator[StageComparison]:
    if not any(stretch.pre_tokens for stretch in list_stretches(explained)):
        return
    if exposed.stretches is None:
        yield StageComparison("pre-tokens", StageOutcome.HIDDEN, note=exposed.hidden)
        return
    for ours, theirs in _pair_stretches(explained, exposed):
        if theirs.pre_tokens is None:
            yield StageComparison("pre-tokens", StageOutcome.HIDDEN, note="it has no pre-tokenizer")
            return
        actual = [unescape_spaces(pre_token.text) for pre_token in ours.pre_tokens]
        expected = [unescape_spaces(to_text(text)) for text in theirs.pre_tokens]
        if actual != expected:
            same = common_length(actual, expected)
            near = slice(max(0, same - 1), same + _BEFORE + 1)
            yield StageComparison("pre-tokens", StageOutcome.DIFFERS, tuple(actual[near]), tuple(expected[near]))
            return
    yield StageComparison("pre-tokens", StageOutcome.SAME)


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
    matches = None
    if stages.matches is not None:
        matches = tuple(
            ExposedMatch((each.start, each.end), each.id, tokenizer.piece(each.id)) for each in stages.matches
        )
    return ExposedExplanation(
        text=text,
        name=tokenizer.name,
        source=source,
        add_special=add_special,
        parse_special=parse_special,
        matches=matches,
        stretches=None if stages.stretches is None else tuple(map(_record_stretch, stages.stretches)),
        hidden=stages.hidden,
        tokens=tuple(tokens),
        reference=reference.name if reference else None,
        difference=compare(tokens, tokens_for_display(reference, others)) if reference and ids != others else None,
    )


def _record_stretch(stretch: StageStretch) -> ExposedStretch:
    pre_tokens = None
    if stretch.pre_tokens is not None:
        pre_tokens = tuple(map(to_text, stretch.pre_tokens))
    return ExposedStretch((stretch.start, stretch.end), stretch.normalized, pre_tokens)
