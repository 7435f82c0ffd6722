"""Rendering in a child process: the environment that transformers offers, and hostile templates."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.paths import SAMPLE
from support.server_stand_ins import LaterSglangStandIn, SglangStandIn, VllmStandIn
from support.stand_in import StandIn
from tokverify import check_chat, load_gguf
from tokverify.chat.rendering import Renderer, Task
from tokverify.chat.worker import MAX_CHARACTERS
from tokverify.commands.cli import main
from tokverify.report.chat import Rendering
from tokverify.sources.gguf.writer import write_gguf


def render(tasks: list[Task], seconds: float = 10) -> list[Rendering]:
    with Renderer() as renderer:
        return renderer.render(tasks, seconds=seconds)


def one(template: str, seconds: float = 10, **variables: object) -> Rendering:
    [rendering] = render([Task(template, variables)], seconds=seconds)
    return rendering


@pytest.mark.parametrize(
    ("template", "variables", "text"),
    [
        ("{{ bos_token }}{% for m in messages %}{{ m.content }};{% endfor %}", {"bos_token": "<s>"}, "<s>a;b;"),
        ("  {% if true %}\nx\n  {% endif %}\n", {}, "x\n"),
        ("{{ {'é': [1, '<']} | tojson }}", {}, '{"é": [1, "<"]}'),
        ("{{ {'a': 1} | tojson(indent=1) }}", {}, '{\n "a": 1\n}'),
        ("{% for m in messages %}{% if loop.first %}{% continue %}{% endif %}{{ m.content }}{% endfor %}", {}, "b"),
        ("a{% generation %}b{{ messages[0].content }}{% endgeneration %}c", {}, "abac"),
        ("{{ strftime_now('%Y-%m-%d') }}", {}, "2026-01-02"),
        ("{{ absent }}|", {}, "|"),
        ("{{ '<b>' }}", {}, "<b>"),
    ],
)
def test_rendering_equals_that_of_transformers(template, variables, text):
    messages = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    assert one(template, messages=messages, **variables) == Rendering(text)


def test_a_refusal_by_the_template_is_reported():
    assert one("{{ raise_exception('no system message') }}") == Rendering(error="no system message", deliberate=True)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("a\n{% if %}", "line 2: "),
        ("{{ 1 + 'a' }}", "unsupported operand"),
        ("{{ messages.__class__.__mro__ }}", "unsafe"),
        ("{{ messages.append(1) }}", "unsafe"),
        ("{{ ().__class__.__base__.__subclasses__() }}", "unsafe"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "recursion"),
        ("{% for i in range(99999) %}{{ 'a' * 99 }}{% endfor %}", f"more than {MAX_CHARACTERS:,} characters"),
        ("{{ range(10 ** 9) }}", "too big"),
    ],
)
def test_a_template_that_raises_is_an_error(template, message):
    rendering = one(template, messages=[])
    assert rendering.text is None
    assert message in rendering.error
    assert not rendering.deliberate


def test_a_template_without_end_is_stopped_and_the_others_are_rendered():
    template = (
        "{% for i in range(n) %}{% for j in range(n) %}{% for k in range(n) %}{% endfor %}{% endfor %}{% endfor %}x"
    )
    slow, quick = Task(template, {"n": 90_000}), Task(template, {"n": 1})
    assert render([quick, slow, quick], seconds=1) == [
        Rendering("x"),
        Rendering(error="it exceeds the time limit"),
        Rendering("x"),
    ]


def test_an_endless_template_is_stopped_and_others_are_rendered():
    endless = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
    found = render([Task(endless, {})] * 9 + [Task("x", {})], seconds=0.5)
    assert found == [Rendering(error="it exceeds the time limit")] * 9 + [Rendering("x")]


STARTS_A_CHILD = """
import subprocess
from tokverify.chat.rendering import Renderer, Task
start = subprocess.Popen
def record(*arguments, **options):
    process = start(*arguments, **options)
    print(process.pid, flush=True)
    return process
subprocess.Popen = record
Renderer().render([Task("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", {})])
"""


def test_a_child_ends_with_its_parent():
    if not Path("/proc/self/stat").exists():
        pytest.skip("needs /proc")
    with subprocess.Popen([sys.executable, "-c", STARTS_A_CHILD], stdout=subprocess.PIPE) as parent:
        child = int(parent.stdout.readline())
        assert runs(child)
        time.sleep(0.5)  # until it has begun to watch
        parent.kill()
    for _ in range(200):
        if not runs(child):
            return
        time.sleep(0.05)
    raise AssertionError("the child still runs")


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_several_templates_share_a_process():
    tasks = [Task("{{ a }}", {"a": "1"}), Task("{% if", {}), Task("{{ self.x }}{{ a }}", {"a": "2", "self": "odd"})]
    first, broken, last = render(tasks)
    assert (first, last) == (Rendering("1"), Rendering("2"))
    assert broken.error.startswith("line 1: ")


def test_each_task_has_its_own_template_however_many_are_sent_at_once():
    tasks = [Task("{{ n }}" if n % 500 else "{{ -n }}", {"n": n}) for n in range(1, 1200)]
    assert render(tasks) == [Rendering(str(n if n % 500 else -n)) for n in range(1, 1200)]


def test_a_refusal_of_any_length_is_cut():
    assert len(one("{{ raise_exception('x' * 100000) }}").error) == 1000


def test_a_child_that_dies_is_reported(monkeypatch, tmp_path):
    worker = tmp_path / "worker.py"
    worker.write_text("import sys; sys.stdin.readline(); sys.exit(7)")
    monkeypatch.setattr("tokverify.chat.rendering._WORKER", worker)
    assert one("x").error == "its process ended without a response: exit code 7; it may need too much memory"


def test_a_template_that_fills_the_memory_is_an_error():
    rendering = one("{% set x = 'a' * 4000000000 %}{{ x | length }}")
    assert rendering.text is None
    assert rendering.error


def test_the_patience_is_for_one_task_not_for_all():
    busy = "{% for i in range(99999) %}{% endfor %}" * 3 + "{{ n }}"
    tasks = [Task(busy, {"n": n}) for n in range(100)]
    assert render(tasks, seconds=1) == [Rendering(str(n)) for n in range(100)]


def test_an_endless_template_is_stopped_each_time_and_others_are_rendered():
    endless = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
    found = render([Task(endless, {}), Task(endless, {}), Task("x", {}), Task(endless, {})], seconds=0.5)
    late = Rendering(error="it exceeds the time limit")
    assert found == [late, late, Rendering("x"), late]


def test_random_choices_are_reproducible():
    task = Task("{{ range(10 ** 5) | random }}", {})
    first, again = render([task, task])
    assert first == again == render([task])[0]
    assert first != one(task.template, messages=[{"role": "user", "content": "a"}])


@pytest.fixture(scope="module")
def encoder():
    return load_gguf(SAMPLE / "sample.gguf")


@pytest.fixture(scope="module")
def model(encoder, tmp_path_factory):
    """The sample with a chat template."""
    path = tmp_path_factory.mktemp("model") / "model.gguf"
    write_gguf(path, replace(encoder.spec, chat_template=VllmStandIn.template))
    return path


@pytest.fixture
def conversations(tmp_path):
    path = tmp_path / "own.yaml"
    messages = [{"role": "user", "content": "Hi"}]
    path.write_text(json.dumps([{"id": "one", "messages": messages}]))
    return path


@pytest.mark.parametrize("stand_in", [VllmStandIn, LaterSglangStandIn])
@pytest.mark.parametrize("is_equal", [True, False])
def test_messages_are_compared(model, encoder, conversations, stand_in, is_equal):
    with stand_in(encoder) as running:
        running.template = VllmStandIn.template if is_equal else "other"
        report = check_chat(model, running.address, conversations=conversations)
    (result,) = report.results
    assert result.expected.text == (result.actual.text if is_equal else "other")
    kinds = {finding.kind for finding in report.findings}
    assert ("drift" in kinds) is not is_equal
    assert any("templates other than the server's default one" in reason for reason in report.not_checked)


def test_a_server_that_takes_no_messages_is_not_compared(model, encoder, conversations):
    with SglangStandIn(encoder) as running:
        report = check_chat(model, running.address, conversations=conversations)
    assert [result.expected for result in report.results] == [None]
    assert "drift" not in {finding.kind for finding in report.findings}
    assert any("its version does not render" in reason for reason in report.not_checked)


def test_the_template_of_llama_server_is_compared(model, encoder, conversations):
    with StandIn(encoder) as running:
        running.answers["/apply-template"] = (200, {"prompt": "other"})
        arguments = ["chat", str(model), "-r", running.address, "--conversations", str(conversations)]
        result = CliRunner().invoke(main, arguments)
        assert "/apply-template" in running.requests
    assert result.exit_code == 1
    assert "drift" in result.stdout


@pytest.mark.parametrize("answer", [(500, {"error": {"message": "no template"}}), (200, {"prompt": 5})])
def test_a_server_that_cannot_render_is_a_finding(model, encoder, conversations, answer):
    with StandIn(encoder) as running:
        running.answers["/apply-template"] = answer
        report = check_chat(model, running.address, conversations=conversations)
    assert any("reference's template fails" in finding.message for finding in report.findings)


def test_a_conversation_that_llama_server_would_continue_is_not_compared(model, encoder, tmp_path):
    path = tmp_path / "own.yaml"
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    path.write_text(json.dumps([{"id": "turn", "messages": messages}, {"id": "one", "messages": messages[:1]}]))
    with StandIn(encoder) as running:
        running.answers["/apply-template"] = (200, {"prompt": "<|user|>Hi"})
        turn, one = check_chat(model, running.address, conversations=path).results
    assert turn.expected is None
    assert one.expected.text == one.actual.text == "<|user|>Hi"
