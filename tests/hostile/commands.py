"""The commands to run on a hostile file of each format."""

from pathlib import Path

from support.paths import SAMPLE

GGUF, MODEL, BROKEN = (SAMPLE / name for name in ("sample.gguf", "sample.tokenizer.model", "sample-broken.gguf"))
TEXTS = ("the  best <s> 12 é 🦙", "a")
SUITE = "suite: s\ncases:\n" + "".join(f"  - {{id: c{at}, text: '{text}'}}\n" for at, text in enumerate(TEXTS))

Command = tuple[str, ...]


def commands(kind: str, path: Path, turn: int) -> list[Command]:
    """Return the five commands to run on a file of a format; those of GGUF files change from turn to turn."""
    file, suite = str(path), str(path.parent / "cases.yml")
    sample, model, broken = str(GGUF), str(MODEL), str(BROKEN)
    chat = str(path.parent / "chat.gguf")
    # Searching for the cause of differences, which has a budget of its own, takes longer than all the rest.
    run = ("run", "-q") if turn % 20 == 0 else ("run", "--no-diagnose")
    # So does a comparison of whole vocabularies.
    difference = ("diff", sample, file, "--cases", suite)
    as_model: list[Command] = [
        ("encode", file, "the  best <s> 12 é"),
        (*run, file, "-r", model, "--cases", suite),
        ("audit", file, "-r", model),
        ("inspect", file),
    ]
    as_reference: list[Command] = [(*run, sample, "-r", file, "--cases", suite), ("audit", sample, "-r", file)]
    return {
        "gguf": [*as_model, _rotate(file, turn)],
        "tokenizer.json": [*as_model[:2], *as_reference, ("convert", file, "-o", file + ".gguf")],
        "sentencepiece": [*as_model[:2], *as_reference, ("convert", file, "-o", file + ".gguf")],
        "tiktoken": [
            ("encode", f"{file}:llama3", "the  best"),
            (*run, f"{file}:gpt2", "-r", f"{file}:gpt2", "--cases", suite),
            (*run, sample, "-r", f"{file}:qwen", "--cases", suite),
            ("audit", sample, "-r", f"{file}:(a|b)+|."),
            ("convert", f"{file}:gpt2", "-o", file + ".gguf"),
        ],
        "tekken": [
            *as_reference,
            difference if turn % 5 == 0 else ("explain", sample, "-r", file, "the  best"),
            ("encode", file, "a"),
            ("convert", file, "-o", file + ".gguf") if turn % 2 else ("stats", sample, file),
        ],
        "rwkv": [*as_model[:2], *as_reference, ("convert", file, "-o", file + ".gguf")],
        "toml": [("run",), ("run", "--allow-outside", "-q"), ("run", "-f", "json"), ("run", "-v"), ("init", "--force")],
        "suite": [
            (*run, sample, "-r", model, "--cases", file),
            ("cases", "check", file),
            ("cases", "list", file),
            (*run, sample, "-r", "expect", "--cases", file),
            ("cases", "record", sample, "-r", "rebuilt", "--cases", file),
        ],
        "baseline": [
            (*run, broken, "-r", model, "--cases", suite, "--baseline", file),
            (*run, broken, "-r", model, "--cases", suite, "--baseline", file, "-f", "junit"),
            ("run", sample, "-r", "rebuilt", "--cases", suite, "--baseline", file, "-f", "sarif"),
            ("audit", broken, "-r", model, "--waivers", file),
            (*run, broken, "-r", model, "--cases", suite, "--baseline", file, "--accept", "--reason", "x"),
        ],
        "waivers": [
            ("audit", sample, "--waivers", file),
            ("audit", sample, "-r", model, "--waivers", file, "-f", "json"),
            ("audit", sample, "--waivers", file, "-f", "markdown"),
            ("audit", sample, "--waivers", file, "-f", "sarif"),
            ("audit", broken, "--waivers", file),
        ],
        "conversations": [
            ("chat", chat, "--conversations", file),
            ("chat", chat, "--conversations", file, "-f", "json"),
            ("chat", chat, "--conversations", file, "-v"),
            ("chat", chat, "--conversations", file, "-f", "html"),
            ("chat", sample, "--conversations", file),
        ],
        "server": _ask_peer("ADDRESS", turn, suite),
        "program": _ask_peer("PROGRAM", turn, suite),
        "address": _ask_store("ADDRESS/model.gguf", turn, suite),
        "cache": [("run", "--no-diagnose", "ADDRESS/model.gguf", "--cases", suite)] * 3,
        "hub": _ask_store("hf:org/sample", turn, suite),
        "repository": [
            ("run", "--no-diagnose"),
            ("run", "--no-diagnose", "--allow-outside"),
            ("check",),
            ("run", "--no-diagnose", "--baseline", "known.yaml", "--accept", "--reason", "x"),
        ],
        "state": [
            ("corpus", "merge", "state"),
            ("corpus", "retry", "state", "-j", "1"),
            ("corpus", "status", "state"),
            ("corpus", "verify", GGUF.name, "data.jsonl", "-r", MODEL.name, "--state", "state", "-j", "1"),
        ],
        "report": [
            ("report", "show", file),
            ("report", "show", file, "-f", "markdown"),
            ("report", "show", file, "-f", "html"),
            ("report", "diff", file, file),
            ("report", "show", file, "-f", "junit"),
        ],
    }[kind]


def _rotate(file: str, turn: int) -> Command:
    """Return a command that takes longer, so that it runs on only some of the files."""
    model, suite = str(MODEL), str(Path(file).parent / "cases.yml")
    rotated: list[Command] = [
        ("explain", file, "-r", model, "the  best <s> 12 é", "--steps"),
        ("stats", file, suite),
        ("decode", file, "0", "1", "5", "259", "300", "65535"),
        ("diff", file, str(GGUF), "--cases", suite),
        ("chat", file),
        ("fuzz", file, "-r", model, "--texts", "30"),
        ("stream", file, "--cases", suite),
        ("learn", "-r", file, "-o", file + ".learned.gguf", "--texts", "30"),
    ]
    if turn % 50 == 7:
        return ("fix", file, "-r", model, "--cases", suite, "-o", file + ".fixed")
    return rotated[turn % len(rotated)]


def _ask_peer(peer: str, turn: int, suite: str) -> list[Command]:
    """Return commands that ask a server or a program, on either side."""
    sample, chat = str(GGUF), str(Path(suite).with_name("chat.gguf"))
    rotated: list[Command] = [
        ("diff", peer, sample, "--cases", suite),
        ("fuzz", sample, "-r", peer, "--texts", "30", "--no-replay", "--no-diagnose"),
        ("explain", sample, "the  best", "-r", peer),
        ("chat", chat, "-r", peer),
        ("stats", sample, suite, "--model", peer),
        ("run", "--streaming", sample, "-r", peer, "--cases", suite),
        ("fix", str(BROKEN), "-r", peer, "--cases", suite, "-o", "fixed.gguf"),
        ("encode", peer, "the  best"),
    ]
    run: Command = ("run", "--no-diagnose")
    both: list[Command] = [
        (*run, sample, "-r", peer, "--cases", suite),
        (*run, peer, "-r", str(MODEL), "--cases", suite),
    ]
    return [*both, rotated[turn % len(rotated)]]


def _ask_store(model: str, turn: int, suite: str) -> list[Command]:
    """Return commands that read a remote model, or its tokenizer."""
    rotated: list[Command] = [
        ("inspect", model),
        ("check", model, "--cases", suite),
        ("diff", str(GGUF), model, "--cases", suite),
        ("corpus", "verify", str(GGUF), suite, "-r", model, "-j", "1"),
    ]
    run: Command = ("run", "--no-diagnose")
    both: list[Command] = [(*run, model, "--cases", suite), (*run, str(GGUF), "-r", model, "--cases", suite)]
    return [*both, ("encode", model, "a"), rotated[turn % len(rotated)]]
