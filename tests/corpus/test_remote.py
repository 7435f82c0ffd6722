"""Corpora behind URLs: what S3 and HTTP servers on this machine serve, and what happens when they fail."""

import hashlib
import random
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape

import pytest

from support.corpus_maker import write_json_lines, write_parquet
from support.corpus_worker import start_worker
from support.http_thread import HttpThread
from tokverify.corpus import files
from tokverify.corpus.document import UnitPart
from tokverify.corpus.locate import find_files
from tokverify.corpus.plan import divide
from tokverify.corpus.result import Tally, add
from tokverify.errors import TokverifyError

pytestmark = [
    pytest.mark.process,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
TEXTS = [f"{'ab' * (number % 2)} {'x' * number}" for number in range(40)]


class FileServer(HttpThread):
    """Serves the files of a directory, also ranges of them, in a thread, and lists those of a folder in it as S3 does.

    `status` maps names of files to the status to answer instead, None to never answer.
    """

    def __init__(self, directory: Path) -> None:
        self.status: dict[str, int | None] = {}
        self.sent = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                self.answer(has_body=False)

            def do_GET(self) -> None:
                self.answer(has_body=True)

            def answer(self, has_body: bool) -> None:
                url = urlsplit(self.path)
                name = url.path.strip("/")
                is_there = bool(url.query) or (directory / name).is_file()
                status = server.status.get(name, 200 if is_there else 404)
                if status is None:
                    server.released.wait()
                    self.close_connection = True
                    return
                if url.query:
                    data = list_objects(directory / name, parse_qs(url.query)["prefix"][0]).encode()
                else:
                    data = (directory / name).read_bytes() if status == 200 else b""
                wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
                part = data[int(wanted[1]) : int(wanted[2]) + 1] if wanted else data
                self.send_response(206 if wanted and status == 200 else status)
                if wanted:
                    self.send_header("Content-Range", f"bytes {wanted[1]}-{int(wanted[1]) + len(part) - 1}/{len(data)}")
                self.send_header("Accept-Ranges", "bytes")
                self.send_header("ETag", entity_tag(data))
                self.send_header("Content-Length", str(len(part)))
                self.end_headers()
                if has_body:
                    with suppress(ConnectionError):  # a client may look at the headers only
                        self.wfile.write(part)
                        server.sent += len(part)

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(Handler)


def entity_tag(data: bytes) -> str:
    return f'"{hashlib.sha256(data).hexdigest()}"'


def list_objects(bucket: Path, prefix: str) -> str:
    """List what a bucket has right below a prefix, in the format of ListObjectsV2."""
    paths = sorted(path for path in bucket.rglob("*") if path.is_file())
    keys = {path.relative_to(bucket).as_posix(): path.read_bytes() for path in paths}
    objects = (
        f"<Contents><Key>{escape(key)}</Key><LastModified>2026-01-31T00:00:00.000Z</LastModified>"
        f"<ETag>{escape(entity_tag(data))}</ETag><Size>{len(data)}</Size></Contents>"
        for key, data in keys.items()
        if key.startswith(prefix) and "/" not in key.removeprefix(prefix)
    )
    return f"<ListBucketResult><IsTruncated>false</IsTruncated>{''.join(objects)}</ListBucketResult>"


def process(found, unit_bytes: int = 500) -> Tally:
    worker, total = start_worker(), Tally()
    for unit in divide(found.files, unit_bytes):
        total = add(total, worker.process(UnitPart(unit)))
    return total


def without_places(tally: Tally) -> tuple[object, ...]:
    examples = [[example.hash for example in cause.examples] for cause in tally.causes.values()]
    return tally.documents, tally.bytes, tally.differing, tally.unreadable, tally.scripts, examples


@pytest.fixture
def folder(tmp_path) -> Path:
    write_parquet(tmp_path / "a.parquet", TEXTS)
    write_json_lines(tmp_path / "b.jsonl", TEXTS)
    write_json_lines(tmp_path / "c.jsonl.gz", TEXTS)
    return tmp_path


@pytest.fixture
def bucket(folder, tmp_path_factory, monkeypatch) -> Iterator[Path]:
    """Serve the files as those of `s3://bucket/data`, and return where they are."""
    import s3fs

    directory = tmp_path_factory.mktemp("s3")
    data = shutil.copytree(folder, directory / "bucket" / "data")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with FileServer(directory) as running:
        monkeypatch.setenv("AWS_ENDPOINT_URL", running.address)
        yield data
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def server(folder) -> Iterator[FileServer]:
    import fsspec

    with FileServer(folder) as running:
        yield running
    fsspec.filesystem("http").clear_instance_cache()


def test_s3_gives_the_same_result_as_local_files(folder, bucket):
    remote = find_files(["s3://bucket/data/"])
    assert [file.path for file in remote.files] == [
        f"s3://bucket/data/{name}" for name in ("a.parquet", "b.jsonl", "c.jsonl.gz")
    ]
    assert [file.size for file in remote.files] == [path.stat().st_size for path in sorted(folder.iterdir())]
    assert all(file.version for file in remote.files)
    assert without_places(process(remote)) == without_places(process(find_files([str(folder)])))
    assert [file.path for file in find_files(["s3://bucket/data/*.parquet"]).files] == ["s3://bucket/data/a.parquet"]


def test_what_is_not_in_s3(bucket):
    with pytest.raises(TokverifyError, match=r"there are no files in it"):
        find_files(["s3://bucket/data/missing/"])
    found = find_files(["s3://bucket/data/b.jsonl"])
    (bucket / "b.jsonl").unlink()
    tally = process(found, 1 << 20)
    assert (tally.documents, list(tally.reasons)) == (0, ["the file does not exist"])


@pytest.mark.slow
def test_http_gives_the_same_result_as_local_files(folder, server):
    names = [path.name for path in sorted(folder.iterdir())]
    remote = find_files([f"{server.address}/{name}" for name in names])
    assert without_places(process(remote)) == without_places(process(find_files([str(folder)])))


def test_only_the_required_column_is_downloaded(tmp_path):
    noise = [random.Random(number).randbytes(1 << 20) for number in range(40)]  # noqa: S311 - not for cryptography
    write_parquet(tmp_path / "large.parquet", TEXTS, row_group_size=40, noise=noise)
    with FileServer(tmp_path) as server:
        tally = process(find_files([f"{server.address}/large.parquet"]), 1 << 30)
        assert tally.documents == 40
        assert server.sent < 1 << 20


@pytest.mark.parametrize(("status", "reason"), [(404, "the file does not exist"), (503, "the server answers 503")])
def test_a_server_that_fails_after_the_plan_was_made(server, status, reason):
    found = find_files([f"{server.address}/a.parquet", f"{server.address}/b.jsonl"])
    server.status["a.parquet"] = status
    tally = process(found, 1 << 20)
    assert tally.documents == 40
    assert tally.unreadable == 1
    assert next(iter(tally.reasons)) == reason


def test_a_server_that_does_not_answer(server, monkeypatch):
    monkeypatch.setattr(files, "_READ_SECONDS", 1)
    found = find_files([f"{server.address}/a.parquet", f"{server.address}/b.jsonl"])
    server.status["a.parquet"] = None
    tally = process(found, 1 << 20)
    assert (tally.documents, tally.unreadable) == (40, 1)
    assert list(tally.reasons) == ["the server does not answer"]


def test_a_missing_file_on_a_server(server):
    with pytest.raises(TokverifyError, match=r"missing\.parquet: "):
        find_files([f"{server.address}/missing.parquet"])


def test_a_server_that_cannot_be_reached():
    with pytest.raises(TokverifyError, match=r"a\.parquet: cannot be read .*connect"):
        find_files(["http://127.0.0.1:9/a.parquet"])
