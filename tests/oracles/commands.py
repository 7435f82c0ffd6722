"""The commands to record: every command of tokverify on pairs of files with every kind of difference."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from oracles.inputs import VARIANTS

Command = tuple[str, ...]
"""The arguments of tokverify, or of another program if the first one is `!`."""
MODEL, JSON, GGUF = "sample.tokenizer.model", "sample.tokenizer.json", "sample.gguf"
FORMATS = {
    "json": "json",
    "markdown": "md",
    "html": "html",
    "junit": "xml",
    "github": "github",
    "gitlab": "gitlab",
    "sarif": "sarif",
}
"""The formats of a report besides the table, and the suffix of each file."""


@dataclass(frozen=True)
class Entry:
    """Commands to run one after the other in a copy of the inputs, and what they write there."""

    name: str
    commands: Sequence[Command]
    written: Sequence[str] = ()
    """Patterns of the files to record as text."""
    digests: Sequence[str] = ()
    """Patterns of the files to record as a digest."""
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Pair:
    """A file and the reference to compare it with."""

    name: str
    model: str
    reference: str


PAIRS = [
    Pair("equal", GGUF, MODEL),
    Pair("equal-json", GGUF, JSON),
    Pair("equal-directory", GGUF, "reference"),
    Pair("equal-gguf", GGUF, "copy.gguf"),
    Pair("broken", "sample-broken.gguf", MODEL),
    Pair("broken-json", "sample-broken.gguf", JSON),
    Pair("broken-gguf", "sample-broken.gguf", GGUF),
    Pair("eot-5-6", "eot-5.gguf", "eot-6.gguf"),
    Pair("model-as-model", MODEL, JSON),
    *(Pair(name, f"{name}.gguf", GGUF) for name in VARIANTS),
    *(Pair(f"{name}-model", f"{name}.gguf", MODEL) for name in ("eos", "pad", "several", "unknown-id", "extra-token")),
    *(Pair(f"{name}-directory", f"{name}.gguf", "reference") for name in ("eos", "no-bos", "template-bos", "several")),
    Pair("truncated", "truncated.gguf", GGUF),
    Pair("empty", "empty.gguf", GGUF),
    Pair("refused-reference", GGUF, "unknown-model.gguf"),
]
SHOWN_IN_FULL = ("equal", "broken", "several-directory", "unknown-id", "escape-in-piece")
"""The pairs that are recorded in all formats, and with more commands and options."""

REAL = {
    "gpt-2-llama-bpe": ("gpt-2-llama-bpe.gguf", "gpt-2.tokenizer.json", "run audit diff fix"),
    "gpt-2": ("gpt-2.gguf", "gpt-2.tokenizer.json", "run"),
    "mpt": ("mpt.gguf", "mpt.tokenizer.json", "run audit"),
    "llama-spm-json": ("llama-spm.gguf", "llama-spm.tokenizer.json", "run audit diff fix"),
    "llama-spm-model": ("llama-spm.gguf", "llama-spm.tokenizer.model", "run audit diff"),
    "bert-bge": ("bert-bge.gguf", "bert-bge.tokenizer.json", "run audit diff"),
    "t5": ("t5.gguf", "t5.tokenizer.model", "run audit fix"),
    "xlnet": ("xlnet.gguf", "xlnet.tokenizer.model", "run"),
    "gemma-3": ("gemma-3.gguf", "gemma-3.tokenizer.json", "run audit"),
}
"""The model, the reference and the commands of each real pair."""

COMMANDS = [
    "run",
    "check",
    "init",
    "demo",
    "fuzz",
    "corpus",
    "diff",
    "view",
    "explain",
    "audit",
    "inspect",
    "stats",
    "stream",
    "canonical",
    "versions",
    "conformance",
    "fix",
    "chat",
    "convert",
    "learn",
    "train",
    "encode",
    "decode",
    "cases",
    "report",
]
SUBCOMMANDS = {
    "train": ("bpe", "cpp", "spm", "unigram", "wordpiece"),
    "cases": ("check", "list", "record"),
    "report": ("diff", "show"),
    "corpus": ("verify", "status", "retry", "merge"),
}


def list_entries(inputs: Path) -> list[Entry]:
    """Return all entries, the slow ones first; those of real vocabularies only if they are there."""
    real = [*_real(), *_ids(inputs / "real")] if (inputs / "real").is_dir() else []
    entries = [*real, *_pairs(), *_single(), *_texts(), *_files(), *_reports(), *_errors(), *_help()]
    if not (inputs / "documents.parquet").exists():
        entries = [entry for entry in entries if "parquet" not in entry.name]
    return entries


def reported(name: str, *command: str, formats: Sequence[str] = tuple(FORMATS), digests: Sequence[str] = ()) -> Entry:
    """Return the entry of a command that writes its report in all formats."""
    # The rules of `audit` are no test cases, so there is no JUnit file of them.
    files = {format: f"report.{FORMATS[format]}" for format in formats if (command[0], format) != ("audit", "junit")}
    options = [part for format, file in files.items() for part in ("--report", f"{format}={file}")]
    return Entry(name, [(*command, *options)], tuple(files.values()), digests)


def plain(name: str, *command: str) -> Entry:
    return Entry(name, [command])


def _of_pair(command: str, prefix: str, pair: Pair) -> Entry:
    name, with_reference = f"{command}/{prefix}{pair.name}", (pair.model, "-r", pair.reference)
    # Pages of hundreds of failing cases take megabytes, and say the same for each pair.
    formats = tuple(FORMATS) if pair.name in SHOWN_IN_FULL else ("json",)
    if command == "diff":
        return reported(name, "diff", pair.reference, pair.model, formats=formats)
    if command == "fix":
        fixed = (*with_reference, "-o", "fixed.gguf")
        return reported(name, "fix", *fixed, formats=("json", "markdown"), digests=["fixed.gguf"])
    return reported(name, command, *with_reference, formats=formats)


def _pairs() -> Iterator[Entry]:
    for pair in PAIRS:
        for command in ("fix", "run", "check", "diff", "audit"):
            yield _of_pair(command, "", pair)
    for pair in (pair for pair in PAIRS if pair.name in SHOWN_IN_FULL):
        with_reference = (pair.model, "-r", pair.reference)
        yield plain(f"run-verbose/{pair.name}", "run", *with_reference, "-v")
        yield plain(f"run-quiet/{pair.name}", "run", *with_reference, "-q")
        yield plain(f"run-no-diagnose/{pair.name}", "run", *with_reference, "--no-diagnose")
        yield plain(f"run-fail-on/{pair.name}", "run", *with_reference, "--fail-on", "info,decoding,not-compared")
        yield plain(f"audit-verbose/{pair.name}", "audit", *with_reference, "-v")
        yield plain(f"fix-dry-run/{pair.name}", "fix", *with_reference, "--dry-run", "-v")
        yield reported(f"fuzz/{pair.name}", "fuzz", *with_reference, "--texts", "300", "--seed", "7")
        yield reported(f"conformance/{pair.name}", "conformance", *with_reference, "--texts", "100")
        yield reported(f"stream/{pair.name}", "stream", *with_reference)
        yield reported(f"canonical/{pair.name}", "canonical", "log.jsonl", *with_reference)
        text = "Hello  world <eos> é 🦙"
        yield reported(f"explain/{pair.name}", "explain", *with_reference, text, formats=())
        yield plain(f"explain-steps/{pair.name}", "explain", *with_reference, text, "--steps", "-v")
        yield plain(f"explain-json/{pair.name}", "explain", *with_reference, text, "--json")
    for name in ("template", "template-bos", "template-marker", "template-invalid", "sample"):
        for reference in ("", "reference", "template.gguf"):
            options = ("-r", reference) if reference else ()
            label = f"{name}-{reference.removesuffix('.gguf') or 'alone'}"
            yield reported(f"chat/{label}", "chat", f"{name}.gguf", *options, "--conversations", "chats.yaml")
        yield plain(f"chat-shipped/{name}", "chat", f"{name}.gguf", "-v")


def _single() -> Iterator[Entry]:
    for path in (*(f"{name}.gguf" for name in VARIANTS), GGUF, "sample-broken.gguf", "truncated.gguf", MODEL, JSON):
        yield plain(f"inspect/{path}", "inspect", path, "--json")
        yield plain(f"audit-alone/{path}", "audit", path, "-f", "json")
    for path in (GGUF, MODEL, JSON, "unknown-model.gguf", "escape-in-piece.gguf"):
        yield plain(f"inspect-table/{path}", "inspect", path)
        yield plain(f"inspect-tokens/{path}", "inspect", path, "--tokens", "0-40,1690-1710")
    yield reported("stats/sample", "stats", GGUF, "lines.txt", "-m", "sample-broken.gguf", formats=("json", "html"))
    yield plain("stats/samples", "stats", GGUF, "-v")
    yield plain("audit/explain-all", "audit", "--explain", "all")
    yield reported("check/several-models", "check", GGUF, "sample-broken.gguf", "eos.gguf", "-r", MODEL)
    yield reported("audit/several-models", "audit", GGUF, "sample-broken.gguf", "truncated.gguf")
    yield reported("run/several-models", "run", GGUF, "sample-broken.gguf", "-r", MODEL)
    yield plain("run/detected", "run", GGUF)
    for reference in ("rebuilt", "llama.cpp", "transformers:reference", "expect"):
        yield plain(f"run/against-{reference.partition(':')[0]}", "run", GGUF, "-r", reference, "--fail-on", "info")
    yield plain("version", "--version")
    yield plain("demo", "demo")


def _texts() -> Iterator[Entry]:
    text = "Hello  world <bos><eos> é 🦙"
    for path in (GGUF, MODEL, JSON, "escape-in-piece.gguf", "no-bos.gguf"):
        yield plain(f"encode/{path}", "encode", path, text)
    for option in ("--ids", "--count", "--json", "--add-special", "--no-parse-special", "--bos", "--eos"):
        yield plain(f"encode/option{option}", "encode", GGUF, text, option)
    yield plain("encode/jsonl", "encode", GGUF, "--jsonl", "--file", "strings.jsonl")
    ids = ["2", "672", "991", "1714", "239", "1", "1700"]
    for option in ("--stop-at-eos", "--raw", "--json"):
        yield plain(f"decode/option{option}", "decode", GGUF, *ids, option)
    yield plain("decode/plain", "decode", "escape-in-piece.gguf", *ids)
    yield plain("explain/decode", "explain", GGUF, "--decode", " ".join(ids))


def _files() -> Iterator[Entry]:
    for source, target in (
        (GGUF, "json"),
        (MODEL, "gguf"),
        (MODEL, "json"),
        (JSON, "gguf"),
        ("no-scores.gguf", "json"),
    ):
        made = f"made.{target}"
        yield reported(
            f"convert/{source}-to-{target}",
            *("convert", source, "-o", made, "--texts", "200"),
            formats=("json", "markdown"),
            digests=[made],
        )
    for source in (MODEL, JSON, GGUF):
        for options in ((), ("--ids-only",)):
            name = f"learn/{source}{''.join(options)}"
            command = ("learn", "-r", source, "-o", "learned.gguf", "--texts", "100", *options)
            yield reported(name, *command, formats=("json", "markdown"), digests=["learned.gguf"])
    for kind in SUBCOMMANDS["train"]:
        size = () if kind == "cpp" else ("--vocab-size", "320" if kind in {"bpe", "spm"} else "80")
        command = ("train", kind, "lines.txt", "-o", "trained", *size)
        yield Entry(f"train/{kind}", [command], ["trained/tokenizer_config.json"], ["trained/tokenizer.*"])
    for data in ("documents.jsonl", "documents.parquet"):
        command = ("corpus", "sample-broken.gguf", data, "-r", MODEL, "-j", "1", "--distill", "distilled.yaml")
        entry = reported(f"corpus/{data}", *command)
        yield Entry(entry.name, entry.commands, [*entry.written, "distilled.yaml"])
    state = ("corpus", GGUF, "documents.jsonl", "-r", MODEL, "-j", "1", "--state", "state")
    yield Entry("corpus/state", [state, ("corpus", "status", "state"), ("corpus", "merge", "state")])


def _reports() -> Iterator[Entry]:
    save = ("run", "sample-broken.gguf", "-r", MODEL, "-q", "-o", "broken.json")
    for format in ("table", *FORMATS):
        yield Entry(f"report-show/{format}", [save, ("report", "show", "broken.json", "-f", format)])
    other = ("run", "several.gguf", "-r", MODEL, "-q", "-o", "other.json")
    compare = reported("", "report", "diff", "other.json", "broken.json", formats=("json", "markdown"))
    yield Entry("report-diff", [save, other, *compare.commands], compare.written)
    for command in ("audit", "diff", "fuzz"):
        made: Command = (command, "sample-broken.gguf", *(() if command == "diff" else ("-r",)), GGUF)
        made = (*made, *(("--texts", "50") if command == "fuzz" else ()), "-q", "-o", "saved.json")
        yield Entry(f"report-show/{command}", [made, ("report", "show", "saved.json")])
    baseline = ("run", "sample-broken.gguf", "-r", MODEL, "--baseline", "known.yaml")
    update = (*baseline, "--accept", "--reason", "known")
    yield Entry("run/baseline", [update, baseline], ["known.yaml"])
    yield Entry("run/last-failed", [("run", "sample-broken.gguf", "-r", MODEL, "-q"), (*save[:4], "--lf", "-q")])
    copy = ("!", "cp", "config.toml", "tokverify.toml")
    for command in (("check",), ("run",), ("check", "good"), ("run", "broken", "-v"), ("check", "--only", "chat")):
        name = f"configured/{'-'.join(command)}"
        yield Entry(name, [("!", "git", "init", "-q"), copy, command], ["report-*"])
    invalid = ("!", "cp", "invalid.toml", "tokverify.toml")
    yield Entry("configured/invalid", [("!", "git", "init", "-q"), invalid, ("check",)])
    yield Entry(
        "init",
        [
            ("!", "git", "init", "-q", "ours"),
            ("!", "cp", GGUF, MODEL, "ours"),
            ("init", "ours"),
            ("init", "ours"),
        ],
        ["ours/tokverify.toml", "ours/.github/workflows/*"],
    )
    yield plain("cases/list", "cases", "list")
    yield plain("cases/list-json", "cases", "list", "--json")
    yield plain("cases/check", "cases", "check", "ours.yaml")
    yield plain("cases/check-invalid", "cases", "check", "invalid.yaml")
    record = ("cases", "record", GGUF, "-r", MODEL, "--cases", "ours.yaml")
    yield Entry("cases/record", [record, ("run", GGUF, "--cases", "ours.yaml")], ["ours.yaml"])


def _errors() -> Iterator[Entry]:
    commands: dict[str, Command] = {
        "no-such-file": ("run", "none.gguf", "-r", MODEL),
        "no-such-reference": ("run", GGUF, "-r", "none/tokenizer.json"),
        "no-reference": ("run", "eos.gguf", "--cases", "ours.yaml"),
        "no-model": ("run",),
        "no-such-suite": ("run", GGUF, "-r", MODEL, "--suite", "none"),
        "no-such-case": ("run", GGUF, "-r", MODEL, "-k", "none"),
        "invalid-suite": ("run", GGUF, "-r", MODEL, "--cases", "invalid.yaml"),
        "invalid-baseline": ("run", GGUF, "-r", MODEL, "--baseline", "ours.yaml"),
        "invalid-format": ("run", GGUF, "-r", MODEL, "-f", "none"),
        "invalid-fail-on": ("run", GGUF, "-r", MODEL, "--fail-on", "none,all"),
        "invalid-log": ("canonical", "documents.jsonl", GGUF),
        "invalid-report": ("report", "show", "ours.yaml"),
        "id-too-large": ("decode", GGUF, "99999"),
        "no-id": ("decode", GGUF, "word"),
        "unknown-command": ("verify", GGUF),
        "unknown-option": ("run", GGUF, "--none"),
        "existing-output": ("fix", "sample-broken.gguf", "-r", MODEL, "-o", GGUF),
        "no-such-directory": ("run", GGUF, "-r", MODEL, "-o", "none/report.json"),
        "encode-refused": ("encode", "unknown-model.gguf", "a"),
        "encode-truncated": ("encode", "truncated.gguf", "a"),
        "convert-refused": ("convert", "unknown-model.gguf", "-o", "made.json"),
        "stream-refused": ("stream", "unknown-model.gguf"),
        "stats-refused": ("stats", "unknown-model.gguf"),
    }
    return (plain(f"errors/{name}", *command) for name, command in commands.items())


def _help() -> Iterator[Entry]:
    yield plain("help/tokverify", "--help")
    for command in COMMANDS:
        yield plain(f"help/{command}", command, "--help")
        for subcommand in SUBCOMMANDS.get(command, ()):
            yield plain(f"help/{command}-{subcommand}", command, subcommand, "--help")


def _real() -> Iterator[Entry]:
    for name, (model, reference, commands) in REAL.items():
        for command in commands.split():
            yield _of_pair(command, "real-", Pair(name, f"real/{model}", f"real/{reference}"))


def _ids(real: Path) -> Iterator[Entry]:
    """Yield the entries that encode golden texts of each vocabulary, with each engine."""
    for texts in sorted(real.glob("*.jsonl")):
        for engine in ("native", "python"):
            encode = ("encode", f"real/{texts.stem}.gguf", "--jsonl", "--file", f"real/{texts.name}")
            yield Entry(
                f"ids/{texts.stem}-{engine}",
                [encode, (*encode, "--add-special", "--no-parse-special")],
                variables={"TOKVERIFY_ENGINE": engine},
            )
