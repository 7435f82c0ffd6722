"""What a converted file declares as llama.cpp's converter would, although its source says otherwise, or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tokverify.compare.role_name import declare_end, is_special
from tokverify.engine.settings import resolve, without_ignored
from tokverify.engine.special_text import is_converted_control
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.text.wording import list_tokens, plural, quote

_USER_DEFINED, _CONTROL = TokenType.USER_DEFINED.value, TokenType.CONTROL.value


def follow_conventions(spec: TokenizerSpec, kind: str) -> tuple[TokenizerSpec, tuple[str, ...]]:
    """Return what a GGUF file should declare, and a sentence for each convention that changes what it does.

    Args:
        spec: What the source declares, and the user.
        kind: The kind of the source. Only of a tokenizer.json, the converter takes types from the texts of tokens.
    """
    sentences: list[str] = []
    # A limit names the texts that differ because of that.
    spec = replace(spec, charsmap=without_ignored(spec).charsmap)
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
    for role, id in _ordinary_around(declared):
        declared = replace(declared, add_bos=False) if role == "bos" else replace(declared, add_eos=False)
        default = f"llama.cpp's default would add {id} {quote(declared.tokens[id])}"
        sentences.append(f"IN has no {role.upper()} token, so add_{role}_token is false: {default}")
    return declared, tuple(sentences)


def _ordinary_around(spec: TokenizerSpec) -> Iterator[tuple[str, int]]:
    """Yield the roles, BOS or EOS, by which llama.cpp's defaults would add an ordinary token to each text, with it."""
    settings = resolve(spec)
    before, after = settings.family.affix_roles(settings)
    for role, flag in (("bos", spec.add_bos), ("eos", spec.add_eos)):
        is_default = role in {*before, *after} and flag is None and role not in spec.special_ids
        id = settings.special_ids.get(role) if is_default else None
        if id is not None and not is_special(settings, id):
            yield role, id


def _visible_markers(spec: TokenizerSpec) -> list[int]:
    pairs = enumerate(zip(spec.tokens, spec.types or (), strict=False))
    return [id for id, (text, type) in pairs if type == _USER_DEFINED and is_converted_control(text)]
