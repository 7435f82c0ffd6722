"""Text that is decoded id by id, compared with text that is decoded at once."""

import pytest

from support.fake_tokenizer import FakeTokenizer
from support.paths import SAMPLE
from tokverify import load_cases, load_gguf, load_reference
from tokverify.case import Case
from tokverify.compare.side import side_of
from tokverify.compare.streaming import MAX_IDS, MAX_PREFIXES, check_streams, continues
from tokverify.errors import EncodeError, UnsupportedError
from tokverify.report.stream import StreamFault, StreamMethod

E_ACUTE = ("\udcc3", "\udca9")
"""The two bytes of é, as pieces."""


class Streaming(FakeTokenizer):
    """Streams the pieces of its tokens as `change` returns them."""

    def __init__(self, *pieces, change=lambda text, at: text, **options):
        super().__init__(*pieces, **options)
        self.change = change

    def encode(self, text, *, add_special, parse_special):
        data = text.encode("utf-8", "surrogateescape").decode("latin-1")
        return [self.pieces.index(character) for character in data]

    def decoder(self):
        return _Stream(self)


class _Stream:
    def __init__(self, tokenizer, at=0):
        self.tokenizer, self.at, self.pending = tokenizer, at, ""

    def push(self, id):
        pending, self.pending, self.at = self.pending, "", self.at + 1
        return pending + self.tokenizer.change(self.tokenizer.pieces[id], self.at - 1)

    def finish(self):
        return ""


class Resuming(Streaming):
    """Decodes the last ids before the start again, if `again` is not 0."""

    def __init__(self, *pieces, again, **options):
        super().__init__(*pieces, **options)
        self.again = again

    def resume(self, before):
        stream = _Stream(self, len(before))
        stream.pending = "".join(self.pieces[id] for id in before[len(before) - self.again :])
        return stream


def check(tokenizer, *texts, **options):
    cases = [Case(id=f"case{number}", suite="own", text=text) for number, text in enumerate(texts)]
    return check_streams(tokenizer, side_of(tokenizer), cases, **options)


def faults(streamed):
    return [failure.fault for failure in streamed.failures]


def test_a_stream_that_returns_every_piece_is_correct():
    streamed = check(Streaming("a", "b", "c"), "abc", "", "cab")
    assert (streamed.texts, streamed.ids, streamed.resumptions, streamed.failures) == (3, 6, 0, ())
    assert streamed.method is StreamMethod.INCREMENTAL


@pytest.mark.parametrize(
    ("change", "fault", "text"),
    [
        (lambda text, at: "" if at == 1 else text, StreamFault.LOST, "ac"),
        (lambda text, at: text * 2 if at == 1 else text, StreamFault.DUPLICATED, "abbc"),
        (lambda text, at: "x" if at == 1 else text, StreamFault.CHANGED, "axc"),
        (lambda text, at: "\ufffd" if at == 1 else text, StreamFault.REPLACED, "a\ufffdc"),
    ],
)
def test_each_fault_is_recognized(change, fault, text):
    (failure,) = check(Streaming("a", "b", "c", change=change), "abc").failures
    assert (failure.case, failure.fault, failure.streamed) == ("own/case0", fault, text)
    assert (failure.expected, failure.ids, failure.resumed_at) == ("abc", (0, 1, 2), None)


def test_an_id_that_cannot_be_decoded_is_a_failure():
    def refuse(text, at):
        raise EncodeError("no such id")

    (failure,) = check(Streaming("a", change=refuse), "a").failures
    assert (failure.fault, failure.streamed) == (StreamFault.ERROR, "no such id")


def test_a_replacement_character_that_is_in_the_text_is_no_fault():
    text = "\ufffd".encode().decode("latin-1")
    tokenizer = Streaming(*text)
    tokenizer.decode = lambda ids: "\ufffd".encode()
    tokenizer.change = lambda piece, at: "\ufffd" if at == 2 else ""
    assert check(tokenizer, "\ufffd").failures == ()


class AtOnce(FakeTokenizer):
    """Decodes at once only, like a server; bytes that are not valid become U+FFFD."""

    def encode(self, text, *, add_special, parse_special):
        pieces = text.encode().decode("ascii", "surrogateescape")
        return [self.pieces.index(piece) for piece in pieces]

    def decode(self, ids):
        return super().decode(ids).decode(errors="replace").encode()


def test_prefixes_are_decoded_if_there_is_no_incremental_decoder():
    streamed = check(AtOnce("a", *E_ACUTE), "aéa", "é")
    assert (streamed.method, streamed.texts, streamed.ids, streamed.failures) == (StreamMethod.PREFIXES, 2, 6, ())


def test_text_that_a_longer_prefix_takes_back_is_a_fault():
    tokenizer = AtOnce("a", " ", ".")
    plain = AtOnce.decode
    tokenizer.decode = lambda ids: plain(tokenizer, ids).replace(b" .", b".")
    (failure,) = check(tokenizer, "a .").failures
    assert (failure.fault, failure.expected, failure.streamed) == (StreamFault.CHANGED, "a.", "a ")


def test_all_prefixes_up_to_a_limit_are_decoded_and_the_rest_is_reported():
    streamed = check(AtOnce("a"), "a" * (MAX_PREFIXES + 1), "a" * MAX_PREFIXES)
    assert (streamed.texts, streamed.ids, streamed.failures) == (2, 2 * MAX_PREFIXES, ())
    assert dict(streamed.skipped) == {"streamed only up to the id 1,024, because it has more": 1}


def test_a_long_text_is_cut_at_the_end_of_a_character():
    text = "a" * (MAX_PREFIXES - 1) + "é"
    streamed = check(AtOnce("a", *E_ACUTE), text)
    assert (streamed.ids, streamed.failures) == (MAX_PREFIXES - 1, ())


def test_a_fault_after_many_ids_is_found():
    tokenizer = AtOnce("a", " ", ".")
    plain = AtOnce.decode
    tokenizer.decode = lambda ids: plain(tokenizer, ids).replace(b" .", b".")
    (failure,) = check(tokenizer, "a" * 500 + " .").failures
    assert failure.fault is StreamFault.CHANGED


def test_texts_that_cannot_be_encoded_or_decoded_are_skipped_with_the_reason():
    tokenizer = FakeTokenizer("a")
    tokenizer.decode = lambda ids: (_ for _ in ()).throw(UnsupportedError("it does not decode"))
    streamed = check(tokenizer, "a", "b")
    assert dict(streamed.skipped) == {"it does not decode": 1, "no piece for 'b'": 1}
    assert streamed.texts == 0


@pytest.mark.parametrize(
    ("again", "expected"), [(0, []), (1, [(StreamFault.DUPLICATED, 1, 1)])], ids=["exactly", "one id too early"]
)
def test_decoding_is_resumed_after_every_id(again, expected):
    streamed = check(Resuming("a", "b", "c", again=again), "abc")
    assert streamed.resumptions == 2
    found = [(failure.fault, failure.resumed_at, failure.others) for failure in streamed.failures]
    assert found == expected


def test_decoding_is_not_resumed_on_request_or_in_long_texts():
    tokenizer = Resuming("a", again=1)
    assert check(tokenizer, "aa", resume=False).failures == ()
    streamed = check(tokenizer, "a" * (MAX_IDS + 1))
    assert (streamed.texts, streamed.resumptions, streamed.failures) == (1, 0, ())
    assert dict(streamed.skipped) == {f"not resumed within the text: longer than {MAX_IDS} ids": 1}


@pytest.mark.parametrize(
    ("before", "rest", "is_continued"),
    [
        ("a", "b", True),
        ("", "ab", True),
        ("ab", "", True),
        ("\ufffd", "ab", True),
        ("a\ufffd", "b", True),
        ("a", "ab", False),
        ("a", "", False),
        ("x", "b", False),
        ("\ufffd", "b", False),
    ],
)
def test_the_rest_has_to_follow_what_was_decoded_before(before, rest, is_continued):
    assert continues(before, rest, "ab") is is_continued


def test_our_decoder_streams_all_shipped_cases():
    encoder = load_gguf(SAMPLE / "sample.gguf")
    streamed = check_streams(encoder, side_of(encoder), load_cases())
    assert (streamed.texts, streamed.failures, streamed.skipped) == (len(load_cases()), (), {})
    assert streamed.ids > 20_000


def test_the_library_streams_from_the_start_and_repeats_text_if_resumed_within_a_character():
    encoder = load_gguf(SAMPLE / "sample.gguf")
    tokenizer = load_reference("rebuilt", spec=encoder.spec)
    assert check(tokenizer, "Hello world, how are you?").failures == ()
    streamed = check(tokenizer, "a\N{LLAMA}")
    assert faults(streamed) == [StreamFault.DUPLICATED]
    assert streamed.failures[0].streamed == "a\N{LLAMA}"
    assert check(tokenizer, "a\N{LLAMA}", resume=False).failures == ()
