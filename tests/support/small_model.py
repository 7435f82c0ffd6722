"""Make a model of a few hundred kilobytes around a tokenizer: a server does not start without weights."""

from pathlib import Path

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


def write_small_model(tokenizer: Path, path: Path) -> None:
    """Write a llama of one block, all weights 1, with the tokenizer of a GGUF file."""
    import numpy as np
    from gguf import GGUFReader, GGUFValueType, GGUFWriter

    writer = GGUFWriter(path, "llama")
    for field in GGUFReader(tokenizer).fields.values():
        if field.name.startswith("tokenizer."):
            element = field.types[-1] if field.types[0] is GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), field.types[0], element)
            if field.name == "tokenizer.ggml.tokens":
                size = len(field.data)
    writer.add_context_length(64)
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
