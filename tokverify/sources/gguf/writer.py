"""Write a vocabulary-only GGUF file: the keys that llama.cpp's converter writes for a tokenizer, and no tensors.

llama.cpp loads such a file with `vocab_only`, for which it needs the architecture and nothing else of the model.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

from tokverify.engine.families import find_family
from tokverify.errors import UnsupportedError
from tokverify.sources.gguf.metadata import Value
from tokverify.sources.gguf.values import gguf_values, pack_value
from tokverify.spec import TokenizerSpec

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
    family = find_family(spec.model)
    if family and not spec.merges and family.requires_merges(spec.pre):
        raise UnsupportedError(
            f"it has no merges, without which llama.cpp loads no tokenizer of the model {spec.model}"
        )
    writer = _open_writer(path, ARCHITECTURES.get(spec.model, "llama"))
    writer.add_type("model")
    if "name" in spec.general:
        writer.add_name(spec.general["name"])
    for key, value in gguf_values(spec).items():
        writer.add_key_value(key, value, value.type)
    try:
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
    finally:
        # subtle: on a full disk, closing fails too because it writes the buffer; this is the same error again.
        writer.close()


def _open_writer(path: Path, architecture: str) -> Any:  # noqa: ANN401 - the library is loaded only to write
    import gguf

    class Writer(gguf.GGUFWriter):  # type: ignore[misc] # the library has no types
        """Packs our values at once; the library calls itself for each element of an array, four times as long."""

        def _pack_val(self, val: Any, vtype: Any, add_vtype: bool, sub_type: Any = None) -> bytes:  # noqa: ANN401
            if isinstance(val, Value):
                return struct.pack("<I", val.type) + pack_value(val, "<")
            packed: bytes = super()._pack_val(val, vtype, add_vtype, sub_type)
            return packed

    return Writer(path, architecture)
