"""CppTokenizer: the C++ hybrid tokenizer for programs that train or run a model with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tokverify.engine.engine_choice import NATIVE
from tokverify.errors import UnsupportedError
from tokverify.sources.load import load_model
from tokverify.train.presets.cpp_batch import choose_processes, encode_in_processes

_MODEL = "cpp-hybrid"


class CppTokenizer:
    """A tokenizer made by `tokverify train cpp`, from its tokenizer.json or its GGUF file, which are equivalent.

    Raises:
        UnsupportedError: If the file contains a tokenizer of another kind.
        TokverifyError: If there is no such file or it is broken.
    """

    def __init__(self, tokenizer_path: Path | str) -> None:
        self._path = Path(tokenizer_path).absolute()
        self._encoder = load_model(tokenizer_path)
        if self._encoder.spec.model != _MODEL:
            raise UnsupportedError(
                f"{tokenizer_path}: the tokenizer's model is {self._encoder.spec.model}, not {_MODEL}; "
                "make one with `tokverify train cpp`"
            )

    @property
    def vocab_size(self) -> int:
        """The number of ids, reserved ones included: 32,768 by default."""
        return self._encoder.vocab_size

    @property
    def bos_token_id(self) -> int:
        """The id of `<BOS>`, which no method adds: 2."""
        return self._encoder.special_ids["bos"]

    @property
    def eos_token_id(self) -> int:
        """The id of `<EOS>`, which no method adds: 3."""
        return self._encoder.special_ids["eos"]

    @property
    def pad_token_id(self) -> int:
        """The id of `<PAD>`: 0."""
        return self._encoder.special_ids["pad"]

    def encode(self, text: str) -> list[int]:
        """Encode a text, recognizing special tokens in it."""
        return self._encoder.encode(text)

    def encode_ordinary_batch(self, texts: Iterable[str], num_threads: int = 8) -> list[list[int]]:
        """Encode texts without recognizing special tokens, in parallel if there is enough text.

        Up to `num_threads` processors are used: by threads of the native engine if it knows this tokenizer, otherwise
        by processes.

        Raises:
            EncodeError: If a text contains a lone surrogate.
        """
        texts = list(texts)
        if self._encoder.engine.name == NATIVE:
            batch = self._encoder.encode_batch(texts, parse_special=False, threads=num_threads)
            return [list(ids) for ids in batch]
        processes = choose_processes(texts, num_threads)
        if processes > 1:
            return encode_in_processes(self._path, texts, processes)
        return [self._encoder.encode(text, parse_special=False) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids, with spaces between words; bytes that are not UTF-8 become U+FFFD.

        Raises:
            EncodeError: If an id is outside the vocabulary.
        """
        return self._encoder.decode_text(ids)
