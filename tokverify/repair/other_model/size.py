"""Compare the ends of vocabularies, their holes and the embeddings: no mistake adds or loses so many tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tokverify.compare.embedding import find_lost_between, find_moved_beyond, find_trained_beyond, find_used_beyond
from tokverify.compare.marker import read_template
from tokverify.compare.role_name import ROLES_BY_NAME
from tokverify.compare.template_difference import has_other_template
from tokverify.engine.joined_strings import find_changed
from tokverify.engine.piece_index import find_unmade, index_pieces
from tokverify.repair.other_model.marker import NUMBERED
from tokverify.repair.other_model.vocabulary import MARKS, alike_lists, texts_of, tokens_of
from tokverify.repair.token_patch import types_of
from tokverify.sources.gguf.keys import VOCAB_SIZE
from tokverify.spec import ADDED_TYPES, TokenizerSpec, TokenType
from tokverify.text.wording import list_tokens
from tokverify.texts.token_text import PADDING, is_filler, is_marker
from tokverify.tokenizer import ControlListing, SizeStating

if TYPE_CHECKING:
    from tokverify.compare.opened import Opened
    from tokverify.sources.gguf.declaration import Declaration

_MANY = 100
"""So many tokens at the end are no mistake."""
_SEVERAL = 8
"""So many are none, either, if BOS or EOS has another name, or if they are holes between others."""
_FEW = 3
"""So many added tokens are those of a fine-tuned model; scripts add padding, roles, or two markers of turns."""
_ADAPTER, _MODEL = "adapter_config.json", "config.json"
"""What PEFT writes beside the tokenizer of an adapter, and what is beside that of a model."""
_PAIR = 2
"""So many are enough if the chat template is another one, too: a fault does not change both."""


def lacks_between(spec: TokenizerSpec, facts: Opened) -> str:
    """Find ids between the tokens of the reference for which it has none, if the file has several tokens there.

    A script that removes reserved tokens from a tokenizer.json leaves such holes. A converter fills them with padding,
    so a file with tokens there was made before.
    """
    ids = _holes_in_list(spec, facts) if facts.spec is None else _declared_holes(spec, facts.spec, facts.omitted)
    if len(ids) < _SEVERAL:
        return ""
    return f"it lacks a token for {len(ids):,} ids between its others, such as {list_tokens(ids, spec.tokens)} here"


def _declared_holes(spec: TokenizerSpec, declared: TokenizerSpec, omitted: Mapping[int, str]) -> Sequence[int]:
    reference, theirs, ours = declared.tokens, types_of(declared), types_of(spec)
    known = set(reference)
    ids = [
        id
        for id in find_changed(spec.tokens, reference)
        if theirs[id] == TokenType.UNUSED != ours[id] and is_filler(reference[id])
        if spec.tokens[id] not in known and spec.tokens[id] != omitted.get(id)
    ]
    return ids if ids and any(type != TokenType.UNUSED for type in theirs[ids[-1] :]) else ()


def _holes_in_list(spec: TokenizerSpec, facts: Opened) -> Sequence[int]:
    """Return the ids of ordinary tokens here for which a reference that lists the bytes of tokens has none."""
    listed, types = facts.token_bytes, types_of(spec)
    size = min(len(listed), len(spec.tokens))
    ids = [id for id in range(size) if not listed[id] and types[id] == TokenType.NORMAL]
    ids = [id for id in ids if spec.tokens[id] and not is_filler(spec.tokens[id])]
    return ids if ids and any(listed[ids[-1] :]) else ()


def lacks_reserved(spec: TokenizerSpec, facts: Opened) -> str:
    """Find reserved tokens here that the reference lacks, if it has all others in the same order.

    A script that trims a vocabulary removes them in several places, while a fault inserts padding in one. Or they are
    numbered in one place, and the reference has other tokens at its end for them, as a tekken.json that counts fewer
    special tokens.
    """
    tokens, reference = (spec.tokens, tokens_of(facts)) if tokens_of(facts) else alike_lists(spec, facts)
    known = set(reference)
    ids = [id for id, token in enumerate(tokens) if token not in known and _is_reserved(token)]
    end = len(tokens)
    while ids and ids[-1] == end - 1:
        # Padding at the end moves no token.
        end = ids.pop()
    if len(ids) < _SEVERAL:
        return ""
    lost = set(ids)
    kept = [token for id, token in enumerate(tokens[:end]) if id not in lost]
    has_further = len(reference) >= len(kept) + _SEVERAL
    is_in_one_place = ids[-1] - ids[0] < len(ids)
    is_padding = is_in_one_place and any(PADDING.fullmatch(tokens[id].strip(MARKS)) for id in ids)
    if kept != [*reference[: len(kept)]] or is_in_one_place != has_further or is_padding:
        return ""
    place = ", but has others at its end" if has_further else " in several places"
    return f"it lacks {list_tokens(ids, spec.tokens)}{place}, so that the tokens after them have lower ids"


def _is_reserved(token: str) -> bool:
    return is_filler(token.strip(MARKS)) or NUMBERED.fullmatch(token) is not None


def lacks_at_end(spec: TokenizerSpec, facts: Opened) -> str:
    """Find tokens here after the last one of the reference, if they are more than a fault adds.

    Ordinary ones count unless the model lacks embeddings for some of them. Fewer are enough if they were added, as the
    markers that a fine-tuned model has and its base lacks, or if BOS or EOS has another name, too: MiniMax-M3 has
    `]~b]` for the `<beginning_of_sentence>` of MiniMax-Text-01. A pair is enough beside another chat template. A .model
    lists no added tokens, but all ordinary ones.
    """
    if facts.spec is None and not _names_added_tokens(facts):
        return ""
    reference = texts_of(facts)
    # A token without a text pads the vocabulary.
    known, types = {"", *reference, *facts.left_out.values()}, types_of(spec)
    has_rows = spec.embedding_rows is None or spec.embedding_rows >= len(spec.tokens)
    # Added tokens that have lost their types are no pieces that a .model lacks.
    has_pieces = facts.spec and has_rows and (facts.lists_all_tokens or TokenType.CONTROL in types)
    ids = [
        id
        for id in range(len(reference), len(spec.tokens))
        if (has_pieces if types[id] not in ADDED_TYPES else facts.lists_all_tokens)
        if spec.tokens[id] not in known and not is_filler(spec.tokens[id].strip(MARKS))
    ]
    # Plain words are added by mistake, too; `### End` is none, nor are the letters that DeepSeek LLM has added.
    texts = {spec.tokens[id] for id in ids if types[id] in ADDED_TYPES}
    added = {text for text in texts if len(text) == 1 or not text.isalnum()}
    added.difference_update(ROLES_BY_NAME)
    few = _PAIR if spec.chat_template and has_other_template(spec, facts.chat_templates) else _FEW
    least = few if len(added) >= few else _SEVERAL if facts.spec and _has_other_ends(spec, facts.spec) else _MANY
    if len(ids) < least:
        return ""
    such_as = list_tokens(ids, spec.tokens)
    return f"it lacks the last {len(ids):,} tokens here, such as {such_as} (it may have been cut off)"


def _names_added_tokens(facts: Opened) -> bool:
    """Whether a reference that declares no tokenizer says which tokens are added, as a tiktoken encoding does."""
    return isinstance(facts.tokenizer, ControlListing) and bool(facts.tokenizer.control_texts)


def states_fewer(spec: TokenizerSpec, facts: Opened) -> str:
    """Find ordinary tokens here after as many as a reference says that it has, if they are more than a fault adds.

    That is a reference that shows only ids, or ids and bytes. It may count its tokens without those that were added.
    """
    if facts.spec is not None or facts.document is not None:
        return ""
    size = facts.tokenizer.stated_size if isinstance(facts.tokenizer, SizeStating) else facts.size
    has_rows = spec.embedding_rows is None or spec.embedding_rows >= len(spec.tokens)
    if not size or not has_rows or len(spec.tokens) - size < _MANY:
        return ""
    texts, types = spec.tokens, types_of(spec)
    ids = [
        id
        for id in range(size, len(texts))
        if types[id] == TokenType.NORMAL and not is_filler(texts[id]) and not is_marker(texts[id])
    ]
    if len(ids) < _MANY:
        return ""
    more = f"{len(ids):,} ordinary ones here, such as {list_tokens(ids, spec.tokens)}"
    return f"it says that it has fewer tokens, and {more}, come after as many"


def has_more_at_end(spec: TokenizerSpec, facts: Opened) -> str:
    """Find added tokens of the reference after the last one here, if they are more than a fault removes.

    That is another model with the same words, as CodeGen 2 beside Phi-2, unless something speaks for a cut. Fewer are
    enough beside another chat template, as those of MiniCPM-V beside Qwen3; then the file may have padding.
    """
    ids = _more_added(spec, facts)
    if len(ids) >= _MANY and not is_filler(spec.tokens[-1]):
        return f"{_describe_more(ids, facts)}, and nothing here points to them"
    if len(ids) >= _FEW and spec.chat_template and has_other_template(spec, facts.chat_templates):
        return f"{_describe_more(ids, facts)}, and another chat template; neither template writes them"
    return ""


def extends_base(spec: TokenizerSpec, facts: Opened) -> str:
    """Find added tokens after the last one here that an adapter needs, beside whose tokenizer its configuration is.

    The file may be that of the model to which the adapter is added. If it was merged into that, the model has more
    embeddings. Some repositories, such as Granite Speech, hold a whole model beside an adapter.
    """
    size, reference = len(spec.tokens), tokens_of(facts)
    added = [id for id in range(size, len(reference)) if not is_filler(reference[id])]
    place = facts.place
    is_adapter = place is not None and place.with_name(_ADAPTER).is_file() and not place.with_name(_MODEL).is_file()
    if not added or not is_adapter or spec.embedding_rows not in {None, size}:
        return ""
    return f"{_describe_more(added, facts)}, and is that of an adapter ({_ADAPTER}), whose base model may lack them"


def has_moved_beyond(spec: TokenizerSpec, facts: Opened) -> str:
    """Find added tokens here that the reference has beyond the last id here, after many more tokens.

    In GLM-4.7, the added tokens of GLM-4 come after 3,500 more words. No fault removes so many from the middle, unless
    the model still has their embeddings.
    """
    size, reference = len(spec.tokens), tokens_of(facts)
    if len(reference) - size < _MANY or spec.embedding_rows not in {None, size}:
        return ""
    types, beyond = types_of(spec), set(reference[size:])
    ids = [
        id
        for id in find_changed(spec.tokens, reference)
        if types[id] in ADDED_TYPES and spec.tokens[id] in beyond and not is_filler(spec.tokens[id])
    ]
    if len(ids) < _PAIR:
        return ""
    moved = list_tokens(ids, spec.tokens)
    return f"it has {len(reference) - size:,} more tokens, and {moved}, which have lower ids here, come after them"


def has_more_than_stated(declaration: Declaration, facts: Opened) -> str:
    """Find some added tokens of the reference after the last one here, if the file's vocab_size says that none is lost.

    So it does for Pythia's beside GPT-NeoX.
    """
    ids = _more_added(declaration.spec, facts)
    size = declaration.vocab_size
    if len(ids) < _FEW or size != len(declaration.spec.tokens) or is_filler(declaration.spec.tokens[-1]):
        return ""
    return f"{_describe_more(ids, facts)}, but the file's {VOCAB_SIZE} is {size:,}, the number of its tokens"


def _describe_more(ids: Sequence[int], facts: Opened) -> str:
    return f"it has {len(ids):,} more added tokens after the last one here, such as {list_tokens(ids, facts.pieces)}"


def _more_added(spec: TokenizerSpec, facts: Opened) -> Sequence[int]:
    """Return the added tokens of the reference after the last one here but padding; none if something speaks for a cut.

    That is other tokens that differ, more embeddings, or merges, roles or a chat template that need tokens beyond the
    end.
    """
    size, reference = len(spec.tokens), tokens_of(facts)
    while size and is_filler(spec.tokens[size - 1]):
        size -= 1
    differing = find_changed(spec.tokens, reference)
    if facts.spec is None or len(reference) <= size or (differing and differing[0] < size):
        return ()
    types = types_of(facts.spec)
    roles = [*spec.special_ids.values(), *facts.special_ids.values()]
    templates = map(read_template, filter(None, (spec.chat_template, facts.chat_template)))
    written = {text for template in templates for text in (*template.strong, *template.weak)}
    is_cut = (
        spec.embedding_rows not in {None, len(spec.tokens)}
        or any(id >= size for id in roles)
        or not written.isdisjoint(reference[size:])
        or bool(spec.merges and find_unmade(spec.merges, index_pieces(spec.tokens)) is None)
    )
    if is_cut:
        return ()
    return [id for id in range(size, len(reference)) if types[id] in ADDED_TYPES and not is_filler(reference[id])]


def has_other_embeddings(spec: TokenizerSpec, facts: Opened) -> str:
    """Find tokens for which the model has no embeddings, or has some that are lost, as another model has them."""
    if spec.embedding_rows is None:
        return ""
    few = f"the model has only {spec.embedding_rows:,} embeddings"
    if ids := find_moved_beyond(spec, facts):
        have = "has another id" if len(ids) == 1 else "have other ids"
        return f"it has {list_tokens(ids, facts.pieces)}, which {have} in the model, and {few}"
    if ids := find_used_beyond(spec, facts):
        return f"its chats need {list_tokens(ids, facts.pieces)}, and {few}"
    if ids := find_trained_beyond(spec, facts):
        return f"it has {len(ids):,} more ordinary tokens, such as {list_tokens(ids, facts.pieces)}, and {few}"
    if ids := find_lost_between(spec, facts):
        lost = f"it lacks {list_tokens(ids, spec.tokens)}, which moves the tokens after"
        return f"{lost}, and the model has an embedding for each token here"
    return ""


def _has_other_ends(spec: TokenizerSpec, reference: TokenizerSpec) -> bool:
    """Whether BOS or EOS is the same id on both sides, with a name that the other side does not have."""
    ends = {id for role in ("bos", "eos") if (id := spec.special_ids.get(role)) == reference.special_ids.get(role)}
    return any(
        id is not None
        and id < min(len(spec.tokens), len(reference.tokens))
        and spec.tokens[id] != reference.tokens[id]
        and spec.tokens[id] not in reference.tokens
        and reference.tokens[id] not in spec.tokens
        for id in ends
    )
