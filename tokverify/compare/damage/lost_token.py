"""Find out that a reference no longer produces its own tokens, or has lost their merges or their types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise, starmap
from operator import le

from tokverify.compare.damage.difference import LEAST, LEAST_SHARE, OPPOSED, damage_difference
from tokverify.compare.marker import read_template
from tokverify.compare.opened import Opened
from tokverify.engine.attribute import Attribute
from tokverify.engine.byte_level import SPELLED_SPACE
from tokverify.engine.encoder import Encoder
from tokverify.engine.family import Ranking
from tokverify.engine.joined_strings import find_containing
from tokverify.engine.normalizer import ESCAPED_SPACE, unescape_spaces
from tokverify.engine.piece_index import listed_pieces
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, splitter
from tokverify.engine.special_text import BYTE_PIECE
from tokverify.report.tokenizer_difference import TokenizerDifference
from tokverify.report.vocabulary_difference import NEARLY_ALL
from tokverify.sources.nearest_pattern import original_name_of
from tokverify.spec import ADDED_TYPES, ids_of_type, pieces_made_by, split_merges
from tokverify.text.sequence import thin_out
from tokverify.text.utf8 import from_utf8
from tokverify.text.wording import list_tokens, plural, quote
from tokverify.texts.batch import encode_plain
from tokverify.texts.token_text import is_marker
from tokverify.texts.unmade_token import unmade_by
from tokverify.tokenizer import PatternHolding, Tokenizer, why_hidden

_MOST = 2_000
"""At most this many tokens are encoded alone; of more, an even sample."""
_SHOWN_MERGES = 3
_NORMAL = Attribute.NORMAL.value
_SPECIAL = frozenset({Attribute.CONTROL.value, Attribute.USER_DEFINED.value})
_SUSPICIOUS_SHARE = 0.01
"""The share of tokens that must be lost if the stages are suspicious, too.

With a pattern of another model, all tokens of Qwen 3 come back, and with its own 1.2% do not.
"""


def find_lost_tokens(actual: Tokenizer, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that the reference splits many of its own tokens, which come back as themselves in the model.

    A vocabulary is trained on the pieces that its pre-tokenizer makes, so nearly all of its tokens come back if their
    texts are encoded alone. If they do so on one side only, the other one splits texts in another way. Only a
    tokenizer.json of BPE that splits at a pattern is put to this test: elsewhere, a space before each text, or types of
    tokens, have the same effect, and they are faults of either side.
    """
    lacks_byte_stage = _lacks_byte_stage(facts)
    if facts.tokenizer is None or not (lacks_byte_stage or _splits_into_words(facts)):
        return
    # A reference without that stage does not know either which bytes its pieces spell.
    is_suspicious = _lacks_look_up(actual, facts)
    most = None if is_suspicious else _MOST
    texts = _texts_of_tokens(actual, facts.tokenizer, facts, most, is_spelled=lacks_byte_stage)
    ours, theirs = (_ids_returning(side, texts) for side in (actual, facts.tokenizer))
    lost, gained = sorted(ours - theirs), theirs - ours
    reason = _explain_missing_stage(facts) if lacks_byte_stage else _explain_splits(facts)
    # If a stage is suspicious, fewer are enough, even if that is not what splits them.
    share = _SUSPICIOUS_SHARE if reason else LEAST_SHARE
    if _has_gpt2_stage(facts) and not _splits_as_gpt2(texts, lost):
        reason = ""
    if is_suspicious:
        reason, share = "its ignore_merges, which goes with its pattern, is lost", 0.0
    if len(lost) < max(LEAST, share * len(texts), OPPOSED * len(gained)):
        return
    reason = reason if is_suspicious else _explain_merges(lost, actual, facts) or reason
    names = list_tokens(lost, {id: actual.piece(id) for id in lost})
    message = (
        f"{reason or 'it does not split texts as its vocabulary was trained'}, and so it splits its own"
        f" tokens, such as {names}; of {plural(len(texts), 'token')} whose texts were encoded alone, {len(ours):,} come"
        f" back as themselves in the model, but only {len(theirs):,} in the reference"
    )
    yield damage_difference(message, lost)


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
    return beginning[SPELLED_SPACE] > LEAST_SHARE * len(sample) > beginning[ESCAPED_SPACE]


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

    `most` limits the sample. If the pieces of the reference spell bytes (`is_spelled`), equal ones are shared, too.
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


def _ids_returning(tokenizer: Tokenizer, texts: dict[int, str]) -> set[int]:
    encoded = encode_plain(tokenizer, list(texts.values()))
    return {id for id, ids in zip(texts, encoded, strict=True) if ids == (id,)}


def _explain_missing_stage(facts: Opened) -> str:
    stages = facts.document.pre_tokenizer if facts.document else ()
    types = [stage["type"] for stage in stages]
    message = f"its vocabulary is byte-level and its pre-tokenizer ({', '.join(types) or 'nothing'}) is not"
    if "Metaspace" in types:
        return f"{message}, which is what transformers 5 saves if tokenizer_config.json names LlamaTokenizer"
    return f"{message}, as if it were converted from another format in part"


def _explain_merges(lost: Sequence[int], actual: Tokenizer, facts: Opened) -> str:
    """Say that merges are missing, if none makes most of the lost tokens, or out of order; empty if neither is so."""
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
    early = _find_early(ranking.merges)
    if ours and len(early) >= max(LEAST, OPPOSED * len(_find_early(ours))):
        few = ", ".join(map(quote, early[:_SHOWN_MERGES]))
        return (
            f"{len(early):,} of its {len(ranking.merges):,} merges, such as {few}, come before the ones that make"
            " their parts, which no trainer writes, as if they were those of another version, or in another order"
        )
    return ""


def _find_early(merges: Sequence[str]) -> list[str]:
    """Return the merges with a part that only a later one makes."""
    first: dict[str, int] = {}
    for rank, piece in enumerate(pieces_made_by(merges)):
        first.setdefault(piece, rank)
    ranked = enumerate(zip(merges, split_merges(merges), strict=True))
    return [merge for rank, (merge, parts) in ranked if any(first.get(part, -1) > rank for part in parts)]


def _explain_splits(facts: Opened) -> str:
    """Say what about the pre-tokenizer of a tokenizer.json is suspicious; empty if nothing is."""
    stages = facts.document.pre_tokenizer if facts.document else ()
    types = [stage["type"] for stage in stages]
    if "ByteLevel" not in types and _has_pattern(facts):
        return (
            "its pre-tokenizer splits at a pattern, although its vocabulary is not byte-level, as if transformers had"
            " loaded it with fix_mistral_regex"
        )
    if not _has_gpt2_stage(facts):
        return ""
    if "Split" in types:
        return "its ByteLevel splits each part of a text a second time, as GPT-2 does (use_regex)"
    return (
        "its pre-tokenizer has no Split and splits texts as GPT-2 does (ByteLevel with use_regex), which is what"
        " transformers saves if it loads the tokenizer with the wrong class"
    )


def _has_gpt2_stage(facts: Opened) -> bool:
    stages = facts.document.pre_tokenizer if facts.document else ()
    return any(stage["type"] == "ByteLevel" and stage["use_regex"] for stage in stages)


def _splits_as_gpt2(texts: dict[int, str], lost: Sequence[int]) -> bool:
    """Whether the pattern of GPT-2 splits most of the lost tokens, so that it is why a reference splits them."""
    split = splitter(PRE_TOKENIZERS["gpt-2"])
    return 2 * sum(len(split(texts[id])) > 1 for id in lost) > len(lost)


def find_lost_merges(actual: Tokenizer, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that no merge makes many tokens of a reference which looks up whole pre-tokens, and the model's merges do.

    All of its tokens still come back as themselves.
    """
    # Ranks have no merges that could be missing, and to find those that they stand for takes long.
    has_merges = facts.ignore_merges and not isinstance(facts.tokenizer, PatternHolding)
    ranking = facts.ranking if has_merges else None
    if ranking is None or not ranking.merges or not isinstance(actual, Encoder) or not actual.settings.family.is_bpe:
        return
    merges = actual.spec.merges or ()
    if len(merges) <= len(ranking.merges):
        return
    ours, theirs = set(pieces_made_by(merges)), set(pieces_made_by(ranking.merges))
    pieces = enumerate(zip(actual.settings.pieces, facts.pieces, strict=False))
    lost = [id for id, (piece, other) in pieces if piece == other and piece in ours and piece not in theirs]
    # Fewer are enough if the model has all merges of the reference. No merge makes 0.5% of Llama 3's tokens.
    share = _SUSPICIOUS_SHARE if set(ranking.merges) <= set(merges) else LEAST_SHARE
    if len(lost) >= max(LEAST, share * len(facts.pieces), OPPOSED * len(theirs - ours)):
        message = (
            f"merges are missing (it has {len(ranking.merges):,}), and so none of them makes"
            f" {plural(len(lost), 'token')} of its own, such as {list_tokens(lost, facts.pieces)}, which those of the"
            " model make"
        )
        yield damage_difference(message, lost)


def find_unmade_tokens(actual: Tokenizer, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that no merge makes many tokens of a reference, which the model joins by their scores.

    As of a vocabulary that was extended by tokens only.
    """
    if not isinstance(actual, Encoder) or actual.settings.family.ranking is not Ranking.SCORE:
        return
    is_bpe = facts.document is not None and facts.document.model_type == "BPE"
    ranking = facts.ranking if is_bpe else None
    if ranking is None or not ranking.merges or facts.tokenizer is None:
        return
    settings, pieces = actual.settings, facts.pieces
    unmade = [
        id
        for id in sorted(unmade_by(ranking.merges, settings.ids))
        if id < len(pieces) and settings.pieces[id] == pieces[id] and len(pieces[id]) > 1
        if settings.attributes[id] == _NORMAL
    ]
    if len(unmade) < max(LEAST, LEAST_SHARE * len(pieces)):
        return
    mark = ESCAPED_SPACE if settings.add_space_prefix else ""
    texts = {
        id: unescape_spaces(pieces[id].removeprefix(mark))
        for id in thin_out(unmade, _MOST)
        if pieces[id].startswith(mark)
    }
    ours, theirs = (_ids_returning(side, texts) for side in (actual, facts.tokenizer))
    lost = sorted(ours - theirs)
    if len(lost) >= max(LEAST, LEAST_SHARE * len(texts)):
        message = (
            f"merges are missing (it has {len(ranking.merges):,}), and so none makes"
            f" {plural(len(unmade), 'token')} that it lists, such as {list_tokens(lost, pieces)}, which the model"
            " makes by their scores"
        )
        yield damage_difference(message, unmade)


def find_unordered_bytes(actual: Encoder, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that the byte tokens of a reference are not in the order of their bytes, as the model's and all others."""
    sides = actual.settings.pieces, facts.pieces
    own, ids = ([id for id in find_containing(side, "<0x") if BYTE_PIECE.fullmatch(side[id])] for side in sides)
    ours, theirs = ([side[id] for id in found] for side, found in zip(sides, (own, ids), strict=True))
    if ours == sorted(theirs) != theirs:
        few = ", ".join(map(quote, theirs[:_SHOWN_MERGES]))
        message = (
            f"its {plural(len(theirs), 'byte token')} are not in the order of their bytes, as those of the model are;"
            f" they begin with {few}"
        )
        yield damage_difference(message, ids)


def find_lost_types(actual: Tokenizer, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a reference splits tokens that its own chat template writes, and the model does not.

    Another program may have converted the same model without the types of added tokens.
    """
    reference = facts.tokenizer
    if not isinstance(actual, Encoder) or not isinstance(reference, Encoder):
        return
    ours, theirs = actual.settings, reference.settings
    written = read_template(reference.spec.chat_template).strong
    ids = [theirs.ids[text] for text in written if text in theirs.ids and ours.ids.get(text) == theirs.ids[text]]
    lost = [
        id
        for id in ids
        if theirs.attributes[id] == _NORMAL != ours.attributes[id] and id not in reference.encode(theirs.pieces[id])
    ]
    if lost:
        message = f"its chat template writes {list_tokens(lost, theirs.pieces)}, which it types NORMAL, and so splits"
        yield damage_difference(message, lost)


def find_plain_markers(actual: Tokenizer, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a sentencepiece model has no special pieces, although many are markers, and special in the model.

    A trainer makes BOS and EOS control pieces; a program that writes all pieces anew can lose their types.
    """
    is_model = facts.path is not None and facts.path.suffix == ".model"
    types = facts.spec.types if is_model and facts.spec else None
    if not types or any(ids_of_type(types, kind) for kind in ADDED_TYPES) or not isinstance(actual, Encoder):
        return
    pieces = enumerate(zip(actual.settings.pieces, facts.pieces, actual.settings.attributes, strict=False))
    ids = [id for id, (piece, other, kind) in pieces if piece == other and kind in _SPECIAL and is_marker(piece)]
    if len(ids) >= LEAST:
        message = (
            f"it has no control or user-defined pieces, although {len(ids):,} of its pieces are markers, such as"
            f" {list_tokens(ids, facts.pieces)}, and special in the model"
        )
        yield damage_difference(message, ids)
