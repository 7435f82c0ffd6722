"""Report special tokens that differ: the tokens of the roles, and those that end a generation."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tokverify.compare.affix import affixes_of
from tokverify.compare.digest import make_difference
from tokverify.compare.inner_end import why_no_end
from tokverify.compare.marker import read_template
from tokverify.compare.role_name import BEGINNINGS, NEVER_ENDS, ROLES_BY_NAME
from tokverify.compare.template_difference import ends_turns, has_generation_config, template_of
from tokverify.engine.encoder import Encoder
from tokverify.engine.settings import resolve
from tokverify.engine.special_text import EOG_TEXTS
from tokverify.errors import NotComparedError, answer_or
from tokverify.report.finding import ERROR, INFO, WARNING, Severity
from tokverify.report.tokenizer_difference import BLAME, Aspect, Origin, TokenizerDifference
from tokverify.sources.config import find_displaced, find_left_out, is_role_open, special_texts
from tokverify.sources.gguf.keys import KEYS_BY_ROLE
from tokverify.spec import TokenType, ids_of_type
from tokverify.text.wording import list_tokens, plural, quote
from tokverify.texts.token_text import is_filler, is_marker
from tokverify.tokenizer import Declaring, EndListing, GenerationEnds, RoleListing, Tokenizer, path_of

NEVER_WRITTEN = "is reserved, or padding: a model does not write it, so a generation ends only at other tokens"
"""What is wrong with a token that stands for nothing as EOS."""
_HARMLESS: Mapping[str, Severity] = {"pad": INFO, "mask": WARNING}
"""Roles whose tokens occur neither in a prompt nor at the end of an answer."""
_SYNONYMS = {"cls": "bos", "bos": "cls", "sep": "eos", "eos": "sep"}
_HARM_IF_ORDINARY = (
    ("bos", WARNING, "chat templates that begin with bos_token contain it"),
    ("eos", ERROR, "a generation ends wherever the model writes it"),
)
_ESSENTIAL = ("bos", "eos")
_BOS_VARIABLE = re.compile(r"\bbos_token\b")
_EOS_VARIABLE = re.compile(r"\beos_token\b")
_ORDINARY = frozenset({TokenType.NORMAL, TokenType.BYTE})
_UNKNOWN_ENDS = GenerationEnds(frozenset(), are_all=False)


def find_role_differences(
    actual: Tokenizer, expected: Tokenizer, differing: Mapping[str, tuple[int, int]]
) -> Iterator[TokenizerDifference]:
    """Yield the roles whose tokens differ, and those that only one side has.

    Raises:
        NotComparedError: If a side does not know whether it has an essential role, after everything else was yielded.
    """
    for role, (ours, theirs) in differing.items():
        severity, reason = _judge_other(role, ours, theirs, actual, expected)
        message = (
            f"{role} is {_name(actual, ours)} in the model, but {_name(expected, theirs)} in the reference{reason}"
        )
        yield _role_difference(role, severity, message, [ours, theirs], facts=role)
    for role, id in _find_missing(actual, expected):
        synonym = _SYNONYMS.get(role, "")
        if synonym in actual.special_ids and synonym not in expected.special_ids:
            here = _name(actual, actual.special_ids[synonym])
            message = f"{synonym} is {here} in the model, but {_name(expected, id)} in the reference"
        else:
            message = f"the model has no {role}, which is {_name(expected, id)} in the reference"
        yield _role_difference(role, _judge_missing(role, id, actual), message, [id], facts=role)
    for role, id in _find_missing(expected, actual):
        message = f"{role} is {_name(actual, id)} in the model, but the reference has none"
        severity = _judge_missing(role, id, expected)
        yield _role_difference(role, severity, message, [id], facts=[role, "reference"])
    yield from _find_ordinary(actual, expected)
    yield from _find_foreign(actual, expected)
    unknown = [*_find_unknown(actual, expected), *_find_unknown(expected, actual)]
    if unknown:
        raise NotComparedError("; ".join(unknown))


def _judge_other(role: str, ours: int, theirs: int, actual: Tokenizer, expected: Tokenizer) -> tuple[Severity, str]:
    """Return how serious it is that a role has another token, and what follows or excuses it."""
    severity, reason = _HARMLESS.get(role, ERROR), ""
    if role == "eos" and both_end(actual, expected, ours, theirs):
        severity = WARNING
        reason = "; each of them ends a generation: the EOS of base and instruct files of one model differ so"
    elif role == "eos" and _has_eos_of_base_model(actual, expected, ours, theirs):
        end = quote(expected.piece(theirs))
        reason = (
            f"; the chat template ends turns with {end}, and nothing in the reference ends a generation at the"
            " model's, so that programs that stop only there write past the end of a turn"
        )
    elif is_role_open(role, expected) and _may_be_right(ours, actual, expected):
        severity = min(severity, WARNING)
        trained = "a .model file names only the special tokens that it was trained with"
        reason = f"; {trained}, and no file beside it says which are right"
    elif role == "bos" and _both_begin(actual, expected, ours):
        severity = WARNING
        reason = f"; the reference, too, begins texts with {_name(actual, ours)}: GGUF has no other key for it"
    elif role == "unk" and _never_encodes_unknown(actual):
        severity = WARNING
        reason = "; llama.cpp encodes what no piece matches as bytes, not as the unknown token"
    return severity, reason


def _find_ordinary(actual: Tokenizer, expected: Tokenizer) -> Iterator[TokenizerDifference]:
    """Yield BOS and EOS that cannot be right, such as ordinary tokens, if the reference does not say which they are."""
    unknown = _list_unknown(expected, actual)
    if not isinstance(actual, Encoder):
        return
    for role, severity, harm in _HARM_IF_ORDINARY:
        # A file without a BOS may get an ordinary token by default, which nothing uses then.
        if role not in unknown or (role == "bos" and role not in actual.spec.special_ids):
            continue
        id = actual.special_ids[role]
        if is_ordinary(id, actual.piece(id), actual.token_types()):
            message = f"{role} is {_name(actual, id)}, an ordinary token: {harm}"
            yield _role_difference(role, severity, message, [id], facts="ordinary")
        elif role == "eos" and (piece := actual.piece(id)) in NEVER_ENDS and not _is_bos(actual, id, piece):
            message = f"eos is {_name(actual, id)}, a token that {NEVER_ENDS[piece]}"
            yield _role_difference("eos", ERROR, message, [id], facts="other role")
        elif role == "eos" and is_filler(actual.piece(id)):
            message = f"eos is {_name(actual, id)}, which {NEVER_WRITTEN}"
            yield _role_difference("eos", WARNING, message, [id], facts="reserved")


def _is_bos(actual: Tokenizer, id: int, piece: str) -> bool:
    """Whether a token that marks a beginning is BOS, too, as in models with one token for both."""
    return id == actual.special_ids.get("bos") and piece in BEGINNINGS


def _find_foreign(actual: Tokenizer, expected: Tokenizer) -> Iterator[TokenizerDifference]:
    """Yield that the files beside a reference name an EOS that is none of its tokens, as those of another model."""
    path = path_of(expected)
    named = special_texts(path).get("eos") if path else None
    if named is None or "eos" not in _list_unknown(expected, actual):
        return
    # A configuration of another model names tokens at ids of others, too.
    displaced = find_displaced(expected)
    if named in (text for id, text in find_left_out(expected).items() if id not in displaced):
        return
    id = actual.special_ids["eos"]
    message = (
        f"eos is {_name(actual, id)} in the model, but {quote(named)} beside the reference, which has no such token;"
        f" {BLAME}: its configuration may be that of another model"
    )
    yield replace(_role_difference("eos", WARNING, message, [id], facts="foreign"), origin=Origin.REFERENCE)


def is_ordinary(id: int, piece: str, types: Sequence[TokenType]) -> bool:
    """Whether a token is neither typed nor named like a special one, although the file types others so."""
    return types[id] in _ORDINARY and TokenType.CONTROL in types and not is_marker(piece)


def both_end(actual: Tokenizer, expected: Tokenizer, ours: int, theirs: int) -> bool:
    """Whether the EOS of both sides ends a generation whichever of them is EOS, and no prompt contains EOS.

    A reference that does not name all of its ends need not name ours, if our side ends there whatever its EOS is:
    llama.cpp ends a generation at all tokens that it knows as ends by their texts.
    """
    here, there = _known_ends(actual), _known_ends(expected)
    if not {ours, theirs} <= here.ids or theirs not in there.ids or not isinstance(actual, Declaring):
        return False
    spec = actual.declared_spec()
    if any(_EOS_VARIABLE.search(template) for template in spec.templates.values()):
        return False
    if ours == spec.special_ids.get("pad") and actual.piece(ours) not in EOG_TEXTS:
        # llama.cpp also ends a generation at padding such as <PAD>, which no model is trained to end answers with.
        return False
    if ours in there.ids:
        return True
    if there.are_all or _has_eos_of_base_model(actual, expected, ours, theirs):
        return False
    swapped = replace(spec, special_ids={**spec.special_ids, "eos": theirs})
    return resolve(swapped).eog_ids == here.ids


def _has_eos_of_base_model(actual: Tokenizer, expected: Tokenizer, ours: int, theirs: int) -> bool:
    """Whether our EOS is only that of the base model: our own chat template ends turns with the reference's instead.

    The configuration of the reference must say where a generation ends. A tokenizer_config.json alone does not: that of
    Gemma 4 names another EOS than llama.cpp's converter, and its generation_config.json both.
    """
    is_other = ends_turns(template_of(actual), expected.piece(theirs), actual.piece(ours))
    return is_other and has_generation_config(expected) and ours not in _known_ends(expected).ids


def _may_be_right(id: int, actual: Tokenizer, expected: Tokenizer) -> bool:
    """Whether a token of a role may be right, although a .model names another.

    Either it is behind the last piece, or both BOS and EOS are control pieces to which the .model gives no role, as in
    ChatGLM: a mistake rarely changes both to such.
    """
    if id >= expected.vocab_size:
        return not is_filler(actual.piece(id))
    spec = expected.declared_spec() if isinstance(expected, Declaring) else None
    if spec is None:
        return False
    taken, controls = set(spec.special_ids.values()), set(ids_of_type(spec.types, TokenType.CONTROL))
    others = {actual.special_ids[role] for role in _ESSENTIAL if role in actual.special_ids} & (controls - taken)
    usable = [end for end in others if not is_filler(spec.tokens[end]) and spec.tokens[end] not in ROLES_BY_NAME]
    return id in usable and len(usable) == len(_ESSENTIAL)


def _both_begin(actual: Tokenizer, expected: Tokenizer, bos: int) -> bool:
    """Whether both sides begin texts with a token that only ours calls BOS, and no prompt contains BOS.

    The source language of mBART-50 is such a token; the configuration of its tokenizer calls another one BOS.
    """
    spec = actual.declared_spec() if isinstance(actual, Declaring) else None
    if spec is None or any(_BOS_VARIABLE.search(template) for template in spec.templates.values()):
        return False
    return answer_or(False, lambda: all(affixes_of(side)[0] == [bos] for side in (actual, expected)))


def _never_encodes_unknown(actual: Tokenizer) -> bool:
    """Whether llama.cpp encodes no text as the unknown token, since it makes bytes of what no piece matches."""
    if not isinstance(actual, Encoder):
        return False
    family = actual.settings.family
    return family.byte_fallback is not None and not family.replaces_unknown


def _role_difference(role: str, severity: Severity, message: str, ids: list[int], facts: object) -> TokenizerDifference:
    # GGUF has no key for CLS: llama.cpp calls it BOS.
    key = KEYS_BY_ROLE.get(role) or KEYS_BY_ROLE[_SYNONYMS[role]]
    return make_difference(Aspect.SPECIAL_IDS, severity, message, ids, facts=facts, keys=(key,))


def _name(tokenizer: Tokenizer, id: int) -> str:
    return f"{id} {quote(_pieces_of([id], tokenizer)[id])}"


def _find_missing(lacking: Tokenizer, having: Tokenizer) -> Iterator[tuple[str, int]]:
    """Yield the roles, with their ids, that one side has and that the other is known to lack."""
    for role, id in having.special_ids.items():
        is_lacking = role not in lacking.special_ids and lacking.special_ids.get(_SYNONYMS.get(role, "")) != id
        if is_lacking and _lists_role(lacking, role):
            yield role, id


def _lists_role(tokenizer: Tokenizer, role: str) -> bool:
    return isinstance(tokenizer, RoleListing) and tokenizer.lists_role(role)


def _judge_missing(role: str, id: int, lacking: Tokenizer) -> Severity:
    """Return how serious it is that a side lacks a role: what is added around a text is compared elsewhere."""
    if role not in _ESSENTIAL:
        return INFO
    ends = lacking.generation_ends().ids if isinstance(lacking, EndListing) else frozenset()
    return ERROR if role == "eos" and id not in ends else WARNING


def _list_unknown(tokenizer: Tokenizer, other: Tokenizer) -> list[str]:
    """List the essential roles that the other side has, and of which a tokenizer may have a token or not."""
    known = {*tokenizer.special_ids, *(_SYNONYMS.get(role, role) for role in tokenizer.special_ids)}
    unnamed = [role for role in _ESSENTIAL if role in other.special_ids and role not in known]
    return [role for role in unnamed if not _lists_role(tokenizer, role)]


def _find_unknown(tokenizer: Tokenizer, other: Tokenizer) -> Iterator[str]:
    if unknown := _list_unknown(tokenizer, other):
        them = "it" if len(unknown) == 1 else "them"
        yield f"{' and '.join(unknown)}: {tokenizer.name} does not name {them}"


def find_end_differences(actual: Tokenizer, expected: Tokenizer) -> Iterator[TokenizerDifference]:
    """Yield the tokens that end a generation on one side only.

    Raises:
        NotComparedError: If one side knows none.
    """
    ours, theirs = _ends_of(actual), _ends_of(expected)
    eos = {tokenizer.special_ids.get("eos") for tokenizer in (actual, expected)}
    # A different EOS is reported as such.
    reported = eos if len(eos) > 1 else set()
    lost = sorted(theirs.ids - ours.ids - reported)
    extra = sorted(ours.ids - theirs.ids - reported)
    if lost and ours.are_all:
        template = template_of(actual) or template_of(expected)
        pieces = _pieces_of(lost, expected)
        groups: dict[str, list[int]] = {}
        for id in lost:
            is_token = pieces[id] or id < actual.vocab_size
            reason = why_no_end(pieces[id], template) if is_token else "no token has this id"
            groups.setdefault(reason, []).append(id)
        for reason, ids in sorted(groups.items()):
            found = _end_difference(ids, "reference", expected)
            yield replace(found, message=f"{found.message}; {reason}", severity=INFO) if reason else found
    if extra and theirs.are_all:
        yield _end_difference(extra, "model", actual)
    elif unnamed := _select_turn_ends(extra, actual) if has_generation_config(expected) else []:
        yield _unnamed_turn_end(unnamed, theirs.ids, actual)


def _select_turn_ends(ids: Iterable[int], tokenizer: Tokenizer) -> list[int]:
    """Return those of some tokens with which the chat template ends a turn; none if it leaves that to EOS."""
    spec = tokenizer.declared_spec() if isinstance(tokenizer, Declaring) else None
    markers = read_template(spec.chat_template if spec else None)
    if spec is None or _EOS_VARIABLE.search(markers.template):
        return []
    return [id for id in ids if spec.tokens[id] in markers.turn_ends]


def _unnamed_turn_end(ids: list[int], named: Collection[int], actual: Tokenizer) -> TokenizerDifference:
    """Say that a reference forgets where its own chat template ends turns, as merges and fine-tunes do."""
    pieces = {id: actual.piece(id) for id in (*ids, *named)}
    message = (
        f"the chat template ends turns with {list_tokens(ids, pieces)}, at which llama.cpp ends a generation; the"
        f" reference is at fault: its eos_token and generation_config.json name only"
        f" {list_tokens(sorted(named), pieces)}, and so other programs write past the end of a turn"
    )
    return make_difference(Aspect.ENDS, WARNING, message, ids, facts="turn", origin=Origin.REFERENCE)


def _known_ends(tokenizer: Tokenizer) -> GenerationEnds:
    return tokenizer.generation_ends() if isinstance(tokenizer, EndListing) else _UNKNOWN_ENDS


def _ends_of(tokenizer: Tokenizer) -> GenerationEnds:
    ends = _known_ends(tokenizer)
    if not ends.ids and not ends.are_all:
        raise NotComparedError(f"the tokens that end a generation: {tokenizer.name} does not name them")
    return ends


def _pieces_of(ids: Iterable[int], tokenizer: Tokenizer) -> dict[int, str]:
    """Map ids to the texts of tokens, of which those that are added to a .model are only in the files beside it."""
    pieces = {id: tokenizer.piece(id) for id in ids}
    unnamed = [id for id, piece in pieces.items() if not piece]
    beside = find_left_out(tokenizer) if unnamed else {}
    return pieces | {id: beside.get(id, "") for id in unnamed}


def _end_difference(ids: list[int], side: str, tokenizer: Tokenizer) -> TokenizerDifference:
    verb = "ends" if len(ids) == 1 else "end"
    names = list_tokens(ids, _pieces_of(ids, tokenizer))
    message = f"{plural(len(ids), 'token')} {verb} a generation in the {side} only: {names}"
    return make_difference(Aspect.ENDS, ERROR, message, ids, facts=side)
