"""Explain how a text becomes tokens, and where a reference diverges; and how ids become a text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, groupby, pairwise

from tokverify.engine import trace as engine
from tokverify.engine.attribute import VERBATIM, Attribute
from tokverify.engine.charsmap import CharsmapWalk
from tokverify.engine.encoder import Encoder
from tokverify.engine.family import Alphabet, Ranking
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.engine.trace import EncoderTrace, Match, Stretch
from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.explain.stages import compare_stages
from tokverify.report import explain as report
from tokverify.report.explain import (
    AddedTokenMatch,
    CharsmapSearch,
    DecodedToken,
    DecodingExplanation,
    ExplainedToken,
    Explanation,
    Fragment,
    TokenMerge,
)
from tokverify.sources.huggingface.bpe import read_merges
from tokverify.sources.huggingface.document import parse
from tokverify.sources.huggingface.tables import tables_of
from tokverify.text.sequence import group_values
from tokverify.text.utf8 import describe_bad_byte, to_bytes, to_text
from tokverify.tokenizer import Declaring, DocumentHolding, Token, Tokenizer, tokens_of

Ranks = Mapping[tuple[str, str], int]
"""The merges of a reference and their ranks."""
Pairs = Mapping[str, tuple[str, str]]
"""The two pieces that the first merge of each piece joins."""

_MERGING = frozenset({Ranking.MERGE_RANK, Ranking.SCORE})
_MAX_SYMBOLS = 20
"""The symbols after each merge are recorded only for words of at most this many; longer ones would be unreadable."""


def explain(
    encoder: Encoder,
    text: str | bytes,
    reference: Tokenizer | None = None,
    *,
    add_special: bool = False,
    parse_special: bool = True,
) -> Explanation:
    """Trace `text` through all stages of `encoder`, and compare them with those that `reference` exposes.

    Bytes that are not UTF-8 are lone surrogates in the result (`surrogateescape`).

    Raises:
        EncodeError: If one of the two cannot encode this text.
        UnsupportedError: If the text is not UTF-8, and what the model makes of it cannot be traced.
    """
    trace = encoder.trace(text, add_special=add_special, parse_special=parse_special)
    bad_byte = describe_bad_byte(text) if isinstance(text, bytes) else ""
    expected = encoder.encode(text, add_special=add_special, parse_special=parse_special)
    text = to_text(text) if isinstance(text, bytes) else text
    tokens = tuple(_explain_tokens(encoder, trace, len(to_bytes(text))))
    ids = tuple(explained.token.id for explained in tokens)
    if list(ids) != expected:
        # A wrong trace would be worse than none.
        if bad_byte:
            raise UnsupportedError(f"the text is not UTF-8 ({bad_byte}), and what this model makes of it has no stages")
        raise RuntimeError(f"the trace of {text!r} ends in ids other than those of the encoder")
    if reference and bad_byte:
        raise UnsupportedError(f"the text is not UTF-8 ({bad_byte}), which references cannot encode; omit -r")
    settings = encoder.settings
    ranks = _find_merge_ranks(reference) if reference and settings.family.ranking in _MERGING else {}
    has_pre_tokenizer = settings.family.uses_pre_tokenizer
    explained = Explanation(
        text=text,
        name=encoder.name,
        algorithm=settings.algorithm,
        method=settings.family.summary,
        pre=settings.pre if has_pre_tokenizer else None,
        patterns=len(PRE_TOKENIZERS[settings.pre].patterns) if has_pre_tokenizer else 0,
        add_special=add_special,
        parse_special=parse_special,
        added_tokens=sum(1 for token in settings.added_tokens if parse_special or not token.special),
        prefix=tuple(_token(encoder, id) for id in trace.prefix),
        fragments=tuple(_record_fragment(encoder, fragment, ranks) for fragment in trace.fragments),
        suffix=tuple(_token(encoder, id) for id in trace.suffix),
        without_user_defined=_encode_without_user_defined(encoder, trace, text),
        ids=ids,
        tokens=tokens,
        warnings=(*encoder.spec.left_out, *(encoder.warnings(list(ids)) if add_special else ())),
        reference=None,
    )
    if reference is None:
        return explained
    divergence = replace(compare_stages(explained, encoder, reference), has_merge_ranks=bool(ranks))
    return replace(explained, reference=divergence)


def _explain_tokens(encoder: Encoder, trace: EncoderTrace, length: int) -> Iterator[ExplainedToken]:
    """Yield the tokens of the result; `length` is that of the text in bytes."""
    category = encoder.settings.family.token_category
    unknown = encoder.settings.special_ids.get("unk")

    def explained(id: int, span: report.Span, source: str, word: int | None = None) -> ExplainedToken:
        token = _token(encoder, id)
        return ExplainedToken(token, span, source, word, category(id, token.piece))

    for id in trace.prefix:
        yield explained(id, (0, 0), "special")
    words = 0
    for fragment in trace.fragments:
        if isinstance(fragment, Match):
            yield explained(fragment.id, (fragment.start, fragment.end), "added")
            continue
        for word in fragment.trace.words:
            for taken in word.tokens:
                start, end = fragment.trace.rewriting.source_span(taken.start, taken.end)
                span = fragment.start + start, fragment.start + end
                is_unknown = taken.id < 0 or taken.id == unknown
                yield explained(taken.id, span, "byte" if taken.spells else "unknown" if is_unknown else "model", words)
            words += 1
    for id in trace.suffix:
        yield explained(id, (length, length), "special")


def _token(encoder: Encoder, id: int) -> Token:
    # subtle: a vocabulary without an unknown token yields -1, which represents no bytes.
    return Token(id, encoder.piece(id), encoder.token_bytes(id) if id >= 0 else b"")


def _record_fragment(encoder: Encoder, fragment: Match | Stretch, ranks: Ranks) -> Fragment:
    if isinstance(fragment, Stretch):
        return Fragment(stretch=_record_stretch(fragment, encoder, ranks))
    return Fragment(
        added_token=AddedTokenMatch(
            span=(fragment.start, fragment.end),
            id=fragment.id,
            piece=encoder.piece(fragment.id),
            type=Attribute(encoder.settings.attributes[fragment.id]).name or "UNDEFINED",
            missing_piece=_missing_piece(encoder, fragment.id),
        )
    )


def _missing_piece(encoder: Encoder, id: int) -> str | None:
    """Return the piece that the model would need to produce an added token by itself; None if it exists."""
    settings = encoder.settings
    piece = settings.pieces[id]
    if settings.attributes[id] & Attribute.CONTROL:
        return None
    needed = settings.family.lookup_text(piece, settings)
    return None if needed is None or needed in settings.ids else needed


def _encode_without_user_defined(encoder: Encoder, trace: EncoderTrace, text: str) -> tuple[Token, ...] | None:
    """Encode the text without matching USER_DEFINED tokens in it; None if none was matched."""
    special = {token.id for token in encoder.settings.added_tokens if token.special}
    matches = [fragment for fragment in trace.fragments if isinstance(fragment, Match)]
    if all(match.id in special for match in matches):
        return None
    data = to_bytes(text)
    ids: list[int] = []
    for is_special, group in groupby(trace.fragments, lambda f: isinstance(f, Match) and f.id in special):
        run: Sequence[Match | Stretch] = list(group)
        if is_special:
            ids += [fragment.id for fragment in run if isinstance(fragment, Match)]
        else:
            ids += encoder.encode_unsplit(to_text(data[run[0].start : run[-1].end]))
    return tuple(_token(encoder, id) for id in ids)


def _find_merge_ranks(reference: Tokenizer) -> Mapping[tuple[str, str], int]:
    """Return the rank of each merge of a reference; empty if it lists none."""
    try:
        return _rank(_list_merges(reference))
    except TokverifyError:
        return {}


def _list_merges(reference: Tokenizer) -> Iterable[tuple[str, str]]:
    if isinstance(reference, DocumentHolding):
        return read_merges(parse(reference.tokenizer_json(), reference.name, {}, tables_of(reference)))
    if not isinstance(reference, Declaring):
        return ()
    stored = reference.declared_spec().merges or ()
    return [(left, right) for left, _, right in (merge.partition(" ") for merge in stored)]


def _rank(merges: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Number the merges; of a merge that is listed twice, the first one counts."""
    ranks: dict[tuple[str, str], int] = {}
    for rank, merge in enumerate(merges):
        ranks.setdefault(merge, rank)
    return ranks


def _record_stretch(stretch: engine.Stretch, encoder: Encoder, ranks: Ranks) -> report.Stretch:
    """Record the text between two added tokens, and each stage that it went through."""
    rewriting = stretch.trace.rewriting
    data = rewriting.result
    return report.Stretch(
        span=(stretch.start, stretch.end),
        text=stretch.text,
        normalized=to_text(data),
        charsmap=_record_searches(stretch.trace.walks),
        changes=tuple(
            report.Replacement(change.span, to_text(change.before), to_text(change.after))
            for change in rewriting.changes
        ),
        pre_tokens=tuple(_record_pre_token(pre_token, data) for pre_token in stretch.trace.pre_tokens),
        words=tuple(_record_word(word, stretch, encoder, ranks) for word in stretch.trace.words),
    )


def _record_pre_token(pre_token: engine.PreToken, data: bytes) -> report.PreToken:
    span = pre_token.start, pre_token.end
    return report.PreToken(span, to_text(data[slice(*span)]), pre_token.made_by)


def _record_word(word: engine.Word, stretch: engine.Stretch, encoder: Encoder, ranks: Ranks) -> report.Word:
    rewriting, how = stretch.trace.rewriting, word.how
    start, end = rewriting.source_span(word.start, word.end)
    ids = tuple(taken.id for taken in word.tokens)
    return report.Word(
        span=(word.start, word.end),
        source_span=(stretch.start + start, stretch.start + end),
        text=to_text(rewriting.result[word.start : word.end]),
        pre_token=word.pre_token,
        ids=ids,
        pieces=tuple(map(encoder.piece, ids)),
        merging=_record_merging(how, encoder, ranks) if isinstance(how, engine.Merging) else None,
        lattice=how if isinstance(how, report.Lattice) else None,
        matching=how if isinstance(how, report.Matching) else None,
        reason=how.reason if isinstance(how, engine.Whole) else None,
    )


def _record_merging(merging: engine.Merging, encoder: Encoder, ranks: Ranks) -> report.Merging:
    return report.Merging(
        by=merging.by,
        symbols=merging.symbols,
        symbol_ids=merging.ids,
        merges=tuple(_record_merges(merging, ranks)),
        byte_fallbacks=tuple(
            report.ByteFallback(
                spelled.symbol, spelled.ids, tuple(None if id is None else encoder.piece(id) for id in spelled.ids)
            )
            for spelled in merging.spelled
        ),
    )


def _record_merges(merging: engine.Merging, ranks: Ranks) -> Iterator[report.Merge]:
    is_short = len(merging.symbols) <= _MAX_SYMBOLS
    symbols = dict(enumerate(merging.symbols)) if is_short else {}
    ids = dict(enumerate(merging.ids)) if is_short else {}
    for join in merging.joins:
        if is_short:
            following = min(index for index in symbols if index > join.index)
            symbols[join.index] += symbols.pop(following)
            ids[join.index] = join.id
        order = sorted(symbols)
        yield report.Merge(
            symbol_index=join.index,
            pair=_add_rank(join.pair, ranks),
            competitors=tuple(_add_rank(rival, ranks) for rival in join.rivals),
            competitors_left_out=join.left_out,
            symbols=tuple(symbols[index] for index in order),
            merged_index=order.index(join.index) if is_short else 0,
            symbol_ids=tuple(ids[index] for index in order),
        )


def _add_rank(pair: report.Pair, ranks: Ranks) -> report.Pair:
    return replace(pair, reference_rank=ranks.get((pair.left, pair.right)))


def _record_searches(walks: Iterable[CharsmapWalk]) -> tuple[CharsmapSearch, ...]:
    """Record each different search once, with all places where it happens."""
    starts = group_values(((walk.root, walk.steps), walk.start) for walk in walks)
    searches = []
    for (root, steps), places in starts.items():
        endings = [(length, step.replacement) for length, step in enumerate(steps, 1) if step.replacement is not None]
        length, replacement = endings[-1] if endings else (0, None)
        searches.append(CharsmapSearch(tuple(places), root, steps, length, replacement))
    return tuple(searches)


def explain_decoding(encoder: Encoder, ids: Sequence[int], stopped_at: int | None = None) -> DecodingExplanation:
    """Explain how `ids` become a text; `stopped_at` is the index of the token that ended a longer list.

    Raises:
        EncodeError: If an id is outside the vocabulary.
    """
    pairs = _first_merges(encoder)
    tokens = tokens_of(encoder, ids)
    parts = _list_parts(encoder, ids)
    decoded = encoder.decode(ids)
    if b"".join(parts) != decoded:
        # A wrong explanation would be worse than none.
        raise RuntimeError(f"the explained parts of {list(ids)!r} are not the decoded text")
    cleaned_up = encoder.decode_as_llama_cpp(ids)
    return DecodingExplanation(
        name=encoder.name,
        algorithm=encoder.settings.algorithm,
        ids=tuple(ids),
        stopped_at=stopped_at,
        tokens=tuple(_explain_token(encoder, token, added, pairs) for token, added in zip(tokens, parts, strict=True)),
        decoded=decoded,
        cleaned_up=None if cleaned_up == decoded else cleaned_up,
    )


def _list_parts(encoder: Encoder, ids: Sequence[int]) -> list[bytes]:
    """Return the bytes that each id adds to the text."""
    joiner = encoder.settings.family.make_joiner()
    if joiner is None:
        return [encoder.decode(ids[:1]), *map(encoder.token_bytes, ids[1:])] if ids else []
    # A joiner holds back incomplete words, so its results do not belong to single ids.
    texts = accumulate(range(len(ids)), lambda _, index: encoder.decode(ids[: index + 1]), initial=b"")
    lengths = list(map(len, texts))
    decoded = encoder.decode(ids)
    return [decoded[start:end] for start, end in pairwise(lengths)]


def _explain_token(encoder: Encoder, token: Token, added: bytes, pairs: Pairs) -> DecodedToken:
    attribute = encoder.settings.attributes[token.id]
    return DecodedToken(
        token=token,
        type=Attribute(attribute).name or "UNDEFINED",
        rule=_rule(encoder, attribute),
        added=added,
        note=_note(token.token_bytes, added),
        merges=tuple(_list_token_merges(encoder, token, pairs)) if attribute & Attribute.NORMAL else (),
    )


def _rule(encoder: Encoder, attribute: int) -> str:
    if attribute & VERBATIM:
        return "its text"
    if attribute & Attribute.BYTE.value:
        return "the byte that it names"
    if not attribute & Attribute.NORMAL.value:
        return "nothing, because of its type"
    alphabet = encoder.settings.family.alphabet
    return {Alphabet.BYTE_LEVEL: "one byte per character", Alphabet.ESCAPED: "its text, with a space for ▁"}.get(
        alphabet, "by the rules of its model"
    )


def _note(own: bytes, added: bytes) -> str:
    if own == added:
        return ""
    if own == b" " + added:
        return "the space that encoding put before the text is removed"
    return "a space is inserted between words" if added == b" " + own else "it is joined with its neighbors"


def _first_merges(encoder: Encoder) -> Pairs:
    join = encoder.settings.family.join_pair
    pairs: dict[str, tuple[str, str]] = {}
    for merge in encoder.spec.merges or ():
        left, _, right = merge.partition(" ")
        pairs.setdefault(join(left, right), (left, right))
    return pairs


def _list_token_merges(encoder: Encoder, token: Token, pairs: Pairs) -> Iterator[TokenMerge]:
    """Yield the merge that builds a token, then those that build its parts, each token once."""
    pending, seen = [token], {token.id}
    while pending:
        whole = pending.pop(0)
        parts = [encoder.settings.ids.get(piece) for piece in pairs.get(whole.piece, ())]
        ids = [id for id in parts if id is not None]
        if not parts or len(ids) != len(parts):
            continue
        left, right = tokens_of(encoder, ids)
        yield TokenMerge(whole.id, whole.token_bytes, left, right)
        for part in (left, right):
            if part.id not in seen:
                seen.add(part.id)
                pending.append(part)
