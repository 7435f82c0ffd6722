"""Changes to which tokens a vocabulary has, and in which order."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from support.faults.spellings import is_marker
from support.made_vocabulary import CONTROL, NORMAL, USER_DEFINED
from support.mutation import Mutate, part, replaced_by_padding, respelled, tokens
from support.mutation_trial import intact
from tokverify.sources.gguf.declaration import read_spec
from tokverify.spec import TokenizerSpec


def inserted(at: int, text: str) -> Mutate:
    """Insert a token, so that those after it move, together with their types and scores."""

    def insert(values: Sequence | None, value: object) -> list | None:
        return None if values is None else [*values[:at], value, *values[at:]]

    return lambda spec: replace(
        spec,
        tokens=insert(spec.tokens, text),
        types=insert(spec.types, NORMAL),
        scores=insert(spec.scores, -1.0),
        special_ids={role: id + (id >= at) for role, id in spec.special_ids.items()},
    )


def deleted(at: int) -> Mutate:
    """Delete a token, so that those after it move."""

    def delete(values: Sequence | None) -> list | None:
        return None if values is None else [*values[:at], *values[at + 1 :]]

    return lambda spec: replace(
        spec,
        tokens=delete(spec.tokens),
        types=delete(spec.types),
        scores=delete(spec.scores),
        special_ids={role: id - (id > at) for role, id in spec.special_ids.items()},
    )


def overwritten(start: int, source: int, count: int) -> Mutate:
    """Copy the tokens of one range over another one."""
    return lambda spec: replace(
        spec, tokens=[*spec.tokens[:start], *spec.tokens[source : source + count], *spec.tokens[start + count :]]
    )


def without_bytes(spec: TokenizerSpec) -> TokenizerSpec:
    """Replace the upper half of the byte tokens by placeholders."""
    return replaced_by_padding(
        spec, {id for id, token in enumerate(spec.tokens) if token.startswith("<0x") and int(token[3:5], 16) >= 0x80}
    )


def pruned(start: int) -> Mutate:
    """Replace the ordinary tokens from some id by placeholders, but keep the merges."""
    return lambda spec: replaced_by_padding(
        spec, {id for id, type in enumerate(spec.types) if id >= start and type == NORMAL}
    )


def renamed_padding(*texts: str) -> Mutate:
    """Give the first placeholders other texts, as control tokens."""

    def mutate(spec: TokenizerSpec) -> TokenizerSpec:
        padding = [id for id, token in enumerate(spec.tokens) if token.startswith("[PAD")]
        new = dict(zip(padding, texts, strict=False))
        return replace(
            spec,
            tokens=[new.get(id, token) for id, token in enumerate(spec.tokens)],
            types=[CONTROL if id in new else type for id, type in enumerate(spec.types)],
        )

    return mutate


def if_free(change: Callable[[str], str]) -> Mutate:
    """Change the pieces whose new form is not empty and not yet that of another one."""

    def mutate(spec: TokenizerSpec) -> TokenizerSpec:
        taken = set(spec.tokens)
        changed = []
        for token in spec.tokens:
            new = change(token)
            is_free = bool(new) and new not in taken
            taken.add(new if is_free else token)
            changed.append(new if is_free else token)
        return replace(spec, tokens=changed)

    return mutate


def in_range(start: int, end: int, change: Callable[[str], str]) -> Mutate:
    """Change the pieces of a range of ids, except where the new form is empty or taken."""

    def mutate(spec: TokenizerSpec) -> TokenizerSpec:
        changed = if_free(change)(replace(spec, tokens=spec.tokens[start:end])).tokens
        others = {*spec.tokens[:start], *spec.tokens[end:]}
        pairs = zip(spec.tokens[start:end], changed, strict=True)
        kept = [old if new in others else new for old, new in pairs]
        return replace(spec, tokens=[*spec.tokens[:start], *kept, *spec.tokens[end:]])

    return mutate


def appended(*texts: str, type: int = CONTROL, **roles: str) -> Mutate:
    """Add tokens after the last one, as a fine-tuning script does, and give some of them a role."""

    def mutate(spec: TokenizerSpec) -> TokenizerSpec:
        listed = [*spec.tokens, *texts]
        return replace(
            spec,
            tokens=listed,
            types=[*spec.types, *[type] * len(texts)],
            scores=None if spec.scores is None else [*spec.scores, *[0.0] * len(texts)],
            special_ids={**spec.special_ids, **{role: listed.index(text) for role, text in roles.items()}},
        )

    return mutate


def saved_again(spec: TokenizerSpec) -> TokenizerSpec:
    """Add the control tokens once more after the last token, as saving an already extended tokenizer does."""
    return appended(*filter(is_marker, spec.tokens))(spec)


def one_lost(text: str, replacement: str = "<lost>") -> Mutate:
    """Replace the text of one token."""
    return respelled(lambda token: replacement if token == text else token)


def tokens_of(vocabulary: str, start: int, end: int) -> Mutate:
    """Take a range of tokens from another vocabulary, except for those that occur elsewhere."""

    def mutate(spec: TokenizerSpec) -> TokenizerSpec:
        other = read_spec(intact(vocabulary)).tokens
        taken = {*spec.tokens[:start], *spec.tokens[end:]}
        new = [token for token in other[start:] if token not in taken]
        return replace(spec, tokens=[*spec.tokens[:start], *new[: end - start], *spec.tokens[end:]])

    return mutate


def sorted_part(start: int, end: int) -> Mutate:
    return tokens(part(start, end, sorted))


def ascending_extra_ids(listed: list[str]) -> list[str]:
    """Number T5's extra ids upwards; they descend."""
    extra = [id for id, token in enumerate(listed) if token.startswith("<extra_id_")]
    return [f"<extra_id_{id - extra[0]}>" if id in extra else token for id, token in enumerate(listed)]


def byte_range(listed: list[str]) -> tuple[int, int]:
    """Return the first of 256 byte tokens, and the id after the last."""
    start = listed.index("<0x00>")
    return start, start + 256


def bytes_moved_by_one(listed: list[str]) -> list[str]:
    """Give each byte token the text of the next one."""
    start = listed.index("<0x00>")
    return [*listed[:start], *listed[start + 1 : start + 256], listed[start], *listed[start + 256 :]]


def padding(count: int) -> tuple[str, ...]:
    return tuple(f"<dummy{number:05}>" for number in range(count))


def reordered(order: Callable[[TokenizerSpec], Sequence[int]]) -> Mutate:
    """Move tokens together with their types and scores, but not the special ids."""

    def mutate(spec: TokenizerSpec) -> TokenizerSpec:
        ids = order(spec)

        def moved(values: Sequence | None) -> list | None:
            return None if values is None else [values[id] for id in ids]

        return replace(spec, tokens=moved(spec.tokens), types=moved(spec.types), scores=moved(spec.scores))

    return mutate


def sentencepiece_order(spec: TokenizerSpec) -> list[int]:
    """Return the ids of XLM-RoBERTa in the order of its .model: `<unk>`, `<s>`, `</s>`; padding comes last."""
    start, padding, end, unknown = range(4)
    return [unknown, start, end, *range(4, len(spec.tokens)), padding]


def extra_ids_first(spec: TokenizerSpec) -> list[int]:
    """Return the ids with all user-defined ones after the special tokens, as Pegasus has them."""
    extra = [id for id, type in enumerate(spec.types) if type == USER_DEFINED]
    others = [id for id, type in enumerate(spec.types) if type != USER_DEFINED]
    return [*others[:3], *extra, *others[3:]]


def added_in_reverse(spec: TokenizerSpec) -> list[int]:
    added = [id for id, type in enumerate(spec.types) if type in (CONTROL, USER_DEFINED)]
    return [*range(added[0]), *added[::-1], *range(added[-1] + 1, len(spec.tokens))]


def markers_first(spec: TokenizerSpec) -> list[int]:
    """Number the control tokens first, as trainers do."""
    return sorted(range(len(spec.tokens)), key=lambda id: spec.types[id] != CONTROL)


def by_length(spec: TokenizerSpec) -> list[int]:
    return sorted(range(len(spec.tokens)), key=lambda id: len(spec.tokens[id]))
