"""How far back an extension of a text changes its tokens, and sessions that encode only what is new."""

import pytest

from support.fake_tokenizer import FakeTokenizer
from support.paths import SAMPLE
from tokverify import load_cases, load_gguf
from tokverify.case import Case
from tokverify.compare.extending import MAX_CHARACTERS, MAX_PIECES, Extensions, split
from tokverify.report.stream import Reach, StreamFault


def extend(tokenizer, *texts):
    cases = [Case(id=str(at), suite="own", text=text) for at, text in enumerate(texts)]
    extensions = Extensions(tokenizer)
    return extensions, list(extensions.failures(cases))


def reach(before, added, tokens):
    return Reach("own/0", before, added, len(before), tokens)


@pytest.mark.parametrize(
    ("pieces", "text", "expected"),
    [
        (["a", "b"], "abba", ()),
        (["a", "b", "ab"], "ab", (reach("a", "b", 1),)),
        # Nothing before the last x changes.
        (["x", "a", "b", "ab"], "xaxab", (reach("a", "b", 1),)),
        # After `a`, one token is not final until `d` comes; after `abc`, three are.
        (["a", "b", "c", "d", "abcd"], "abcd", (reach("abc", "d", 3),)),
        # The most characters, and elsewhere the most tokens.
        (
            ["a", "b", "c", "abc", "hello", "hello!", "h", "he", "hel", "hell", "!"],
            "hello!abc",
            (reach("hello", "!", 1), reach("ab", "c", 2)),
        ),
        ([], "", ()),
    ],
)
def test_the_furthest_changes_are_those_worked_out_by_hand(pieces, text, expected):
    extensions, failures = extend(FakeTokenizer(*pieces), text)
    assert (extensions.reaches, extensions.extensions, failures) == (expected, len(text), [])


class Session(FakeTokenizer):
    """Keeps all ids but the last `again` ones."""

    def __init__(self, *pieces, again):
        super().__init__(*pieces)
        self.again = again

    def extend(self, pieces, *, parse_special):
        text, ids, every = "", [], []
        for piece in pieces:
            text += piece
            ids = ids[: max(len(ids) - self.again, 0)]
            done = sum(len(self.pieces[id]) for id in ids)
            ids += self.encode(text[done:], add_special=False, parse_special=parse_special)
            every.append(list(ids))
        return every


@pytest.mark.parametrize(("again", "wrong"), [(2, None), (3, None), (1, "0 3"), (0, "0 1 2")])
def test_a_session_that_looks_back_too_little_is_found(again, wrong):
    extensions, failures = extend(Session("a", "b", "c", "bc", "abc", again=again), "abc")
    assert extensions.reaches == (reach("ab", "c", 2),)
    if wrong is None:
        assert failures == []
        return
    (failure,) = failures
    assert (failure.case, failure.fault, failure.extended_to) == ("own/0", StreamFault.EXTENDED, 3)
    assert (failure.expected, failure.streamed, failure.ids) == ("4", wrong, (4,))


def test_long_texts_are_extended_by_more_characters_and_up_to_a_limit():
    assert split("abcde", 2) == ["abc", "de"]
    extensions, _ = extend(FakeTokenizer("a"), "a" * (MAX_CHARACTERS + 1))
    assert extensions.extensions <= MAX_PIECES
    assert dict(extensions.skipped) == {"extended only up to the character 8,192, because it has more": 1}


def test_a_text_that_cannot_be_encoded_is_skipped():
    extensions, failures = extend(FakeTokenizer("ab"), "ab")
    assert (failures, extensions.extensions, extensions.reaches) == ([], 0, ())
    assert dict(extensions.skipped) == {"not extended: no piece for 'a'": 1}


def test_the_measure_of_the_sample_is_confirmed_by_encoding_its_text():
    encoder = load_gguf(SAMPLE / "sample.gguf")
    cases = load_cases()[:200]
    extensions = Extensions(encoder)
    assert list(extensions.failures(cases)) == []
    texts = {case.name: case.text for case in cases}
    for found in extensions.reaches:
        text = texts[found.case]
        end = text.index(found.before + found.added) + len(found.before)
        options = {"add_special": False, "parse_special": True}
        before = encoder.encode(text[:end], **options)
        after = encoder.encode(text[: end + len(found.added)], **options)
        assert found.tokens > 0
        assert before[: len(before) - found.tokens] == after[: len(before) - found.tokens]
        assert before[len(before) - found.tokens] != after[len(before) - found.tokens : len(before)][:1]
