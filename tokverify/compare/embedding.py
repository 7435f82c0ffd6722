"""Judge by a model's embeddings the tokens that only the reference has, or only the file.

llama.cpp loads no file with more tokens than embeddings, so no other file of this model can have them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tokverify.compare.marker import read_template
from tokverify.compare.opened import Opened
from tokverify.engine.special_text import EOT_TEXTS
from tokverify.errors import answer_or
from tokverify.sources.config import embedding_count
from tokverify.spec import AddedToken, TokenizerSpec, TokenType
from tokverify.texts.token_text import PADDING, is_filler

_SEVERAL = 8


def find_without_embedding(spec: TokenizerSpec, facts: Opened) -> Mapping[int, AddedToken]:
    """Return the added tokens of a reference for which the model has no embeddings, by id.

    There are none if something speaks for a reference of another model: an ordinary token among them, one that the file
    has elsewhere, or one that chats need.
    """
    if find_moved_beyond(spec, facts) or find_used_beyond(spec, facts):
        return {}
    beyond, added = _beyond(spec, facts), facts.added_tokens or {}
    return {id: added[id] for id in beyond} if added.keys() >= set(beyond) else {}


def find_moved_beyond(spec: TokenizerSpec, facts: Opened) -> list[int]:
    """Return the tokens of the reference, beyond the embeddings of the model, that the model has at other ids.

    So the reference has tokens before them for which the model was not trained. Those that the model lacks prove
    nothing: one that was added to the reference only, for padding or images, moves no other.
    """
    beyond = _beyond(spec, facts)
    known = set(spec.tokens) if beyond else set()
    return [id for id in beyond if facts.pieces[id] in known and not is_filler(facts.pieces[id])]


def find_used_beyond(spec: TokenizerSpec, facts: Opened) -> list[int]:
    """Return the tokens of the reference, beyond the embeddings of the model, without which no chat works.

    That is its EOS, and the markers that end turns: those of its chat template, or without any those that llama.cpp
    knows by their texts. Images and padding need others.
    """
    if not (beyond := _beyond(spec, facts)):
        return []
    ends = read_template(facts.chat_template).turn_ends or EOT_TEXTS
    return [id for id in beyond if id == facts.special_ids.get("eos") or facts.pieces[id] in ends]


def find_trained_beyond(spec: TokenizerSpec, facts: Opened) -> list[int]:
    """Return the ordinary tokens of the reference, beyond the embeddings of the model, if they are several.

    Nobody trains pieces for which a model has no embeddings, as an extended vocabulary has them beside its base. Tokens
    that were added afterward prove nothing.
    """
    added = facts.added_tokens or {}
    types = (facts.spec.types if facts.spec else None) or ()
    ids = [
        id
        for id in _beyond(spec, facts)
        if id not in added and id < len(types) and types[id] == TokenType.NORMAL and not is_filler(facts.pieces[id])
    ]
    return ids if len(ids) >= _SEVERAL else []


def find_lost_between(spec: TokenizerSpec, facts: Opened) -> list[int]:
    """Return the tokens that the reference lacks before its last one, if the model has an embedding for each of ours.

    One that was inserted into the file would leave it with more tokens than embeddings, unless padding at its end had
    been in excess. Padding that converters make up is no loss: it was put before the last tokens by mistake.
    """
    ours, theirs = spec.tokens, facts.spec.tokens if facts.spec else ()
    is_full = spec.embedding_rows == len(ours) > len(theirs)
    if not theirs or not is_full or ours[-1] != theirs[-1] or is_filler(ours[-1]):
        return []
    known = set(theirs)
    ids = [id for id, token in enumerate(ours) if token not in known]
    is_lost = len(ids) == len(ours) - len(theirs) and not all(PADDING.fullmatch(ours[id]) for id in ids)
    return ids if is_lost else []


def count_rows(spec: TokenizerSpec, facts: Opened) -> int | None:
    """Return how many tokens the model has embeddings for; of a file without tensors, as the reference's files say."""
    if spec.embedding_rows is not None or facts.place is None:
        return spec.embedding_rows
    return answer_or(None, embedding_count, facts.place)


def describe_rows(spec: TokenizerSpec, facts: Opened) -> str:
    """Say how many embeddings the model has, and, unless the file itself shows it, where that is written."""
    has_only = f"the model has only {count_rows(spec, facts) or 0:,} embeddings"
    return has_only if spec.embedding_rows is not None else f"{has_only} (vocab_size of the reference's config.json)"


def _beyond(spec: TokenizerSpec, facts: Opened) -> Sequence[int]:
    rows = count_rows(spec, facts)
    return () if rows is None or len(spec.tokens) > rows else range(rows, len(facts.pieces))
