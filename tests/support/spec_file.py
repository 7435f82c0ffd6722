"""Write a tokenizer, as `spec_maker` makes them, to a GGUF file."""

from pathlib import Path

from support.gguf_maker import flag, make_gguf, numbers, string, strings, uint32
from tokverify.sources.gguf import keys as gguf_keys
from tokverify.sources.gguf.cursor import ValueType
from tokverify.spec import TokenizerSpec

_FLAGS = {
    "add_bos": gguf_keys.ADD_BOS,
    "add_eos": gguf_keys.ADD_EOS,
    "add_space_prefix": gguf_keys.ADD_SPACE_PREFIX,
    "remove_extra_whitespaces": gguf_keys.REMOVE_EXTRA_WHITESPACES,
}


def write_spec(spec: TokenizerSpec, path: Path) -> None:
    """Write everything in `spec` that an encoder needs; what it omits, the file omits."""
    id_keys = dict(gguf_keys.SPECIAL_IDS)
    fields = {
        "general.architecture": string("llama"),
        gguf_keys.MODEL: string(spec.model),
        gguf_keys.TOKENS: strings([token.encode("utf-8", "surrogateescape") for token in spec.tokens]),
        gguf_keys.TYPES: numbers(ValueType.INT32, spec.types),
        **{id_keys[role]: uint32(id) for role, id in spec.special_ids.items()},
        **{key: flag(getattr(spec, name)) for name, key in _FLAGS.items() if getattr(spec, name) is not None},
    }
    if spec.pre:
        fields[gguf_keys.PRE] = string(spec.pre)
    if spec.scores:
        fields[gguf_keys.SCORES] = numbers(ValueType.FLOAT32, spec.scores)
    if spec.merges is not None:
        fields[gguf_keys.MERGES] = strings(spec.merges)
    if spec.charsmap is not None:
        fields[gguf_keys.CHARSMAP] = numbers(ValueType.INT8, memoryview(spec.charsmap).cast("b"))
    path.write_bytes(make_gguf(fields))
