"""Read Mistral's tekken.json: tiktoken's ranks together with the pattern and the special tokens.

The special tokens have the lowest ids, and as many ranks follow as fit into `default_vocab_size`.

Sources: `Tekkenizer` in mistral-common's `tokens/tokenizers/tekken.py`; `MistralVocab` and `_set_vocab_mistral` in
llama.cpp's converter, which gives all special tokens the type CONTROL and turns on BOS.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path
from typing import Any

from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.sources.config import template_fields
from tokverify.sources.location import read_file
from tokverify.sources.tiktoken.reader import spec_of_ranks
from tokverify.spec import MAX_TOKENS, TokenizerSpec
from tokverify.system.json_input import JsonError, parse_json

ROLES = {"bos": "<s>", "eos": "</s>", "unk": "<unk>", "pad": "<pad>"}
"""Role -> the text of its special token."""

_OLD_VERSIONS = ("v1", "v2", "v3", "v7")
_OLD_SPECIAL = (
    "<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]",
    "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]",
)  # fmt: skip
"""The special tokens of files of these versions that list none."""

_MAX_TOKEN_BYTES = 1 << 10


def read_spec(path: Path | str) -> TokenizerSpec:
    """Read a tekken.json.

    Raises:
        BrokenFileError: If it cannot be read or is not a tekken.json.
        UnsupportedError: If it is too large, or no pre-tokenizer of llama.cpp splits texts like its pattern.
    """
    path = Path(path)
    content = parse_tekken(path, read_file(path))
    special = {text: id for id, text in enumerate(_special_texts(path, content))}
    spec = spec_of_ranks(
        path,
        _read_ids(path, content),
        special,
        pattern=content["config"]["pattern"],
        special_ids={role: special[text] for role, text in ROLES.items() if text in special},
        add_bos="<s>" in special,
    )
    return replace(spec, **template_fields(path))


def parse_tekken(path: Path, data: bytes) -> dict[str, Any]:
    """Parse a tekken.json, and check what its library assumes before it would fill the memory or quote another file.

    Raises:
        BrokenFileError: If the file is not a tekken.json.
        UnsupportedError: If it is larger than any vocabulary.
    """
    try:
        content = parse_json(data)
    except JsonError as error:
        raise BrokenFileError(f"{path}: not a tekken.json, because it is not valid JSON ({error})") from error
    config, vocab = (content.get("config"), content.get("vocab")) if isinstance(content, dict) else (None, None)
    if not isinstance(config, dict) or not isinstance(config.get("pattern"), str) or not isinstance(vocab, list):
        raise BrokenFileError(f"{path}: not a tekken.json: it has no `config` with a `pattern`, or no list `vocab`")
    for name in ("default_vocab_size", "default_num_special_tokens"):
        if type(config.get(name)) is not int or config[name] < 0:
            raise BrokenFileError(f"{path}: config.{name} must be a whole number")
    if max(len(vocab), config["default_vocab_size"], config["default_num_special_tokens"]) > MAX_TOKENS:
        raise UnsupportedError(f"{path}: more than {MAX_TOKENS:,} tokens, the limit")
    if not all(isinstance(token, dict) and isinstance(token.get("token_bytes"), str) for token in vocab):
        raise BrokenFileError(f"{path}: each entry of vocab must be an object with `token_bytes`")
    _require_valid_special_tokens(path, content.get("special_tokens"))
    return dict(content)


def _require_valid_special_tokens(path: Path, special: object) -> None:
    """Check the special tokens, which old files lack; the library uses whatever they contain as ids and texts.

    Raises:
        BrokenFileError: If their ranks are not numbers, or their texts are not strings.
    """
    for token in special if isinstance(special, list) else [special] * (special is not None):
        if not isinstance(token, dict) or type(token.get("rank")) is not int or type(token.get("token_str")) is not str:
            raise BrokenFileError(f"{path}: each special token must be an object with `rank` and `token_str`")


def _special_texts(path: Path, content: dict[str, Any]) -> list[str]:
    """Return the texts of all special tokens by id, including those that only have a number."""
    count, tokens = content["config"]["default_num_special_tokens"], content.get("special_tokens")
    if tokens is None and content["config"].get("version") not in _OLD_VERSIONS:
        raise BrokenFileError(f"{path}: contains no special_tokens, which files since version v11 must have")
    texts = [token["token_str"] for token in tokens] if tokens is not None else list(_OLD_SPECIAL)
    if len(texts) > count:
        raise BrokenFileError(f"{path}: {len(texts)} special tokens, but default_num_special_tokens is {count}")
    if [token["rank"] for token in tokens or ()] != list(range(len(tokens or ()))):
        raise BrokenFileError(f"{path}: the ranks of the special tokens must be 0, 1, 2 and so on, in this order")
    texts += [f"<SPECIAL_{id}>" for id in range(len(texts), count)]
    if len(set(texts)) != count:
        raise BrokenFileError(f"{path}: two special tokens have the same text")
    return texts


def _read_ids(path: Path, content: dict[str, Any]) -> dict[bytes, int]:
    """Return the ids of the tokens that are not special, of which those beyond the default size are left out."""
    config = content["config"]
    first = config["default_num_special_tokens"]
    count = config["default_vocab_size"] - first
    if not 256 <= count <= len(content["vocab"]):  # noqa: PLR2004 - the number of bytes
        raise BrokenFileError(
            f"{path}: default_vocab_size is {config['default_vocab_size']}, but there are {first} special tokens and "
            f"{len(content['vocab'])} others, of which at least 256 are needed"
        )
    ids: dict[bytes, int] = {}
    for rank, entry in enumerate(content["vocab"][:count]):
        if entry.get("rank") != rank:
            raise BrokenFileError(f"{path}: the ranks in vocab must be 0, 1, 2 and so on, in this order")
        token = _decode(path, rank, entry["token_bytes"])
        if rank < 256 and token != bytes([rank]):  # noqa: PLR2004 - the number of bytes
            raise BrokenFileError(f"{path}: the token of rank {rank} must be the byte 0x{rank:02X}")
        if token in ids:
            raise BrokenFileError(f"{path}: the tokens of rank {ids[token] - first} and {rank} are the same")
        ids[token] = first + rank
    return ids


def _decode(path: Path, rank: int, encoded: str) -> bytes:
    try:
        token = base64.b64decode(encoded, validate=True)
    except ValueError as error:
        raise BrokenFileError(f"{path}: token_bytes of rank {rank} is not base64") from error
    if len(token) > _MAX_TOKEN_BYTES:
        raise UnsupportedError(f"{path}: the token of rank {rank} has more than {_MAX_TOKEN_BYTES:,} bytes, the limit")
    return token
