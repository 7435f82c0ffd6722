"""Find out whether two versions treat special tokens differently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

from tokverify.compare.diff.parts.document import read_stages
from tokverify.compare.diff.version import Version, naming_side
from tokverify.engine.piece_index import index_pieces
from tokverify.errors import EncodeError, answer_or
from tokverify.report.diff import Part, PartChange
from tokverify.sources.config import chat_templates
from tokverify.spec import TokenType, ids_of_type
from tokverify.text.wording import plural
from tokverify.texts.vocabulary import types_of
from tokverify.tokenizer import EndListing, Tokenizer, pieces_of

_ADDING = frozenset({"add_bos", "add_eos", "add_sep"})
_EOG_IDS = "eog_ids"
_SPECIAL_ID = "special_ids."
_UNK = "unk"
_FLAGS = ("control", "special")
"""How the part `added tokens` describes a control token: as llama.cpp treats it, and as a tokenizer.json flags it."""
_ADDING_STAGES = frozenset({"TemplateProcessing", "BertProcessing", "RobertaProcessing"})
_ABOUT_SPACES = frozenset({"trim_offsets", "add_prefix_space"})


class SpecialTokens:
    """The special tokens of two versions, and what changed about them."""

    def __init__(self, old: Version, new: Version, parts: Sequence[Part]) -> None:
        self._old, self._new, self._parts = old, new, parts
        self._controls = find_control_ids(old.tokenizer), find_control_ids(new.tokenizer)
        self.changed_tokens = sorted(set(self._list_changed_tokens()))
        """The texts of control tokens that changed."""

    def are_comparable(self) -> bool:
        """Whether both versions show their special tokens, or at least the ids of the same roles."""
        has_both = bool(self._old.spec and self._new.spec) or all(self._documents)
        return has_both or bool(set(self._old.tokenizer.special_ids) & set(self._new.tokenizer.special_ids))

    def list_changes(self) -> list[str]:
        """Name what changed: settings by their names, the rest, whose names may be anything, by its number."""
        tokens = [plural(len(self.changed_tokens), "control token")] if self.changed_tokens else []
        has_specs = self._old.spec and self._new.spec
        return [*(self._list_declared() if has_specs else self._list_exposed()), *tokens]

    def _list_declared(self) -> Iterator[str]:
        for part in self._parts:
            if part.name == "settings":
                names = [change.what for change in part.changes if self._concerns_special_tokens(change.what)]
                yield from (name.removeprefix(_SPECIAL_ID) for name in names)
            elif part.name == "chat templates":
                yield plural(len(part.changes), "chat template")

    def _concerns_special_tokens(self, setting: str) -> bool:
        if setting in _ADDING:
            return self._adds_other_tokens
        return setting == _EOG_IDS or _SPECIAL_ID in setting

    @cached_property
    def _adds_other_tokens(self) -> bool:
        """Whether other tokens are added around a text; llama.cpp ignores what some models declare."""
        sides = (self._old.tokenizer, self._new.tokenizer)
        try:
            old, new = (side.encode("", add_special=True, parse_special=False) for side in sides)
        except EncodeError:
            return True
        return old != new

    def _list_exposed(self) -> Iterator[str]:
        """Name what differs between two tokenizers that cannot both be read as what a GGUF file would declare."""
        old, new = self._old.tokenizer, self._new.tokenizer
        ids, others = old.special_ids, new.special_ids
        yield from (role for role in ids if role in others and ids[role] != others[role])
        if not all(self._documents):
            return
        is_named = naming_side(self._old, self._new) is None
        if is_named and _list_ends(old) != _list_ends(new):
            yield "what ends a generation"
        if _list_added_around(self._documents[0]) != _list_added_around(self._documents[1]):
            yield "post_processor"
        if is_named and _read_templates(self._old) != _read_templates(self._new):
            yield "chat templates"

    def _list_changed_tokens(self) -> Iterator[str]:
        for part in self._parts:
            for change in part.changes:
                if (part.name == "added tokens" and _flags_control(change)) or (
                    part.name == "types" and self._changes_control(change)
                ):
                    yield change.what

    def _changes_control(self, change: PartChange) -> bool:
        """Check whether a declared type makes a token a control token in one version only.

        In a GGUF file, llama.cpp overrides some declared types, so the effective types decide.
        """
        if (change.old == TokenType.CONTROL.name) == (change.new == TokenType.CONTROL.name):
            return False
        old, new = self._controls
        if old is None or new is None:
            return True
        before, after = (ids.get(change.what) for ids in self._ids)
        return (before in old) != (after in new)

    @cached_property
    def _documents(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        return read_stages(self._old), read_stages(self._new)

    @cached_property
    def _ids(self) -> tuple[Mapping[str, int], ...]:
        """The id of each piece, for both versions."""
        return tuple(index_pieces(pieces_of(version.tokenizer)) for version in (self._old, self._new))

    def differ_in(self, old_ids: Sequence[int], new_ids: Sequence[int]) -> bool:
        """Check whether two encodings of a text differ in their special tokens, and not only in what is between them.

        If one version does not know its control tokens, any difference counts.
        """
        old, new = self._controls
        if old is None or new is None:
            return old_ids != new_ids
        special, others = old | _list_roles(self._old.tokenizer), new | _list_roles(self._new.tokenizer)
        return [id for id in old_ids if id in special] != [id for id in new_ids if id in others]


def find_control_ids(tokenizer: Tokenizer) -> frozenset[int] | None:
    """Return the ids of the control tokens; None if they are not known."""
    types = answer_or(None, types_of, tokenizer)
    return None if types is None else frozenset(ids_of_type(types, TokenType.CONTROL))


def _list_roles(tokenizer: Tokenizer) -> frozenset[int]:
    """Return the ids of the special tokens, except the unknown token, which stands for a text."""
    return frozenset(id for role, id in tokenizer.special_ids.items() if role != _UNK)


def _flags_control(change: PartChange) -> bool:
    return any(flag in f"{change.old} {change.new}" for flag in _FLAGS)


def _list_ends(tokenizer: Tokenizer) -> frozenset[int]:
    return tokenizer.generation_ends().ids if isinstance(tokenizer, EndListing) else frozenset()


def _list_added_around(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what a tokenizer.json defines about the tokens added around a text, without what is about spaces."""
    stages = _flatten(document.get("post_processor"))
    adding = [stage for stage in stages if stage.get("type") in _ADDING_STAGES]
    return [{key: stage[key] for key in stage if key not in _ABOUT_SPACES} for stage in adding]


def _flatten(stage: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    if stage is None:
        return []
    parts = stage.get("processors")
    return [stage] if parts is None else list(chain.from_iterable(map(_flatten, parts)))


def _read_templates(version: Version) -> dict[str, str]:
    return chat_templates(version.path) if version.path else {}
