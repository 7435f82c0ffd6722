"""Why two tokenizers encode a document of a corpus differently, as far as a cheap look at the ids can tell."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class CorpusCause(StrEnum):
    """What kind of difference a document shows; it may show several."""

    BOS_MISSING = "bos-missing"
    BOS_DOUBLED = "bos-doubled"
    BOS_EXTRA = "bos-extra"
    EOS_MISSING = "eos-missing"
    EOS_DOUBLED = "eos-doubled"
    EOS_EXTRA = "eos-extra"
    ADDED_TOKEN = "added-token"  # noqa: S105 - not a password
    NORMALIZATION = "normalization"
    CASE = "case"
    SPACES = "spaces"
    UNKNOWN = "unknown"
    BYTE_FALLBACK = "byte-fallback"
    IDS = "ids"
    PRE_TOKENIZATION = "pre-tokenization"
    SEGMENTATION = "segmentation"
    PADDING = "padding"
    OUTSIDE_VOCABULARY = "outside-vocabulary"
    TRUNCATED = "truncated"
    NOT_CANONICAL = "not-canonical"
    ERROR = "error"
    OTHER = "other"


MEANINGS: Mapping[CorpusCause, str] = {
    CorpusCause.BOS_MISSING: "BOS is missing at the beginning",
    CorpusCause.BOS_DOUBLED: "BOS is repeated at the beginning",
    CorpusCause.BOS_EXTRA: "BOS is added at the beginning, and the reference adds none",
    CorpusCause.EOS_MISSING: "EOS is missing at the end",
    CorpusCause.EOS_DOUBLED: "EOS is repeated at the end",
    CorpusCause.EOS_EXTRA: "EOS is added at the end, and the reference adds none",
    CorpusCause.ADDED_TOKEN: "an added token is recognized on one side only",
    CorpusCause.NORMALIZATION: "the text is normalized to another Unicode form",
    CorpusCause.CASE: "letters are lowercased, or lose their accents, on one side only",
    CorpusCause.SPACES: "white space is added, removed or replaced",
    CorpusCause.UNKNOWN: "a part of the text becomes the unknown token on one side only",
    CorpusCause.BYTE_FALLBACK: "a part of the text becomes byte tokens on one side only",
    CorpusCause.IDS: "the same pieces have other ids",
    CorpusCause.PRE_TOKENIZATION: "the text is split into other pre-tokens",
    CorpusCause.SEGMENTATION: "the same pre-token becomes other pieces",
    CorpusCause.PADDING: "the ids contain padding around the document",
    CorpusCause.OUTSIDE_VOCABULARY: "ids are outside the vocabulary",
    CorpusCause.TRUNCATED: "the ids end before the text does",
    CorpusCause.NOT_CANONICAL: "the tokenizer returns other ids for the text that the ids represent",
    CorpusCause.ERROR: "only one side can encode the document",
    CorpusCause.OTHER: "the ids represent other text",
}
"""What each cause means; the subject is the model, compared with the reference."""
