"""Compare what `chat` says with a running llama-server: `python benchmarks/chat_server.py --help`.

The server, which the package xllamacpp brings, runs a small model around the tokenizer. For each template, it renders
the shipped conversations, encodes them, counts the tokens of each prompt, and says how many of them it kept for the
continued conversation. Contents that `chat` reports as injections are sent to it, as are those of planted_chats.jsonl,
which were written before `chat` had seen the templates.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import urllib.error
import urllib.request
from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import checkout  # noqa: F401

from support.small_server import serve, write_small_model
from tokverify.chat.check import ANSWER, QUESTION
from tokverify.chat.conversation import load_conversations
from tokverify.chat.injection import SHAPES, converse
from tokverify.chat.trial import try_templates
from tokverify.engine.encoder import Encoder
from tokverify.report.chat import Conversation
from tokverify.sources.gguf.cursor import ValueType
from tokverify.sources.gguf.declaration import read_spec
from tokverify.sources.gguf.metadata import Value
from tokverify.sources.gguf.patch import write_patched

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokverify.report.chat import ChatReport, RenderedConversation

PLANTED = Path(__file__).with_name("planted_chats.jsonl")
WORDS = ("first", "second", "third")
WRITTEN = re.compile(r': (?:[^:"]*, )?"([^"]+)"(?: and "([^"]+)")? becomes? (\d+) ')
KEPT = re.compile(r"only ([\d,]+) of")
DATE = "02 Jan 2026"
SERVED = {"enable_thinking": True, "date_string": DATE, "datetime": "Jan 02 2026"}
"""What the server adds otherwise."""


@dataclass(frozen=True)
class Server:
    """A running llama-server."""

    address: str

    def post(self, path: str, content: dict[str, Any]) -> dict[str, Any]:
        """Send a request; the answer to one that is refused has no more than an error."""
        request = urllib.request.Request(self.address + path, json.dumps(content).encode())  # noqa: S310 - our own server
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
                return dict(json.load(answer))
        except urllib.error.HTTPError as error:
            return {"error": error.read().decode(errors="replace")}

    def ids(self, text: str) -> list[int]:
        """Encode a rendered prompt."""
        return list(self.post("/tokenize", {"content": text, "parse_special": True, "add_special": False})["tokens"])

    def count(self, conversation: Conversation, id: int) -> int:
        """Count a token in the prompt of a conversation; -1 if the template refuses it."""
        prompt = self.post("/apply-template", content_of(conversation)).get("prompt")
        return -1 if prompt is None else self.ids(prompt).count(id)


def content_of(conversation: Conversation) -> dict[str, Any]:
    """Return a conversation as a server takes it."""
    tools = {} if conversation.tools is None else {"tools": list(conversation.tools)}
    return {
        "messages": list(conversation.messages),
        "add_generation_prompt": conversation.add_generation_prompt,
        "chat_template_kwargs": {**SERVED, **conversation.variables},
        **tools,
    }


def compare_conversations(server: Server, encoder: Encoder, report: ChatReport) -> Iterable[str]:
    """Yield what is the same and what is not, for each conversation that both render and that asks for an answer."""
    conversations = {each.id: each for each in report.conversations}
    bos = encoder.piece(encoder.special_ids["bos"]) if encoder.settings.add_bos else ""
    for result in report.results:
        conversation, text = conversations[result.conversation], result.actual.text
        if conversation.needs == "contents in parts":
            continue  # which the server joins for most templates
        prompt = server.post("/apply-template", content_of(conversation)).get("prompt")
        if text is None or prompt is None or not conversation.add_generation_prompt:
            continue
        if has_today(prompt):
            yield "text: not compared, because it contains the date"
            continue
        is_same = prompt in {text, text.removeprefix(bos)}
        yield "text: the same" if is_same else "text: OTHER"
        if not is_same:
            continue
        ids = server.ids(text)
        yield "ids: the same" if ids == list(result.actual_ids or ()) else "ids: OTHER"
        yield from compare_cache(
            server, conversation, len(ids) + bool(bos and prompt == text), find_kept(report, result)
        )


def has_today(prompt: str) -> bool:
    """Check whether a template has written the date; `chat` writes the same one every day."""
    today = datetime.now()
    return any(today.strftime(form) in prompt for form in ("%Y-%m-%d", "%d %b %Y", "%B %d, %Y"))


def find_kept(report: ChatReport, result: RenderedConversation) -> int | None:
    """Return how many tokens of the prompt stay the same according to the report; None if all do."""
    found = [each for each in report.findings if each.kind == "cache" and result.conversation in each.conversations]
    kept = [int(match[1].replace(",", "")) for each in found if (match := KEPT.search(each.message))]
    return kept[0] if kept else None


def compare_cache(server: Server, conversation: Conversation, count: int, kept: int | None) -> Iterable[str]:
    """Yield whether the server evaluates as many tokens, and keeps them for the continued conversation, as expected."""
    answer = server.post("/v1/chat/completions", {**content_of(conversation), "max_tokens": 1})
    if "usage" in answer:
        yield "tokens of the prompt: the same" if answer["usage"]["prompt_tokens"] == count else "tokens: OTHER"
    added = [{"role": "assistant", "content": ANSWER}, {"role": "user", "content": QUESTION}]
    continued = replace(conversation, messages=[*conversation.messages, *added])
    answer = server.post("/v1/chat/completions", {**content_of(continued), "max_tokens": 1})
    if "timings" in answer:
        is_lost = answer["timings"]["cache_n"] < count
        yield f"cache {'lost' if is_lost else 'kept'}: {'as said' if is_lost == (kept is not None) else 'OTHER'}"


def compare_injections(server: Server, report: ChatReport) -> Iterable[str]:
    """Yield whether the contents in the report become control tokens."""
    for finding in report.findings:
        match = WRITTEN.search(finding.message)
        if finding.kind != "injection" or match is None or "parse_special off:" in finding.message:
            continue
        written = [text.replace("↵", "\n") for text in match.groups()[:2] if text]
        yield "injection: confirmed" if is_confirmed(server, written, int(match[3])) else "injection: NOT CONFIRMED"


def is_confirmed(server: Server, written: Sequence[str], id: int) -> bool:
    """Check whether these contents, anywhere in a conversation, become a token."""
    for shape, roles in SHAPES.items():
        words = WORDS[: len(roles)]
        plain = max(server.count(converse(shape, words), id), 0)
        for at in range(len(roles) - len(written) + 1):
            contents = [*words[:at], *written, *words[at + len(written) :]]
            if server.count(converse(shape, contents), id) > plain:
                return True
    return False


def compare_template(small: Path, template: Path) -> Counter[str]:
    """Compare what `chat` says about a template with what a server does."""
    encoder, model = load(small, template.read_text())
    conversations = [replace(each, variables={**SERVED, **each.variables}) for each in load_conversations()]
    report = try_templates(encoder, conversations)
    with serve(model) as address:
        server = Server(address)
        return Counter([*compare_conversations(server, encoder, report), *compare_injections(server, report)])


def try_planted(planted: dict[str, Any], small: Path) -> str:
    """Check whether `chat` and a server agree about a planted template."""
    encoder, model = load(small, planted["template"])
    report = try_templates(encoder, load_conversations())
    messages = [each.message for each in report.findings if each.kind == "injection"]
    words = [each for each in messages if planted["says"] and planted["says"] in each]
    id = encoder.settings.ids[planted["marker"]]
    is_said = bool(words) if planted["says"] else any(f"becomes {id} " in each for each in messages)
    with serve(model) as address:
        server = Server(address)
        given = Conversation(id="planted", messages=planted["messages"], add_generation_prompt=True)
        is_open = server.count(given, id) > max(server.count(make_harmless(given), id), 0)
    return f"planted: {'open' if is_open else 'closed'}, {'said' if is_said else 'not said'}"


def make_harmless(conversation: Conversation) -> Conversation:
    """Return a conversation with the same messages whose contents are a word."""
    content = {"content": WORDS[0], "name": WORDS[0]}
    messages = [
        each | {key: content[key] for key in content.keys() & each} for each in map(dict, conversation.messages)
    ]
    return replace(conversation, messages=messages)


def load(small: Path, template: str) -> tuple[Encoder, Path]:
    """Write a copy of a model with another template, and load it."""
    model = small.with_suffix(".template.gguf")
    model.unlink(missing_ok=True)
    write_patched(small, model, {"tokenizer.chat_template": Value(ValueType.STRING, template)})
    return Encoder(read_spec(model), small.stem), model


def main() -> None:
    """Print what is the same and what is not for each template, and for all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vocabularies", type=Path, help="a directory with vocabularies: qwen3.gguf, gemma-3.gguf, ...")
    parser.add_argument("templates", nargs="*", help="NAME=FILE: the vocabulary, and a template to try with it")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        models = SmallModels(arguments.vocabularies, Path(folder))
        total = Counter(chain.from_iterable(compare_all(models, arguments.templates)))
    for what, count in sorted(total.items()):
        print(f"{count:6,} {what}")


def compare_all(models: SmallModels, templates: Iterable[str]) -> Iterable[Iterable[str]]:
    """Print and yield what is the same and what is not for each template."""
    for name, _, file in (each.partition("=") for each in templates):
        found = compare_template(models.write(name), Path(file))
        print(f"{name} {Path(file).name}: {dict(found)}", flush=True)
        yield found.elements()
    for planted in map(json.loads, PLANTED.read_text().splitlines()):
        answer = try_planted(planted, models.write(planted["vocabulary"]))
        print(f"{planted['name']}: {answer}", flush=True)
        yield [answer]


@dataclass(frozen=True)
class SmallModels:
    """Vocabularies with small models around them."""

    vocabularies: Path
    folder: Path

    def write(self, name: str) -> Path:
        """Return the model with the vocabulary of this name, after it was written if this is the first time."""
        small = self.folder / f"{name}.gguf"
        if not small.exists():
            write_small_model(self.vocabularies / small.name, small)
        return small


if __name__ == "__main__":
    main()
