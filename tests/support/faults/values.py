"""Changes to special ids, types, merges, scores and other values, and several changes at once."""

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from support.faults.tokens import appended
from support.made_vocabulary import CORPUS, NORMAL
from support.mutation import Mutate, merges, scores
from support.mutation_trial import intact
from tokverify.repair.probe.convention import read_charsmaps
from tokverify.sources.gguf.declaration import read_spec
from tokverify.spec import TokenizerSpec
from tokverify.train.bpe import learn_merges
from tokverify.train.trainer import TrainingPlan


def both(first: Mutate, second: Mutate) -> Mutate:
    return lambda spec: second(first(spec))


def all_of(*faults: Mutate) -> Mutate:
    return reduce(both, faults)


def lost_roles(*roles: str) -> Mutate:
    """Remove the keys of special ids."""
    return lambda spec: replace(
        spec, special_ids={role: id for role, id in spec.special_ids.items() if role not in roles}
    )


def exchanged_roles(first: str, second: str) -> Mutate:
    return lambda spec: replace(
        spec, special_ids={**spec.special_ids, first: spec.special_ids[second], second: spec.special_ids[first]}
    )


def moved_roles(by: int) -> Mutate:
    return lambda spec: replace(spec, special_ids={role: id + by for role, id in spec.special_ids.items()})


def types(change: Callable[[list[int]], Sequence[int]]) -> Mutate:
    return lambda spec: replace(spec, types=list(change(list(spec.types))))


def other_types(others: Mapping[int, int]) -> Mutate:
    return types(lambda old: [others.get(type, type) for type in old])


def exchanged_types(first: int, second: int) -> Mutate:
    """Exchange two types for all tokens."""
    return other_types({first: second, second: first})


def turned(merge: str) -> str:
    left, _, right = merge.partition(" ")
    return f"{right} {left}"


def every(step: int) -> Callable[[list], list]:
    """Drop every item whose number is a multiple of `step`."""
    return lambda items: [item for number, item in enumerate(items, start=1) if number % step]


def doubled(items: list) -> list:
    """Repeat a list after its own second half."""
    return [*items[len(items) // 2 :], *items]


def without_comments(listed: list[str]) -> list[str]:
    """Skip the lines that look like comments, some of which are merges of `#`."""
    return [merge for merge in listed if not merge.startswith("#")]


def without(part: str) -> Callable[[list[str]], list[str]]:
    return lambda listed: [merge for merge in listed if part not in merge]


def as_list(merge: str) -> str:
    """Write a merge as Python shows a list of its halves."""
    return repr(merge.split(" ", 1))


def moved_to(rank: int, merge: str) -> Mutate:
    """Move a merge to another rank."""

    def move(old: list[str]) -> list[str]:
        others = [other for other in old if other != merge]
        return [*others[:rank], merge, *others[rank:]]

    return merges(move)


def merges_of(vocabulary: str, count: int) -> Mutate:
    """Use the first merges of another real vocabulary."""
    return merges(lambda old: list(read_spec(intact(vocabulary)).merges[:count]))


def extended(*pairs: str) -> Mutate:
    """Learn further merges, each of which makes a new token."""
    joined = [pair.replace(" ", "") for pair in pairs]
    return both(appended(*joined, type=NORMAL), merges(lambda old: [*old, *pairs]))


def all_splits(spec: TokenizerSpec) -> TokenizerSpec:
    """Make the merges anew from the tokens: each split into two tokens, in the order of the ids."""
    known = set(spec.tokens)
    halves = ((token[:end], token[end:]) for token in spec.tokens for end in range(1, len(token)))
    return replace(spec, merges=[f"{left} {right}" for left, right in halves if left in known and right in known])


def retrained(spec: TokenizerSpec) -> TokenizerSpec:
    """Learn the merges again with another pre-tokenizer, and keep the tokens."""
    from tokenizers.pre_tokenizers import ByteLevel

    pairs = learn_merges(TrainingPlan(corpus=(CORPUS,)), ByteLevel(add_prefix_space=True, use_regex=False), 900)
    return replace(spec, merges=[" ".join(pair) for pair in pairs])


def columns_off_by_one(old: list[str]) -> list[str]:
    """Join the left half of each merge with the right half of the next one."""
    lefts = [merge.split(" ")[0] for merge in old]
    rights = [merge.split(" ")[1] for merge in old]
    return [f"{left} {right}" for left, right in zip(lefts, [*rights[1:], rights[0]], strict=True)]


def in_order_of_ids(spec: TokenizerSpec) -> TokenizerSpec:
    """Sort the merges by the ids of their halves, as a script might that reads them from a table of pairs."""
    ids = {token: id for id, token in enumerate(spec.tokens)}
    return replace(spec, merges=sorted(spec.merges, key=lambda merge: [ids[half] for half in merge.split(" ")]))


def rounded(step: float) -> Mutate:
    return scores(lambda old: [round(score / step) * step for score in old])


def all_scores(step: float) -> Mutate:
    """Make each score that of the next lower multiple."""
    return scores(lambda old: [score // step * step for score in old])


def one_score(piece: str, value: float) -> Mutate:
    return lambda spec: replace(
        spec,
        scores=[
            value if token == piece else score for token, score in zip(spec.tokens, spec.scores, strict=True)
        ],
    )  # fmt: skip


def scaled(factor: float, starts: str) -> Mutate:
    """Multiply the scores of the pieces that begin in some way."""

    def mutate(spec: TokenizerSpec) -> TokenizerSpec:
        pairs = zip(spec.tokens, spec.scores, strict=True)
        return replace(spec, scores=[score * factor if token.startswith(starts) else score for token, score in pairs])

    return mutate


def exchanged_scores(left: str, right: str) -> Mutate:
    def mutate(spec: TokenizerSpec) -> TokenizerSpec:
        first, second = spec.tokens.index(left), spec.tokens.index(right)
        changed = list(spec.scores)
        changed[first], changed[second] = changed[second], changed[first]
        return replace(spec, scores=changed)

    return mutate


def in_half_precision(score: float) -> float:
    """Round to 16 bits, of which the lowest number is -65,504."""
    return struct.unpack("<e", struct.pack("<e", max(score, -65_504.0)))[0]


def in_bfloat16(score: float) -> float:
    """Cut a number to the upper 16 of its 32 bits."""
    return struct.unpack("<f", b"\0\0" + struct.pack("<f", score)[2:])[0]


def other_charsmap(rule: str) -> Mutate:
    return lambda spec: replace(spec, charsmap=dict(read_charsmaps())[rule])


def charsmap_of(vocabulary: str) -> Mutate:
    return lambda spec: replace(spec, charsmap=read_spec(intact(vocabulary)).charsmap)


def cut_charsmap(spec: TokenizerSpec) -> TokenizerSpec:
    return replace(spec, charsmap=spec.charsmap[: len(spec.charsmap) // 2])


def in_other_byte_order(spec: TokenizerSpec) -> TokenizerSpec:
    """Turn the numbers of the charsmap around, as a machine of the other byte order writes them."""
    (size,) = struct.unpack_from("<I", spec.charsmap)
    numbers = struct.unpack_from(f"<{size // 4 + 1}I", spec.charsmap)
    return replace(spec, charsmap=struct.pack(f">{len(numbers)}I", *numbers) + spec.charsmap[size + 4 :])


def in_template(old: str, new: str) -> Mutate:
    return lambda spec: replace(spec, chat_template=spec.chat_template.replace(old, new))


def named_template(name: str) -> Mutate:
    """Store the chat template under a name instead of as the default one."""
    return lambda spec: replace(spec, chat_template=None, named_chat_templates={name: spec.chat_template})
