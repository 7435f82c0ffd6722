"""The repairs that findings offer: the command line that is printed does what it says."""

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from tokverify.cli import main
from tokverify.gguf_change import changed_values
from tokverify.gguf_file import read_spec
from tokverify.gguf_patch import write_patched
from tokverify.spec import TokenType

SAMPLE = Path(__file__).parents[2] / "tokverify" / "sample"
SPEC = read_spec(SAMPLE / "sample.gguf")


def retyped(old: TokenType) -> list[int]:
    return [TokenType.NORMAL if type == old else type for type in SPEC.types]


FAULTS = {
    "TV108": replace(SPEC, scores=[0.0] * len(SPEC.tokens)),
    "TV109": replace(SPEC, types=retyped(TokenType.BYTE)),
    "TV110": replace(SPEC, types=None),
    "TV120": replace(SPEC, types=retyped(TokenType.USER_DEFINED)),
}


@pytest.mark.parametrize("code", FAULTS)
def test_fix_removes_what_offers_it(tmp_path, monkeypatch, code):
    monkeypatch.chdir(tmp_path)
    write_patched(SAMPLE / "sample.gguf", Path("MODEL"), changed_values(SPEC, FAULTS[code]))
    Path("REFERENCE").write_bytes((SAMPLE / "sample.tokenizer.model").read_bytes())
    [repair] = {finding["repair"] for finding in found(code, "MODEL")}
    alike = {TokenType.UNKNOWN: TokenType.CONTROL}
    command, _, condition = repair.partition(", ")
    assert condition == "if its cases show the fault"
    result = CliRunner().invoke(main, shlex.split(command)[1:])
    assert result.exit_code == 0, result.output
    assert found(code, "FIXED") == []
    # The .model calls <unk> UNKNOWN, the sample CONTROL.
    assert [alike.get(type, type) for type in read_spec(Path("FIXED")).types] == list(SPEC.types)


def found(code: str, model: str) -> list[dict[str, str]]:
    result = CliRunner().invoke(main, ["audit", model, "--select", code, "--format", "json"])
    return json.loads(result.stdout)["findings"]
