"""TV106: special ids that are missing or refer to ordinary tokens."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.inner_end import find_inner_ends
from tokverify.compare.repair import FIX, key_of, remove_special_id, set_special_id
from tokverify.compare.role_difference import NEVER_WRITTEN
from tokverify.compare.role_name import ENDING, ROLES_BY_NAME, is_conventional, is_special, natural_id
from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.engine.attribute import Attribute
from tokverify.engine.family import Settings
from tokverify.engine.piece_index import index_pieces
from tokverify.engine.special_text import ENDING_FIM_ROLES, EOG_TEXTS, FIM_TEXTS
from tokverify.report.finding import ERROR, INFO, WARNING, Finding, Severity
from tokverify.spec import MATCHED_TYPES
from tokverify.text.wording import quote
from tokverify.texts.token_text import is_filler

_INFILLING = "programs write it into every text to fill in"
_ENDING = ("eos", "eot", "eom", *ENDING_FIM_ROLES)


@rule(code="TV106", name="wrong-special-id", severity=ERROR)
def wrong_special_id(subject: Subject) -> Iterator[Finding]:
    """Require special ids that exist and that refer to special tokens.

    What it does:
        Checks the ids of BOS, EOS and so on, declared or by default: whether they are within the vocabulary, whether
        the tokens to add around a text are known, and whether a token is an ordinary one, neither typed nor named like
        a special token. That includes the tokens of infilling, some of which end a generation. An EOS token that is
        reserved or padding is a warning, and so is a token of infilling if another one has the name of its role. EOT
        and EOM must not be tokens that the chat template (of the file, or beside its reference) writes next to a role,
        such as `<|end_header_id|>`, or that are parts of an answer of gpt-oss, unless the reference ends a generation
        there as well.

    Why it is bad:
        Every text begins or ends with a word that does not belong there, or a generation ends wherever the model writes
        that word. If an id is missing, llama.cpp aborts when it has to add the token.

    Example:
        Qwen2 files without `tokenizer.ggml.bos_token_id` get llama.cpp's default for GPT-2, which is 11: a comma.

    How to repair:
        `gguf-new-metadata --special-token-by-id eos 151645 MODEL FIXED`, with the role and the id of your model. Turn
        off a flag that requests a token the model does not have.

    Threads:
        ggml-org/llama.cpp#7898, ggml-org/llama.cpp#3635, ggml-org/llama.cpp#8597, ggml-org/llama.cpp#2711
    """
    for role, id in subject.spec.special_ids.items():
        if id >= len(subject.spec.tokens):
            yield _report_outside(subject, role, id)
    yield from _find_missing(subject.settings)
    for role, id in subject.settings.special_ids.items():
        if is_conventional(subject.settings, role):
            continue
        if not is_special(subject.settings, id):
            yield from _check_ordinary(subject, role, id)
        elif role == "eos" and is_filler(subject.settings.pieces[id]):
            message = f"{key_of(role)}, {id}, is {quote(subject.settings.pieces[id])}, which {NEVER_WRITTEN}"
            repair = set_special_id(role, _suggest(subject, role))
            yield Finding(WARNING, message, (id,), (key_of(role),), repair)
        elif role in subject.spec.valid_special_ids:
            yield from _check_infilling(subject, role, id)
    yield from _check_inner_ends(subject)


def _check_infilling(subject: Subject, role: str, id: int) -> Iterator[Finding]:
    """Report a declared token of infilling that is named otherwise, although another one has the name of the role."""
    named, pieces = _suggest(subject, role), subject.settings.pieces
    if role in FIM_TEXTS and pieces[id] not in FIM_TEXTS[role] and named is not None:
        message = (
            f"{key_of(role)}, {id}, is {quote(pieces[id])}, but {named} {quote(pieces[named])} has the name of this"
            f" role: {_INFILLING}"
        )
        yield Finding(WARNING, message, (id, named), (key_of(role),), set_special_id(role, named))


def _check_inner_ends(subject: Subject) -> Iterator[Finding]:
    """Report EOT and EOM that stand before or inside an answer, unless the reference ends generations there, too."""
    settings = subject.settings
    for role, id, end in find_inner_ends(settings, subject.template, subject.named_ends):
        # Ordinary tokens are reported as such.
        if not is_special(settings, id):
            continue
        # subtle: llama.cpp finds another token for a role without a key by its text.
        repair = remove_special_id(role) if end is None else set_special_id(role, end)
        message = (
            f"{key_of(role)}, {id}, is {quote(settings.pieces[id])}, which stands before or inside an answer:"
            " a generation ends wherever the model writes it"
        )
        yield Finding(ERROR, message, (id,), (key_of(role),), repair)


def _report_outside(subject: Subject, role: str, id: int) -> Finding:
    tokens = subject.spec.tokens
    message = f"{key_of(role)} is {id}, but there are only {len(tokens):,} tokens, so llama.cpp ignores it"
    natural = natural_id(index_pieces(tokens), role)
    if natural is None:
        message += "; if tokens are missing, convert the model again"
    repair = FIX if natural is None else set_special_id(role, natural)
    return Finding(ERROR, message, ids=(id,), keys=(key_of(role),), repair=repair)


def _find_missing(settings: Settings) -> Iterator[Finding]:
    for role in _used_roles(settings):
        if role not in settings.special_ids:
            message = f"the {role} token is added to every text, but {key_of(role)} is missing; llama.cpp aborts"
            yield Finding(ERROR, message, keys=(key_of(role),), repair=set_special_id(role))


def _used_roles(settings: Settings) -> list[str]:
    """Return the roles whose tokens llama.cpp adds around a text."""
    before, after = settings.family.affix_roles(settings)
    return before + after


def _check_ordinary(subject: Subject, role: str, id: int) -> Iterator[Finding]:
    settings = subject.settings
    is_used = role in _used_roles(settings)
    if role in _ENDING:
        harm = "a generation ends wherever the model writes it"
    elif is_used:
        harm = "it is added to every text"
    elif role == "unk" and settings.family.replaces_unknown:
        harm = "it replaces everything that no piece matches"
    elif role == "bos":
        harm = "chat templates that begin with bos_token contain it"
    elif role in FIM_TEXTS:
        harm = _INFILLING
    else:
        return
    is_default = role not in subject.spec.valid_special_ids
    setting = f"llama.cpp's default for {key_of(role)}, {id}," if is_default else f"{key_of(role)}, {id},"
    message = f"{setting} is the ordinary token {quote(settings.pieces[id])}: {harm}"
    if subject.original is not None and subject.original.special_ids.get(role) == id:
        yield Finding(INFO, f"{message}; so it is in the reference", (id,), (key_of(role),))
        return
    severity = _severity(subject, role, is_used=is_used, is_default=is_default)
    yield Finding(severity, message, (id,), (key_of(role),), set_special_id(role, _suggest(subject, role)))


def _severity(subject: Subject, role: str, *, is_used: bool, is_default: bool) -> Severity:
    """Return how serious it is that an ordinary token has a role: added to every text, or by llama.cpp's default."""
    if role == "bos" and not is_used:
        return INFO if is_default and not _asks_for_bos(subject) else WARNING
    if role == "eos" and is_default and not is_used and not _has_end(subject.settings):
        # No other token can be declared instead.
        return WARNING
    # If no token is typed as a control token, the types are not informative.
    is_typed = any(attribute & Attribute.CONTROL.value for attribute in subject.settings.attributes)
    return ERROR if is_default or is_typed else WARNING


def _has_end(settings: Settings) -> bool:
    """Whether the vocabulary has a token that is named like the end of a text or of a turn."""
    ends = (text for text, roles in ROLES_BY_NAME.items() if roles == ENDING)
    return any(text in settings.ids for text in (*ends, *EOG_TEXTS))


def _suggest(subject: Subject, role: str) -> int | None:
    """Return the token that is named like a role, if the file types it as a token of that kind."""
    id, types = natural_id(subject.settings.ids, role), subject.spec.types
    return id if id is None or types is None or types[id] in MATCHED_TYPES else None


def _asks_for_bos(subject: Subject) -> bool:
    return subject.spec.chat_template is not None and subject.markers.mentions_bos
