"""`https://.../model.gguf`: a plain server that knows nothing about models."""

import threading
from pathlib import Path

import pytest
from huggingface_hub import constants

from support.fake_hub import COMMIT, Server, send_file, serving, status
from support.gguf_maker import make_gguf, string
from support.huge_model import write_huge
from support.locations import find_model
from tokverify.errors import BrokenFileError, GoneError, TokverifyError, UnsupportedError
from tokverify.sources.gguf.declaration import read_declaration
from tokverify.sources.stores import remote_file
from tokverify.sources.stores.location import is_stored
from tokverify.sources.stores.siblings import find_sibling

TOKENS = 20_000


@pytest.fixture
def etags() -> list[str | None]:
    """The version that the server names from now on is the last one."""
    return ['"one"']


@pytest.fixture
def server(files, etags, pauses):
    server = Server(lambda handler: send_file(handler, files / Path(handler.path).name.partition("?")[0], etags[-1]))
    with serving(server):
        yield server


@pytest.fixture
def metadata(files) -> int:
    return write_huge(files / "model.gguf", TOKENS)


def test_an_address_is_read_by_parts(server, metadata):
    found = find_model(f"{server.address}/some/model.gguf?token=secret")
    assert len(read_declaration(found.path).spec.tokens) == TOKENS
    assert found.location == f"{server.address}/some/model.gguf"
    assert found.name == "model"
    assert found.path.name == "model.gguf"
    assert server.sent <= 1.2 * metadata + remote_file.LEAST_BYTES


def test_a_path_may_have_lost_a_slash(server, metadata):
    assert find_model(Path(f"{server.address}/model.gguf")).location == f"{server.address}/model.gguf"


def test_an_unchanged_file_is_not_downloaded_again(server, metadata, etags):
    address = f"{server.address}/model.gguf"
    find_model(address)
    requests, sent = len(server.requests), server.sent
    find_model(address)
    assert (len(server.requests), server.sent) == (requests + 1, sent + 1)
    etags.append('"two"')
    find_model(address)
    assert server.sent > 2 * sent


def test_without_an_etag_nothing_proves_that_a_file_is_unchanged(server, metadata, etags):
    etags.append("")
    address = f"{server.address}/model.gguf"
    find_model(address)
    sent = server.sent
    find_model(address)
    assert server.sent > 2 * sent


def test_offline_the_cached_file_is_used(server, metadata, monkeypatch):
    address = f"{server.address}/model.gguf"
    found = find_model(address)
    requests = len(server.requests)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert find_model(address) == found
    assert len(server.requests) == requests


def test_a_damaged_cache_is_replaced(server, metadata):
    address = f"{server.address}/model.gguf"
    path = find_model(address).path
    path.write_bytes(b"GGUF")
    assert len(read_declaration(find_model(address).path).spec.tokens) == TOKENS
    for damaged in ("[", "[" * 100_000, "null"):
        path.with_name("head.json").write_text(damaged)
        assert len(read_declaration(find_model(address).path).spec.tokens) == TOKENS


def test_a_file_smaller_than_one_request_needs_no_ranges(server, files):
    data = make_gguf({"general.architecture": string("x")})
    (files / "model.gguf").write_bytes(data)
    server.faults.append(status(200, data))
    assert find_model(f"{server.address}/model.gguf").path.read_bytes() == data


def test_a_server_that_ignores_ranges_is_an_error_and_sends_nothing(server, metadata):
    server.faults.append(status(200, Content_Length="20000000000"))
    with pytest.raises(UnsupportedError, match="the server can only send the complete file; download the file"):
        find_model(f"{server.address}/model.gguf")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "span",
    [
        "bytes 5-7/100",
        "bytes 0-3/100",
        "bytes 0-2/2",
        "bytes 0-2/*",
        "bytes 2-0/100",
        f"bytes 0-2/{10**19}",
        "",
    ],
)
def test_a_server_that_lies_about_a_part_is_an_error(server, span):
    server.faults.append(status(206, b"abc", Content_Range=span))
    with pytest.raises(TokverifyError, match="the server sends other bytes than requested"):
        find_model(f"{server.address}/model.gguf")


def test_a_server_that_changes_the_size_is_an_error(server, metadata):
    def send_other_size(handler):
        first, last = handler.requested_range()
        body = b"\0" * (last - first + 1)
        handler.send(206, body, ETag='"one"', Content_Range=f"bytes {first}-{last}/99999999999")

    server.faults.extend([None, send_other_size])
    with pytest.raises(TokverifyError, match="changed while it was read"):
        find_model(f"{server.address}/model.gguf")


def test_something_else_than_gguf_costs_one_request(server, files):
    (files / "model.gguf").write_bytes(b"<html>" + bytes(10**6))
    with pytest.raises(BrokenFileError, match=r"model\.gguf: not a GGUF file; it looks like an HTML"):
        find_model(f"{server.address}/model.gguf")
    assert len(server.requests) == 1
    with pytest.raises(BrokenFileError, match="not a GGUF file"):
        find_model(f"{server.address}/model.gguf")
    assert server.requests[-1][1]["Range"].startswith("bytes=0-")


def test_an_empty_file_is_an_error(server, files):
    (files / "model.gguf").touch()
    with pytest.raises(BrokenFileError, match="ends after 0 bytes"):
        find_model(f"{server.address}/model.gguf")


def test_an_empty_file_of_unannounced_size_is_called_empty(server):
    def send_chunked(handler):
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.wfile.write(b"0\r\n\r\n")

    server.faults.append(send_chunked)
    with pytest.raises(BrokenFileError, match=r"model\.gguf: the file is empty; name a GGUF file"):
        find_model(f"{server.address}/model.gguf")


def test_a_hostile_file_cannot_make_us_download_it(server, files, monkeypatch):
    monkeypatch.setattr(remote_file, "MAX_BYTES", 1 << 20)
    write_huge(files / "model.gguf", 10, more={"huge": string(b"x" * (1 << 21)), "a": string("b")})
    with pytest.raises(UnsupportedError, match="the metadata is larger than 1 MiB, the limit for a download"):
        find_model(f"{server.address}/model.gguf")
    assert server.sent <= 1 << 20


def test_no_address_is_followed_to_an_endless_chain_or_out_of_http(server, metadata):
    server.faults.extend([status(302, Location="/model.gguf")] * 6)
    with pytest.raises(TokverifyError, match="redirected more than 5 times"):
        find_model(f"{server.address}/model.gguf")
    server.faults.append(status(302, Location="file:///etc/passwd"))
    with pytest.raises(TokverifyError, match="not a valid address"):
        find_model(f"{server.address}/model.gguf")


def test_an_error_quotes_no_password(server):
    with pytest.raises(TokverifyError, match=r"^an address on 127\.0\.0\.1 contains a password; remove it$"):
        find_model(f"http://me:secret@127.0.0.1:{server.server_port}/model.gguf")


def test_the_address_of_a_file_on_the_hub_is_its_name(hub, files, monkeypatch):
    write_huge(files / "small.gguf", 10, size=10_000)
    hub.repositories["org/small"] = {"small.gguf": files / "small.gguf"}
    found = find_model("https://huggingface.co/org/small/blob/main/small.gguf?download=true")
    assert found.location == f"hf:org/small:small.gguf@{COMMIT}"


def test_an_existing_file_wins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert is_stored("hf:org/name")
    assert not is_stored("http://127.0.0.1:8080")
    assert not is_stored("model.gguf")
    Path("hf:x").touch()
    assert find_model("hf:x").path == Path("hf:x")


def test_a_file_that_is_not_there_needs_no_cache(server, monkeypatch):
    def mkdir(path: Path, **_options: object) -> None:
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "mkdir", mkdir)
    assert find_sibling(f"{server.address}/model.gguf", ["tokenizer.json"], is_offline=False) is None


def send_little(handler, path: Path, count: int) -> None:
    """Answer a range with so many bytes of it."""
    first, _ = handler.requested_range()
    with path.open("rb") as file:
        file.seek(first)
        part = file.read(count)
    span = f"bytes {first}-{first + len(part) - 1}/{path.stat().st_size}"
    handler.send(206, part, Content_Range=span, ETag='"one"')


def test_a_server_that_sends_one_byte_at_a_time_is_given_up(server, files, metadata):
    server.answer = lambda handler: send_little(handler, files / "model.gguf", 1)
    with pytest.raises(
        GoneError, match=r"model\.gguf: the server has sent only 512 bytes in 512 requests; download the"
    ):
        find_model(f"{server.address}/model.gguf")
    assert len(server.requests) == remote_file.MAX_REQUESTS


def test_a_server_that_takes_too_long_is_given_up_and_continued(server, files, metadata, monkeypatch):
    address = f"{server.address}/model.gguf"
    is_calm = threading.Event()

    def answer(handler):
        if len(server.requests) > 3:
            is_calm.wait(20)
        send_little(handler, files / "model.gguf", 20_000)

    server.answer = answer
    with monkeypatch.context() as patched:
        patched.setattr(remote_file, "MAX_SECONDS", 1.0)
        with pytest.raises(GoneError, match=r"model\.gguf: no complete response within 0\.\d+ s"):
            find_model(address)
    sent = server.sent
    is_calm.set()
    assert sent == 3 * 20_000
    assert len(read_declaration(find_model(address).path).spec.tokens) == TOKENS
    assert server.sent < metadata + 2 * 20_000


def test_pauses_that_a_server_asks_for_are_limited_together(server, metadata, pauses):
    server.faults.extend([status(503, Retry_After="20")] * 9)
    with pytest.raises(GoneError, match=r"HTTP 503 Service Unavailable: asks for a pause of 20 s; try again later$"):
        find_model(f"{server.address}/model.gguf")
    assert pauses == [20.0]
