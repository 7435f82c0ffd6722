"""Compare the two engines on generated texts: `python tests/support/compare_engines.py MODEL.gguf ...`.

The exit code is 1 if a text is encoded differently.
"""

import argparse
import os
import sys
from pathlib import Path

from tokverify.compare.fuzz.loop import fuzz
from tokverify.compare.fuzz.plan import FuzzPlan
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import NATIVE, PYTHON, VARIABLE
from tokverify.sources.gguf.declaration import read_spec
from tokverify.spec import TokenizerSpec


def encoder_of(spec: TokenizerSpec, engine: str) -> Encoder:
    """Return the encoder of a tokenizer on one engine."""
    os.environ[VARIABLE] = engine
    encoder = Encoder(spec, engine)
    if encoder.engine.name != engine:
        sys.exit(f"{spec.model}: {encoder.engine.reason}")
    return encoder


def count_differences(spec: TokenizerSpec, plan: FuzzPlan) -> int:
    """Return the number of generated texts that the engines encode differently, after printing the shortest."""
    fuzzed = fuzz(encoder_of(spec, NATIVE), encoder_of(spec, PYTHON), plan)
    for result in fuzzed.report.results:
        print(f"  {result.text!r}: {result}")
    return fuzzed.failing


def main() -> int:
    """Compare the engines on all models."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=100_000, help="the number of texts for each model")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    failing = 0
    for path in arguments.models:
        found = count_differences(read_spec(path), FuzzPlan(count=arguments.count, seed=arguments.seed))
        print(f"{path.stem}: {found:,} of {arguments.count:,} texts differ", flush=True)
        failing += found
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main())
