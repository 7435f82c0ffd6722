"""The sort against libstdc++'s own, and vocabularies on which its order matters against llama.cpp."""

import random
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.selection import thinned
from support.spec_maker import USER_DEFINED, bpe_spec, spm_spec
from tokverify.engine import introsort as module
from tokverify.engine.added_token import split_longest_first
from tokverify.engine.encoder import Encoder
from tokverify.engine.introsort import THRESHOLD, introsort

_PROGRAM = """
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>
int main() {
    int size;
    while (std::scanf("%d", &size) == 1) {
        std::vector<int> keys(size), order(size);
        for (int & key : keys) if (std::scanf("%d", &key) != 1) return 1;
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] < keys[b]; });
        for (int index : order) std::printf("%d ", index);
        std::puts("");
    }
}
"""


def order(keys: Sequence[int]) -> list[int]:
    return introsort(range(len(keys)), key=keys.__getitem__)


def hard_keys(size: int) -> list[int]:
    """Return keys on which this algorithm takes the most time, by deciding each comparison as late as possible.

    Source: McIlroy, "A Killer Adversary for Quicksort" (1999).
    """
    keys: dict[int, int] = {}
    candidate = 0

    class Key:
        def __init__(self, index: int) -> None:
            self.index = index

        def __lt__(self, other: "Key") -> bool:
            nonlocal candidate
            if self.index not in keys and other.index not in keys:
                keys[self.index if self.index == candidate else other.index] = len(keys)
            candidate = next((each.index for each in (self, other) if each.index not in keys), candidate)
            return keys.get(self.index, size) < keys.get(other.index, size)

    introsort(range(size), key=list(map(Key, range(size))).__getitem__)
    return [keys.get(index, size) for index in range(size)]


@given(st.lists(st.integers(0, 9), max_size=200))
def test_items_are_sorted(keys):
    found = order(keys)
    assert sorted(found) == list(range(len(keys)))
    assert [keys[index] for index in found] == sorted(keys)


@given(st.lists(st.integers(0, 3), max_size=THRESHOLD))
def test_few_items_keep_their_order(keys):
    assert order(keys) == sorted(range(len(keys)), key=keys.__getitem__)


def test_equal_keys_change_places_beyond_the_threshold():
    # The median of the second, the middle and the last item is exchanged with the first; then the ends are.
    assert order([0] * (THRESHOLD + 1)) != list(range(THRESHOLD + 1))


@pytest.mark.parametrize("size", [100, 1000])
def test_a_heap_takes_over_if_the_partitions_are_unbalanced(size, monkeypatch):
    keys, calls = hard_keys(size), []
    heapsort = module._heapsort
    monkeypatch.setattr(module, "_heapsort", lambda entries: calls.append(len(entries)) or heapsort(entries))
    assert [keys[index] for index in order(keys)] == sorted(keys)
    assert calls


def key_lists() -> Iterator[list[int]]:
    rng = random.Random(0)  # noqa: S311 - no secret
    for size in (*range(40), 63, 64, 65, 100, 257, 1000):
        for distinct in (1, 2, 3, 10, 1000):
            yield [rng.randrange(distinct) for _ in range(size)]
    for size in (100, 255, 256, 1000):
        yield from ([*range(size)], [*range(size, 0, -1)], [min(place, size - place) for place in range(size)])
        for divisor in (1, 3, 20):
            yield [key // divisor for key in hard_keys(size)]


@pytest.mark.process
def test_the_order_is_that_of_libstdcxx(tmp_path):
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++ to compile std::sort with")
    source, program = tmp_path / "sort.cpp", tmp_path / "sort"
    source.write_text(_PROGRAM)
    subprocess.run([compiler, "-O1", "-o", program, source], check=True)
    lists = list(key_lists())
    text = "\n".join(" ".join(map(str, [len(keys), *keys])) for keys in lists)
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    for keys, line in zip(lists, done.stdout.splitlines(), strict=True):
        assert order(keys) == list(map(int, line.split())), keys


def overlapping_texts(rng: random.Random) -> list[str]:
    """Return texts of tokens, most of equal length: runs of spaces, and spaces with something before or after them."""
    runs = [" " * length for length in range(2, rng.choice([4, 12, 31]))]
    mixed = ["".join(parts) for parts in product(' "\n>', repeat=rng.choice([2, 3]))]
    return list(dict.fromkeys([*runs, *rng.sample(mixed, rng.randint(8, min(len(mixed), 60)))]))


@pytest.mark.process
@pytest.mark.parametrize("seed", thinned(4, range(12)))
def test_overlapping_added_tokens_of_equal_length_are_matched_as_in_llama_cpp(llama_cpp, seed):
    rng = random.Random(seed)  # noqa: S311 - no secret
    added = overlapping_texts(rng)
    rng.shuffle(added)
    types = dict.fromkeys(added, USER_DEFINED)
    spec = spm_spec(dict.fromkeys(added, -1.0), types) if seed % 2 else bpe_spec([], types)
    encoder, real = llama_cpp(spec)
    texts = ["".join(rng.choices(' "\n>a', weights=[4, 2, 1, 1, 1], k=rng.randint(2, 24))) for _ in range(500)]
    expected = real.encode_many(texts, add_special=False, parse_special=True)
    assert [encoder.encode(text) for text in texts] == expected
    assert encoder.encode(texts[0]) == Encoder(spec).encode(texts[0])


def test_the_order_decides_the_ids_of_these_vocabularies():
    different = 0
    for seed in range(12):
        rng = random.Random(seed)  # noqa: S311 - no secret
        added = overlapping_texts(rng)
        tokens = Encoder(bpe_spec([], dict.fromkeys(added, USER_DEFINED))).settings.added_tokens
        by_id = sorted(tokens, key=lambda token: (-len(token.text), token.id))
        for _ in range(100):
            text = "".join(rng.choices(' "\n>a', k=20))
            different += split_longest_first(text, tokens) != split_longest_first(text, by_id)
    assert different
