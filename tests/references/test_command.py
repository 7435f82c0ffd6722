"""The reference `command` against a program that follows the protocol, and against ones that do anything else."""

import gc
import json
import shlex
import sys
import time
from pathlib import Path

import pytest

from support.locations import configured, request
from support.paths import ROOT, SAMPLE
from tokverify.case import Case
from tokverify.cases.loading import load_cases
from tokverify.commands.tasks.diff import diff_tokenizers
from tokverify.commands.tasks.run import verify_model
from tokverify.compare.streaming import StreamDecoding, check_streams
from tokverify.engine.byte_level import byte_pieces
from tokverify.errors import EncodeError, GoneError, TokverifyError, UnsupportedError
from tokverify.references import command_process, open_reference
from tokverify.references.command import CommandTokenizer, load
from tokverify.references.command_process import Program
from tokverify.report.diff import Level, Outcome
from tokverify.report.run import count_decode_differences, run_exit_code, vocabularies_differ
from tokverify.report.side import Side
from tokverify.report.stream import StreamFault, StreamMethod
from tokverify.spec import TokenType

SCRIPT = ROOT / "tests" / "support" / "small_program.py"
ARGUMENTS = [sys.executable, "-I", "-S", str(SCRIPT)]
pytestmark = pytest.mark.process


def start(*replaced: str, seconds: float = 30) -> CommandTokenizer:
    return CommandTokenizer(Program([*ARGUMENTS, *replaced], seconds=seconds))


@pytest.fixture(scope="module")
def small() -> CommandTokenizer:
    return start()


def encode(tokenizer, text, *, add_special=False, parse_special=True):
    return tokenizer.encode(text, add_special=add_special, parse_special=parse_special)


def encode_many(tokenizer, texts):
    results = tokenizer.encode_many(texts, add_special=False, parse_special=True)
    return [result if isinstance(result, list) else str(result) for result in results]


def test_a_program_encodes_with_options(small):
    assert encode(small, "a b") == [3, 2, 4]
    assert encode(small, "a<s>", add_special=True) == [1, 3, 1]
    assert encode(small, "<s>", parse_special=False) == [0, 0, 0]
    assert encode(small, "") == []


def test_a_program_decodes_and_lists_its_tokens(small):
    assert small.decode([1, 3, 6]) == b"<s>a\n"
    assert small.stream([3, 6]) == [b"a", b"\n", b""]
    assert [(small.piece(id), small.token_bytes(id)) for id in (2, 6, 7, -1)] == [
        ("▁", b" "),
        ("<0x0A>", b"\n"),
        ("", b""),
        ("", b""),
    ]
    assert small.token_types()[:3] == [TokenType.UNKNOWN, TokenType.CONTROL, TokenType.NORMAL]
    assert (small.vocab_size, small.special_ids, small.name) == (7, {"bos": 1}, "small")


def test_what_a_program_streams_is_compared_with_what_it_decodes():
    cases = [Case(id=str(at), suite="s", text=text) for at, text in enumerate(["a b", "", "cab\n"])]
    right = check_streams(start(), Side("small", "small"), cases)
    assert (right.method, right.texts, right.failures) == (StreamMethod.INCREMENTAL, 3, ())
    cut = start('stream={"chunks": [[{"base64": "w6k="}, {"base64": "w6k="}]]}', 'decode={"decoded": ["éé"]}')
    assert check_streams(cut, Side("small", "small"), [Case(id="a", suite="s", text="a")]).failures == ()
    broken = start('stream={"chunks": [[{"base64": "ww=="}, {"base64": "qQ=="}]]}', 'decode={"decoded": ["é"]}')
    (failure,) = check_streams(broken, Side("small", "small"), [Case(id="a", suite="s", text="a")]).failures
    assert (failure.fault, failure.streamed) == (StreamFault.REPLACED, "\ufffd\ufffd")
    assert not isinstance(start('hello={"capabilities": ["decode"]}'), StreamDecoding)


def test_the_ids_of_a_session_are_compared_with_those_of_its_text():
    cases = [Case(id="a", suite="s", text="ab")]
    right = check_streams(start(), Side("small", "small"), cases)
    assert (right.extensions, right.sessions, right.reaches, right.failures) == (2, True, (), ())
    (wrong,) = check_streams(start('extend={"ids": [[[3], [3, 5]]]}'), Side("small", "small"), cases).failures
    assert (wrong.fault, wrong.expected, wrong.streamed, wrong.extended_to) == (StreamFault.EXTENDED, "3 4", "3 5", 2)
    for answer, problem in [
        ({"ids": [[[3]]]}, "small sent 1 lists of ids for 2 pieces"),
        ({"ids": [[3, 4]]}, "is neither a list of lists of ids nor an error"),
        ({"ids": [{"error": "too long"}]}, "too long"),
    ]:
        (failure,) = check_streams(start(f"extend={json.dumps(answer)}"), Side("small", "small"), cases).failures
        assert failure.fault is StreamFault.ERROR
        assert problem in failure.streamed
    unable = check_streams(start('extend={"ids": [{"unsupported": "no session"}]}'), Side("small", "small"), cases)
    assert (unable.failures, dict(unable.skipped)) == ((), {"no session: no session": 1})
    assert not check_streams(start('hello={"capabilities": ["decode"]}'), Side("small", "small"), cases).sessions


def test_the_provenance_is_the_command_and_the_version():
    location = shlex.join([*ARGUMENTS, 'hello={"capabilities": []}'])
    found = open_reference(f"command:{location}")
    assert (found.source, found.versions) == (location, {"small": "1.0"})
    assert found.caveat == "the program does not decode and does not list its tokens"
    assert not found.tokenizer.adds_special
    assert not found.tokenizer.parses_special


def test_what_a_program_cannot_do_is_unsupported():
    tokenizer = start('hello={"capabilities": []}')
    assert encode(tokenizer, "a") == [3]
    assert (tokenizer.vocab_size, tokenizer.piece(3), tokenizer.token_bytes(3)) == (0, "<3>", b"")
    for call in (lambda: tokenizer.decode([3]), lambda: tokenizer.stream([3]), tokenizer.token_types):
        with pytest.raises(UnsupportedError, match=r"^small does not "):
            call()


def test_special_tokens_are_not_called_equal_by_the_ids_of_a_program_that_lists_no_tokens():
    hiding = shlex.join([*ARGUMENTS, 'hello={"capabilities": ["add_special", "parse_special", "decode"]}'])
    cases = [Case(id=text, suite="s", text=text) for text in ("a", "a b", "cab")]
    report = diff_tokenizers(f"command:{shlex.join(ARGUMENTS)}", f"command:{hiding}", cases)
    (special,) = [each for each in report.consequences if each.level is Level.SPECIAL]
    assert special.outcome is Outcome.UNKNOWN
    assert "does not list its tokens" in special.reason


def test_a_failure_to_encode_is_that_of_one_text(small):
    assert encode_many(small, ["a", "b?", "\ud800", "c!", "c"]) == [
        [3],
        "a question",
        "the text has a lone surrogate (U+D800) at character 0; UTF-8 cannot carry it",
        "an exclamation",
        [5],
    ]
    with pytest.raises(EncodeError, match=r"^a question$"):
        encode(small, "?")
    with pytest.raises(UnsupportedError, match=r"^an exclamation$"):
        encode(small, "!")
    with pytest.raises(EncodeError, match=r"^small has no token with the id 7$"):
        small.decode([3, 7])


def test_a_program_that_always_recognizes_control_tokens_is_not_asked_for_anything_else():
    tokenizer = start('hello={"capabilities": ["always_parse_special"]}')
    assert tokenizer.parses_special
    assert encode(tokenizer, "<s>") == [1]
    with pytest.raises(UnsupportedError, match=r"^small always recognizes control tokens in a text$"):
        encode(tokenizer, "<s>", parse_special=False)


def test_many_texts_are_sent_in_batches_of_limited_size(small, monkeypatch):
    monkeypatch.setattr("tokverify.references.command_process.TEXTS_PER_REQUEST", 2)
    monkeypatch.setattr("tokverify.references.command_process.CHARACTERS_PER_REQUEST", 4)
    assert encode_many(small, ["a", "b", "c", "aaaaaa", "", "b"]) == [[3], [4], [5], [3] * 6, [], [4]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("crash", "small ended without a response: it broke"),
        ("crash silently", "small ended without a response: exit code 3"),
        ("flood", "small ended without a response: the last line"),
        ("no json", r"small sent a line that is not JSON (Expecting value on line 1, column 1)"),
    ],
)
def test_a_crash_midway_is_the_error_of_one_text(small, text, message):
    assert encode_many(small, ["a", text, "b"]) == [[3], message, [4]]
    assert encode(small, "c") == [5]


@pytest.mark.parametrize("text", ["hang", "hang in child", "hang in daemon"])
def test_a_text_that_takes_too_long_is_an_error_and_ends_the_program(text):
    tokenizer = start(seconds=1)
    with pytest.raises(EncodeError, match=r"^small did not respond within 1 s$"):
        encode(tokenizer, text)
    assert encode(tokenizer, "a") == [3]


@pytest.mark.slow
def test_a_daemon_that_keeps_the_pipes_does_not_hold_a_run_whose_program_exits(small):
    began = time.monotonic()
    assert encode_many(small, ["a", "exit with daemon", "b"]) == [
        [3],
        "small ended without a response: exit code 0",
        [4],
    ]
    assert time.monotonic() - began < 15


def test_a_program_that_does_not_read_a_long_text_does_not_hold_a_run():
    tokenizer = start(seconds=1)
    assert len(encode(tokenizer, "stop reading")) == 12
    with pytest.raises(EncodeError, match=r"^small did not respond within 1 s$"):
        encode(tokenizer, "a" * 10_000_000)
    assert encode(tokenizer, "a") == [3]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc to see processes in")
def test_what_a_program_leaves_in_its_session_ends_with_it(small):
    with pytest.raises(EncodeError, match=r"^small ended without a response: \d+$") as caught:
        encode(small, "crash beside a child")
    stat = Path("/proc", str(caught.value).rpartition(" ")[2], "stat")
    deadline = time.monotonic() + 10
    while _runs(stat) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _runs(stat)


def _runs(stat: Path) -> bool:
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("text", ["hang", "crash"])
def test_a_program_that_keeps_failing_ends_the_run_naming_the_program(monkeypatch, text):
    monkeypatch.setattr(command_process, "MAX_FAILURES", 3)
    monkeypatch.setattr(command_process, "MAX_LOST_SECONDS", 1.0)
    tokenizer = start(seconds=0.7)
    with pytest.raises(GoneError, match=r"small_program\.py: \d requests in a row failed; the last one "):
        encode_many(tokenizer, [text] * 5)


def test_a_program_that_cannot_be_started_again_ends_the_run(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(SCRIPT.read_text())
    tokenizer = CommandTokenizer(Program([sys.executable, str(script)]))
    script.unlink()
    with pytest.raises(GoneError, match=r"program\.py: the program ended without a response: .*No such file"):
        encode_many(tokenizer, ["a", "crash", "b"])


def test_a_response_beyond_the_limit_is_not_read_to_its_end():
    tokenizer = CommandTokenizer(Program(ARGUMENTS, max_bytes=1 << 20))
    with pytest.raises(EncodeError, match=r"more than 1 MiB, the limit$"):
        encode(tokenizer, "endless line")
    assert encode(tokenizer, "a") == [3]


@pytest.mark.parametrize(
    ("response", "message"),
    [
        ({}, "`ids` is None, not a list of 1"),
        ({"ids": 5}, "`ids` is 5, not a list of 1"),
        ({"ids": []}, "`ids` has 0 items, not a list of 1"),
        ({"ids": [[-1]]}, r"\[-1\] is neither a list of ids nor an error"),
        ({"ids": [[True]]}, r"\[True\] is neither"),
        ({"ids": [["3"]]}, r"\['3'\] is neither"),
        ({"ids": [[2**31]]}, r"\[2147483648\] is neither"),
        ({"ids": [{"error": 5}]}, "{'error': 5} is neither"),
        ({"ids": [["\x1b[2J" * 100]]}, r"\['\\x1b\[2J.*\.\.\. is neither"),
        ({"id": 0, "ids": [[3]]}, "a response whose `id` is not that of the request"),
        ({"error": "out of\nmemory"}, "small reports an error: out of$"),
    ],
)
def test_a_hostile_response_is_an_error_of_one_line(response, message):
    tokenizer = start(f"encode={json.dumps(response)}")
    with pytest.raises(EncodeError, match=message) as caught:
        encode(tokenizer, "a")
    assert len(str(caught.value)) < 300
    assert str(caught.value).isprintable()


def test_requests_are_numbered_from_one_as_the_protocol_shows():
    assert encode(start('hello={"id": 1}', 'encode={"id": 2, "ids": [[3]]}'), "a") == [3]


@pytest.mark.parametrize(
    ("operation", "response", "message"),
    [
        ("decode", {"decoded": [5]}, "5 is neither a text nor an object with `base64`"),
        ("decode", {"decoded": [{"base64": "*"}]}, "is neither a text nor"),
        ("decode", {"decoded": [{"error": "no"}]}, "^no$"),
        ("stream", {"chunks": [["a"]]}, "small sent 1 chunks for 1 ids, not one each and a last one"),
        ("stream", {"chunks": ["a"]}, "'a' is neither a list of texts nor an error"),
        ("stream", {"chunks": [["a", {"error": "x"}]]}, "is neither a text nor"),
        ("tokens", {"tokens": [5] * 7}, "5 is not a token"),
        ("tokens", {"tokens": [{}] * 7}, "None is neither a text nor"),
        ("tokens", {"tokens": [{"piece": "a", "type": "odd"}] * 7}, "'odd' is not a type of tokens; use one of"),
        ("tokens", {"tokens": [{"piece": "a", "type": ["byte"]}] * 7}, "is not a type of tokens; use one of"),
        ("tokens", {"tokens": [{"piece": "a", "type": {}}] * 7}, "is not a type of tokens; use one of"),
    ],
)
def test_hostile_responses_to_other_requests_are_errors(operation, response, message):
    tokenizer = start(f"{operation}={json.dumps(response)}")
    call = {"decode": tokenizer.decode, "stream": tokenizer.stream, "tokens": lambda ids: tokenizer.piece(ids[0])}
    with pytest.raises(TokverifyError, match=message):
        call[operation]([3])


@pytest.mark.parametrize(
    ("hello", "message"),
    [
        ({"protocol": 2}, "`protocol` is 2; this tokverify speaks 1"),
        ({"protocol": True}, "`protocol` is True; this tokverify speaks 1"),
        ({"protocol": 1.0}, "`protocol` is 1.0; this tokverify speaks 1"),
        ({"name": ""}, "`name` is '', not a text"),
        ({"version": 5}, "`version` is 5, not a text"),
        ({"vocab_size": 0}, "`vocab_size` is 0, not a number from 1 to 1,048,576"),
        ({"vocab_size": 2**40}, "`vocab_size` is 1099511627776"),
        ({"vocab_size": True}, "`vocab_size` is True"),
        ({"capabilities": "decode"}, "`capabilities` is not a list of texts"),
        ({"capabilities": ["fly"]}, "`capabilities` contains 'fly'; known are add_special, "),
        ({"special_ids": {"bos": 7}}, "`special_ids` does not map roles"),
        ({"special_ids": []}, "`special_ids` does not map roles"),
        ({"control_texts": [1]}, "`control_texts` is not a list of texts"),
        ({"id": -5}, "whose `id` is not that of the request"),
    ],
)
def test_a_program_that_introduces_itself_wrongly_is_rejected(hello, message):
    with pytest.raises(TokverifyError, match=message) as caught:
        start(f"hello={json.dumps(hello)}")
    assert not isinstance(caught.value, EncodeError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "there is no program; name one"),
        ("'", "cannot be split into words"),
        ("./no-such-program", r"cannot be started \(No such file or directory\)"),
        (str(ROOT), r"cannot be started \(Permission denied\)"),
        ("true", "true: the program ended without a response: exit code 0$"),
        ("echo hello", r"sent a line that is not JSON \(Expecting value on line 1, column 1\)"),
    ],
)
def test_a_command_that_is_no_such_program_gives_one_line(command, message):
    with pytest.raises(TokverifyError, match=message) as caught:
        open_reference(f"command:{command}")
    assert "\n" not in str(caught.value)


def test_a_program_that_keeps_failing_ends_the_run(monkeypatch):
    monkeypatch.setattr(command_process, "MAX_FAILURES", 3)
    with pytest.raises(TokverifyError, match="3 requests in a row failed; the last one ended without a response: it b"):
        encode_many(start(), ["crash"] * 5)


def test_a_program_may_not_change_when_it_is_restarted(tmp_path):
    script = tmp_path / "changing.py"
    count = tmp_path / "count"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(SCRIPT.parent)!r}); import small_program as p\n"
        f"from pathlib import Path; count = Path({str(count)!r})\n"
        "count.write_text(count.read_text() + 'x' if count.exists() else 'x')\n"
        "p.main(['hello={\"version\": \"' + count.read_text() + '\"}'])\n"
    )
    tokenizer = CommandTokenizer(Program([sys.executable, str(script)]))
    with pytest.raises(GoneError, match="describes itself differently after a restart"):
        encode(tokenizer, "crash")


def test_the_program_ends_with_its_tokenizer():
    tokenizer = start()
    process = tokenizer._program._process._process
    del tokenizer
    gc.collect()
    assert process.returncode == 0


def test_a_configuration_may_not_run_a_program(monkeypatch):
    command = shlex.join(ARGUMENTS)
    with pytest.raises(TokverifyError, match=r"stored plan may not run a program; .* TOKVERIFY_COMMANDS"):
        open_reference(configured(f"command:{command}"))
    monkeypatch.setenv("TOKVERIFY_COMMANDS", f"other\n{command}\n")
    assert open_reference(configured(f"command:{command}")).tokenizer.name == "small"


@pytest.mark.parametrize(("piece", "alone_bytes"), [("▁a", b" a"), ("a▁", "a▁".encode())])
def test_pieces_without_bytes_are_read_as_usual_or_like_those_of_the_model(piece, alone_bytes):
    from tokverify.commands.tasks.opening import open_model

    tokens = [{"piece": piece} for piece in ["<unk>", "<s>", piece, "a", "b", "c", "é"]]
    arguments = [*ARGUMENTS, f"tokens={json.dumps({'tokens': tokens})}"]
    model = open_model(SAMPLE / "sample.gguf")
    alone = load(request(shlex.join(arguments))).tokenizer
    beside = load(request(shlex.join(arguments), spec=model.spec)).tokenizer
    assert alone.token_bytes(2) == alone_bytes
    assert beside.token_bytes(2) == piece.replace("▁", " ").encode()
    with pytest.raises(UnsupportedError, match=r"^small does not list the types of its tokens$"):
        beside.token_types()


def test_added_tokens_do_not_decide_how_pieces_are_stored():
    added = [{"piece": f"▁{number}", "type": "user_defined"} for number in range(50)]
    tokens = [*added, {"piece": "Ġa"}, *({"piece": piece} for piece in byte_pieces())]
    hello = {"vocab_size": len(tokens)}
    arguments = [*ARGUMENTS, f"hello={json.dumps(hello)}", f"tokens={json.dumps({'tokens': tokens})}"]
    tokenizer = load(request(shlex.join(arguments))).tokenizer
    assert [tokenizer.token_bytes(id) for id in (0, 50)] == ["▁0".encode(), b" a"]


def test_the_python_example_agrees_with_the_sample():
    example = ROOT / "docs" / "examples" / "python" / "engine.py"
    command = shlex.join([sys.executable, str(example), str(SAMPLE / "sample.tokenizer.model")])
    report = verify_model(SAMPLE / "sample.gguf", f"command:{command}", load_cases())
    assert run_exit_code(report) == 0
    assert not vocabularies_differ(report.vocabulary)
    assert count_decode_differences(report) > 0  # this library leaves out control tokens
    assert len(report.results) > 500


@pytest.mark.parametrize(("again", "is_right"), [(8, True), (1, False)])
def test_the_example_of_a_session_is_right_if_it_encodes_enough_tokens_again(again, is_right):
    example = ROOT / "docs" / "examples" / "python" / "session_engine.py"
    command = shlex.join([sys.executable, str(example), str(SAMPLE / "sample.tokenizer.json"), str(again)])
    cases = [case for case in load_cases() if case.suite == "code"][:15]
    streamed = check_streams(load(request(command)).tokenizer, Side("session", "session"), cases, resume=False)
    assert streamed.sessions
    assert bool(streamed.failures) is not is_right
    assert {failure.fault for failure in streamed.failures} <= {StreamFault.EXTENDED}
