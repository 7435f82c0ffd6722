"""How two tokenizers themselves are compared: one kind of difference at a time, with its severity."""

import json
from dataclasses import replace

import pytest

from support.bare_tokenizer import Bare, IdsOnly
from support.fake_tokenizer import FakeTokenizer
from support.made_vocabulary import bpe, plamo, unigram
from support.mutation import swapped
from support.sentencepiece_maker import train_model
from support.spec_maker import CONTROL, USER_DEFINED, bpe_spec, spec_of, spm_spec, unigram_spec
from tokverify.case import Case
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.tokenizer_comparison import compare_tokenizers
from tokverify.engine.encoder import Encoder
from tokverify.references import open_reference
from tokverify.report.finding import ERROR, INFO, WARNING
from tokverify.report.tokenizer_difference import Aspect, Origin, TokenizerDifference
from tokverify.sources.sentencepiece.reader import read_spec
from tokverify.spec import TokenType
from tokverify.texts.vocabulary import compare_vocabularies
from tokverify.tokenizer import GenerationEnds, Tokenizer

UNUSED = TokenType.UNUSED.value
PLAIN = spm_spec({"a": -1.0, "b": -2.0}, {"<turn>": CONTROL})
ROLES = {"bos": 1, "eos": 2}


class Typed(FakeTokenizer):
    """A reference that knows its types and some tokens that end a generation."""

    types: tuple[TokenType, ...] = ()
    ends = GenerationEnds(frozenset(), are_all=False)

    def token_types(self):
        return [*self.types, *[TokenType.UNDEFINED] * (len(self.pieces) - len(self.types))]

    def generation_ends(self):
        return self.ends


class Complete(Typed):
    """A tokenizer that has no token for a role that it does not name."""

    def lists_role(self, role):
        return True


def differences(actual: Tokenizer, expected: Tokenizer, aspect: Aspect) -> list[TokenizerDifference]:
    found = compare_tokenizers(actual, expected, compare_vocabularies(actual, expected)).differences
    return [difference for difference in found if difference.aspect is aspect]


def encoder(scores: dict[str, float], types: dict[str, int] | None = None, **fields: object) -> Encoder:
    return Encoder(spm_spec(scores, types, **{"special_ids": ROLES, "add_bos": True} | fields))


def test_equal_tokenizers_do_not_differ():
    compared = compare_tokenizers(Encoder(PLAIN), Encoder(PLAIN), compare_vocabularies(Encoder(PLAIN), Encoder(PLAIN)))
    assert (compared.differences, compared.not_compared) == ([], [])


def test_an_id_with_different_bytes_is_an_error():
    (found,) = differences(encoder({"a": 0.0, "b": 0.0}), encoder({"a": 0.0, "c": 0.0}), Aspect.BYTES)
    assert (found.severity, found.ids) == (ERROR, (260,))
    assert found.message == '1 id represents a different token: 260 "b", not "c"'


def test_a_byte_piece_that_is_typed_normal_represents_its_text():
    (found,) = differences(encoder({}, {"<0x0A>": 1}), encoder({}), Aspect.BYTES)
    assert (found.severity, found.ids) == (ERROR, (13,))


@pytest.mark.parametrize(
    ("piece", "type", "aspect", "severity"),
    [
        ("word", 1, Aspect.EXTRA, ERROR),
        ("<turn>", CONTROL, Aspect.EXTRA, ERROR),
        ("[PAD260]", 1, Aspect.PADDING, INFO),
        ("<unused7>", CONTROL, Aspect.PADDING, INFO),
        ("<unused7>", USER_DEFINED, Aspect.EXTRA, ERROR),
        ("<extra_id_7>", USER_DEFINED, Aspect.EXTRA, ERROR),
        ("[PAD260]", USER_DEFINED, Aspect.PADDING, INFO),
        ("zzz", UNUSED, Aspect.PADDING, INFO),
    ],
)
def test_a_token_of_the_model_only_is_an_error_unless_it_is_padding(piece, type, aspect, severity):
    (found,) = differences(encoder({piece: 0.0}, {piece: type}), encoder({}), aspect)
    assert (found.severity, found.ids) == (severity, (259,))


def test_the_sentinels_of_t5_which_its_sentencepiece_model_lacks_are_padding():
    reference = unigram_spec({"a": -1.0})
    spec = unigram_spec({"a": -1.0, "<extra_id_1>": 0.0, "<extra_id_0>": 0.0}, {"<extra_id_1>": USER_DEFINED})
    (found,) = differences(Encoder(spec), Encoder(reference), Aspect.PADDING)
    assert (found.severity, found.ids) == (INFO, (4, 5))


def test_a_token_of_the_reference_only_is_an_error_unless_it_is_padding():
    (found,) = differences(encoder({}), encoder({"<tool>": 0.0}), Aspect.MISSING)
    assert (found.severity, found.ids) == (ERROR, (259,))
    (padding,) = differences(encoder({}), encoder({"zzz": 0.0}, {"zzz": UNUSED}), Aspect.PADDING)
    assert padding.severity is INFO


def test_padding_that_is_found_in_texts_is_a_warning():
    actual = encoder({"[PAD260]": 0.0}, {"[PAD260]": USER_DEFINED})
    (found,) = differences(actual, encoder({}), Aspect.TYPES)
    assert (found.severity, found.ids, found.keys) == (WARNING, (259,), ("tokenizer.ggml.token_type",))
    assert "typed USER_DEFINED instead of UNUSED" in found.message


def test_sizes_are_shown_and_left_to_the_tokens_that_only_one_side_has():
    (found,) = differences(encoder({"a": 0.0}), encoder({}), Aspect.SIZE)
    assert (found.severity, found.message) == (INFO, "the model has 260 tokens, the reference 259")


@pytest.mark.parametrize(
    ("piece", "actual", "expected", "severity"),
    [
        ("<turn>", 1, CONTROL, ERROR),
        ("<turn>", CONTROL, 1, ERROR),
        ("word", 1, USER_DEFINED, ERROR),
        ("word", USER_DEFINED, 1, ERROR),
        ("word", CONTROL, USER_DEFINED, ERROR),
        ("word", USER_DEFINED, CONTROL, ERROR),
        ("<|turn|>", CONTROL, USER_DEFINED, ERROR),
        ("<|turn|>", USER_DEFINED, CONTROL, ERROR),
        ("word", UNUSED, 1, ERROR),
        ("<unused1>", UNUSED, 1, INFO),
        ("word", TokenType.UNKNOWN.value, 1, WARNING),
    ],
)
def test_a_different_type_is_an_error_if_a_text_or_its_decoding_can_show_it(piece, actual, expected, severity):
    sides = [encoder({piece: 0.0}, {piece: type}) for type in (actual, expected)]
    for one, other in (sides, reversed(sides)):
        (found,) = differences(one, other, Aspect.TYPES)
        assert (found.severity, found.ids) == (severity, (259,))


@pytest.mark.parametrize(
    ("in_file", "in_source", "severity"), [(CONTROL, USER_DEFINED, INFO), (USER_DEFINED, CONTROL, ERROR)]
)
def test_a_converter_may_type_what_looks_like_a_special_token_as_a_control_token(in_file, in_source, severity):
    source = typed_like(encoder({"<|turn|>": 0.0}), {259: TokenType(in_source)})
    file = encoder({"<|turn|>": 0.0}, {"<|turn|>": in_file})
    for one, other in ((file, source), (source, file)):
        (found,) = differences(one, other, Aspect.TYPES)
        assert (found.severity, found.ids) == (severity, (259,))


def typed_like(encoder: Encoder, changed: dict[int, TokenType]) -> Typed:
    """Return a tokenizer that is no GGUF file, with the same types except for some tokens."""
    tokenizer = Typed(*encoder.pieces)
    tokenizer.types = tuple(changed.get(id, type) for id, type in enumerate(encoder.token_types()))
    return tokenizer


def test_a_type_that_only_llama_cpp_overrides_is_a_warning():
    source = typed_like(encoder({"<|im_end|>": 0.0}), {259: TokenType.USER_DEFINED})
    file = encoder({"<|im_end|>": 0.0}, {"<|im_end|>": USER_DEFINED})
    for one, other, declaring in ((file, source, "the file"), (source, file, "the reference")):
        (found,) = differences(one, other, Aspect.TYPES)
        assert found.severity is WARNING
        assert f"{declaring} declares what" in found.message
        assert "llama.cpp overrides it" in found.message


def test_tokens_whose_types_differ_in_the_same_way_are_one_difference():
    scores = {"one": 0.0, "two": 0.0, "<turn>": 0.0}
    found = differences(
        encoder(scores), encoder(scores, {"one": USER_DEFINED, "two": USER_DEFINED, "<turn>": CONTROL}), Aspect.TYPES
    )
    assert [difference.ids for difference in found] == [(259, 260), (261,)]


def test_a_reference_that_only_knows_its_added_tokens_says_nothing_about_bytes():
    reference = Typed(*encoder({}).pieces)
    reference.types = (TokenType.CONTROL,) * 3
    assert differences(encoder({}), reference, Aspect.TYPES) == []
    assert differences(reference, encoder({}), Aspect.TYPES) == []


@pytest.mark.parametrize(
    ("actual", "expected", "severities"),
    [
        ({"eos": 1}, {"eos": 2}, [ERROR]),
        ({"bos": 1}, {"bos": 2}, [ERROR]),
        ({"unk": 0}, {"unk": 1}, [ERROR]),
        ({"pad": 1}, {"pad": 2}, [INFO]),
        ({"mask": 1}, {"mask": 2}, [WARNING]),
        ({}, {"eos": 2}, [ERROR]),
        ({}, {"pad": 2}, [INFO]),
        ({"sep": 2}, {"eos": 2}, []),
        ({"bos": 1, "eos": 2}, {"bos": 1, "eos": 2}, []),
    ],
)
def test_special_ids_are_compared_by_role(actual, expected, severities):
    sides = [Complete("a", "b", "c", special_ids=ids) for ids in (actual, expected)]
    for one, other in (sides, reversed(sides)):
        assert [difference.severity for difference in differences(one, other, Aspect.SPECIAL_IDS)] == severities


def test_a_role_that_a_side_may_have_without_naming_it_is_not_compared():
    ids = {"bos": 0, "eos": 1, "pad": 1}
    silent, naming = FakeTokenizer("a", "b"), Complete("a", "b", special_ids=ids, adds_special=False)
    for one, other in ((silent, naming), (naming, silent)):
        compared = compare_tokenizers(one, other, compare_vocabularies(one, other))
        assert compared.differences == []
        assert "bos and eos: fake does not name them" in compared.not_compared


@pytest.mark.parametrize(("eos", "types", "severities"), [("word", {"<turn>": CONTROL}, [ERROR]), ("word", {}, [])])
def test_an_eos_that_is_a_word_is_an_error_even_if_the_reference_names_none(eos, types, severities):
    """A file without any control token says nothing by its types."""
    spec = bpe_spec([], types, tokens=["<turn>", eos])
    actual = Encoder(replace(spec, special_ids={"eos": spec.tokens.index(eos)}))
    silent = FakeTokenizer(*spec.tokens)
    assert [found.severity for found in differences(actual, silent, Aspect.SPECIAL_IDS)] == severities
    named = Encoder(replace(spec, special_ids={"eos": spec.tokens.index("<turn>")}))
    assert differences(named, silent, Aspect.SPECIAL_IDS) == []


def test_a_role_that_only_the_model_has_is_named():
    actual, expected = Complete("a", "b", special_ids={"eos": 1}), Complete("a", "b")
    (found,) = differences(actual, expected, Aspect.SPECIAL_IDS)
    assert found.message == 'eos is 1 "b" in the model, but the reference has none'


def test_an_eos_that_the_model_lacks_but_that_ends_its_generations_is_a_warning():
    actual = Complete("a", "<|eot_id|>")
    actual.ends = GenerationEnds(frozenset({1}), are_all=True)
    (found,) = differences(actual, FakeTokenizer("a", "<|eot_id|>", special_ids={"eos": 1}), Aspect.SPECIAL_IDS)
    assert found.severity is WARNING


def ending(*ids: int, are_all: bool = True) -> Typed:
    tokenizer = Typed("a", "b", "c")
    tokenizer.ends = GenerationEnds(frozenset(ids), are_all)
    return tokenizer


def test_tokens_that_end_a_generation_on_one_side_only_are_errors():
    lost, extra = differences(ending(0), ending(1), Aspect.ENDS)
    assert (lost.severity, lost.ids, extra.ids) == (ERROR, (1,), (0,))
    assert lost.message == '1 token ends a generation in the reference only: 1 "b"'


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("<|reserved_special_token_4|>", INFO),
        ("<|im_start|>", INFO),
        ("<s>", INFO),
        ("<|eom_id|>", ERROR),
        ("<|tool_end|>", ERROR),
    ],
)
def test_a_reserved_token_and_one_that_marks_a_beginning_end_no_answer(text, severity):
    sides = Typed("a", "b", text), Typed("a", "b", text)
    for side, ends in zip(sides, ({1}, {1, 2}), strict=True):
        side.ends = GenerationEnds(frozenset(ends), are_all=True)
    (found,) = differences(*sides, Aspect.ENDS)
    assert (found.severity, found.ids) == (severity, (2,))


def test_an_end_of_a_generation_that_no_side_has_as_a_token_is_no_error():
    """As the generation_config.json of a model with another vocabulary leaves it."""
    sides = ending(1), ending(1, 3)
    (found,) = differences(*sides, Aspect.ENDS)
    assert (found.severity, found.ids) == (INFO, (3,))
    assert found.message.endswith("; no token has this id")


def test_an_incomplete_list_of_ends_proves_nothing_about_the_others():
    assert differences(ending(0, 1), ending(1, are_all=False), Aspect.ENDS) == []
    assert differences(ending(1, are_all=False), ending(0, 1), Aspect.ENDS) == []


def test_tokens_added_around_a_text_are_compared():
    (found,) = differences(encoder({"a": 0.0}), encoder({"a": 0.0}, add_bos=False), Aspect.AFFIXES)
    assert found.severity is ERROR
    assert found.message == 'the model adds 1 "<s>" before a text, the reference nothing'


def test_what_the_reference_does_not_know_is_listed():
    silent = FakeTokenizer("a", "b", adds_special=False, name="silent")
    actual = encoder({})
    compared = compare_tokenizers(actual, silent, compare_vocabularies(actual, silent))
    assert compared.not_compared == [
        "the types of tokens: silent does not know them",
        "bos and eos: silent does not name them",
        "the tokens that end a generation: silent does not name them",
        "the tokens added around a text: silent does not know them",
    ]


def test_a_digest_depends_on_everything_that_differs():
    one = differences(encoder({"a": 0.0}), encoder({"b": 0.0}), Aspect.BYTES)
    other = differences(encoder({"a": 0.0}), encoder({"c": 0.0}), Aspect.BYTES)
    same = differences(encoder({"a": 0.0}), encoder({"b": 0.0}), Aspect.BYTES)
    assert one[0].digest == same[0].digest != other[0].digest
    eos, bos = ({role: 1} for role in ("eos", "bos"))
    digests = {
        differences(
            FakeTokenizer("a", "b", special_ids=ids),
            FakeTokenizer("a", "b", special_ids=dict.fromkeys(ids, 0)),
            Aspect.SPECIAL_IDS,
        )[0].digest
        for ids in (eos, bos)
    }
    assert len(digests) == 2


def test_the_most_severe_difference_comes_first():
    compared = compare_tokenizers(
        encoder({"[PAD1]": 0.0, "a": 0.0}),
        encoder({}),
        compare_vocabularies(encoder({"[PAD1]": 0.0, "a": 0.0}), encoder({})),
    )
    assert [difference.severity for difference in compared.differences] == [ERROR, INFO, INFO]


def test_byte_level_vocabularies_are_compared_in_the_same_way():
    actual, expected = (Encoder(bpe_spec(["a b"], {"<|turn|>": type})) for type in (1, CONTROL))
    assert [each.severity for each in differences(actual, expected, Aspect.TYPES)] == [ERROR]


@pytest.mark.parametrize(("known", "count"), [(TokenType.NORMAL, 1), (TokenType.CONTROL, 0)])
def test_an_undefined_type_is_an_unused_token_only_if_other_types_are_known(known: TokenType, count: int):
    actual, expected = Typed("a", "b"), Typed("a", "c")
    actual.types = (known, TokenType.UNDEFINED)
    expected.types = (known, TokenType.NORMAL)
    assert len(differences(actual, expected, Aspect.TYPES)) == count


def test_a_file_that_names_bos_does_not_lack_another_cls():
    tokens = ("<unk>", "<s>", "</s>", "[CLS]")
    actual = Encoder(
        spec_of("t5", tokens, dict.fromkeys(tokens[1:], CONTROL), special_ids={"unk": 0, "bos": 1, "eos": 2})
    )
    expected = Complete(*tokens, special_ids={"unk": 0, "bos": 1, "eos": 2, "cls": 3})
    found = differences(actual, expected, Aspect.SPECIAL_IDS)
    assert not [each.message for each in found if "cls" in each.message]


def test_a_role_under_another_name_is_named_as_the_model_names_it():
    tokens = ["[UNK]", "▁a", "[SEP]", "[PAD]"]
    reference = Complete(*tokens, special_ids={"eos": 2})
    types = {"[UNK]": CONTROL, "[SEP]": CONTROL, "[PAD]": CONTROL}
    actual = Encoder(spec_of("bert", tokens, types, special_ids={"unk": 0, "sep": 3, "bos": 0}))
    messages = [found.message for found in differences(actual, reference, Aspect.SPECIAL_IDS)]
    assert 'sep is 3 "[PAD]" in the model, but 2 "[SEP]" in the reference' in messages
    assert not any("the model has no eos" in message for message in messages)


CHAT = {"<|end_of_text|>": 1, "<|eot_id|>": 1, "<|start|>": 1, "word": 1}
LAST = len(bpe_spec([]).tokens)


def chat_file(eos: int, **fields: object) -> Encoder:
    """Return a file with two tokens that llama.cpp knows as ends by their texts, and two others."""
    return Encoder(bpe_spec([], dict.fromkeys(CHAT, CONTROL), special_ids={"eos": LAST + eos}, **fields))


def chat_reference(eos: int, *, are_all: bool = False, ends: tuple[int, ...] = ()) -> Typed:
    reference = typed_like(chat_file(eos), {})
    reference.special_ids = {"eos": LAST + eos}
    reference.ends = GenerationEnds(frozenset(LAST + end for end in (eos, *ends)), are_all)
    return reference


@pytest.mark.parametrize(
    ("ours", "theirs", "template", "severity"),
    [
        (0, 1, None, WARNING),
        (0, 1, "{{ eos_token }}", ERROR),
        (2, 1, None, ERROR),
        (3, 1, None, ERROR),
        (0, 2, None, ERROR),
    ],
)
def test_an_eos_that_ends_a_generation_anyway_is_no_error(ours, theirs, template, severity):
    (found,) = differences(chat_file(ours, chat_template=template), chat_reference(theirs), Aspect.SPECIAL_IDS)
    assert found.severity is severity
    assert ("base and instruct files" in found.message) is (severity is WARNING)


@pytest.mark.parametrize(("text", "severity"), [("<PAD>", ERROR), ("<|endoftext|>", WARNING)])
def test_padding_as_eos_is_an_error_unless_it_is_named_like_an_end(text, severity):
    # llama.cpp ends a generation at both of these, whatever the file says.
    spec = bpe_spec([], {text: CONTROL, "<|eot_id|>": CONTROL}, special_ids={"eos": LAST, "pad": LAST})
    reference = typed_like(Encoder(spec), {})
    reference.special_ids = {"eos": LAST + 1}
    reference.ends = GenerationEnds(frozenset([LAST + 1]), are_all=False)
    (found,) = differences(Encoder(spec), reference, Aspect.SPECIAL_IDS)
    assert found.severity is severity


@pytest.mark.parametrize(("ends", "severity"), [((), ERROR), ((0,), WARNING)])
def test_a_reference_that_names_all_of_its_ends_must_name_our_eos(ends, severity):
    reference = chat_reference(1, are_all=True, ends=ends)
    (found,) = differences(chat_file(0), reference, Aspect.SPECIAL_IDS)
    assert found.severity is severity


@pytest.mark.parametrize("text", ["<unused7>", "<｜User｜>", "<|fim|>", "<mask>", "<2mass>", "[@BOS@]"])
def test_what_a_converter_types_on_purpose_is_a_convention(text):
    source = typed_like(encoder({text: 0.0}), {259: TokenType.USER_DEFINED})
    (found,) = differences(encoder({text: 0.0}, {text: CONTROL}), source, Aspect.TYPES)
    assert (found.severity, found.origin) == (INFO, Origin.CONVENTION)


@pytest.mark.parametrize(
    ("text", "severity"),
    [("word", ERROR), ("<think>", ERROR), ("unused7", ERROR), ("[REFERENCE_DOC_0]", ERROR), ("<|half>", WARNING)],
)
def test_other_control_tokens_are_no_convention(text, severity):
    source = typed_like(encoder({text: 0.0}), {259: TokenType.USER_DEFINED})
    (found,) = differences(encoder({text: 0.0}, {text: CONTROL}), source, Aspect.TYPES)
    assert (found.severity, found.origin) == (severity, Origin.UNKNOWN)


def test_a_reference_that_never_parses_control_tokens_may_mean_one():
    source = typed_like(encoder({"<start_of_turn>": 0.0}), {259: TokenType.USER_DEFINED})
    source.parses_special = False
    file = encoder({"<start_of_turn>": 0.0}, {"<start_of_turn>": CONTROL})
    (found,) = differences(file, source, Aspect.TYPES)
    assert found.severity is INFO


RUNS = {"▁": -9.0, "▁▁": -1.0, "▁a": -5.0, "a": -9.0, "b": -9.0}


@pytest.mark.parametrize(
    ("scores", "severity"), [(RUNS, INFO), (RUNS | {"▁▁▁": -2.0}, ERROR), (RUNS | {"▁a": -0.5}, ERROR)]
)
def test_a_token_that_the_model_makes_anyway_needs_no_type(scores, severity):
    """Merges that prefer `▁a`, or two pairs of spaces, show whether a run of spaces is matched before them."""
    ordinary = encoder(scores, add_space_prefix=False)
    spec = ordinary.spec
    tokens = [token.replace("▁", " ") if set(token) == {"▁"} and len(token) > 1 else token for token in spec.tokens]
    types = [USER_DEFINED if " " in token else type for token, type in zip(tokens, spec.types, strict=True)]
    matched = Encoder(replace(spec, tokens=tokens, types=types))
    for one, other in ((ordinary, matched), (matched, ordinary)):
        found = differences(one, other, Aspect.TYPES)
        assert max(difference.severity for difference in found) is severity


MARKERS = ["<|im_start|>", "<|im_end|>"]


@pytest.mark.parametrize(("added", "missing"), [([], MARKERS), (MARKERS, [])])
def test_tokens_that_only_the_configuration_of_a_sentencepiece_model_adds_are_compared(tmp_path, added, missing):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(train_model(vocab_size=90, model_type="unigram"))
    spec = read_spec(path)
    size = len(spec.tokens)
    declared = {str(size + at): {"content": text} for at, text in enumerate(MARKERS)}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": declared}))
    types = [*spec.types, *[CONTROL] * len(added)]
    model = replace(spec, tokens=[*spec.tokens, *added], types=types, scores=[*spec.scores, *[0.0] * len(added)])
    cases = [Case(id="marker", suite="made", text="the <|im_start|>fox")]
    report = verify_tokenizers(Encoder(model), open_reference(path).tokenizer, cases)
    found = [each.message for each in report.differences if each.aspect in {Aspect.MISSING, Aspect.EXTRA}]
    assert all(text in message for message in found for text in missing)
    assert bool(found) is bool(missing)
    assert report.exit_code == 0


@pytest.mark.parametrize(("type", "severity"), [(CONTROL, WARNING), (USER_DEFINED, WARNING), (TokenType.NORMAL, ERROR)])
def test_added_tokens_beside_a_sentencepiece_model_alone_are_warnings_that_say_what_to_do(tmp_path, type, severity):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(train_model(vocab_size=90, model_type="unigram"))
    spec = read_spec(path)
    types, scores = [*spec.types, type, type], [*spec.scores, 0.0, 0.0]
    model = Encoder(replace(spec, tokens=[*spec.tokens, *MARKERS], types=types, scores=scores))
    (found,) = differences(model, open_reference(path).tokenizer, Aspect.EXTRA)
    assert found.severity is severity
    says = "put the model's added_tokens.json or tokenizer_config.json beside it" in found.message
    assert says is (severity is WARNING)


@pytest.mark.parametrize("hide", [IdsOnly, Bare])
def test_markers_typed_as_ordinary_tokens_are_found_by_ids_whatever_their_texts(hide):
    markers = {">>TITLE<<": CONTROL, "PI:URL": USER_DEFINED, "<|x|>": CONTROL}
    right = bpe_spec(["a b", "# #", "## ##"], markers)
    wrong = replace(right, types=[TokenType.NORMAL] * len(right.tokens))
    [found] = differences(Encoder(wrong), hide(Encoder(right)), Aspect.TYPES)
    assert (found.severity, [right.tokens[id] for id in found.ids]) == (ERROR, list(markers))
    for actual, expected in ((right, right), (wrong, wrong), (right, replace(right, merges=["a b"]))):
        assert not differences(Encoder(actual), hide(Encoder(expected)), Aspect.TYPES)


def test_markers_typed_as_ordinary_tokens_are_found_by_ids_also_if_scores_rank_the_tokens():
    scores = dict.fromkeys(["▁", "a", "<|x|>", "<|y|>", "<unused7>"], 0.0)
    right = spm_spec(scores, {"<|x|>": CONTROL, "<unused7>": CONTROL})
    wrong = spm_spec(scores)
    [found] = differences(Encoder(wrong), IdsOnly(Encoder(right)), Aspect.TYPES)
    assert (found.severity, [right.tokens[id] for id in found.ids]) == (ERROR, ["<|x|>"])


def test_a_marker_is_found_by_ids_behind_any_number_of_tokens_that_no_merge_makes():
    others = {f"word{index}": TokenType.NORMAL for index in range(2_100)}
    right = bpe_spec((), {**others, "<|x|>": CONTROL})
    wrong = replace(right, types=[TokenType.NORMAL] * len(right.tokens))
    [found] = differences(Encoder(wrong), IdsOnly(Encoder(right)), Aspect.TYPES)
    assert [right.tokens[id] for id in found.ids] == ["<|x|>"]


def test_a_token_that_lost_its_merges_is_not_said_to_be_a_marker():
    right = bpe_spec(["a b", "# #", "## ##"])
    lost = replace(right, merges=["a b"])
    assert not differences(Encoder(lost), IdsOnly(Encoder(right)), Aspect.TYPES)


@pytest.mark.parametrize(
    ("make", "texts"), [(unigram, ("▁chair", "▁The")), (bpe, ("Ġword", "Ġthe")), (plamo, ("the", "and"))]
)
def test_exchanged_tokens_are_found_by_ids_alone(make, texts: tuple[str, str]):
    right = make()
    ids = sorted(map(list(right.tokens).index, texts))
    expected = IdsOnly(Encoder(right))
    (found,) = [
        each
        for each in compare_tokenizers(Encoder(swapped(texts)(right)), expected, None).differences
        if each.aspect is Aspect.BYTES
    ]
    assert (found.severity, list(found.ids)) == (ERROR, ids)
    assert "2 tokens are encoded to the ids of others by the reference" in found.message
    assert not compare_tokenizers(Encoder(right), expected, None).differences


def test_control_tokens_with_each_others_texts_are_found_by_ids_alone():
    markers = ["<hole>", "<begin>", "<end>"]
    right, wrong = (bpe_spec([], dict.fromkeys(texts, CONTROL)) for texts in (markers, markers[1:] + markers[:1]))
    (found,) = differences(Encoder(wrong), IdsOnly(Encoder(right)), Aspect.BYTES)
    assert (found.severity, [right.tokens[id] for id in found.ids]) == (ERROR, markers)
    assert not differences(Encoder(right), IdsOnly(Encoder(right)), Aspect.BYTES)


def test_an_ordinary_bos_is_reported_if_the_reference_does_not_say_which_token_it_is():
    right = spm_spec({"ab": 0}, {"<s>": CONTROL, "</s>": CONTROL}, special_ids={"bos": 257, "eos": 258}, add_bos=False)
    ids = {text: id for id, text in enumerate(right.tokens)}
    for bos, is_reported in (("<s>", False), ("ab", True)):
        roles = {"bos": ids[bos], "eos": ids["</s>"]}
        actual, expected = Encoder(replace(right, special_ids=roles)), IdsOnly(Encoder(right))
        vocabulary = compare_vocabularies(actual, actual)
        found = compare_tokenizers(actual, expected, vocabulary).differences
        assert [each.severity for each in found if "bos is" in each.message] == [WARNING] * is_reported


def test_a_beginning_as_eos_is_reported_if_the_reference_does_not_say_which_token_it_is():
    right = spm_spec({"<|startoftranscript|>": 0}, dict.fromkeys(["<s>", "</s>", "<|startoftranscript|>"], CONTROL))
    ids = {text: id for id, text in enumerate(right.tokens)}
    for eos, is_reported in (("</s>", False), ("<|startoftranscript|>", True)):
        roles = {"bos": ids["<s>"], "eos": ids[eos]}
        actual, expected = Encoder(replace(right, special_ids=roles)), IdsOnly(Encoder(right))
        found = compare_tokenizers(actual, expected, compare_vocabularies(actual, actual)).differences
        assert [each.severity for each in found if "marks a beginning" in each.message] == [ERROR] * is_reported


@pytest.mark.parametrize("text", ["<pad>", "<|finetune_right_pad|>", "[PAD]"])
def test_an_eos_that_is_named_as_padding_is_an_error_if_the_reference_names_none(text: str):
    spec = bpe_spec([], {text: CONTROL, "<|end_of_text|>": CONTROL}, special_ids={"eos": 256})
    found = differences(Encoder(spec), Bare(Encoder(spec)), Aspect.SPECIAL_IDS)
    assert [(each.severity, "a token that is named as padding" in each.message) for each in found] == [(ERROR, True)]


class Prompted(FakeTokenizer):
    """A reference that begins texts with another token than the one that it names BOS, like a translation model."""

    def encode(self, text, *, add_special, parse_special):
        ids = super().encode(text, add_special=False, parse_special=parse_special)
        return [self.pieces.index("en_XX"), *ids] if add_special else ids


@pytest.mark.parametrize(("make", "severity"), [(spm_spec, WARNING), (unigram_spec, ERROR)])
def test_another_unknown_token_fails_only_if_texts_are_encoded_as_it(make, severity):
    right = make({"a": -1.0, "b": -2.0})
    first, other = (replace(right, special_ids={"bos": 1, "eos": 2, "unk": id}) for id in (0, 3))
    (found,) = differences(Encoder(first), Encoder(other), Aspect.SPECIAL_IDS)
    assert (found.severity, found.message.startswith("unk is 0")) == (severity, True)


@pytest.mark.parametrize(("kind", "template", "severity"), [
    (Prompted, None, WARNING), (Prompted, "{{ bos_token }}", ERROR), (FakeTokenizer, None, ERROR),
])  # fmt: skip
def test_a_bos_with_which_the_reference_itself_begins_texts_does_not_fail(kind, template, severity):
    spec = spm_spec({"a": 0.0, "en_XX": 0.0}, {"en_XX": CONTROL}, add_bos=True)
    spec = replace(
        spec, special_ids={"bos": spec.tokens.index("en_XX")}, chat_template=template, add_space_prefix=False
    )
    expected = kind(*spec.tokens, special_ids={"bos": spec.tokens.index("<s>")})
    (found,) = [each for each in differences(Encoder(spec), expected, Aspect.SPECIAL_IDS) if "bos is" in each.message]
    assert found.severity is severity
