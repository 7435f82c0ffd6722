"""Servers of all kinds, as stand-ins written from their documentation."""

import json
import threading

import pytest
from click.testing import CliRunner

from support.locations import configured, request
from support.paths import SAMPLE
from support.selection import thinned
from support.server_stand_ins import (
    STAND_INS,
    FirstOvmsStandIn,
    LaterSglangStandIn,
    LlamaCppPythonStandIn,
    OvmsStandIn,
    SglangStandIn,
    VllmStandIn,
)
from support.stand_in import StandIn
from tokverify import load_cases, load_gguf
from tokverify.commands.cli import main
from tokverify.commands.tasks.diff import diff_tokenizers
from tokverify.errors import EncodeError, GoneError, TokverifyError, UnsupportedError
from tokverify.references import open_reference, servers
from tokverify.report.diff import Level, Outcome, diff_exit_code
from tokverify.system import http_client
from tokverify.system.http_pool import CONNECTIONS

pytestmark = pytest.mark.process

MODEL, BROKEN = (str(SAMPLE / name) for name in ("sample.gguf", "sample-broken.gguf"))
TEXTS = ("", "Hello  world", "a<turn>b\N{LLAMA}", "\0")
NAMES = {
    "vllm": "vLLM",
    "sglang": "SGLang",
    "tei": "text-embeddings-inference",
    "ovms": "OpenVINO Model Server",
    "llama-cpp-python": "llama-cpp-python",
}
DECODING = [kind for kind in STAND_INS if kind != "ovms"]


@pytest.fixture(scope="module")
def encoder():
    return load_gguf(MODEL)


@pytest.fixture
def start(encoder):
    """A function that starts a stand-in of a kind."""
    running = []

    def start(kind):
        stand_in = (kind if isinstance(kind, type) else STAND_INS[kind])(encoder).__enter__()
        running.append(stand_in)
        return stand_in

    yield start
    for stand_in in running:
        stand_in.__exit__()


@pytest.mark.parametrize("kind", STAND_INS)
@pytest.mark.parametrize("named", [True, False], ids=["selected", "detected"])
def test_every_kind_of_server_encodes_with_both_values_of_add_special(start, encoder, kind, named):
    address = start(kind).address
    found = open_reference(f"{kind}+{address}" if named else address)
    assert found.tokenizer.name == NAMES[kind]
    assert found.source.startswith(f"{address}, ")
    assert found.caveat.startswith("the server returns only ids")
    for add_special in (False, True):
        modes = {"add_special": add_special, "parse_special": True}
        expected = [encoder.encode(text, **modes) for text in TEXTS]
        assert [found.tokenizer.encode(text, **modes) for text in TEXTS] == expected
        assert found.tokenizer.encode_many(TEXTS, **modes) == expected


@pytest.mark.parametrize("named", [True, False], ids=["selected", "detected"])
@pytest.mark.parametrize(("kind", "stand_in"), [("sglang", LaterSglangStandIn), ("ovms", FirstOvmsStandIn)])
def test_other_versions_of_a_server_encode_the_same(start, encoder, kind, stand_in, named):
    address = start(stand_in).address
    tokenizer = open_reference(f"{kind}+{address}" if named else address).tokenizer
    for add_special in (False, True):
        modes = {"add_special": add_special, "parse_special": True}
        expected = [encoder.encode(text, **modes) for text in TEXTS]
        assert [tokenizer.encode(text, **modes) for text in TEXTS] == expected
        assert tokenizer.encode_many(TEXTS, **modes) == expected


def test_sglang_gets_many_texts_in_one_request(start, encoder):
    stand_in = start("sglang")
    tokenizer = open_reference(stand_in.address).tokenizer
    texts = [case.text for case in load_cases()[:300]]
    modes = {"add_special": True, "parse_special": True}
    sent = len(stand_in.requests)
    assert tokenizer.encode_many(texts, **modes) == encoder.encode_many(texts, **modes)
    assert len(stand_in.requests) - sent == 2
    answer = stand_in.answer
    stand_in.answer = lambda path, body: answer(path, body) if b"bad" not in body else {"tokens": [[-1], [1]]}
    good, bad = tokenizer.encode_many(["a", "bad"], **modes)
    assert good == encoder.encode("a", add_special=True)
    assert isinstance(bad, EncodeError)


def test_later_versions_of_sglang_encode_empty_texts_wherever_they_are(start, encoder):
    tokenizer = open_reference(start(LaterSglangStandIn).address).tokenizer
    texts = [*["a"] * 256, "", "", "b", "", *["a"] * 253, ""]
    for add_special in (False, True):
        modes = {"add_special": add_special, "parse_special": True}
        assert tokenizer.encode_many(texts, **modes) == encoder.encode_many(texts, **modes)


@pytest.mark.parametrize("kind", DECODING)
def test_every_kind_of_server_but_one_decodes(start, encoder, kind):
    tokenizer = open_reference(start(kind).address).tokenizer
    all_ids = [encoder.encode(text, add_special=True) for text in TEXTS]
    left_out = encoder.special_ids.values() if kind == "llama-cpp-python" else ()
    expected = [encoder.decode([id for id in ids if id not in left_out]) for ids in all_ids]
    assert tokenizer.decode_many(all_ids) == expected
    assert tokenizer.decode(all_ids[1]) == expected[1]
    assert (tokenizer.piece(1717), tokenizer.token_bytes(1717)) == (encoder.decode([1717]).decode(), b"a")


def test_a_server_that_does_not_decode_says_so(start):
    tokenizer = open_reference(start("ovms").address).tokenizer
    with pytest.raises(UnsupportedError, match="OpenVINO Model Server does not decode"):
        tokenizer.decode([5])
    assert (tokenizer.piece(5), tokenizer.token_bytes(5)) == ("<5>", b"")


@pytest.mark.parametrize("kind", STAND_INS)
def test_control_tokens_cannot_be_turned_off(start, kind):
    tokenizer = open_reference(start(kind).address).tokenizer
    with pytest.raises(UnsupportedError, match="always recognizes control tokens in a text"):
        tokenizer.encode("a", add_special=False, parse_special=False)


@pytest.mark.parametrize("kind", STAND_INS)
def test_a_file_is_verified_against_every_kind_of_server(start, kind):
    result = CliRunner().invoke(main, ["run", MODEL, "-r", start(kind).address, "--suite", "seed", "-f", "json"])
    report = json.loads(result.stdout)
    assert (result.exit_code, report["summary"]["match"]) == (0, 16)
    assert report["vocabulary"] is None
    assert f"the vocabularies were not compared: {NAMES[kind]} does not list its tokens" in report["not_compared"]


def test_what_was_not_compared_can_fail_the_run(start):
    arguments = ["run", MODEL, "-r", start("vllm").address, "--suite", "seed", "--fail-on", "not-compared"]
    assert CliRunner().invoke(main, arguments).exit_code == 1


def test_a_text_with_a_control_token_is_compared_with_parse_special_on(start, encoder, tmp_path):
    suite = tmp_path / "own.yaml"
    texts = [f"a{min(encoder.control_texts)}", "b"]
    suite.write_text(json.dumps({"cases": [{"id": text[0], "text": text, "parse_special": False} for text in texts]}))
    arguments = ["run", MODEL, "-r", start("vllm").address, "--cases", str(suite), "-f", "json"]
    first, second = json.loads(CliRunner().invoke(main, arguments).stdout)["results"]
    assert (first["status"], first["parse_special"]) == ("match", True)
    assert first["notes"] == ["compared with parse_special on: vLLM always recognizes control tokens in a text"]
    assert (second["status"], second["notes"]) == ("match", [])


@pytest.mark.parametrize("command", [["run", "--suite", "seed"], ["fuzz", "--texts", "60", "--no-replay"]])
@pytest.mark.slow
def test_a_difference_is_found_diagnosed_and_shown_with_the_texts_of_the_server(start, command):
    address = start("vllm").address
    report = json.loads(
        CliRunner().invoke(main, [command[0], BROKEN, "-r", address, *command[1:], "-f", "json"]).stdout
    )
    report = report.get("report", report)
    result = next(result for result in report["results"] if result["status"] == "mismatch")
    shown = [token["token_bytes"] for block in result["difference"]["blocks"] for token in block["expected"]]
    assert any(shown)
    assert "USER_DEFINED" in report["diagnosis"]["explanations"][0]["sentence"]


@pytest.mark.parametrize(
    "arguments", thinned(3, [["audit", MODEL, "-r"], ["stats", MODEL, "--model"], ["diff", MODEL]])
)
def test_other_commands_do_not_mistake_a_hidden_vocabulary_for_an_empty_one(start, arguments):
    result = CliRunner().invoke(main, [*arguments, start("vllm").address, "-f", "json"], catch_exceptions=False)
    assert "does not list its tokens" in result.output


@pytest.mark.parametrize("kind", thinned(2, ["vllm", "ovms"]))
def test_texts_are_compared_with_a_server_that_does_not_list_its_tokens_on_either_side(start, kind):
    address, cases = start(kind).address, load_cases()[::7]
    for old, new, code in [(address, MODEL, 0), (MODEL, address, 0), (address, BROKEN, 1), (BROKEN, address, 1)]:
        report = diff_tokenizers(old, new, cases)
        assert diff_exit_code(report) == code
        assert (report.parts, len(report.not_compared)) == ((), 1)
        assert report.not_compared[0].endswith("does not list its tokens")
        outcomes = {each.level: each.outcome for each in report.consequences}
        assert outcomes[Level.VOCABULARY] is outcomes[Level.SPECIAL] is Outcome.UNKNOWN
        assert outcomes[Level.IDS] is (Outcome.BROKEN if code else Outcome.VALID)
        assert outcomes[Level.TEXT] is (Outcome.VALID if kind in DECODING else Outcome.UNKNOWN)


@pytest.mark.parametrize(
    "arguments", thinned(2, [["run", "--suite", "seed"], ["fuzz", "--texts", "60", "--no-replay"]])
)
@pytest.mark.parametrize("kind", thinned(2, ["vllm", "ovms"]))
def test_a_server_that_does_not_list_its_tokens_is_the_model(start, kind, arguments):
    address = start(kind).address
    command, *options = arguments
    codes = [
        CliRunner().invoke(main, [command, model, "-r", reference, *options]).exit_code
        for model, reference in [(address, MODEL), (MODEL, address), (address, BROKEN), (BROKEN, address)]
    ]
    assert codes == [0, 0, 1, 1]


def test_requests_share_connections_and_run_at_the_same_time(start, encoder):
    stand_in = start("vllm")
    tokenizer = open_reference(stand_in.address).tokenizer
    texts = [case.text for case in load_cases()[:200]]
    at_once = threading.Barrier(CONNECTIONS)
    answer = stand_in.answer

    def answer_together(path, body):
        if len(stand_in.requests) <= opened + CONNECTIONS:
            at_once.wait(timeout=20)
        return answer(path, body)

    stand_in.answer, opened = answer_together, len(stand_in.requests)
    modes = {"add_special": False, "parse_special": True}
    assert tokenizer.encode_many(texts, **modes) == encoder.encode_many(texts, **modes)
    assert len(stand_in.connections) == CONNECTIONS
    tokenizer.encode_many(texts, **modes)
    assert len(stand_in.connections) == CONNECTIONS


def test_a_failure_in_a_batch_is_the_error_of_one_text(start):
    stand_in = start("vllm")
    tokenizer = open_reference(stand_in.address).tokenizer
    answer = stand_in.answer
    stand_in.answer = lambda path, body: answer(path, body) if b"bad" not in body else {"tokens": [-1]}
    good, bad, surrogate = tokenizer.encode_many(["a", "bad", "\ud800"], add_special=False, parse_special=True)
    assert good == [1717]
    assert isinstance(bad, EncodeError)
    assert "no list of ids" in str(bad)
    assert "lone surrogate" in str(surrogate)


@pytest.mark.parametrize(
    "answer", [{}, [], [[{}]], {"tokens": None}, [[{"id": -1}]], [[{"id": "a"}]], {"tokens": [2**31]}]
)
@pytest.mark.parametrize("kind", STAND_INS)
def test_an_answer_of_another_form_is_an_error(start, kind, answer):
    stand_in = start(kind)
    for path in ("/tokenize", "/v3/tokenize", "/extras/tokenize"):
        stand_in.answers[path] = (200, answer)
    with pytest.raises(EncodeError, match="the answer contains no list of ids"):
        open_reference(f"{kind}+{stand_in.address}")


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again(start, monkeypatch, status):
    stand_in = start("vllm")
    tokenizer = open_reference(stand_in.address).tokenizer
    pauses = []

    def pause(seconds):
        pauses.append(seconds)
        if len(pauses) == 2:
            stand_in.answers.clear()

    monkeypatch.setattr(http_client.time, "sleep", pause)
    stand_in.answers["/tokenize"] = (status, {"error": {"message": "busy"}})
    assert tokenizer.encode("a", add_special=False, parse_special=True) == [1717]
    assert pauses == [0.1, 0.2]
    pauses.clear()
    stand_in.retry_after[status] = "3"
    stand_in.answers["/tokenize"] = (status, "")
    assert tokenizer.encode("a", add_special=False, parse_special=True) == [1717]
    assert pauses == [3.0, 3.0]


def test_a_server_that_stays_busy_is_an_error(start, monkeypatch):
    stand_in = start("vllm")
    tokenizer = open_reference(stand_in.address).tokenizer
    monkeypatch.setattr(http_client.time, "sleep", lambda _: None)
    stand_in.answers["/tokenize"] = (429, "")
    with pytest.raises(GoneError, match="HTTP 429: too many requests, also after 3 retries"):
        tokenizer.encode("a", add_special=False, parse_special=True)


def test_a_pause_beyond_the_time_limit_is_not_waited_for(start):
    stand_in = start("vllm")
    stand_in.answers["/tokenize"] = (429, "")
    stand_in.retry_after[429] = "86400"
    with pytest.raises(GoneError, match="HTTP 429 Too Many Requests: asks for a pause of 86400 s; try again later"):
        open_reference(f"vllm+{stand_in.address}")
    assert stand_in.requests == ["/tokenize"]


def test_the_model_of_a_server_with_several_has_to_be_named(start, monkeypatch):
    monkeypatch.setattr(OvmsStandIn, "names", ("one", "two"))
    stand_in = start("ovms")
    address = stand_in.address
    with pytest.raises(TokverifyError, match=rf"has 2 models; name one, as in ovms\+{address}#NAME"):
        open_reference(f"ovms+{address}")
    assert open_reference(f"ovms+{address}#two").source == f"{address}, two"
    assert json.loads(stand_in.body)["model"] == "two"


@pytest.mark.parametrize("kind", ["llama-server", *STAND_INS])
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("x" * 201, f"{'x' * 200}…"),
        ("one\ntwo", "one"),
        ("a\x1b[31mb", r"a\x1b[31mb"),
        ("\n", "a model without a name"),
        (["x"], "a model without a name"),
    ],
)
def test_the_name_of_a_model_is_shown_on_one_short_line(start, kind, name, shown):
    stand_in = start(StandIn if kind == "llama-server" else kind)
    path = "/v3/models" if kind == "ovms" else "/v1/models"
    stand_in.answers["/v1/models"] = stand_in.answers[path] = (200, {"data": [{"id": name, "meta": {"n_vocab": 9}}]})
    if kind == "ovms":
        # The stand-in refuses all names but its own.
        problem = "HTTP 404" if isinstance(name, str) else "without a usable name"
        with pytest.raises(TokverifyError, match=problem):
            open_reference(f"ovms+{stand_in.address}")
        return
    assert open_reference(f"{kind}+{stand_in.address}").source == f"{stand_in.address}, {shown}"


def test_a_name_that_is_too_long_to_be_sent_with_each_text_is_an_error(start, monkeypatch):
    monkeypatch.setattr(OvmsStandIn, "names", ("x" * 501,))
    stand_in = start("ovms")
    with pytest.raises(TokverifyError, match="has one model, without a usable name; name one, as in ovms"):
        open_reference(f"ovms+{stand_in.address}")
    monkeypatch.setattr(OvmsStandIn, "names", ("x" * 500,))
    assert open_reference(f"ovms+{stand_in.address}").source == f"{stand_in.address}, {'x' * 200}…"


def test_the_version_of_a_llama_server_is_shown_on_one_short_line(start):
    stand_in = start(StandIn)
    stand_in.answers["/props"] = (200, {"build_info": "b1\n" + "x" * 1000})
    assert open_reference(stand_in.address).versions == {"llama-server": "b1"}


def test_the_name_of_a_model_is_sent_to_vllm_only_if_it_is_given(start):
    stand_in = start(VllmStandIn)
    open_reference(f"vllm+{stand_in.address}")
    assert b"model" not in stand_in.body
    open_reference(f"{stand_in.address}#other/name")
    assert "/tokenize" in stand_in.requests


def test_special_tokens_are_decoded(start, encoder):
    tokenizer = open_reference(start(SglangStandIn).address).tokenizer
    bos = encoder.special_ids["bos"]
    assert tokenizer.decode([bos]) == encoder.decode([bos]) != b""


def test_what_surrounds_a_text_is_learned_from_a_server_that_always_adds_it(start, encoder):
    tokenizer = open_reference(start(LlamaCppPythonStandIn).address).tokenizer
    with_bos = tokenizer.encode("a", add_special=True, parse_special=True)
    assert with_bos == encoder.encode("a", add_special=True) != encoder.encode("a")
    assert tokenizer.encode("a", add_special=False, parse_special=True) == encoder.encode("a")


@pytest.mark.parametrize("owner", [["vllm"], {"name": "vllm"}, None, 5])
def test_a_server_whose_owner_is_not_a_name_is_detected_by_its_paths(start, owner):
    stand_in = start("tei")
    stand_in.answers["/v1/models"] = (200, {"data": [{"id": "x", "owned_by": owner}]})
    assert open_reference(stand_in.address).tokenizer.name == NAMES["tei"]


@pytest.mark.parametrize("answer", ['"text"', [], ["one", "two"], {"0": "text"}])
def test_tei_has_to_answer_with_one_text(start, answer):
    stand_in = start("tei")
    tokenizer = open_reference(stand_in.address).tokenizer
    stand_in.answers["/decode"] = (200, answer)
    with pytest.raises(EncodeError, match="the answer contains no text"):
        tokenizer.decode([5])


def test_tei_has_to_answer_for_one_text(start):
    stand_in = start("tei")
    tokenizer = open_reference(stand_in.address).tokenizer
    stand_in.answers["/tokenize"] = (200, [[{"id": 1}], [{"id": 2}]])
    with pytest.raises(EncodeError, match="the answer contains no list of ids"):
        tokenizer.encode("a", add_special=True, parse_special=True)


class Unknown(StandIn):
    """Knows none of the paths."""

    def answer(self, path, body):
        raise NotImplementedError


def test_an_unknown_server_is_an_error_that_says_how_to_select_a_kind(start):
    address = start(Unknown).address
    with pytest.raises(UnsupportedError, match=rf"not recognized as any of llama-server, .*; .* as in vllm\+{address}"):
        open_reference(address)


@pytest.mark.parametrize("status", [401, 403, 503])
def test_a_server_that_is_not_ready_is_not_taken_for_another_kind(start, monkeypatch, status):
    monkeypatch.setattr(http_client.time, "sleep", lambda _: None)
    stand_in = start("vllm")
    stand_in.answers["/v1/models"] = (status, "")
    with pytest.raises(TokverifyError, match=f"/v1/models: HTTP {status}"):
        open_reference(stand_in.address)


@pytest.mark.parametrize("location", ["localhost:8080", "127.0.0.1:8080", "my-host.example:80/api"])
def test_a_missing_http_is_suggested(location):
    with pytest.raises(TokverifyError, match=f"begins with http://: http://{location}$"):
        open_reference(location)


def test_a_missing_slash_is_suggested():
    with pytest.raises(TokverifyError, match=r"begins with https://: https://127\.0\.0\.1:8080$"):
        open_reference("https:/127.0.0.1:8080")


def test_an_unknown_kind_is_an_error():
    with pytest.raises(TokverifyError, match=r"vlm\+http: unknown kind of server; did you mean 'vllm'\?"):
        open_reference("vlm+http://127.0.0.1:1")


def test_the_name_of_a_model_is_refused_where_there_is_only_one(start):
    with pytest.raises(UnsupportedError, match="a llama-server has one model; omit #x"):
        open_reference(f"{start(StandIn).address}#x")


def test_the_own_key_comes_before_that_of_llama_server(start, monkeypatch):
    stand_in = start("vllm")
    monkeypatch.setenv("LLAMA_API_KEY", "theirs")
    monkeypatch.setenv("TOKVERIFY_API_KEY", "own")
    open_reference(stand_in.address)
    assert stand_in.headers["Authorization"] == "Bearer own"
    open_reference(configured(f"vllm+{stand_in.address}"))
    assert "Authorization" not in stand_in.headers
    monkeypatch.setenv("TOKVERIFY_SERVERS", stand_in.address)
    open_reference(configured(f"vllm+{stand_in.address}#x"))
    assert stand_in.headers["Authorization"] == "Bearer own"


def test_a_location_that_is_no_address_is_an_error():
    with pytest.raises(TokverifyError, match="not a valid address"):
        servers.load(request("ftp://host"))


def test_a_server_is_fuzzed_with_the_vocabulary_of_the_other_side(start):
    for model, is_equal in ((MODEL, True), (BROKEN, False)):
        arguments = ["fuzz", model, "-r", start("vllm").address, "--texts", "60", "--no-replay", "--no-diagnose"]
        report = json.loads(CliRunner().invoke(main, [*arguments, "-f", "json"]).stdout)
        assert (report["causes"] == []) is is_equal


def test_the_coverage_is_that_of_the_side_that_lists_its_tokens(start):
    address, other = start("vllm").address, start("ovms").address
    arguments = ["--texts", "60", "--no-replay", "--no-diagnose"]
    for model, reference in [(address, MODEL), (MODEL, address)]:
        report = json.loads(CliRunner().invoke(main, ["fuzz", model, "-r", reference, *arguments, "-f", "json"]).stdout)
        assert report["coverage"]["pieces"]["total"] == 2000
        assert 0 < report["coverage"]["pieces"]["done"] < 2000
    both = CliRunner().invoke(main, ["fuzz", address, "-r", other, *arguments])
    assert "coverage  not known: neither tokenizer lists its tokens" in both.stdout
    page = CliRunner().invoke(main, ["fuzz", address, "-r", other, *arguments, "-f", "html"])
    assert "of 0" not in page.stdout


def test_a_search_does_not_stop_at_a_coverage_that_is_not_known(start):
    address, other = start("vllm").address, start("ovms").address
    result = CliRunner().invoke(main, ["fuzz", address, "-r", other, "--until-coverage", "50%"])
    assert result.exit_code == 2
    assert "the coverage is not known: OpenVINO Model Server does not list its tokens; limit the time" in result.stderr
