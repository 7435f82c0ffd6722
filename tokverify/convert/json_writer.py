"""TokenizerSpec -> HuggingFace tokenizer.json: the tokenizer that the reference `rebuilt` is, saved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.convert.loss import Loss
from tokverify.engine.settings import resolve
from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.references.rebuilt import build

if TYPE_CHECKING:
    from tokverify.engine.family import Settings
    from tokverify.spec import TokenizerSpec


_NAME = "tokenizer.json"


def write_json(path: Path, spec: TokenizerSpec) -> None:
    """Write a tokenizer as a tokenizer.json; whoever calls gives `path` its final name.

    Raises:
        UnsupportedError: If the library cannot be set up to do what the spec says.
        OSError: If it cannot be written; what is there is then a part of it.
    """
    try:
        tokenizer = build(spec, resolve(spec), own_patterns=True)
    except UnsupportedError as error:
        raise UnsupportedError(f"no tokenizer.json can be made of it: {error}") from error
    path.write_text(tokenizer.to_str(pretty=True), encoding="utf-8")


def config_of(spec: TokenizerSpec) -> dict[str, object]:
    """Return what a tokenizer_config.json says of a tokenizer, and a tokenizer.json cannot."""
    settings = resolve(spec)
    config: dict[str, object] = {
        f"{role}_token": settings.pieces[id]
        for role, id in settings.special_ids.items()
        if role in {"bos", "eos", "unk", "sep", "pad", "mask"}
    }
    config |= {"add_bos_token": settings.add_bos, "add_eos_token": settings.add_eos}
    config["clean_up_tokenization_spaces"] = settings.clean_spaces
    templates = {"default": spec.chat_template} if spec.chat_template is not None else {}
    templates |= spec.named_chat_templates
    if spec.named_chat_templates:
        config["chat_template"] = [{"name": name, "template": text} for name, text in templates.items()]
    elif templates:
        config["chat_template"] = spec.chat_template
    return config


def config_path(path: Path) -> Path:
    """Return where the tokenizer_config.json that belongs to a tokenizer.json is looked for.

    Raises:
        TokverifyError: If nobody would look for one, as the file has another name.
    """
    if not path.name.endswith(_NAME):
        raise TokverifyError(
            f"{path}: a tokenizer_config.json is looked for only beside a file whose name ends in {_NAME}; name it so"
        )
    return path.with_name(path.name.removesuffix(_NAME) + "tokenizer_config.json")


def json_losses(spec: TokenizerSpec, *, with_config: bool) -> Iterator[Loss]:
    """Tell what a tokenizer.json has no place for, and with or without the config beside it is lost."""
    settings = resolve(spec)
    if not with_config:
        if spec.chat_template is not None:
            yield Loss("tokenizer.chat_template: a tokenizer.json has no place for it; tokenizer_config.json has")
        roles = ", ".join(_roles(settings))
        if roles:
            yield Loss(f"which token is {roles}: a tokenizer.json does not say; tokenizer_config.json does")
    others = [role for role in settings.special_ids if role.startswith("fim_") or role in {"eot", "eom"}]
    if others:
        yield Loss(f"which token is {', '.join(others)}: HuggingFace's files have no such role")
    if settings.clean_spaces:
        yield Loss("clean_spaces: llama.cpp removes spaces before punctuation when it decodes; the library does not")


def _roles(settings: Settings) -> Iterator[str]:
    return (role for role in ("bos", "eos", "unk", "sep", "pad", "mask") if role in settings.special_ids)
