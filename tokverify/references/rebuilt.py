"""The reference `rebuilt`: a HuggingFace tokenizer built from the GGUF file's own arrays.

It is another engine, with another set of patterns, for the same data. So it can prove that a file is encoded
correctly, but never that the file is correct.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers.processors import TemplateProcessing

from tokverify.engine.attribute import Attribute
from tokverify.engine.family import Ranking, Settings
from tokverify.engine.normalizer import ESCAPED_SPACE
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.engine.settings import resolve, without_ignored
from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.references.huggingface import HuggingFaceTokenizer
from tokverify.references.reference import FoundReference, Request
from tokverify.sources.huggingface.stage import RUNS_OF_SPACES, SPACES_AROUND
from tokverify.sources.huggingface.wordpiece import CONTINUATION
from tokverify.sources.original_pattern import ORIGINALS
from tokverify.spec import TokenizerSpec, TokenType, ids_of_type, split_merge
from tokverify.system.library_error import raised_as

CAVEAT = (
    "the reference is rebuilt from the GGUF file's own data: agreement proves that texts are encoded according to that "
    "data, not that the data is correct; a wrong token, merge, token type or pre-tokenizer name, or a normalizer that "
    "the conversion dropped, is wrong on both sides"
)

PATTERNS: Mapping[str, tuple[str, ...]] = {
    **{name: (ORIGINALS[name],) for name in ("gpt-2", "llama-bpe", "qwen2")},
    "default": (r"[\p{P}\$\+<=>\^~\|]+", ORIGINALS["gpt-2"], r"\p{N}+", "[0-9][0-9][0-9]"),
}
"""The patterns of the models after which the pre-tokenizers are named, as published in their tokenizer.json.

`default` is llama.cpp's own; there is no such model.
"""
_BYTES = 256
_DIFFERENCE = re.compile(r"--\[(?!\^)")
"""How a pattern takes the characters of one class from another."""


def load(request: Request) -> FoundReference:
    """Build a tokenizer from the request's spec.

    Raises:
        TokverifyError: If the request has no spec.
        UnsupportedError: If the library cannot be set up to do what the file declares.
    """
    if request.spec is None:
        raise TokverifyError("rebuilt: there is no GGUF file from which to rebuild a tokenizer")
    return rebuild(request.spec, request.settings or resolve(request.spec))


def rebuild(spec: TokenizerSpec, settings: Settings) -> FoundReference:
    """Build a reference from a spec and its effective settings; errors as for `load`."""
    try:
        tokenizer = build(without_ignored(spec), settings)
    except UnsupportedError as error:
        raise UnsupportedError(f"rebuilt: {error}; name a reference file instead") from error
    # What a unigram model of llama.cpp does otherwise depends on the stages around it.
    document = tokenizer.to_str().encode() if settings.family.ranking is Ranking.SCORE_SUM else None
    return FoundReference(
        HuggingFaceTokenizer(
            tokenizer,
            name="rebuilt",
            special_ids=dict(settings.special_ids),
            document=document,
            unused_ids=ids_of_type(spec.types, TokenType.UNUSED),
        ),
        source="rebuilt",
        caveat=CAVEAT + _caveat_of_ties(spec, settings),
        versions={"tokenizers": tokenizers.__version__},
        reads_model=True,
        is_rebuilt=True,
    )


def build(
    spec: TokenizerSpec, settings: Settings, *, patterns: Sequence[str] = (), own_patterns: bool = False
) -> Tokenizer:
    """Build the library's own tokenizer.

    Args:
        spec: What a file declares.
        settings: The effective settings.
        patterns: The patterns to split texts by; by default, those of the pre-tokenizer.
        own_patterns: Use the patterns of our own pre-tokenizer if no published ones are known.

    Raises:
        UnsupportedError: If the library cannot be set up to do what the file declares.
    """
    builder = _BUILDERS.get(settings.pre, _BUILDERS.get(settings.algorithm))
    patterns = patterns or patterns_of(settings.pre, own=own_patterns)
    if builder is None or (builder is _byte_level and not patterns):
        raise UnsupportedError(f"cannot rebuild the model {spec.model!r} with the pre-tokenizer {settings.pre!r}")
    _require_utf8(settings.pieces)
    with raised_as(UnsupportedError, "tokenizers cannot hold this vocabulary", quietly=True):
        tokenizer = builder(spec, settings)
        if builder is _byte_level:
            _add_patterns(tokenizer, patterns)
        _add_tokens(tokenizer, settings)
        _add_post_processor(tokenizer, settings)
    return tokenizer


def patterns_of(pre: str, *, own: bool) -> tuple[str, ...]:
    """Return the published patterns of a pre-tokenizer, or of one that is the same in llama.cpp; none if unknown."""
    patterns = PRE_TOKENIZERS[pre].patterns if pre in PRE_TOKENIZERS else ()
    for name, published in PATTERNS.items():
        if pre == name or PRE_TOKENIZERS[name].patterns == patterns:
            return published
    # Oniguruma has no difference of classes, but their intersection.
    strings = tuple(_DIFFERENCE.sub("&&[^", pattern) for pattern in patterns if isinstance(pattern, str))
    return strings if own and len(strings) == len(patterns) else ()


def _require_utf8(pieces: Sequence[str]) -> None:
    for id, piece in enumerate(pieces):
        try:
            piece.encode()
        except UnicodeEncodeError:
            raise UnsupportedError(f"the token {id} is not valid UTF-8, which tokenizers cannot hold") from None


def _spm(spec: TokenizerSpec, settings: Settings) -> Tokenizer:
    tokenizer = Tokenizer(_fallback_model(settings, merges_by_score(spec, settings)))
    steps = [normalizers.Prepend("▁")] if settings.add_space_prefix else []
    tokenizer.normalizer = normalizers.Sequence([*_clean_up(spec), *steps, normalizers.Replace(" ", "▁")])
    tokenizer.decoder = _sentencepiece_decoder(strips_space=settings.add_space_prefix)
    return tokenizer


def _unigram(spec: TokenizerSpec, settings: Settings) -> Tokenizer:
    scores = spec.scores or [0.0] * len(settings.pieces)
    has_bytes = len(ids_of_type(spec.types, TokenType.BYTE)) == _BYTES
    vocabulary = list(zip(settings.pieces, scores, strict=True))
    tokenizer = Tokenizer(models.Unigram(vocabulary, settings.special_ids.get("unk"), has_bytes))
    steps = [*([normalizers.NFC()] if settings.nfc else []), *_clean_up(spec)]
    # subtle: where llama.cpp merges spaces, every word begins with one, even if the file asks for no space prefix.
    is_prefixed = settings.remove_extra_whitespaces or settings.add_space_prefix
    if settings.remove_extra_whitespaces:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(split=False)
    else:
        steps += [*([normalizers.Prepend("▁")] if is_prefixed else []), normalizers.Replace(" ", "▁")]
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.decoder = _sentencepiece_decoder(strips_space=is_prefixed)
    return tokenizer


def _clean_up(spec: TokenizerSpec) -> Iterator[normalizers.Normalizer]:
    """Yield what sentencepiece does to a text before it writes spaces as `▁`."""
    if spec.charsmap:
        yield normalizers.Precompiled(spec.charsmap)
    if spec.remove_extra_whitespaces:
        yield normalizers.Replace(Regex(SPACES_AROUND["Regex"]), "")
        yield normalizers.Replace(Regex(RUNS_OF_SPACES["Regex"]), " ")


def _wordpiece(spec: TokenizerSpec, settings: Settings) -> Tokenizer:
    del spec
    unknown = settings.special_ids.get("unk")
    if unknown is None:
        raise UnsupportedError("tokenizers cannot hold a WordPiece model without an unknown token")
    special = {*settings.special_ids.values(), *(token.id for token in settings.added_tokens)}
    pieces = [_as_in_vocab_txt(piece, is_special=id in special) for id, piece in enumerate(settings.pieces)]
    vocabulary = {piece: id for id, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=pieces[unknown]))
    tokenizer.normalizer = normalizers.BertNormalizer(
        lowercase=settings.lowercase, strip_accents=settings.strip_accents
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(CONTINUATION, settings.clean_spaces)
    return tokenizer


def _as_in_vocab_txt(piece: str, *, is_special: bool) -> str:
    """Mark a piece that continues a word; in GGUF, those that begin one are marked."""
    if piece.startswith(ESCAPED_SPACE):
        return piece.removeprefix(ESCAPED_SPACE)
    return piece if is_special else CONTINUATION + piece


def _sentencepiece_decoder(*, strips_space: bool) -> decoders.Decoder:
    strip = [decoders.Strip(" ", 1, 0)] if strips_space else []
    return decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), *strip])


def _gemma4(spec: TokenizerSpec, settings: Settings) -> Tokenizer:
    """Merge the whole text by rank, as the model's own tokenizer.json does."""
    tokenizer = Tokenizer(_fallback_model(settings, _merges(spec, settings)))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return tokenizer


def _byte_level(spec: TokenizerSpec, settings: Settings) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(dict(settings.ids), _merges(spec, settings), ignore_merges=settings.ignore_merges))
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _add_patterns(tokenizer: Tokenizer, patterns: Sequence[str]) -> None:
    splits = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )


def _cpp_hybrid(spec: TokenizerSpec, settings: Settings) -> Tokenizer:
    from tokverify.sources.huggingface.cpp_hybrid import build

    pairs = (merge.partition(" ") for merge in spec.merges or ())
    return build(settings.ids, [(left, right) for left, _, right in pairs])


_BUILDERS: Mapping[str, Callable[[TokenizerSpec, Settings], Tokenizer]] = {
    "spm": _spm,
    "bpe": _byte_level,
    "gemma4": _gemma4,
    "unigram": _unigram,
    "wordpiece": _wordpiece,
    "cpp-hybrid": _cpp_hybrid,
}
"""Pre-tokenizer or algorithm -> the function that builds its tokenizer; the pre-tokenizer takes precedence."""


def _fallback_model(settings: Settings, merges: list[tuple[str, str]]) -> models.BPE:
    """Build a model that encodes what no piece matches as bytes or as the unknown token."""
    unk = settings.special_ids.get("unk")
    return models.BPE(
        dict(settings.ids),
        merges,
        unk_token=None if unk is None else settings.pieces[unk],
        fuse_unk=True,
        byte_fallback=True,
    )


def _merges(spec: TokenizerSpec, settings: Settings) -> list[tuple[str, str]]:
    known = settings.ids.keys()
    merges: dict[tuple[str, str], int] = {}
    for rank, merge in enumerate(spec.merges or ()):
        left, right = split_merge(merge)
        if not right or not {left, right, left + right} <= known:
            raise UnsupportedError(
                f"tokenizers cannot hold merge {rank}, {merge!r}: both parts and the result must be in the vocabulary"
            )
        # If a merge is listed twice, the first one counts.
        merges.setdefault((left, right), rank)
    return list(merges)


def merges_by_score(spec: TokenizerSpec, settings: Settings) -> list[tuple[str, str]]:
    """Convert scores to merges: every split of a piece into two others, in descending order of the score."""
    pieces = settings.pieces
    # Pieces with a real space are matched before merging, when spaces have already become `▁`.
    ids = [id for id in _mergeable_ids(settings) if " " not in pieces[id]]
    known = {pieces[id] for id in ids}
    scores = spec.scores or [0.0] * len(pieces)
    merges: list[tuple[str, str]] = []
    for id in sorted(ids, key=lambda id: -scores[id]):
        piece = pieces[id]
        splits = ((piece[:end], piece[end:]) for end in range(len(piece) - 1, 0, -1))
        merges += [(left, right) for left, right in splits if left in known and right in known]
    return merges


def _mergeable_ids(settings: Settings) -> list[int]:
    """Return the ids of the pieces that sentencepiece merges."""
    fixed = Attribute.CONTROL | Attribute.UNKNOWN | Attribute.BYTE
    return [id for id, attribute in enumerate(settings.attributes) if not attribute & fixed]


def _caveat_of_ties(spec: TokenizerSpec, settings: Settings) -> str:
    """Mention pieces of equal score, which this engine cannot merge from left to right."""
    tied = count_tied(spec, settings)
    return f"; {tied} pieces share a score, and this engine may merge those in another order" if tied else ""


def count_tied(spec: TokenizerSpec, settings: Settings) -> int:
    """Count the pieces that share their score with another one, if pieces are merged in the order of scores."""
    if settings.family.ranking is not Ranking.SCORE:
        return 0
    ids = [id for id in _mergeable_ids(settings) if not settings.attributes[id] & Attribute.USER_DEFINED]
    scores = Counter((spec.scores or [0.0] * len(spec.tokens))[id] for id in ids)
    return sum(count for count in scores.values() if count > 1)


def _add_tokens(tokenizer: Tokenizer, settings: Settings) -> None:
    tokenizer.add_tokens(
        [
            AddedToken(
                token.text,
                special=token.special,
                lstrip=token.lstrip,
                rstrip=token.rstrip,
                normalized=False,
            )
            for token in settings.added_tokens
        ]
    )


def _add_post_processor(tokenizer: Tokenizer, settings: Settings) -> None:
    ids = settings.special_ids
    names = {role: _name_in_template(role, settings.pieces[id]) for role, id in ids.items()}
    before, after = ([role for role in roles if role in ids] for roles in settings.family.affix_roles(settings))
    if before or after:
        used = {names[role]: ids[role] for role in (*before, *after)}
        tokenizer.post_processor = TemplateProcessing(
            single=[*(names[role] for role in before), "$A", *(names[role] for role in after)],
            special_tokens=[{"id": name, "ids": [id], "tokens": [name]} for name, id in used.items()],
        )


def _name_in_template(role: str, piece: str) -> str:
    """Name a token by its piece, which other libraries look up, unless that has a meaning in a template."""
    return role.upper() if not piece or set(piece) & set(":$ \t\r\n") else piece
