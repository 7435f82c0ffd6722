"""Traces and explanations: they end in the ids of the encoder, and record the decisions that led there."""

import json
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.paths import SAMPLE
from support.selection import slow_if
from support.spec_maker import BYTE, CONTROL, USER_DEFINED, bpe_spec, spm_spec
from tokverify.cases.loading import load_cases
from tokverify.engine.encoder import Encoder
from tokverify.engine.models.merge import merge
from tokverify.engine.models.merge_trace import trace_merge
from tokverify.engine.pre_token import alternatives, trace_pre_tokens
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, splitter
from tokverify.engine.rewriting import Rewriting
from tokverify.engine.trace import Merging, Stretch, Whole
from tokverify.errors import EncodeError
from tokverify.explain.explanation import explain
from tokverify.references import load_reference
from tokverify.report import explain as report
from tokverify.report.explain import Lattice, Matching, Replacement, StageOutcome
from tokverify.spec import TokenizerSpec

VOCABULARIES = (
    "llama-spm", "gpt-2", "mpt", "qwen2", "gemma-3", "gemma-4", "bert-bge", "t5", "xlnet", "nomic-bert-moe",
)  # fmt: skip


def unigram_spec(scores: dict[str, float], **fields: object) -> TokenizerSpec:
    tokens = ["<pad>", "</s>", "<unk>", *scores]
    types = [3, 3, 2, *(1 for _ in scores)]
    return TokenizerSpec(model="t5", tokens=tokens, types=types, scores=[0, 0, 0, *scores.values()], **fields)


def words(encoder: Encoder, text: str):
    fragments = encoder.trace(text).fragments
    return [word for stretch in fragments if isinstance(stretch, Stretch) for word in stretch.trace.words]


def stretches(explained: report.Explanation) -> list[report.Stretch]:
    return [fragment.stretch for fragment in explained.fragments if fragment.stretch]


def matches(explained: report.Explanation) -> list[report.AddedTokenMatch]:
    return [fragment.added_token for fragment in explained.fragments if fragment.added_token]


class TestMerges:
    def test_merges_by_rank_list_their_competitors(self):
        (word,) = words(Encoder(bpe_spec(["b c", "a b", "a bc"])), "abc")
        assert isinstance(word.how, Merging)
        recorded = [(j.pair.joined, j.pair.weight, [(r.joined, r.weight) for r in j.rivals]) for j in word.how.joins]
        assert recorded == [("bc", 0, [("ab", 1)]), ("abc", 2, [])]

    def test_merges_by_score_take_the_leftmost_of_equal_pairs(self):
        encoder = Encoder(spm_spec({"a": -9, "b": -9, "aa": -1, "ab": -1}, add_space_prefix=False))
        (word,) = words(encoder, "aab")
        assert [(j.index, j.pair.joined, j.pair.weight) for j in word.how.joins] == [(0, "aa", -1.0)]
        assert [rival.joined for rival in word.how.joins[0].rivals] == ["ab"]

    def test_a_pair_that_occurs_twice_counts_its_places(self):
        encoder = Encoder(spm_spec({"a": -9, "b": -9, "ab": -1, "ba": -2}, add_space_prefix=False))
        first, second = words(encoder, "abab")[0].how.joins
        assert (first.pair.places, [(r.joined, r.places) for r in first.rivals]) == (2, [("ba", 1)])
        assert (second.pair.places, second.rivals) == (1, ())

    @pytest.mark.parametrize("length", [3, 300])
    @given(data=st.data())
    def test_the_traced_merges_equal_those_of_the_fast_loop(self, length, data):
        symbols = data.draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=length))
        pieces = data.draw(st.lists(st.text("abc", min_size=2, max_size=4), unique=True, max_size=12))
        costs = {piece: float(data.draw(st.integers(0, 4))) for piece in pieces}
        left, joins = trace_merge(symbols, costs, "", float)
        assert left == merge([*symbols], costs, "")
        assert len(joins) == len(symbols) - len(left)

    def test_rivals_are_capped(self):
        text = "abcdefghijklmnopqrstuvwxyz"
        merges = [f"{left} {right}" for left, right in pairwise(text)]
        (first, *_) = words(Encoder(bpe_spec(merges)), text)[0].how.joins
        assert (len(first.rivals), first.left_out) == (8, 16)

    def test_byte_fallback(self):
        explained = explain(Encoder(spm_spec({"a": -1}, add_space_prefix=False)), "aé")
        assert [(t.token.piece, t.span, t.source) for t in explained.tokens] == [
            ("a", (0, 1), "model"),
            ("<0xC3>", (1, 2), "byte"),
            ("<0xA9>", (2, 3), "byte"),
        ]

    def test_a_space_inserted_by_the_pre_tokenizer_has_no_source(self):
        spec = TokenizerSpec(model="gpt2", pre="mmbert", tokens=["▁", "a", "b", "▁a"], types=[1] * 4, merges=["▁ a"])
        explained = explain(Encoder(spec), "ab a")
        recorded = [(t.token.piece, t.span) for t in explained.tokens]
        assert recorded == [("▁a", (0, 1)), ("b", (1, 2)), ("▁a", (2, 4))]

    def test_a_whole_piece_ignores_merges(self):
        spec = bpe_spec(["a b"], tokens=["ba"], pre="llama-bpe")
        (word,) = words(Encoder(spec), "ba")
        assert isinstance(word.how, Whole)


class TestUnigram:
    """The example in the docstring of the model."""

    SPEC = unigram_spec({"▁": -9, "a": -1, "b": -2, "ab": -2.5, "bc": -1}, add_space_prefix=False)

    def test_lattice(self):
        rows = [row for word in words(Encoder(self.SPEC), "abc") for row in word.how.rows]
        assert [(row.best.piece, row.best.span, row.best.total) for row in rows] == [
            ("a", (0, 1), -1),
            ("ab", (0, 2), -2.5),
            ("bc", (1, 3), -2),
        ]
        assert [[(other.piece, other.total) for other in row.competitors] for row in rows] == [
            [],
            [("b", -3)],
            [("c", -2.5 - 19)],
        ]
        assert [row.on_path for row in rows] == [True, False, True]

    def test_a_run_of_unknown_characters_is_one_token(self):
        explained = explain(Encoder(self.SPEC), "axyz")
        assert [(t.token.piece, t.span, t.source) for t in explained.tokens] == [
            ("a", (0, 1), "model"),
            ("<unk>", (1, 4), "unknown"),
        ]


def test_wordpiece_attempts():
    tokens = ["[PAD]", "[UNK]", "▁un", "known", "know"]
    spec = TokenizerSpec(model="bert", tokens=tokens, types=[3, 3, 1, 1, 1], special_ids={"unk": 1, "bos": 0, "sep": 0})
    encoder = Encoder(spec)
    known, unknown = words(encoder, "Unknown unx")
    assert isinstance(known.how, Matching)
    assert [attempt.found for attempt in known.how.attempts] == ["▁un", "known"]
    assert unknown.how.complete is False
    assert unknown.how.attempts[-1].found is None
    assert [t.span for t in explain(encoder, "Unknown unx").tokens] == [(0, 2), (2, 7), (8, 11)]


def test_rwkv_attempts():
    spec = TokenizerSpec(model="rwkv", tokens=["<s>", "a", "ab", "abcd", r"\n"], types=[3, 1, 1, 1, 1])
    (first, *_) = words(Encoder(spec), "abc\n")
    assert first.how.attempts[0].found == "ab"


def test_plamo2_is_summed_from_the_end():
    byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    tokens = ["<unk>", *byte_tokens, "a", "b", "ab"]
    spec = TokenizerSpec(
        model="plamo2", tokens=tokens, types=[2, *[BYTE] * 256, 1, 1, 1], scores=[0, *[0] * 256, -1, -1, -3]
    )
    explained = explain(Encoder(spec), "abé")
    assert [t.token.piece for t in explained.tokens] == ["a", "b", "<0xC3>", "<0xA9>"]
    lattice = words(Encoder(spec), "ab")[0].how
    assert isinstance(lattice, Lattice)
    assert [(row.best.piece, row.best.total) for row in lattice.rows] == [("b", 10_000), ("a", 20_000)]
    assert lattice.rows[1].competitors[0].piece == "ab"


class TestStages:
    SPM = spm_spec({"▁": -9, "a": -9, "▁a": -1, "<u>": 0, "<c>": 0, "  ": 0}, {"<u>": USER_DEFINED, "<c>": CONTROL, "  ": USER_DEFINED})  # noqa: E501  # fmt: skip

    def test_spans_lead_back_to_the_text(self):
        explained = explain(Encoder(self.SPM), "é<u> a", add_special=True)
        recorded = [(t.token.piece, t.span, t.source) for t in explained.tokens]
        assert recorded == [
            ("<s>", (0, 0), "special"),
            ("▁", (0, 0), "model"),
            ("<0xC3>", (0, 1), "byte"),
            ("<0xA9>", (1, 2), "byte"),
            ("<u>", (2, 5), "added"),
            ("▁", (5, 5), "model"),
            ("▁a", (5, 7), "model"),
        ]

    def test_normalization(self):
        (stretch,) = stretches(explain(Encoder(self.SPM), "a a"))
        assert stretch.changes == (Replacement((0, 0), "", "▁"), Replacement((1, 2), " ", "▁"))

    def test_a_token_that_the_model_could_never_produce(self):
        explained = explain(Encoder(self.SPM), "a  a")
        assert [match.missing_piece for match in matches(explained)] == ["▁▁"]
        assert [token.piece for token in explained.without_user_defined] == ["▁a", "▁", "▁a"]

    def test_encoding_without_user_defined_tokens_keeps_control_tokens(self):
        explained = explain(Encoder(self.SPM), "a<c>a  a")
        assert [token.piece for token in explained.without_user_defined] == ["▁a", "<c>", "▁a", "▁", "▁a"]
        assert explain(Encoder(self.SPM), "a<c>a").without_user_defined is None

    def test_whitespace_stripped_by_an_added_token_belongs_to_no_token(self):
        spec = bpe_spec(["a b"], {"</s>": CONTROL, "<unk>": CONTROL, "<s>": CONTROL, "<|endoftext|>": CONTROL, "<|end|>": CONTROL}, general={"name": "phi-3"})  # noqa: E501  # fmt: skip
        explained = explain(Encoder(spec), "a<|end|> \n ab")
        assert [t.span for t in explained.tokens] == [(0, 1), (1, 8), (11, 13)]

    def test_a_lone_surrogate_is_refused(self):
        with pytest.raises(EncodeError, match="surrogate"):
            explain(Encoder(self.SPM), "\ud800")


class TestPreTokens:
    @pytest.mark.parametrize(
        ("pattern", "expected"),
        [
            ("a|b", ("a", "b")),
            (r"a(?:b|c)|[|]|\|", ("a(?:b|c)", "[|]", r"\|")),
            (r"[\p{L}--[a|b]]|x", (r"[\p{L}--[a|b]]", "x")),
        ],
    )
    def test_alternatives(self, pattern, expected):
        assert alternatives(pattern) == expected

    def test_each_pre_token_names_its_pattern_and_alternative(self):
        cut = trace_pre_tokens(PRE_TOKENIZERS["starcoder"], "ab 12!")
        recorded = [(text, token.made_by.pattern_index, token.made_by.alternative) for text, token in cut]
        assert recorded == [
            ("ab", 1, r" ?\p{L}+"),
            (" ", 1, r"\s+(?!\S)"),
            ("1", 1, r" ?\p{N}+"),
            ("2", 1, r" ?\p{N}+"),
            ("!", 1, r" ?[^\s\p{L}\p{N}]+"),
        ]

    def test_a_chunk_between_matches(self):
        cut = trace_pre_tokens(PRE_TOKENIZERS["viking"], "a1(")
        assert [(text, token.made_by.pattern_index, token.made_by.alternative_index) for text, token in cut] == [
            ("a", 1, None),
            ("1", 1, 0),
            ("(", 0, None),
        ]

    @pytest.mark.parametrize("name", sorted(PRE_TOKENIZERS))
    def test_the_trace_splits_as_the_encoder_does(self, name):
        split = splitter(PRE_TOKENIZERS[name])
        for text in [case.text for case in load_cases()[::5]] + [
            "12345 678",
            "\u1fae9\u2003x",
            "IMGIMGAZ <sentinel:1>",
        ]:
            cut = trace_pre_tokens(PRE_TOKENIZERS[name], text)
            assert [part for part, _ in cut] == (split(text) if text else [])
            joined = "".join(part for part, _ in cut).encode()
            assert all(joined[token.start : token.end].decode() == part for part, token in cut)


def test_spans_lead_back_through_rewriting():
    first, second = Rewriting(), Rewriting()
    first.keep("a")
    first.replace(" ", "▁")
    first.keep("é")
    second.replace("", "x")
    second.keep("a▁")
    second.replace("é", "e")
    both = first.then(second)
    assert both.result == "xa▁e".encode()
    assert [both.source_span(*span) for span in [(0, 1), (1, 2), (2, 5), (5, 6), (6, 6)]] == [
        (0, 0), (0, 1), (1, 2), (2, 4), (4, 4),
    ]  # fmt: skip
    assert [change.span for change in both.changes] == [(1, 2), (0, 0), (2, 4)]


@pytest.mark.parametrize(
    ("step", "name"), slow_if(lambda step, name: step == 1 or name in VOCABULARIES[1::2], product((1, 7), VOCABULARIES))
)
def test_shipped_cases_on_every_vocabulary(encoder_of, name, step):
    encoder = encoder_of(name)
    for case in load_cases()[::step]:
        try:
            ids = encoder.encode(case.text, parse_special=case.parse_special)
        except EncodeError:
            continue
        explained = explain(encoder, case.text, parse_special=case.parse_special)
        assert list(explained.ids) == ids, case.text
        spans = [token.span for token in explained.tokens]
        assert all(0 <= start <= end <= len(case.text.encode()) for start, end in spans), case.text
        assert spans == sorted(spans), case.text
        for stretch in stretches(explained):
            spans = [pre_token.span for pre_token in stretch.pre_tokens]
            assert all(before[1] <= after[0] for before, after in pairwise(spans))


@pytest.mark.parametrize("name", ["gpt-2", "t5", "bert-bge", "gemma-3"])
def test_llama_cpps_ids_are_equal_too(shared, encoder_of, name):
    rows = map(json.loads, (shared / "golden" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()[::8])
    for row in rows:
        options = {key: row[key] for key in ("add_special", "parse_special")}
        assert explain(encoder_of(name), row["text"], **options).ids == tuple(row["ids"])


class TestSeeds:
    def test_runs_of_spaces_of_seed_000(self, encoder_of):
        explained = explain(encoder_of("gemma-3"), "word   with")
        assert explained.ids == (3017, 139, 4060)
        assert [(match.id, match.missing_piece) for match in matches(explained)] == [(139, "▁▁▁")]
        assert [token.piece for token in explained.without_user_defined] == ["word", "▁", "▁", "▁with"]

    def test_the_lattice_of_seed_001(self, encoder_of):
        rows = [row for word in words(encoder_of("t5"), "What is LoRA?") for row in word.how.rows]
        recorded = [(row.best.span[1], row.best.id, row.best.span[0]) for row in rows]
        assert recorded == [
            (3, 3, 0), (4, 549, 0), (5, 107, 4), (6, 1024, 4), (7, 363, 0), (10, 3, 7), (11, 23, 10), (12, 19, 7),
            (15, 3, 12), (16, 301, 12), (17, 1815, 12), (18, 448, 17), (19, 4763, 17), (20, 58, 19),
        ]  # fmt: skip
        assert rows[-1].best.total == pytest.approx(-41.3434792, abs=1e-5)
        assert [row.best.id for row in rows if row.on_path] == [363, 19, 1815, 4763, 58]


class TestReference:
    @staticmethod
    def compare(encoder_of, vocabs, name, text, suffix="tokenizer.json", **options):
        return explain(encoder_of(name), text, load_reference(vocabs / f"{name}.{suffix}"), **options).reference

    def test_mpt_diverges_at_the_normalization(self, encoder_of, vocabs):
        divergence = self.compare(encoder_of, vocabs, "mpt", "a cafe\u0301")
        assert divergence.first == "normalization"
        assert [stage.outcome for stage in divergence.stages] == [StageOutcome.SAME, *[StageOutcome.DIFFERS] * 3]

    def test_equal_ids_have_no_divergence(self, encoder_of, vocabs):
        for name, text in [("gpt-2", "Hello  world 123"), ("llama-spm", "a <s> b")]:
            assert self.compare(encoder_of, vocabs, name, text).first is None

    def test_bert_diverges_at_the_normalization(self, encoder_of, vocabs):
        divergence = self.compare(encoder_of, vocabs, "bert-bge", "b 한 a", add_special=True)
        assert divergence.first == "normalization"
        assert [stage.stage for stage in divergence.stages][-1] == "special tokens"

    def test_the_broken_sample_diverges_at_the_model(self):
        from tokverify.sources.load import load_gguf

        reference = load_reference(SAMPLE / "sample.tokenizer.model")
        divergence = explain(load_gguf(SAMPLE / "sample-broken.gguf"), "word   with", reference).reference
        assert divergence.first == "model"
        assert divergence.differing_tokens == (2, 3, 4)
        assert divergence.notes == ()

    def test_a_note_says_if_the_reference_cannot_encode_in_this_mode(self):
        from tokverify.sources.load import load_gguf

        reference = load_reference(SAMPLE / "sample.tokenizer.model")
        encoder = load_gguf(SAMPLE / "sample.gguf")
        notes = explain(encoder, "a<pad>", reference).reference.notes
        assert [note.partition(":")[0] for note in notes] == ["only comparable with parse_special off"]
        assert explain(encoder, "a<pad>", reference, parse_special=False).reference.notes == ()
