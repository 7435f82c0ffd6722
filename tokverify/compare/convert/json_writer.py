"""Write a TokenizerSpec as a HuggingFace tokenizer.json: the tokenizer of the reference `rebuilt`, saved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tokverify.compare.opened import Opened
from tokverify.engine.settings import resolve
from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.references.rebuilt import build
from tokverify.sources.config import GGUF_ROLES
from tokverify.sources.nearest_pattern import original_name_of
from tokverify.sources.original_pattern import ORIGINALS
from tokverify.spec import TokenizerSpec

_NAME = "tokenizer.json"


def write_json(path: Path, spec: TokenizerSpec, source: Opened | None = None) -> None:
    """Write a tokenizer as a tokenizer.json, under a temporary name that the caller replaces.

    Args:
        path: The file to write.
        spec: The tokenizer.
        source: What the tokenizer was read from, and whose pattern is written; llama.cpp has some only nearly.

    Raises:
        UnsupportedError: If the library cannot be configured to do what the spec declares.
        OSError: If it cannot be written; the file is then incomplete.
    """
    original = original_name_of(source.split) if source and source.split else None
    patterns = (ORIGINALS[original],) if original and original in ORIGINALS else ()
    try:
        tokenizer = build(spec, resolve(spec), patterns=patterns, own_patterns=True)
    except UnsupportedError as error:
        raise UnsupportedError(f"cannot be expressed as a tokenizer.json: {error}") from error
    path.write_text(tokenizer.to_str(pretty=True), encoding="utf-8")


def config_of(spec: TokenizerSpec) -> dict[str, object]:
    """Return the content of a tokenizer_config.json: what a tokenizer.json cannot express."""
    settings = resolve(spec)
    # BERT has [CLS] where others have BOS, and no flags, as both tokens are always added.
    is_bert = settings.family.closing_role == "sep"
    config: dict[str, object] = {
        f"{'cls' if is_bert and role == 'bos' else role}_token": settings.pieces[id]
        for role, id in settings.special_ids.items()
        if role in GGUF_ROLES
    }
    config |= {} if is_bert else {"add_bos_token": settings.add_bos, "add_eos_token": settings.add_eos}
    config["clean_up_tokenization_spaces"] = settings.clean_spaces
    templates = {"default": spec.chat_template} if spec.chat_template is not None else {}
    templates |= spec.named_chat_templates
    if spec.named_chat_templates:
        config["chat_template"] = [{"name": name, "template": text} for name, text in templates.items()]
    elif templates:
        config["chat_template"] = spec.chat_template
    return config


def config_path(path: Path) -> Path:
    """Return the path where programs look for the tokenizer_config.json of a tokenizer.json.

    Raises:
        TokverifyError: If the file has another name, so that no program would look for one.
    """
    if not path.name.endswith(_NAME):
        raise TokverifyError(
            f"{path}: a tokenizer_config.json is found only beside a file whose name ends in {_NAME}; rename the output"
        )
    return path.with_name(path.name.removesuffix(_NAME) + "tokenizer_config.json")


def lost_parts(spec: TokenizerSpec, *, with_config: bool) -> Iterator[str]:
    """Yield what a tokenizer.json cannot contain; less is lost with a tokenizer_config.json beside it."""
    settings = resolve(spec)
    if not with_config:
        if spec.chat_template is not None:
            yield "tokenizer.chat_template: a tokenizer.json cannot contain it, but a tokenizer_config.json can"
        roles = [role for role in GGUF_ROLES if role in settings.special_ids]
        if roles:
            yield (
                f"the roles of tokens ({', '.join(roles)}): a tokenizer.json cannot contain them, but a "
                "tokenizer_config.json can"
            )
    others = [role for role in settings.special_ids if role.startswith("fim_") or role in {"eot", "eom"}]
    if others:
        yield f"the roles of tokens ({', '.join(others)}): HuggingFace's files have no such roles"
    if settings.clean_spaces and not settings.family.splits_words:
        yield "clean_spaces: llama.cpp removes spaces before punctuation when decoding; the library does not"
