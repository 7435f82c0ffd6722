"""The reference `vocab`: a tokenizer whose vocabulary is a file of its own, as written before tokenizer.json.

`vocab.json` with `merges.txt` is read as GPT-2's byte-level BPE, and `vocab.txt` as BERT's WordPiece, in the way of the
library `tokenizers`. Files of these names do not say how a text is split, hence the caveat.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.references.huggingface import from_json
from tokverify.references.reference import FoundReference, Request
from tokverify.sources.config import ROLES, token_text
from tokverify.sources.location import read_file
from tokverify.spec import MAX_TOKENS
from tokverify.system.json_input import JsonError, parse_json
from tokverify.system.library_error import raised_as

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_CAVEATS = {
    "vocab.json": "the files do not say how texts are split; GPT-2's byte-level BPE was assumed",
    "vocab.txt": "the file does not say how texts are split; BERT's WordPiece was assumed",
}

_NO_SPECIAL = "; nothing next to them, such as a tokenizer_config.json, says which tokens are special"


def load(request: Request) -> FoundReference:
    """Load a `vocab.json` with the `merges.txt` next to it, or a `vocab.txt`.

    Raises:
        BrokenFileError: If a file is missing, cannot be read, or is not a vocabulary.
    """
    path = Path(request.location)
    config = _read_config(path)
    with raised_as(BrokenFileError, f"{path}: not a vocabulary that tokenizers can read", quietly=True):
        tokenizer = _load_wordpiece(path, config) if path.name == "vocab.txt" else _load_bpe(path, config)
        document = tokenizer.to_str().encode()
    texts = {role: token_text(config.get(f"{role}_token")) for role in ROLES}
    special = {role: text for role, text in texts.items() if text}
    found = from_json(document, source=str(path), special_texts=special)
    has_special = bool(special) or path.name == "vocab.txt"
    caveat = _CAVEATS[path.name] + ("" if has_special else _NO_SPECIAL)
    return replace(found, path=path, caveat=caveat)


def _load_bpe(path: Path, config: dict[str, Any]) -> Tokenizer:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    vocabulary = _read_json(path)
    # subtle: the library aborts the process if it cannot reserve memory for all ids up to the highest.
    if any(type(id) is int and id >= MAX_TOKENS for id in vocabulary.values()):
        raise UnsupportedError(f"{path}: an id of more than {MAX_TOKENS:,}, the limit")
    lines = read_file(path.with_name("merges.txt")).decode().splitlines()
    merges = [
        (left, right) for left, _, right in (line.partition(" ") for line in lines) if right and left != "#version:"
    ]
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=config.get("add_prefix_space") is True)
    tokenizer.decoder = decoders.ByteLevel()
    _add_special_tokens(tokenizer, config)
    return tokenizer


def _load_wordpiece(path: Path, config: dict[str, Any]) -> Tokenizer:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    pieces = read_file(path).decode().splitlines()
    if not pieces:
        raise BrokenFileError("the file is empty")
    ids = {piece: id for id, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token=token_text(config.get("unk_token")) or "[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=config.get("do_lower_case") is not False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    cls, sep = (
        token_text(config.get(f"{role}_token")) or default for role, default in (("cls", "[CLS]"), ("sep", "[SEP]"))
    )
    if cls in ids and sep in ids:
        tokenizer.post_processor = processors.BertProcessing((sep, ids[sep]), (cls, ids[cls]))
    _add_special_tokens(tokenizer, {"a_token": "[PAD]", "b_token": "[UNK]", "c_token": "[MASK]", **config}, cls, sep)
    return tokenizer


def _add_special_tokens(tokenizer: Tokenizer, config: dict[str, Any], *more: str) -> None:
    """Declare the special tokens that have an id in the vocabulary; a new token would not be in the model."""
    named = [token_text(value) for key, value in config.items() if key.endswith("_token")]
    known = dict.fromkeys(text for text in (*named, *more) if text and tokenizer.token_to_id(text) is not None)
    tokenizer.add_special_tokens(list(known))


def _read_config(path: Path) -> dict[str, Any]:
    """Merge the files next to the vocabulary that declare special tokens; later ones take precedence."""
    config: dict[str, Any] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        if path.with_name(name).is_file():
            config |= _read_json(path.with_name(name))
    return config


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = parse_json(read_file(path))
    except JsonError as error:
        raise BrokenFileError(f"{path}: cannot be read as JSON ({error})") from error
    if not isinstance(content, dict):
        raise BrokenFileError(f"{path}: not a JSON object")
    return content
