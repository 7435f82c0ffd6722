"""The texts to measure: the bundled samples, or files, classified by language or script."""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.errors import TokverifyError
from tokverify.report.stats import SHORT_NUMBERS, ProbeResult, TextKind
from tokverify.system.input_file import open_input, require_fetched
from tokverify.texts.batch import encode_one
from tokverify.tokenizer import Tokenizer

if TYPE_CHECKING:
    import regex

PIECE_BYTES = 1 << 20
"""Larger files are encoded in pieces of about this size."""
_ENGLISH = "English"
_SAMPLES = Path(__file__).parent / "text"
_LANGUAGES = (_ENGLISH, "Spanish", "French", "German", "Russian", "Arabic", "Hindi", "Chinese", "Japanese", "Korean")
_UNSPACED_LANGUAGES = frozenset({"Chinese", "Japanese"})
_CODE = {"python": "Python", "javascript": "JavaScript", "cpp": "C++", "rust": "Rust", "go": "Go", "java": "Java"}
_RUNS = (1, 2, 3, 4, 6, 8, 12, 16)
_WHITE_SPACE = "".join(f"a{character * count}" for character, count in product(" \t\n", _RUNS))
_SUFFIXES = {
    "Bash": ("sh", "bash"),
    "C": ("c", "h"),
    "C#": ("cs",),
    "C++": ("cc", "cpp", "cxx", "hh", "hpp", "hxx", "cu", "cuh"),
    "CSS": ("css",),
    "Diff": ("diff", "patch"),
    "Go": ("go",),
    "HTML": ("html", "htm"),
    "Haskell": ("hs",),
    "JSON": ("json", "jsonl"),
    "Java": ("java",),
    "JavaScript": ("js", "mjs", "jsx"),
    "Kotlin": ("kt",),
    "Lua": ("lua",),
    "PHP": ("php",),
    "Perl": ("pl", "pm"),
    "Python": ("py", "pyi"),
    "R": ("r",),
    "Ruby": ("rb",),
    "Rust": ("rs",),
    "SQL": ("sql",),
    "Scala": ("scala",),
    "Swift": ("swift",),
    "TOML": ("toml",),
    "TypeScript": ("ts", "tsx"),
    "XML": ("xml",),
    "YAML": ("yaml", "yml"),
}
_CODE_BY_SUFFIX = {f".{suffix}": language for language, suffixes in _SUFFIXES.items() for suffix in suffixes}
_LONG_NUMBERS = range(1000, 1_000_000, 997)
_INDENTATIONS = range(1, 17)
_PROMPT, _ANSWER = "The quick brown fox jumps over the lazy", "dog"


@dataclass(frozen=True, slots=True)
class SampleText:
    """A text, or a piece of one."""

    kind: TextKind
    name: str
    """The language or script."""
    content: str
    spaced: bool = True
    """Whether there are spaces between words."""


def samples() -> Iterator[SampleText]:
    """Yield the bundled samples; those in natural languages are translations of each other."""
    for language in _LANGUAGES:
        content = _sample(f"prose/{language.lower()}.txt")
        yield SampleText(TextKind.PROSE, language, content, spaced=language not in _UNSPACED_LANGUAGES)
    for stem, language in _CODE.items():
        yield SampleText(TextKind.CODE, language, _sample(f"code/{stem}.txt"))
    yield SampleText(TextKind.DIGITS, "numbers, dates", _sample("digits.txt"))
    yield SampleText(TextKind.WHITE_SPACE, "runs of 1 to 16", _WHITE_SPACE, spaced=False)


@cache
def parallel_samples() -> Mapping[str, str]:
    """Return translations of one text, by language."""
    return {text.name: text.content for text in samples() if text.kind is TextKind.PROSE}


def _sample(name: str) -> str:
    return (_SAMPLES / name).read_text(encoding="utf-8")


def texts_of(path: Path) -> Iterator[SampleText]:
    """Read a file: code if its suffix is that of a programming language, else prose, split where the script changes.

    Raises:
        TokverifyError: If it cannot be read or is not UTF-8.
    """
    language = _CODE_BY_SUFFIX.get(path.suffix.lower())
    for piece in read_pieces(path):
        if language:
            yield SampleText(TextKind.CODE, language, piece)
        else:
            yield from _split_by_script(piece)


def _split_by_script(piece: str) -> Iterator[SampleText]:
    """Split prose between lines in different scripts; a line without letters belongs to the lines before it."""
    script: str | None = None
    lines: list[str] = []
    # ASCII text has at most one script.
    for line in [piece] if piece.isascii() else piece.splitlines(keepends=True):
        found = script_of_line(line)
        if found and script and found != script:
            yield _prose(script, lines)
            lines = []
        script = found or script
        lines.append(line)
    if lines:
        yield _prose(script, lines)


def _prose(script: str | None, lines: list[str]) -> SampleText:
    return SampleText(TextKind.PROSE, script or "no letters", "".join(lines), spaced=script not in UNSPACED)


def read_pieces(path: Path) -> Iterator[str]:
    """Yield the text of a file, in pieces that end at line ends if it is long.

    Only lines of more than a mebibyte are split.

    Raises:
        TokverifyError: If it cannot be read or is not UTF-8.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    done = 0
    try:
        with open_input(path, "text") as file:
            while block := file.read(PIECE_BYTES):
                block += file.readline(PIECE_BYTES)
                if not done:
                    require_fetched(path, block)
                yield decoder.decode(block)
                done += len(block)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        # The decoder prepends what it kept of the previous block.
        kept = len(error.object) - len(block)
        offset = done - kept + error.start
        raise TokverifyError(
            f"{path}: byte 0x{error.object[error.start]:02X} at offset {offset:,} is not UTF-8; convert the file first"
        ) from None
    except OSError as error:
        raise TokverifyError(f"{path}: cannot read the text: {error.strerror}; check the path") from error


def probe(tokenizer: Tokenizer, unknown: Collection[int] = ()) -> ProbeResult:
    """Test a tokenizer on generated texts; `unknown` are its ids for unknown text."""
    short = [_count_digit_tokens(tokenizer, number) for number in SHORT_NUMBERS]
    long = [_count_digit_tokens(tokenizer, number) or 0 for number in _LONG_NUMBERS]
    indentation = _test_indentation(tokenizer)
    language_tokens = _count_language_tokens(tokenizer, unknown)
    against_english = compare_with_english(language_tokens)
    return ProbeResult(
        single_numbers=short.count(1) if any(short) else None,
        tokens_per_long_number=sum(long) / len(long) if all(long) else None,
        indentation=indentation,
        spaces_per_token=sum(indentation) / sum(indentation.values()) if indentation else None,
        trailing_space=_test_trailing_space(tokenizer),
        language_tokens=language_tokens,
        against_english=against_english,
        mean_against_english=sum(against_english.values()) / len(against_english) if against_english else None,
        languages=len(parallel_samples()) - 1,
    )


def compare_with_english(language_tokens: Mapping[str, int] | None) -> dict[str, float] | None:
    """Return the tokens of each other language as a multiple of those in English."""
    if not language_tokens:
        return None
    english = language_tokens[_ENGLISH]
    return {language: count / english for language, count in language_tokens.items() if language != _ENGLISH}


def _count_digit_tokens(tokenizer: Tokenizer, number: int) -> int | None:
    """Count the tokens of a number; a token that is only an added space does not count."""
    stripped = [tokenizer.token_bytes(id).strip(b" ") for id in encode_one(tokenizer, str(number)) or ()]
    parts = [part for part in stripped if part]
    return len(parts) if b"".join(parts) == str(number).encode() else None


def _test_indentation(tokenizer: Tokenizer) -> dict[int, int] | None:
    counts = {width: _count_indentation_tokens(tokenizer, width) for width in _INDENTATIONS}
    known = {width: count for width, count in counts.items() if count}
    return known if len(known) == len(counts) else None


def _count_indentation_tokens(tokenizer: Tokenizer, width: int) -> int | None:
    """Count the tokens that hold any of `width` spaces between a newline and a letter."""
    parts = [tokenizer.token_bytes(id) for id in encode_one(tokenizer, f"a\n{' ' * width}b") or ()]
    decoded = b"".join(parts)
    if not decoded.endswith(b"a\n" + b" " * width + b"b"):
        return None
    end = len(decoded) - 1
    count = at = 0
    for part in parts:
        count += at < end and at + len(part) > end - width
        at += len(part)
    return count


def _test_trailing_space(tokenizer: Tokenizer) -> bool | None:
    prompt, whole = encode_one(tokenizer, f"{_PROMPT} "), encode_one(tokenizer, f"{_PROMPT} {_ANSWER}")
    bare = encode_one(tokenizer, _PROMPT)
    if prompt is None or whole is None or prompt == bare:
        return None
    return whole[: len(prompt)] != prompt


def _count_language_tokens(tokenizer: Tokenizer, unknown: Collection[int]) -> dict[str, int] | None:
    encoded = {language: encode_one(tokenizer, text) for language, text in parallel_samples().items()}
    counts = {language: len(ids) for language, ids in encoded.items() if ids and not set(ids) & set(unknown)}
    return counts if _ENGLISH in counts else None


OTHER = "other"
JAPANESE = "Japanese"

UNSPACED = frozenset({"Han", JAPANESE, "Thai", "Lao", "Khmer", "Myanmar", "Tibetan"})
"""The scripts without spaces between words."""

_KANA = frozenset({"Hiragana", "Katakana"})
_SCRIPTS = (
    "Latin", "Han", "Hiragana", "Katakana", "Hangul", "Cyrillic", "Arabic", "Devanagari", "Greek", "Hebrew", "Thai",
    "Bengali", "Gurmukhi", "Gujarati", "Oriya", "Tamil", "Telugu", "Kannada", "Malayalam", "Sinhala", "Lao", "Khmer",
    "Myanmar", "Tibetan", "Georgian", "Armenian", "Ethiopic", "Mongolian", "Bopomofo", "Syriac", "Thaana", "Cherokee",
    "Canadian_Aboriginal", "Tifinagh", "Nko", "Yi",
)  # fmt: skip


def script_of_line(line: str) -> str | None:
    """Return the script of most letters in a line; None if there are no letters.

    In a line with kana, Chinese characters count as Japanese.
    """
    if line.isascii():
        return "Latin" if line.lower() != line.upper() else None
    scripts = set(map(_SCRIPT_OF.__getitem__, line)) - {None}
    if not _KANA.isdisjoint(scripts):
        scripts = scripts - _KANA - {"Han"} | {JAPANESE}
    if len(scripts) < 2:  # noqa: PLR2004 - nothing to count, which would take longer
        return next(iter(scripts), None)
    counts = Counter(map(_SCRIPT_OF.__getitem__, line))
    del counts[None]
    if not _KANA.isdisjoint(counts):
        counts[JAPANESE] = sum(counts.pop(script, 0) for script in (*_KANA, "Han"))
    return max(counts, key=counts.__getitem__, default=None)


def script_of_letter(character: str) -> str | None:
    """Return the script of a character as that of a line; None if it is not a letter."""
    script = _SCRIPT_OF[character]
    return JAPANESE if script in _KANA else script


def learn_scripts(characters: Iterable[str]) -> None:
    """Look up the scripts of many characters at once, which is much faster than one at a time."""
    new = sorted(set(characters) - _SCRIPT_OF.keys())
    letters = "".join(filter(str.isalpha, new))
    _SCRIPT_OF.update(dict.fromkeys(new))
    _SCRIPT_OF.update(dict.fromkeys(letters, OTHER))
    for match in _pattern().finditer(letters):
        _SCRIPT_OF.update(dict.fromkeys(match[0], _SCRIPTS[(match.lastindex or 0) - 1]))


class _Scripts(dict[str, str | None]):
    """The script of each character that was looked up; None for those that are not letters."""

    def __missing__(self, character: str) -> str | None:
        self[character] = _find_script(character)
        return self[character]


_SCRIPT_OF = _Scripts()


def _find_script(character: str) -> str | None:
    if not character.isalpha():
        return None
    match = _pattern().match(character)
    return _SCRIPTS[match.lastindex - 1] if match and match.lastindex else OTHER


@cache
def _pattern() -> regex.Pattern[str]:
    """Return a pattern with a group for each script, which matches a run of its characters."""
    import regex

    return regex.compile("|".join(rf"(\p{{Script={name}}}+)" for name in _SCRIPTS))
