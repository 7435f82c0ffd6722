"""What a change invalidates, for changes to real vocabularies, and the options and errors around it."""

from dataclasses import replace
from functools import cache

import pytest
from click.testing import CliRunner

from support.made_vocabulary import bpe as made_bpe
from support.mutation import (
    BYTE,
    CONTROL,
    NORMAL,
    USER_DEFINED,
    Mutate,
    fields,
    has,
    merges,
    named,
    retype,
    retyped,
    reverse_slice,
    scores,
    shifted,
    special,
    swapped,
    tokens,
)
from support.paths import SAMPLE
from support.real_data import SHARED
from support.selection import thinned
from support.spec_maker import bpe_spec, unigram_spec
from tokverify.case import Case
from tokverify.commands.cli import main
from tokverify.compare.diff.compare import compare_versions
from tokverify.compare.diff.consequences import find_short_samples
from tokverify.compare.diff.version import Version
from tokverify.compare.side import side_of
from tokverify.engine.encoder import Encoder
from tokverify.errors import EncodeError
from tokverify.report.diff import Level, Outcome, Witness, diff_exit_code
from tokverify.sources.tokenizer_file import read_spec
from tokverify.spec import TokenizerSpec, TokenType

LETTERS = {"V": Level.VOCABULARY, "S": Level.SPECIAL, "I": Level.IDS, "T": Level.TEXT, "C": Level.COST}
UNUSED = TokenType.UNUSED.value


def appended(token: str, type: int) -> Mutate:
    """Append a token, as a fine-tuned model does."""

    def mutate(spec: TokenizerSpec) -> TokenizerSpec:
        return replace(
            spec,
            tokens=[*spec.tokens, token],
            types=[*spec.types, type],
            scores=None if spec.scores is None else [*spec.scores, -1000.0],
        )

    return mutate


def shifted_together(start: int) -> Mutate:
    """Lose one token with its type and score, so that all later ids shift."""

    def mutate(spec: TokenizerSpec) -> TokenizerSpec:
        def without(values):
            return None if values is None else [*values[:start], *values[start + 1 :]]

        return replace(spec, tokens=without(spec.tokens), types=without(spec.types), scores=without(spec.scores))

    return mutate


def rescored(token: str, change: float) -> Mutate:
    """Change the score of one token."""

    def mutate(spec: TokenizerSpec) -> TokenizerSpec:
        at = spec.tokens.index(token)
        return replace(spec, scores=[*spec.scores[:at], spec.scores[at] + change, *spec.scores[at + 1 :]])

    return mutate


def renamed(old: str, new: str) -> Mutate:
    return tokens(lambda listed: [new if token == old else token for token in listed])


def exchanged(first: int, second: int) -> Mutate:
    """Exchange two merges."""
    at = {first: second, second: first}
    return merges(lambda old: [old[at.get(rank, rank)] for rank in range(len(old))])


CHANGES: list[tuple[str, str, Mutate, str]] = [
    ("gpt-2", "nothing", fields(), ""),
    ("gpt-2", "another name of the model", named("another"), ""),
    ("gpt-2", "another chat template", fields(chat_template="{{ messages }}"), "S"),
    ("gpt-2", "another EOS", special(eos=11), "S"),
    ("gpt-2", "BOS added", fields(add_bos=True), "SIC"),
    ("gpt-2", "two tokens swapped", swapped(("Ġthe", "Ġand")), "VIT"),
    ("gpt-2", "one token renamed", swapped(("Ġthe", "Ġteh")), "VITC"),
    ("gpt-2", "a pre-tokenizer that implies BOS", fields(pre="llama-bpe"), "SIC"),
    ("gpt-2", "the last 100 merges lost", merges(lambda old: old[:-100]), "IC"),
    ("gpt-2", "the first 50 merges reversed", merges(reverse_slice(0, 50)), "IC"),
    ("gpt-2", "two late merges that compete exchanged", exchanged(20000, 28683), "I"),
    ("gpt-2", "a user-defined token appended", appended("[new]", USER_DEFINED), "IC"),
    ("gpt-2", "a control token appended", appended("<|new|>", CONTROL), "SIC"),
    ("gpt-2", "an unused token appended", appended("[PAD50257]", UNUSED), ""),
    ("llama-spm", "no space prefix", fields(add_space_prefix=False), "ITC"),
    ("llama-spm", "scores negated", scores(lambda old: [-score for score in old]), "IC"),
    ("llama-spm", "byte tokens typed NORMAL", retyped(BYTE, NORMAL), "VT"),
    ("llama-spm", "EOS added", fields(add_eos=True), "SIC"),
    ("llama-spm", "another BOS", special(bos=2), "SI"),
    ("llama-spm", "another unknown token", special(unk=5), "S"),
    ("llama-spm", "a range of tokens shifted by one id", shifted(300, 400), "VITC"),
    ("llama-spm", "a token lost", shifted_together(500), "VITC"),
    ("llama-spm", "<s> typed NORMAL", retype("<s>", NORMAL), "SIC"),
    ("gemma-3", "runs of spaces typed NORMAL", retyped(USER_DEFINED, NORMAL), "IC"),
    ("gemma-3", "turn markers typed NORMAL", retyped(CONTROL, NORMAL, where=has("turn")), "SIC"),
    ("gemma-3", "another EOT", special(eot=1), "S"),
    ("gemma-3", "a user-defined token appended", appended("<extra>", USER_DEFINED), "IC"),
    ("qwen2", "another pre-tokenizer", fields(pre="gpt-2"), "IC"),
    ("qwen2", "chat markers typed NORMAL", retyped(CONTROL, NORMAL, where=has("<|im")), "SIC"),
    ("t5", "extra spaces kept", fields(remove_extra_whitespaces=False), "IC"),
    ("t5", "EOS not added", fields(add_eos=False), "SIC"),
    ("t5", "scores of a range reversed", scores(reverse_slice(3, 2000)), "IC"),
    ("t5", "the score of one Cyrillic piece lowered", rescored("да", -0.7), "I"),
    ("t5", "two tokens swapped", swapped(("▁the", "▁to")), "VIT"),
    ("bert-bge", "letter case kept", fields(lowercase=False), "IC"),
    ("bert-bge", "another SEP", special(sep=101), "SI"),
    ("bert-bge", "two tokens swapped", swapped(("▁the", "▁of")), "VIT"),
    ("bert-bge", "one token renamed that continues words", renamed("s", "zzqqs"), "VITC"),
    ("xlnet", "extra spaces kept", fields(remove_extra_whitespaces=False), "ITC"),
    ("xlnet", "two tokens swapped", swapped(("▁the", "▁of")), "VIT"),
    # Runs of spaces, of which the first merge makes tokens, are user-defined tokens, which are matched before.
    ("mpt", "the first merge lost", merges(lambda old: old[1:]), ""),
    ("mpt", "the second merge lost", merges(lambda old: [old[0], *old[2:]]), "IC"),
    ("mpt", "one token renamed", renamed("Ġand", "Ġadn"), "VITC"),
    ("gemma-4", "another EOS", special(eos=5), "S"),
    ("gemma-4", "a user-defined token appended", appended("<extra>", USER_DEFINED), "IC"),
    ("qwen2", "the last merge lost", merges(lambda old: old[:-1]), "IC"),
    ("qwen2", "BOS added", fields(add_bos=True), "SIC"),
    ("t5", "the score of one word lowered", rescored("▁the", -100.0), "IC"),
    ("bert-bge", "a control token appended", appended("[new]", CONTROL), "SIC"),
    # llama.cpp adds CLS and SEP whatever the file declares.
    ("bert-bge", "CLS not declared as added", fields(add_bos=False), ""),
    ("llama-spm", "one byte token typed NORMAL", retype("<0x0A>", NORMAL), "VT"),
    ("llama-spm", "an unreachable token appended", appended("▁zzqqs", NORMAL), ""),
    ("gpt-2", "a separator declared", special(sep=50256), "S"),
]


@cache
def intact(name: str) -> TokenizerSpec:
    return read_spec(SHARED / "vocabs" / f"{name}.gguf")


def version(spec: TokenizerSpec) -> Version:
    encoder = Encoder(spec, "made")
    return Version(encoder, side_of(encoder), spec)


def compare(old: TokenizerSpec, new: TokenizerSpec, *breaking: Level):
    case = Case(id="a", suite="s", text="a")
    return compare_versions(version(old), version(new), [case], breaking=breaking)


def broken(report) -> str:
    levels = {each.level for each in report.consequences if each.outcome is Outcome.BROKEN}
    return "".join(letter for letter, level in LETTERS.items() if level in levels)


@pytest.mark.process  # takes seconds
@pytest.mark.parametrize(
    ("vocabulary", "change", "mutate", "levels"), thinned(20, CHANGES), ids=lambda value: str(value)[:40]
)
def test_a_change_of_a_real_vocabulary_breaks_exactly_the_expected_levels(vocabulary, change, mutate, levels):
    if not SHARED.is_dir():
        pytest.skip("the shared vocabularies are missing")
    report = compare(intact(vocabulary), mutate(intact(vocabulary)))
    assert broken(report) == levels
    assert all(each.witness for each in report.consequences if each.level is Level.IDS and each.broken)
    versions = Encoder(intact(vocabulary)), Encoder(mutate(intact(vocabulary)))
    for each in report.consequences:
        if each.witness:
            assert_minimal(*versions, each.level, each.witness)


def assert_minimal(old: Encoder, new: Encoder, level: Level, witness: Witness) -> None:
    """Check that a witness proves a level broken, and that it no longer does without any of its characters."""
    text = witness.text
    shorter = [text[:at] + text[at + 1 :] for at in range(len(text))]
    modes = {"add_special": witness.add_special, "parse_special": witness.parse_special}
    assert proves(old, new, level, text, modes)
    assert not [each for each in shorter if proves(old, new, level, each, modes)]


def proves(old: Encoder, new: Encoder, level: Level, text: str, modes: dict[str, bool]) -> bool:
    """Decide, independently of the program, whether a text shows that a level is broken."""
    ids, others = (encoder.encode(text, **modes) for encoder in (old, new))
    if level is Level.IDS:
        return ids != others
    if level is Level.COST:
        return len(ids) != len(others)
    if level is Level.VOCABULARY:
        return any(id >= new.vocab_size or old.token_bytes(id) != new.token_bytes(id) for id in ids)
    if level is Level.SPECIAL:
        return ids != others and old.encode(text, parse_special=False) == new.encode(text, parse_special=False)
    kept, again = old.decode_as_llama_cpp(ids), new.decode_as_llama_cpp(others)
    survived = kept == text.encode() and not modes["add_special"]
    return new.decode_as_llama_cpp(ids) != kept or (survived and again != kept)


def outcomes(report) -> dict[Level, Outcome]:
    return {each.level: each.outcome for each in report.consequences}


OLD = bpe_spec(["a b"], special_ids={"eos": 0}, add_bos=False)


@pytest.mark.parametrize(("added", "rows"), [(1, "a row for 1 more token"), (2, "rows for 2 more tokens")])
def test_added_tokens_need_rows_of_the_embedding_matrix_which_may_exist(added: int, rows: str):
    old = bpe_spec(["a b"])
    new = bpe_spec(["a b"], added={f"<{number}>": USER_DEFINED for number in range(added)})
    report = compare(old, new)
    assert report.consequences[0].reason == f"each id represents the same token; the embedding matrix needs {rows}"


def test_the_witness_is_the_shortest_text_with_the_ids_of_both_versions():
    report = compare(OLD, replace(OLD, merges=[]))
    (ids,) = (each for each in report.consequences if each.level is Level.IDS)
    assert ids.witness == Witness("ab", add_special=False, parse_special=False, old="256", new="97 98")


def witness_of(old: TokenizerSpec, new: TokenizerSpec, level: Level = Level.IDS) -> str | None:
    (text,) = (each.witness and each.witness.text for each in compare(old, new).consequences if each.level is level)
    return text


def test_merges_in_another_order_are_tried_where_they_overlap():
    old = bpe_spec(["x y", "y z"])
    assert witness_of(old, replace(old, merges=["y z", "x y"])) == "xyz"


def test_merges_are_not_tried_where_they_overlap_if_so_many_changed_that_any_text_shows_it(monkeypatch):
    monkeypatch.setattr("tokverify.compare.diff.witness._MANY_MERGES", 1)
    old = bpe_spec(["x y", "y z", "é é"])
    assert witness_of(old, replace(old, merges=["y z", "x y", "é é"])) == "xyz"
    assert witness_of(old, replace(old, merges=["é é", "y z", "x y"])) is None


def test_a_score_is_tried_next_to_letters_of_its_script():
    old = unigram_spec({"▁": -1.0, "а": -9.0, "л": -2.0, "да": -1.0, "д": -1.5, "ал": -2.0})
    assert witness_of(old, rescored("да", -1.0)(old)) == "дал"


def test_no_proof_is_longer_than_a_text_of_two_characters_that_proves_the_same():
    scores = {"▁": -1.0, "▁5": -3.5, "5": -2.0, "7": -2.0, "57": -4.0, "▁57": -6.0}
    old = unigram_spec(scores)
    new = unigram_spec({**scores, "▁": -8.0})
    assert find_short_samples(version(old), version(new))
    assert len(witness_of(old, new)) <= 2


def test_a_token_that_only_continues_words_has_a_witness():
    if not SHARED.is_dir():
        pytest.skip("the shared vocabularies are missing")
    old = intact("bert-bge")
    assert witness_of(old, renamed("s", "zzqqs")(old), Level.VOCABULARY)


@pytest.mark.parametrize(
    ("breaking", "code"),
    [((), 1), ((Level.IDS,), 1), ((Level.COST, Level.TEXT), 1), ((Level.VOCABULARY, Level.SPECIAL, Level.TEXT), 0)],
)
def test_only_the_chosen_levels_decide_about_the_exit_code(breaking, code):
    assert diff_exit_code(compare(OLD, replace(OLD, merges=[]), *breaking)) == code


class IdsOnly(Encoder):
    """A tokenizer that knows neither its special tokens nor the bytes of its tokens."""

    special_ids = {}  # noqa: RUF012 - replaces a property

    def bytes_of_tokens(self) -> list[bytes]:
        raise EncodeError("this library does not show the bytes of a token")


def test_a_level_that_cannot_be_compared_is_unknown_and_fails_if_it_is_chosen():
    hidden = IdsOnly(OLD, "hidden")
    version_of_hidden = Version(hidden, side_of(hidden), None, "a library")
    for level in (Level.VOCABULARY, Level.SPECIAL):
        report = compare_versions(version_of_hidden, version(OLD), [], breaking=[level])
        assert outcomes(report)[level] is Outcome.UNKNOWN
        assert diff_exit_code(report) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--breaking", "idz"], "'idz' is not a level; did you mean 'ids'?"),
        (["--breaking", "ids", "--behavior-only"], "use either --breaking or --behavior-only"),
    ],
)
def test_wrong_options_are_rejected(arguments, message):
    result = CliRunner().invoke(main, ["diff", str(SAMPLE / "sample.gguf"), str(SAMPLE / "sample.gguf"), *arguments])
    assert result.exit_code == 2
    assert message in result.output


def test_a_changed_token_that_is_not_a_text_breaks_only_the_vocabulary():
    tokens = ["\udcc3", "xy"]
    old, new = (bpe_spec(["a b"], tokens=order, added={"\udcc3": USER_DEFINED}) for order in (tokens, tokens[::-1]))
    assert outcomes(compare(old, new))[Level.VOCABULARY] is Outcome.BROKEN


def test_only_tokens_that_differ_are_decoded_to_find_changed_ids(monkeypatch):
    old = made_bpe()
    tokens = [*old.tokens]
    tokens[1000], tokens[1001] = tokens[1001], tokens[1000]
    decoded = set()
    token_bytes = Encoder.token_bytes
    monkeypatch.setattr(Encoder, "token_bytes", lambda self, id: decoded.add(id) or token_bytes(self, id))
    report = compare(old, replace(old, tokens=tokens))
    assert outcomes(report)[Level.VOCABULARY] is Outcome.BROKEN
    assert {1000, 1001} <= decoded
    assert len(decoded) < len(tokens) // 10
