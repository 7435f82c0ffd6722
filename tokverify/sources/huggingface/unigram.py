"""Convert the unigram model, which GGUF calls `t5`.

A tokenizer.json can declare in several ways that runs of spaces are merged and spaces around a text are removed, for
which GGUF has `remove_extra_whitespaces`. Byte pieces are kept, although llama.cpp has no byte fallback for this model.
"""

from __future__ import annotations

from array import array
from base64 import b64decode
from typing import TYPE_CHECKING

from tokverify.sources.huggingface.space import Spaces, read_spaces
from tokverify.sources.huggingface.stage import RUNS_OF_SPACES, SPACES_AROUND, Stage
from tokverify.sources.huggingface.vocabulary import ids_around, special_ids, vocabulary
from tokverify.spec import TokenizerSpec

if TYPE_CHECKING:
    from tokverify.sources.huggingface.document import Document

_MAX_SCORE = 1e38
"""The limit for the magnitude of a score, because GGUF stores scores in single precision."""


def convert_unigram(document: Document) -> TokenizerSpec:
    """Convert a tokenizer.json whose model is Unigram."""
    normalizer = list(document.normalizer)
    nfc = _composes(normalizer)
    charsmap = _charsmap(normalizer)
    spaces, merges_spaces = _spaces(document, normalizer)
    scores = _scores(document)
    spaces.require_inside_words(document, scores)
    unknown = _unknown(document, list(scores))
    words = vocabulary(
        document,
        {piece: id for id, piece in enumerate(scores)},
        unknown=unknown,
        escapes_spaces=True,
        has_bytes=bool(document.model.get("byte_fallback")),
    )
    around = ids_around(document)
    return TokenizerSpec(
        model="t5",
        tokens=words.tokens,
        pre="default",
        scores=array("f", [*scores.values(), *[0.0] * (len(words.tokens) - len(scores))]),
        types=words.types,
        special_ids=special_ids(document, words.ids, around, unknown),
        add_bos=bool(around[0]),
        add_eos=bool(around[1]),
        add_space_prefix=spaces.prefix,
        remove_extra_whitespaces=merges_spaces,
        nfc=nfc,
        charsmap=charsmap,
    )


def _composes(stages: list[Stage]) -> bool | None:
    """Remove NFC from the stages if it is the first, for which GGUF has a key; return the value of that key."""
    if not stages or stages[0]["type"] != "NFC":
        return None
    stages.pop(0)
    return True


def _charsmap(stages: list[Stage]) -> bytes | None:
    """Remove sentencepiece's normalizer from the stages if it is the first, and return its table."""
    if not stages or stages[0]["type"] != "Precompiled":
        return None
    return b64decode(stages.pop(0)["precompiled_charsmap"])


def _spaces(document: Document, normalizer: list[Stage]) -> tuple[Spaces, bool]:
    """Return how spaces are written, and whether runs of spaces are merged and those around a text removed."""
    merging = [stage for stage in normalizer if _strips_spaces(stage) or _merges_spaces(stage)]
    pre_tokenizer = [stage for stage in document.pre_tokenizer if stage["type"] != "WhitespaceSplit"]
    splits = len(pre_tokenizer) < len(document.pre_tokenizer)
    does_both = any(map(_strips_spaces, merging)) and any(map(_merges_spaces, merging))
    if merging and not splits and not does_both:
        raise document.unsupported(
            f"normalizer {merging[0]['type']}", "GGUF can declare merging and stripping spaces only together"
        )
    if splits and any(stage.get("prepend_scheme") == "first" for stage in pre_tokenizer):
        raise document.unsupported(
            "pre_tokenizer Metaspace prepend_scheme",
            "is `first` after WhitespaceSplit, so that only the first word begins with a space; in llama.cpp all do",
        )
    rest = [stage for stage in normalizer if stage not in merging]
    return read_spaces(document, rest, pre_tokenizer), bool(merging) or splits


def _strips_spaces(stage: Stage) -> bool:
    if stage["type"] == "Strip":
        return bool(stage["strip_right"])
    return stage["type"] == "Replace" and stage["pattern"] == SPACES_AROUND and not stage["content"]


def _merges_spaces(stage: Stage) -> bool:
    return stage["type"] == "Replace" and stage["pattern"] == RUNS_OF_SPACES and stage["content"] in {" ", "▁"}


def _scores(document: Document) -> dict[str, float]:
    """Return the scores by piece, in order of the ids."""
    entries = document.tables.vocab
    if not isinstance(entries, list):
        raise document.broken("model.vocab", "must be a list")
    scores: dict[str, float] = {}
    for id, entry in enumerate(entries):
        try:
            piece, score = entry
        except (TypeError, ValueError):
            piece = score = None
        # `match` takes three times as long.
        is_scored = isinstance(score, float | int) and abs(score) < _MAX_SCORE
        if not is_scored or not isinstance(piece, str) or piece in scores:
            raise document.broken("model.vocab", f"entry {id} must be a unique piece and its score")
        scores[piece] = score
    return scores


def _unknown(document: Document, pieces: list[str]) -> str | None:
    id = document.model.get("unk_id")
    if id is None:
        return None
    if type(id) is not int or not 0 <= id < len(pieces):
        raise document.broken("model.unk_id", f"must be the id of one of {len(pieces)} pieces")
    return pieces[id]
