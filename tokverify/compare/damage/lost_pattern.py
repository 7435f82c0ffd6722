"""Find out that a reference does not, or no longer, split texts as its pieces were trained."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from tokverify.compare.damage.difference import LEAST, OPPOSED, damage_difference
from tokverify.compare.opened import Opened
from tokverify.engine.attribute import Attribute
from tokverify.engine.byte_level import SPELLED_SPACE
from tokverify.engine.encoder import Encoder
from tokverify.engine.families import find_family
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, PreTokenizer, splitter
from tokverify.errors import answer_or
from tokverify.report.tokenizer_difference import TokenizerDifference
from tokverify.report.vocabulary_difference import NEARLY_ALL
from tokverify.sources.gguf.keys import PRE
from tokverify.sources.huggingface.bpe import split_all
from tokverify.sources.huggingface.document import Document
from tokverify.sources.nearest_pattern import original_name_of, probe_texts
from tokverify.text.sequence import thin_out
from tokverify.text.utf8 import from_utf8
from tokverify.text.wording import list_tokens
from tokverify.texts.batch import FAILURES
from tokverify.tokenizer import Tokenizer

_WORDS, _SPANNING = 500, 0.001
"""Of so many pieces that begin with a space, a trainer that splits no text makes more than this share from several."""
_SEVERAL_WORDS = re.compile(f"[A-Za-z]{SPELLED_SPACE}[A-Za-z]")
_TEXT = "Hello world"
"""A text that every pattern splits."""
_MANY_WORDS = 10_000
"""Among so many pieces that begin with a space there are years and brackets, unless a trainer split them."""
_UNNAMED = frozenset({None, "default"})
"""What a GGUF file has in place of the name of a pre-tokenizer."""
_MOST = 8_000
"""At most this many pieces are split; of more, an even sample."""
_NUMBERS = ["1" * digits for digits in range(3, 10)]
_NUMBER = re.compile(f"{SPELLED_SPACE}?([0-9]+)")
_SEPARATED = (
    ("digits", re.compile("[0-9].|.[0-9]", re.DOTALL), "a 12", "a digit beside another character"),
    ("punctuation", re.compile(f"{SPELLED_SPACE}[!-/:-@\\[-`{{-~]"), "a (", "a space before punctuation"),
)
"""What a stage separates, the pieces that this makes impossible, a text that it splits, and what these pieces have."""


def find_lost_pattern(actual: Encoder, document: Document, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a byte-level reference splits no text, though its pieces were trained on words, and the model does.

    All of its tokens still come back as themselves.
    """
    stages = document.pre_tokenizer
    splits = any(stage["type"] != "ByteLevel" or stage["use_regex"] for stage in stages)
    if splits or not stages or not actual.settings.family.is_bpe:
        return
    words = [id for id, piece in enumerate(facts.pieces) if piece.startswith(SPELLED_SPACE)]
    spanning = sum(_SEVERAL_WORDS.search(piece) is not None for piece in facts.pieces)
    if len(words) < _WORDS or spanning > _SPANNING * len(words):
        return
    if splitter(PRE_TOKENIZERS[actual.settings.pre])(_TEXT) != [_TEXT]:
        message = (
            f"no stage of its pre-tokenizer splits a text, but of its {len(words):,} pieces that begin with a"
            f" space, {spanning or 'none'} {'have' if spanning > 1 else 'has'} a second word, so that they were trained"
            " with a pattern, which is lost"
        )
        yield damage_difference(message)


def find_lost_stage(actual: Encoder, document: Document, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a byte-level reference has lost a stage, such as that for digits, with which its pieces were trained.

    All of its tokens still come back as themselves, and only spaces before numbers or signs get other ids.
    """
    is_plain = [stage["type"] == "ByteLevel" and stage["use_regex"] for stage in document.pre_tokenizer] == [True]
    if not is_plain or not actual.settings.family.is_bpe:
        return
    words = sum(piece.startswith(SPELLED_SPACE) for piece in facts.pieces)
    if words < _MANY_WORDS:
        return
    split = splitter(PRE_TOKENIZERS[actual.settings.pre])
    for name, pattern, text, what in _SEPARATED:
        joined = sum(pattern.search(piece) is not None for piece in document.tables.vocab)
        if joined <= _SPANNING * words and {*text} == {*split(text)}:
            message = (
                f"its pre-tokenizer leaves spaces and {name} together, but {joined or 'none'} of its"
                f" {len(facts.pieces):,} pieces {'have' if joined > 1 else 'has'} {what}, so that they were trained"
                f" with {name} apart; transformers 5 saves this if tokenizer_config.json names GPT2Tokenizer"
            )
            yield damage_difference(message)
            return


def find_replaced_pattern(
    actual: Encoder,
    document: Document,  # noqa: ARG001 - all functions of the table have it
    facts: Opened,
) -> Iterator[TokenizerDifference]:
    """Yield that a tokenizer.json splits in another way than the configuration beside it says, as the model does.

    Classes of transformers 5 replace the pattern of a tokenizer.json, and keep `pretokenize_regex` as they found it.
    """
    split, configured = facts.split, facts.configured_split
    if split is None or configured is None or not actual.settings.family.is_bpe:
        return
    own = splitter(PRE_TOKENIZERS[actual.settings.pre])
    try:
        follows = [all(own(text) == other(text) for text in probe_texts()) for other in (configured, split)]
    except FAILURES:
        # A pattern from a file may take too long.
        return
    if follows == [True, False]:
        message = (
            f"its pre-tokenizer does not split as the pretokenize_regex of tokenizer_config.json says, but"
            f" that of the model ({actual.settings.pre}) does; transformers 5 saves this if it loads the tokenizer with"
            " the class of another model"
        )
        yield damage_difference(message)


def find_missing_pre(actual: Encoder, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a GGUF reference does not name its pre-tokenizer, and the model one that splits texts otherwise."""
    declared = facts.gguf_spec if facts.is_gguf else None
    family = find_family(declared.model) if declared else None
    if declared is None or family is None or not family.is_bpe or family.pre or declared.pre not in _UNNAMED:
        return
    if actual.spec.pre in _UNNAMED or not actual.settings.family.is_bpe:
        return
    ours, theirs = (splitter(PRE_TOKENIZERS[name]) for name in (actual.settings.pre, "default"))
    if any(ours(text) != theirs(text) for text in probe_texts()):
        yield damage_difference(
            f"it does not name its pre-tokenizer ({PRE}), so that llama.cpp uses its default pattern, which converters"
            f" do not choose, and the model names {actual.spec.pre}"
        )


def find_foreign_pattern(actual: Encoder, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a byte-level reference splits its own pieces, as if it had another model's pattern, and the model not.

    A trainer makes no piece that its pattern splits. Those of 31 published vocabularies have at most 0.2% of such
    pieces, and in turn most patterns of other models split at least eight of 8,000. Marks are left out: Qwen 2's
    vocabulary has words with them, which its pattern splits.
    """
    if not actual.settings.family.is_bpe:
        return
    lost, gained, tried = _split_pieces(actual.settings.pre, facts)
    if _speaks_against(lost, gained):
        message = (
            "its pre-tokenizer splits pieces that its own vocabulary has, such as"
            f" {list_tokens(lost, facts.pieces)}; of {tried:,}, it splits {len(lost):,} that"
            f" the model ({actual.settings.pre}) keeps whole, and the model {gained or 'none'} that it keeps, so that"
            " they were trained with a pattern like that of the model"
        )
        yield damage_difference(message, lost)


def find_longer_numbers(actual: Encoder, facts: Opened) -> Iterator[TokenizerDifference]:
    """Yield that a byte-level reference keeps numbers whole that its pieces show to have been split, as the model does.

    A trainer makes longer numbers, such as years, before it has made nearly all shorter ones. If all pieces have single
    digits, the ids of a number are the same however it is split. A default pattern, which converters do not choose,
    shows nothing.
    """
    if facts.split is None or actual.spec.pre in _UNNAMED or not actual.settings.family.is_bpe:
        return
    own = splitter(PRE_TOKENIZERS[actual.settings.pre])
    kept = [text for text in _NUMBERS if text not in own(text) and text in answer_or([], facts.split, text)]
    if not kept:
        return
    words = sum(piece.startswith(SPELLED_SPACE) for piece in facts.pieces)
    numbers = {found[1] for found in map(_NUMBER.fullmatch, facts.pieces) if found}
    longest = max(map(len, numbers), default=0)
    known = sum(len(number) == longest for number in numbers)
    is_full = longest > 1 and words >= _MANY_WORDS and known >= NEARLY_ALL * 10**longest
    if is_full and "1" * (longest + 1) in kept:
        message = (
            f"its pre-tokenizer keeps numbers of {longest + 1} digits whole, but its pieces hold"
            f" {known:,} of the {10**longest:,} numbers of {longest} digits and none that is longer, so that"
            f" they were trained with such numbers split, as the model ({actual.settings.pre}) does"
        )
        yield damage_difference(message)


# The candidates for a repair mostly have the same pre-tokenizer.
@lru_cache(maxsize=2)
def _split_pieces(pre: str, facts: Opened) -> tuple[list[int], int, int]:
    """Return the pieces that only the reference splits, the number of those that only `pre` does, and of all tried."""
    document, reference = facts.document, facts.tokenizer
    if isinstance(reference, Encoder) and reference.settings.family.is_bpe:
        split: Callable[[str], list[str]] | None = splitter(PRE_TOKENIZERS[reference.settings.pre])
    else:
        split = facts.split if document else None
    if split is None or reference is None:
        return [], 0, 0
    own, added = splitter(PRE_TOKENIZERS[pre]), facts.added_tokens or {}
    try:
        if all(own(text) == split(text) for text in probe_texts()):
            return [], 0, 0
        # The name of Kimi K2's pattern stands for a function that ignores case: it keeps words that the pattern splits.
        original = original_name_of(split)
        if original and PRE_TOKENIZERS[original].patterns == PRE_TOKENIZERS[pre].patterns:
            return [], 0, 0
        texts = _texts_to_split(reference, (id for id in range(reference.vocab_size) if id not in added))
        words = split_all(document, texts.values()) if document else map(split, texts.values())
        lost, gained = _compare_splits(texts, map(own, texts.values()), words)
    except FAILURES:
        return [], 0, 0
    return lost, gained, len(texts)


def find_foreign_splits(encoder: Encoder, other: PreTokenizer) -> list[int]:
    """Return pieces that `other` splits and the model's own pre-tokenizer keeps, if they far outnumber the opposite.

    This is what `find_foreign_pattern` asks, for a reference that shows only ids, and so neither pattern nor pieces.
    """
    if PRE_TOKENIZERS[encoder.settings.pre].byte_level != other.byte_level:
        # The pieces stand for other texts.
        return []
    texts, kept = _own_splits(encoder)
    lost, gained = _compare_splits(texts, kept, map(splitter(other), texts.values()))
    return lost if _speaks_against(lost, gained) else []


# The patterns of many models are tried one after the other.
@lru_cache(maxsize=1)
def _own_splits(encoder: Encoder) -> tuple[dict[int, str], list[list[str]]]:
    attributes, normal = encoder.settings.attributes, Attribute.NORMAL.value
    texts = _texts_to_split(encoder, (id for id in range(encoder.vocab_size) if attributes[id] == normal))
    return texts, list(map(splitter(PRE_TOKENIZERS[encoder.settings.pre]), texts.values()))


def _texts_to_split(tokenizer: Tokenizer, ids: Iterable[int]) -> dict[int, str]:
    """Return the texts of an even sample of tokens, by id, of which a pattern can split some."""
    texts = {id: from_utf8(tokenizer.token_bytes(id)) for id in thin_out([*ids], _MOST)}
    return {id: text for id, text in texts.items() if text and _can_be_split(text)}


def _compare_splits(
    ids: Iterable[int], own: Iterable[Sequence[str]], other: Iterable[Sequence[str]]
) -> tuple[list[int], int]:
    """Return which texts only the other pattern splits, and how many only the own one does."""
    is_whole = [(len(ours) == 1, len(theirs) == 1) for ours, theirs in zip(own, other, strict=True)]
    lost = [id for id, found in zip(ids, is_whole, strict=True) if found == (True, False)]
    return lost, is_whole.count((False, True))


def _speaks_against(lost: Sequence[int], gained: int) -> bool:
    """Whether pieces that only the other pattern splits show that they were trained with the own one."""
    return len(lost) >= max(LEAST, OPPOSED * gained)


def _can_be_split(text: str) -> bool:
    return len(text) > 1 and not any(unicodedata.category(character)[0] == "M" for character in text)
