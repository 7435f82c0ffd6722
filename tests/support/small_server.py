"""Run a real llama-server, which the package xllamacpp brings, with a small model around a tokenizer."""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_WIDTH = 32
_BLOCK = {
    "attn_norm": (_WIDTH,),
    "attn_q": (_WIDTH, _WIDTH),
    "attn_k": (_WIDTH, _WIDTH),
    "attn_v": (_WIDTH, _WIDTH),
    "attn_output": (_WIDTH, _WIDTH),
    "ffn_norm": (_WIDTH,),
    "ffn_gate": (_WIDTH, _WIDTH),
    "ffn_up": (_WIDTH, _WIDTH),
    "ffn_down": (_WIDTH, _WIDTH),
}

_PROGRAM = """
import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx = 512
params.warmup = False
params.port = 0
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""
"""Runs a real llama-server: it serves the model given as argument until stdin closes."""


@contextmanager
def serve(model: Path) -> Iterator[str]:
    """Serve a model, and return the address; what the server writes goes into a file beside the model."""
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp, which brings a llama-server, is not installed")
    log = model.with_suffix(".log")
    command = [sys.executable, "-c", _PROGRAM, str(model)]
    with (
        log.open("wb") as stderr,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr) as process,
    ):
        address = process.stdout.readline().decode().strip()
        if not address:
            pytest.fail(f"no llama-server: {log.read_text(errors='replace')[-500:]}")
        yield address
        process.kill()


def write_small_model(tokenizer: Path, path: Path) -> None:
    """Write a llama of one block, all weights 1, around a tokenizer: a server does not start without weights."""
    import numpy as np
    from gguf import GGUFReader, GGUFValueType, GGUFWriter

    writer = GGUFWriter(path, "llama")
    for field in GGUFReader(tokenizer).fields.values():
        # llama.cpp strips spaces around tokens of files with some names.
        if field.name.startswith("tokenizer.") or field.name == "general.name":
            element = field.types[-1] if field.types[0] is GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), field.types[0], element)
            if field.name == "tokenizer.ggml.tokens":
                size = len(field.data)
    writer.add_context_length(512)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(_WIDTH)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    shapes = {"token_embd": (size, _WIDTH), "output_norm": (_WIDTH,), "output": (size, _WIDTH)}
    shapes |= {f"blk.0.{name}": shape for name, shape in _BLOCK.items()}
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", np.ones(shape, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
