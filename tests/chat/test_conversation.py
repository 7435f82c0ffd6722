"""Conversations: the shipped ones, and complaints about one's own."""

import pytest

from tokverify.chat.conversation import load_conversations
from tokverify.errors import TokverifyError

GOOD = """\
- id: one
  messages: [{role: user, content: "yes", n: 3, deep: {a: [true, null]}}]
  add_generation_prompt: true
"""


def test_the_shipped_conversations_cover_what_templates_do():
    conversations = load_conversations()
    roles = {message["role"] for conversation in conversations for message in conversation.messages}
    assert roles == {"system", "user", "assistant", "tool"}
    assert any(conversation.tools for conversation in conversations)
    assert any(conversation.add_generation_prompt for conversation in conversations)
    assert any(isinstance(c.messages[0]["content"], list) for c in conversations)
    assert all(conversation.note and conversation.line for conversation in conversations)


def test_reads_messages_as_json_would_have_them(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(GOOD)
    [conversation] = load_conversations(path)
    assert conversation.messages == [{"role": "user", "content": "yes", "n": 3, "deep": {"a": [True, None]}}]
    assert (conversation.file, conversation.line) == (str(path), 1)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[]", "no conversations"),
        ("- id: a", "own.yaml:1: a conversation has no messages"),
        ("- messages: [{role: user}]", "own.yaml:1: a conversation has no id"),
        ("- id: a\n  messages: [{content: x}]", "own.yaml:2: a message has no role"),
        ("- id: a\n  messages: [{role: user, content: no}]", "which YAML reads as true or false"),
        ("- id: a\n  mesages: []", "did you mean 'messages'?"),
        (GOOD + GOOD, "own.yaml:4: the id 'one' is already used on line 1"),
        ("- id: a\n  messages: [{role: user}]\n  add_generation_prompt: 1", "write true or false"),
        ("- [", "not valid YAML"),
        ("- id: a\n  messages: [x]", "own.yaml:2: a message is the string 'x'"),
        ("- id: a\n  messages: {role: user}", "own.yaml:2: messages is a mapping"),
        ("- id: a\n  tools: [x]\n  messages: [{role: user}]", "own.yaml:2: a tool is the string 'x'"),
    ],
)
def test_errors_name_the_file_and_the_line(tmp_path, text, complaint):
    path = tmp_path / "own.yaml"
    path.write_text(text)
    with pytest.raises(TokverifyError, match=r"own\.yaml") as raised:
        load_conversations(path)
    assert complaint in str(raised.value)
    assert str(raised.value).count("own.yaml") == (2 if "mesages" in text else 1)
