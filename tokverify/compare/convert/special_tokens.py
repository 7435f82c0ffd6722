"""Special tokens of a converted file: those that the user chose, and a warning about llama.cpp's defaults.

If a file declares no BOS or EOS token, llama.cpp uses fixed ids, which are right for the model that they come from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from tokverify.compare.role_name import suggest_end
from tokverify.engine.family import Settings
from tokverify.engine.settings import resolve
from tokverify.errors import TokverifyError
from tokverify.spec import TokenizerSpec
from tokverify.text.wording import list_alternatives, quote

_PLACES = {"bos": "BOS before it", "eos": "EOS after it"}
_ROLES = tuple(_PLACES)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecialTokens:
    """What to declare about BOS and EOS; None keeps what the source declares."""

    bos: str | None = None
    """The id of the BOS token in decimal digits, or its text."""
    eos: str | None = None
    """The same for EOS."""
    add_bos: bool | None = None
    """Whether a BOS token is added before a text."""
    add_eos: bool | None = None
    """Whether an EOS token is added after a text."""

    def declare(self, spec: TokenizerSpec) -> TokenizerSpec:
        """Return `spec` with these declarations.

        Raises:
            TokverifyError: If there is no such token.
        """
        chosen = {"bos": self.bos, "eos": self.eos}
        ids = {role: _find_token(spec, role, token) for role, token in chosen.items() if token is not None}
        return replace(
            spec,
            special_ids={**spec.special_ids, **ids},
            add_bos=spec.add_bos if self.add_bos is None else self.add_bos,
            add_eos=spec.add_eos if self.add_eos is None else self.add_eos,
        )


def _find_token(spec: TokenizerSpec, role: str, token: str) -> int:
    # Many vocabularies have tokens that consist of digits, but none of those is BOS or EOS.
    if token.isdecimal() and int(token) < len(spec.tokens):
        return int(token)
    if token in spec.tokens:
        return spec.tokens.index(token)
    near = get_close_matches(token, spec.tokens, n=3)
    hint = f"did you mean {list_alternatives(near)}?" if near else "name one by its text or its id"
    raise TokverifyError(f"--{role}-token {token}: there is no such token among {len(spec.tokens):,}; {hint}")


def warn_of_defaults(spec: TokenizerSpec, *, adding_was_compared: bool) -> Iterator[str]:
    """Yield a sentence for each declaration about BOS and EOS for which llama.cpp uses a default.

    Args:
        spec: What the converted file declares.
        adding_was_compared: Whether the source shows which tokens are added around a text, so that it is known if the
            default is right.
    """
    settings = resolve(spec)
    for role in _ROLES:
        if role not in spec.special_ids and role in settings.special_ids:
            yield _describe_token(spec, settings, role)
    if not adding_was_compared and (undeclared := [role for role in _ROLES if getattr(spec, f"add_{role}") is None]):
        yield _describe_adding(spec, settings, undeclared)


def warn_of_ends(spec: TokenizerSpec) -> Iterator[str]:
    """Yield a sentence if nobody has said which token is EOS, so that generations end at llama.cpp's default."""
    settings = resolve(spec)
    if "eos" not in spec.special_ids and "eos" in settings.special_ids:
        id = suggest_end(settings)
        advice = f"gguf-new-metadata --special-token-by-id eos {'ID' if id is None else id} OUT FIXED"
        yield f"which token is EOS, so a generation ends at {_default(spec, settings, 'eos')}; declare it: {advice}"


def _default(spec: TokenizerSpec, settings: Settings, role: str) -> str:
    id = settings.special_ids[role]
    return f"{id} {quote(settings.pieces[id])}, llama.cpp's default for the model {spec.model}"


def _describe_token(spec: TokenizerSpec, settings: Settings, role: str) -> str:
    return (
        f"IN declares no {role.upper()} token, so it is {_default(spec, settings, role)}; "
        f"declare it with --{role}-token TOKEN"
    )


def _describe_adding(spec: TokenizerSpec, settings: Settings, roles: Sequence[str]) -> str:
    added = [_PLACES[role] for role in roles if getattr(settings, f"add_{role}")]
    options = " and ".join(f"--add-{role} or --no-add-{role}" for role in roles)
    return (
        f"IN does not declare which tokens are added around a text, so llama.cpp's default for the model {spec.model} "
        f"applies: {' and '.join(added) or 'none'}; declare it with {options}"
    )
