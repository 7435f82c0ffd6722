"""What a converted file declares as llama.cpp's converter would, although its source says otherwise, or nothing."""

from __future__ import annotations

from dataclasses import replace

from tokverify.compare.role_name import declare_end
from tokverify.engine.attribute import ORDINARY
from tokverify.engine.settings import resolve
from tokverify.engine.special_text import is_converted_control
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.text.wording import list_tokens, plural, quote
from tokverify.texts.token_text import is_marker

_USER_DEFINED, _CONTROL = TokenType.USER_DEFINED.value, TokenType.CONTROL.value


def follow_conventions(spec: TokenizerSpec, kind: str) -> tuple[TokenizerSpec, tuple[str, ...]]:
    """Return what a GGUF file should declare, and a sentence for each convention that it follows.

    Args:
        spec: What the source declares, and the user.
        kind: The kind of the source. Only of a tokenizer.json, the converter takes types from the texts of tokens.
    """
    sentences: list[str] = []
    if kind == "tokenizers" and (ids := _visible_markers(spec)):
        types = list(spec.types or ())
        for marker in ids:
            types[marker] = _CONTROL
        spec = replace(spec, types=types)
        tokens = list_tokens(ids, spec.tokens)
        sentences.append(f"{plural(len(ids), 'token')} typed CONTROL because of the text, as in llama.cpp: {tokens}")
    declared = declare_end(spec)
    if declared is not spec:
        id = declared.special_ids["eos"]
        sentences.append(f"IN declares no EOS token, so it is {id} {quote(spec.tokens[id])}, which is named like one")
    for flag, id in _ordinary_around(declared).items():
        declared = replace(declared, add_bos=False) if flag == "add_bos" else replace(declared, add_eos=False)
        role, piece = flag.removeprefix("add_").upper(), quote(declared.tokens[id])
        sentences.append(
            f"IN has no {role} token, so {flag}_token is false: llama.cpp's default would add {id} {piece}"
        )
    return declared, tuple(sentences)


def _ordinary_around(spec: TokenizerSpec) -> dict[str, int]:
    """Return the undeclared flags by which llama.cpp would add an ordinary token around each text, and that token."""
    settings = resolve(spec)
    before, after = settings.family.affix_roles(settings)
    found: dict[str, int] = {}
    for role in (*before, *after):
        id, flag = settings.special_ids.get(role), f"add_{role}"
        is_ordinary = id is not None and settings.attributes[id] & ORDINARY and not is_marker(settings.pieces[id])
        is_default = role in {"bos", "eos"} and role not in spec.special_ids and getattr(spec, flag) is None
        if id is not None and is_ordinary and is_default:
            found[flag] = id
    return found


def _visible_markers(spec: TokenizerSpec) -> list[int]:
    pairs = enumerate(zip(spec.tokens, spec.types or (), strict=False))
    return [id for id, (text, type) in pairs if type == _USER_DEFINED and is_converted_control(text)]
