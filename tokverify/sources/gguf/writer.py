"""Write a vocabulary-only GGUF file: the keys that llama.cpp's converter writes for a tokenizer, and no tensors.

llama.cpp loads such a file with `vocab_only`, for which it needs the architecture and nothing else of the model.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tokverify.engine.families import find_family
from tokverify.errors import UnsupportedError
from tokverify.sources.gguf.cursor import ValueType
from tokverify.sources.gguf.metadata import Value
from tokverify.sources.gguf.values import gguf_values
from tokverify.spec import TokenizerSpec
from tokverify.text.utf8 import to_bytes

ARCHITECTURES = {"llama": "llama", "gpt2": "gpt2", "gemma4": "gemma4", "bert": "bert", "t5": "t5"}
"""`tokenizer.ggml.model` -> a matching architecture known to llama.cpp; for models not listed, `llama`."""


def with_name(spec: TokenizerSpec, name: str) -> TokenizerSpec:
    """Return a tokenizer with the name of a model, which llama.cpp uses to override the types of some tokens."""
    return replace(spec, general={**spec.general, "name": name})


def write_gguf(path: Path, spec: TokenizerSpec) -> None:
    """Write a tokenizer as a GGUF file; it is not written atomically.

    Raises:
        UnsupportedError: If llama.cpp would not load the file.
        OSError: If the file cannot be written; an incomplete file may remain.
    """
    import gguf

    family = find_family(spec.model)
    if family and not spec.merges and family.requires_merges(spec.pre):
        raise UnsupportedError(
            f"it has no merges, without which llama.cpp loads no tokenizer of the model {spec.model}"
        )
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
        # subtle: on a full disk, closing fails too because it writes the buffer; this is the same error again.
        writer.close()


def _writable(value: Value) -> Any:  # noqa: ANN401 - depends on the type of the value
    """Return what the library can pack: strings as bytes, because not all of them are UTF-8."""
    if value.type is ValueType.STRING:
        return to_bytes(value.data)
    if value.element_type is ValueType.STRING:
        return list(map(to_bytes, value.data))
    return list(value.data) if value.type is ValueType.ARRAY else value.data
