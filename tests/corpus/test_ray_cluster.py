"""Ray on two nodes, both on this machine, one of which is killed."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest

from support.corpus_maker import corpus_file, write_json_lines
from support.corpus_worker import start_slowly, start_worker
from support.paths import DATA, ROOT, SAMPLE
from tokverify.commands.tasks.corpus import verify_corpus
from tokverify.corpus.plan import divide
from tokverify.corpus.ray_cluster import RayCluster
from tokverify.corpus.result import Tally, add
from tokverify.corpus.schedule import run_units
from tokverify.errors import TokverifyError
from tokverify.report.codec import encode

# Ray does not wait for the processes that it has stopped.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"),
]
_SECONDS = 300
"""A busy machine takes minutes to start a cluster."""
TEXTS = [f"{'ab' * (number % 3)} {'x' * (number % 50)}" for number in range(300)]


class Cluster(NamedTuple):
    address: str
    nodes: list[subprocess.Popen[bytes]]


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


def start_node(*arguments: str) -> subprocess.Popen[bytes]:
    ports = [
        f"--{name}={free_port()}"
        for name in ("dashboard-agent-listen-port", "dashboard-agent-grpc-port", "metrics-export-port")
    ]
    command = [str(Path(sys.executable).parent / "ray"), "start", "--block", "--num-cpus=1", *ports, *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests")))}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, env=environment, start_new_session=True, **quiet)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    port = free_port()
    nodes = [start_node("--head", f"--port={port}", "--include-dashboard=false")]
    try:
        wait_for_port(port)
        nodes.append(start_node(f"--address=127.0.0.1:{port}"))
        yield Cluster(f"127.0.0.1:{port}", nodes)
    finally:
        for node in reversed(nodes):
            with suppress(ProcessLookupError):
                os.killpg(node.pid, signal.SIGKILL)
            node.wait()


def wait_for_port(port: int) -> None:
    for _ in range(10 * _SECONDS):
        with socket.socket() as opened:
            if opened.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError(port)


@pytest.mark.parametrize("others", [0, 1])
def test_a_run_goes_on_without_a_node_that_dies(tmp_path: Path, cluster: Cluster, others: int):
    """Kill the node of a worker; another node may have room for it. Much is left to do when Ray notices it."""
    for _ in range(others):
        cluster.nodes.append(start_node(f"--address={cluster.address}"))
    path = tmp_path / "a.jsonl"
    write_json_lines(path, TEXTS)
    units = list(divide([corpus_file(path)], 200))
    announced = tmp_path / "pids"
    announced.mkdir()
    results = []

    def take(result: object) -> None:
        results.append(result)
        if len(results) == 3:
            wait_for_workers(announced, 2)
            os.killpg(cluster.nodes[1].pid, signal.SIGKILL)

    with RayCluster(cluster.address, partial(start_slowly, announced), 2) as executor:
        run_units(executor, units, "plan", take)
    tally: Tally = add(*(result.tally for result in results))
    assert len(results) == len(units) > 50
    assert (tally.documents, tally.differing, tally.unreadable) == (300, 200, 0)


def test_the_report_after_the_loss_of_a_node_is_that_of_an_undisturbed_run(tmp_path: Path, cluster: Cluster):
    """Byte for byte; all documents differ, so that the report has causes and examples of which few are kept."""
    folder = tmp_path / "data"
    folder.mkdir()
    lines = DATA.joinpath("sample_text.txt").read_text("utf-8").splitlines()[::3]
    for number in range(40):
        texts = [" ".join([*lines[start:], *lines[:start], str(number)]) for start in range(4)]
        write_json_lines(folder / f"{number}.jsonl", texts)
    verify = partial(verify_corpus, SAMPLE / "sample-broken.gguf", str(SAMPLE / "sample.tokenizer.model"), [folder])
    loss = Thread(target=kill_at_work, args=(cluster.nodes[1],), daemon=True)
    loss.start()
    disturbed = verify(ray=cluster.address, jobs=2)
    assert not loss.is_alive()
    assert cluster.nodes[1].wait() == -signal.SIGKILL
    quiet = verify(jobs=1)
    assert disturbed.differing == disturbed.documents == 160
    assert encode(disturbed) == encode(quiet)


def kill_at_work(node: subprocess.Popen[bytes]) -> None:
    """Kill a node as soon as a worker on it has something to do."""
    while not any(b"_Actor.run" in title for title in list_titles(node.pid)):
        time.sleep(0.05)
    os.killpg(node.pid, signal.SIGKILL)


def list_titles(process: int) -> Iterator[bytes]:
    """Yield the command lines of the processes that a process has started, and of those that these have started."""
    with suppress(OSError):
        for child in Path(f"/proc/{process}/task/{process}/children").read_text().split():
            yield Path(f"/proc/{child}/cmdline").read_bytes()
            yield from list_titles(int(child))


def wait_for_workers(announced: Path, count: int) -> None:
    """Wait until there is a worker on each node."""
    for _ in range(10 * _SECONDS):
        if len(list(announced.iterdir())) >= count:
            return
        time.sleep(0.1)
    raise TimeoutError(count)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere"])
def test_an_address_without_a_cluster_is_reported(address: str):
    executor = RayCluster(address, start_worker)
    with pytest.raises(TokverifyError, match="cannot connect to a Ray cluster"), executor:
        pass
