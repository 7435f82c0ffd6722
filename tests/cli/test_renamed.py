"""Options under the names they had in the previous version."""

import click
import pytest
from click.testing import CliRunner

from support.paths import SAMPLE
from support.program import list_commands
from tokverify.cli import main
from tokverify.cli.renamed import RENAMED, replace_old_names

MODEL = str(SAMPLE / "sample.gguf")
REFERENCE = str(SAMPLE / "sample.tokenizer.model")


@pytest.mark.parametrize("written", [["--count", "7"], ["--count=7"]])
def test_an_old_name_works_and_is_noted(written):
    result = CliRunner().invoke(main, ["fuzz", MODEL, "-r", REFERENCE, "--no-replay", *written])
    assert result.exit_code == 0, result.output
    assert "7 texts" in result.stdout
    assert result.stderr.splitlines()[0] == "note: --count is now called --texts"


def test_an_argument_after_two_dashes_is_no_option():
    assert replace_old_names("fuzz", ["--", "--count"]) == ["--", "--count"]


def written(parameter: click.Parameter) -> list[str]:
    return [*parameter.opts, *parameter.secondary_opts]


def test_new_names_exist_and_old_ones_do_not():
    commands = dict(list_commands())
    for command, names in RENAMED.items():
        parts = [each for name, each in commands.items() if name.split()[0] == command]
        options = {option for part in parts for parameter in part.params for option in written(parameter)}
        assert set(names.values()) <= options
        assert set(names).isdisjoint(options)
