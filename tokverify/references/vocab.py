"""The reference `vocab`: a tokenizer whose vocabulary is a file of its own, as written before tokenizer.json."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path

from tokverify.engine.byte_level import from_byte_level
from tokverify.engine.family import Alphabet
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, splitter
from tokverify.engine.settings import resolve
from tokverify.errors import answer_or
from tokverify.references.huggingface import HuggingFaceTokenizer, from_json
from tokverify.references.rebuilt import patterns_of
from tokverify.references.reference import FoundReference
from tokverify.sources.config import generation_end_ids, special_texts
from tokverify.sources.huggingface.vocabulary_files import (
    ASSUMED_PRE,
    Supplement,
    build_document,
    caveat_of,
    knows_special_tokens,
    knows_surroundings,
    leaves_open,
    read_vocabulary,
    says_case,
)
from tokverify.spec import TokenizerSpec
from tokverify.text.sequence import thin_out
from tokverify.text.utf8 import from_utf8

_NO_SPECIAL = "nothing next to the files, such as a tokenizer_config.json, says which tokens are special"
_MOST_PIECES, _LONGEST = 8_000, 100
"""At most this many pieces are split, of which none is as long as the rules of old forums that web texts have."""
_FEWEST, _OPPOSED = 8, 10
"""So many pieces must be split, and as many times more than are by GPT-2's pattern only."""


def load(place: os.PathLike[str], model: TokenizerSpec | None = None) -> FoundReference:
    """Load a `vocab.json` with the `merges.txt` next to it, or a `vocab.txt`.

    What nothing beside it says is taken from `model`, so that a right one is not blamed for an assumption.

    Raises:
        BrokenFileError: If a file is missing, cannot be read, or is not a vocabulary.
        UnsupportedError: If the tokenizer is of a class that splits texts in another way.
    """
    path = Path(place)
    special = special_texts(path)
    # A file that llama.cpp refuses says nothing.
    supplement = Supplement() if model is None else answer_or(Supplement(), _supplement, path, model)
    found = from_json(
        build_document(path, supplement),
        source=str(path),
        special_texts=special,
        end_ids=generation_end_ids(path),
        is_file=True,
        path=path,
        make=partial(HuggingFaceTokenizer, adds_special=knows_surroundings(path), left_open=_list_taken(supplement)),
    )
    has_special = bool(special) or knows_special_tokens(path)
    caveats = [
        "" if supplement.patterns else caveat_of(path),
        "" if has_special or supplement.added else _NO_SPECIAL,
    ]
    if path.with_name("tokenizer.json").is_file():
        caveats.append("the tokenizer.json beside it was not read, which libraries prefer")
    return replace(found, path=path, caveat="; ".join(filter(None, caveats)))


def _supplement(path: Path, model: TokenizerSpec) -> Supplement:
    if not leaves_open(path):
        return Supplement()
    settings = resolve(model)
    if path.name == "vocab.txt":
        case = None if says_case(path) else (settings.lowercase, settings.strip_accents)
        return Supplement(added=settings.added_tokens, lowercase=case)
    # A model that names no pre-tokenizer does not say how texts are split, either.
    is_named = settings.family.alphabet is Alphabet.BYTE_LEVEL and model.pre is not None
    patterns = patterns_of(settings.pre, own=True) if is_named and not _is_contradicted(settings.pre, path) else ()
    return Supplement(patterns, bool(patterns) and settings.ignore_merges, settings.added_tokens)


def _is_contradicted(pre: str, path: Path) -> bool:
    """Whether a vocabulary was not trained with a pre-tokenizer but rather with GPT-2's: the former splits its pieces.

    Only ASCII is split: Qwen 2's vocabulary has words with marks of accents, which its own pattern splits.
    """
    pieces = thin_out([piece for piece in read_vocabulary(path) if 1 < len(piece) < _LONGEST], _MOST_PIECES)
    texts = [text for piece in pieces if (text := from_utf8(from_byte_level(piece))) and text.isascii()]
    ours, assumed = (splitter(PRE_TOKENIZERS[name]) for name in (pre, ASSUMED_PRE))
    is_kept = [(len(ours(text)) == 1, len(assumed(text)) == 1) for text in texts]
    return is_kept.count((False, True)) >= max(_FEWEST, _OPPOSED * is_kept.count((True, False)))


def _list_taken(supplement: Supplement) -> str:
    taken = {
        "how texts are split": supplement.patterns,
        "whether texts are lowercased": supplement.lowercase,
        "which other tokens are added": supplement.added,
    }
    return " and ".join(part for part, values in taken.items() if values)
