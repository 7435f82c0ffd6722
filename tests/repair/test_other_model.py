"""Tell a reference of another model from one whose tokens a fault has changed."""

import json
import random
from base64 import b64encode
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest

from support.bare_tokenizer import Bare, IdsOnly
from support.mutation import respelled, tokens
from support.mutation_trial import intact
from support.selection import thinned
from support.spec_maker import CONTROL, USER_DEFINED, bpe_spec, spec_of, spm_spec
from tokverify.compare.opened import Opened
from tokverify.engine.byte_level import read_bytes
from tokverify.engine.encoder import Encoder
from tokverify.references.rwkv import RwkvTokenizer
from tokverify.repair.other_model import doubt_reference, find_other_model
from tokverify.repair.other_model.vocabulary import is_of_other_model
from tokverify.sources.gguf.declaration import Declaration, read_spec
from tokverify.spec import TokenizerSpec, TokenType


def made(name: str) -> TokenizerSpec:
    return read_spec(intact(name))


def shuffled(old: list[str]) -> list[str]:
    return random.Random(1).sample(old, len(old))  # noqa: S311 - an order, not a secret


def in_base64(token: str) -> str:
    return b64encode(read_bytes(token) or token.encode()).decode()


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ("made-wordpiece", "made-bpe", True),
        ("made-bpe", "made-plamo", True),
        ("made-wordpiece", "made-wordpiece", False),
        ("made-spm", "made-gemma4", False),
    ],
)
def test_a_reference_of_another_model_has_other_tokens(ours: str, theirs: str, expected: bool):
    assert is_of_other_model(made(ours), Opened(Encoder(made(theirs)))) is expected


@pytest.mark.parametrize("name", ["made-bpe", "made-spm", "made-wordpiece", "made-unigram"])
def test_bytes_alone_show_whether_a_reference_belongs_to_another_model(name: str):
    other = made("made-plamo")
    right = made(name)
    assert is_of_other_model(right, Opened(Bare(Encoder(other))))
    assert not is_of_other_model(right, Opened(Bare(Encoder(right))))
    # A file whose tokens stand one id too high was made from the reference.
    moved = replace(right, tokens=["<new>", *right.tokens[:-1]])
    assert not is_of_other_model(moved, Opened(Bare(Encoder(right))))


@pytest.mark.parametrize(
    "fault",
    [tokens(shuffled), *map(respelled, [str.upper, "Ġ{}".format, "{}\r".format, "{}\t-8.4".format, in_base64])],
    ids=["shuffled", "capitals", "spaces", "line-ends", "vocab-lines", "base64"],
)
def test_a_fault_that_changes_all_tokens_does_not_make_another_model(fault):
    right = made("made-bpe")
    assert not is_of_other_model(fault(right), Opened(Encoder(right)))


def test_a_token_inserted_at_the_beginning_does_not_make_another_model():
    right = made("made-unigram")
    wrong = replace(right, tokens=["<new>", *right.tokens])
    assert not is_of_other_model(wrong, Opened(Encoder(right)))


MANY = 32_000


def many(*, start: int = 0) -> list[str]:
    """Return the tokens of a made vocabulary of the usual size, apart from its special ones."""
    return [f"w{number:x}" for number in range(start, start + MANY - 3)]


def large(tokens: list[str], types: dict[str, int] | None = None) -> TokenizerSpec:
    tokens = ["<unk>", "<s>", "</s>", *tokens]
    known = {"<unk>": TokenType.UNKNOWN.value, "<s>": CONTROL, "</s>": CONTROL} | (types or {})
    scores = [-float(id) for id in range(len(tokens))]
    return spec_of("llama", tokens, known, scores=scores, special_ids={"bos": 1, "eos": 2})


def in_blocks(tokens: list[str], size: int) -> list[str]:
    blocks = [tokens[start : start + size] for start in range(0, len(tokens), size)]
    return list(chain.from_iterable(random.Random(2).sample(blocks, len(blocks))))  # noqa: S311 - an order


def case_insensitive(tokens: list[str], *, keeps_last: bool) -> list[str]:
    """Return the tokens that a table by lowercase texts keeps, in the order of their ids."""
    table: dict[str, int] = {}
    for id, token in enumerate(tokens):
        if keeps_last or token.lower() not in table:
            table[token.lower()] = id
    return [tokens[id] for id in sorted(table.values())]


CASED = [cased for token in many()[:24_000] for cased in ((token, token.upper()) if len(token) < 5 else (token,))]


@pytest.mark.parametrize(
    ("tokens", "expected"),
    thinned(
        2,
        [
            (shuffled(many()), True),
            ([*many()[: MANY // 50], *shuffled(many()[MANY // 50 :])], True),
            ([f"[control_{number}]" for number in range(768)] + many(), True),
            (many()[768:], True),
            (["new", *many()], False),
            ([f"[PAD{number}]" for number in range(1000)] + many(), False),
            # As WordPiece files store what begins a word.
            ([f"▁[unused{number}]" for number in range(1000)] + many(), False),
            (many()[5:] + many()[:5], False),
            (in_blocks(many(), 500), False),
            (in_blocks(many(), 40), False),
            (many()[::-1], True),
            ([*many()[:100:-1], *many()[:101]], True),
        ],
    ),
)
def test_the_order_of_shared_tokens_tells_a_sibling_from_moved_tokens(tokens: list[str], expected: bool):
    assert is_of_other_model(large(tokens), Opened(Encoder(large(many())))) is expected


@pytest.mark.parametrize("keeps_last", [True, False])
def test_ids_from_a_case_insensitive_table_do_not_make_another_model(keeps_last: bool):
    wrong = large(case_insensitive(CASED, keeps_last=keeps_last))
    assert len(wrong.tokens) < 0.9 * len(CASED)
    assert not is_of_other_model(wrong, Opened(Encoder(large(CASED))))


def test_tokens_that_were_sorted_by_their_texts_are_a_fault():
    right = large(shuffled(many()))
    order = sorted(range(len(right.tokens)), key=right.tokens.__getitem__)
    tokens, types = ([values[id] for id in order] for values in (right.tokens, right.types))
    wrong = replace(right, tokens=tokens, types=types, special_ids={})
    assert not is_of_other_model(wrong, Opened(Encoder(right)))
    assert is_of_other_model(replace(wrong, tokens=tokens[::-1], types=types[::-1]), Opened(Encoder(right)))
    assert is_of_other_model(replace(wrong, tokens=[f"{text}x" for text in tokens]), Opened(Encoder(right)))


def test_padding_of_wordpiece_is_spelled_as_a_word_and_is_no_token_that_the_reference_lacks():
    right = made("made-wordpiece")
    size, types = len(right.tokens), list(right.types or ())
    padded = replace(
        right,
        tokens=[*right.tokens, *(f"▁[PAD{id}]" for id in range(size, size + 600))],
        types=[*types, *[TokenType.UNUSED] * 600],
    )
    assert find_other_model(padded, Opened(Encoder(right))) == ""
    empty = replace(padded, tokens=[*right.tokens, *[""] * 600], types=[*types, *[1] * 600])
    assert find_other_model(empty, Opened(Encoder(right))) == ""
    words = replace(padded, tokens=[*right.tokens, *(f"▁word{id}" for id in range(600))], types=[*types, *[1] * 600])
    assert "it lacks the last 600 tokens here" in find_other_model(words, Opened(Encoder(right)))


def test_tokens_in_utf_16_are_a_fault():
    right = made("made-wordpiece")
    wrong = replace(right, tokens=[text.encode("utf-16-le").decode(errors="surrogateescape") for text in right.tokens])
    assert not is_of_other_model(wrong, Opened(Encoder(right)))


def test_a_permutation_of_a_few_tokens_is_a_fault():
    tokens = [*shuffled(many()[:500]), *many()[500:]]
    assert not is_of_other_model(large(tokens), Opened(Encoder(large(many()))))


def test_texts_that_moved_without_their_types_are_a_fault():
    wrong = replace(right := large(many()), tokens=shuffled(right.tokens))
    assert not is_of_other_model(wrong, Opened(Encoder(right)))


def test_real_vocabularies_of_similar_models_are_told_apart(spec_of):
    assert is_of_other_model(spec_of("mpt"), Opened(Encoder(spec_of("gpt-2"))))
    assert not is_of_other_model(spec_of("gemma-3"), Opened(Encoder(spec_of("gemma-4"))))


@pytest.mark.parametrize(
    ("ours", "theirs", "template", "expected"),
    [
        ("<|turn|>", "<|reserved_5|>", None, True),
        ("<|turn|>", "[PAD260]", None, True),
        ("<|reserved_5|>", "<|turn|>", None, False),
        ("<|turn|>", "<|im_start|>", "<|turn|>x", True),
        ("<|turn|>", "<|im_start|>", "<|im_start|>x", False),
        ("<|turn|>", "<|turn|>", "<|turn|>x", False),
        ("<end_of_turn>", "<turn|>", None, True),
        ("word", "[PAD260]", None, False),
    ],
)
def test_markers_that_only_the_file_has_show_another_version(ours, theirs, template, expected):
    spec, reference = (bpe_spec((), {text: CONTROL}) for text in (ours, theirs))
    found = find_other_model(replace(spec, chat_template=template), Opened(Encoder(reference)))
    assert bool(found) is expected
    assert (f'it lacks 256 "{ours}", which is an added token here' in found) is expected


@pytest.mark.parametrize(
    ("template", "expected"),
    [("<|im_end|>", False), (None, True), ("<|eot_id|>", True), ("<|im_end|><|eot_id|>", True)],
)
def test_a_renamed_end_is_a_fault_if_the_template_still_writes_the_name_of_the_reference(template, expected):
    spec, reference = (bpe_spec((), {text: CONTROL}) for text in ("<|eot_id|>", "<|im_end|>"))
    found = find_other_model(replace(spec, chat_template=template), Opened(Encoder(reference)))
    assert bool(found) is expected


def test_a_marker_that_the_reference_has_at_another_id_is_not_lost():
    spec, reference = (
        bpe_spec((), dict.fromkeys(texts, CONTROL)) for texts in (["<|a|>", "[PAD257]"], ["[PAD256]", "<|a|>"])
    )
    assert not find_other_model(spec, Opened(Encoder(reference)))


def test_added_tokens_that_are_only_reserved_in_the_reference_show_another_version():
    """CodeGen has runs of spaces where GPT-J has `<|extratoken_1|>` and so on."""
    spec = bpe_spec((), {"      ": TokenType.USER_DEFINED.value, "     ": TokenType.USER_DEFINED.value})
    reference = bpe_spec((), dict.fromkeys(["<|extratoken_1|>", "<|extratoken_2|>"], CONTROL))
    found = find_other_model(spec, Opened(Encoder(reference)))
    assert "it lacks" in found
    assert "which are added tokens here" in found
    assert not find_other_model(reference, Opened(Encoder(spec)))


@pytest.mark.parametrize(
    ("text", "type", "template", "theirs", "expected"),
    [
        ("<think>", TokenType.USER_DEFINED, "<think>x", "x", True),
        ("<|turn|>", CONTROL, "<|turn|>x", None, True),
        ("<|turn|>", CONTROL, "x", "x", False),
        ("[PAD258]", CONTROL, "[PAD258]x", "x", False),
        # These may be plain text.
        ("<think>", TokenType.USER_DEFINED, "<think>x", "<think>x", False),
        ("<think>", TokenType.USER_DEFINED, "<think>x", None, False),
        ("<think>", TokenType.NORMAL, "<think>x", "x", False),
    ],
)
def test_a_token_after_the_last_one_that_only_our_chat_template_writes_shows_another_version(
    text: str, type: TokenType, template: str, theirs: str | None, expected: bool
):
    spec = bpe_spec((), {"<|other|>": CONTROL, text: int(type)}, chat_template=template)
    reference = bpe_spec((), {"<|other|>": CONTROL}, chat_template=theirs)
    assert bool(find_other_model(spec, Opened(Encoder(reference)))) is expected
    # Bytes alone do not tell which texts are tokens.
    assert not find_other_model(spec, Opened(Bare(Encoder(reference))))


@pytest.mark.parametrize(
    ("inserted", "appended", "rows", "expected"),
    [
        (["<|new|>"], [], 260, True),
        (["<|new|>"], [], None, False),
        # The model has room for the token that it lacks.
        (["<|new|>"], [], 261, False),
        # It moves no other token.
        ([], ["<|image|>"], 260, False),
        ([], ["[PAD260]"], 260, False),
    ],
)
def test_a_reference_that_moves_tokens_beyond_the_embeddings_is_another_version(
    inserted: list[str], appended: list[str], rows: int | None, expected: bool
):
    added = ["<|a|>", "<|b|>", "<|c|>", "<|d|>"]
    spec = bpe_spec((), dict.fromkeys(added, CONTROL))
    reference = bpe_spec((), dict.fromkeys([*inserted, *added, *appended], CONTROL))
    facts = Opened(Encoder(reference))
    found = doubt_reference(Declaration(spec=replace(spec, embedding_rows=rows)), facts)
    sentence = 'it has 260 "<|d|>", which has another id in the model, and the model has only 260 embeddings'
    assert (sentence in found) is expected
    assert bool(found) is expected


@pytest.mark.parametrize(
    ("special_ids", "template", "rows", "expected"),
    [
        ({"eos": 257}, None, 256, True),
        ({}, "<|im_start|>x<|im_end|>", 256, True),
        ({"eos": 257}, None, 258, False),
        ({"pad": 257}, "x", 256, True),
        ({"pad": 257}, "<|im_end|>", 258, False),
    ],
)
def test_a_reference_whose_chats_need_tokens_beyond_the_embeddings_is_another_version(
    special_ids: dict[str, int], template: str | None, rows: int, expected: bool
):
    markers = dict.fromkeys(["<|im_start|>", "<|im_end|>"], CONTROL)
    reference = bpe_spec((), markers, special_ids=special_ids, chat_template=template)
    found = doubt_reference(
        Declaration(spec=replace(bpe_spec((), {}), embedding_rows=rows)), Opened(Encoder(reference))
    )
    assert ("its chats need" in found) is expected
    assert bool(found) is expected


def test_a_reference_without_the_padding_before_the_last_tokens_is_not_doubted():
    """A script that merges models padded the vocabulary before it added the marker."""
    padded = {"[PAD256]": TokenType.UNUSED, "[PAD257]": TokenType.UNUSED, "<|end|>": CONTROL}
    spec = replace(bpe_spec((), padded), embedding_rows=259)
    assert not find_other_model(spec, Opened(Encoder(bpe_spec((), {"<|end|>": CONTROL}))))


@pytest.mark.parametrize(
    ("last", "rows", "expected"),
    [
        ("<|end|>", 258, True),
        # A token that was inserted into the file has no embedding, unless padding had been in excess.
        ("<|end|>", 257, False),
        ("<|end|>", None, False),
        ("[PAD257]", 258, False),
    ],
)
def test_a_reference_that_lacks_a_token_between_others_is_doubted_if_it_has_an_embedding(
    last: str, rows: int | None, expected: bool
):
    spec = replace(bpe_spec((), {"word": TokenType.NORMAL, last: CONTROL}), embedding_rows=rows)
    found = find_other_model(spec, Opened(Encoder(bpe_spec((), {last: CONTROL}))))
    assert ('it lacks 256 "word", which moves the tokens after' in found) is expected
    assert bool(found) is expected


@pytest.mark.parametrize("text", ["<|image|>", "[PAD]", "<mask>"])
def test_a_token_beyond_the_embeddings_that_ends_no_turn_is_no_evidence(text: str):
    reference = bpe_spec((), {text: CONTROL}, special_ids={"pad": 256}, chat_template="x")
    assert not doubt_reference(
        Declaration(spec=replace(bpe_spec((), {}), embedding_rows=256)), Opened(Encoder(reference))
    )


@pytest.mark.parametrize(
    ("count", "type", "rows", "expected"),
    [
        (8, TokenType.NORMAL, 256, True),
        (7, TokenType.NORMAL, 256, False),
        # Tokens that were added only to the reference move no other, and the model may have room for more.
        (8, CONTROL, 256, False),
        (8, TokenType.NORMAL, 264, False),
        (8, TokenType.NORMAL, None, False),
    ],
)
def test_a_reference_that_was_trained_with_more_tokens_than_embeddings_is_another_version(
    count: int, type: TokenType, rows: int | None, expected: bool
):
    reference = bpe_spec((), {f"<{'x' * number}>": type for number in range(1, count + 1)})
    spec = replace(bpe_spec((), {}), embedding_rows=rows)
    found = doubt_reference(Declaration(spec=spec), Opened(Encoder(reference)))
    assert ("8 more ordinary tokens" in found) is expected
    assert bool(found) is expected


@pytest.mark.parametrize(
    ("start", "count", "named", "template", "expected"),
    [
        (12, 20, "[SYSTEM_PROMPT]", None, True),
        # Padding is numbered by its ids, and stands alone among other tokens.
        (12, 1, "[SYSTEM_PROMPT]", None, False),
        (12, 20, "[control_99]", None, False),
        # A model that was trained with the names has them in its chats, or ends generations with one.
        (12, 20, "[SYSTEM_PROMPT]", "[SYSTEM_PROMPT]x", False),
        (12, 20, "<|im_end|>", None, False),
    ],
)
def test_names_for_reserved_tokens_show_a_later_version(
    start: int, count: int, named: str, template: str | None, expected: bool
):
    reserved = [f"[control_{number}]" for number in range(start, start + count)]
    spec = bpe_spec((), dict.fromkeys(reserved, CONTROL))
    reference = bpe_spec((), dict.fromkeys([named, *reserved[1:]], CONTROL), chat_template=template)
    found = find_other_model(spec, Opened(Encoder(reference)))
    assert ('it gives names to 256 "[control_12]"' in found) is expected
    assert not find_other_model(reference, Opened(Encoder(reference)))


@pytest.mark.parametrize(
    ("count", "named", "type", "expected"),
    [
        (20, "[SYSTEM_PROMPT]", CONTROL, True),
        (20, "[SYSTEM_PROMPT]", TokenType.NORMAL, False),
        (1, "[SYSTEM_PROMPT]", CONTROL, False),
        (20, "[control_99]", CONTROL, False),
    ],
)
def test_reserved_tokens_in_place_of_names_show_an_earlier_version(
    count: int, named: str, type: TokenType, expected: bool
):
    reserved = [f"[control_{number}]" for number in range(12, 12 + count)]
    reference = bpe_spec((), dict.fromkeys(reserved, CONTROL))
    spec = bpe_spec((), {named: type, **dict.fromkeys(reserved[1:], CONTROL)})
    found = find_other_model(spec, Opened(Encoder(reference)))
    assert (f'it lacks 256 "{named}", which is an added token here' in found) is expected
    assert bool(found) is expected


@pytest.mark.parametrize(
    ("count", "is_between", "type", "expected"),
    [
        (8, True, TokenType.NORMAL, True),
        (7, True, TokenType.NORMAL, False),
        # Padding at the end has other names in other files.
        (8, False, TokenType.NORMAL, False),
        (8, True, TokenType.UNUSED, False),
    ],
)
def test_holes_between_the_tokens_of_a_reference_show_that_some_were_removed(
    count: int, is_between: bool, type: TokenType, expected: bool
):
    def spec(names: list[str], type: TokenType) -> TokenizerSpec:
        end = {"<|end|>": CONTROL} if is_between else {}
        return bpe_spec((), {**dict.fromkeys(names, type), **end})

    ids = range(256, 256 + count)
    holes = Opened(Encoder(spec([f"[PAD{id}]" for id in ids], TokenType.UNUSED)))
    found = find_other_model(spec([f"<unused{id}>" for id in ids], type), holes)
    assert (f'it lacks a token for {count} ids between its others, such as 256 "<unused256>"' in found) is expected
    assert bool(found) is expected


def test_bytes_alone_show_reserved_tokens_in_place_of_markers():
    spec = bpe_spec((), {"<|box_start|>": CONTROL})
    found = find_other_model(spec, Opened(Bare(Encoder(bpe_spec((), {"<|extra_0|>": CONTROL})))))
    assert 'it lacks 256 "<|box_start|>", which is an added token here' in found
    assert not find_other_model(spec, Opened(Bare(Encoder(spec))))


def test_a_lost_name_is_a_fault_if_other_tokens_differ_too():
    reserved = [f"[control_{number}]" for number in range(20)]
    spec = bpe_spec((), dict.fromkeys(["<|other|>", *reserved], CONTROL))
    reference = bpe_spec((), dict.fromkeys(["<|another|>", "[SYSTEM_PROMPT]", *reserved[1:]], CONTROL))
    assert not find_other_model(spec, Opened(Encoder(reference)))


@pytest.mark.parametrize(
    ("count", "type", "rows", "expected"),
    [
        (120, CONTROL, None, True),
        (20, CONTROL, None, True),
        (20, 1, None, False),
        (120, 1, None, True),
        (120, 1, 258, False),
        (120, 1, 400, True),
    ],
)
def test_many_tokens_after_the_last_one_of_the_reference_show_another_version(count, type, rows, expected):
    more = {f"|<EXTRA_TOKENS_{index}>|": type for index in range(count)}
    spec = replace(bpe_spec((), {"<|x|>": CONTROL, **more}), embedding_rows=rows)
    found = find_other_model(spec, Opened(Encoder(bpe_spec((), {"<|x|>": CONTROL}))))
    assert (f"it lacks the last {count} tokens here" in found) is expected


@pytest.mark.parametrize(("count", "expected"), [(3, True), (2, False)])
def test_some_added_tokens_after_those_that_a_reference_names_show_a_later_version(count: int, expected: bool):
    """A tiktoken encoding declares no tokenizer that GGUF has, but it names its special tokens."""
    encoding = Bare(Encoder(bpe_spec((), {"<|x|>": CONTROL})))
    encoding.control_texts = frozenset({"<|x|>"})
    spec = bpe_spec((), {"<|x|>": CONTROL, **{" " * size: USER_DEFINED for size in range(2, 2 + count)}})
    assert (f"it lacks the last {count} tokens here" in find_other_model(spec, Opened(encoding))) is expected


@pytest.mark.parametrize(("type", "is_typed", "expected"), [(1, True, True), (CONTROL, True, False), (1, False, False)])
def test_ordinary_tokens_after_the_last_one_of_a_sentencepiece_model_show_an_extended_vocabulary(
    type: int, is_typed: bool, expected: bool
):
    """A .model alone lists all pieces, but no added tokens, of which a file without types may have some."""
    base = {"▁a": -1.0, "b": -2.0}
    more = {f"▁c{index}": -3.0 - index for index in range(120)}
    reference = Opened(Encoder(spm_spec(base)))
    vars(reference)["lists_all_tokens"] = False
    spec = spm_spec({**base, **more}, dict.fromkeys(more, type))
    found = find_other_model(spec if is_typed else replace(spec, types=[1] * len(spec.tokens)), reference)
    assert ("it lacks the last 120 tokens here" in found) is expected


@pytest.mark.parametrize(
    ("added", "ours", "theirs", "expected"),
    [
        (["<think>", "</think>"], "x", "y", True),
        (["<think>"], "x", "y", False),
        (["[PAD]", "<unk>"], "x", "y", False),
        (["<think>", "</think>"], "x", "x\n", False),
        (["<think>", "</think>"], "x", None, False),
        (["<think>", "</think>"], None, "y", False),
    ],
)
def test_a_pair_of_added_tokens_beside_another_chat_template_shows_another_version(
    added: list[str], ours: str | None, theirs: str | None, expected: bool
):
    spec = bpe_spec((), {"<|x|>": CONTROL, **dict.fromkeys(added, CONTROL)}, chat_template=ours)
    found = find_other_model(spec, Opened(Encoder(bpe_spec((), {"<|x|>": CONTROL}, chat_template=theirs))))
    assert ("it lacks the last 2 tokens here" in found) is expected
    assert bool(found) is expected


class Stating(IdsOnly):
    """Shows no tokens, but says how many there are."""

    def __init__(self, spec: TokenizerSpec) -> None:
        super().__init__(Encoder(spec))
        self.stated_size = len(spec.tokens)


@pytest.mark.parametrize(
    ("count", "type", "rows", "expected"),
    [
        (100, TokenType.NORMAL, None, True),
        (99, TokenType.NORMAL, None, False),
        # A program may count its tokens without those that were added.
        (100, CONTROL, None, False),
        (100, TokenType.NORMAL, 256, False),
    ],
)
@pytest.mark.parametrize("reference", [Stating, lambda spec: Bare(Encoder(spec))])
def test_many_ordinary_tokens_after_as_many_as_a_reference_states_show_another_model(
    count: int, type: TokenType, rows: int | None, expected: bool, reference
):
    spec = bpe_spec((), {f"word{index}": type for index in range(count)})
    found = find_other_model(replace(spec, embedding_rows=rows), Opened(reference(bpe_spec((), {}))))
    assert (f"it says that it has fewer tokens, and {count} ordinary ones here" in found) is expected
    assert bool(found) is expected


@pytest.mark.parametrize(
    ("count", "theirs", "role", "expected"),
    [
        (20, "<beginning_of_sentence>", "bos", True),
        (20, "<beginning_of_sentence>", "eos", True),
        (20, "<beginning_of_sentence>", "pad", False),
        (20, "]~b]", "bos", False),
        # A fault renames a token, or adds a few.
        (5, "<beginning_of_sentence>", "bos", False),
    ],
)
def test_some_tokens_after_the_last_one_and_another_name_of_bos_or_eos_show_a_sibling(count, theirs, role, expected):
    more = {f"]<]start of {index}[>[": 1 for index in range(count)}
    spec = bpe_spec((), {"]~b]": CONTROL, **more}, special_ids={role: 256})
    reference = bpe_spec((), {theirs: CONTROL}, special_ids={role: 256})
    found = find_other_model(spec, Opened(Encoder(reference)))
    assert (f"it lacks the last {count} tokens here" in found) is expected


@pytest.mark.parametrize(
    ("text", "count", "expected"),
    [
        ("<|code_{}|>", 22, True),
        ("<|code_{}|>", 3, True),
        ("### End {}", 3, True),
        ("{1}", 3, True),
        # A fault adds two, or those that there are already, and padding stands for nothing.
        ("<|code_{}|>", 2, False),
        ("<|a|>", 22, False),
        ("<|reserved_{}|>", 22, False),
        ("word{}", 22, False),
    ],
)
def test_some_added_tokens_after_the_last_one_show_a_later_version(text: str, count: int, expected: bool):
    spec = bpe_spec(
        (),
        {
            "<|a|>": CONTROL,
            **{text.format(index, chr(0x3B1 + index)): CONTROL for index in range(count)},
        },
    )
    found = find_other_model(spec, Opened(Encoder(bpe_spec((), {"<|a|>": CONTROL}))))
    assert (f"it lacks the last {count} tokens here" in found) is expected


@pytest.mark.parametrize(
    ("count", "text", "changed", "expected"),
    [
        (120, "<mask_{}>", {}, True),
        (90, "<mask_{}>", {}, False),
        (120, "<|reserved_{}|>", {}, False),
        # A file that was cut off points beyond its end, or has embeddings for more.
        (120, "<mask_{}>", {"special_ids": {"pad": 300}}, False),
        (120, "<mask_{}>", {"chat_template": "{{ '<mask_7>' }}"}, False),
        (120, "<mask_{}>", {"merges": ["a b", "a c"]}, False),
        (120, "<mask_{}>", {"embedding_rows": 500}, False),
        (120, "<mask_{}>", {"embedding_rows": 258}, True),
    ],
)
def test_many_added_tokens_after_our_last_one_show_another_model_unless_something_points_to_them(
    count: int, text: str, changed: dict[str, object], expected: bool
):
    reference = bpe_spec(["a b"], dict.fromkeys(["<|x|>", *map(text.format, range(count))], CONTROL))
    size = 258
    spec = replace(reference, tokens=reference.tokens[:size], types=(reference.types or ())[:size], **changed)
    found = find_other_model(spec, Opened(Encoder(reference)))
    assert (f"it has {count} more added tokens after the last one here" in found) is expected


@pytest.mark.parametrize(
    ("names", "rows", "expected"),
    [
        (["adapter_config.json"], None, True),
        (["adapter_config.json"], 500, False),
        (["config.json"], None, False),
        (["adapter_config.json", "config.json"], None, False),
    ],
    ids=["adapter", "merged", "model", "both"],
)
def test_a_token_that_an_adapter_adds_is_not_missing_in_its_base_model(
    names: list[str], rows: int | None, expected: bool, tmp_path: Path
):
    for name in names:
        (tmp_path / name).write_text("{}")
    reference = Encoder(bpe_spec((), {"<|a|>": CONTROL, "<|b|>": CONTROL}))
    spec = bpe_spec((), {"<|a|>": CONTROL}, embedding_rows=rows)
    found = find_other_model(spec, Opened(reference, tmp_path / "tokenizer.json"))
    assert ("is that of an adapter" in found) is expected


@pytest.mark.parametrize(
    ("count", "ours", "theirs", "expected"),
    [
        pytest.param(3, "x", "y", True, id="another-template"),
        pytest.param(2, "x", "y", False, id="too-few"),
        pytest.param(3, "{{ '<|b0|>' }}{{ '<|a|>' }}", "x", False, id="the-template-here-writes-one"),
        pytest.param(3, "x", "{{ '<|b0|>' }}{{ '<|a|>' }}", False, id="the-other-template-writes-one"),
        pytest.param(3, "x", "x", False, id="same-template"),
        pytest.param(3, None, "x", False, id="no-template"),
    ],
)
@pytest.mark.parametrize("padding", [0, 5])
def test_some_added_tokens_of_a_reference_beside_another_chat_template_show_a_sibling(
    count: int, ours: str | None, theirs: str, expected: bool, padding: int
):
    padded = {f"[PAD{257 + index}]": TokenType.UNUSED for index in range(padding)}
    spec = bpe_spec((), {"<|a|>": CONTROL, **padded}, chat_template=ours)
    more = {f"<|b{index}|>": CONTROL for index in range(count)}
    found = find_other_model(spec, Opened(Encoder(bpe_spec((), {"<|a|>": CONTROL, **more}, chat_template=theirs))))
    assert (f"it has {count} more added tokens after the last one here" in found) is expected
    assert bool(found) is expected


@pytest.mark.parametrize(
    ("words", "added", "rows", "expected"),
    [
        pytest.param(120, 2, None, True, id="many-words"),
        pytest.param(120, 2, 258, True, id="no-embeddings-for-them"),
        pytest.param(120, 2, 378, False, id="embeddings-for-them"),
        pytest.param(120, 1, None, False, id="one-marker"),
        pytest.param(20, 2, None, False, id="few-words"),
    ],
)
def test_added_tokens_that_come_after_many_more_words_show_an_extended_vocabulary(
    words: int, added: int, rows: int | None, expected: bool
):
    markers = dict.fromkeys(("<|a|>", "<|b|>")[:added], CONTROL)
    spec = replace(bpe_spec((), markers), embedding_rows=rows)
    reference = bpe_spec((), {**{f"word{index}": 1 for index in range(words)}, **markers})
    assert (f"it has {words} more tokens" in find_other_model(spec, Opened(Encoder(reference)))) is expected


@pytest.mark.parametrize(
    ("count", "size", "template", "expected"),
    [
        (3, 257, "", True),
        (2, 257, "", False),
        (3, None, "", False),
        # A file that lost tokens says that the model has more, or its template writes them.
        (3, 260, "", False),
        (3, 257, "{{ '<|b0|>' }}{{ '<|a|>' }}", False),
    ],
)
def test_added_tokens_beyond_the_size_that_a_model_states_show_a_sibling(
    count: int, size: int | None, template: str, expected: bool
):
    spec = bpe_spec((), {"<|a|>": CONTROL}, chat_template=template or None)
    reference = bpe_spec((), {"<|a|>": CONTROL, **{f"<|b{index}|>": CONTROL for index in range(count)}})
    found = doubt_reference(Declaration(spec=spec, vocab_size=size), Opened(Encoder(reference)))
    assert (f"but the file's vocab_size is {size}, the number of its tokens" in found) is expected
    assert bool(found) is expected


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ("<|row_{}|>", "<|fim_{}|>", True),
        ("</formula_{}>", "<|fim_{}|>", True),
        # A fault respells markers, or leaves padding in their place.
        ("<|ROW_{}|>", "<|row_{}|>", False),
        ("<|row_{}>", "<|row_{}|>", False),
        ("&lt;|row_{}|&gt;", "<|row_{}|>", False),
        ("[PAD{}]", "<|row_{}|>", False),
    ],
)
def test_other_markers_in_place_of_some_show_another_model(ours: str, theirs: str, expected: bool):
    spec, reference = (bpe_spec((), {text.format(index): CONTROL for index in range(3)}) for text in (ours, theirs))
    assert ("it has other markers in place of" in find_other_model(spec, Opened(Encoder(reference)))) is expected


@pytest.mark.parametrize(
    ("theirs", "expected"),
    [(["<unk>", "<s>", "</s>", "<pad>"], True), (["<pad>", "<unk>", "</s>", "<mask>"], False)],
)
def test_names_of_other_roles_in_place_of_some_show_another_model(theirs: list[str], expected: bool):
    spec, reference = (
        bpe_spec((), dict.fromkeys(texts, CONTROL)) for texts in (["[PAD]", "[UNK]", "[SEP]", "[MASK]"], theirs)
    )
    assert ("it has other markers in place of" in find_other_model(spec, Opened(Encoder(reference)))) is expected


class Ranks(Bare):
    """As tiktoken, which has no token for the ids between its special tokens, or lists no special tokens at all."""

    def __init__(self, spec: TokenizerSpec, *, names_any: bool) -> None:
        super().__init__(Encoder(spec))
        self._missing = {id for id, text in enumerate(spec.tokens) if text.startswith("<|row")}
        self.parses_special, self.control_texts = names_any, {"<|end|>"} if names_any else set()

    def piece(self, id: int) -> str:
        return "" if id in self._missing else super().piece(id)

    def token_bytes(self, id: int) -> bytes:
        return b"" if id in self._missing else super().token_bytes(id)


@pytest.mark.parametrize(("count", "names_any", "expected"), [(3, True, True), (2, True, False), (3, False, False)])
def test_markers_for_which_a_reference_with_special_tokens_has_no_token_show_another_model(
    count: int, names_any: bool, expected: bool
):
    rows = [f"<|row_{index}|>" for index in range(count)]
    spec = bpe_spec((), dict.fromkeys([*rows, "<|end|>"], CONTROL))
    found = find_other_model(spec, Opened(Ranks(spec, names_any=names_any)))
    assert ("it has other markers, or none, in place of" in found) is expected


@pytest.mark.parametrize(
    ("theirs", "type", "expected"),
    [
        (["<|fim_0|>", "<|fim_1|>", "<|fim_2|>"], USER_DEFINED, True),
        (["<begin_of_image>", "<image_0>", "<image_1>"], CONTROL, True),
        (["<begin_of_image>", "<image_0>", "<image_1>"], USER_DEFINED, False),
        # A fault moves tokens, or leaves padding in their place.
        (["د", "ذ", "ج"], CONTROL, False),
        (["[PAD256]", "[PAD257]", "[PAD258]"], CONTROL, False),
    ],
)
def test_other_markers_in_place_of_added_characters_show_another_model(theirs: list[str], type: int, expected: bool):
    """As of DeepSeek, which has single bytes as added tokens, and Janus, which has other tokens there."""
    spec, reference = (
        bpe_spec([], dict.fromkeys(texts, each)) for texts, each in ((["ج", "د", "ذ"], USER_DEFINED), (theirs, type))
    )
    found = find_other_model(spec, Opened(Encoder(reference)))
    assert ("it has other markers in place of" in found) is expected


NAMES = ["<|im_start|>", "<|im_end|>", *(f"<|row_{id}|>" for id in "hgfedcba")]


@pytest.mark.parametrize(
    ("names", "eos", "expected"),
    [
        (NAMES, 257, True),
        # Only the texts were moved; few of them; not all of them were added; no role shows it.
        (NAMES, 258, False),
        (NAMES[:4], 257, False),
        ([*NAMES, "<|plain|>"], 257, False),
        (NAMES, None, False),
    ],
)
def test_a_reference_that_numbers_its_added_tokens_by_their_texts_is_doubted(names, eos, expected):
    ids = {} if eos is None else {"eos": eos}
    types = [
        dict.fromkeys(each, CONTROL) | ({"<|plain|>": TokenType.NORMAL} if "<|plain|>" in each else {})
        for each in (names, sorted(names))
    ]
    spec, reference = (bpe_spec([], each, special_ids=ids) for each in types)
    found = find_other_model(spec, Opened(Encoder(reference)))
    assert ("by their texts, but the EOS here ends a generation" in found) is expected


@pytest.mark.parametrize(
    ("eos", "end", "expected"),
    [
        (256, "<|im_end|>", True),
        # The file's EOS is no end, as if others had been deleted; both have the same EOS.
        (257, "<|im_end|>", False),
        (256, "<|endoftext|>", False),
    ],
)
def test_a_reference_with_an_eos_that_the_file_lacks_and_that_of_the_file_elsewhere_is_doubted(
    eos: int, end: str, expected: bool
):
    """As a merge of two models that has the markers of both."""
    own = ["<|endoftext|>", "<|user|>", "<|assistant|>"]
    merged = ["<|im_start|>", "<|im_end|>", *own]
    spec = bpe_spec([], dict.fromkeys(own, CONTROL), special_ids={"eos": eos})
    reference = bpe_spec([], dict.fromkeys(merged, CONTROL), special_ids={"eos": 256 + merged.index(end)})
    found = find_other_model(spec, Opened(Encoder(reference)))
    assert ('its EOS is "<|im_end|>", which is no token here' in found) is expected


def test_two_markers_with_other_names_are_no_other_model():
    spec, reference = (bpe_spec((), {f"<|{text}_{index}|>": CONTROL for index in range(2)}) for text in ("row", "fim"))
    assert not find_other_model(spec, Opened(Encoder(reference)))


def test_a_reference_whose_tokens_are_written_for_another_kind_of_model_is_doubted():
    """As a sentencepiece model that was made of a byte-level BPE."""
    words = ["the", "boat", "and", "net"]
    spelled = bpe_spec((), {}, tokens=[f"Ġ{word}" for word in words])
    tokens = [token.replace("Ġ", "▁") for token in spelled.tokens]
    marked = replace(spelled, model="llama", pre=None, merges=None, tokens=tokens, scores=[0.0] * len(tokens))
    found = find_other_model(spelled, Opened(Encoder(marked)))
    assert "its tokens are written for the model llama, and those here for gpt2" in found
    # A file with the wrong name of its model can be repaired.
    misnamed = replace(marked, model="gpt2", pre="gpt-2", merges=["a b"], scores=None)
    assert find_other_model(misnamed, Opened(Encoder(marked))) == ""


def test_a_token_with_thousands_of_digits_is_no_reserved_one():
    spec = spec_of("gpt2", ["a", f"[{'1' * 5000}]"], {}, merges=["a a"], pre="gpt-2")
    other = replace(spec, tokens=["a", "[name]"])
    assert "gives names" not in find_other_model(spec, Opened(Encoder(other)))


def test_a_reference_without_the_reserved_tokens_between_others_belongs_to_another_model():
    reserved = [f"[unused{number}]" for number in range(20)]
    words = many()
    ours = large([*reserved[:10], *words[:5], *reserved[10:], *words[5:]])
    assert "in several places" in find_other_model(ours, Opened(Encoder(large(words))))
    # Padding is inserted in one place, and before the end it belongs there.
    for padded in ([*words[:5], *reserved, *words[5:]], [*reserved[:10], *words, *reserved[10:]]):
        assert find_other_model(large(padded), Opened(Encoder(large(words)))) == ""


def test_a_reference_with_other_tokens_at_its_end_for_reserved_ones_belongs_to_another_version():
    """As a tekken.json that counts fewer special tokens: no fault inserts reserved tokens and cuts off others."""
    words = many()
    ours = large([*words[:5], *(f"<SPECIAL_{number}>" for number in range(20)), *words[5:-20]])
    theirs = large(words)
    assert "but has others at its end" in find_other_model(ours, Opened(Encoder(theirs)))
    # A converter that keeps the number of tokens cuts off as many as it inserts.
    padded = large([*words[:5], *(f"[PAD{number}]" for number in range(20)), *words[5:-20]])
    assert find_other_model(padded, Opened(Encoder(theirs))) == ""


def test_a_list_of_bytes_without_some_ordinary_tokens_belongs_to_another_model():
    tokens = ["<s>", *(f"w{number}" for number in range(100))]
    right = spec_of("rwkv", tokens, {"<s>": CONTROL})
    for lost, expected in ((range(50, 60), True), (range(50, 55), False), (range(91, 101), False)):
        listed = {id: text.encode() for id, text in enumerate(tokens) if id and id not in lost}
        reference = RwkvTokenizer(listed)
        assert ("lacks a token for 10 ids between" in find_other_model(right, Opened(reference))) is expected


@pytest.mark.parametrize(
    ("end", "expected"),
    [(5, True), (4, False), ([4, 5], False), (None, False)],
    ids=["id in the file", "id in the reference", "both", "no configuration"],
)
def test_a_reference_whose_configuration_ends_generations_at_the_id_of_the_file_has_moved_its_markers(
    end: object, expected: bool, tmp_path: Path
):
    right = large(["a", "<|turn|>", "<|end|>"], dict.fromkeys(["<|turn|>", "<|end|>"], CONTROL))
    wrong = replace(right, tokens=[*right.tokens[:4], "<|end|>", "<|turn|>"], special_ids={"bos": 1, "eos": 4})
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": end}))
    facts = Opened(Encoder(wrong, "reference"), tmp_path / "tokenizer.json")
    found = find_other_model(replace(right, special_ids={"bos": 1, "eos": 5}), facts)
    assert ('its EOS "<|end|>" has the id 4, but generation_config.json beside it ends' in found) is expected


def test_the_configuration_of_a_base_model_does_not_show_that_a_reference_has_moved_its_markers(tmp_path: Path):
    """Its own EOS is not the one of a fine-tuned model, whose file has exchanged the two."""
    ends = ["<|endoftext|>", "<|im_end|>"]
    right = large(["a", *ends], dict.fromkeys(ends, CONTROL))
    exchanged = replace(right, tokens=[*right.tokens[:4], *ends[::-1]], special_ids={"bos": 1, "eos": 4})
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": 4}))
    reference = Encoder(replace(right, special_ids={"bos": 1, "eos": 5}), "reference")
    assert find_other_model(exchanged, Opened(reference, tmp_path / "tokenizer.json")) == ""
