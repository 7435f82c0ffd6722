"""Compare markers: no fault writes other ones in their place, or names those that are reserved."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from tokverify.compare.marker import read_template
from tokverify.compare.role_name import ROLES_BY_NAME
from tokverify.engine.joined_strings import find_changed
from tokverify.engine.special_text import EOG_TEXTS
from tokverify.repair.other_model.vocabulary import texts_of, tokens_of
from tokverify.repair.token_patch import types_of
from tokverify.sources.config import generation_end_ids
from tokverify.spec import ADDED_TYPES, TokenizerSpec, TokenType, ids_of_type
from tokverify.text.wording import list_tokens, quote
from tokverify.texts.token_text import is_filler, is_marker
from tokverify.tokenizer import lists_no_special_tokens

if TYPE_CHECKING:
    from tokverify.compare.opened import Opened

_SERIES = 8
"""So many reserved tokens that are numbered in the order of their ids are a series."""
_FEW = 3
"""A person renames fewer."""
NUMBERED = re.compile(r"([<\[]\D*)([0-9]{1,9})(\D*[>\]])")
"""A token that is reserved for later, such as `[control_12]` or `<|reserved_special_token_5|>`."""


def lacks_markers(spec: TokenizerSpec, facts: Opened) -> str:
    """Find markers and added tokens here that the reference has nowhere, if something speaks for them.

    That is a filler or a reserved token of a series in their place, as the `[control_14]` of an earlier version is, our
    template, or the name that another model has for the same end. A token after the last one of the reference may also
    have been added by mistake, so only our template speaks for it. If that writes the reference's marker, and the file
    has none of this name, the file was renamed.
    """
    reference = texts_of(facts)
    changed = find_changed(spec.tokens, reference)
    further = range(len(reference), len(spec.tokens)) if facts.spec and facts.lists_all_tokens else ()
    if not changed and all(is_filler(spec.tokens[id]) for id in further):
        return ""
    known, used, here, types = set(reference), _written_tokens(spec, facts), set(spec.tokens), types_of(spec)
    reserved = _reserved_among(changed, reference, spec.tokens)
    markers = read_template(spec.chat_template).strong
    intended = {*markers} - here
    lost: list[int] = []
    for id in changed:
        ours, theirs = spec.tokens[id], reference[id]
        if ours in known or ours == facts.omitted.get(id) or (theirs in intended and ours not in markers):
            continue
        is_written = ours in used and (is_marker(theirs) or is_filler(theirs))
        is_replaced = is_filler(theirs) or _are_ends(ours, theirs, here)
        is_added = (is_marker(ours) or types[id] == TokenType.USER_DEFINED) and not is_filler(ours)
        is_named = id in reserved and types[id] in ADDED_TYPES and NUMBERED.fullmatch(ours) is None
        if is_written or (is_replaced and is_added) or is_named:
            lost.append(id)
    unknown = used - known
    lost += [id for id in further if spec.tokens[id] in unknown]
    if not lost:
        return ""
    are = "is an added token" if len(lost) == 1 else "are added tokens"
    return f"it lacks {list_tokens(lost, spec.tokens)}, which {are} here"


def names_reserved(spec: TokenizerSpec, facts: Opened) -> str:
    """Find reserved tokens, of a series that both sides have, to which the reference gives names of its own.

    A later version of a model does so. A fault replaces tokens by padding, which has no place in such a series. Names
    that a chat template writes, or that end a generation, are those of a model that was trained with them.
    """
    reference = tokens_of(facts)
    ids = find_changed(spec.tokens, reference)
    if any(NUMBERED.fullmatch(reference[id]) for id in ids):
        return ""
    if len(_reserved_among(ids, spec.tokens, reference)) < len(ids):
        return ""
    markers = map(read_template, (spec.chat_template, facts.chat_template))
    used = {*EOG_TEXTS, *(text for each in markers for text in (*each.strong, *each.weak))}
    roles = {*facts.special_ids.values(), *spec.special_ids.values()}
    if not ids or any(id in roles or reference[id] in used for id in ids):
        return ""
    return f"it gives names to {list_tokens(ids, spec.tokens)}, which like others here are only reserved"


def _reserved_among(ids: Collection[int], texts: Sequence[str], others: Sequence[str]) -> frozenset[int]:
    """Return those of the ids that differ whose texts belong to a series of reserved tokens that both sides have."""
    series = {id: each for id in ids if (each := _series_of(id, texts[id]))}
    if not series:
        return frozenset()
    common = set(range(min(len(texts), len(others)))).difference(ids)
    counts = Counter(_series_of(id, texts[id]) for id in common)
    return frozenset(id for id, each in series.items() if counts[each] >= _SERIES)


def _series_of(id: int, text: str) -> tuple[str, str, int] | None:
    """Return what the tokens of a series share: the texts around their numbers, and the distance to their ids."""
    match = NUMBERED.fullmatch(text)
    return (match[1], match[3], id - int(match[2])) if match else None


def renames_markers(spec: TokenizerSpec, facts: Opened) -> str:
    """Find markers in place of which the reference has others, if they are more than a person renames.

    A fault that respells markers leaves their letters, and one that moves tokens leaves the tokens. A tiktoken file has
    no token at all in place of the markers that only another model of the same ranks has, as gpt-oss beside o200k_base.
    """
    reference = texts_of(facts)
    changed, types = find_changed(spec.tokens, reference), types_of(spec)
    known, here, unnamed = set(reference), set(spec.tokens), _ids_without_token(facts)
    controls = frozenset(ids_of_type(facts.spec.types if facts.spec else None, TokenType.CONTROL))
    ids = [
        id
        for id, ours, theirs in ((id, spec.tokens[id], reference[id]) for id in changed)
        if not (ours in known or theirs in here)
        and (is_marker(ours) or types[id] in ADDED_TYPES)
        and (
            (id in unnamed and not is_filler(ours))
            or _is_other(ours, theirs, is_control=is_marker(theirs) or id in controls)
        )
    ]
    if len(ids) < _FEW:
        return ""
    others = "other markers" if facts.spec else "other markers, or none,"
    return f"it has {others} in place of {list_tokens(ids, spec.tokens)}"


def sorts_markers(spec: TokenizerSpec, facts: Opened) -> str:
    """Find added tokens that the reference has in the order of their texts, and the file in another one.

    A program that lists them as a set saves this. The file is right if it ends a generation at a token that is named
    so, and the reference has another there: if only the texts of the file were moved, its EOS is some other token.
    """
    reference, eos = tokens_of(facts), spec.special_ids.get("eos")
    if eos is None or eos >= min(len(spec.tokens), len(reference)):
        return ""
    if spec.tokens[eos] not in EOG_TEXTS or reference[eos] in EOG_TEXTS:
        return ""
    changed, types = find_changed(spec.tokens, reference), types_of(spec)
    ours, theirs = ([texts[id] for id in changed] for texts in (spec.tokens, reference))
    is_sorted = theirs == sorted(ours) != ours and all(types[id] in ADDED_TYPES for id in changed)
    if not is_sorted or len(changed) < _SERIES:
        return ""
    return f"it numbers {list_tokens(changed, spec.tokens)} by their texts, but the EOS here ends a generation"


def has_other_end(spec: TokenizerSpec, facts: Opened) -> str:
    """Find an EOS that the reference has at another id, and an EOS of its own that the file has nowhere.

    As in a merge that puts the markers of two models before those of one. If the file had lost tokens, its EOS was one
    of them, and its id is that of some other token.
    """
    eos, theirs, reference = spec.special_ids.get("eos"), facts.special_ids.get("eos"), tokens_of(facts)
    if eos is None or theirs is None or max(eos, theirs) >= min(len(spec.tokens), len(reference)):
        return ""
    end, other = spec.tokens[eos], reference[theirs]
    is_moved = reference[eos] not in EOG_TEXTS and end in EOG_TEXTS and end in reference
    if not is_moved or not is_marker(other):
        return ""
    if any(is_marker(text) and _letters_of(text) == _letters_of(other) for text in spec.tokens):
        return ""
    return f"its EOS is {quote(other)}, which is no token here, and it has {quote(end)}, the EOS here, at another id"


def moves_end(spec: TokenizerSpec, facts: Opened) -> str:
    """Find that the generation_config.json of the reference names the id of our EOS, which is another token there.

    So it is in a directory in which someone exchanged markers. If those of the file were exchanged, the configuration
    would agree with the reference.
    """
    eos, theirs, reference = spec.special_ids.get("eos"), facts.special_ids.get("eos"), tokens_of(facts)
    if (
        facts.place is None
        or eos is None
        or theirs is None
        or max(eos, theirs) >= min(len(spec.tokens), len(reference))
    ):
        return ""
    ends = generation_end_ids(facts.place)
    if eos == theirs or spec.tokens[eos] != reference[theirs] or theirs in ends or eos not in ends:
        return ""
    if reference[eos] in EOG_TEXTS:
        # The configuration of a base model ends a generation at its own EOS.
        return ""
    is_there = f"its EOS {quote(reference[theirs])} has the id {theirs}"
    return f"{is_there}, but generation_config.json beside it ends a generation at {eos}, which is that token here"


def _ids_without_token(facts: Opened) -> frozenset[int]:
    """Return the ids for which a reference that declares no tokenizer has no token, if it lists special ones at all."""
    if facts.spec or facts.tokenizer is None or lists_no_special_tokens(facts.tokenizer):
        return frozenset()
    return frozenset(id for id, piece in enumerate(facts.pieces) if not piece)


def _written_tokens(spec: TokenizerSpec, facts: Opened) -> frozenset[str]:
    """Return the tokens of the file, other than words, that its chat template writes on purpose.

    Texts such as `<think>` may be plain text: they are no evidence if the reference's template writes them, too, or if
    nothing shows what it writes.
    """
    markers, theirs = read_template(spec.chat_template), read_template(facts.chat_template)
    weak = set(markers.weak) - {*theirs.strong, *theirs.weak} if facts.chat_template else set[str]()
    written = {*markers.strong, *weak}
    types = types_of(spec)
    return frozenset(
        text
        for id, text in enumerate(spec.tokens)
        if text in written and not is_filler(text) and (is_marker(text) or types[id] in ADDED_TYPES)
    )


def _are_ends(ours: str, theirs: str, here: Collection[str]) -> bool:
    """Whether two models end a generation with these texts, of which the file has only its own."""
    return {ours, theirs} <= set(EOG_TEXTS) and theirs not in here


def _is_other(ours: str, theirs: str, *, is_control: bool) -> bool:
    """Whether theirs means something else: another role by its name or, for control tokens, a name of other letters."""
    if ours in ROLES_BY_NAME and theirs in ROLES_BY_NAME and ROLES_BY_NAME[ours] != ROLES_BY_NAME[theirs]:
        return True
    return is_control and not (is_filler(ours) or is_filler(theirs) or _keeps_letters(ours, theirs))


def _keeps_letters(ours: str, theirs: str) -> bool:
    """Whether the letters of one text are in the other in their order, as if one were escaped or respelled."""
    short, long = sorted(map(_letters_of, (ours, theirs)), key=len)
    rest = iter(long)
    return all(letter in rest for letter in short)


def _letters_of(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()
