from dataclasses import replace

import pytest

from support.spec_maker import CONTROL, spm_spec, unigram_spec
from tokverify.compare.opened import Opened
from tokverify.engine.encoder import Encoder
from tokverify.repair.added_token_change import padding, reference_tokens
from tokverify.repair.declared_change import declared_changes
from tokverify.repair.evidence import Evidence
from tokverify.repair.extra_token_change import extra_tokens
from tokverify.repair.token_patch import TokenPatch, patch_tokens
from tokverify.spec import TokenType

RIGHT = spm_spec({"▁": -5, "a": -1, "<x>": 0}, {"<x>": CONTROL}, special_ids={"bos": 1, "eos": 2, "unk": 0})
SIZE = len(RIGHT.tokens)
WRONG = replace(
    RIGHT,
    tokens=[*RIGHT.tokens, "<|im_end|>", f"[PAD{SIZE + 1}]"],
    types=[*RIGHT.types, CONTROL, TokenType.UNUSED.value],
    scores=[*RIGHT.scores, 0.0, 0.0],
    special_ids={**RIGHT.special_ids, "eos": SIZE, "pad": SIZE},
)


def evidence(spec, reference=RIGHT) -> Evidence:
    return Evidence(spec, None, Opened(Encoder(reference, "right")), ())


def test_scores_types_and_roles_are_cut_with_the_tokens():
    (change,) = extra_tokens(evidence(WRONG))
    fixed = change.transform(WRONG)
    assert (list(fixed.tokens), list(fixed.types)) == (list(RIGHT.tokens), list(RIGHT.types))
    assert list(fixed.scores) == list(RIGHT.scores)
    assert fixed.special_ids == RIGHT.special_ids


def test_padding_takes_the_place_of_removed_tokens_that_have_an_embedding():
    """As of placeholders that a converter puts before the added tokens, which then have too high ids."""
    for rows, padded in ((SIZE + 2, 2), (SIZE, 0), (None, 0)):
        wrong = replace(WRONG, embedding_rows=rows)
        (change,) = extra_tokens(evidence(wrong))
        fixed = change.transform(wrong)
        assert list(fixed.tokens) == [*RIGHT.tokens, *(f"[PAD{SIZE + index}]" for index in range(padded))]
        assert list(fixed.types) == [*RIGHT.types, *[TokenType.UNUSED.value] * padded]


def test_tokens_that_were_moved_get_the_text_and_type_of_the_reference():
    added = {"<a>": CONTROL, "<b>": TokenType.USER_DEFINED.value, "<c>": TokenType.USER_DEFINED.value}
    pieces = {"▁": -5, "▁▁": -6, **dict.fromkeys(added, 0)}
    reference = spm_spec(pieces, added, special_ids=RIGHT.special_ids)
    first = list(reference.tokens).index("<a>")
    tokens, types = list(reference.tokens), list(reference.types)
    tokens[first:] = ["<b>", "<c>", "<pad_extra>"]
    types[first:] = [TokenType.USER_DEFINED.value] * 3
    tokens[tokens.index("▁▁")] = "  "
    wrong = replace(reference, tokens=tokens, types=types)
    changes = [change.transform(wrong) for change in reference_tokens(evidence(wrong, reference))]
    # First only where both differ, then all that have another text; another mark of spaces is none.
    assert [list(fixed.tokens[first:]) for fixed in changes] == [["<a>", "<c>", "<pad_extra>"], ["<a>", "<b>", "<c>"]]
    assert list(changes[1].types) == list(reference.types)
    assert "  " in changes[1].tokens


def test_placeholders_are_cut_only_if_texts_can_contain_them():
    for type, count in ((CONTROL, 0), (TokenType.USER_DEFINED.value, 1)):
        spec = replace(
            RIGHT,
            tokens=[*RIGHT.tokens, "<extra_id_0>", "<extra_id_1>"],
            types=[*RIGHT.types, type, type],
            scores=[*RIGHT.scores, 0.0, 0.0],
        )
        assert len(list(extra_tokens(evidence(spec)))) == count


def test_padding_gives_each_embedding_a_token():
    padded = padding(SIZE, SIZE + 2).transform(RIGHT)
    assert padded.tokens[SIZE:] == [f"[PAD{SIZE}]", f"[PAD{SIZE + 1}]"]
    assert padded.types[SIZE:] == [TokenType.UNUSED.value] * 2
    assert len(padded.scores) == SIZE + 2


def test_a_unigram_model_does_not_use_padding_for_its_own_text():
    pieces = dict.fromkeys("▁[PAD]0123456789", -3.0)
    right = unigram_spec(pieces, special_ids={"unk": 2})
    size = len(right.tokens)
    padded = Encoder(padding(size, size + 1).transform(right))
    for text in (f"[PAD{size}]", f"0 [PAD{size}]1"):
        ids = [encoder.encode(text, add_special=False, parse_special=False) for encoder in (padded, Encoder(right))]
        assert ids[0] == ids[1]


def test_nothing_is_removed_from_a_vocabulary_that_is_not_larger():
    assert list(extra_tokens(evidence(RIGHT, reference=WRONG))) == []
    assert list(extra_tokens(evidence(RIGHT))) == []


def test_changes_of_types_do_not_concern_tokens_that_are_removed():
    wrong = replace(WRONG, types=[*WRONG.types[:-3], TokenType.NORMAL.value, *WRONG.types[-2:]])
    removal, *others = declared_changes(wrong, None, Opened(Encoder(RIGHT, "right")))
    assert removal.kind == "added"
    assert [change.sentence for change in others] == [f'setting the type of token {SIZE - 1} "<x>" to CONTROL']


def test_a_patch_of_a_token_that_is_removed_has_no_effect():
    (removal,) = extra_tokens(evidence(WRONG))
    patch = patch_tokens({SIZE: TokenPatch("x", CONTROL)}, "types", "", 1.0)
    assert removal.then(patch).transform(WRONG) == removal.transform(WRONG)


@pytest.mark.parametrize(("spec", "is_removed"), [(RIGHT, False), (unigram_spec({"a": -1.0}), True)])
def test_an_unused_token_is_removed_only_if_the_model_may_use_it(spec, is_removed: bool):
    wrong = replace(
        spec, tokens=[*spec.tokens, "ab"], types=[*spec.types, TokenType.UNUSED.value], scores=[*spec.scores, 0.0]
    )
    assert bool(list(extra_tokens(evidence(wrong, reference=spec)))) is is_removed
