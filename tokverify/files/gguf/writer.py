"""TokenizerSpec -> vocabulary-only GGUF: the keys that llama.cpp's converter writes of a tokenizer, and no tensors.

llama.cpp loads such a file with `vocab_only`, for which it wants the architecture and nothing else of the model.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokverify.engine.families import find_family
from tokverify.errors import UnsupportedError
from tokverify.files.gguf import declaration as gguf_file
from tokverify.files.gguf.change import FIELDS
from tokverify.files.gguf.cursor import ValueType
from tokverify.files.gguf.metadata import Value

if TYPE_CHECKING:
    from tokverify.spec import TokenizerSpec

ARCHITECTURES = {"llama": "llama", "gpt2": "gpt2", "gemma4": "gemma4", "bert": "bert", "t5": "t5"}
"""`tokenizer.ggml.model` -> the architecture that llama.cpp knows from models of this kind; of others, `llama`."""

_TEMPLATE_NAMES = "tokenizer.chat_templates"


def named(spec: TokenizerSpec, name: str) -> TokenizerSpec:
    """Return a tokenizer with the name of a model, by which llama.cpp may take some tokens otherwise."""
    return replace(spec, general={**spec.general, "name": name})


def gguf_values(spec: TokenizerSpec) -> dict[str, Value]:
    """Return all that a file has to say to declare this tokenizer, by key; `general.*` is not part of it."""
    values: dict[str, Value] = {}
    for name, (key, make) in FIELDS.items():
        value = getattr(spec, name)
        # subtle: GGUF cannot hold an empty array, and llama.cpp needs no key for one.
        if value is not None and not (isinstance(value, list | bytes) and not value):
            values[key] = make(value)
    keys = dict(reversed(gguf_file.SPECIAL_IDS))
    values |= {keys[role]: Value(ValueType.UINT32, id) for role, id in spec.special_ids.items()}
    return values | _templates(spec)


def _templates(spec: TokenizerSpec) -> dict[str, Value]:
    values = {f"{gguf_file.CHAT_TEMPLATE}.{name}": text for name, text in spec.named_chat_templates.items()}
    if spec.chat_template is not None:
        values[gguf_file.CHAT_TEMPLATE] = spec.chat_template
    told = {key: Value(ValueType.STRING, text) for key, text in values.items()}
    if spec.named_chat_templates:
        told[_TEMPLATE_NAMES] = Value(ValueType.ARRAY, list(spec.named_chat_templates), ValueType.STRING)
    return told


def write_gguf(path: Path, spec: TokenizerSpec) -> None:
    """Write a tokenizer as a GGUF file; whoever calls gives `path` its final name.

    Raises:
        UnsupportedError: If llama.cpp would not load the file.
        OSError: If it cannot be written; what is there is then a part of it.
    """
    import gguf

    family = find_family(spec.model)
    if family and not spec.merges and family.requires_merges(spec.pre):
        raise UnsupportedError(f"it has no merges, and llama.cpp loads no tokenizer of the model {spec.model} without")
    writer = gguf.GGUFWriter(path, ARCHITECTURES.get(spec.model, "llama"))
    writer.add_type(gguf.GGUFType.MODEL)
    if "name" in spec.general:
        writer.add_name(spec.general["name"])
    for key, value in gguf_values(spec).items():
        element_type = None if value.element_type is None else gguf.GGUFValueType(value.element_type)
        writer.add_key_value(key, _writable(value), gguf.GGUFValueType(value.type), element_type)
    try:
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
    finally:
        # subtle: on a full disk closing fails too, as it writes what is buffered; that is the same error again.
        writer.close()


def _writable(value: Value) -> Any:  # noqa: ANN401 - whatever the type of the value says
    """Return what the library can pack: strings as bytes, since not all of them are UTF-8."""
    if value.type is ValueType.STRING:
        return _bytes(value.data)
    if value.element_type is ValueType.STRING:
        return list(map(_bytes, value.data))
    return list(value.data) if value.type is ValueType.ARRAY else value.data


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
