"""A small C++ hybrid tokenizer, trained on the words that its checklist needs."""

from pathlib import Path

from tokverify.sources.gguf.writer import write_gguf
from tokverify.sources.huggingface.conversion import read_spec
from tokverify.train import TRAINERS, TrainingPlan

SOURCE = r"""
#include "buffer.h"
// Check null pointer
void Process(char* buf) {
    int integer = 1024, integers = 65536, hexadecimal = 0x7ffee1234abc;
    printf("hello %d\n", x);
    Header* ptr = reinterpret_cast<Header*>(buf); // print the interface
    newline = forwarding(unsettled, mapping, doing);  // naïve 日本語
}
$ git diff
"""
CORPUS = SOURCE * 5
SIZE = 2500


def train_cpp(folder: Path, corpus: str = CORPUS, vocab_size: int = SIZE) -> Path:
    """Train, write tokenizer.json and cpp-checklist.gguf to a folder, and return the path of the latter."""
    path = folder / "corpus.cpp"
    path.write_text(corpus, encoding="utf-8")
    trained = TRAINERS["cpp"](TrainingPlan(corpus=(path,), vocab_size=vocab_size))
    (folder / "tokenizer.json").write_bytes(trained.data)
    gguf = folder / "cpp-checklist.gguf"
    write_gguf(gguf, read_spec(folder / "tokenizer.json"))
    return gguf
