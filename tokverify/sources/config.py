"""Read the files next to a tokenizer that declare its special tokens and chat templates."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from tokverify.errors import BrokenFileError
from tokverify.location import TEMPLATES
from tokverify.sources.location import FILE_NAMES, VOCABULARIES
from tokverify.spec import DEFAULT_TEMPLATE, MAX_TOKENS
from tokverify.system.input_file import read_bytes, read_text
from tokverify.system.json_input import JsonError, parse_json
from tokverify.tokenizer import AddedTokenListing, Declaring, DocumentHolding, Tokenizer, path_of, pieces_of

_MAX_BYTES = 1 << 25
_MAX_KEPT_BYTES, _MOST_KEPT = 1 << 22, 8
"""How many parsed files are kept, and up to which size; the tokenizer_config.json of Gemma 3 has 1.1 MB."""
_ID = re.compile("[0-9]{1,9}")
MOST_TEMPLATES = 100
_MOST_SENTINELS = 1000
"""T5 has 100."""

GGUF_ROLES = ("bos", "eos", "unk", "sep", "pad", "mask")
"""The roles that both a GGUF file and a tokenizer_config.json can contain."""
ROLES = (*GGUF_ROLES, "cls")

_OF_EMBEDDERS = ("modules.json", "config_sentence_transformers.json")
"""What sentence-transformers writes beside a model."""
_ANY_CLASS = frozenset(["PreTrainedTokenizer", "TokenizersBackend"])
"""The classes that transformers names if it knows no other."""

_CLASS_OF_MODEL = {
    "bart": "BartTokenizer",
    "bert": "BertTokenizer",
    "camembert": "CamembertTokenizer",
    "codegen": "CodeGenTokenizer",
    "distilbert": "DistilBertTokenizer",
    "electra": "ElectraTokenizer",
    "gpt2": "GPT2Tokenizer",
    "led": "LEDTokenizer",
    "longformer": "LongformerTokenizer",
    "m2m_100": "M2M100Tokenizer",
    "marian": "MarianTokenizer",
    "mbart": "MBartTokenizer",
    "mobilebert": "MobileBertTokenizer",
    "nllb-moe": "NllbTokenizer",
    "opt": "GPT2Tokenizer",
    "pegasus": "PegasusTokenizer",
    "plbart": "PLBartTokenizer",
    "qwen2": "Qwen2Tokenizer",
    "qwen3": "Qwen2Tokenizer",
    "roberta": "RobertaTokenizer",
    "xglm": "XGLMTokenizer",
    "xlm-roberta": "XLMRobertaTokenizer",
    "xlm-roberta-xl": "XLMRobertaTokenizer",
}
"""`model_type` of a config.json -> the class that transformers takes if the tokenizer_config.json names none."""

_TOKENIZERS = (*FILE_NAMES, *VOCABULARIES)


def read_config(tokenizer_file: Path) -> Mapping[str, Any]:
    """Return the `tokenizer_config.json` that belongs to `tokenizer_file`; empty if there is none.

    `gemma.tokenizer_config.json` belongs to `gemma.tokenizer.json`; a file with any other name has none, except for a
    .tiktoken file that is the only tokenizer in its directory.

    Raises:
        BrokenFileError: If it exists but is not a JSON object.
        TokverifyError: If it cannot be read.
    """
    return _read_beside(tokenizer_file, "tokenizer_config.json")


def class_of(tokenizer_file: Path) -> str:
    """Return the name of a tokenizer's class without `Fast`, which the files next to it name or imply.

    It is an empty string if they do neither; errors as `read_config`.
    """
    value = read_config(tokenizer_file).get("tokenizer_class")
    name = value.removesuffix("Fast") if isinstance(value, str) else ""
    is_named = name and name not in _ANY_CLASS
    return name if is_named else _CLASS_OF_MODEL.get(model_type(tokenizer_file), "")


def model_type(tokenizer_file: Path) -> str:
    """Return the `model_type` of the config.json next to a tokenizer, or an empty string; errors as `read_config`."""
    value = _read_beside(tokenizer_file, "config.json").get("model_type")
    return value if isinstance(value, str) else ""


def only_embeds(tokenizer_file: Path) -> bool:
    """Whether the files next to a tokenizer are those of a model that embeds texts; errors as `read_config`."""
    names = _read_beside(tokenizer_file, "config.json").get("architectures")
    # A model with a head is called such as Qwen3ForCausalLM, and one without, such as Qwen3Model.
    has_no_head = isinstance(names, list) and bool(names) and not any("For" in str(name) for name in names)
    return has_no_head or any(tokenizer_file.with_name(name).is_file() for name in _OF_EMBEDDERS)


def embedding_count(tokenizer_file: Path) -> int | None:
    """Return the `vocab_size` of the config.json next to a tokenizer, which counts padding; errors as `read_config`."""
    config = _read_beside(tokenizer_file, "config.json")
    text_config = config.get("text_config")
    value = (text_config if isinstance(text_config, dict) else config).get("vocab_size")
    return value if type(value) is int else None


def special_texts(tokenizer_file: Path) -> dict[str, str]:
    """Map roles (`bos`, `eos`, ...) to the texts of their tokens, as declared by the files next to the tokenizer."""
    texts = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        config = _read_beside(tokenizer_file, name)
        for role in ROLES:
            text = token_text(config.get(f"{role}_token"))
            if text is not None:
                texts[role] = text
    return texts


def cleans_spaces(tokenizer_file: Path) -> bool | None:
    """Return False if the files beside a tokenizer say that decoding keeps spaces before punctuation, else None.

    True says nothing: libraries wrote it into every file for years.
    """
    return False if read_config(tokenizer_file).get("clean_up_tokenization_spaces") is False else None


def read_special_tokens_map(tokenizer_file: Path) -> Mapping[str, Any]:
    """Return the special_tokens_map.json next to a tokenizer; empty if there is none; errors as for `read_config`."""
    return _read_beside(tokenizer_file, "special_tokens_map.json")


def configured_roles(tokenizer_file: Path) -> dict[str, str]:
    """Return where the files beside a tokenizer give a role to a text, such as `sep_token of tokenizer_config.json`."""
    found: dict[str, str] = {}
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        config = _read_beside(tokenizer_file, name)
        for role in ROLES:
            if text := token_text(config.get(f"{role}_token")):
                found.setdefault(text, f"{role}_token of {name}")
    return found


def added_tokens(tokenizer_file: Path) -> dict[int, dict[str, Any]]:
    """Map ids to the added tokens that the tokenizer_config.json next to a tokenizer declares, with their flags."""
    declared = read_config(tokenizer_file).get("added_tokens_decoder")
    entries = declared.items() if isinstance(declared, dict) else ()
    known = {int(id): entry for id, entry in entries if _ID.fullmatch(id) and isinstance(entry, dict)}
    return {id: entry for id, entry in known.items() if id < MAX_TOKENS and token_text(entry)}


def read_extra_tokens(tokenizer_file: Path) -> dict[str, int]:
    """Map the texts in the added_tokens.json next to a tokenizer to their ids, as transformers wrote them at first."""
    declared = _read_beside(tokenizer_file, "added_tokens.json")
    return {text: id for text, id in declared.items() if type(id) is int and 0 <= id < MAX_TOKENS and text}


def declared_tokens(tokenizer_file: Path) -> dict[str, int]:
    """Map the texts of the added tokens that the tokenizer_config.json next to the tokenizer declares to their ids."""
    return {str(token_text(entry)): id for id, entry in added_tokens(tokenizer_file).items()}


def configured_tokens(tokenizer_file: Path, size: int) -> dict[str, int]:
    """Map the texts of the added tokens that any file next to a tokenizer of `size` tokens declares to their ids."""
    others = {**read_extra_tokens(tokenizer_file), **declared_tokens(tokenizer_file)}
    return others or _sentinels(tokenizer_file, size)


def find_left_out(expected: Tokenizer) -> Mapping[int, str]:
    """Return the added tokens, by id, that only the files beside a reference declare, as beside a .model file."""
    path, size = path_of(expected), expected.vocab_size
    declared = configured_tokens(path, size) if path else {}
    beyond = {id: text for text, id in declared.items() if id >= size}
    displaced = find_displaced(expected)
    if not displaced:
        return beyond
    # transformers appends all in the order of the ids that they have there.
    return dict(enumerate([*displaced.values(), *(text for _, text in sorted(beyond.items()))], start=size))


def are_left_open(ids: Collection[int], expected: Tokenizer) -> bool:
    """Whether tokens are behind the last one of a .model file beside which no other file lists any added ones."""
    path = _sentencepiece_file(expected)
    return path is not None and min(ids) >= expected.vocab_size and not configured_tokens(path, expected.vocab_size)


def is_role_open(role: str, expected: Tokenizer) -> bool:
    """Whether no file beside a .model names the token of a role; the .model itself knows only those of its training."""
    path = _sentencepiece_file(expected)
    return path is not None and role not in special_texts(path)


def _sentencepiece_file(expected: Tokenizer) -> Path | None:
    return path_of(expected) if isinstance(expected, Declaring) and not expected.parses_special else None


def find_displaced(expected: Tokenizer) -> Mapping[int, str]:
    """Return the added tokens that a tokenizer_config.json declares at ids of other tokens, by the ids they get.

    transformers appends them to a tokenizer.json: the configuration of the tokenizer from which it was made lies on.
    If another added token is there, one of the two files is wrong.
    """
    path, size = path_of(expected), expected.vocab_size
    if path is None or not isinstance(expected, DocumentHolding):
        return {}
    pieces, declared = pieces_of(expected), declared_tokens(path)
    there = {id: pieces[id] for text, id in declared.items() if id < size and pieces[id] != text}
    if not there or (
        isinstance(expected, AddedTokenListing) and not {*there.values()}.isdisjoint(expected.added_texts)
    ):
        return {}
    known = set(pieces)
    listed = sorted((id, text) for text, id in declared.items() if id < size)
    return dict(enumerate((text for _, text in listed if text not in known), start=size))


def _sentinels(tokenizer_file: Path, size: int) -> dict[str, int]:
    """Return the tokens that T5's class appends to a sentencepiece model, the last first; source: transformers."""
    count = read_config(tokenizer_file).get("extra_ids")
    if tokenizer_file.suffix != ".model" or type(count) is not int or not 0 < count <= _MOST_SENTINELS:
        return {}
    return {f"<extra_id_{number}>": size + count - 1 - number for number in range(count)}


def generation_end_ids(tokenizer_file: Path) -> frozenset[int]:
    """Return the tokens that end a generation according to the generation_config.json next to the tokenizer."""
    value = _read_beside(tokenizer_file, "generation_config.json").get("eos_token_id")
    ids = value if isinstance(value, list) else [value]
    return frozenset(id for id in ids if isinstance(id, int) and not isinstance(id, bool))


def has_derived_ends(tokenizer_file: Path) -> bool:
    """Whether transformers made generation_config.json from the model's configuration, whose end may be a default."""
    return _read_beside(tokenizer_file, "generation_config.json").get("_from_model_config") is True


def template_fields(tokenizer_file: Path) -> dict[str, Any]:
    """Return the fields of a spec that contain the chat templates next to a tokenizer."""
    templates = chat_templates(tokenizer_file)
    return {"chat_template": templates.pop(DEFAULT_TEMPLATE, None), "named_chat_templates": templates}


def default_template(tokenizer_file: Path | None) -> str | None:
    """Return the default chat template next to a tokenizer; None if there is none. Errors as for `chat_templates`."""
    return None if tokenizer_file is None else chat_templates(tokenizer_file).get(DEFAULT_TEMPLATE)


def chat_templates(tokenizer_file: Path) -> dict[str, str]:
    """Map names to the chat templates next to a tokenizer.

    As in transformers, a file chat_template.jinja and the files in additional_chat_templates take precedence over
    tokenizer_config.json, which contains one template or a list of named ones. As in llama.cpp's converter, that of a
    processor in chat_template.json counts if there is no other.

    Raises:
        TokverifyError: If one of the files exists but cannot be read.
    """
    if files := _template_files(tokenizer_file):
        return {name: read_text(path, "chat template", _MAX_BYTES) for name, path in files.items()}
    template = read_config(tokenizer_file).get("chat_template")
    if not template:
        template = _read_beside(tokenizer_file, "chat_template.json").get("chat_template")
    if isinstance(template, str):
        return {DEFAULT_TEMPLATE: template}
    entries = [entry for entry in template if isinstance(entry, dict)] if isinstance(template, list) else []
    named = {str(entry.get("name")): entry.get("template") for entry in entries}
    return {name: text for name, text in named.items() if isinstance(text, str)}


def _template_files(tokenizer_file: Path) -> dict[str, Path]:
    """Map names to the files with the chat templates next to a tokenizer."""
    default, folder = beside(tokenizer_file, "chat_template.jinja"), beside(tokenizer_file, TEMPLATES)
    named = sorted(islice(folder.glob("*.jinja"), MOST_TEMPLATES)) if folder and folder.is_dir() else []
    files = {DEFAULT_TEMPLATE: default} if default else {}
    return {name: path for name, path in (files | {path.stem: path for path in named}).items() if path.is_file()}


def token_text(value: object) -> str | None:
    """Return a token's text from its entry in a config: a string, or an object with the text in `content`."""
    content = value.get("content") if isinstance(value, dict) else value
    return content if isinstance(content, str) else None


def beside(tokenizer_file: Path, name: str) -> Path | None:
    """Return the path of another file of the same tokenizer; None if the tokenizer file has an unusual name."""
    ends = (end for end in _TOKENIZERS if tokenizer_file.name.endswith(end))
    prefix = next((tokenizer_file.name.removesuffix(end) for end in ends), None)
    if prefix is None and _is_only_ranks(tokenizer_file):
        prefix = ""
    return None if prefix is None else tokenizer_file.with_name(prefix + name)


def _is_only_ranks(tokenizer_file: Path) -> bool:
    """Check whether a file is a .tiktoken file, whatever its name, and no other file beside it is a tokenizer."""
    if tokenizer_file.suffix != ".tiktoken":
        return False
    directory = tokenizer_file.parent
    is_joined = any((directory / name).is_file() for name in _TOKENIZERS)
    return not is_joined and sum(1 for _ in directory.glob("*.tiktoken")) == 1


def _read_beside(tokenizer_file: Path, name: str) -> Mapping[str, Any]:
    path = beside(tokenizer_file, name)
    if path is None or not path.is_file():
        return {}
    content = read_bytes(path, "configuration", _MAX_BYTES)
    try:
        config = _parse(content) if len(content) <= _MAX_KEPT_BYTES else parse_json(content)
    except JsonError as error:
        raise BrokenFileError(f"{path}: cannot be read as JSON ({error}); repair or remove it") from error
    if not isinstance(config, dict):
        raise BrokenFileError(f"{path}: not a JSON object; repair or remove it")
    return config


@lru_cache(_MOST_KEPT)
def _parse(content: bytes) -> Any:  # noqa: ANN401 - JSON is anything
    """Parse a file once, although several functions ask for what it declares; nobody may change the result."""
    return parse_json(content)
