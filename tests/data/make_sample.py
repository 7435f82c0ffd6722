"""Make the sample that `tokverify demo` runs on: a small GGUF vocabulary, its references, and a broken twin.

Run as `python tests/data/make_sample.py [DIRECTORY]`; the default is `tokverify/sample`. The reference is
trained on `sample_text.txt` by what `tokverify train spm` uses, with the options of Gemma's. The GGUF files are written
here, as llama.cpp's converter writes Gemma 3's; `tokverify convert` writes those of Llama, and the tokenizer.json.
In the twin the USER_DEFINED tokens are typed NORMAL, and so are never split off before the model runs.
"""

import json
import sys
from pathlib import Path

import gguf
import sentencepiece

from tokverify.commands.tasks.convert import convert_tokenizer
from tokverify.train.corpus import read_lines
from tokverify.train.sentencepiece import train_sentencepiece

HERE = Path(__file__).parent
VOCAB_SIZE = 2000

# subtle: there is no pair of tabs. Were there one, merging would rebuild every run from pairs, even in the twin,
# as it does with the newlines; runs of spaces it never rebuilds, since the model sees "▁" where they hold " ".
USER_DEFINED = [
    *("▁" * length for length in range(2, 17)),
    *("\n" * length for length in range(1, 9)),
    *("\t" * length for length in (1, 3, 4, 5, 6, 7, 8)),
]
USER_DEFINED_SCORE = CONTROL_SCORE = -1000.0


def train(text: Path) -> bytes:
    """Train a model in the manner of Gemma's; the same text gives the same bytes."""
    return train_sentencepiece(
        read_lines([text]),
        vocab_size=VOCAB_SIZE,
        model_type="bpe",
        user_defined_symbols=USER_DEFINED,
        byte_fallback=True,
        split_digits=True,
        character_coverage=1.0,
        normalization_rule_name="identity",
        add_dummy_prefix=False,
        remove_extra_whitespaces=False,
        pad_id=0,
        eos_id=1,
        bos_id=2,
        unk_id=3,
        pad_piece="<pad>",
        eos_piece="<eos>",
        bos_piece="<bos>",
        unk_piece="<unk>",
    )


def convert(model: bytes, *, user_defined: gguf.TokenType) -> tuple[list[str], list[float], list[int]]:
    """Return tokens, scores and types as `_create_vocab_sentencepiece` of llama.cpp's `conversion/base.py` does."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    tokens, scores, types = [], [], []
    for id in range(processor.vocab_size()):
        piece, score, kind = processor.id_to_piece(id), processor.get_score(id), gguf.TokenType.NORMAL
        if processor.is_control(id) or processor.is_unknown(id):
            score, kind = CONTROL_SCORE, gguf.TokenType.CONTROL
        elif processor.is_byte(id):
            kind = gguf.TokenType.BYTE
        elif piece in USER_DEFINED:
            piece, score, kind = piece.replace("▁", " "), USER_DEFINED_SCORE, user_defined
        tokens.append(piece)
        scores.append(score)
        types.append(kind)
    return tokens, scores, types


def write(path: Path, vocabulary: tuple[list[str], list[float], list[int]]) -> None:
    """Write a GGUF file that holds a vocabulary and no tensors."""
    tokens, scores, types = vocabulary
    writer = gguf.GGUFWriter(path, "gemma3")
    writer.add_name("tokverify sample")
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_scores(scores)
    writer.add_token_types(types)
    writer.add_bos_token_id(2)
    writer.add_eos_token_id(1)
    writer.add_unk_token_id(3)
    writer.add_pad_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    writer.add_add_space_prefix(False)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()


def main(directory: Path) -> None:
    """Write the four files into `directory`."""
    model = train(HERE / "sample_text.txt")
    (directory / "sample.tokenizer.model").write_bytes(model)
    write(directory / "sample.gguf", convert(model, user_defined=gguf.TokenType.USER_DEFINED))
    write(directory / "sample-broken.gguf", convert(model, user_defined=gguf.TokenType.NORMAL))
    document = directory / "sample.tokenizer.json"
    convert_tokenizer(directory / "sample.gguf", document, force=True)
    compact = json.dumps(json.loads(document.read_bytes()), ensure_ascii=False, separators=(",", ":"))
    document.write_text(f"{compact}\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parents[1] / "tokverify" / "sample")
