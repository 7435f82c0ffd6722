"""TV121: a token whose name belongs to another role."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from tokverify.compare.affix import affixes_of
from tokverify.compare.inner_end import find_inner_ends
from tokverify.compare.repair import key_of, set_special_id
from tokverify.compare.role_name import BEGINNING, ENDING, PART_BEGINNINGS, ROLES_BY_NAME, is_conventional, natural_id
from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.engine.family import Settings
from tokverify.errors import NotComparedError
from tokverify.report.finding import ERROR, INFO, WARNING, Finding, Severity
from tokverify.text.wording import quote


@rule(code="TV121", name="borrowed-token", severity=ERROR)
def borrowed_token(subject: Subject) -> Iterator[Finding]:
    """Require that a token such as `<bos>`, `<eos>` or `<pad>` has no other role than its name says.

    What it does:
        Looks at the text of the token of each role, even if several roles have the same token. It is an error if the
        role of EOS or EOT has a beginning, padding, unknown or mask token, or the role of BOS an end, padding, unknown
        or mask token. In other roles it is a warning, as it is if BOS is never used: no text begins with it, and no
        chat template names it. Padding may borrow any token, because it is never read; that, and whatever the reference
        does as well, is reported for information.

    Why it is bad:
        A generation never ends or ends at once, or every text begins with a token that means an end to the model. If
        both roles have the same token, the ids look plausible.

    Example:
        A file in which the ids of BOS and EOS were swapped, or both were set to the id of `<bos>`.

    How to repair:
        `gguf-new-metadata --special-token-by-id eos ID MODEL FIXED`, with the role and the id of your model.

    Threads:
        ggml-org/llama.cpp#9609, ggml-org/llama.cpp#6745, neomjs/neo#14015
    """
    settings = subject.settings
    # TV106 reports these.
    inner = {end.role for end in find_inner_ends(settings, subject.template)}
    for role, id in settings.special_ids.items():
        roles = ROLES_BY_NAME.get(settings.pieces[id])
        is_borrowed = roles and role not in roles and not role.startswith("fim_")
        if roles and is_borrowed and role not in inner and not is_conventional(settings, role):
            yield _report(subject, role, id, roles)


def _report(subject: Subject, role: str, id: int, natural: tuple[str, ...]) -> Finding:
    settings = subject.settings
    others = [other for other, its in settings.special_ids.items() if its == id and other != role]
    piece = settings.pieces[id]
    begun = PART_BEGINNINGS.get(piece)
    means = f"begins {begun}" if begun else f"is {_describe_owner(natural, others)}"
    message = f"{role} is {id} {quote(piece)}, which {means}"
    if _is_shared_by_reference(subject, role, id):
        return Finding(INFO, f"{message}; so it is in the reference", (id,), (key_of(role),))
    is_idle = role == "bos" and _is_never_used(subject)
    severity = WARNING if is_idle else _severity(settings, role, natural)
    return Finding(severity, message, (id,), (key_of(role),), set_special_id(role, natural_id(settings.ids, role)))


def _is_never_used(subject: Subject) -> bool:
    """Whether no text begins with BOS, and no chat template names it, as in Granite, where EOS is BOS, too."""
    return not subject.settings.add_bos and "bos_token" not in (subject.template or "")


def _severity(settings: Settings, role: str, natural: tuple[str, ...]) -> Severity:
    if role == "pad":
        return INFO
    if role == "unk":
        return ERROR if settings.family.replaces_unknown else WARNING
    if role in {"bos", "eos", "eot", "eom"}:
        return ERROR
    return INFO if natural in {BEGINNING, ENDING} else WARNING


def _describe_owner(natural: tuple[str, ...], others: Sequence[str]) -> str:
    taken = f"already the token of {' and '.join(others)}" if others else ""
    if set(natural) & set(others):
        return taken
    named = f"usually the name of the {natural[0]} token"
    return f"{named} and {taken}" if taken else named


def _is_shared_by_reference(subject: Subject, role: str, id: int) -> bool:
    if subject.original is None:
        return False
    if subject.original.special_ids.get(role) == id:
        return True
    # A reference that does not name its roles still shows which tokens it adds around a text.
    with suppress(NotComparedError):
        before, after = affixes_of(subject.original)
        return [id] == list({"bos": before, "eos": after}.get(role, ()))
    return False
