"""The reference `vocab`: a tokenizer whose vocabulary is a file of its own, as written before tokenizer.json."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from tokverify.references.huggingface import from_json
from tokverify.references.reference import FoundReference
from tokverify.sources.config import generation_end_ids, special_texts
from tokverify.sources.huggingface.vocabulary_files import build_document, caveat_of, knows_special_tokens

_NO_SPECIAL = "nothing next to the files, such as a tokenizer_config.json, says which tokens are special"


def load(place: os.PathLike[str]) -> FoundReference:
    """Load a `vocab.json` with the `merges.txt` next to it, or a `vocab.txt`.

    Raises:
        BrokenFileError: If a file is missing, cannot be read, or is not a vocabulary.
        UnsupportedError: If the tokenizer is of a class that splits texts in another way.
    """
    path = Path(place)
    special = special_texts(path)
    found = from_json(
        build_document(path),
        source=str(path),
        special_texts=special,
        end_ids=generation_end_ids(path),
        is_file=True,
        path=path,
    )
    has_special = bool(special) or knows_special_tokens(path)
    caveats = [caveat_of(path), "" if has_special else _NO_SPECIAL]
    if path.with_name("tokenizer.json").is_file():
        caveats.append("the tokenizer.json beside it was not read, which libraries prefer")
    return replace(found, path=path, caveat="; ".join(filter(None, caveats)))
