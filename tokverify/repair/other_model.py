"""Recognize a reference that belongs to another model: nothing that it declares would repair the file.

How many tokens two vocabularies share does not tell a sibling from a fault: the versions of one model share nearly all.
What does is the order of the shared tokens, and whether the file agrees with itself. A fault moves tokens and leaves
something behind: their types, or the roles that point to them. It keeps the tokens, and mostly their order.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from tokverify.compare.blame import explain_wrong_vocabulary
from tokverify.compare.damage.table import explain_misread_tokens, explain_rounded_scores
from tokverify.compare.embedding import find_lost_between, find_moved_beyond, find_trained_beyond, find_used_beyond
from tokverify.compare.marker import read_template
from tokverify.compare.role_name import ROLES_BY_NAME
from tokverify.compare.template_difference import has_other_template
from tokverify.engine.byte_level import SPELLED_SPACE
from tokverify.engine.families import find_family
from tokverify.engine.family import Alphabet
from tokverify.engine.joined_strings import find_changed
from tokverify.engine.normalizer import ESCAPED_SPACE
from tokverify.engine.piece_index import find_unmade, index_pieces
from tokverify.engine.space_mark import count_space_marks
from tokverify.engine.special_text import BYTE_PIECE, EOG_TEXTS
from tokverify.repair.spelling import text_of_bytes
from tokverify.repair.token_patch import kind_of, types_of
from tokverify.report.run import NEARLY_ALL
from tokverify.spec import TokenizerSpec, TokenType, ids_of_type
from tokverify.text.wording import list_tokens
from tokverify.texts.token_text import is_filler, is_marker
from tokverify.tokenizer import SizeStating, lists_no_special_tokens

if TYPE_CHECKING:
    from tokverify.compare.opened import Opened
    from tokverify.sources.gguf.declaration import Declaration

_MARKS = "▁Ġ# "
"""How families mark tokens that begin or continue a word."""
_IN_PLACE = 0.05
"""If more of the tokens have the same ids, the file was once made from the reference; of other models, 0.5% have."""
_SHARED = 0.9
"""If two vocabularies share more of the tokens, one may be a permutation of the other; GPT-2 and MPT share 73%."""
_SOME = 0.5
"""The share of the tokens that a fault leaves, whatever else it does."""
_ORDERED = 0.5
"""If a larger share of the tokens is in the order of the reference, or in blocks that are, they were only moved."""
_MANY = 100
"""So many tokens at the end are no mistake."""
_TIMES = 10
"""As many times more tokens must begin with one mark of a space than with the other."""
_SERIES = 8
"""So many reserved tokens that are numbered in the order of their ids are a series.

So many ordinary tokens at the end are no mistake, either, if BOS or EOS has another name.
"""
_FEW = 3
"""So many added tokens are those of a fine-tuned model; scripts add padding, roles, or two markers of turns."""
_PAIR = 2
"""So many are enough if the chat template is another one, too: a fault does not change both."""
_NUMBERED = re.compile(r"([<\[]\D*)([0-9]{1,9})(\D*[>\]])")
"""A token that is reserved for later, such as `[control_12]` or `<|reserved_special_token_5|>`."""
_ADDED_TYPES = frozenset({TokenType.CONTROL, TokenType.USER_DEFINED})
_STEP = 16
"""At most so many ids are lost between neighboring tokens of a block."""
_ADDED = 0.01
"""If one side has more tokens that the other lacks, it is another version of the model; Mistral 0.3 has 2.3%."""


def has_other_tokens(tokens: Sequence[str], reference: Sequence[str]) -> bool:
    """Whether nearly all tokens of a reference differ from those with the same ids."""
    return len(find_changed(tokens, reference)) > NEARLY_ALL * min(len(tokens), len(reference))


def doubt_reference(declaration: Declaration, facts: Opened) -> str:
    """Say why nothing that a reference declares would repair a file, and what to do; empty if something may."""
    spec = declaration.spec
    return (
        explain_wrong_vocabulary(spec.tokens, facts.tokenizer)
        or explain_misread_tokens(spec, facts)
        or explain_rounded_scores(spec, facts)
        or find_other_model(spec, facts)
    )


def find_other_model(spec: TokenizerSpec, facts: Opened) -> str:
    """Say why a reference belongs to another model, or to another version of it, and what to do; empty if it does not.

    What the file itself says speaks for it: no fault writes added tokens in place of those that stand for nothing, or
    those that its chat template uses. Nor does one remove the embedding of a token.
    """
    if is_of_other_model(spec, facts):
        reason = "nearly all of its tokens differ from those with the same ids here"
    elif lacking := _explain_lacking(spec, facts):
        reason = f"it lacks {lacking}"
    elif ids := _after_stated_size(spec, facts):
        more = f"{len(ids):,} ordinary ones here, such as {list_tokens(ids, spec.tokens)}"
        reason = f"it says that it has fewer tokens, and {more}, come after as many"
    elif ids := _added_at_end(spec, facts):
        more = f"{len(ids):,} more added tokens after the last one here, such as {_list(ids, facts)}"
        reason = f"it has {more}, and nothing here points to them"
    elif ids := _renamed_markers(spec, facts):
        others = "other markers" if facts.spec else "other markers, or none,"
        reason = f"it has {others} in place of {list_tokens(ids, spec.tokens)}"
    elif ids := _sorted_markers(spec, facts):
        reason = f"it numbers {list_tokens(ids, spec.tokens)} by their texts, but the EOS here ends a generation"
    elif ids := _named_later(spec, facts):
        reason = f"it gives names to {list_tokens(ids, spec.tokens)}, which like others here are only reserved"
    elif kinds := _are_of_other_kinds(spec, facts):
        reason = f"its tokens are written for the model {kinds[1]}, and those here for {kinds[0]}"
    elif embedded := _explain_embeddings(spec, facts):
        reason = embedded
    else:
        return ""
    return (
        f"the reference ({facts.name}) belongs to another model, or another version of it: {reason}; name the right one"
        " with -r, or convert the model again"
    )


def _explain_lacking(spec: TokenizerSpec, facts: Opened) -> str:
    """Say which tokens the reference lacks that no fault adds to a file; empty if there are none."""
    if ids := _lost_markers(spec, facts):
        are = "is an added token" if len(ids) == 1 else "are added tokens"
        return f"{list_tokens(ids, spec.tokens)}, which {are} here"
    if ids := _left_holes(spec, facts):
        return f"a token for {len(ids):,} ids between its others, such as {list_tokens(ids, spec.tokens)} here"
    if ids := _lacking_at_end(spec, facts):
        few = list_tokens(ids, spec.tokens)
        return f"the last {len(ids):,} tokens here, such as {few} (it may have been cut off)"
    return ""


def _explain_embeddings(spec: TokenizerSpec, facts: Opened) -> str:
    """Say which tokens show another model, as the model has no embeddings for them, or has some; empty if none does."""
    if spec.embedding_rows is None:
        return ""
    few = f"the model has only {spec.embedding_rows:,} embeddings"
    if ids := find_moved_beyond(spec, facts):
        have = "has another id" if len(ids) == 1 else "have other ids"
        return f"it has {_list(ids, facts)}, which {have} in the model, and {few}"
    if ids := find_used_beyond(spec, facts):
        return f"its chats need {_list(ids, facts)}, and {few}"
    if ids := find_trained_beyond(spec, facts):
        return f"it has {len(ids):,} more ordinary tokens, such as {_list(ids, facts)}, and {few}"
    if ids := find_lost_between(spec, facts):
        lost = f"it lacks {list_tokens(ids, spec.tokens)}, which moves the tokens after"
        return f"{lost}, and the model has an embedding for each token here"
    return ""


def _lost_markers(spec: TokenizerSpec, facts: Opened) -> list[int]:
    """Return the markers and added tokens that the reference has nowhere, if something speaks for them.

    That is a filler or a reserved token of a series in their place, as the `[control_14]` of an earlier version is, our
    template, or the name that another model has for the same end. A token after the last one of the reference may also
    have been added by mistake, so only our template speaks for it. If that writes the reference's marker, and the file
    has none of this name, the file was renamed.
    """
    reference = _texts_of(facts)
    changed = find_changed(spec.tokens, reference)
    further = range(len(reference), len(spec.tokens)) if facts.spec and facts.lists_all_tokens else ()
    if not changed and all(is_filler(spec.tokens[id]) for id in further):
        return []
    known, used, here, types = set(reference), _written_tokens(spec, facts), set(spec.tokens), types_of(spec)
    reserved = _reserved_among(changed, reference, spec.tokens)
    markers = read_template(spec.chat_template).strong
    intended = {*markers} - here
    lost: list[int] = []
    for id in changed:
        ours, theirs = spec.tokens[id], reference[id]
        if ours in known or (theirs in intended and ours not in markers):
            continue
        is_written = ours in used and (is_marker(theirs) or is_filler(theirs))
        is_replaced = is_filler(theirs) or _are_ends(ours, theirs, here)
        is_added = (is_marker(ours) or types[id] == TokenType.USER_DEFINED) and not is_filler(ours)
        is_named = id in reserved and types[id] in _ADDED_TYPES and _NUMBERED.fullmatch(ours) is None
        if is_written or (is_replaced and is_added) or is_named:
            lost.append(id)
    unknown = used - known
    return lost + [id for id in further if spec.tokens[id] in unknown]


def _left_holes(spec: TokenizerSpec, facts: Opened) -> list[int]:
    """Return the ids between the tokens of the reference for which it has none, if the file has several tokens there.

    A script that removes reserved tokens from a tokenizer.json leaves such holes. A converter fills them with padding,
    so a file with tokens there was made before.
    """
    if facts.spec is None:
        return []
    reference, theirs, ours = facts.spec.tokens, types_of(facts.spec), types_of(spec)
    known = set(reference)
    ids = [
        id
        for id in find_changed(spec.tokens, reference)
        if theirs[id] == TokenType.UNUSED != ours[id] and is_filler(reference[id]) and spec.tokens[id] not in known
    ]
    return ids if len(ids) >= _SERIES and any(type != TokenType.UNUSED for type in theirs[ids[-1] :]) else []


def _named_later(spec: TokenizerSpec, facts: Opened) -> list[int]:
    """Return the reserved tokens, of a series that both sides have, to which the reference gives names of its own.

    A later version of a model does so. A fault replaces tokens by padding, which has no place in such a series. Names
    that a chat template writes, or that end a generation, are those of a model that was trained with them.
    """
    reference = _tokens_of(facts)
    ids = find_changed(spec.tokens, reference)
    if any(_NUMBERED.fullmatch(reference[id]) for id in ids):
        return []
    if len(_reserved_among(ids, spec.tokens, reference)) < len(ids):
        return []
    markers = map(read_template, (spec.chat_template, facts.chat_template))
    used = {*EOG_TEXTS, *(text for each in markers for text in (*each.strong, *each.weak))}
    roles = {*facts.special_ids.values(), *spec.special_ids.values()}
    return [] if any(id in roles or reference[id] in used for id in ids) else ids


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
    match = _NUMBERED.fullmatch(text)
    return (match[1], match[3], id - int(match[2])) if match else None


def _lacking_at_end(spec: TokenizerSpec, facts: Opened) -> list[int]:
    """Return the tokens after the last one of the reference, if they are more than a fault adds.

    Ordinary ones count unless the model lacks embeddings for some of them. Fewer are enough if they were added, as the
    markers that a fine-tuned model has and its base lacks, or if BOS or EOS has another name, too: MiniMax-M3 has
    `]~b]` for the `<beginning_of_sentence>` of MiniMax-Text-01. A pair is enough beside another chat template. A .model
    lists no added tokens, but all ordinary ones.
    """
    if facts.spec is None:
        return []
    reference = facts.spec.tokens
    known, types = set(reference), types_of(spec)
    has_rows = spec.embedding_rows is None or spec.embedding_rows >= len(spec.tokens)
    # Added tokens that have lost their types are no pieces that a .model lacks.
    has_pieces = has_rows and (facts.lists_all_tokens or TokenType.CONTROL in types)
    ids = [
        id
        for id in range(len(reference), len(spec.tokens))
        if (has_pieces if types[id] not in _ADDED_TYPES else facts.lists_all_tokens)
        if spec.tokens[id] not in known and not is_filler(spec.tokens[id])
    ]
    # Plain words are added by mistake, too; `### End` is none.
    added = {text for id in ids if types[id] in _ADDED_TYPES and not (text := spec.tokens[id]).isalnum()}
    added.difference_update(ROLES_BY_NAME)
    few = _PAIR if spec.chat_template and has_other_template(spec, facts.chat_templates) else _FEW
    least = few if len(added) >= few else _SERIES if _has_other_ends(spec, facts.spec) else _MANY
    return ids if len(ids) >= least else []


def _after_stated_size(spec: TokenizerSpec, facts: Opened) -> list[int]:
    """Return the ordinary tokens after as many as a reference says that it has, if they are more than a fault adds.

    That is a reference that shows only ids, or ids and bytes. It may count its tokens without those that were added.
    """
    if facts.spec is not None or facts.document is not None:
        return []
    size = facts.tokenizer.stated_size if isinstance(facts.tokenizer, SizeStating) else facts.size
    has_rows = spec.embedding_rows is None or spec.embedding_rows >= len(spec.tokens)
    if not size or not has_rows or len(spec.tokens) - size < _MANY:
        return []
    texts, types = spec.tokens, types_of(spec)
    ids = [
        id
        for id in range(size, len(texts))
        if types[id] == TokenType.NORMAL and not is_filler(texts[id]) and not is_marker(texts[id])
    ]
    return ids if len(ids) >= _MANY else []


def _added_at_end(spec: TokenizerSpec, facts: Opened) -> list[int]:
    """Return the added tokens of the reference after the last one here, if they are more than a fault removes.

    That is another model with the same words, as CodeGen 2 beside Phi-2, unless something speaks for a cut: other
    tokens that differ, more embeddings, or merges, roles or a chat template that need tokens beyond the end.
    """
    size, reference = len(spec.tokens), _tokens_of(facts)
    if facts.spec is None or len(reference) - size < _MANY or find_changed(spec.tokens, reference):
        return []
    types = types_of(facts.spec)
    ids = [id for id in range(size, len(reference)) if types[id] in _ADDED_TYPES and not is_filler(reference[id])]
    roles = [*spec.special_ids.values(), *facts.special_ids.values()]
    templates = map(read_template, filter(None, (spec.chat_template, facts.chat_template)))
    written = {text for template in templates for text in (*template.strong, *template.weak)}
    is_cut = (
        spec.embedding_rows not in {None, size}
        or any(id >= size for id in roles)
        or not written.isdisjoint(reference[size:])
        or bool(spec.merges and find_unmade(spec.merges, index_pieces(spec.tokens)) is None)
    )
    return [] if is_cut or len(ids) < _MANY else ids


def _renamed_markers(spec: TokenizerSpec, facts: Opened) -> list[int]:
    """Return the markers in place of which the reference has others, if they are more than a person renames.

    A fault that respells markers leaves their letters, and one that moves tokens leaves the tokens. A tiktoken file has
    no token at all in place of the markers that only another model of the same ranks has, as gpt-oss beside o200k_base.
    """
    reference = _texts_of(facts)
    changed, types = find_changed(spec.tokens, reference), types_of(spec)
    known, here, unnamed = set(reference), set(spec.tokens), _ids_without_token(facts)
    controls = frozenset(ids_of_type(facts.spec.types if facts.spec else None, TokenType.CONTROL))
    ids = [
        id
        for id, ours, theirs in ((id, spec.tokens[id], reference[id]) for id in changed)
        if not (ours in known or theirs in here or is_filler(ours) or is_filler(theirs))
        and (is_marker(ours) or types[id] in _ADDED_TYPES)
        and (id in unnamed or ((is_marker(theirs) or id in controls) and not _keeps_letters(ours, theirs)))
    ]
    return ids if len(ids) >= _FEW else []


def _sorted_markers(spec: TokenizerSpec, facts: Opened) -> list[int]:
    """Return the added tokens that the reference has in the order of their texts, and the file in another one.

    A program that lists them as a set saves this. The file is right if it ends a generation at a token that is named
    so, and the reference has another there: if only the texts of the file were moved, its EOS is some other token.
    """
    reference, eos = _tokens_of(facts), spec.special_ids.get("eos")
    if eos is None or eos >= min(len(spec.tokens), len(reference)):
        return []
    if spec.tokens[eos] not in EOG_TEXTS or reference[eos] in EOG_TEXTS:
        return []
    changed, types = find_changed(spec.tokens, reference), types_of(spec)
    ours, theirs = ([texts[id] for id in changed] for texts in (spec.tokens, reference))
    is_sorted = theirs == sorted(ours) != ours and all(types[id] in _ADDED_TYPES for id in changed)
    return changed if is_sorted and len(changed) >= _SERIES else []


def _ids_without_token(facts: Opened) -> frozenset[int]:
    """Return the ids for which a reference that declares no tokenizer has no token, if it lists special ones at all."""
    if facts.spec or facts.tokenizer is None or lists_no_special_tokens(facts.tokenizer):
        return frozenset()
    return frozenset(id for id, piece in enumerate(facts.pieces) if not piece)


def _has_other_ends(spec: TokenizerSpec, reference: TokenizerSpec) -> bool:
    """Whether BOS or EOS is the same id on both sides, with a name that the other side does not have."""
    ends = {id for role in ("bos", "eos") if (id := spec.special_ids.get(role)) == reference.special_ids.get(role)}
    return any(
        id is not None
        and id < min(len(spec.tokens), len(reference.tokens))
        and spec.tokens[id] != reference.tokens[id]
        and spec.tokens[id] not in reference.tokens
        and reference.tokens[id] not in spec.tokens
        for id in ends
    )


def _are_of_other_kinds(spec: TokenizerSpec, facts: Opened) -> tuple[str, str] | None:
    """Return the names of both models if one spells bytes, as GPT-2 does, and the other marks spaces.

    The file's tokens must be written as its model reads them: the name alone can be wrong.
    """
    family = find_family(spec.model)
    if facts.spec is None or family is None or spec.model == facts.spec.model:
        return None
    ours, theirs = _mark_of_space(spec), _mark_of_space(facts.spec)
    is_own = ours == (SPELLED_SPACE if family.alphabet is Alphabet.BYTE_LEVEL else ESCAPED_SPACE)
    return (spec.model, facts.spec.model) if is_own and theirs and ours != theirs else None


def _mark_of_space(spec: TokenizerSpec) -> str | None:
    """Return what nearly all words begin with that begin with a mark of a space."""
    counts = count_space_marks(spec)
    (_, second), (mark, first) = sorted(counts.items(), key=lambda item: item[1])
    return mark if first > _TIMES * second else None


def _list(ids: Sequence[int], facts: Opened) -> str:
    return list_tokens(ids, _tokens_of(facts))


def _tokens_of(facts: Opened) -> Sequence[str]:
    return facts.spec.tokens if facts.spec else ()


def _texts_of(facts: Opened) -> Sequence[str]:
    """Return the texts of special tokens by id, and others of ordinary ones if the reference shows only their bytes.

    A tiktoken file declares no tokenizer that GGUF has, but its tokens have bytes.
    """
    return _tokens_of(facts) or [data.decode(errors="replace") for data in facts.token_bytes]


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
        if text in written and not is_filler(text) and (is_marker(text) or types[id] in _ADDED_TYPES)
    )


def _are_ends(ours: str, theirs: str, here: Collection[str]) -> bool:
    """Whether two models end a generation with these texts, of which the file has only its own."""
    return {ours, theirs} <= set(EOG_TEXTS) and theirs not in here


def is_of_other_model(spec: TokenizerSpec, facts: Opened) -> bool:
    """Whether a reference belongs to another model, or to another version of the model with other ids.

    Case, compatibility forms, NULs, line ends and the marks of words do not count, because faults change them.
    """
    tokens, reference = _alike_lists(spec, facts)
    ours, theirs = list(map(_simplify, tokens)), list(map(_simplify, reference))
    in_place = sum(left == right for left, right in zip(ours, theirs, strict=False))
    if in_place >= _IN_PLACE * min(len(ours), len(theirs)):
        return False
    distinct, others = set(ours), set(theirs)
    shared = len(distinct & others) / max(len(distinct), len(others))
    if shared < _SOME or not _agrees_with_itself(spec):
        return shared < _SHARED
    # Trainers of subwords do not number tokens by their texts, but programs write JSON with sorted keys.
    if shared >= _SHARED and _is_sorted(tokens) and not _is_sorted(reference):
        return False
    if _order_kept(ours, theirs) < _ORDERED:
        return True
    fillers = {_simplify(token) for token in (*tokens, *reference) if is_filler(token.strip(_MARKS))}
    # A later version of a model adds tokens before the others, as those of Mistral do.
    added = max(len(distinct - others - fillers), len(others - distinct - fillers))
    return added > _ADDED * max(len(distinct), len(others))


def _is_sorted(tokens: Sequence[str]) -> bool:
    """Whether nearly all tokens follow one that is less, as texts are compared."""
    return sum(before < after for before, after in pairwise(tokens)) >= NEARLY_ALL * (len(tokens) - 1)


def _with_spelled_bytes(spec: TokenizerSpec) -> list[str]:
    """Return the tokens of the file, of which those for bytes are spelled as what they represent, as a reference's."""
    matches = ((text, BYTE_PIECE.fullmatch(text)) for text in spec.tokens)
    return [text_of_bytes(bytes.fromhex(match[1]), spec.model) if match else text for text, match in matches]


def _alike_lists(spec: TokenizerSpec, facts: Opened) -> tuple[Sequence[str], Sequence[str]]:
    """Return the tokens of both sides, spelled in the same way; none if many have the same places."""
    size = min(len(spec.tokens), len(facts.pieces))
    # To spell them takes long.
    if size and len(find_changed(spec.tokens, facts.pieces)) <= (1 - _IN_PLACE) * size:
        return (), ()
    return _with_spelled_bytes(spec), [text_of_bytes(data, spec.model) for data in facts.token_bytes]


def _order_kept(ours: Sequence[str], theirs: Sequence[str]) -> float:
    """Return the share of the common tokens that are in the order of the reference, as a whole or in blocks."""
    places: dict[str, int] = {}
    for id, token in enumerate(theirs):
        places.setdefault(token, id)
    order = [places[token] for token in dict.fromkeys(ours) if token in places]
    in_blocks = sum(0 < after - before <= _STEP for before, after in pairwise(order))
    return max(in_blocks / len(order), _longest_ascent(order) / len(order))


def _longest_ascent(numbers: Iterable[int]) -> int:
    """Return the length of the longest ascending subsequence (patience sorting)."""
    ends: list[int] = []
    for number in numbers:
        at = bisect_left(ends, number)
        ends[at : at + 1] = [number]
    return len(ends)


def _agrees_with_itself(spec: TokenizerSpec) -> bool:
    """Whether most types and roles fit the texts of their tokens; they do not if only the texts were moved."""
    types = types_of(spec)
    fits = [
        BYTE_PIECE.fullmatch(text) is not None if type == TokenType.BYTE else _looks_special(text)
        for text, type in zip(spec.tokens, types, strict=False)
        if type in {TokenType.BYTE, TokenType.CONTROL, TokenType.UNKNOWN}
    ]
    fits += [_looks_special(spec.tokens[id]) for id in spec.special_ids.values() if id < len(spec.tokens)]
    return 2 * sum(fits) >= len(fits)


def _looks_special(text: str) -> bool:
    return is_marker(text) or is_filler(text) or kind_of(text) == "tags"


def _keeps_letters(ours: str, theirs: str) -> bool:
    """Whether the letters of one text are in the other in their order, as if one were escaped or respelled."""
    short, long = sorted(("".join(filter(str.isalnum, text)).casefold() for text in (ours, theirs)), key=len)
    rest = iter(long)
    return all(letter in rest for letter in short)


def _simplify(token: str) -> str:
    # UTF-16 that was read as bytes contains NULs, and a list that was read line by line, line ends.
    return unicodedata.normalize("NFKC", token.replace("\0", "").rstrip("\r\n").strip(_MARKS)).casefold()
