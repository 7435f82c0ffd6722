"""Find out that a reference is damaged: it no longer produces its own tokens, or no longer decodes what it encodes.

A library can lose a stage of a tokenizer when it loads and saves it. Neither side is right because of its name, so both
are put to the same test, and the reference is blamed only if the model passes it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, starmap
from math import frexp, ldexp
from operator import le, ne

from tokverify.compare.digest import make_difference
from tokverify.compare.opened import Opened
from tokverify.engine.byte_level import SPELLED_SPACE
from tokverify.engine.encoder import Encoder
from tokverify.engine.families import find_family
from tokverify.engine.family import Alphabet
from tokverify.engine.joined_strings import find_changed
from tokverify.engine.normalizer import ESCAPED_SPACE
from tokverify.engine.piece_index import listed_pieces
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, splitter
from tokverify.engine.special_text import BYTE_PIECE
from tokverify.report.finding import ERROR
from tokverify.report.run import NEARLY_ALL
from tokverify.report.tokenizer_difference import Aspect, Origin, TokenizerDifference
from tokverify.sources.huggingface.document import Document
from tokverify.sources.nearest_pattern import count_differences, original_name_of, probe_texts
from tokverify.spec import TokenizerSpec, pieces_made_by
from tokverify.text.sequence import thin_out
from tokverify.text.utf8 import from_utf8
from tokverify.text.wording import list_tokens, plural, quote
from tokverify.texts.batch import decode_all, encode_plain
from tokverify.tokenizer import Tokenizer, why_hidden

CODE = "TV213"
"""The rule that reports the same."""
_BLAME = "the reference is at fault"
_ENCODINGS = ("latin-1", "cp1252")
"""What a program reads text in that expects no UTF-8."""
_MOST = 2_000
"""At most this many tokens are encoded alone; of more, an even sample."""
_LEAST, _LEAST_SHARE, _SUSPICIOUS_SHARE = 8, 0.05, 0.01
"""So many tokens must be lost; fewer if the stages are suspicious, too.

With a pattern of another model, all tokens of Qwen 3 come back, and with its own 1.2% do not.
"""
_MOST_DIGITS, _TOLERANCE = 4, 1e-4
"""Of scores; a float of 32 bits has seven digits, of which two or three are before the point."""
_SHORT_FLOATS = {"float16": 11, "bfloat16": 8}
"""Name -> the bits of its mantissa; models are stored so, and a vocabulary that was made of one has such scores."""
_OPPOSED = 10
"""As many times more tokens must speak for the model than for the reference."""
_CONTINUATION = "##"
"""What the pieces that continue a word begin with in a WordPiece vocabulary."""
_WORDS, _SPANNING = 500, 0.001
"""Of so many pieces that begin with a space, a trainer that splits no text makes more than this share from several."""
_SEVERAL_WORDS = re.compile(f"[A-Za-z]{SPELLED_SPACE}[A-Za-z]")
_MANY_WORDS = 10_000
"""Among so many pieces that begin with a space there are years and brackets, unless a trainer split them."""
_SEPARATED = (
    ("digits", re.compile("[0-9].|.[0-9]", re.DOTALL), "a 12", "joins a digit with another character", "single digits"),
    ("punctuation", re.compile(f"{SPELLED_SPACE}[!-/:-@\\[-`{{-~]"), "a (", "is a space with a sign", "single signs"),
)
"""What a stage separates, the pieces that this makes impossible, a text that it splits, and words for both."""
_BYTES = 256
_RARE = "\ue000"
"""A character for private use, which no trainer makes a piece of."""
_TEXTS = ("Hello world", "The cat sat on the mat", "one two three", "a b c d")
"""Texts that every decoder restores."""
_SPACED = (" Hello world", " one two three")
"""Texts that a decoder restores if it removes only the space that its encoder adds."""


def find_lost_tokens(actual: Tokenizer, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that the reference splits many of its own tokens, which come back as themselves in the model.

    A vocabulary is trained on the pieces that its pre-tokenizer makes, so nearly all of its tokens come back if their
    texts are encoded alone. If they do so on one side only, the other one splits texts in another way. Only a
    tokenizer.json of BPE that splits at a pattern is put to this test: elsewhere, a space before each text, or types of
    tokens, have the same effect, and they are faults of either side. WordPiece loses all continuations of words if
    their prefix is another one.
    """
    yield from _find_lost_continuations(actual, facts)
    yield from _find_lost_case(actual, facts)
    yield from _find_lost_spaces(actual, facts)
    yield from _find_lost_fallback(actual, facts)
    yield from _find_lost_pattern(actual, facts)
    yield from _find_lost_stage(actual, facts)
    yield from _find_replaced_pattern(actual, facts)
    yield from _find_lost_merges(actual, facts)
    lacks_byte_stage = _lacks_byte_stage(facts)
    if facts.tokenizer is None or not (lacks_byte_stage or _splits_into_words(facts)):
        return
    # A reference without that stage does not know either which bytes its pieces spell.
    is_suspicious = _lacks_look_up(actual, facts)
    most = None if is_suspicious else _MOST
    texts = _texts_of_tokens(actual, facts.tokenizer, facts, most, is_spelled=lacks_byte_stage)
    ours, theirs = (_count_returning(side, texts) for side in (actual, facts.tokenizer))
    lost, gained = sorted(ours - theirs), theirs - ours
    reason = _explain_missing_stage(facts) if lacks_byte_stage else _explain_splits(facts)
    share = _SUSPICIOUS_SHARE if reason else _LEAST_SHARE
    if is_suspicious:
        reason, share = "its ignore_merges, which goes with its pattern, is lost", 0.0
    if len(lost) < max(_LEAST, share * len(texts), _OPPOSED * len(gained)):
        return
    reason = reason if is_suspicious else _explain_merges(lost, actual, facts) or reason
    names = list_tokens(lost, {id: actual.piece(id) for id in lost})
    message = (
        f"{_BLAME}: {reason or 'it does not split texts as its vocabulary was trained'}, and so it splits its own"
        f" tokens, such as {names}; of {plural(len(texts), 'token')} whose texts were encoded alone, {len(ours):,} come"
        f" back as themselves in the model, but only {len(theirs):,} in the reference"
    )
    yield make_difference(Aspect.SPLITTING, ERROR, message, lost, origin=Origin.REFERENCE)


def _find_lost_continuations(actual: Tokenizer, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a WordPiece reference does not use the continuations of its vocabulary, as the model does."""
    document = facts.document
    if document is None or document.model_type != "WordPiece":
        return
    prefix = document.model.get("continuing_subword_prefix")
    if prefix is None or prefix == _CONTINUATION:
        return
    lost = [id for id, piece in enumerate(facts.pieces[: actual.vocab_size]) if piece.startswith(_CONTINUATION)]
    known = [id for id in lost if actual.piece(id) == facts.pieces[id].removeprefix(_CONTINUATION)]
    if len(known) >= max(_LEAST, NEARLY_ALL * len(lost)):
        names = list_tokens(known, facts.pieces)
        message = (
            f"{_BLAME}: its continuing_subword_prefix is {quote(prefix)}, but {len(known):,} of its pieces begin with"
            f" {_CONTINUATION}, such as {names}, so that it uses none of them"
        )
        yield make_difference(Aspect.SPLITTING, ERROR, message, known, origin=Origin.REFERENCE)


def _find_lost_case(actual: Tokenizer, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a WordPiece reference lowercases, or does not, against its own vocabulary, as the model does not."""
    document = facts.document
    if document is None or document.model_type != "WordPiece" or not isinstance(actual, Encoder):
        return
    kinds = {stage["type"]: stage for stage in document.normalizer}
    lowercases = "Lowercase" in kinds or bool(kinds.get("BertNormalizer", {}).get("lowercase"))
    if lowercases == actual.settings.lowercase:
        return
    words = [piece for piece in facts.pieces if not piece.startswith("[")]
    capital = [piece for piece in words if piece != piece.lower()]
    if lowercases and len(capital) >= max(_LEAST, _LEAST_SHARE * len(words)):
        reason = f"its lowercase is on, but {plural(len(capital), 'piece')} of it have capitals, and are never used"
    elif not lowercases and len(words) > _LEAST and len(capital) * _MOST < len(words):
        reason = "its lowercase is off, but no piece of it has a capital, so that it knows no word with one"
    else:
        return
    yield make_difference(Aspect.SPLITTING, ERROR, f"{_BLAME}: {reason}", origin=Origin.REFERENCE)


def _find_lost_spaces(actual: Tokenizer, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that no stage of a reference writes spaces as its pieces have them, and the model does."""
    document = facts.document
    if document is None or document.model_type == "WordPiece" or not isinstance(actual, Encoder):
        return
    stages = (*document.normalizer, *document.pre_tokenizer)
    is_written = any(stage["type"] == "Metaspace" or ESCAPED_SPACE in str(stage) for stage in stages)
    if is_written or actual.settings.family.alphabet is not Alphabet.ESCAPED:
        return
    lost = [id for id, piece in enumerate(facts.pieces) if piece.startswith(ESCAPED_SPACE)]
    if len(lost) >= max(_LEAST, _LEAST_SHARE * len(facts.pieces)):
        message = (
            f"{_BLAME}: no stage of it writes spaces as ▁, with which {plural(len(lost), 'piece')} of it begin, such as"
            f" {list_tokens(lost, facts.pieces)}, so that it uses none of them"
        )
        yield make_difference(Aspect.SPLITTING, ERROR, message, lost, origin=Origin.REFERENCE)


def _find_lost_fallback(actual: Tokenizer, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a reference no longer uses its byte tokens, which its own decoder joins, and the model does."""
    document = facts.document
    if document is None or document.model.get("byte_fallback") is not False or not isinstance(actual, Encoder):
        return
    known = {id for id, piece in enumerate(facts.pieces) if BYTE_PIECE.fullmatch(piece)}
    joins = any(stage.get("type") == "ByteFallback" for stage in _decoder_stages(document))
    if len(known) < _BYTES or not joins:
        return
    (ids,) = encode_plain(actual, [_RARE])
    if ids and known.intersection(ids):
        message = (
            f"{_BLAME}: its byte_fallback is off, although it has all {_BYTES} byte tokens and its decoder joins them"
            " (ByteFallback), so that it uses none of them"
        )
        yield make_difference(Aspect.SPLITTING, ERROR, message, sorted(known), origin=Origin.REFERENCE)


def _find_lost_pattern(actual: Tokenizer, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a byte-level reference splits no text, though its pieces were trained on words, and the model does.

    All of its tokens still come back as themselves.
    """
    document = facts.document
    if document is None or document.model_type != "BPE" or not isinstance(actual, Encoder):
        return
    stages = document.pre_tokenizer
    splits = any(stage["type"] != "ByteLevel" or stage["use_regex"] for stage in stages)
    if splits or not stages or not actual.settings.family.is_bpe:
        return
    words = [id for id, piece in enumerate(facts.pieces) if piece.startswith(SPELLED_SPACE)]
    spanning = sum(_SEVERAL_WORDS.search(piece) is not None for piece in facts.pieces)
    text = _TEXTS[0]
    if len(words) < _WORDS or spanning > _SPANNING * len(words):
        return
    if splitter(PRE_TOKENIZERS[actual.settings.pre])(text) != [text]:
        message = (
            f"{_BLAME}: no stage of its pre-tokenizer splits a text, but of its {len(words):,} pieces that begin with a"
            f" space, {spanning or 'none'} {'have' if spanning > 1 else 'has'} a second word, so that they were trained"
            " with a pattern, which is lost"
        )
        yield make_difference(Aspect.SPLITTING, ERROR, message, origin=Origin.REFERENCE)


def _find_lost_stage(actual: Tokenizer, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a byte-level reference has lost a stage, such as that for digits, with which its pieces were trained.

    All of its tokens still come back as themselves, and only spaces before numbers or signs get other ids.
    """
    document = facts.document
    if document is None or document.model_type != "BPE" or not isinstance(actual, Encoder):
        return
    is_plain = [stage["type"] == "ByteLevel" and stage["use_regex"] for stage in document.pre_tokenizer] == [True]
    if not is_plain or not actual.settings.family.is_bpe:
        return
    words = sum(piece.startswith(SPELLED_SPACE) for piece in facts.pieces)
    if words < _MANY_WORDS:
        return
    split = splitter(PRE_TOKENIZERS[actual.settings.pre])
    for name, pattern, text, joins, trained in _SEPARATED:
        joined = sum(pattern.search(piece) is not None for piece in document.tables.vocab)
        if joined <= _SPANNING * words and {*text} == {*split(text)}:
            message = (
                f"{_BLAME}: its pre-tokenizer leaves spaces and {name} together, but {joined or 'none'} of its"
                f" {len(facts.pieces):,} pieces {joins}, so that they were trained with {trained}; transformers 5 saves"
                " this if tokenizer_config.json names GPT2Tokenizer"
            )
            yield make_difference(Aspect.SPLITTING, ERROR, message, origin=Origin.REFERENCE)
            return


def _find_replaced_pattern(actual: Tokenizer, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a tokenizer.json splits in another way than the configuration beside it says, as the model does.

    Classes of transformers 5 replace the pattern of a tokenizer.json, and keep `pretokenize_regex` as they found it.
    """
    split, configured = facts.split, facts.configured_split
    if split is None or configured is None or not isinstance(actual, Encoder) or not actual.settings.family.is_bpe:
        return
    ours, texts = PRE_TOKENIZERS[actual.settings.pre], probe_texts()
    follows = (
        count_differences(ours, list(zip(texts, map(each, texts), strict=True)), 1) == 0 for each in (configured, split)
    )
    if list(follows) == [True, False]:
        message = (
            f"{_BLAME}: its pre-tokenizer does not split as the pretokenize_regex of tokenizer_config.json says, but"
            f" that of the model ({actual.settings.pre}) does; transformers 5 saves this if it loads the tokenizer with"
            " the class of another model"
        )
        yield make_difference(Aspect.SPLITTING, ERROR, message, origin=Origin.REFERENCE)


def _find_lost_merges(actual: Tokenizer, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that no merge makes many tokens of a reference which looks up whole pre-tokens, and the model's merges do.

    All of its tokens still come back as themselves.
    """
    ranking = facts.ranking if facts.ignore_merges else None
    if ranking is None or not ranking.merges or not isinstance(actual, Encoder) or not actual.settings.family.is_bpe:
        return
    merges = actual.spec.merges or ()
    if len(merges) <= len(ranking.merges):
        return
    ours, theirs = set(pieces_made_by(merges)), set(pieces_made_by(ranking.merges))
    pieces = enumerate(zip(actual.settings.pieces, facts.pieces, strict=False))
    lost = [id for id, (piece, other) in pieces if piece == other and piece in ours and piece not in theirs]
    if len(lost) >= max(_LEAST, _LEAST_SHARE * len(facts.pieces), _OPPOSED * len(theirs - ours)):
        message = (
            f"{_BLAME}: merges are missing (it has {len(ranking.merges):,}), and so none of them makes"
            f" {plural(len(lost), 'token')} of its own, such as {list_tokens(lost, facts.pieces)}, which those of the"
            " model make"
        )
        yield make_difference(Aspect.SPLITTING, ERROR, message, lost, origin=Origin.REFERENCE)


def _splits_into_words(facts: Opened) -> bool:
    """Whether the reference is a tokenizer.json of BPE that splits at a pattern, and adds no space before a text."""
    if facts.document is None or facts.document.model_type != "BPE":
        return False
    stages = facts.document.pre_tokenizer
    byte_level = [stage for stage in stages if stage["type"] == "ByteLevel"]
    adds_space = any(stage.get("add_prefix_space") or stage["type"] == "Metaspace" for stage in stages)
    prepends = any(stage["type"] == "Prepend" for stage in facts.document.normalizer)
    return bool(byte_level or _has_pattern(facts)) and not adds_space and not prepends


def _has_pattern(facts: Opened) -> bool:
    stages = facts.document.pre_tokenizer if facts.document else ()
    return any(stage["type"] == "Split" and "Regex" in stage["pattern"] for stage in stages)


def _lacks_byte_stage(facts: Opened) -> bool:
    """Whether a tokenizer.json has a byte-level vocabulary, and no stage that spells texts in its alphabet."""
    document = facts.document
    if document is None or document.model_type != "BPE":
        return False
    if any(stage["type"] == "ByteLevel" for stage in (*document.normalizer, *document.pre_tokenizer)):
        return False
    pieces = listed_pieces(document.tables.vocab)
    sample = pieces[:: 1 + len(pieces) // _MOST]
    beginning = Counter(piece[:1] for piece in sample)
    return beginning[SPELLED_SPACE] > _LEAST_SHARE * len(sample) > beginning[ESCAPED_SPACE]


def _lacks_look_up(actual: Tokenizer, facts: Opened) -> bool:
    """Whether only the model looks up whole pre-tokens, and llama.cpp's converter names the reference's pattern alike.

    Of Llama 3, 588 tokens are found in no other way; libraries of 2023 lose the setting.
    """
    pre = PRE_TOKENIZERS[actual.settings.pre] if isinstance(actual, Encoder) and actual.settings.family.is_bpe else None
    if pre is None or not pre.ignore_merges or facts.ignore_merges is not False or facts.split is None:
        return False
    name = original_name_of(facts.split)
    return name is not None and PRE_TOKENIZERS[name] == pre


def _texts_of_tokens(
    actual: Tokenizer, expected: Tokenizer, facts: Opened, most: int | None, *, is_spelled: bool
) -> dict[int, str]:
    """Return the texts of a sample of the tokens that the two sides share, those of one character left out.

    Args:
        actual: The model.
        expected: The reference.
        facts: What else is known of the reference.
        most: The size of the sample; None for all tokens.
        is_spelled: Whether a token with the same piece is shared, as the pieces of the reference spell bytes.
    """
    added, is_hidden = facts.added_tokens or {}, bool(why_hidden(expected))
    found: dict[int, str] = {}
    ids = range(min(actual.vocab_size, expected.vocab_size))
    for id in ids if most is None else thin_out(ids, most):
        data = actual.token_bytes(id)
        text = from_utf8(data)
        is_shared = is_hidden or expected.token_bytes(id) == data
        is_shared = is_shared or (is_spelled and expected.piece(id) == actual.piece(id))
        if text and len(text) > 1 and id not in added and is_shared:
            found[id] = text
    return found


def _count_returning(tokenizer: Tokenizer, texts: dict[int, str]) -> set[int]:
    encoded = encode_plain(tokenizer, list(texts.values()))
    return {id for id, ids in zip(texts, encoded, strict=True) if ids == (id,)}


def _explain_missing_stage(facts: Opened) -> str:
    stages = facts.document.pre_tokenizer if facts.document else ()
    names = ", ".join(stage["type"] for stage in stages) or "nothing"
    return (
        f"its vocabulary is byte-level and its pre-tokenizer ({names}) is not, which is what transformers 5 saves if"
        " tokenizer_config.json names LlamaTokenizer"
    )


def _explain_merges(lost: Sequence[int], actual: Tokenizer, facts: Opened) -> str:
    """Say that merges are missing, if none makes most of the lost tokens, or sorted; empty if neither is so."""
    ranking = facts.ranking
    if ranking is None or not ranking.merges:
        return ""
    made = set(pieces_made_by(ranking.merges))
    unmade = [id for id in lost if facts.pieces[id] not in made]
    if len(unmade) >= NEARLY_ALL * len(lost):
        return f"merges are missing (it has {len(ranking.merges):,})"
    ours = actual.spec.merges if isinstance(actual, Encoder) else None
    if ours and not all(starmap(le, pairwise(ours))) and all(starmap(le, pairwise(ranking.merges))):
        return f"its {len(ranking.merges):,} merges are sorted by their texts, and not by their ranks"
    return ""


def explain_misread_tokens(pieces: Sequence[str], facts: Opened) -> str:
    """Say that the tokens of a reference are UTF-8 that was read in another encoding, and the model's are not.

    A byte-level vocabulary spells bytes in an alphabet that looks the same.

    Args:
        pieces: The tokens of the model.
        facts: What is known of the reference.

    Returns:
        What is wrong and what to do; empty if it is not so.
    """
    differing = find_changed(pieces, facts.pieces)
    if not differing or facts.spec is None or _spells_bytes(facts.spec, facts.document):
        return ""
    pairs = {id: (facts.pieces[id], pieces[id]) for id in differing}
    misread = [id for id, pair in pairs.items() if any(is_misread(*pair, encoding) for encoding in _ENCODINGS)]
    if len(misread) < max(_LEAST, NEARLY_ALL * len(differing)):
        return ""
    return (
        f"{_BLAME}: {plural(len(misread), 'token')} are UTF-8 that was read in another encoding:"
        f" {list_tokens(misread, facts.pieces)}; name another reference with -r, and leave the model as it is"
    )


def explain_rounded_scores(spec: TokenizerSpec, facts: Opened) -> str:
    """Say that the scores of a reference are those of the model, rounded; empty if they are not."""
    reference, scores = facts.spec, (facts.spec.scores if facts.spec else None)
    if reference is None or not scores or not spec.scores:
        return ""
    # Padding behind the tokens of either side has scores of its own.
    size = min(len(spec.tokens), len(reference.tokens))
    moved = set(find_changed(spec.tokens[:size], reference.tokens[:size]))
    pairs = [(spec.scores[id], scores[id]) for id in range(size) if id not in moved]
    if len({other for _, other in pairs}) >= len({one for one, _ in pairs}):
        return ""
    if all(abs(one - other) <= _TOLERANCE for one, other in pairs):
        return ""
    for name, rounded in _rounders():
        if all(abs(rounded(one) - other) < _TOLERANCE for one, other in pairs):
            advice = "name another reference with -r, and leave the model as it is"
            scores_are = f"its scores are those of the model, rounded to {name}"
            return f"{_BLAME}: {scores_are}, so that pieces rank alike that should not; {advice}"
    return ""


def _rounders() -> Iterator[tuple[str, Callable[[float], float]]]:
    for digits in range(_MOST_DIGITS):
        yield plural(digits, "decimal"), partial(round, ndigits=digits)
    for name, bits in _SHORT_FLOATS.items():
        yield name, partial(_round_bits, bits=bits)


def _round_bits(number: float, bits: int) -> float:
    mantissa, exponent = frexp(number)
    return ldexp(round(ldexp(mantissa, bits)), exponent - bits)


def _spells_bytes(spec: TokenizerSpec, document: Document | None) -> bool:
    family = find_family(spec.model)
    return document.is_byte_level if document else family is None or family.is_bpe


def is_misread(piece: str, right: str, encoding: str) -> bool:
    """Whether a piece is what becomes of the right one if its UTF-8 is read in another encoding."""
    wanted = right.encode("utf-8", "surrogateescape")
    return b"".join(_to_byte(character, encoding) for character in piece) == wanted


def _to_byte(character: str, encoding: str) -> bytes:
    # A marker of a space may have been put in afterward.
    try:
        return character.encode(encoding)
    except UnicodeEncodeError:
        return character.encode("utf-8", "surrogateescape")


def _explain_splits(facts: Opened) -> str:
    """Say what about the pre-tokenizer of a tokenizer.json is suspicious; empty if nothing is."""
    stages = facts.document.pre_tokenizer if facts.document else ()
    types = [stage["type"] for stage in stages]
    if "ByteLevel" not in types and _has_pattern(facts):
        return (
            "its pre-tokenizer splits at a pattern, although its vocabulary is not byte-level, as if transformers had"
            " loaded it with fix_mistral_regex"
        )
    if not any(stage["type"] == "ByteLevel" and stage["use_regex"] for stage in stages):
        return ""
    if "Split" in types:
        return "its ByteLevel splits each part of a text a second time, as GPT-2 does (use_regex)"
    return (
        "its pre-tokenizer has no Split and splits texts as GPT-2 does (ByteLevel with use_regex), which is what"
        " transformers saves if it loads the tokenizer with the wrong class"
    )


def find_broken_decoder(actual: Tokenizer, facts: Opened) -> str:
    """Say that the reference does not decode plain texts to themselves, although the model does; empty if it does."""
    for texts in (_TEXTS, _SPACED):
        if shown := _decode_wrongly(texts, actual, facts):
            return (
                f"{_BLAME}: {_explain_decoder(facts)}, and so it decodes {quote(texts[0], mark_spaces=True)} as"
                f" {quote(shown, mark_spaces=True)}, unlike the model"
            )
    return ""


def _decode_wrongly(texts: Sequence[str], actual: Tokenizer, facts: Opened) -> str:
    """Return what the reference decodes the first text to if it restores none and the model all; empty otherwise."""
    expected = facts.tokenizer
    encoded = encode_plain(expected, texts) if expected else [None]
    if expected is None or None in encoded or not _keeps_first_spaces(expected, texts, encoded):
        return ""
    all_ids = [ids for ids in encoded if ids is not None]
    ours, theirs = decode_all(actual, expected, all_ids), decode_all(expected, actual, all_ids)
    wanted = [text.encode() for text in texts]
    if list(ours) != wanted or any(text in wanted or not isinstance(text, bytes) for text in theirs):
        return ""
    return next(text.decode("utf-8", "replace") for text in theirs if isinstance(text, bytes))


def _keeps_first_spaces(tokenizer: Tokenizer, texts: Sequence[str], encoded: Sequence[object]) -> bool:
    """Whether the ids of texts show the space that they begin with, if any, which those of WordPiece do not."""
    bare = [text.lstrip() for text in texts]
    return bare == list(texts) or all(map(ne, encode_plain(tokenizer, bare), encoded))


def _explain_decoder(facts: Opened) -> str:
    if facts.document is None:
        return "its decoder does not undo what its encoder does"
    stages = _decoder_stages(facts.document)
    if not stages:
        return "its tokenizer.json has no decoder"
    names = ", ".join(str(stage.get("type")) for stage in stages)
    before = [str(stage["type"]) for stage in (*facts.document.normalizer, *facts.document.pre_tokenizer)]
    return f"the decoder of its tokenizer.json ({names}) does not undo what is done to a text ({', '.join(before)})"


def _decoder_stages(document: Document) -> Sequence[dict[str, object]]:
    decoder = document.outline.get("decoder") or {}
    stages: Sequence[dict[str, object]] = decoder.get("decoders") or ([decoder] if decoder else [])
    return stages


def blame_decoder(difference: TokenizerDifference, actual: Tokenizer, facts: Opened) -> TokenizerDifference:
    """Return a difference in decoding, with the reference as its origin if its decoder is broken."""
    reason = find_broken_decoder(actual, facts)
    if not reason:
        return difference
    return replace(difference, message=f"{difference.message}: {reason}", origin=Origin.REFERENCE, code=CODE)
