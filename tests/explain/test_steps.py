"""Single steps: the walk through a charsmap, the lattice after each position, ids of symbols, ranks of a reference."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.charsmap_maker import make_charsmap
from support.real_data import SHARED
from support.spec_maker import bpe_spec, spm_spec
from tokverify.engine.charsmap import Charsmap
from tokverify.engine.encoder import Encoder
from tokverify.engine.models.lattice_trace import LOWEST
from tokverify.explain.explanation import explain
from tokverify.report.explain import CharsmapSearch, Explanation, LatticeEntry, list_stretches
from tokverify.spec import TokenizerSpec
from tokverify.text.utf8 import to_bytes

MAP = {"a": "1", "ab": "2", "abcd": "3", "ﬁ": "fi", "z": ""}
CHARSMAP = Charsmap(make_charsmap(MAP))


def unigram(scores: dict[str, float], **fields: object) -> Encoder:
    tokens = ["<pad>", "</s>", "<unk>", *scores]
    types = [3, 3, 2, *(1 for _ in scores)]
    spec = TokenizerSpec(model="t5", tokens=tokens, types=types, scores=[0, 0, 0, *scores.values()], **fields)
    return Encoder(spec)


def merges(explained: Explanation):
    words = [word for stretch in list_stretches(explained) for word in stretch.words]
    return [word.merging for word in words if word.merging]


class TestCharsmap:
    @given(st.text("abcdzﬁ\0é", max_size=8).map(str.encode), st.integers(0, 4))
    def test_the_walk_ends_in_what_the_search_finds(self, data, start):
        walk = CHARSMAP.walk(data, start)
        endings = [(size, step.replacement) for size, step in enumerate(walk.steps, 1) if step.replacement is not None]
        found = [(size, to_bytes(replacement)) for size, replacement in endings]
        assert (found[-1] if found else None) == CHARSMAP.match(data, start)

    @given(st.text("abcdz", min_size=1, max_size=8).map(str.encode))
    def test_each_node_is_the_base_before_it_xor_the_byte(self, data):
        walk = CHARSMAP.walk(data, 0)
        bases = [walk.root, *(step.base for step in walk.steps)]
        assert [step.node for step in walk.steps] == [
            base ^ step.byte for base, step in zip(bases, walk.steps, strict=False)
        ]
        assert all((step.base is None) == (step.label != step.byte) for step in walk.steps)

    def test_equal_searches_are_recorded_once(self):
        encoder = unigram({"▁": -1, "1": -1, "2": -1}, charsmap=make_charsmap(MAP))
        (stretch,) = list_stretches(explain(encoder, "ab ab"))
        searches = [(search.starts, search.length, search.replacement) for search in stretch.charsmap]
        assert searches == [((0,), 2, "2"), ((2,), 0, None), ((3,), 2, "2")]
        (stretch,) = list_stretches(explain(encoder, "xx"))
        assert [search.starts for search in stretch.charsmap] == [(0, 1)]

    def test_the_first_search_of_seed_001_in_t5(self, encoder_of):
        (stretch,) = list_stretches(explain(encoder_of("t5"), "What is LoRA?"))
        first = stretch.charsmap[0]
        assert isinstance(first, CharsmapSearch)
        assert (first.root, [(step.node, step.label) for step in first.steps]) == (33, [(118, ord("W")), (554, 54)])
        assert first.replacement is None


SCORES = {"▁": -9, "a": -1, "b": -2, "ab": -2.5, "bc": -1}


class TestLattice:
    def test_steps_start_from_the_unknown_token_and_the_lowest_sum(self):
        words = list_stretches(explain(unigram(SCORES, add_space_prefix=False), "abc"))[0].words
        lattices = [word.lattice for word in words]
        assert lattices[0].initial == LatticeEntry(0, 2, 0, LOWEST)

    def test_each_step_lists_what_it_tried_and_all_entries_after_it(self):
        (word,) = list_stretches(explain(unigram(SCORES, add_space_prefix=False), "abc"))[0].words
        steps = [
            (
                step.start,
                [(trial.piece, trial.end, trial.total, trial.is_best) for trial in step.trials],
                [(entry.end, entry.start, entry.total) for entry in step.entries],
            )
            for step in word.lattice.steps
        ]
        assert steps == [
            (0, [("a", 1, -1, True), ("ab", 2, -2.5, True)], [(1, 0, -1), (2, 0, -2.5)]),
            (1, [("b", 2, -3, False), ("bc", 3, -2, True)], [(1, 0, -1), (2, 0, -2.5), (3, 1, -2)]),
            (2, [("c", 3, -21.5, False)], [(1, 0, -1), (2, 0, -2.5), (3, 1, -2)]),
        ]

    @given(text=st.text("abc", min_size=1, max_size=12))
    def test_the_entries_after_the_last_step_are_the_rows(self, text):
        words = list_stretches(explain(unigram(SCORES, add_space_prefix=False), text))[0].words
        for word in words:
            rows = [(row.best.span[1], row.best.id, row.best.span[0], row.best.total) for row in word.lattice.rows]
            entries = word.lattice.steps[-1].entries
            assert [(entry.end, entry.id, entry.start, entry.total) for entry in entries] == rows

    def test_long_words_have_no_steps(self):
        words = list_stretches(explain(unigram({"ab": -1, "ba": -1}), "ab" * 40))[0].words
        assert all(not word.lattice.steps for word in words if word.span[1] - word.span[0] > 60)
        assert any(not word.lattice.steps for word in words)


class TestSymbolIds:
    def test_ids_follow_each_merge(self):
        encoder = Encoder(bpe_spec(["b c", "a bc"]))
        (merging,) = merges(explain(encoder, "abc"))
        ids = encoder.settings.ids
        assert merging.symbol_ids == (ids["a"], ids["b"], ids["c"])
        assert [merge.symbol_ids for merge in merging.merges] == [(ids["a"], ids["bc"]), (ids["abc"],)]

    def test_a_symbol_that_is_not_a_piece_has_no_id(self):
        encoder = Encoder(spm_spec({"a": -1, "aa": -1}, add_space_prefix=False))
        recorded = [merging.symbol_ids for merging in merges(explain(encoder, "aaé"))]
        assert None in [id for ids in recorded for id in ids]


class TestReferenceRanks:
    def test_a_reference_with_merges_shows_its_own_ranks(self):
        actual, expected = Encoder(bpe_spec(["b c", "a bc"])), Encoder(bpe_spec(["x y", "b c", "a b"]))
        explained = explain(actual, "abc", expected)
        (merging,) = merges(explained)
        assert [(merge.pair.weight, merge.pair.reference_rank) for merge in merging.merges] == [(0, 1), (1, None)]
        assert explained.reference.has_merge_ranks

    def test_a_reference_without_merges_shows_none(self):
        encoder = Encoder(spm_spec({"a": -1, "aa": -1}, add_space_prefix=False))
        explained = explain(encoder, "aa", encoder)
        assert not explained.reference.has_merge_ranks

    @pytest.mark.slow
    def test_ranks_of_a_tokenizer_json_stand_next_to_scores(self, encoder_of):
        from tokverify.references import load_reference

        path = SHARED / "vocabs" / "gemma-3.tokenizer.json"
        explained = explain(encoder_of("gemma-3"), "▁▁w", load_reference(path))
        pairs = [merge.pair for merging in merges(explained) for merge in merging.merges]
        pairs += [pair for merging in merges(explained) for merge in merging.merges for pair in merge.competitors]
        ranks = {(pair.left, pair.right): pair.reference_rank for pair in pairs}
        stored = json.loads(path.read_bytes())["model"]["merges"]
        listed = [tuple(merge) if isinstance(merge, list) else tuple(merge.split(" ")) for merge in stored[:5000]]
        assert ranks[("▁", "w")] == listed.index(("▁", "w"))


@pytest.mark.parametrize("text", ["", "a", "ab ﬁ z"])
def test_a_model_without_a_charsmap_has_no_searches(text):
    assert all(not stretch.charsmap for stretch in list_stretches(explain(unigram({"a": -1}), text)))
