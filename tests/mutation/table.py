"""Write docs/mutations.md: try every mutation whose vocabulary is here.

Run as `python tests/mutation/table.py`; it takes some minutes.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from mutation import MUTATIONS
from trial import FUZZ_STRINGS, Outcome, is_here, try_mutation

TARGET = Path(__file__).parents[2] / "docs" / "mutations.md"
HEAD = """\
# Injected faults, and what finds and repairs them

Each line is one fault, put into a vocabulary that is right. `tests/mutation/mutation.py` says how, and
`python tests/mutation/table.py` writes this file. The reference is the vocabulary's own (`.model`, `.json`), or
tokverify's encoder of the intact file.

- **audit**: the rules that report an error or a warning, without a reference, which they do not of the intact file.
- **run**: how many of the shipped cases fail; "refused" where the file does not load.
- **fuzz**: whether {strings:,} fuzzed strings show it; a file that does not load cannot be fuzzed.
- **diagnosed**: whether the first explanation names the fault, and explains every failing case.
- **fixed**: whether `tokverify fix` writes a file whose shipped cases all match.

What the figures leave out:

- Four changes were tried first and replaced by others, as neither the shipped cases nor thousands of texts made for
  the purpose showed a changed id: GPT-2's first two merges swapped, T5's `add_space_prefix` off (llama.cpp puts the
  space there anyhow where it removes extra ones), RWKV's `<s>` and PLaMo 2's `[P]` typed NORMAL.
- T5 is compared with its intact file. Against its `.model` the intact file itself fails three cases, so that the
  diagnosis names a second change beside the injected one, and not every case matches after the repair.
- Qwen 2 with the pre-tokenizer `llama-bpe` counts as diagnosed right by "turning add_bos off": no token of its
  vocabulary holds two digits, so of what that name implies only BOS shows.
- Where the reference is the intact file, or a file that tells its own types, merges and scores, the diagnosis can
  look up what differs. References that give nothing but ids (a server, llama.cpp) are not in this table.

"""


def line(outcome: Outcome) -> str:
    mutation = outcome.mutation
    reference = (mutation.reference or "intact").rpartition(".")[2]
    cells = [
        mutation.vocabulary,
        mutation.name,
        reference,
        ", ".join(outcome.audit),
        outcome.run,
        *("yes" if value else "no" for value in (outcome.fuzz, outcome.right, outcome.repaired)),
        outcome.diagnosis.replace("|", "\\|"),
    ]
    return f"| {' | '.join(cells)} |"


def table(outcomes: list[Outcome]) -> str:
    counts = [sum(outcome.found for outcome in outcomes)]
    counts += [sum(values) for values in zip(*((o.right, o.repaired) for o in outcomes), strict=True)]
    found, right, repaired = (f"{count} ({count / len(outcomes):.0%})" for count in counts)
    heads = (
        "vocabulary",
        "fault",
        "reference",
        "audit",
        "run",
        "fuzz",
        "diagnosed",
        "fixed",
        "what the diagnosis says",
    )
    lines = [
        f"Of {len(outcomes)} faults, {found} are found by one of the three, {right} are diagnosed right, "
        f"{repaired} are fixed.",
        "",
        f"| {' | '.join(heads)} |",
        f"|{'---|' * len(heads)}",
        *map(line, outcomes),
    ]
    return HEAD.format(strings=FUZZ_STRINGS) + "\n".join(lines) + "\n"


def main() -> None:
    outcomes = []
    with tempfile.TemporaryDirectory() as directory:
        for mutation in MUTATIONS:
            if is_here(mutation.vocabulary):
                outcomes.append(try_mutation(mutation, Path(directory)))
                print(line(outcomes[-1]), flush=True)
                Path(directory, "mutant.gguf").unlink()
    TARGET.write_text(table(outcomes), encoding="utf-8")


if __name__ == "__main__":
    main()
