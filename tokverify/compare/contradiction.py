"""Find where the files of a reference contradict each other, so that one of them must be wrong.

Each contradiction quotes two places. `blame` says of which differences they are the cause.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from tokverify.compare.affix import affixes_of
from tokverify.compare.marker import read_template
from tokverify.compare.role_name import BEGINNING, ENDING, ROLES_BY_NAME, natural_id
from tokverify.compare.template_difference import ends_turns
from tokverify.engine.byte_level import SPELLED_SPACE
from tokverify.engine.encoder import Encoder
from tokverify.engine.normalizer import ESCAPED_SPACE
from tokverify.engine.piece_index import index_pieces
from tokverify.engine.special_text import EOG_TEXTS
from tokverify.errors import TokverifyError, answer_or
from tokverify.sources.config import (
    ROLES,
    added_tokens,
    class_of,
    default_template,
    generation_end_ids,
    has_derived_ends,
    model_type,
    only_embeds,
    read_config,
    read_special_tokens_map,
    token_text,
)
from tokverify.sources.huggingface.document import read_json, read_outline
from tokverify.sources.huggingface.tables import tables_of
from tokverify.sources.huggingface.vocabulary_files import read_vocabulary
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.text.sequence import group_values
from tokverify.text.utf8 import from_utf8
from tokverify.text.wording import list_items, list_tokens, plural, quote
from tokverify.texts.batch import encode_plain
from tokverify.texts.token_text import is_filler
from tokverify.texts.vocabulary import types_of
from tokverify.tokenizer import DocumentHolding, Tokenizer, path_of, pieces_of

ADDED_TOKENS = "added tokens"
"""What a contradiction about the types of added tokens is about."""
SPACE_PREFIX = "space_prefix"
"""What a contradiction about the space before a text is about."""
LOWERCASE = "lowercase"
"""What a contradiction about lowercasing is about."""
VOCABULARY = "vocabulary"
"""What a contradiction about the ids of tokens is about."""
_CONFIG = "tokenizer_config.json"
_LOOP = re.compile(r"\{%[-+]?\s*for\b")
_LLAMA = frozenset({"LlamaTokenizer", "LlamaTokenizerFast", "CodeLlamaTokenizer", "CodeLlamaTokenizerFast"})
"""The classes that add the space before a text as tokenizer_config.json says, whatever the tokenizer's file does.

The slow one of transformers 4 follows the file instead, unless `legacy` is false.
"""
_OBEYING = re.compile(r"(Llama|CodeLlama|Gemma|Cohere)Tokenizer(Fast)?")
"""The classes of transformers 4 that add BOS and EOS as tokenizer_config.json says (`update_post_processor`)."""
_BYTE_LEVEL = re.compile(r"(GPT2|GPTNeoX|CodeGen|Roberta|Longformer|Bart|LED|Mvp|Blenderbot|Deberta)Tokenizer(Fast)?")
"""The classes of byte-level BPE of which the same is true if `ByteLevel` is the only stage."""
_LOWERING = re.compile(
    r"((Conv|Distil|Mobile|Retri|Squeeze)?Bert|Electra|Funnel|LayoutLM|Lxmert|MPNet)Tokenizer(Fast)?"
)
"""The classes that lowercase as tokenizer_config.json says if `BertNormalizer` is the only stage."""
_AROUND = {
    re.compile(r"((Distil|Mobile)?Bert|Electra|LayoutLM)Tokenizer"): ("[CLS]", "[SEP]"),
    re.compile(r"(Roberta|Longformer|Bart|LED|Mvp|MPNet)Tokenizer"): ("<s>", "</s>"),
    re.compile(r"(T5|Blenderbot)Tokenizer"): (None, "</s>"),
}
"""Classes, without `Fast` -> what they add before and after each text, unless the configuration has other texts."""
_NAMED = {"cls": "bos", "sep": "eos", "unk": "unk"}
"""Role -> the role under which `natural_id` finds its token: `[CLS]` is listed with BOS, and `[SEP]` with EOS.

BOS, EOS and padding are left out, as models give these roles to tokens with other names.
"""
_ORDINARY = frozenset({TokenType.NORMAL, TokenType.UNDEFINED})
_SPECIAL = {TokenType.CONTROL: True, TokenType.USER_DEFINED: False}


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two places that contradict each other."""

    subject: str
    """What they are about: `bos` or `eos` for the tokens around a text, `eos token` and the like, or a name above."""
    sentence: str
    """Quotes both places."""
    ids: tuple[int, ...] = ()
    """The tokens that it is about."""
    is_done: bool | None = None
    """Whether the other place says that this is done: a token around a text or a space is added, a text lowercased."""
    text: str | None = None
    """The token that it says so of, if that is known."""
    is_settled: bool = False
    """Whether the other place is right: the class that it names does what it says, whatever the tokenizer does."""
    texts: tuple[str, ...] = ()
    """For a vocabulary: the tokens that have the `ids` in the other place; none if a file contradicts itself."""


def find_contradictions(tokenizer: Tokenizer) -> list[Contradiction]:
    """Return the contradictions between a tokenizer and the files beside the one that it was read from.

    Raises:
        TokverifyError: If one of these files cannot be read.
    """
    path = path_of(tokenizer)
    if path is None:
        return []
    config = read_config(path)
    return [
        *_check_affixes(tokenizer, path, config),
        *_check_space_prefix(tokenizer, path, config),
        *_check_case(tokenizer, config),
        *_check_roles(tokenizer, path, config),
        *_check_role_names(tokenizer, config),
        *_check_end(tokenizer, path, config),
        *_check_added_tokens(tokenizer, path),
        *_check_added_ids(tokenizer, path),
    ]


def contradictions_of(tokenizer: Tokenizer) -> list[Contradiction]:
    """Return what `find_contradictions` does; nothing if a file cannot be read, which others report.

    Raises:
        GoneError: If the tokenizer has stopped answering.
    """
    return answer_or([], find_contradictions, tokenizer)


def contradicted_tokens(contradictions: Iterable[Contradiction]) -> frozenset[int]:
    """Return the added tokens of which two places say both that they are special and that they are not."""
    return frozenset(id for each in contradictions if each.subject == ADDED_TOKENS for id in each.ids)


def find_other_vocabularies(tokenizer: Tokenizer) -> list[Contradiction]:
    """Return where files beside a tokenizer.json give its ids to other tokens; those that cannot be read say nothing.

    A file may also give one id to several tokens. Vocabularies take long to read, so `find_contradictions` does not
    look at them.
    """
    path = path_of(tokenizer)
    found: list[Contradiction] = []
    if path is not None:
        for check in (_check_added_ids, _check_same_ids, _check_words, _check_pieces):
            with suppress(TokverifyError):
                found += check(tokenizer, path)
    return found


def find_false_ends(expected: Tokenizer, contradictions: Iterable[Contradiction]) -> frozenset[int]:
    """Return the tokens that end no answer although generation_config.json, and no other file, says so.

    They have another role; or are words, as those with the ids of another model's ends; or the file was made from the
    model's configuration, as that of Falcon, and they are neither called an end nor written by the chat template.
    Otherwise it can be the right one of the two places, as in chat models whose EOS is still that of the base model.
    """
    path = path_of(expected)
    about = {id for each in contradictions if each.subject == "eos token" for id in each.ids}
    if path is None or not about:
        return frozenset()
    template = default_template(path) or ""
    is_derived = has_derived_ends(path)
    types = answer_or((), types_of, expected)

    def is_false(id: int) -> bool:
        piece = expected.piece(id)
        if id in {expected.special_ids.get(role) for role in ("bos", "unk")}:
            return True
        is_ordinary = id < len(types) and types[id] in _ORDINARY and piece not in EOG_TEXTS
        if is_ordinary and (from_utf8(expected.token_bytes(id)) or "").strip().isalpha():
            return True
        return is_derived and piece not in EOG_TEXTS and piece not in template

    return frozenset(filter(is_false, about & generation_end_ids(path)))


def _check_affixes(tokenizer: Tokenizer, path: Path, config: Mapping[str, Any]) -> Iterator[Contradiction]:
    if not tokenizer.adds_special:
        return
    if (around := answer_or(None, affixes_of, tokenizer)) is None:
        return
    implied = class_of(path)
    named = _name_class(path, config, implied)
    by_class = _added_by_class(config, implied)
    always = by_class if named else {}
    obeys = _OBEYING.fullmatch(str(config.get("tokenizer_class"))) is not None
    named_roles = {token_text(config.get(f"{role}_token")) for role in ROLES}
    added_texts = [tokenizer.piece(id) for id in chain.from_iterable(around)]
    # If the configuration names none of several, the post-processor is another model's. One may be newer than it.
    is_foreign = len(added_texts) > 1 and all(text in ROLES_BY_NAME and text not in named_roles for text in added_texts)
    yield from _find_exchanged(tokenizer, around)
    if not by_class["eos"]:
        yield from _find_training_end(tokenizer, path, around[1], token_text(config.get("eos_token")))
    for role, ids in zip(("bos", "eos"), around, strict=True):
        flag, text = config.get(f"add_{role}_token"), token_text(config.get(f"{role}_token"))
        does = f"the tokenizer adds {'one' if ids else 'none'}"
        # The flag concerns the role's token only: Whisper's template adds other ones without it.
        is_own = flag is not False or text is None or text in map(tokenizer.piece, ids)
        added = always.get(role)
        if added and not ids:
            place = "before" if role == "bos" else "after"
            sentence = f"{named}, which adds {quote(added)} {place} a text, but {does}"
            yield Contradiction(role, sentence, is_done=True, text=added)
        elif isinstance(flag, bool) and flag != bool(ids) and is_own:
            sentence = f"{_CONFIG} has add_{role}_token {str(flag).lower()}, but {does}"
            yield Contradiction(role, sentence, is_done=flag, text=text, is_settled=obeys)
        elif role == "bos" and flag is not False and not ids and text and _writes_bos(path, text):
            sentence = f"{_CONFIG} has bos_token {quote(text)}, and the chat template writes it, but {does}"
            yield Contradiction(role, sentence, is_done=True, text=text)
        yield from _compare_name(tokenizer, role, ids, text, is_done=False if is_foreign and flag is None else None)


def _compare_name(
    tokenizer: Tokenizer, role: str, ids: Sequence[int], text: str | None, *, is_done: bool | None
) -> Iterator[Contradiction]:
    """Compare the token that is added around a text with its id, or with the one that the configuration names."""
    if stale := [*_find_stale_id(tokenizer, role, ids)]:
        yield from stale
    elif text is not None and len(ids) == 1 and tokenizer.piece(ids[0]) != text:
        piece = tokenizer.piece(ids[0])
        sentence = (
            f"{_CONFIG} has {role}_token {quote(text)}, but the tokenizer adds {list_tokens(ids, {ids[0]: piece})}"
        )
        yield Contradiction(role, sentence, is_done=is_done)
        if role in ROLES_BY_NAME.get(piece, ()) and role not in ROLES_BY_NAME.get(text, (role,)):
            # Only the names say which of them is right.
            yield Contradiction(f"{role} token", sentence, (*ids, tokenizer.special_ids.get(role, ids[0])))


def _find_exchanged(tokenizer: Tokenizer, around: Sequence[Sequence[int]]) -> Iterator[Contradiction]:
    """Find a token that is named as an end before each text, and one that is named as a beginning after it."""
    before, after = ([tokenizer.piece(id) for id in ids] for ids in around)
    if [ROLES_BY_NAME.get(text) for text in (*before, *after)] != [ENDING, BEGINNING] or len(before) != 1:
        return
    sentence = f"the tokenizer adds {quote(before[0])} before a text, and {quote(after[0])} after it"
    for role, text in (("bos", after[0]), ("eos", before[0])):
        yield Contradiction(role, sentence, is_done=True, text=text)
        yield Contradiction(f"{role} token", sentence, tuple(chain.from_iterable(around)))


def _find_training_end(
    tokenizer: Tokenizer, path: Path, after: Sequence[int], eos: str | None
) -> Iterator[Contradiction]:
    """Find an end of answers that is added after each text, as scripts for training set it: a prompt would end there.

    It is right in a model for embeddings.
    """
    if len(after) != 1 or only_embeds(path):
        return
    text, markers = tokenizer.piece(after[0]), read_template(default_template(path))
    if text in markers.turn_ends or (text == eos and "eos_token" in markers.template):
        sentence = f"the tokenizer adds {quote(text)} after each text, but the chat template ends answers with it"
        yield Contradiction("eos", sentence, is_done=False)


def _find_stale_id(tokenizer: Tokenizer, role: str, ids: Sequence[int]) -> Iterator[Contradiction]:
    """Compare the ids that a post-processor adds with the texts that it has for them, as of tokens that were moved.

    If no other token has such a text, the token was renamed, and the id is right.
    """
    if not ids or not isinstance(tokenizer, DocumentHolding):
        return
    outline = read_outline(tokenizer.tokenizer_json(), tokenizer.name, tables_of(tokenizer))
    named = group_values((id, text) for text, id in _named_by(outline.get("post_processor")))
    for id in ids:
        names, piece = named.get(id, []), tokenizer.piece(id)
        if names and piece not in names and names[0] in pieces_of(tokenizer):
            is_other = f"is {quote(piece)}" if piece else "has no token"
            sentence = f"its post-processor adds {quote(names[0])} with the id {id}, which {is_other}"
            yield Contradiction(role, sentence, is_done=True, text=names[0])


def _named_by(stage: Any) -> Iterator[tuple[str, int]]:  # noqa: ANN401 - a part of a JSON document
    """Yield the texts and ids in a post-processor of a tokenizer.json; the library ignores the keys of other types."""
    match stage:
        case {"type": "Sequence", "processors": [*processors]}:
            yield from chain.from_iterable(map(_named_by, processors))
        case {"type": "TemplateProcessing", "special_tokens": dict(tokens)}:
            for token in tokens.values():
                yield from zip(token["tokens"], token["ids"], strict=False)
        case {"type": "BertProcessing" | "RobertaProcessing", "cls": [first, first_id], "sep": [last, last_id]}:
            yield from ((first, first_id), (last, last_id))


def _name_class(path: Path, config: Mapping[str, Any], implied: str) -> str:
    """Quote what names the class of a reference; empty if nothing does, or only one that adds what its file says."""
    name = config.get("tokenizer_class")
    if name is not None:
        return f"{_CONFIG} has tokenizer_class {name}" if str(name).removesuffix("Fast") == implied else ""
    return f"config.json has model_type {model_type(path)}, whose class is {implied}" if implied else ""


def _added_by_class(config: Mapping[str, Any], name: str) -> Mapping[str, str | None]:
    """Return what a reference's class always adds before a text, as `bos`, and after it, as `eos`."""
    before, after = next((added for classes, added in _AROUND.items() if classes.fullmatch(name)), (None, None))
    own_end = token_text(config.get("sep_token" if before else "eos_token"))
    return {"bos": before and (token_text(config.get("cls_token")) or before), "eos": after and (own_end or after)}


def _writes_bos(path: Path, bos: str) -> bool:
    markers = read_template(default_template(path))
    if markers.mentions_bos:
        return True
    # subtle: models with ChatML often name <|im_start|> as BOS, which their templates write before each message.
    before, *others = markers.template.split(bos)
    return markers.count_leading(bos) > 0 and len(others) == 1 and _LOOP.search(before) is None


def _check_space_prefix(tokenizer: Tokenizer, path: Path, config: Mapping[str, Any]) -> Iterator[Contradiction]:
    """Compare where the configuration and the tokenizer add a space; source: `LlamaTokenizer` in transformers.

    With `legacy` false, it turns add_dummy_prefix off when it loads a sentencepiece model, adds the space itself, and
    saves the model like that.
    """
    name, flag = config.get("tokenizer_class"), config.get("add_prefix_space")
    if name not in _LLAMA and not (isinstance(name, str) and _BYTE_LEVEL.fullmatch(name)):
        return
    if isinstance(flag, bool):
        says = f"add_prefix_space {str(flag).lower()}"
    elif name in _LLAMA and config.get("legacy") is False and path.suffix == ".model":
        flag, says = True, "legacy false, so that transformers adds a space itself"
    else:
        return
    does = adds_space(tokenizer, ESCAPED_SPACE if name in _LLAMA else SPELLED_SPACE)
    is_obeyed = name in _LLAMA or _has_outermost(tokenizer, "pre_tokenizer", "ByteLevel")
    if does is not None and does is not flag and is_obeyed:
        sentence = f"{_CONFIG} has {says}, but {path.name} adds {'one' if does else 'none'}"
        yield Contradiction(SPACE_PREFIX, sentence, is_done=flag)


def _has_outermost(tokenizer: Tokenizer, part: str, type: str) -> bool:
    """Whether a part of a tokenizer.json is a stage of this type, and no sequence of stages."""
    if not isinstance(tokenizer, DocumentHolding):
        return False
    stage = read_outline(tokenizer.tokenizer_json(), tokenizer.name, tables_of(tokenizer)).get(part)
    return isinstance(stage, dict) and stage.get("type") == type


def adds_space(tokenizer: Tokenizer, mark: str = ESCAPED_SPACE) -> bool | None:
    """Whether a tokenizer adds a space before a text; None if it does not write it as `mark`, or does not tell."""
    if isinstance(tokenizer, Encoder):
        # No flag makes BPE add one.
        return None if tokenizer.settings.family.is_bpe else tokenizer.settings.add_space_prefix
    ids = answer_or((), tokenizer.encode, "a a", add_special=False, parse_special=False)
    pieces = list(map(tokenizer.piece, ids))
    return pieces[0].startswith(mark) if any(mark in piece for piece in pieces) else None


def _check_case(tokenizer: Tokenizer, config: Mapping[str, Any]) -> Iterator[Contradiction]:
    """Compare where the configuration and the tokenizer lowercase; source: `BertTokenizerFast` in transformers.

    Version 4 changes a `BertNormalizer` to what the configuration says, and nothing inside of a `Sequence`.
    """
    flag, name = config.get("do_lower_case"), config.get("tokenizer_class")
    # Only a class like BERT's saves `tokenize_chinese_chars`; a file may name another one, such as KLUE's RoBERTa.
    is_bert = _LOWERING.fullmatch(str(name)) or "tokenize_chinese_chars" in config
    does = lowers_case(tokenizer) if isinstance(flag, bool) and is_bert else None
    if does is not None and does is not flag and _has_outermost(tokenizer, "normalizer", "BertNormalizer"):
        does_it = "lowercases" if does else "does not lowercase"
        sentence = f"{_CONFIG} has do_lower_case {str(flag).lower()}, but the tokenizer {does_it}"
        yield Contradiction(LOWERCASE, sentence, is_done=flag)


def lowers_case(tokenizer: Tokenizer) -> bool | None:
    """Whether a tokenizer lowercases texts; None if that does not show."""
    upper, lower = encode_plain(tokenizer, ["A", "a"])
    is_known = upper is not None and lower is not None and tokenizer.special_ids.get("unk") not in lower
    return upper == lower if is_known else None


def _check_roles(tokenizer: Tokenizer, path: Path, config: Mapping[str, Any]) -> Iterator[Contradiction]:
    others = read_special_tokens_map(path)
    ends = frozenset() if has_derived_ends(path) else generation_end_ids(path)
    pieces: Mapping[str, int] = {}
    for role in ROLES:
        ours, theirs = (token_text(each.get(f"{role}_token")) for each in (config, others))
        if ours is not None and theirs is not None and ours != theirs:
            pieces = pieces or index_pieces(pieces_of(tokenizer))
            ends_only_here = pieces.get(ours) in ends and pieces.get(theirs) not in ends
            is_written = ours in pieces and ends_turns(default_template(path), ours, theirs)
            if role == "eos" and (ends_only_here or is_written):
                # What a fine-tune forgot to change, as NuExtract: another file, or its template, says how answers end.
                continue
            sentence = f"{_CONFIG} has {role}_token {quote(ours)}, but special_tokens_map.json {quote(theirs)}"
            ids = tuple(pieces[text] for text in (ours, theirs) if text in pieces)
            yield Contradiction(f"{role} token", sentence, ids)


def _check_role_names(tokenizer: Tokenizer, config: Mapping[str, Any]) -> Iterator[Contradiction]:
    """Find roles of tokens with the name of another role, although the vocabulary has one with the right name.

    OPT gives all roles to `</s>`, which is no mistake.
    """
    ids: Mapping[str, int] = {}
    end = token_text(config.get("eos_token"))
    for role, name in _NAMED.items():
        text = token_text(config.get(f"{role}_token"))
        if text in {None, end} or role in ROLES_BY_NAME.get(text, (role,)):
            continue
        ids = ids or index_pieces(pieces_of(tokenizer))
        named = natural_id(ids, name)
        if named is not None and text in ids:
            other = quote(tokenizer.piece(named))
            sentence = f"{_CONFIG} has {role}_token {quote(text)}, although the vocabulary has {other}"
            yield Contradiction(f"{role} token", sentence, (ids[text], named))


def _check_end(tokenizer: Tokenizer, path: Path, config: Mapping[str, Any]) -> Iterator[Contradiction]:
    text, ends = token_text(config.get("eos_token")), generation_end_ids(path)
    eos = tokenizer.special_ids.get("eos")
    if text is not None and ends and eos is not None and eos not in ends:
        listed = list_tokens(sorted(ends), {id: tokenizer.piece(id) for id in ends})
        sentence = f"{_CONFIG} has eos_token {quote(text)}, but generation_config.json ends a generation at {listed}"
        yield Contradiction("eos token", sentence, (eos, *sorted(ends)))


def _check_added_tokens(tokenizer: Tokenizer, path: Path) -> Iterator[Contradiction]:
    configured = added_tokens(path)
    types = answer_or((), types_of, tokenizer) if configured else ()
    # A sentencepiece model may have any piece that others make special; a tokenizer.json lists those that are.
    special = _SPECIAL | {TokenType.UNDEFINED: False} if isinstance(tokenizer, DocumentHolding) else _SPECIAL
    differing = [
        id
        for id, entry in configured.items()
        if id < len(types)
        and isinstance(entry.get("special"), bool)
        and entry["special"] is not special.get(types[id], entry["special"])
        and token_text(entry) == tokenizer.piece(id)
    ]
    if differing:
        names = list_tokens(differing, {id: tokenizer.piece(id) for id in differing})
        sentence = (
            f"{_CONFIG} and the tokenizer disagree on whether {plural(len(differing), 'added token')}"
            f" {'is' if len(differing) == 1 else 'are'} special: {names}"
        )
        yield Contradiction(ADDED_TOKENS, sentence, tuple(differing))


def _check_added_ids(tokenizer: Tokenizer, path: Path) -> Iterator[Contradiction]:
    """Find added tokens that have other ids in tokenizer_config.json, or are not in the tokenizer.json.

    The library numbers added tokens anew from the first one that is missing in a tokenizer.json. That it leaves some
    out, such as padding, is common; without BOS or EOS, it has lost them.
    """
    if not isinstance(tokenizer, DocumentHolding):
        return
    texts = {id: str(token_text(entry)) for id, entry in added_tokens(path).items()}
    pieces = pieces_of(tokenizer)
    # To look at every token takes longer than all else.
    known = set(pieces) if max(texts, default=0) >= len(pieces) else set()
    config = read_config(path)
    ends = {token_text(config.get(f"{role}_token")) for role in ("bos", "eos")}
    is_lost = any(id >= len(pieces) and text in ends and text not in known for id, text in texts.items())
    differing: list[int] = []
    for id, text in texts.items():
        # A tokenizer.json without a token for an id gets this one.
        is_other = pieces[id] not in {"", text} if id < len(pieces) else is_lost or text in known
        if is_other:
            differing.append(id)
    if differing and is_lost:
        lost = [id for id in differing if id >= len(pieces) and texts[id] not in known]
        are = "is" if len(lost) == 1 else "are"
        names = f"{plural(len(lost), 'added token')} of {_CONFIG}, with BOS or EOS, {are} not in tokenizer.json"
        sentence = f"{names}: {list_tokens(lost, texts)}"
        yield Contradiction(VOCABULARY, sentence, tuple(differing), texts=tuple(texts[id] for id in differing))
    elif differing:
        yield _contradict_ids(differing, texts, _CONFIG, pieces)


def _contradict_ids(ids: Sequence[int], texts: Mapping[int, str], place: str, pieces: Sequence[str]) -> Contradiction:
    first = ids[0]
    here = quote(pieces[first]) if first < len(pieces) else "none"
    which = "" if len(ids) == 1 else "the first of them "
    sentence = (
        f"{plural(len(ids), 'id')} of {place} {'has' if len(ids) == 1 else 'have'} another token in tokenizer.json,"
        f" {which}{first}: {quote(texts[first])} there, {here} here"
    )
    return Contradiction(VOCABULARY, sentence, tuple(ids), texts=tuple(texts[id] for id in ids))


def _check_same_ids(tokenizer: Tokenizer, path: Path) -> Iterator[Contradiction]:
    """Find ids that a tokenizer.json gives to several tokens, so that others are left without a token."""
    holes = [id for id, piece in enumerate(pieces_of(tokenizer)) if not piece]
    if not holes or not isinstance(tokenizer, DocumentHolding):
        return
    vocab = read_json(tokenizer.tokenizer_json(), tokenizer.name)["model"].get("vocab")
    texts = group_values((id, text) for text, id in vocab.items()) if isinstance(vocab, dict) else {}
    several = {id: group for id, group in texts.items() if len(group) > 1}
    if several:
        listed = list_items(several, show=lambda id: f"{id} to {list_items(several[id], show=quote)}")
        sentence = f"{path.name} gives {plural(len(several), 'id')} to several tokens: {listed}"
        yield Contradiction(VOCABULARY, sentence, (*several, *holes))


def _check_words(tokenizer: Tokenizer, path: Path) -> Iterator[Contradiction]:
    """Find tokens of the vocab.json beside a tokenizer.json that have other ids in it."""
    place = path.with_name("vocab.json")
    if path.name != "tokenizer.json" or not place.is_file() or not isinstance(tokenizer, DocumentHolding):
        return
    pieces, theirs = pieces_of(tokenizer), read_vocabulary(place)
    known = Counter(id for id in theirs.values() if type(id) is int)
    texts = {id: text for text, id in theirs.items() if known[id] == 1 and 0 <= id < len(pieces)}
    if differing := [id for id, text in sorted(texts.items()) if pieces[id] not in {"", text}]:
        yield _contradict_ids(differing, texts, place.name, pieces)


def model_beside(path: Path) -> Path | None:
    """Return the sentencepiece model from which a tokenizer.json was made, if there is one beside it."""
    if not path.name.endswith("tokenizer.json"):
        return None
    model = path.with_name(path.name.removesuffix(".json") + ".model")
    return model if model.is_file() else None


def _check_pieces(tokenizer: Tokenizer, path: Path) -> Iterator[Contradiction]:
    """Find pieces of the sentencepiece model beside a tokenizer.json that have other ids in it.

    Pieces that stand for nothing are often renamed in a tokenizer.json, and so are those that the configuration names.
    An id without a token in a tokenizer.json is one that it left out.
    """
    model = model_beside(path)
    if model is None or not isinstance(tokenizer, DocumentHolding):
        return
    theirs, pieces, named = read_beside(model).tokens, pieces_of(tokenizer), added_tokens(path)
    differing = [
        id
        for id, (piece, text) in enumerate(zip(pieces, theirs, strict=False))
        if piece not in {"", text}
        and not is_filler(text)
        and piece.replace("▁", " ") != text.replace("▁", " ")
        and token_text(named.get(id)) != piece
    ]
    if differing:
        yield _contradict_ids(differing, {id: theirs[id] for id in differing}, model.name, pieces)


def find_omitted(tokenizer: Tokenizer) -> Mapping[int, str]:
    """Return the tokens, by id, of the sentencepiece model beside a tokenizer.json for which that has none."""
    path = path_of(tokenizer)
    model = model_beside(path) if path else None
    holes = [id for id, piece in enumerate(pieces_of(tokenizer)) if not piece] if model else []
    if model is None or not holes or not isinstance(tokenizer, DocumentHolding):
        return {}
    tokens = read_beside(model).tokens
    return {id: tokens[id] for id in holes if id < len(tokens)}


def read_beside(model: Path) -> TokenizerSpec:
    """Read the sentencepiece model beside a tokenizer.json, once until it changes, whatever other files do.

    Raises:
        TokverifyError: If it cannot be read.
    """
    return _read_changed(model, model.stat().st_mtime_ns)


# `fix` compares with the same reference many times.
@lru_cache(maxsize=1)
def _read_changed(model: Path, changed: int) -> TokenizerSpec:  # noqa: ARG001 - to read it again if it has changed
    from tokverify.sources.sentencepiece.reader import read_spec

    return read_spec(model)
