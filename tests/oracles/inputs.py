"""Make the files that the recorded commands read, once for both revisions.

They come from the bundled sample, the `gguf` package, and the command line of this checkout: from nothing that a
refactoring moves.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gguf import GGUFReader, GGUFValueType, GGUFWriter

from oracles.execution import environment
from support.paths import ROOT, SAMPLE
from support.real_data import SHARED

NORMAL, CONTROL, UNUSED = 1, 3, 5
KEY = "tokenizer.ggml."
Metadata = dict[str, Any]
"""The values of a GGUF file by key."""
Change = Callable[[Metadata], None]
TEXTS = 200
"""How many golden texts of each vocabulary are encoded."""

TURNS = (
    "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)
MARKED = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SUITE = """\
suite: ours
cases:
  - {id: words, text: 'Hello world', note: words}
  - {id: spaces, text: "a  b    c\\t\\td", note: spaces, tags: [whitespace]}
  - {id: markers, text: '<bos>Hi<eos>', parse_special: true}
  - {id: around, text: 'around', add_special: true}
  - {id: odd, text: 'é 🦙 <0x41> \\e[31m'}
"""
CONVERSATIONS = """\
- id: short
  messages:
    - {role: user, content: Hello}
- id: long
  messages:
    - {role: system, content: Be brief.}
    - {role: user, content: "two  spaces"}
    - {role: assistant, content: "<eos> in a text"}
    - {role: user, content: "Why?"}
"""
CONFIGURATION = """\
reports = ["json=report-{name}.json", "markdown=report-{name}.md"]
fail_on = ["error"]

[[models]]
name = "good"
model = "sample.gguf"
reference = "sample.tokenizer.model"

[[models]]
name = "broken"
model = "sample-broken.gguf"
reference = "sample.tokenizer.model"
cases = ["ours.yaml"]

[[models]]
name = "talking"
model = "template-bos.gguf"
reference = "reference"
cases = ["shipped", "ours.yaml"]
conversations = "chats.yaml"
"""


def put(**values: object) -> Change:
    """Set values, given by their keys without the prefix; None removes a key."""
    return lambda metadata: metadata.update({KEY + key: value for key, value in values.items()})


def put_at(array: str, **values: object) -> Change:
    """Set elements of an array; their indices follow an underscore."""

    def change(metadata: Metadata) -> None:
        for index, value in values.items():
            metadata[KEY + array][int(index.removeprefix("_"))] = value

    return change


def exchange(array: str, first: int, second: int) -> Change:
    def change(metadata: Metadata) -> None:
        values = metadata[KEY + array]
        values[first], values[second] = values[second], values[first]

    return change


def append(*tokens: str, type: int, **values: object) -> Change:
    """Add tokens at the end, and set values."""

    def change(metadata: Metadata) -> None:
        metadata[KEY + "tokens"] += tokens
        metadata[KEY + "scores"] += [-2000.0] * len(tokens)
        metadata[KEY + "token_type"] += [type] * len(tokens)
        put(**values)(metadata)

    return change


def drop_last(metadata: Metadata) -> None:
    for array in ("tokens", "scores", "token_type"):
        metadata[KEY + array].pop()


def all_of(*changes: Change) -> Change:
    def change(metadata: Metadata) -> None:
        for one in changes:
            one(metadata)

    return change


def put_anywhere(key: str, value: object) -> Change:
    return lambda metadata: metadata.update({key: value})


def template(text: str) -> Change:
    return put_anywhere("tokenizer.chat_template", text)


VARIANTS: dict[str, Change] = {
    "eos": put(eos_token_id=3),
    "bos": put(bos_token_id=1),
    "eot-5": put(eot_token_id=5),
    "eot-6": put(eot_token_id=6),
    "pad": put(padding_token_id=3),
    "second-pad": append("[PAD]", type=CONTROL, padding_token_id=2000),
    "no-pad": put(padding_token_id=None),
    "control-as-normal": put_at("token_type", _1=NORMAL, _2=NORMAL),
    "exchanged-scores": exchange("scores", 300, 1500),
    "exchanged-pieces": exchange("tokens", 672, 991),
    "missing-token": drop_last,
    "extra-token": append("extra", type=NORMAL),
    "extra-control": append("<|extra|>", type=CONTROL),
    "unused-tokens": append("[PAD2000]", "[PAD2001]", type=UNUSED),
    "no-bos": put(add_bos_token=False),
    "adds-eos": put(add_eos_token=True),
    "space-prefix": put(add_space_prefix=True),
    "unknown-id": put(unknown_token_id=290),
    "id-too-large": put(eos_token_id=70000),
    "byte-as-normal": put_at("token_type", _99=NORMAL),
    "no-scores": put(scores=None),
    "no-types": put(token_type=None),
    "escape-in-piece": put_at("tokens", _1700="\x1b[31m<b>|`"),
    "several": all_of(put(eos_token_id=3, add_bos_token=False), exchange("scores", 300, 1500)),
    "template": template(TURNS),
    "template-bos": template("{{ bos_token }}" + TURNS),
    "template-marker": template(MARKED),
    "template-invalid": template("{% for message in messages %}"),
    "unknown-model": put(model="nonsense"),
    "unknown-pre": all_of(put(pre="nonsense"), put(model="gpt2")),
    "other-architecture": put_anywhere("general.architecture", "llama"),
    "other-name": put_anywhere("general.name", "Phi 3 mini"),
}
"""What is changed in the bundled sample, by the name of the resulting file."""


def make_inputs(directory: Path) -> None:
    """Write all files to a directory; real vocabularies are links, and missing if they are not on this machine."""
    directory.mkdir(parents=True)
    for path in SAMPLE.iterdir():
        shutil.copy(path, directory)
    for name, change in VARIANTS.items():
        write_variant(SAMPLE / "sample.gguf", directory / f"{name}.gguf", change)
    whole = (SAMPLE / "sample.gguf").read_bytes()
    shutil.copy(SAMPLE / "sample.gguf", directory / "copy.gguf")
    (directory / "truncated.gguf").write_bytes(whole[: len(whole) // 2])
    (directory / "empty.gguf").write_bytes(b"")
    _make_reference(directory)
    _make_texts(directory)
    if (SHARED / "vocabs").is_dir():
        _make_real(directory / "real")


def write_variant(source: Path, target: Path, change: Change) -> None:
    """Write a copy of a GGUF file without tensors, with changed metadata."""
    reader = GGUFReader(source)
    types = {name: field.types for name, field in reader.fields.items()}
    metadata = {name: field.contents() for name, field in reader.fields.items() if not name.startswith("GGUF.")}
    change(metadata)
    writer = GGUFWriter(target, metadata.pop("general.architecture"))
    for name, value in metadata.items():
        if value is not None:
            type, *element = types.get(name) or [_type_of_new(value)]
            writer.add_key_value(name, value, type, element[-1] if element else None)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def _type_of_new(value: object) -> GGUFValueType:
    """Return the type of a key that the sample lacks; llama.cpp reads ids as UINT32 only."""
    return GGUFValueType.UINT32 if type(value) is int else GGUFValueType.get_type(value)


def _make_reference(directory: Path) -> None:
    """Write a directory as on the hub: a tokenizer.json, its configuration and a chat template."""
    reference = directory / "reference"
    reference.mkdir()
    command = ("convert", "sample.gguf", "-o", "reference/tokenizer.json", "--with-config", "-q")
    subprocess.run(
        [sys.executable, "-m", "tokverify", *command],
        cwd=directory,
        env=environment(ROOT, directory.parent),
        check=True,
        stdout=subprocess.DEVNULL,
    )
    (reference / "chat_template.jinja").write_text(TURNS, encoding="utf-8")
    shutil.copy(reference / "tokenizer.json", directory / "sample.tokenizer.json")


def _make_texts(directory: Path) -> None:
    lines = [f"Line {number}:  the  best   text,\tof {number * 37} words é 🦙 <eos>" for number in range(60)]
    texts: Mapping[str, str] = {
        "ours.yaml": SUITE,
        "invalid.yaml": "suite: s\ncases:\n  - {id: a, txt: 'a'}\n",
        "chats.yaml": CONVERSATIONS,
        "config.toml": CONFIGURATION,
        "invalid.toml": "modles = 1\n",
        "lines.txt": "\n".join(lines) + "\n",
        "documents.jsonl": _json_lines({"text": line, "id": number} for number, line in enumerate(lines)),
        "log.jsonl": _json_lines(
            [
                {"prompt_ids": [2, 1142], "response_ids": [982, 1167, 1747, 1]},
                {"prompt_ids": [2], "response_ids": [1769, 832, 424, 991, 1]},
                {"prompt_ids": [2], "response_ids": [1714, 1714, 1714, 672, 1]},
            ]
        ),
        "strings.jsonl": _json_lines(["Hello world", "a  b", "<bos>x<eos>", "", "é🦙\x00"]),
    }
    for name, text in texts.items():
        (directory / name).write_text(text, encoding="utf-8")
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return
    pq.write_table(pa.table({"text": lines, "id": list(range(len(lines)))}), directory / "documents.parquet")


def _make_real(directory: Path) -> None:
    directory.mkdir()
    for path in sorted((SHARED / "vocabs").iterdir()):
        (directory / path.name).symlink_to(path.resolve())
    write_variant(SHARED / "vocabs" / "gpt-2.gguf", directory / "gpt-2-llama-bpe.gguf", put(pre="llama-bpe"))
    for path in sorted((SHARED / "golden").glob("*.jsonl")):
        texts = [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()]
        chosen = texts[:: max(1, len(texts) // TEXTS)]
        (directory / path.name).write_text(_json_lines(chosen), encoding="utf-8")


def _json_lines(values: object) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)
