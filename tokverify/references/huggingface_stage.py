"""Run the stages of a `tokenizers.Tokenizer` one by one, and look into the last."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from tokverify.engine.added_token import SPACES
from tokverify.engine.byte_level import from_byte_level
from tokverify.sources.huggingface.stage import stages_of
from tokverify.tokenizer import StageMatch, StageStretch, TokenizerStages

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_UNRELIABLE = "its stages, run one by one, do not lead to the ids of the whole"

AddedMatch = tuple[int, int, int]
"""The id of an added token, and the start and end of its match in characters."""


def stages(tokenizer: Tokenizer, text: str, *, byte_level: bool) -> TokenizerStages:
    """Call normalizer, pre-tokenizer and model for each stretch of `text` between the added tokens found in it.

    The library does not report where it found those, so the text is searched for them in the order of the result. The
    stages are only trusted if they lead to the same ids.
    """
    encoding = tokenizer.encode(text, add_special_tokens=False)
    matches = _find_matches(tokenizer, text, encoding.ids)
    if matches is None:
        return TokenizerStages(None, None, "it does not report where in the text it found its added tokens")
    ids: list[int] = []
    stretches: list[StageStretch] = []
    done = 0
    for id, start, end in [*matches, (None, len(text), len(text))]:
        if done < start:
            stretch, stretch_ids = _run_stretch(tokenizer, text, (done, start), byte_level=byte_level)
            stretches.append(stretch)
            ids += stretch_ids
        ids += [] if id is None else [id]
        done = end
    if ids != encoding.ids:
        return TokenizerStages(None, None, _UNRELIABLE)
    stage_matches = (StageMatch(id, _byte(text, start), _byte(text, end)) for id, start, end in matches)
    return TokenizerStages(tuple(stage_matches), tuple(stretches))


def _byte(text: str, place: int) -> int:
    return len(text[:place].encode())


def _find_matches(tokenizer: Tokenizer, text: str, ids: Sequence[int]) -> list[AddedMatch] | None:
    added = tokenizer.get_added_tokens_decoder()
    matches: list[AddedMatch] = []
    done = 0
    for id in ids:
        if id not in added:
            continue
        token: Any = added[id]
        # subtle: an added token that is matched after normalization is written with `▁` for spaces.
        found = re.compile(f"{re.escape(token.content)}|{re.escape(token.content.replace('▁', ' '))}").search(
            text, done
        )
        if found is None:
            return None
        start, end = found.span()
        while token.lstrip and start > done and text[start - 1] in SPACES:
            start -= 1
        while token.rstrip and text[end : end + 1] in {*SPACES}:
            end += 1
        matches.append((id, start, end))
        done = end
    return matches


def _run_stretch(
    tokenizer: Tokenizer, text: str, characters: tuple[int, int], *, byte_level: bool
) -> tuple[StageStretch, list[int]]:
    start, end = characters
    raw = text[start:end]
    normalized = tokenizer.normalizer.normalize_str(raw) if tokenizer.normalizer else raw
    chunks = [normalized]
    if tokenizer.pre_tokenizer:
        chunks = [chunk for chunk, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normalized)]
    tokens = chain.from_iterable(tokenizer.model.tokenize(chunk) for chunk in chunks if chunk)
    ids = [token.id for token in tokens]
    written = tuple(from_byte_level(chunk) if byte_level else chunk.encode() for chunk in chunks)
    pre_tokens = written if tokenizer.pre_tokenizer else None
    return StageStretch(_byte(text, start), _byte(text, end), normalized, pre_tokens), ids


def ids_around(tokenizer: Tokenizer) -> dict[str, int]:
    """Return the token that the post-processor adds at either end of a text, if it is exactly one."""
    ids = {}
    for stage in stages_of(tokenizer.post_processor):
        if stage["type"] == "TemplateProcessing":
            single = [next(iter(item.items())) for item in stage["single"]]
            # subtle: a template may omit the text, or use a token that it does not define.
            middle = next((index for index, (kind, _) in enumerate(single) if kind == "Sequence"), len(single))
            for role, around in (("bos", single[:middle]), ("eos", single[middle + 1 :])):
                added: list[int] = []
                for _, token in around:
                    added += stage["special_tokens"].get(token["id"], {"ids": []})["ids"]
                if len(added) == 1:
                    ids[role] = added[0]
        elif stage["type"] in {"BertProcessing", "RobertaProcessing"}:
            ids |= {"cls": stage["cls"][1], "sep": stage["sep"][1]}
    return ids
