"""Make a tokenizer.json of the files in which vocabularies were published before it.

`vocab.json` with `merges.txt` is byte-level BPE, and `vocab.txt` is BERT's WordPiece. The tokenizer_config.json beside
them names the class of the tokenizer, which determines how texts are split; without one, it is GPT-2's. The stages are
those that transformers gives to these classes (convert_slow_tokenizer.py; since version 5, tokenization_gpt2.py,
tokenization_qwen2.py and tokenization_roberta.py).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import category

from tokverify.engine.byte_level import SPELLED_SPACE, byte_pieces
from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.sources.config import (
    added_tokens,
    class_of,
    read_config,
    read_extra_tokens,
    read_special_tokens_map,
    token_text,
)
from tokverify.sources.location import read_file
from tokverify.sources.original_pattern import ORIGINALS
from tokverify.spec import MAX_TOKENS
from tokverify.system.json_input import JsonError, parse_json
from tokverify.system.library_error import raised_as
from tokverify.text.wording import plural, quote

if TYPE_CHECKING:
    from tokenizers import AddedToken, Tokenizer

    from tokverify.spec import AddedToken as MatchedToken

_ROBERTA = frozenset(["RobertaTokenizer", "BartTokenizer", "LongformerTokenizer", "LEDTokenizer"])
"""The classes that add `<s>` and `</s>` around a text."""
_CLASSES: Mapping[str, frozenset[str]] = {
    "vocab.json": frozenset(["GPT2Tokenizer", "CodeGenTokenizer", "Qwen2Tokenizer", *_ROBERTA]),
    "vocab.txt": frozenset(["BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MobileBertTokenizer"]),
}
_ASSUMED = {
    "vocab.json": "the files do not say how texts are split; GPT-2's byte-level BPE was assumed",
    "vocab.txt": "the file does not say how texts are split; BERT's WordPiece was assumed",
}
_BERT_TOKENS = ("[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]")
_ROBERTA_TOKENS = ("<s>", "</s>", "<unk>", "<pad>", "<mask>")
ASSUMED_PRE = "gpt-2"
"""The pre-tokenizer of the model whose class is assumed of a vocab.json."""
_BYTES = 256
_SHOWN = 3
_FEWEST_CAPITALS, _PIECES_PER_CAPITAL = 8, 1000
"""If texts had capitals, so many pieces have some, and one in so many; in Korean vocabularies, one in 90 has."""
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


@dataclass(frozen=True, slots=True)
class Supplement:
    """What the files of a vocabulary leave open, as the model says it with which they are compared."""

    patterns: Sequence[str] = ()
    """How texts are split, one after the other; empty if the model does not say it either."""
    ignores_merges: bool = False
    """Whether a word that is a piece becomes that one, which goes with some of the patterns."""
    added: Sequence[MatchedToken] = ()
    """The tokens that are matched before the model runs."""
    lowercase: tuple[bool, bool] | None = None
    """Whether BERT's texts are lowercased and lose their accents."""


def leaves_open(path: Path) -> bool:
    """Whether nothing beside a vocabulary says how texts are split and which tokens are added."""
    return not class_of(path) and not added_tokens(path)


def says_case(path: Path) -> bool:
    """Whether a vocab.txt, or what is beside it, shows if texts are lowercased: pieces with capitals need others."""
    config = read_config(path)
    return isinstance(config.get("do_lower_case"), bool) or bool(class_of(path)) or _has_capitals(_read_pieces(path))


def caveat_of(path: Path) -> str:
    """Say what was assumed about a vocabulary; nothing if the file beside it names the class of the tokenizer."""
    return "" if class_of(path) else _ASSUMED[path.name]


def knows_special_tokens(path: Path) -> bool:
    """Check whether the special tokens of a vocabulary are known without a file beside it that names them."""
    return path.name == "vocab.txt" or class_of(path) in _ROBERTA


def knows_surroundings(path: Path) -> bool:
    """Check whether it is known what surrounds a text: BERT's and RoBERTa's always do, others if a file says it."""
    is_named = bool(class_of(path)) or "add_bos_token" in read_config(path)
    return path.name == "vocab.txt" or is_named


def build_document(path: Path, supplement: Supplement | None = None) -> bytes:
    """Return the tokenizer.json of a `vocab.json` with the `merges.txt` next to it, or of a `vocab.txt`.

    What the files leave open is taken from `supplement`.

    Raises:
        BrokenFileError: If a file is missing, cannot be read, or is not a vocabulary.
        UnsupportedError: If the tokenizer is of a class that splits texts in another way.
    """
    config = {**read_special_tokens_map(path), **read_config(path)}
    name, given = class_of(path), supplement or Supplement()
    if name and name not in _CLASSES[path.name]:
        raise UnsupportedError(
            f"{path}: the tokenizer is a {name}, and the files do not say how that one splits texts; "
            "name its tokenizer.json"
        )
    if path.name == "vocab.txt":
        tokenizer = _make_wordpiece(path, config, given.lowercase)
        _add_tokens(tokenizer, path, config, given)
    else:
        tokenizer = _make_bpe(path, config, given)
        _add_tokens(tokenizer, path, config, given)
        _add_around(tokenizer, config, name)
    return tokenizer.to_str().encode()


def _make_bpe(path: Path, config: Mapping[str, Any], given: Supplement) -> Tokenizer:
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

    vocabulary = read_vocabulary(path)
    merges = _read_merges(path)
    name = class_of(path)
    # A class says how texts are split, whatever the pieces are.
    if not name:
        _require_byte_level(path, vocabulary.keys() - _declared_texts(path, config))
    _require_tokens(path, vocabulary, merges)
    with _reading(path):
        tokenizer = Tokenizer(models.BPE(vocabulary, merges, ignore_merges=given.ignores_merges))
    patterns = given.patterns
    has_prefix = config.get("add_prefix_space") is True
    if name == "Qwen2Tokenizer":
        tokenizer.normalizer, patterns = normalizers.NFC(), [ORIGINALS["qwen2"]]
    if patterns:
        splits = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns]
        byte_level = pre_tokenizers.ByteLevel(add_prefix_space=has_prefix, use_regex=False)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*splits, byte_level])
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=has_prefix)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _require_tokens(path: Path, vocabulary: Mapping[str, int], merges: Collection[tuple[str, str]]) -> None:
    """Check that a vocabulary has the tokens of its merges."""
    unknown = [pair for pair in merges if not vocabulary.keys() >= {*pair, "".join(pair)}]
    if unknown:
        has_more = any(" " in second for _, second in unknown)
        reason = "as if it had more than two columns" if has_more else "as if the two files were of different models"
        raise BrokenFileError(
            f"{path}: the merges.txt beside it has {plural(len(unknown), 'merge')} of tokens that it lacks, such as"
            f" {', '.join(quote(' '.join(pair)) for pair in unknown[:_SHOWN])}, {reason}; download both again"
        )


def _reading(path: Path) -> AbstractContextManager[None]:
    return raised_as(BrokenFileError, f"{path}: not a vocabulary that tokenizers can read", quietly=True)


def _read_merges(path: Path) -> list[tuple[str, str]]:
    file = path.with_name("merges.txt")
    if not file.is_file():
        raise BrokenFileError(
            f"{path}: BPE needs a merges.txt beside it, and there is none; copy it there, or name a tokenizer.json, "
            "or for BERT, which has no merges, a vocab.txt"
        )
    pairs = (line.partition(" ") for line in _read_lines(file))
    return [(left, right) for left, _, right in pairs if right and left != "#version:"]


def _read_lines(file: Path) -> list[str]:
    """Return the lines of one of the files of a vocabulary."""
    try:
        # Editors of Windows add a byte order mark, and end lines in their own way.
        lines = StringIO(read_file(file).decode("utf-8-sig"), newline=None)
    except UnicodeDecodeError as error:
        raise BrokenFileError(
            f"{file}: not UTF-8 from byte {error.start:,} on, as if a program had saved it in another encoding;"
            " download it again"
        ) from error
    # subtle: not splitlines(), as Chinese BERT has a piece that is a line separator.
    return [line.removesuffix("\n") for line in lines]


def _declared_texts(path: Path, config: Mapping[str, Any]) -> set[str]:
    """Return the texts of tokens that are matched before the model runs, so they may contain any characters."""
    added = {token_text(entry) or "" for entry in added_tokens(path).values()}
    return {*added, *read_extra_tokens(path), *_special_entries(path, config, "")}


def _require_byte_level(path: Path, pieces: Collection[str]) -> None:
    """Raise an error if something shows that pieces are not GPT-2's: of characters, or with ends of words as CLIP's."""
    if sign := _count_marks(pieces) or _count_foreign_characters(pieces):
        raise UnsupportedError(
            f"{path}: {sign}, so this is not GPT-2's byte-level BPE, and the files do not say how texts are split; "
            "name a tokenizer.json, saved by the library that made them"
        )


def _count_marks(pieces: Collection[str]) -> str:
    """Say how many pieces have the mark of a word that character-level BPE uses, if more than that of byte-level BPE.

    A mark that is a piece by itself shows nothing: it may be an added token.
    """
    spaces = sum(piece.startswith(SPELLED_SPACE) for piece in pieces)
    ends = sum(piece.endswith("</w>") for piece in pieces if piece != "</w>")
    beginnings = sum(piece.startswith("▁") for piece in pieces if piece != "▁")
    for count, mark in ((ends, "end in `</w>`"), (beginnings, "begin with `▁`")):
        if count > spaces:
            return f"{count:,} pieces {mark} and {spaces:,} begin with `{SPELLED_SPACE}`"
    return ""


def _count_foreign_characters(pieces: Collection[str]) -> str:
    """Say how many single characters are none of the 256 that stand for a byte, if these are more than a few.

    In a vocabulary with all 256, others can only be added tokens.
    """
    single = {piece for piece in pieces if len(piece) == 1}
    foreign = single.difference(byte_pieces())
    if not foreign or len(single) - len(foreign) == _BYTES or len(foreign) * 10 < len(single):
        return ""
    return f"{len(foreign):,} of {len(single):,} single characters stand for no byte"


def _make_wordpiece(path: Path, config: Mapping[str, Any], given: tuple[bool, bool] | None) -> Tokenizer:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    ids = {piece: id for id, piece in enumerate(_read_pieces(path))}
    with _reading(path):
        tokenizer = Tokenizer(models.WordPiece(ids, unk_token=token_text(config.get("unk_token")) or "[UNK]"))
    lowercase, accents = config.get("do_lower_case"), config.get("strip_accents")
    if given:
        lowercase, accents = given
    is_assumed = bool(class_of(path)) or not _has_capitals(ids)
    tokenizer.normalizer = normalizers.BertNormalizer(
        lowercase=lowercase if isinstance(lowercase, bool) else is_assumed,
        strip_accents=accents if isinstance(accents, bool) else None,
        handle_chinese_chars=config.get("tokenize_chinese_chars") is not False,
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    cls, sep = (
        token_text(config.get(f"{role}_token")) or default for role, default in (("cls", "[CLS]"), ("sep", "[SEP]"))
    )
    if cls in ids and sep in ids:
        tokenizer.post_processor = processors.BertProcessing((sep, ids[sep]), (cls, ids[cls]))
    return tokenizer


def _has_capitals(pieces: Collection[str]) -> bool:
    """Whether a vocabulary was made of texts with capitals, as nothing but its pieces can say without a class."""
    words = (piece for piece in pieces if not piece.startswith(("[", "<")))
    count = sum(piece != piece.lower() and any(category(letter) == "Lu" for letter in piece) for piece in words)
    return count >= max(_FEWEST_CAPITALS, len(pieces) // _PIECES_PER_CAPITAL)


def _read_pieces(path: Path) -> list[str]:
    """Read one piece per line."""
    pieces = _read_lines(path)
    if not pieces:
        raise BrokenFileError(f"{path}: the file is empty")
    # Pieces of BERT contain no whitespace, as words are split there first.
    columns = sum("\t" in piece for piece in pieces)
    if columns * 2 > len(pieces):
        raise BrokenFileError(
            f"{path}: not a vocabulary of BERT, which has one piece per line: {columns:,} of {len(pieces):,} lines "
            "have a tab, as in a list of words with their counts or scores; name the tokenizer.json or tokenizer.model"
        )
    return pieces


def _add_tokens(tokenizer: Tokenizer, path: Path, config: Mapping[str, Any], given: Supplement) -> None:
    """Add the tokens that are matched before the model runs: those with ids of their own, and special ones."""
    special = _special_entries(path, config, class_of(path))
    also_special = special.keys() | {token.text for token in given.added if token.special}
    # subtle: transformers reads added_tokens.json only if tokenizer_config.json lists none; it may repeat any tokens.
    extra = {id: {"content": text, "special": text in also_special} for text, id in read_extra_tokens(path).items()}
    declared = added_tokens(path) or extra
    for id, entry in sorted(declared.items()):
        token = _to_added_token(entry)
        tokenizer.add_tokens([token])
        if (actual := tokenizer.token_to_id(token.content)) != id:
            raise UnsupportedError(
                f"{path}: the files beside it give the added token {token.content!r} the id {id}, "
                f"but the vocabulary leaves it the id {actual}; name a tokenizer.json"
            )
    texts = {token_text(entry) for entry in declared.values()}
    # A new token would not be in the model.
    known = {text: entry for text, entry in special.items() if tokenizer.token_to_id(text) is not None}
    tokenizer.add_special_tokens([_to_added_token(entry) for text, entry in known.items() if text not in texts])
    made = _made_pieces(tokenizer, path)
    for matched in _unlisted(tokenizer, given.added, made):
        flags = {"special": matched.special, "lstrip": matched.lstrip, "rstrip": matched.rstrip, "normalized": False}
        tokenizer.add_tokens([_to_added_token({"content": matched.text, **flags})])


def _unlisted(
    tokenizer: Tokenizer, added: Sequence[MatchedToken], is_made: Callable[[str], bool]
) -> Iterator[MatchedToken]:
    """Yield the added tokens of a model of which a vocabulary does not show that they are none.

    It shows that of pieces that it makes of a text itself, and of those that it has at another place.
    """
    listed = tokenizer.get_added_tokens_decoder()
    for token in sorted(added, key=lambda token: token.id):
        id = tokenizer.token_to_id(token.text)
        is_next = id is None and token.id == tokenizer.get_vocab_size()
        if is_next or (id == token.id and id not in listed and not is_made(token.text)):
            yield token


def _made_pieces(tokenizer: Tokenizer, path: Path) -> Callable[[str], bool]:
    """Return what says whether a model makes a piece: by a merge, or in WordPiece if texts are not split within it."""
    if path.name == "vocab.txt":
        split = tokenizer.pre_tokenizer.pre_tokenize_str
        return lambda piece: len(split(piece.removeprefix("##"))) == 1
    return {*byte_pieces(), *map("".join, _read_merges(path))}.__contains__


def _special_entries(path: Path, config: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Map the texts of the tokens that are special because they have a role to what is known of them."""
    listed = config.get("additional_special_tokens")
    entries = [value for key, value in config.items() if key.endswith("_token")]
    entries += listed if isinstance(listed, list) else []
    entries += _BERT_TOKENS if path.name == "vocab.txt" else ()
    entries += _ROBERTA_TOKENS if name in _ROBERTA else ()
    return {text: entry for entry in reversed(entries) if (text := token_text(entry))}


def _to_added_token(entry: object) -> AddedToken:
    """Return an added token, given its text or also its flags; it is special unless they say something else."""
    from tokenizers import AddedToken

    given = entry if isinstance(entry, Mapping) else {}
    flags = {name: given[name] for name in _FLAGS if isinstance(given.get(name), bool)}
    return AddedToken(token_text(entry) or "", **flags)


def _add_around(tokenizer: Tokenizer, config: Mapping[str, Any], name: str) -> None:
    """Let byte-level BPE add the tokens around a text that its class or the configuration names."""
    from tokenizers import processors

    if name in _ROBERTA:
        before, after = token_text(config.get("cls_token")) or "<s>", token_text(config.get("sep_token")) or "</s>"
    else:
        before, after = (
            token_text(config.get(f"{role}_token")) or "" if config.get(f"add_{role}_token") is True else ""
            for role in ("bos", "eos")
        )
    # An empty text names no token, although Whisper's vocabulary has an empty piece.
    known = {text: id for text in (before, after) if text and (id := tokenizer.token_to_id(text)) is not None}
    if known:
        items = [text for text in (before, "$A", after) if text == "$A" or text in known]
        tokenizer.post_processor = processors.TemplateProcessing(items, special_tokens=list(known.items()))


def read_vocabulary(path: Path) -> dict[str, Any]:
    """Return the content of a `vocab.json`, which should map texts to ids.

    Raises:
        BrokenFileError: If it is not a JSON object.
        UnsupportedError: If an id is too high.
    """
    try:
        content = parse_json(read_file(path))
    except JsonError as error:
        raise BrokenFileError(f"{path}: cannot be read as JSON ({error})") from error
    if not isinstance(content, dict):
        raise BrokenFileError(f"{path}: not a JSON object")
    # subtle: the library aborts the process if it cannot reserve memory for all ids up to the highest.
    if any(type(id) is int and id >= MAX_TOKENS for id in content.values()):
        raise UnsupportedError(f"{path}: an id of more than {MAX_TOKENS:,}, the limit")
    return content
