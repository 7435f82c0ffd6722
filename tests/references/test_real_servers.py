"""Servers that are not made for the tests: name their addresses in TOKVERIFY_TEST_SERVERS to include them.

Each entry is `ADDRESS=MODEL`, separated by spaces, where MODEL is the GGUF file that the server has loaded.
"""

import json
import os

import pytest
from click.testing import CliRunner

from tokverify.commands.cli import main

ENTRIES = [entry.partition("=") for entry in os.environ.get("TOKVERIFY_TEST_SERVERS", "").split()]


@pytest.mark.skipif(not ENTRIES, reason="TOKVERIFY_TEST_SERVERS names no server")
@pytest.mark.parametrize(("address", "model"), [(address, model) for address, _, model in ENTRIES])
def test_a_real_server_agrees_with_its_model(address: str, model: str):
    result = CliRunner().invoke(main, ["run", model, "-r", address, "-f", "json"])
    report = json.loads(result.stdout)
    assert result.exit_code == 0, report["summary"]
    assert report["summary"]["match"] > 600
