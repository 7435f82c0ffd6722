"""Find out that the tables of a reference are damaged: its tokens were misread, or its scores rounded."""

from __future__ import annotations

import json
import re
import unicodedata
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from html import unescape
from itertools import chain
from math import frexp, isfinite, ldexp
from urllib.parse import unquote

from tokverify.compare.blame import ADVICE
from tokverify.compare.damage.difference import LEAST
from tokverify.compare.opened import Opened
from tokverify.engine.byte_level import SPELLED_SPACE, from_byte_level, read_bytes, to_byte_level
from tokverify.engine.families import find_family
from tokverify.engine.joined_strings import find_changed
from tokverify.engine.normalizer import ESCAPED_SPACE
from tokverify.report.tokenizer_difference import BLAME
from tokverify.report.vocabulary_difference import NEARLY_ALL
from tokverify.sources.huggingface.document import Document
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.text.utf8 import encode_leniently, from_utf8, to_text
from tokverify.text.wording import list_tokens, plural

_ENCODINGS = {
    "Latin-1": "latin-1",
    "Windows-1252": "cp1252",
    "GBK": "gbk",
    "Big5": "cp950",
    "Shift JIS": "cp932",
    "EUC-KR": "cp949",
    "Windows-1250": "cp1250",
    "Windows-1251": "cp1251",
    "Windows-1254": "cp1254",
    "code page 437": "cp437",
    "code page 850": "cp850",
    "Mac Roman": "mac-roman",
}
"""What a program reads text in if nobody names UTF-8, as Python did on Windows, and its name in Python."""
_FEW_PAIRS = 50
_MOST_DIGITS, _TOLERANCE = 4, 1e-4
"""Of scores; a float of 32 bits has seven digits, of which two or three are before the point."""
_SHORT_FLOATS = {"float16": 11, "bfloat16": 8}
"""Name -> the bits of its mantissa; models are stored so, and a vocabulary that was made of one has such scores."""

_PLAIN = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "…": "...", "–": "--", "—": "--"})
_TYPOGRAPHIC = re.compile(f"[{''.join(map(chr, _PLAIN))}]")
_ESCAPED_MARK = re.compile(r"\\([!-/:-@\[-`{-~])")
"""A punctuation mark in Markdown that shall have no effect."""
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")


def describe_damage(pairs: Sequence[tuple[str, str]]) -> str:
    """Say what a program did to all of some texts, each of which comes before the right one; empty if nobody knows."""
    # An empty text shows nothing, and equal ones can stand for other bytes.
    if not pairs or not all(text and right and text != right for text, right in pairs):
        return ""
    return next((reason for reason, is_done in _DAMAGES.items() if all(is_done(*pair) for pair in pairs)), "")


def explain_misread_tokens(spec: TokenizerSpec, facts: Opened) -> str:
    """Say in which encoding the tokens of a reference were read, of which the model's show nothing; empty if in UTF-8.

    A byte-level vocabulary spells bytes in an alphabet that looks like Latin-1 beside a model that does not.
    """
    # As GGUF stores them: WordPiece marks other pieces in a tokenizer.json.
    theirs = facts.spec.tokens if facts.spec else ()
    differing = find_changed(spec.tokens, theirs)
    if len(differing) < LEAST or facts.spec is None:
        return ""
    is_spelled = _spells_bytes(facts.spec, facts.document)
    pairs = {id: (theirs[id], spec.tokens[id]) for id in differing}
    # Nearly all pairs must show it, so few of them tell which encoding it may be.
    few = differing[:_FEW_PAIRS]
    for reason, is_misread in _MISREADINGS.items():
        if sum(is_misread(*pairs[id]) for id in few) < NEARLY_ALL * len(few):
            continue
        damaged = [id for id, pair in pairs.items() if is_misread(*pair) and not (is_spelled and _is_spelled(pair[0]))]
        if len(damaged) >= max(LEAST, NEARLY_ALL * len(differing)):
            return f"{BLAME} in {plural(len(damaged), 'token')}: {reason}: {list_tokens(damaged, theirs)}; {ADVICE}"
    return ""


def explain_rounded_scores(spec: TokenizerSpec, facts: Opened) -> str:
    """Say that the scores of a reference are those of the model, rounded, or all one; empty if they are not."""
    has_scores = facts.document is None or facts.document.model_type == "Unigram"
    # To convert the reference, which comes last, takes long.
    if not spec.scores or not has_scores or facts.spec is None or not facts.spec.scores:
        return ""
    reference, scores = facts.spec, facts.spec.scores
    # Padding behind the tokens of either side has scores of its own, and a damaged file may lack some.
    size = min(len(spec.tokens), len(reference.tokens), len(spec.scores), len(scores))
    moved = set(find_changed(spec.tokens[:size], reference.tokens[:size]))
    pairs = [(spec.scores[id], scores[id]) for id in range(size) if id not in moved]
    # Few tokens in common, or what is no number, shows nothing.
    if len(pairs) < max(LEAST, NEARLY_ALL * size) or not all(map(isfinite, chain.from_iterable(pairs))):
        return ""
    are_fewer = len({other for _, other in pairs}) < len({one for one, _ in pairs})
    if not are_fewer or all(abs(one - other) <= _TOLERANCE for one, other in pairs):
        return ""
    if _are_all_one(reference):
        return f"{BLAME}: all of its ordinary pieces have one score, so that nothing ranks them; {ADVICE}"
    for name, rounded in _rounders():
        if all(abs(rounded(one) - other) < _TOLERANCE for one, other in pairs):
            scores_are = f"its scores are those of the model, rounded to {name}"
            return f"{BLAME}: {scores_are}, so that pieces are tied that should not be; {ADVICE}"
    return ""


def _are_all_one(spec: TokenizerSpec) -> bool:
    family = find_family(spec.model)
    pairs = zip(spec.scores or (), spec.types or (), strict=False)
    uses_scores = family is not None and family.ranking.uses_scores
    return uses_scores and len({score for score, type in pairs if type == TokenType.NORMAL}) == 1


def _rounders() -> Iterator[tuple[str, Callable[[float], float]]]:
    for digits in range(_MOST_DIGITS):
        yield plural(digits, "decimal"), partial(round, ndigits=digits)
    for name, bits in _SHORT_FLOATS.items():
        yield name, partial(_round_bits, bits=bits)


def _round_bits(number: float, bits: int) -> float:
    mantissa, exponent = frexp(number)
    return ldexp(round(ldexp(mantissa, bits)), exponent - bits)


def _spells_bytes(spec: TokenizerSpec, document: Document | None) -> bool:
    family = find_family(spec.model)
    return document.is_byte_level if document else family is None or family.is_bpe


def _is_spelled(piece: str) -> bool:
    """Whether a piece spells UTF-8 in the alphabet for bytes."""
    data = read_bytes(piece)
    return data is not None and from_utf8(data) is not None


def _is_misread(text: str, right: str, encoding: str) -> bool:
    """Whether a text is what becomes of the right one if its UTF-8 is read in another encoding.

    What the encoding lacks is replaced or left out; or was put in afterward, such as a marker of a space.
    """
    data = encode_leniently(right)
    if text in {data.decode(encoding, errors) for errors in ("replace", "ignore")}:
        return True
    return b"".join(_to_byte(character, encoding) for character in text) == data


def _to_byte(character: str, encoding: str) -> bytes:
    try:
        return character.encode(encoding)
    except UnicodeEncodeError:
        return encode_leniently(character)


def _unescape(text: str) -> str:
    return text.replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r")


def _unescape_marks(text: str) -> str:
    return _ESCAPED_MARK.sub(r"\1", text) if "\\" in text else text


def _unescape_json(text: str) -> str:
    if "\\" not in text:
        return text
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text


def _unquote_csv(text: str) -> str:
    is_quoted = len(text) > 1 and text[0] == text[-1] == '"'
    return text[1:-1].replace('""', '"') if is_quoted else text


def _with_mark_first(text: str) -> str:
    is_behind = text.endswith(ESCAPED_SPACE) and not text.startswith(ESCAPED_SPACE)
    return ESCAPED_SPACE + text.removesuffix(ESCAPED_SPACE) if is_behind else text


def _is_typographic(text: str, right: str) -> bool:
    has_more = len(_TYPOGRAPHIC.findall(text)) > len(_TYPOGRAPHIC.findall(right))
    return has_more and text.translate(_PLAIN) == right.translate(_PLAIN)


def _is_in_base64(text: str, right: str) -> bool:
    try:
        return b64decode(text, validate=True) in {read_bytes(right), encode_leniently(right)}
    except ValueError:
        return False


def _is_undone(text: str, right: str, undo: Callable[[str], str]) -> bool:
    return undo(text) == right


def _has_surrogates(text: str, right: str) -> bool:
    """Whether a text is the right one in CESU-8, as Java writes it: in the bytes of two surrogates each."""
    units = memoryview(right.encode("utf-16", "surrogatepass")).cast("H")[1:]
    return text == to_text(encode_leniently("".join(map(chr, units))))


def _were_bytes_mapped_twice(text: str, right: str) -> bool:
    """Whether a piece in the alphabet for bytes was taken for a text, as it is or with its bytes as Latin-1."""
    return text in {to_byte_level(right), to_byte_level(from_byte_level(right).decode("latin-1"))}


def _is_decomposed(text: str, right: str) -> bool:
    """Whether the letters of the alphabet for bytes were taken apart, as macOS does with names of files."""
    return unicodedata.normalize("NFD", right) == text and read_bytes(text) is None and read_bytes(right) is not None


_MISREADINGS: dict[str, Callable[[str, str], bool]] = {
    **{
        f"their UTF-8 was read as {name}": partial(_is_misread, encoding=encoding)
        for name, encoding in _ENCODINGS.items()
    },
    "the letters that spell their bytes were decomposed (NFD)": _is_decomposed,
}
"""What could not be done to the right text to get the other one, so that a reference shows it as well as a file."""


UNDONE: dict[str, Callable[[str], str]] = {
    "they were escaped for HTML": unescape,
    "they were escaped for a URL": unquote,
    "line breaks and tabs were escaped": _unescape,
    # Undoing what Markdown needs would undo this, too.
    "they were escaped for JSON": _unescape_json,
    "they were escaped for Markdown": _unescape_marks,
    "they were quoted for CSV": _unquote_csv,
    "their quotes were doubled, as for SQL": lambda text: text.replace("''", "'"),
    "they have decimal commas": partial(_DECIMAL_COMMA.sub, "."),
    f"{ESCAPED_SPACE} was put behind words": _with_mark_first,
    "a line end was kept behind each": lambda text: text.rstrip("\r\n"),
    "what follows each in its line was kept": lambda text: text.rpartition("\t")[0],
    "they had no-break spaces instead of spaces": lambda text: text.replace("\xa0", " "),
    "quotes, dashes and dots became typographic": lambda text: text if text.isascii() else text.translate(_PLAIN),
}
"""What programs do to tokens, and how to undo it."""
_DAMAGES: dict[str, Callable[[str, str], bool]] = {
    **_MISREADINGS,
    **{reason: partial(_is_undone, undo=undo) for reason, undo in UNDONE.items()},
    f"they had spaces instead of {SPELLED_SPACE}": lambda text, right: text.replace(" ", SPELLED_SPACE) == right,
    "they were normalized with NFKC": lambda text, right: unicodedata.normalize("NFKC", right) == text,
    "line ends were converted": lambda text, right: text.replace("\r\n", "\n") == right.replace("\r\n", "\n"),
    "they are in base64, as in a file of ranks": _is_in_base64,
    # Where the right texts have some, too, undoing it goes too far.
    "quotes, dashes and dots became typographic": _is_typographic,
    "typographic quotes, dashes and dots became plain": lambda text, right: _is_typographic(right, text),
    "characters beyond U+FFFF were written as surrogates": _has_surrogates,
    "their bytes were mapped to characters twice": _were_bytes_mapped_twice,
    "they were written in lowercase": lambda text, right: text == right.lower(),
    # The weakest comes last.
    "they were cut off": lambda text, right: (
        len(text) > 1 and right.startswith(text) and not right[len(text) :].isspace()
    ),
}
"""What programs do to tokens by mistake, and how to see from a text and the right one that it was done."""
