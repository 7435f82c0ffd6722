"""Repair random faults in real vocabularies, and count what `tokverify fix` finds, names, repairs and claims.

    python benchmarks/random_faults.py --seed 1 --count 40 gpt-2 llama-spm bert-bge t5 mpt qwen2

A fault is one to three random changes to a vocabulary, so that the diagnosis cannot have been tuned on it. The
definitions are those of docs/mutations.md; a fault takes 10 to 100 seconds.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TypeVar

import checkout  # noqa: F401

from support.faults.table import TOKENS
from support.mutation import CONTROL, NORMAL, USER_DEFINED, Mutation
from support.mutation_trial import intact
from support.new_fault_trial import Trial, try_fault
from tokverify.engine.families import find_family
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.sources.gguf.declaration import read_spec
from tokverify.spec import TokenizerSpec

_T = TypeVar("_T")
Change = Callable[[TokenizerSpec, Random], tuple[TokenizerSpec, str] | None]
"""Returns a changed specification and the kind of the change; None if the vocabulary has nothing of this kind."""

_ROLES = ("bos", "eos", "unk", "sep")


def swap_tokens(spec: TokenizerSpec, chosen: Random) -> tuple[TokenizerSpec, str]:
    tokens = list(spec.tokens)
    for _ in range(chosen.choice([1, 2, 5, 20])):
        first, second = chosen.sample(range(len(tokens)), 2)
        tokens[first], tokens[second] = tokens[second], tokens[first]
    return replace(spec, tokens=tokens), "tokens"


def respell_tokens(spec: TokenizerSpec, chosen: Random) -> tuple[TokenizerSpec, str]:
    tokens = list(spec.tokens)
    for id in chosen.sample(range(len(tokens)), chosen.choice([1, 3, 10])):
        tokens[id] = f"{tokens[id]}zq~{id}"
    return replace(spec, tokens=tokens), "tokens"


def retype_tokens(spec: TokenizerSpec, chosen: Random) -> tuple[TokenizerSpec, str]:
    types = list(spec.types)
    special = [id for id, type in enumerate(types) if type != NORMAL]
    ids = special if special and chosen.random() < 1 / 2 else range(len(types))
    for id in chosen.sample(ids, min(len(ids), chosen.choice([1, 2, 10]))):
        types[id] = chosen.choice([type for type in (NORMAL, CONTROL, USER_DEFINED) if type != types[id]])
    return replace(spec, types=types), "types"


def change_merges(spec: TokenizerSpec, chosen: Random) -> tuple[TokenizerSpec, str] | None:
    """Drop or reverse a range of merges, or exchange two."""
    merges = list(spec.merges or ())
    if not merges:
        return None
    start, other, count = (*chosen.sample(range(len(merges)), 2), chosen.choice([1, 2, 10, 100, 2000]))
    how = chosen.choice(["drop", "reverse", "exchange"])
    if how == "exchange":
        merges[start], merges[other] = merges[other], merges[start]
    else:
        merges[start : start + count] = [] if how == "drop" else merges[start : start + count][::-1]
    return replace(spec, merges=merges), "merges"


def change_scores(spec: TokenizerSpec, chosen: Random) -> tuple[TokenizerSpec, str] | None:
    scores = list(spec.scores or ())
    if not any(scores):
        return None
    for id in chosen.sample(range(len(scores)), chosen.choice([1, 5, 50])):
        scores[id] = scores[id] * chosen.choice([0.5, 2.0]) + chosen.choice([-1.0, 1.0])
    return replace(spec, scores=scores), "scores"


def change_role(spec: TokenizerSpec, chosen: Random) -> tuple[TokenizerSpec, str]:
    role = chosen.choice([role for role in _ROLES if role in spec.special_ids] or ["eos"])
    id = chosen.randrange(len(spec.tokens))
    return replace(spec, special_ids={**spec.special_ids, role: id}), f"{role}_id"


def toggle_flag(spec: TokenizerSpec, chosen: Random) -> tuple[TokenizerSpec, str]:
    family = find_family(spec.model)
    name = chosen.choice([*(family.flags if family else ()), "add_bos", "add_eos"])
    value = chosen.choice([True, False]) if getattr(spec, name) is None else not getattr(spec, name)
    return replace(spec, **{name: value}), name


def rename_pre_tokenizer(spec: TokenizerSpec, chosen: Random) -> tuple[TokenizerSpec, str] | None:
    family = find_family(spec.model)
    if family is None or family.pre or not family.uses_pre_tokenizer:
        return None
    return replace(spec, pre=chosen.choice([name for name in PRE_TOKENIZERS if name != spec.pre])), "pre"


def move_token_to_end(spec: TokenizerSpec, chosen: Random) -> tuple[TokenizerSpec, str]:
    id = chosen.randrange(len(spec.tokens))
    scores = None if spec.scores is None else _moved(spec.scores, id)
    return replace(spec, tokens=_moved(spec.tokens, id), types=_moved(spec.types, id), scores=scores), "shift"


def _moved(items: Sequence[_T], index: int) -> list[_T]:
    return [*items[:index], *items[index + 1 :], items[index]]


CHANGES: tuple[Change, ...] = (
    swap_tokens,
    respell_tokens,
    retype_tokens,
    change_merges,
    change_scores,
    change_role,
    toggle_flag,
    rename_pre_tokenizer,
    move_token_to_end,
)


def random_fault(vocabulary: str, seed: str) -> Mutation:
    """Return a fault; the same seed makes the same one."""
    chosen = Random(seed)  # noqa: S311 - faults, not secrets
    spec = read_spec(intact(vocabulary))
    count = chosen.choice([1, 1, 2, 3])
    kinds: list[str] = []
    while len(kinds) < count:
        if found := chosen.choice(CHANGES)(spec, chosen):
            spec, kind = found
            kinds.append(kind)
    return Mutation("+".join(kinds), vocabulary, lambda _: spec, _right_kinds(kinds))


def _right_kinds(kinds: Sequence[str]) -> tuple[str, ...]:
    """Return the kinds of changes that name a fault; tokens that move take roles with them."""
    right = set(kinds)
    if right & set(TOKENS):
        right.update(TOKENS)
    if "shift" in kinds:
        right.update(f"{role}_id" for role in _ROLES)
    return tuple(sorted(right))


def describe(trial: Trial) -> dict[str, bool]:
    return {
        "found": trial.found,
        "named": trial.named,
        "repaired": trial.repaired,
        "claimed": trial.claimed,
        "false claims": trial.is_false,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vocabularies", nargs="+", metavar="VOCABULARY")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    arguments = parser.parse_args()
    totals: Counter[tuple[str, str]] = Counter()
    for number in range(arguments.count):
        vocabulary = arguments.vocabularies[number % len(arguments.vocabularies)]
        fault = random_fault(vocabulary, f"{arguments.seed}-{number}")
        for reference in ("whole", "ids"):
            with tempfile.TemporaryDirectory() as directory:
                trial = try_fault(fault, Path(directory), bare=reference == "ids")
            results = describe(trial)
            totals.update((reference, name) for name, value in results.items() if value)
            what = ", ".join(name for name, value in results.items() if value)
            print(
                f"{number} {fault.id}, {reference}: {what}; left: {', '.join(trial.differences) or 'nothing'}",
                flush=True,
            )
    for (reference, name), count in sorted(totals.items()):
        print(f"{reference}: {count} of {arguments.count} {name}")


if __name__ == "__main__":
    main()
