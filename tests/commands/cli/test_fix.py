"""Test `tokverify fix`: files, exit codes, and that nothing is lost."""

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.gguf_maker import make_gguf, make_tensor, string, strings
from support.mutation_trial import intact
from support.paths import SAMPLE
from tokverify.commands.cli import main
from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions
from tokverify.report.fix import FixReport, Verification
from tokverify.sources.gguf.cursor import ValueType
from tokverify.sources.gguf.declaration import read_spec
from tokverify.sources.gguf.metadata import Value
from tokverify.sources.gguf.patch import write_patched
from tokverify.sources.gguf.values import changed_values

BROKEN, INTACT, REFERENCE = (SAMPLE / name for name in ("sample-broken.gguf", "sample.gguf", "sample.tokenizer.model"))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    suite = tmp_path / "suite.yaml"
    suite.write_text('suite: s\ncases:\n  - {id: a, text: "a  b"}\n  - {id: b, text: "word"}\n')
    monkeypatch.chdir(tmp_path)

    def invoke(model: Path, *arguments: str) -> tuple[int, str]:
        command = ["fix", str(model), "-r", str(REFERENCE), "--cases", str(suite), *arguments]
        result = CliRunner().invoke(main, command)
        return result.exit_code, result.output

    return invoke


def test_a_broken_file_is_repaired(run, tmp_path: Path):
    before = BROKEN.read_bytes()
    code, output = run(BROKEN, "-o", "fixed.gguf")
    assert code == 0, output
    assert "before  1 case matches, 1 does not" in output
    assert "USER_DEFINED makes the only failing case match" in output
    assert "after    2 cases match" in output
    assert (tmp_path / "fixed.gguf").read_bytes() == INTACT.read_bytes()
    assert BROKEN.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fixed.gguf", "suite.yaml"]


def test_a_configured_model_is_repaired_with_its_reference_and_cases(run, tmp_path: Path):
    for file in (BROKEN, REFERENCE):
        shutil.copy(file, tmp_path)
    settings = {"name": "small", "model": BROKEN.name, "reference": REFERENCE.name, "cases": ["suite.yaml"]}
    lines = (f"{key} = {json.dumps(value)}" for key, value in settings.items())
    Path("tokverify.toml").write_text("\n".join(["[[models]]", *lines]))
    for name in ("small", BROKEN.name):
        result = CliRunner().invoke(main, ["fix", name, "-o", "fixed.gguf", "--force"])
        assert result.exit_code == 0, result.output
        assert "before  1 case matches, 1 does not" in result.stdout
        assert Path("fixed.gguf").read_bytes() == INTACT.read_bytes()


def test_a_run_of_a_file_that_llama_cpp_refuses_names_the_command_that_may_repair_it(run, tmp_path: Path):
    token, other = (len(text).to_bytes(8, "little") + text for text in (b"ord", b"ith"))
    content = INTACT.read_bytes()
    assert token in content
    assert other in content
    (tmp_path / "own.gguf").write_bytes(content.replace(token, other, 1))
    result = CliRunner().invoke(main, ["run", "own.gguf", "-r", str(REFERENCE)])
    assert result.exit_code == 2
    command = f"tokverify fix own.gguf -r {REFERENCE}"
    assert f"(`{command}` may repair it)" in " ".join(result.stderr.split())
    code, output = run(Path("own.gguf"), "-o", "fixed.gguf")
    assert code == 0, output


def test_an_expectation_that_contradicts_the_reference_is_neither_explained_nor_repaired(run, tmp_path: Path):
    suite = 'suite: s\ncases:\n  - {id: a, text: "a  b"}\n  - {id: b, text: "c  d", expect: {sample-broken: [1, 2]}}\n'
    (tmp_path / "suite.yaml").write_text(suite)
    code, output = run(BROKEN, "-o", "fixed.gguf")
    assert re.search("before +0 cases match, 2 do not", output)
    assert "USER_DEFINED makes the only failing case match" in output
    assert re.search("after +1 case matches, 1 does not", output)
    assert code == 1
    command = ["run", str(BROKEN), "-r", str(REFERENCE), "--cases", "suite.yaml", "-f", "json"]
    document = json.loads(CliRunner().invoke(main, command).stdout)
    assert (document["summary"]["mismatch"], document["diagnosis"]["failing"]) == (2, 1)


def test_tensors_are_copied_byte_for_byte(run, tmp_path: Path):
    spec = read_spec(BROKEN)
    fields = {"general.architecture": string("llama"), "a.key": strings(["kept"])}
    fields |= {key: value for key, value in changed_values(type(spec)(model="", tokens=()), spec).items() if value}
    head = make_gguf(fields, tensors=[make_tensor("t", shape=(1000,))])
    data = bytes(range(250)) * 16
    model = tmp_path / "model.gguf"
    model.write_bytes(head + bytes(-len(head) % 32) + data)
    code, output = run(model, "-o", "fixed.gguf")
    assert code == 0, output
    assert (tmp_path / "fixed.gguf").read_bytes()[-len(data) :] == data


def test_a_dry_run_writes_nothing(run, tmp_path: Path):
    code, output = run(BROKEN, "--dry-run")
    assert code == 1
    # The repair is the same as the cause, and is not repeated.
    assert "repair  writes tokenizer.ggml.token_type\n" in output
    assert "changes the type of 30 tokens\n" in output
    assert output.count("setting the type of 30 tokens") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["suite.yaml"]


def test_verbose_output_lists_checks_that_find_nothing_and_equivalent_commands(run):
    _, short = run(BROKEN, "-o", "short.gguf")
    code, verbose = run(BROKEN, "-v", "-o", "verbose.gguf")
    assert code == 0, verbose
    before, after = verbose.split("\nafter  ")
    assert "bytes of tokens: 0 differences" in before
    assert "types of tokens: 0 differences" in after
    assert "the same types with the gguf package" in verbose
    assert ": 0 differences" not in short
    assert "the same types" not in short


@pytest.mark.parametrize(("is_thorough", "limit"), [(False, "--thorough raises it"), (True, "even with --thorough")])
def test_a_limit_names_thorough_only_if_it_would_help(is_thorough: bool, limit: str):
    report = FixReport(Verification(1, 1), stopped_early=True, is_thorough=is_thorough)
    shown = FORMATS["fix"]["table"](report, RenderOptions())
    assert limit in shown
    assert shown.count("--thorough") == 1


def test_the_report_is_also_written_as_markdown_and_json(run, tmp_path: Path):
    code, output = run(BROKEN, "-o", "fixed.gguf", "--report", "markdown=fix.md", "--report", "json=fix.json")
    assert code == 0, output
    page = (tmp_path / "fix.md").read_text()
    assert page.startswith(f"## ✅ tokverify fix: {BROKEN}")
    assert "| after | 2 cases match |" in page
    assert json.loads((tmp_path / "fix.json").read_text())["target"] == "fixed.gguf"


def test_a_report_does_not_replace_the_repaired_file(run):
    code, output = run(BROKEN, "-o", "fixed.gguf", "--report", "json=fixed.gguf")
    assert code == 2
    assert "fixed.gguf" in output


def test_thorough_is_recorded(run, tmp_path: Path):
    run(BROKEN, "--dry-run", "--thorough", "--report", "json=fix.json")
    assert json.loads((tmp_path / "fix.json").read_text())["is_thorough"] is True


def test_a_dry_run_shows_the_equivalent_command(run, tmp_path: Path):
    spec = read_spec(INTACT)
    model = tmp_path / "model.gguf"
    write_patched(INTACT, model, {"tokenizer.ggml.add_space_prefix": Value(ValueType.BOOL, True)})
    assert spec.add_space_prefix is False
    code, output = run(model, "--dry-run")
    assert code == 1
    command = f"gguf-set-metadata --force {model} tokenizer.ggml.add_space_prefix ''"
    assert command in re.sub(r" \\\n *", " ", output)


def test_a_good_file_needs_no_repair(run, tmp_path: Path):
    sentence = "repair  none needed, as no case fails; name cases that show a fault with --cases\n"
    verdict = "nothing to repair: every comparison agrees; not declared by the reference: chat template\n"
    assert run(INTACT, "-o", "fixed.gguf") == (0, f"before  2 cases match\n{sentence}\n{verdict}")
    assert not (tmp_path / "fixed.gguf").exists()


def test_an_architecture_that_llama_cpp_does_not_load_is_named(run, tmp_path: Path):
    model = tmp_path / "model.gguf"
    write_patched(BROKEN, model, {"general.architecture": string("gptoss")})
    code, output = run(model, "-o", "fixed.gguf")
    assert code == 0, output
    assert re.search(r"\nneeds  a newer llama.cpp than b\d+, if there is one \(architecture gptoss\)\n", output)


def test_a_file_that_does_not_load_is_repaired(run, tmp_path: Path):
    model = tmp_path / "model.gguf"
    spec = read_spec(INTACT)
    write_patched(INTACT, model, {"tokenizer.ggml.tokens": strings([*spec.tokens[:-1], spec.tokens[-2]])})
    code, output = run(model, "-o", "fixed.gguf")
    assert code == 0, output
    assert "cannot be verified" in output
    assert "differences\n" not in output
    assert read_spec(tmp_path / "fixed.gguf").tokens == spec.tokens


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "there.gguf"], "already exists"),
        (["-o", "fixed.html"], "end its name in .gguf instead of .html"),
        (["-o", "no/such/place.gguf"], "is not a directory; create it first"),
        (["-o", "."], "it is a directory; name a file in it"),
        (["-o", "link.gguf", "--force"], "is MODEL itself"),
    ],
)
def test_a_repair_that_cannot_be_written_is_an_error(run, tmp_path: Path, arguments: list[str], message: str):
    model = tmp_path / "model.gguf"
    model.write_bytes(BROKEN.read_bytes())
    (tmp_path / "there.gguf").write_text("mine")
    (tmp_path / "link.gguf").symlink_to(model)
    code, output = run(model, *arguments)
    assert code == 2
    assert message in output
    assert (tmp_path / "there.gguf").read_text() == "mine"
    assert model.read_bytes() == BROKEN.read_bytes()


def test_force_overwrites(run, tmp_path: Path):
    (tmp_path / "there.gguf").write_text("mine")
    assert run(BROKEN, "-o", "there.gguf", "--force")[0] == 0
    assert (tmp_path / "there.gguf").read_bytes() == INTACT.read_bytes()


def test_a_reference_of_another_model_changes_nothing(run, tmp_path: Path):
    model = intact("made-wordpiece")
    code, output = run(model, "-o", "fixed.gguf")
    assert code == 2
    assert "another version of it: nearly all of its tokens differ" in output
    assert not (tmp_path / "fixed.gguf").exists()


def part_of(model: Path, directory: Path) -> Path:
    """Write a model as the first part of a split one."""
    part = directory / "model-00001-of-00002.gguf"
    write_patched(model, part, {"split.count": Value(ValueType.UINT32, 2)})
    return part


def test_a_split_file_that_needs_no_repair_is_verified_like_others(run, tmp_path: Path):
    model = part_of(INTACT, tmp_path)
    code, output = run(model, "-o", "fixed.gguf")
    assert code == 0
    assert "nothing to repair" in output
    assert not (tmp_path / "fixed.gguf").exists()


def test_a_split_file_that_needs_a_repair_is_refused(run, tmp_path: Path):
    model = part_of(BROKEN, tmp_path)
    code, output = run(model, "-o", "fixed.gguf")
    assert code == 2
    assert "a split model" in output


def test_no_repair_is_made_from_what_the_file_itself_contains(tmp_path: Path):
    model, fixed = tmp_path / "alone.gguf", tmp_path / "fixed.gguf"
    model.write_bytes(BROKEN.read_bytes())
    result = CliRunner().invoke(main, ["fix", str(model), "-o", str(fixed)])
    assert result.exit_code == 2
    assert "no tokenizer was found to compare it with" in result.stderr
    assert not fixed.exists()


def test_no_link_is_followed_that_has_the_usual_name_of_the_repaired_file(run, tmp_path: Path):
    model, target = tmp_path / "model.gguf", tmp_path / "elsewhere"
    model.write_bytes(BROKEN.read_bytes())
    (tmp_path / "model-fixed.gguf").symlink_to(target)
    code, output = run(model)
    assert (code, "is a link; name the file to write with -o" in output) == (2, True), output
    assert not target.exists()
