"""Learn the tokenizers of the shared vocabularies from ids alone, and write the table in docs/learn.md.

Run as `python benchmarks/learning.py`; it takes about half an hour. With names of vocabularies, it only prints their
rows. The references are llama.cpp itself, without what it declares, and a stand-in for a llama-server, which reveals
only ids and bytes.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass

import checkout  # noqa: F401

from support.paths import ROOT
from support.real_data import SHARED
from support.stand_in import StandIn
from tokverify.engine.encoder import Encoder
from tokverify.engine.settings import resolve
from tokverify.errors import EncodeError
from tokverify.references import open_reference
from tokverify.repair.probe import LearnedTokenizer, learn
from tokverify.repair.probe.ids_only import IdsOnly
from tokverify.sources.gguf.declaration import read_spec
from tokverify.spec import TokenizerSpec

TARGET = ROOT / "docs" / "learn.md"
BEGIN, END = "<!-- begin table -->\n", "<!-- end table -->\n"
NAMES = (
    "bert-bge",
    "gemma-3",
    "gemma-4",
    "gpt-2",
    "llama-spm",
    "mpt",
    "nomic-bert-moe",
    "qwen2",
    "t5",
    "xlnet",
)
HEADS = (
    "vocabulary",
    "tokens",
    "texts asked for",
    "model",
    "pre-tokenizer",
    "matched as declared",
    "added around a text",
    "merges",
    "golden strings",
    "through a server",
)


@dataclass(frozen=True)
class Row:
    name: str
    spec: TokenizerSpec
    learned: LearnedTokenizer
    golden: float
    golden_through_server: float

    @property
    def cells(self) -> Iterator[str]:
        settings, other = resolve(self.spec), resolve(self.learned.spec)
        yield self.name
        yield f"{len(self.spec.tokens):,}"
        yield f"{self.learned.encodings:,}"
        has_name = self.learned.spec.pre is not None
        yield mark(self.learned.spec.model, self.spec.model, () if has_name else self.learned.alike)
        yield mark(other.pre, settings.pre, self.learned.alike) if has_name else ""
        yield matched(settings.added_tokens, other.added_tokens, len(self.spec.tokens))
        around = self.learned.tokens.around
        expected = added_around(Encoder(self.spec))
        yield "yes" if around and (around.before, around.after) == expected else "no"
        yield compare(self.spec.merges, self.learned.spec.merges)
        yield f"{self.golden:.1%}"
        yield f"{self.golden_through_server:.1%}"


def mark(found: str, expected: str, alike: tuple[str, ...]) -> str:
    """Name what was found, and whether it is or could be what the file declares."""
    others = f" or {len(alike):,} others" if len(alike) > 1 else "".join(f" or {name}" for name in alike)
    if found == expected:
        return f"{found}{others}"
    return f"{found}{others} (declared: {expected})"


def matched(expected: tuple, found: tuple, size: int) -> str:
    """Count the tokens that are matched in texts, and stripped around, exactly as the file declares."""

    def describe(tokens: tuple) -> dict[int, tuple]:
        return {token.id: (token.special, token.lstrip, token.rstrip) for token in tokens}

    expected, found = describe(expected), describe(found)
    wrong = sum(expected.get(id) != found.get(id) for id in expected.keys() | found.keys())
    return "all" if not wrong else f"{size - wrong:,} of {size:,}"


def added_around(encoder: Encoder) -> tuple[tuple[int, ...], tuple[int, ...]]:
    text = encoder.encode("a")
    whole = encoder.encode("a", add_special=True)
    start = next(at for at in range(len(whole)) if whole[at : at + len(text)] == text)
    return tuple(whole[:start]), tuple(whole[start + len(text) :])


def compare(expected: object, found: object) -> str:
    if not expected:
        return ""
    if not found:
        return "scores instead"
    expected, found = list(expected), list(found)
    if expected == found:
        return "all, in order"
    return f"{len(set(expected) & set(found)):,} of {len(set(expected)):,}"


def golden_share(name: str, encoder: Encoder) -> float:
    lines = (SHARED / "golden" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return sum(agrees(encoder, json.loads(line)) for line in lines) / len(lines)


def agrees(encoder: Encoder, golden: dict) -> bool:
    modes = {name: golden[name] for name in ("add_special", "parse_special")}
    try:
        return encoder.encode(golden["text"], **modes) == golden["ids"]
    except EncodeError:
        return False


def measure(name: str) -> Row:
    path = SHARED / "vocabs" / f"{name}.gguf"
    spec = read_spec(path)
    learned = learn(IdsOnly(open_reference(f"llama.cpp:{path}").tokenizer))
    with StandIn(Encoder(spec)) as server:
        through_server = learn(open_reference(server.address).tokenizer)
    return Row(
        name=name,
        spec=spec,
        learned=learned,
        golden=golden_share(name, Encoder(learned.spec)),
        golden_through_server=golden_share(name, Encoder(through_server.spec)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="vocabularies; all by default")
    names = parser.parse_args().names
    lines = [f"| {' | '.join(HEADS)} |", f"|{'---|' * len(HEADS)}"]
    for name in names or NAMES:
        lines.append(f"| {' | '.join(measure(name).cells)} |")
        print(lines[-1], flush=True)
    if not names:
        page = TARGET.read_text(encoding="utf-8")
        before, rest = page.split(BEGIN)
        TARGET.write_text(before + BEGIN + "\n".join(lines) + "\n" + END + rest.split(END)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
