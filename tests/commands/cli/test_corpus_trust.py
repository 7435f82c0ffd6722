"""Test that `corpus merge` and `corpus retry` treat a state directory as data: a stranger may have written its plan."""

import json
import pickle
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from support.in_process import InProcess
from support.paths import ROOT, SAMPLE
from support.selection import thinned
from support.stand_in import StandIn
from tokverify.commands.cli import main
from tokverify.commands.tasks import corpus as task
from tokverify.commands.tasks.corpus import start_worker
from tokverify.corpus.state import StateDirectory
from tokverify.errors import TokverifyError
from tokverify.references import environment
from tokverify.sources.load import load_gguf

MODEL, REFERENCE = str(SAMPLE / "sample.gguf"), str(SAMPLE / "sample.tokenizer.model")
PROGRAM = shlex.join([sys.executable, "-I", "-S", str(ROOT / "tests" / "support" / "small_program.py")])
COMMANDS = ["merge", "retry"]
pytestmark = pytest.mark.process


@pytest.fixture(autouse=True)
def in_process(monkeypatch) -> None:
    monkeypatch.setattr(task, "Processes", InProcess)


def corpus(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["corpus", *map(str, arguments)])


@pytest.fixture
def state(tmp_path) -> Path:
    """Verify a text, and return the state directory."""
    (tmp_path / "a.txt").write_text("some text\n")
    assert corpus(MODEL, tmp_path / "a.txt", "-r", REFERENCE, "--state", tmp_path / "out").exit_code == 0
    return tmp_path / "out"


def edit_plan(state: Path, edit: Callable[[dict], None]) -> None:
    document = json.loads((state / "plan.json").read_text())
    edit(document["plan"])
    (state / "plan.json").write_text(json.dumps(document))


def name_reference(state: Path, location: str) -> None:
    edit_plan(state, lambda plan: plan["request"].update(reference=location))


def require_refusal(result: Result, reason: str) -> None:
    assert result.exit_code == 2, result.output
    assert reason in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("key", ["reference", "model"])
def test_a_plan_runs_no_program(state, tmp_path, command, key):
    edit_plan(state, lambda plan: plan["request"].update({key: f"command:touch {tmp_path / 'ran'}"}))
    require_refusal(corpus(command, state), "name it with -r" if key == "reference" else "not a file")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_plan_installs_nothing(state, monkeypatch, command):
    monkeypatch.setattr(environment, "prepare", lambda packages: pytest.fail(f"would install {packages}"))
    name_reference(state, "env:tokenizers==0.21.0:x.json")
    require_refusal(corpus(command, state), "stored plan may not install packages; name it with -r")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_plan_asks_for_no_remote_code(state, command):
    name_reference(state, "transformers:org/name,trust_remote_code")
    require_refusal(corpus(command, state), "stored plan may not ask for trust_remote_code; name it with -r")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_plan_imports_no_other_package(state, tmp_path, monkeypatch, command):
    info = tmp_path / "adapter-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: adapter\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tokverify.references]\nother = other_adapter:load\n")
    (tmp_path / "other_adapter.py").write_text("def load(request):\n    return request\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "other_adapter", raising=False)
    name_reference(state, "other:x")
    require_refusal(corpus(command, state), "may not use a reference of another package; name it with -r")
    assert "other_adapter" not in sys.modules
    assert "its loader returned a Request" in corpus(command, state, "-r", "other:x").stderr


def test_a_worker_of_a_stored_plan_runs_nothing_either(state, tmp_path):
    name_reference(state, f"command:touch {tmp_path / 'ran'}")
    plan = StateDirectory(state).plan()
    sent = pickle.loads(pickle.dumps(plan.request))  # noqa: S301 - as other processes receive it
    with pytest.raises(TokverifyError, match="may not run a program"):
        start_worker(sent, plan.options)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_server_that_a_plan_names_is_sent_no_key(tmp_path, monkeypatch, command):
    monkeypatch.setenv("TOKVERIFY_API_KEY", "secret")
    (tmp_path / "a.txt").write_text("some text\n")
    state = tmp_path / "out"
    with StandIn(load_gguf(MODEL)) as server:
        assert corpus(MODEL, tmp_path / "a.txt", "-r", server.address, "--state", state).exit_code == 0
        assert server.headers["Authorization"] == "Bearer secret"
        for path in (state / "results").iterdir() if command == "retry" else ():
            path.unlink()  # so that the workers connect too
        assert corpus(command, state).exit_code == 0
        assert "Authorization" not in server.headers
        assert corpus(command, state, "-r", server.address).exit_code == 0
        assert server.headers["Authorization"] == "Bearer secret"


@pytest.mark.parametrize("command", thinned(2, COMMANDS[::-1]))
def test_a_program_that_the_user_names_is_run(tmp_path, monkeypatch, command):
    (tmp_path / "a.txt").write_text("some text\n")
    location, state = f"command:{PROGRAM}", tmp_path / "out"
    first = corpus(MODEL, tmp_path / "a.txt", "-r", location, "--state", state, "-f", "json")
    assert first.exit_code in (0, 1), first.output
    require_refusal(corpus(command, state, "-f", "json"), "may not run a program; name it with -r")
    assert corpus(command, state, "-r", location, "-f", "json").stdout == first.stdout
    for path in (state / "results").iterdir():
        path.unlink()
    assert corpus("retry", state, "-r", location, "-f", "json").stdout == first.stdout
    monkeypatch.setenv("TOKVERIFY_COMMANDS", PROGRAM)
    assert corpus(command, state, "-f", "json").stdout == first.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_another_reference_than_that_of_the_plan_is_refused(state, command):
    result = corpus(command, state, "-r", "rebuilt")
    require_refusal(result, "has changed since the results were stored: the reference is")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_reference_may_have_moved(state, tmp_path, command):
    (tmp_path / "moved.model").write_bytes(Path(REFERENCE).read_bytes())
    name_reference(state, "gone.model")
    assert "gone.model: no such file" in corpus(command, state).stderr
    assert corpus(command, state, "-r", tmp_path / "moved.model").exit_code == 0


def test_a_run_opens_what_its_own_command_names_and_not_the_plan(state, tmp_path):
    name_reference(state, f"command:touch {tmp_path / 'ran'}")
    assert corpus(MODEL, tmp_path / "a.txt", "-r", REFERENCE, "--state", state).exit_code == 0
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("path", ["reference://::https://example.org/x.json", "ssh://example.org/a.jsonl", "s3://a::b"])
def test_a_plan_names_no_data_that_is_more_than_fetched(state, monkeypatch, path):
    monkeypatch.setattr("tokverify.corpus.files.file_system", lambda url: pytest.fail(f"would open {url}"))
    edit_plan(state, lambda plan: plan["units"][0]["file"].update(path=path))
    require_refusal(corpus("retry", state), "a stored plan may name only files and addresses that begin with http://")
