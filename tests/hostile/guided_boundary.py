"""Call the compiled module with hostile arguments that are chosen by the code they reach: coverage-guided fuzzing.

It needs atheris, and a module that records which branches run. With stable Rust, unlike cargo-fuzz, this builds one:

    RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 \\
      -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \\
      -Cllvm-args=-sanitizer-coverage-trace-compares" CARGO_PROFILE_RELEASE_LTO=off \\
      cargo build --release -p tokverify-python --target x86_64-unknown-linux-gnu

Copy its `lib_native.so` to `tokverify/_native.abi3.so` and preload the library that atheris installs:

    LD_PRELOAD=.venv/lib/python3.11/site-packages/ubsan_with_fuzzer.so \\
      .venv/bin/python tests/hostile/guided_boundary.py -max_total_time=60 -len_control=0 -max_len=4000

Options and output are those of libFuzzer. Each round is one of `native_boundary.py`, with bytes in place of chance.
"""

import random
import sys
from pathlib import Path

import atheris

sys.path[:0] = [str(Path(__file__).parents[1])]

from hostile.native_boundary import run  # noqa: E402


class Choices(random.Random):
    """Makes the choices of a round from given bytes; all choices after their end are the first one possible."""

    def __init__(self, data: bytes) -> None:
        super().__init__(0)
        self._data = data
        self._position = 0

    def getrandbits(self, count: int, /) -> int:
        """Return a number of `count` bits."""
        size = (count + 7) // 8
        taken = self._data[self._position : self._position + size]
        self._position += size
        return int.from_bytes(taken, "little") & ((1 << count) - 1)

    def random(self) -> float:
        """Return a number from 0 to 1, which takes one byte."""
        return self.getrandbits(8) / 256


def main() -> None:
    atheris.Setup(sys.argv, lambda data: run(Choices(data)))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
