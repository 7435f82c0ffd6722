"""Companions: files in the directory of a corpus that describe it, or a tokenizer, and are not part of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokverify.corpus.unit import CorpusFile

_PROSE = re.compile(r"(readme|licen[cs]e|notice|citation)\b.*\.(md|txt|text)")
_METADATA = re.compile(
    # Of the Hugging Face Hub and what `datasets` writes; of models; of tokenizers.
    r"dataset_infos?\.json|dataset_dict\.json|state\.json|(generation_)?config\.json"
    r"|(.+[.-])?tokenizer\.json|tokenizer_config\.json|special_tokens_map\.json|added_tokens\.json"
    r"|vocab\.(json|txt)|merges\.txt"
)


def without_companions(files: Sequence[CorpusFile]) -> list[CorpusFile]:
    """Leave out the files that describe the others, by their names.

    A README among texts is a document like the others. If all files look like descriptions, they are the corpus.
    """
    prose = {file for file in files if _PROSE.fullmatch(_name(file))}
    metadata = {file for file in files if _METADATA.fullmatch(_name(file))}
    formats = {file.format for file in files if file not in prose | metadata}
    if not formats:
        return list(files)
    companions = metadata if formats == {"text"} else prose | metadata
    return [file for file in files if file not in companions]


def _name(file: CorpusFile) -> str:
    return Path(file.path).name.lower()
