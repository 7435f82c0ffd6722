"""A template rendered by a real llama-server is what tokverify writes, with all that the server adds."""

import re
from pathlib import Path

import pytest

from support.paths import SAMPLE
from support.small_server import serve, write_small_model
from tokverify import check_chat
from tokverify.sources.gguf.cursor import ValueType
from tokverify.sources.gguf.metadata import Value
from tokverify.sources.gguf.patch import write_patched

pytestmark = pytest.mark.process  # a server and templates are run in child processes

TEMPLATE = """{{ bos_token }}
{%- if strftime_now is defined %}{{ strftime_now("%Y-%m-%d") }}{% endif %}{{ date_string }}
{%- for m in messages %}[{{ m.role }}]{{ m.content + "" }}{% endfor %}
{%- if add_generation_prompt %}[assistant]{% if enable_thinking %}<think>{% endif %}{% endif %}"""


def with_template(template: str, path: Path) -> Path:
    write_patched(SAMPLE / "sample.gguf", path, {"tokenizer.chat_template": Value(ValueType.STRING, template)})
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return with_template(TEMPLATE, tmp_path_factory.mktemp("model") / "model.gguf")


@pytest.fixture(scope="module")
def address(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    write_small_model(model, folder / "small.gguf")
    with serve(folder / "small.gguf") as running:
        yield running


def test_the_template_that_a_server_renders_is_no_drift(model, address):
    report = check_chat(model, address)
    assert {each.kind for each in report.findings if each.severity.name == "ERROR"} == set()
    compared = {each.conversation: each for each in report.results if each.expected and each.expected.text}
    assert {"user", "parts", "thinking", "thinking-off"} <= compared.keys()
    assert {id for id, each in compared.items() if each.expected.text != each.actual.text} == set()
    texts = {id: each.actual.text for id, each in compared.items()}
    assert re.match(r"<bos>\d{4}-\d\d-\d\d02 Jan 2026\[user\]", texts["user"])
    assert texts["user"].endswith("[assistant]<think>")
    assert texts["thinking-off"].endswith("[assistant]")
    assert "[user]Describe \nan apple." in texts["parts"]


def test_another_template_than_that_of_the_server_is_drift(address, tmp_path):
    other = with_template(TEMPLATE.replace("[assistant]", "[bot]"), tmp_path / "other.gguf")
    drift = [each for each in check_chat(other, address).findings if each.kind == "drift"]
    assert {each.severity.name for each in drift} == {"ERROR"}
    assert any('"bot" where the reference writes "assistant"' in each.message for each in drift)
