"""Make tiny vocabularies of the families that `tokverify train` cannot train, for docs/families.md.

Run as `python tests/data/make_families.py DIRECTORY`. They are invented, and small enough to follow by hand.
"""

import argparse
from pathlib import Path

from tokverify.engine.byte_level import byte_alphabet
from tokverify.sources.gguf.writer import with_name, write_gguf
from tokverify.spec import TokenizerSpec, TokenType

BYTE_PIECES = [f"<0x{byte:02X}>" for byte in range(0x100)]
BYTE_ALPHABET = [byte_alphabet()[byte] for byte in range(0x100)]
SCORES = {" ": -2.0, "t": -4.0, "he": -3.5, "the": -2.5, " the": -3.0, "n": -4.0, "then": -6.5, " then": -8.0}
MERGES = ["t h", "th e", "l l", "s h", "e l", "sh el", "shel l"]


def rwkv() -> TokenizerSpec:
    """Every byte, and a few words."""
    tokens = [*(f"\\x{byte:02x}" for byte in range(0x100)), "ca", "cat", "cats", "at", " at", "\\xc3\\xa9"]
    return TokenizerSpec(model="rwkv", tokens=["<s>", *tokens], types=_types(["<s>", *tokens], "<s>"))


def plamo(model: str) -> TokenizerSpec:
    """The byte pieces, and a few pieces with scores."""
    tokens = ["<unk>", "<s>", "</s>", "<pad>", *BYTE_PIECES, *SCORES]
    scores = [SCORES.get(token, 0.0) for token in tokens]
    return TokenizerSpec(
        model=model, tokens=tokens, types=_types(tokens, "<unk>", "<s>", "</s>", "<pad>"), scores=scores
    )


def byte_pair(model: str, *further: str) -> TokenizerSpec:
    """The byte-level alphabet, the results of a few merges, and further tokens."""
    made = [merge.replace(" ", "") for merge in MERGES]
    tokens = [*BYTE_ALPHABET, *made, *further]
    return TokenizerSpec(model=model, tokens=tokens, types=_types(tokens), merges=MERGES, pre="default")


def _types(tokens: list[str], *control: str) -> list[int]:
    kinds = dict.fromkeys(control, TokenType.CONTROL) | dict.fromkeys(BYTE_PIECES, TokenType.BYTE)
    return [kinds.get(token, TokenType.NORMAL).value for token in tokens]


FAMILIES = {
    "rwkv": rwkv(),
    "plamo2": plamo("plamo2"),
    "plamo3": plamo("plamo3"),
    "hybriddna": byte_pair("hybriddna", "<dna>", "</dna>", "<oov>", "ACGTAC\ue000", "GGTAAA\ue000"),
    "whitespace": byte_pair("whitespace"),
}


def write_families(directory: Path) -> None:
    """Write one file a family into `directory`."""
    directory.mkdir(exist_ok=True)
    for name, spec in FAMILIES.items():
        write_gguf(directory / f"{name}.gguf", with_name(spec, name))


def main() -> None:
    """Write the families to the directory that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, help="where to write them; made if it is not there")
    write_families(parser.parse_args().directory)


if __name__ == "__main__":
    main()
