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
from typing import NamedTuple

import pytest

from support.corpus_maker import corpus_file, write_json_lines
from support.corpus_worker import start_slowly, start_worker
from support.paths import ROOT
from tokverify.corpus.plan import divide
from tokverify.corpus.ray_cluster import RayCluster
from tokverify.corpus.result import Tally, merge
from tokverify.corpus.schedule import run_units
from tokverify.errors import TokverifyError

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
    tally: Tally = merge(results)
    assert len(results) == len(units) > 50
    assert (tally.documents, tally.differing, tally.unreadable) == (300, 200, 0)


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
