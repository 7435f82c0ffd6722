"""References that declare nothing, and change texts before they encode them, or return a part of the ids."""

from dataclasses import replace

import pytest

from support.bare_tokenizer import Bare, IdsOnly
from support.spec_maker import CONTROL, bpe_spec
from tokverify.case import Case
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.opened import Opened
from tokverify.engine.encoder import Encoder
from tokverify.repair.evidence import Evidence, Target
from tokverify.repair.program_change import REWRITES, cut_ids, rewritten_texts
from tokverify.repair.search import diagnose

SPEC = bpe_spec(["a b", "c d"], {"<|x|>": CONTROL})
ENDED = replace(SPEC, special_ids={"eos": SPEC.tokens.index("<|x|>")}, add_eos=True)
TEXTS = (
    *(
        "Ab CD",
        " ab",
        "ab ",
        "\tab",
        "ab\r\n",
        "ab  cd",
        "ab\t\tcd",
        "áb",
        "c\N{COMBINING ACUTE ACCENT}",
        "日本",
        "a\nb",
        "\N{FULLWIDTH LESS-THAN SIGN}|x|\N{FULLWIDTH GREATER-THAN SIGN}",
    ),
    *("ab", "cd", "ab cd"),
)


class Rewriting(IdsOnly):
    """Changes texts in one of these ways."""

    def __init__(self, name: str) -> None:
        super().__init__(Encoder(SPEC))
        self._rewrite = REWRITES[name]

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        return super().encode(self._rewrite(text), add_special=add_special, parse_special=parse_special)


def first_cause(expected: IdsOnly) -> str:
    cases = [Case(id=str(number), suite="s", text=text) for number, text in enumerate(TEXTS)]
    actual = Encoder(SPEC)
    results = verify_tokenizers(actual, expected, cases).results
    found = diagnose(SPEC, Opened(expected), results, encoder=actual)
    best = found.diagnosis.explanations[0]
    assert (best.unexplained, best.broken, best.expressible) == ((), 0, False)
    return best.sentence


@pytest.mark.parametrize("name", REWRITES)
def test_a_program_that_changes_texts_before_it_encodes_them_is_found_out(name: str):
    assert first_cause(Rewriting(name)) == f"{name} first (as the reference seems to do)"


def test_of_a_reference_that_declares_how_it_encodes_no_such_guess_is_made():
    targets = [Target("s/1", "AB", False, False, tuple(Encoder(SPEC).encode("ab")))]
    for expected, count in ((Encoder(SPEC), 0), (Bare(Encoder(SPEC)), 1), (IdsOnly(Encoder(SPEC)), 1)):
        assert len([*rewritten_texts(Evidence(SPEC, Encoder(SPEC), Opened(expected), targets))]) == count


def test_a_change_that_leaves_some_failing_texts_as_they_are_is_not_tried():
    targets = [Target(f"s/{text}", text, False, False, (1,)) for text in ("AB", "ab")]
    assert not [*rewritten_texts(Evidence(SPEC, Encoder(SPEC), Opened(IdsOnly(Encoder(SPEC))), targets))]


class Cutting(IdsOnly):
    """Returns three ids at most, of which the last one may be EOS."""

    def __init__(self, *, keeps_end: bool) -> None:
        super().__init__(Encoder(ENDED))
        self._keeps_end = keeps_end

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        ids = super().encode(text, add_special=add_special, parse_special=parse_special)
        is_kept = self._keeps_end and add_special and len(ids) > 3
        return [*ids[:2], ids[-1]] if is_kept else ids[:3]


@pytest.mark.parametrize("keeps_end", [False, True])
@pytest.mark.parametrize("add_special", [False, True])
def test_a_program_that_cuts_ids_off_is_found_out(keeps_end: bool, add_special: bool):
    texts = ("ab", "ab cd ab", "cd ab cd ab", "abab")
    cases = [Case(id=text, suite="s", text=text, add_special=add_special) for text in texts]
    expected, actual = Cutting(keeps_end=keeps_end), Encoder(ENDED)
    results = verify_tokenizers(actual, expected, cases).results
    best = diagnose(ENDED, Opened(expected), results, encoder=actual).diagnosis.explanations[0]
    assert (best.unexplained, best.broken, best.expressible) == ((), 0, False)
    what = "3 ids, of which the last one ends the text" if keeps_end and add_special else "the first 3 ids"
    assert best.sentence == f"returning only {what} (as the reference seems to do)"


def test_ids_of_different_lengths_are_not_cut_off():
    ids = tuple(Encoder(ENDED).encode("ab cd ab"))
    targets = [Target(f"s/{end}", "ab cd ab", False, False, ids[:end]) for end in (1, 2)]
    assert not [*cut_ids(Evidence(ENDED, Encoder(ENDED), Opened(IdsOnly(Encoder(ENDED))), targets))]
