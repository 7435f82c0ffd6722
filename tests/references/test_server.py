import json
from dataclasses import replace
from pathlib import Path

import pytest

from support import raw_server
from support.locations import configured, request
from support.raw_server import RawServer
from support.small_server import serve, write_small_model
from support.stand_in import StandIn
from tokverify import load_cases, load_gguf
from tokverify.errors import EncodeError, GoneError, TokverifyError, UnsupportedError
from tokverify.references import open_reference, servers
from tokverify.report.run import vocabularies_differ
from tokverify.system import http_pool
from tokverify.system.http_pool import AnswerError
from tokverify.texts.vocabulary import compare_vocabularies

SAMPLE = Path(servers.__file__).parents[2] / "sample" / "sample.gguf"
MODES = [(add, parse) for add in (False, True) for parse in (False, True)]


@pytest.fixture(scope="module")
def encoder():
    return load_gguf(SAMPLE)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The address of a real llama-server with the sample's tokenizer."""
    model = tmp_path_factory.mktemp("server") / "small.gguf"
    write_small_model(SAMPLE, model)
    with serve(model) as address:
        yield address


@pytest.fixture
def stand_in(encoder):
    with StandIn(encoder) as running:
        yield running


def load(request, **limits):
    """Connect to a llama-server without looking at what kind of server it is."""
    return servers.load(
        replace(request, location=request.location.at(f"llama-server+{request.location.text}")), **limits
    )


def encode(tokenizer, text, *, add_special=False, parse_special=True):
    return tokenizer.encode(text, add_special=add_special, parse_special=parse_special)


def test_a_real_server_encodes_and_decodes_like_the_encoder(address, encoder):
    found = open_reference(address)
    tokenizer = found.tokenizer
    assert found.source.startswith(f"{address}, ")
    assert found.source.endswith("small.gguf")
    assert set(found.versions) == {"llama-server"}
    assert "exposes neither which tokens are special" in found.caveat
    texts = [case.text for case in load_cases()]
    for add_special, parse_special in MODES:
        modes = {"add_special": add_special, "parse_special": parse_special}
        for text in texts:
            ids = encoder.encode(text, **modes)
            assert tokenizer.encode(text, **modes) == ids
            assert tokenizer.decode(ids) == encoder.decode(ids)


def test_a_real_server_reports_the_bytes_of_all_its_tokens(address, encoder):
    tokenizer = load(request(address)).tokenizer
    difference = compare_vocabularies(encoder, tokenizer)
    assert not vocabularies_differ(difference)
    assert difference.respelled > 500
    assert [tokenizer.token_bytes(id) for id in range(-1, 2001)] == [
        b"",
        *map(encoder.token_bytes, range(2000)),
        b"",
    ]


def test_a_real_server_shows_broken_bytes_as_u_fffd(address, encoder):
    tokenizer = load(request(address)).tokenizer
    id = encode(encoder, "\N{LLAMA}")[-1]
    assert tokenizer.decode([id]) == "\N{REPLACEMENT CHARACTER}".encode()
    assert tokenizer.token_bytes(id) == "\N{LLAMA}".encode()[-1:]
    assert tokenizer.piece(id) == "\udc99"


def test_a_refusal_by_a_real_server_is_an_error_of_one_text(address):
    tokenizer = load(request(address)).tokenizer
    with pytest.raises(EncodeError, match="lone surrogate"):
        encode(tokenizer, "\ud800")
    for id in (-1, 2000, 2**40):
        with pytest.raises(EncodeError, match=f"^the server has no token with the id {id}$"):
            tokenizer.decode([id])
    assert encode(tokenizer, "a") == [1717]


def test_the_stand_in_behaves_like_the_real_server(address, stand_in):
    real, double = load(request(address)).tokenizer, load(request(stand_in.address)).tokenizer
    for text in ("", "Hello  world", "a\0<turn>\N{LLAMA}"):
        for add_special, parse_special in MODES:
            ids = encode(real, text, add_special=add_special, parse_special=parse_special)
            assert encode(double, text, add_special=add_special, parse_special=parse_special) == ids
            assert double.decode(ids) == real.decode(ids)
    assert not vocabularies_differ(compare_vocabularies(real, double))


def test_an_address_with_a_path_keeps_it(stand_in):
    stand_in.prefix = "/api"
    assert encode(load(request(f"{stand_in.address}/api/")).tokenizer, "a") == [1717]


def test_a_token_without_a_piece_gets_a_placeholder(stand_in):
    stand_in.answers["/tokenize"] = (200, {"tokens": [{"id": id, "piece": ""} for id in range(2000)]})
    tokenizer = load(request(stand_in.address)).tokenizer
    assert (tokenizer.piece(5), tokenizer.token_bytes(5)) == ("<5>", b"")


def test_no_server_at_the_address_is_an_error():
    with pytest.raises(
        TokverifyError, match=r"^http://127\.0\.0\.1:1/v1/models: no complete response \(Connection refused\); check"
    ):
        open_reference("http://127.0.0.1:1")


@pytest.mark.parametrize(
    ("path", "answer", "error", "message"),
    [
        ("/v1/models", (404, "<html>"), TokverifyError, r"/v1/models: HTTP 404: the server does not know this path"),
        ("/v1/models", (200, "<html>"), TokverifyError, "HTTP 200: the response is not JSON"),
        ("/v1/models", (200, "null"), TokverifyError, "HTTP 200: the response is null"),
        ("/v1/models", (200, "[" * 5000), TokverifyError, "HTTP 200: the response is not JSON"),
        ("/v1/models", (401, {"error": {"message": "Invalid API Key"}}), TokverifyError, "LLAMA_API_KEY"),
        ("/v1/models", (503, {"error": {"message": "Loading model"}}), TokverifyError, "wait until it has loaded"),
        ("/v1/models", (599, "odd"), TokverifyError, "HTTP 599"),
        ("/v1/models", (400, {"odd": 1}), TokverifyError, "HTTP 400: the response does not say why"),
        ("/v1/models", (308, ""), TokverifyError, "HTTP 308: the server redirects to another address; name that one"),
        ("/v1/models", (200, {}), UnsupportedError, "does not report n_vocab"),
        ("/v1/models", (200, {"data": [1, {"meta": None}, {"meta": {}}]}), UnsupportedError, "does not report n_vocab"),
        ("/tokenize", (200, {"tokens": None}), TokverifyError, "no list of tokens"),
        ("/tokenize", (200, {"tokens": [0]}), UnsupportedError, "does not report the bytes of ids"),
        ("/tokenize", (200, {"tokens": [{"id": 0, "piece": [256]}]}), UnsupportedError, "the bytes of ids"),
        ("/tokenize", (200, {"tokens": [{"id": 0, "piece": 10**30}]}), UnsupportedError, "the bytes of ids"),
        ("/tokenize", (200, {"tokens": [{"id": 0, "piece": 10**10}]}), UnsupportedError, "the bytes of ids"),
        ("/tokenize", (200, {"tokens": [{"id": 0, "piece": [True]}]}), UnsupportedError, "the bytes of ids"),
        ("/v1/models", (200, {"data": [{"meta": {"n_vocab": 10**18}}]}), UnsupportedError, "more than 1,048,576"),
        ("/v1/models", (200, {"data": [{"meta": {"n_vocab": True}}]}), UnsupportedError, "does not report n_vocab"),
        ("/v1/models", (500, {"error": {"message": "x" * 70_000}}), TokverifyError, "HTTP 500: x{200}$"),
    ],
)
def test_anything_but_a_llama_server_gives_one_line(stand_in, path, answer, error, message):
    stand_in.answers[path] = answer
    with pytest.raises(error, match=message) as caught:
        load(request(stand_in.address))
    assert str(caught.value).startswith(stand_in.address)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((500, {"error": {"message": "vector::_M_range_check\nmore"}}), "HTTP 500: vector::_M_range_check$"),
        ((200, {"tokens": ["a"]}), "the answer contains no list of ids"),
        ((200, "nonsense"), "the response is not JSON"),
        ((200, {"tokens": [True]}), "the answer contains no list of ids"),
        ((200, {"tokens": [-1]}), "the answer contains no list of ids"),
        ((200, {"tokens": [2**31]}), "the answer contains no list of ids"),
    ],
)
def test_a_failure_is_the_error_of_one_text(stand_in, answer, message):
    tokenizer = load(request(stand_in.address)).tokenizer
    stand_in.answers["/tokenize"] = answer
    with pytest.raises(EncodeError, match=message):
        encode(tokenizer, "a")
    del stand_in.answers["/tokenize"]
    assert encode(tokenizer, "a") == [1717]


@pytest.mark.parametrize("status", [401, 429, 502, 503, 504])
def test_what_a_server_answers_to_every_request_ends_the_run(stand_in, status):
    tokenizer = load(request(stand_in.address), seconds=0.5).tokenizer
    stand_in.answers["/tokenize"] = (status, "")
    with pytest.raises(GoneError, match=rf"^{stand_in.address}/tokenize: HTTP {status}"):
        encode(tokenizer, "a")


def test_a_server_that_closes_every_connection_ends_the_run(stand_in):
    tokenizer = load(request(stand_in.address)).tokenizer
    stand_in.answers["/tokenize"] = None
    with pytest.raises(GoneError, match=r"/tokenize: no complete response \(Remote end closed connection"):
        tokenizer.encode_many(["a", "b", "c"], add_special=False, parse_special=True)


@pytest.mark.slow
def test_a_server_that_has_ended_ends_the_run(encoder):
    with StandIn(encoder) as running:
        tokenizer = load(request(running.address)).tokenizer
    with pytest.raises(GoneError, match=r"/tokenize: no complete response \(Connection refused\); check"):
        tokenizer.encode_many(["a"] * 100, add_special=False, parse_special=True)
    with pytest.raises(GoneError, match=r"/detokenize: no complete response"):
        tokenizer.decode([5])


@pytest.mark.parametrize(
    ("answer", "message"), [((500, "broken"), "detokenize"), ((200, {"content": 5}), "no text"), ((200, {}), "no text")]
)
def test_a_failure_to_decode_is_reported(stand_in, answer, message):
    tokenizer = load(request(stand_in.address)).tokenizer
    stand_in.answers["/detokenize"] = answer
    with pytest.raises(EncodeError, match=message):
        tokenizer.decode([5])


def test_a_version_is_not_needed(stand_in):
    stand_in.answers["/props"] = (501, "")
    assert load(request(stand_in.address)).versions == {}


def test_a_server_that_is_too_slow_ends_the_run(stand_in):
    tokenizer = load(request(stand_in.address), seconds=0.2).tokenizer
    stand_in.hold = True
    with pytest.raises(TokverifyError, match=r"no complete response within 0\.2 s") as caught:
        encode(tokenizer, "a")
    assert not isinstance(caught.value, EncodeError)


@pytest.mark.parametrize(
    "answer",
    [
        raw_server.slow_headers,
        raw_server.slow_body,
        raw_server.slow_chunks,
        raw_server.slow_chunk_size,
        raw_server.endless_continue,
    ],
)
def test_a_response_that_never_ends_ends_the_run(answer):
    with RawServer(answer) as running, pytest.raises(TokverifyError, match=r"no complete response within 0\.3 s"):
        load(request(running.address), seconds=0.3)


@pytest.mark.parametrize(
    "answer", [raw_server.negative_chunk_size, raw_server.negative_length, raw_server.no_http, raw_server.bad_header]
)
def test_a_response_that_is_no_http_is_one_short_line(answer):
    with RawServer(answer) as running, pytest.raises(TokverifyError) as caught:
        load(request(running.address), seconds=20)
    assert str(caught.value).startswith(running.address)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_response_beyond_the_limit_is_not_read_to_its_end():
    with RawServer(raw_server.endless_body) as running, pytest.raises(AnswerError, match="larger than 64 MiB"):
        load(request(running.address), seconds=60)


def test_a_response_that_would_fill_the_memory_is_not_parsed(stand_in, monkeypatch):
    monkeypatch.setattr(http_pool, "MAX_RESPONSE_MEMORY", 10_000)
    stand_in.answers["/v1/models"] = (200, "[" + "{}," * 1000 + "{}]")
    with pytest.raises(AnswerError, match="the response is not JSON"):
        load(request(stand_in.address))


def test_a_connection_closed_while_idle_is_opened_again(stand_in):
    tokenizer = load(request(stand_in.address)).tokenizer
    stand_in.drop_connections()
    assert encode(tokenizer, "a") == [1717]


def test_the_key_is_that_of_the_server_itself(stand_in, monkeypatch):
    monkeypatch.setenv("LLAMA_API_KEY", "secret,other")
    load(request(stand_in.address))
    assert stand_in.headers["Authorization"] == "Bearer secret"
    monkeypatch.delenv("LLAMA_API_KEY")
    load(request(stand_in.address))
    assert "Authorization" not in stand_in.headers


def test_a_configured_address_is_sent_no_key(stand_in, monkeypatch):
    monkeypatch.setenv("LLAMA_API_KEY", "secret")
    open_reference(configured(stand_in.address))
    assert "Authorization" not in stand_in.headers
    open_reference(stand_in.address)
    assert stand_in.headers["Authorization"] == "Bearer secret"


def test_a_configured_address_that_the_environment_names_is_sent_the_key(stand_in, monkeypatch):
    monkeypatch.setenv("LLAMA_API_KEY", "secret")
    monkeypatch.setenv("TOKVERIFY_SERVERS", f"http://other, {stand_in.address}/")
    open_reference(configured(stand_in.address))
    assert stand_in.headers["Authorization"] == "Bearer secret"


@pytest.mark.parametrize("key", ["sec\nret", "sec\rret", "secr\u00e9t", "a\tb"])
def test_a_key_that_no_header_can_contain_is_not_shown(stand_in, monkeypatch, key):
    monkeypatch.setenv("LLAMA_API_KEY", key)
    with pytest.raises(
        TokverifyError, match=r"^the API key for http://.* contains a character that no HTTP header can contain"
    ):
        load(request(stand_in.address))


@pytest.mark.parametrize("address", ["http://", "http://[::1", "http://host:port", "http:///path", "http://a b:x"])
def test_invalid_addresses_are_rejected(address):
    with pytest.raises(TokverifyError, match=r"not a valid address, such as http://127\.0\.0\.1:8080"):
        open_reference(address)


def test_the_stand_in_was_asked_as_documented(stand_in):
    encode(load(request(stand_in.address)).tokenizer, "a\N{LLAMA}", add_special=True, parse_special=False)
    assert json.loads(stand_in.body) == {"content": "a\N{LLAMA}", "add_special": True, "parse_special": False}
    assert stand_in.headers["Content-Type"] == "application/json"
