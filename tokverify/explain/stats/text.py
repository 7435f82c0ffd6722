"""The texts to measure: the bundled samples, or files, classified by language or script."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

from tokverify.errors import TokverifyError
from tokverify.explain.stats.script import UNSPACED, script_of_line
from tokverify.report.stats import TextKind
from tokverify.system.input_file import open_input, require_fetched

PIECE_BYTES = 1 << 20
"""Larger files are encoded in pieces of about this size."""

ENGLISH = "English"

_SAMPLES = Path(__file__).parent / "text"
_LANGUAGES = (ENGLISH, "Spanish", "French", "German", "Russian", "Arabic", "Hindi", "Chinese", "Japanese", "Korean")
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
_CODE_BY_SUFFIX: dict[str, str] = {}
for _language, _suffixes in _SUFFIXES.items():
    _CODE_BY_SUFFIX |= {f".{suffix}": _language for suffix in _suffixes}


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
