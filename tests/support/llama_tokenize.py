"""Stands in for llama.cpp's llama-tokenize: encodes what it reads, with the options of that program."""

import argparse
import sys

from tokverify.sources.load import load_gguf


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("-m", dest="model")
    parser.add_argument("--version", action="store_true")
    parser.add_argument("--ids", action="store_true", required="--version" not in sys.argv)
    parser.add_argument("--stdin", action="store_true", required="--version" not in sys.argv)
    parser.add_argument("--no-escape", action="store_true")
    parser.add_argument("--no-bos", action="store_true")
    parser.add_argument("--no-parse-special", action="store_true")
    options = parser.parse_args()
    if options.version:
        print("version: 9014 (0123abcd)", file=sys.stderr)
        return
    text = sys.stdin.buffer.read().decode()
    if not options.no_escape:
        text = text.replace("\\n", "\n")
    if "crash" in text:
        sys.exit("terminate called after throwing an instance of 'std::out_of_range'")
    encoder = load_gguf(options.model)
    # As the program does: without BOS, it adds nothing at all.
    adds = encoder.settings.add_bos and not options.no_bos
    print("loading")
    print(encoder.encode(text, add_special=adds, parse_special=not options.no_parse_special))


if __name__ == "__main__":
    main()
