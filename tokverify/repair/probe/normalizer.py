"""Find how a reference normalizes texts, by comparing the ids of texts with those of their normalized forms."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tokverify.engine.models.unigram_normalizer import replacing_normalizer
from tokverify.engine.normalizer import unescape_spaces
from tokverify.repair.probe.convention import read_charsmaps
from tokverify.repair.probe.vocabulary import Vocabulary
from tokverify.texts.batch import Queries

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ACCENTED = "éèàüöñçîôâ"
_COMPATIBLE = (
    *"ＡＢＣａｂｃ１２３（）ﬁﬂ①②½¼²³™№ℌ㌔ｱｲｳ\u00a0\u2003\u3000\u200b\u200d\ufeff\u00ad…‥ªºŉĳ",
    *("e\u0301", "o\u0308", "か\u3099"),
    *"ABCDEFGÀÉ",
)


@dataclass(frozen=True, slots=True)
class WordCleanup:
    """What a reference does to letters."""

    lowercase: bool
    strip_accents: bool


def find_word_cleanup(queries: Queries) -> WordCleanup:
    """Find whether capital letters are encoded like small ones, and accented letters like bare ones."""
    return WordCleanup(
        lowercase=_treats_alike(queries, _LETTERS, str.lower),
        strip_accents=_treats_alike(queries, _ACCENTED, lambda letter: unicodedata.normalize("NFD", letter)[0]),
    )


def find_composition(queries: Queries) -> bool:
    """Find whether letters followed by combining accents are encoded like the composed letters (NFC)."""
    decomposed = [unicodedata.normalize("NFD", letter) for letter in _ACCENTED]
    return _treats_alike(queries, decomposed, lambda text: unicodedata.normalize("NFC", text))


def _treats_alike(queries: Queries, texts: Sequence[str], normalize: Callable[[str], str]) -> bool:
    """Check whether most texts have the ids of their normalized forms, and these are not all the same ids."""
    encodings = queries.encode_all([f"q{text}q" for text in texts])
    normalized = queries.encode_all([f"q{normalize(text)}q" for text in texts])
    alike = [ids for ids, other in zip(encodings, normalized, strict=True) if ids == other]
    return 2 * len(alike) > len(texts) and any(ids != alike[0] for ids in alike)


def merges_spaces(queries: Queries) -> bool:
    """Find whether several spaces are encoded like one."""
    return queries.encode("q   q") == queries.encode("q q")


def cleans_spaces(queries: Queries) -> bool | None:
    """Find whether decoding removes spaces before punctuation; None if the reference does not decode as llama.cpp."""
    ids = queries.encode("q ?")
    if not ids or not queries.tokenizer.decodes_as_llama_cpp:
        return None
    return b"q?" in queries.tokenizer.decode(ids)


def prefixes_space(queries: Queries, vocabulary: Vocabulary) -> bool:
    """Find whether a space is added before a text."""
    return vocabulary.bytes_of(queries.encode("q") or ()).startswith(b" ")


def find_charsmap(queries: Queries) -> tuple[str, bytes] | None:
    """Return sentencepiece's normalization rule that explains most characters, and its charsmap; None if none does."""
    best: tuple[int, str, bytes] = (0, "", b"")
    encodings = dict(zip(_COMPATIBLE, queries.encode_all([f"q{text}q" for text in _COMPATIBLE]), strict=True))
    for rule, charsmap in read_charsmaps():
        normalize = _make_normalizer(charsmap)
        changed = {text: normalize(text) for text in _COMPATIBLE if normalize(text) != text}
        expected = queries.encode_all([f"q{text}q" for text in changed.values()])
        alike = sum(encodings[text] == ids for text, ids in zip(changed, expected, strict=True))
        # A rule that is followed in less than half of its changes is not the reference's.
        best = max(best, (2 * alike - len(changed), rule, charsmap), key=lambda candidate: candidate[0])
    return best[1:] if best[1] else None


def _make_normalizer(charsmap: bytes) -> Callable[[str], str]:
    normalizer = replacing_normalizer(charsmap)
    return lambda text: unescape_spaces(normalizer.normalize(text))
