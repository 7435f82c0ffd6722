"""Chat templates that a server applies, compared with those of a file."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from support.paths import SAMPLE
from support.server_stand_ins import LaterSglangStandIn, SglangStandIn, VllmStandIn
from support.stand_in import StandIn
from tokverify import check_chat, load_gguf
from tokverify.commands.cli import main
from tokverify.sources.gguf.writer import write_gguf


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
